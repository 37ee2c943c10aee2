/* SPDX-License-Identifier: Apache-2.0 */
#include "snapshot/frame.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

enum { WINDOW_LOG_MAX = 27, FIRST_ROOM = 64 << 10 };

static uint32_t first_word(tw_span in)
{
    return (uint32_t)in.data[0] | (uint32_t)in.data[1] << 8 | (uint32_t)in.data[2] << 16 | (uint32_t)in.data[3] << 24;
}

static bool is_frame(tw_span in)
{
    return in.size >= 4 && first_word(in) == ZSTD_MAGICNUMBER;
}

bool tw_snap_frame_begins(tw_span in)
{
    return is_frame(in) || (in.size >= 4 && (first_word(in) & ZSTD_MAGIC_SKIPPABLE_MASK) == ZSTD_MAGIC_SKIPPABLE_START);
}

/* Room for more output: doubled, but never past one byte above the cap, which is enough to see that it was passed. */
static tw_status make_room(tw_snap_frame *out, size_t *room, uint64_t cap, tw_snap_why *why)
{
    if (out->size < *room) return TW_OK;
    if (out->size > cap)
        return tw_snap_refuse(why, TW_SNAPSHOT_CLASS_LIMIT, "the decompressed payload has more than %" PRIu64 " bytes",
                              cap);
    size_t most = cap < SIZE_MAX - 1 ? (size_t)cap + 1 : SIZE_MAX - 1;
    size_t wanted = *room == 0 ? FIRST_ROOM : *room > most / 2 ? most : *room * 2;
    if (wanted > most) wanted = most;
    uint8_t *grown = realloc(out->data, wanted);
    if (!grown) return tw_fail_memory(why->error);
    out->data = grown;
    *room = wanted;
    return TW_OK;
}

static tw_status refuse_zstd(size_t code, tw_snap_why *why)
{
    switch (ZSTD_getErrorCode(code)) {
    case ZSTD_error_memory_allocation: return tw_fail_memory(why->error);
    case ZSTD_error_frameParameter_windowTooLarge:
        return tw_snap_refuse(why, TW_SNAPSHOT_CLASS_LIMIT, "the zstd frame asks for a window above 128 MiB");
    default:
        return tw_snap_refuse(why, TW_SNAPSHOT_CLASS_FORMAT, "the zstd frame can't be decompressed: %s",
                              ZSTD_getErrorName(code));
    }
}

/* Ends: each turn takes input or fills the room, and both are bounded. */
static tw_status decompress(ZSTD_DCtx *context, tw_span in, uint64_t cap, bool joined, tw_snap_frame *out,
                            tw_snap_why *why)
{
    ZSTD_inBuffer input = {in.data, in.size, 0};
    size_t room = 0;
    for (;;) {
        TW_TRY(make_room(out, &room, cap, why));
        ZSTD_outBuffer output = {out->data, room, out->size};
        size_t code = ZSTD_decompressStream(context, &output, &input);
        if (ZSTD_isError(code)) return refuse_zstd(code, why);
        out->size = output.pos;
        bool more = input.pos < input.size;
        if (code == 0 && !(joined && more)) break;
        if (code != 0 && !more && output.pos < output.size)
            return tw_snap_refuse(why, TW_SNAPSHOT_CLASS_FORMAT, "the zstd frame is cut off after %zu bytes", in.size);
    }
    out->used = input.pos;
    if (out->size > cap)
        return tw_snap_refuse(why, TW_SNAPSHOT_CLASS_LIMIT, "the decompressed payload has more than %" PRIu64 " bytes",
                              cap);
    return TW_OK;
}

tw_status tw_snap_frame_read(tw_span in, uint64_t cap, bool joined, tw_snap_frame *out, tw_snap_why *why)
{
    *out = (tw_snap_frame){0};
    if (!is_frame(in))
        return tw_snap_refuse(why, TW_SNAPSHOT_CLASS_FORMAT,
                              "there is no zstd frame where one should begin (%zu bytes are left there)", in.size);
    ZSTD_DCtx *context = ZSTD_createDCtx();
    TW_TRY_ALLOC(context, why->error);
    ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
    tw_status status = decompress(context, in, cap, joined, out, why);
    ZSTD_freeDCtx(context);
    if (status != TW_OK) {
        free(out->data);
        *out = (tw_snap_frame){0};
    }
    return status;
}

/* ---- writing ---- */

static tw_status compress(ZSTD_CCtx *context, tw_span in, ZSTD_EndDirective end, tw_bytes *out, uint8_t *room,
                          size_t room_size, tw_error *error)
{
    ZSTD_inBuffer input = {in.data, in.size, 0};
    size_t left;
    do {
        ZSTD_outBuffer output = {room, room_size, 0};
        left = ZSTD_compressStream2(context, &output, &input, end);
        if (ZSTD_getErrorCode(left) == ZSTD_error_memory_allocation) return tw_fail_memory(error);
        if (ZSTD_isError(left)) return tw_fail(error, TW_INTERNAL, "zstd can't compress: %s", ZSTD_getErrorName(left));
        tw_bytes_append(out, room, output.pos);
        if (out->failed) return tw_fail_memory(error);
    } while (input.pos < input.size || (end == ZSTD_e_end && left > 0));
    return TW_OK;
}

tw_status tw_snap_frame_write(const tw_span *spans, size_t count, int level, tw_bytes *out, tw_error *error)
{
    size_t room_size = ZSTD_CStreamOutSize();
    uint8_t *room = malloc(room_size);
    ZSTD_CCtx *context = ZSTD_createCCtx();
    tw_status status = room && context ? TW_OK : tw_fail_memory(error);
    if (!status) {
        ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
        ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
    }
    for (size_t i = 0; !status && i < count; i++)
        status = compress(context, spans[i], ZSTD_e_continue, out, room, room_size, error);
    if (!status) status = compress(context, (tw_span){NULL, 0}, ZSTD_e_end, out, room, room_size, error);
    ZSTD_freeCCtx(context);
    free(room);
    return status;
}
