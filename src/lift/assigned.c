/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "lift/lifter.h"

typedef struct scan {
    tw_arena *arena;
    tw_error *error;
    uint32_t *pending;       /* locals written in open constructs; those of an inner one come after its outer's */
    uint32_t pending_count, pending_capacity;
    struct open { uint32_t index, start; } *open;
    uint32_t open_count, open_capacity;
    uint32_t *stamp;         /* local → 1 + construct that listed it last */
    uint32_t local_count;
    tw_local_list *lists;
    uint32_t list_count, list_capacity;
} scan;

static tw_status over_limit(scan *s)
{
    return s->arena->limit == TW_ARENA_NO_LIMIT
               ? tw_fail_memory(s->error)
               : tw_fail(s->error, TW_LIMIT, "lifting the function needs more than %zu bytes", s->arena->limit);
}

static tw_status note_write(scan *s, uint32_t local)
{
    if (local >= s->local_count) return tw_fail(s->error, TW_INVALID, "local %u doesn't exist", local);
    if (!TW_ARENA_GROW(s->arena, s->pending, s->pending_count, s->pending_capacity)) return over_limit(s);
    s->pending[s->pending_count++] = local;
    return TW_OK;
}

static tw_status open_construct(scan *s)
{
    if (!TW_ARENA_GROW(s->arena, s->lists, s->list_count, s->list_capacity) ||
        !TW_ARENA_GROW(s->arena, s->open, s->open_count, s->open_capacity))
        return over_limit(s);
    s->open[s->open_count++] = (struct open){s->list_count, s->pending_count};
    s->lists[s->list_count++] = (tw_local_list){0};
    return TW_OK;
}

/* What is pending since the construct opened, each local once, is its list, and stays pending for its outer one. */
static tw_status close_construct(scan *s)
{
    struct open construct = s->open[--s->open_count];
    uint32_t kept = construct.start;
    for (uint32_t i = construct.start; i < s->pending_count; i++) {
        uint32_t local = s->pending[i];
        if (s->stamp[local] == construct.index + 1) continue;
        s->stamp[local] = construct.index + 1;
        s->pending[kept++] = local;
    }
    s->pending_count = kept;
    uint32_t count = kept - construct.start;
    uint32_t *list = TW_NEW_ARRAY(s->arena, uint32_t, count);
    if (!list) return over_limit(s);
    if (count) memcpy(list, s->pending + construct.start, count * sizeof *list);
    s->lists[construct.index] = (tw_local_list){list, count};
    return TW_OK;
}

tw_status tw_lift_assigned(const tw_wasm *module, uint32_t func, tw_arena *arena, tw_assigned *out, tw_error *error)
{
    scan s = {.arena = arena, .error = error};
    tw_reader reader;
    const uint8_t *locals;
    TW_TRY(tw_wasm_body(module, func, arena, &reader, &locals, &s.local_count, error));
    s.stamp = TW_NEW_ARRAY(arena, uint32_t, s.local_count);
    if (!s.stamp) return over_limit(&s);
    tw_instr instr;
    while (reader.at < reader.end) {
        TW_TRY(tw_wasm_next(&reader, &instr, error));
        switch (instr.op) {
        case TW_OP_BLOCK: case TW_OP_LOOP: case TW_OP_IF: TW_TRY(open_construct(&s)); break;
        case TW_OP_END:
            if (s.open_count) TW_TRY(close_construct(&s));
            break;
        case TW_OP_LOCAL_SET: case TW_OP_LOCAL_TEE: TW_TRY(note_write(&s, instr.imm.index)); break;
        default: break;
        }
    }
    if (s.open_count) return tw_fail(error, TW_INVALID, "the function's body ends inside a block");
    *out = (tw_assigned){s.lists, s.list_count};
    return TW_OK;
}
