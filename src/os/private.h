/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_OS_PRIVATE_H
#define TW_OS_PRIVATE_H

/* Opens a file to be read that nobody but us can have made or changed: its folder is ours with mode 0700, and it is a regular file,
 * no link, ours, not writable by group and others. Looked at through descriptors, so that nothing can be exchanged in between.
 * -1 otherwise: *why says in what it differs (static), or is NULL where errno tells it. Any thread. */
int tw_private_open(const char *path, const char **why);

#endif
