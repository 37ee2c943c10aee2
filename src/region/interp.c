/* SPDX-License-Identifier: Apache-2.0 */
#include "region/interp.h"

#include <stdlib.h>
#include <string.h>

typedef struct machine {
    const tw_interp *in;
    const tw_model *model;
    tw_error *error;
    uint64_t counter[TW_MODEL_MAX_LOOPS];
    uint64_t *read, *now, *after; /* what READ, CARRIED and FINAL values are */
    uint64_t *memo, *memo_time;   /* of operations: valid while nothing changed since */
    uint64_t time, random;
} machine;

static uint64_t linear(const machine *m, uint32_t word, uint32_t loop)
{
    uint32_t chain[TW_MODEL_MAX_DEPTH], length = tw_model_chain(m->model, loop, chain);
    uint64_t sum = m->in->args[word];
    for (uint32_t d = 0; d < length; d++) sum += m->in->args[word + 1 + d] * m->counter[chain[d]];
    return sum;
}

static bool is_arithmetic(tw_op op)
{
    switch (op) {
    case TW_OP_F32_ABS: case TW_OP_F32_NEG: case TW_OP_F32_COPYSIGN: case TW_OP_F64_ABS: case TW_OP_F64_NEG:
    case TW_OP_F64_COPYSIGN: case TW_OP_F32_REINTERPRET_I32: case TW_OP_F64_REINTERPRET_I64: case TW_OP_SELECT: return false;
    default: return true;
    }
}

static uint64_t canonical(const tw_value_node *n, uint64_t bits)
{
    if (!is_arithmetic((tw_op)n->op)) return bits;
    if (n->type == TW_F32 && (bits & 0x7fffffffu) > 0x7f800000u) return 0x7fc00000u;
    if (n->type == TW_F64 && (bits & ~((uint64_t)1 << 63)) > 0x7ff0000000000000u) return 0x7ff8000000000000u;
    return bits;
}

static uint64_t value_of(machine *m, uint32_t value);

static uint64_t operation(machine *m, uint32_t value)
{
    const tw_value_node *n = &m->model->values[value];
    if (m->memo_time[value] == m->time) return m->memo[value];
    uint64_t args[3] = {0}, out = 0;
    for (int i = 0; i < 3 && n->args[i] != TW_NONE; i++) args[i] = value_of(m, n->args[i]);
    tw_interp_op((tw_op)n->op, args, &out);
    if (m->in->canonical_nan) out = canonical(n, out);
    m->memo[value] = out;
    m->memo_time[value] = m->time;
    return out;
}

static uint64_t value_of(machine *m, uint32_t value)
{
    const tw_value_node *n = &m->model->values[value];
    uint64_t affine;
    switch ((tw_value_kind)n->kind) {
    case TW_VALUE_CONST: return n->bits;
    case TW_VALUE_SYMBOL: return m->in->args[m->in->layout->symbol[n->index]];
    case TW_VALUE_AFFINE:
        affine = linear(m, m->in->layout->affine[n->index], m->model->affines[n->index].loop);
        return n->type == TW_I32 ? (uint32_t)affine : affine;
    case TW_VALUE_READ: return m->read[value];
    case TW_VALUE_OP: return operation(m, value);
    case TW_VALUE_CARRIED: return m->now[n->index];
    case TW_VALUE_FINAL: return m->after[n->index];
    }
    return 0;
}

/* Where an access is now, of which the item has that value; NULL with the error set when outside. */
static uint8_t *place(machine *m, uint32_t access, uint32_t value)
{
    const tw_model_access *x = &m->model->accesses[access];
    uint64_t at = linear(m, m->in->layout->access[access], x->loop), size = m->in->memory_size;
    if (x->is_indirect) at += (uint64_t)(int32_t)value_of(m, m->model->values[value].args[0]);
    if (m->in->touch) m->in->touch(m->in->context, access, m->counter, at);
    if (size >= x->width && at <= size - x->width) return m->in->memory + at;
    tw_fail(m->error, TW_INVALID, "access x%u at byte %lld is outside the memory", access, (long long)at);
    return NULL;
}

static uint64_t extend(tw_op op, uint64_t raw)
{
    switch (op) {
    case TW_OP_I32_LOAD8_S: return (uint32_t)(int8_t)raw;
    case TW_OP_I32_LOAD16_S: return (uint32_t)(int16_t)raw;
    case TW_OP_I64_LOAD8_S: return (uint64_t)(int8_t)raw;
    case TW_OP_I64_LOAD16_S: return (uint64_t)(int16_t)raw;
    case TW_OP_I64_LOAD32_S: return (uint64_t)(int32_t)raw;
    default: return raw;
    }
}

