/* SPDX-License-Identifier: Apache-2.0 */
#include "snapshot/snapshot.h"

#include <stdlib.h>

#include "api/options.h"
#include "instance/state.h"

struct tw_snapshot_writer {
    tw_snapshot_writer_options options;
};
struct tw_snapshot_reader {
    tw_snapshot_reader_options options;
};

tw_status tw_snapshot_writer_new(const tw_snapshot_writer_options *options, tw_snapshot_writer **out, tw_error *error)
{
    if (!out) return tw_fail(error, TW_INVALID_ARGUMENT, "tw_snapshot_writer_new: out is NULL");
    tw_snapshot_writer_options own = TW_SNAPSHOT_WRITER_OPTIONS_INIT;
    TW_TRY(tw_options_read(&own, sizeof own, options, "tw_snapshot_writer_options", error));
    TW_TRY(tw_snap_writer_check(&own, error));
    tw_snapshot_writer *writer = malloc(sizeof *writer);
    TW_TRY_ALLOC(writer, error);
    writer->options = own;
    *out = writer;
    return TW_OK;
}

void tw_snapshot_writer_free(tw_snapshot_writer *writer)
{
    free(writer);
}

static bool is_span(tw_span span)
{
    return span.data || span.size == 0;
}

static tw_status read_state(const tw_snapshot_state *given, tw_snapshot_state *own, tw_error *error)
{
    TW_TRY(tw_options_read(own, sizeof *own, given, "tw_snapshot_state", error));
    if (is_span(own->wasm_memory) && is_span(own->device_memory) && is_span(own->registers)) return TW_OK;
    return tw_fail(error, TW_INVALID_ARGUMENT, "a snapshot's state: a span has a size and no data");
}

tw_status tw_snapshot_capture(const tw_snapshot_writer *writer, const tw_snapshot_state *state, uint8_t **bytes,
                              size_t *size, tw_error *error)
{
    if (!writer || !state || !bytes || !size)
        return tw_fail(error, TW_INVALID_ARGUMENT, "tw_snapshot_capture: a required pointer is NULL");
    tw_snapshot_state own = TW_SNAPSHOT_STATE_INIT;
    TW_TRY(read_state(state, &own, error));
    tw_bytes out = {0};
    tw_status status = tw_snap_write(&writer->options, &own, &out, error);
    if (status != TW_OK) {
        tw_bytes_free(&out);
        return status;
    }
    *bytes = (uint8_t *)tw_bytes_take(&out, size);
    return TW_OK;
}

tw_status tw_snapshot_save(const tw_snapshot_writer *writer, const tw_snapshot_state *state, const char *path, tw_error *error)
{
    if (!writer || !state || !path)
        return tw_fail(error, TW_INVALID_ARGUMENT, "tw_snapshot_save: a required pointer is NULL");
    tw_snapshot_state own = TW_SNAPSHOT_STATE_INIT;
    TW_TRY(read_state(state, &own, error));
    tw_snap_draft draft = {0};
    tw_status status = tw_snap_draft_make(&writer->options, &own, &draft, error);
    if (!status) status = tw_snap_draft_publish(&draft, path, error);
    tw_snap_draft_free(&draft);
    return status;
}

tw_status tw_instance_capture(tw_instance *instance, const tw_snapshot_writer *writer, const tw_capture_options *options,
                              uint8_t **bytes, size_t *size, tw_error *error)
{
    if (!instance || !writer || !bytes || !size)
        return tw_fail(error, TW_INVALID_ARGUMENT, "tw_instance_capture: a required pointer is NULL");
    tw_capture_options own = TW_CAPTURE_OPTIONS_INIT;
    TW_TRY(tw_options_read(&own, sizeof own, options, "tw_capture_options", error));
    tw_bytes out = {0};
    tw_status status = tw_runtime_capture(instance, &writer->options, &own, &out, NULL, error);
    if (status == TW_OK) *bytes = (uint8_t *)tw_bytes_take(&out, size);
    tw_bytes_free(&out);
    return status;
}

tw_status tw_module_bake(tw_module *module, const tw_snapshot *snapshot, const tw_bake_options *options, uint8_t **bytes, size_t *size,
                         tw_error *error)
{
    if (!module || !snapshot || !bytes || !size) return tw_fail(error, TW_INVALID_ARGUMENT, "tw_module_bake: a required pointer is NULL");
    tw_bake_options own = TW_BAKE_OPTIONS_INIT;
    TW_TRY(tw_options_read(&own, sizeof own, options, "tw_bake_options", error));
    tw_bytes out = {0};
    tw_status status = tw_runtime_bake(module, snapshot, own.wasi_from_host, &out, error);
    if (status == TW_OK) *bytes = (uint8_t *)tw_bytes_take(&out, size);
    tw_bytes_free(&out);
    return status;
}

tw_status tw_instance_save(tw_instance *instance, const tw_snapshot_writer *writer, const tw_capture_options *options,
                           const char *path, tw_error *error)
{
    if (!instance || !writer || !path)
        return tw_fail(error, TW_INVALID_ARGUMENT, "tw_instance_save: a required pointer is NULL");
    tw_capture_options own = TW_CAPTURE_OPTIONS_INIT;
    TW_TRY(tw_options_read(&own, sizeof own, options, "tw_capture_options", error));
    return tw_runtime_capture(instance, &writer->options, &own, NULL, path, error);
}

tw_status tw_snapshot_reader_new(const tw_snapshot_reader_options *options, tw_snapshot_reader **out, tw_error *error)
{
    if (!out) return tw_fail(error, TW_INVALID_ARGUMENT, "tw_snapshot_reader_new: out is NULL");
    tw_snapshot_reader_options own = TW_SNAPSHOT_READER_OPTIONS_INIT;
    TW_TRY(tw_options_read(&own, sizeof own, options, "tw_snapshot_reader_options", error));
    TW_TRY(tw_snap_reader_check(&own, error));
    tw_snapshot_reader *reader = malloc(sizeof *reader);
    TW_TRY_ALLOC(reader, error);
    reader->options = own;
    *out = reader;
    return TW_OK;
}

void tw_snapshot_reader_free(tw_snapshot_reader *reader)
{
    free(reader);
}

tw_status tw_snapshot_restore(const tw_snapshot_reader *reader, const uint8_t *bytes, size_t size, tw_snapshot **out,
                              tw_snapshot_class *why, tw_error *error)
{
    tw_snap_why reason = {TW_SNAPSHOT_CLASS_NONE, error};
    tw_status status;
    if (!reader || !out || (!bytes && size > 0))
        status = tw_fail(error, TW_INVALID_ARGUMENT, "tw_snapshot_restore: a required pointer is NULL");
    else status = tw_snap_read(&reader->options, (tw_span){bytes, size}, out, &reason);
    if (why) *why = reason.refused;
    return status;
}

tw_status tw_snapshot_open(const tw_snapshot_reader *reader, const char *path, tw_snapshot **out, tw_snapshot_class *why,
                           tw_error *error)
{
    tw_snap_why reason = {TW_SNAPSHOT_CLASS_NONE, error};
    tw_status status;
    if (!reader || !path || !out) status = tw_fail(error, TW_INVALID_ARGUMENT, "tw_snapshot_open: a required pointer is NULL");
    else status = tw_snap_open(&reader->options, path, out, &reason);
    if (why) *why = reason.refused;
    return status;
}
