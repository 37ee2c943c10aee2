/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_OS_WHOLE_H
#define TW_OS_WHOLE_H

#include <stdbool.h>
#include <stddef.h>

/* Reads or writes as many bytes as it is asked for, over as many calls as that takes, interrupted ones among them. False when
 * an error or the end of the file comes first; errno is 0 at an end. Where it stopped isn't told. Any thread. */
bool tw_read_whole(int file, void *bytes, size_t size);
bool tw_write_whole(int file, const void *bytes, size_t size);

#endif