static tw_status run_items(machine *m, const tw_item *items, uint32_t count);

static tw_status run_access(machine *m, const tw_item *item)
{
    const tw_model_access *x = &m->model->accesses[item->index];
    if (x->is_store && item->guard != TW_NONE && (uint32_t)value_of(m, item->guard) == 0) return TW_OK;
    uint8_t *at = place(m, item->index, item->value);
    if (!at) return TW_INVALID;
    uint64_t bits = 0;
    if (x->is_store) {
        bits = value_of(m, item->value);
        memcpy(at, &bits, x->width);
        return TW_OK;
    }
    memcpy(&bits, at, x->width);
    m->read[item->value] = extend((tw_op)x->op, bits);
    m->time++;
    return TW_OK;
}

static uint64_t next_random(machine *m)
{
    m->random ^= m->random << 13;
    m->random ^= m->random >> 7;
    m->random ^= m->random << 17;
    return m->random;
}

/* One trip: the body, then what is carried, all at once. */
static tw_status run_trip(machine *m, uint32_t loop, uint64_t counter)
{
    const tw_model_loop *l = &m->model->loops[loop];
    m->counter[loop] = counter;
    m->time++;
    TW_TRY(run_items(m, l->items, l->item_count));
    uint64_t next[TW_MODEL_MAX_CARRIED];
    for (uint32_t c = 0; c < m->model->carried_count; c++)
        if (m->model->carried[c].loop == loop) next[c] = value_of(m, m->model->carried[c].next);
    for (uint32_t c = 0; c < m->model->carried_count; c++)
        if (m->model->carried[c].loop == loop) m->now[c] = next[c];
    m->time++;
    return TW_OK;
}

static tw_status run_shuffled(machine *m, uint32_t loop, int64_t first, int64_t last)
{
    uint64_t count = (uint64_t)(last - first), *order = malloc(count * sizeof *order);
    if (!order) return tw_fail_memory(m->error);
    for (uint64_t i = 0; i < count; i++) order[i] = (uint64_t)first + i;
    for (uint64_t i = count; i > 1; i--) {
        uint64_t j = next_random(m) % i, kept = order[i - 1];
        order[i - 1] = order[j];
        order[j] = kept;
    }
    tw_status status = TW_OK;
    for (uint64_t i = 0; i < count && status == TW_OK; i++) status = run_trip(m, loop, order[i]);
    free(order);
    return status;
}

static tw_status run_trips(machine *m, uint32_t loop, int64_t first, int64_t last)
{
    for (uint32_t c = 0; c < m->model->carried_count; c++)
        if (m->model->carried[c].loop == loop) m->now[c] = value_of(m, m->model->carried[c].init);
    tw_status status = TW_OK;
    if (m->in->shuffle && m->in->facts && m->in->facts->parallel[loop] && first < last)
        status = run_shuffled(m, loop, first, last);
    else
        for (int64_t n = first; n < last && status == TW_OK; n++) status = run_trip(m, loop, (uint64_t)n);
    for (uint32_t c = 0; c < m->model->carried_count; c++)
        if (m->model->carried[c].loop == loop) m->after[c] = m->now[c];
    m->time++;
    return status;
}

static tw_status run_items(machine *m, const tw_item *items, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (items[i].kind != TW_ITEM_LOOP) {
            TW_TRY(run_access(m, &items[i]));
            continue;
        }
        uint32_t loop = items[i].index;
        int64_t trips = (int64_t)linear(m, m->in->layout->trips[loop], m->model->loops[loop].parent);
        TW_TRY(run_trips(m, loop, 0, trips));
    }
    return TW_OK;
}

static tw_status run(machine *m, int64_t first, int64_t last)
{
    if (m->model->loop_count) return run_trips(m, 0, first, last);
    TW_TRY(run_items(m, m->model->items, m->model->item_count));
    for (uint32_t i = 0; i < m->model->output_count; i++) m->in->outputs[i] = value_of(m, m->model->outputs[i]);
    return TW_OK;
}

tw_status tw_model_run(const tw_interp *in, int64_t first, int64_t last, tw_error *error)
{
    const tw_model *model = in->model;
    machine m = {.in = in, .model = model, .error = error, .time = 1, .random = in->shuffle * 2 + 1};
    uint64_t *words = calloc(3 * (size_t)model->value_count + 2 * (size_t)model->carried_count + 1, sizeof *words);
    if (!words) return tw_fail_memory(error);
    m.read = words;
    m.memo = m.read + model->value_count;
    m.memo_time = m.memo + model->value_count;
    m.now = m.memo_time + model->value_count;
    m.after = m.now + model->carried_count;
    tw_status status = run(&m, first, last);
    free(words);
    return status;
}
