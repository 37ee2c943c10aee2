/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_STATE_H
#define TW_CLI_STATE_H

/* Snapshots of instances as `run` makes and takes them: one key, that signs what is written and must have signed what is
 * read. */

#include "tensorwasm/snapshot.h"

/* Takes the snapshot of an instance and writes the file, all or nothing. key_file may be NULL: not signed. */
tw_status cli_state_save(tw_instance *instance, const char *key_file, const char *path, tw_error *error);
/* Writes a snapshot's file, all or nothing. */
tw_status cli_state_publish(const char *path, const uint8_t *bytes, size_t size, tw_error *error);
/* With a key file only what was signed with it is taken. Free with tw_snapshot_free. */
tw_status cli_state_read(const char *key_file, const char *path, tw_snapshot **out, tw_error *error);

#endif
