/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/input.h"
#include "os/publish.h"

#define MAX_MEMORY ((uint64_t)4 << 30) /* of a guest, and some for its registers */
#define MAX_FILE   ((size_t)5 << 30)

static const cli_input_kind snapshot_file = {MAX_FILE, "a snapshot", "a snapshot file"};

tw_status cli_state_publish(const char *path, const uint8_t *bytes, size_t size, tw_error *error)
{
    const char *step;
    int failed = tw_publish(path, bytes, size, &step);
    if (!failed) return TW_OK;
    *error = (tw_error){.status = TW_IO, .function = TW_NO_FUNCTION, .offset = TW_NO_OFFSET};
    snprintf(error->message, sizeof error->message, "can't write the snapshot %.300s: %s: %s", path, step, strerror(failed));
    return TW_IO;
}

static tw_status read_key(const char *key_file, tw_snapshot_key **out, tw_error *error)
{
    return key_file ? tw_snapshot_key_read(TW_SNAPSHOT_KEY_HMAC, key_file, out, error) : TW_OK;
}

tw_status cli_state_save(tw_instance *instance, const char *key_file, const char *path, tw_error *error)
{
    tw_snapshot_writer_options options = TW_SNAPSHOT_WRITER_OPTIONS_INIT;
    tw_snapshot_writer *writer = NULL;
    tw_snapshot_key *key = NULL;
    uint8_t *bytes = NULL;
    size_t size = 0;
    tw_status status = read_key(key_file, &key, error);
    options.hmac_key = key;
    if (!status) status = tw_snapshot_writer_new(&options, &writer, error);
    if (!status) status = tw_instance_capture(instance, writer, NULL, &bytes, &size, error);
    if (!status) status = cli_state_publish(path, bytes, size, error);
    free(bytes);
    tw_snapshot_writer_free(writer);
    tw_snapshot_key_free(key);
    return status;
}

tw_status cli_state_read(const char *key_file, const char *path, tw_snapshot **out, tw_error *error)
{
    tw_snapshot_reader_options options = TW_SNAPSHOT_READER_OPTIONS_INIT;
    tw_snapshot_reader *reader = NULL;
    tw_snapshot_key *key = NULL;
    uint8_t *bytes = NULL;
    size_t size = 0;
    tw_status status = read_key(key_file, &key, error);
    options.hmac_key = key;
    options.require_signature = key_file;
    options.max_bytes = MAX_MEMORY * 2;
    options.max_file = MAX_FILE;
    if (!status) status = cli_read_file(&snapshot_file, path, &bytes, &size, error);
    if (!status) status = tw_snapshot_reader_new(&options, &reader, error);
    if (!status) status = tw_snapshot_restore(reader, bytes, size, out, NULL, error);
    free(bytes);
    tw_snapshot_reader_free(reader);
    tw_snapshot_key_free(key);
    return status;
}
