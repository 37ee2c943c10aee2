/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_BACKGROUND_H
#define TW_CLI_BACKGROUND_H

#include "tensorwasm/tensorwasm.h"

/* Leaves what `cache` is still compiling for `folder` to a process of its own, which nobody waits for: it has no terminal, no
 * descriptors of ours and low priority, and ends when the kernels are in the folder. Best effort: without it the next run
 * compiles them again. True when there was something and the process was started. */
bool cli_finish_in_background(tw_kernel_cache *cache, const char *folder);

#endif
