/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "snapshot/craton.h"
#include "snapshot/crc32.h"
#include "snapshot/little.h"

/* ---- reading ---- */

/* What is left of a payload. */
typedef struct cursor {
    const uint8_t *at;
    size_t left;
    uint64_t offset;
    tw_snap_why *why;
} cursor;

static tw_status take(cursor *c, uint64_t size, const char *what, const uint8_t **out)
{
    *out = c->at;
    if (size > c->left)
        return tw_snap_refuse(c->why, TW_SNAPSHOT_CLASS_FORMAT,
                              "the payload ends inside %s: %" PRIu64 " bytes wanted at offset %" PRIu64 ", %zu left",
                              what, size, c->offset, c->left);
    c->at += size;
    c->left -= (size_t)size;
    c->offset += size;
    return TW_OK;
}

static tw_status take32(cursor *c, const char *what, uint32_t *out)
{
    const uint8_t *bytes;
    TW_TRY(take(c, 4, what, &bytes));
    *out = tw_little32(bytes);
    return TW_OK;
}

static tw_status take64(cursor *c, const char *what, uint64_t *out)
{
    const uint8_t *bytes;
    TW_TRY(take(c, 8, what, &bytes));
    *out = tw_little64(bytes);
    return TW_OK;
}

static tw_status take_span(cursor *c, const char *what, uint64_t most, tw_span *out)
{
    uint64_t size;
    TW_TRY(take64(c, what, &size));
    TW_TRY(take(c, size, what, &out->data));
    out->size = (size_t)size;
    if (size > most)
        return tw_snap_refuse(c->why, TW_SNAPSHOT_CLASS_LIMIT,
                              "%s of %" PRIu64 " bytes: at most %" PRIu64 " are allowed", what, size, most);
    return TW_OK;
}

static tw_status take_version(cursor *c, uint32_t wanted, tw_snapshot *out)
{
    TW_TRY(take32(c, "its magic", &out->magic));
    if (out->magic != TW_SNAPSHOT_MAGIC)
        return tw_snap_refuse(c->why, TW_SNAPSHOT_CLASS_MAGIC,
                              "the payload begins with 0x%08" PRIX32 ", not 0x%08" PRIX32, out->magic,
                              TW_SNAPSHOT_MAGIC);
    TW_TRY(take32(c, "its version", &out->version));
    if (out->version == wanted) return TW_OK;
    if (out->version == TW_SNAPSHOT_VERSION_SIGNED && out->format == TW_SNAPSHOT_V2)
        return tw_snap_refuse(c->why, TW_SNAPSHOT_CLASS_NO_SIGNATURE,
                              "the payload is of v3, and the trailer with its "
                              "signature is missing");
    return tw_snap_refuse(c->why, TW_SNAPSHOT_CLASS_VERSION,
                          "the payload has version %" PRIu32 "; %" PRIu32 " belongs here", out->version, wanted);
}

static tw_status take_nonce(cursor *c, tw_snapshot *out)
{
    const uint8_t *tag, *nonce;
    TW_TRY(take(c, 1, "the nonce's tag", &tag));
    if (*tag > 1) return tw_snap_refuse(c->why, TW_SNAPSHOT_CLASS_FORMAT, "the nonce's tag is %u, not 0 or 1", *tag);
    out->has_nonce = *tag;
    if (!out->has_nonce) return TW_OK;
    TW_TRY(take(c, TW_SNAPSHOT_NONCE_SIZE, "the nonce", &nonce));
    memcpy(out->nonce, nonce, TW_SNAPSHOT_NONCE_SIZE);
    return TW_OK;
}

static tw_status take_metadata(cursor *c, tw_snapshot *out)
{
    TW_TRY(take64(c, "the tenant", &out->tenant));
    TW_TRY(take64(c, "the instance", &out->instance.low));
    TW_TRY(take64(c, "the instance", &out->instance.high));
    TW_TRY(take64(c, "the creation time", &out->created_unix_ms));
    TW_TRY(take64(c, "the total", &out->total_uncompressed_bytes));
    TW_TRY(take64(c, "the sequence number", &out->sequence));
    return take_nonce(c, out);
}

static uint32_t crc_of(tw_span wasm, tw_span device, tw_span registers)
{
    uint32_t crc = tw_snap_crc32(0, wasm.data, wasm.size);
    crc = tw_snap_crc32(crc, device.data, device.size);
    return tw_snap_crc32(crc, registers.data, registers.size);
}

