/* SPDX-License-Identifier: Apache-2.0 */
#include "instance/memory.h"

#include "api/options.h"
#include "instance/runtime.h"

enum { PAGE = 65536 };

static tw_status check(const tw_engine *engine, const tw_memory_options *options, tw_error *error)
{
    if (options->bytes % PAGE || options->max_bytes % PAGE)
        return tw_fail(error, TW_INVALID_ARGUMENT, "tw_memory_new: sizes are whole pages of 64 KiB");
    if (options->bytes > options->max_bytes)
        return tw_fail(error, TW_INVALID_ARGUMENT, "tw_memory_new: the memory begins larger than it may become");
    if (options->max_bytes > engine->options.max_memory)
        return tw_fail(error, TW_LIMIT, "tw_memory_new: %llu bytes are over the engine's limit of %llu",
                       (unsigned long long)options->max_bytes, (unsigned long long)engine->options.max_memory);
    return TW_OK;
}

tw_status tw_memory_new(tw_engine *engine, const tw_memory_options *options, tw_memory **out, tw_error *error)
{
    if (!engine || !options || !out) return tw_fail(error, TW_INVALID_ARGUMENT, "tw_memory_new: a required pointer is NULL");
    tw_memory_options own = TW_MEMORY_OPTIONS_INIT;
    TW_TRY(tw_options_read(&own, sizeof own, options, "tw_memory_options", error));
    if (!own.max_bytes) own.max_bytes = own.bytes;
    TW_TRY(check(engine, &own, error));
    return tw_lent_memory_new(own.bytes, own.max_bytes, out, error);
}

void tw_memory_free(tw_memory *memory)
{
    if (memory) tw_lent_memory_release(memory);
}

uint8_t *tw_memory_data(const tw_memory *memory, size_t *size)
{
    if (size) *size = memory ? atomic_load(&memory->slot->size) : 0;
    return memory ? memory->slot->base : NULL;
}
