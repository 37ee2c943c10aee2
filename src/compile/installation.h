/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COMPILE_INSTALLATION_H
#define TW_COMPILE_INSTALLATION_H

/* Where the worker of this installation is, and what its kernels depend on. */

#include <stdbool.h>
#include <stddef.h>

/* The worker's path into `out`; false when there is none. Looked for beside the library or program that this code is in
 * (build tree, installation, relocated or not), then where the build was told to install it. */
bool tw_worker_find(char *out, size_t size);

/* Everything that makes one worker's kernels differ from another's: kernel ABI, the worker file (path, size, time of last
 * change) and this processor. Starts nothing. False when the file can't be looked at or `out` is too small. */
bool tw_worker_describe(const char *path, char *out, size_t size);

#endif