static tw_status check_sums(cursor *c, const tw_snapshot *s, uint32_t crc)
{
    uint64_t total = (uint64_t)s->wasm_memory.size + s->device_memory.size + s->registers.size;
    if (s->total_uncompressed_bytes != total)
        return tw_snap_refuse(c->why, TW_SNAPSHOT_CLASS_TOTAL,
                              "the total is given as %" PRIu64 " bytes; the three parts have %" PRIu64,
                              s->total_uncompressed_bytes, total);
    uint32_t real = crc_of(s->wasm_memory, s->device_memory, s->registers);
    if (crc != real)
        return tw_snap_refuse(c->why, TW_SNAPSHOT_CLASS_CRC,
                              "the checksum of memories and registers is given as 0x%08" PRIX32 " and is 0x%08" PRIX32,
                              crc, real);
    return TW_OK;
}

tw_status tw_craton_payload_read(tw_span payload, uint32_t version, bool lenient, tw_snapshot *out, tw_snap_why *why)
{
    cursor c = {payload.data, payload.size, 0, why};
    uint32_t crc;
    TW_TRY(take_version(&c, version, out));
    TW_TRY(take_span(&c, "wasm memory", TW_CRATON_MAX_WASM, &out->wasm_memory));
    TW_TRY(take_span(&c, "device memory", TW_CRATON_MAX_DEVICE, &out->device_memory));
    TW_TRY(take_span(&c, "registers", TW_CRATON_MAX_REGISTERS, &out->registers));
    TW_TRY(take_metadata(&c, out));
    TW_TRY(take32(&c, "the checksum", &crc));
    if (c.left > 0 && !lenient)
        return tw_snap_refuse(why, TW_SNAPSHOT_CLASS_TRAILING, "%zu bytes follow the payload inside its frame", c.left);
    return check_sums(&c, out, crc);
}

/* ---- writing ---- */

static tw_status check_size(const char *what, size_t size, uint64_t most, tw_error *error)
{
    if (size <= most) return TW_OK;
    return tw_fail(error, TW_LIMIT, "%s of %zu bytes: this format holds at most %" PRIu64, what, size, most);
}

static size_t write_tail(const tw_snapshot_state *state, uint8_t *at)
{
    uint8_t *start = at;
    at = tw_put_little64(at, state->tenant);
    at = tw_put_little64(at, state->instance.low);
    at = tw_put_little64(at, state->instance.high);
    at = tw_put_little64(at, state->created_unix_ms);
    at = tw_put_little64(at, (uint64_t)state->wasm_memory.size + state->device_memory.size + state->registers.size);
    at = tw_put_little64(at, state->sequence);
    *at++ = state->has_nonce;
    if (state->has_nonce) {
        memcpy(at, state->nonce, TW_SNAPSHOT_NONCE_SIZE);
        at += TW_SNAPSHOT_NONCE_SIZE;
    }
    at = tw_put_little32(at, crc_of(state->wasm_memory, state->device_memory, state->registers));
    return (size_t)(at - start);
}

tw_status tw_craton_payload_write(const tw_snapshot_state *state, uint32_t version, tw_craton_payload *out,
                                  tw_error *error)
{
    TW_TRY(check_size("wasm memory", state->wasm_memory.size, TW_CRATON_MAX_WASM, error));
    TW_TRY(check_size("device memory", state->device_memory.size, TW_CRATON_MAX_DEVICE, error));
    TW_TRY(check_size("registers", state->registers.size, TW_CRATON_MAX_REGISTERS, error));
    tw_put_little64(tw_put_little32(tw_put_little32(out->head, TW_SNAPSHOT_MAGIC), version), state->wasm_memory.size);
    tw_put_little64(out->device_size, state->device_memory.size);
    tw_put_little64(out->register_size, state->registers.size);
    size_t tail = write_tail(state, out->tail);
    const tw_span pieces[TW_CRATON_PIECES] = {
        {out->head, sizeof out->head},
        state->wasm_memory,
        {out->device_size, sizeof out->device_size},
        state->device_memory,
        {out->register_size, sizeof out->register_size},
        state->registers,
        {out->tail, tail},
    };
    memcpy(out->pieces, pieces, sizeof pieces);
    out->size = 0;
    for (size_t i = 0; i < TW_CRATON_PIECES; i++) out->size += pieces[i].size;
    return TW_OK;
}
