/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes that lie a few elements apart: the red of pixels, the real parts of complex numbers. One vector of whole records is
 * loaded and the element wanted taken out of each; LLVM sees that the accesses of one record load the same.
 *
 * Reading to the end of the last record may reach beyond what the last lane's accesses touch, but not beyond the first
 * element of the next record; so where that is so the vector loop leaves one more trip to scalars.
 *
 * Stores write whole records, gaps with what they held before. That is right only if nobody else writes a gap meanwhile:
 * all stores of the region must be those of the record, unguarded, side by side in one body; and where there are gaps only
 * the lane loop may be shared out among threads (of two channels that lie interleaved, each is the other's gap). They are done
 * with the last one; until then nothing else may touch their group but reads of the same records, at other places than those
 * stored. */

#include "codegen/inside.h"

enum { RECORD_MAX = 4, RECORD_BYTES_MAX = 32 };

/* The lane stride, in whole elements between 2 and RECORD_MAX; 0 if it isn't that. */
static uint32_t elements_of(const tw_emitter *e, uint32_t access, uint32_t lane_loop)
{
    int64_t known, width = e->model->accesses[access].width;
    if (e->model->accesses[access].is_indirect) return 0;
    if (!tw_step_known(e, access, lane_loop, &known) || known <= 0 || known % width) return 0;
    int64_t elements = known / width;
    return elements >= 2 && elements <= RECORD_MAX && known <= RECORD_BYTES_MAX ? (uint32_t)elements : 0;
}

static bool same_record_kind(const tw_emitter *e, uint32_t x, uint32_t y)
{
    return e->representative[x] == e->representative[y] && e->model->accesses[x].width == e->model->accesses[y].width &&
           !e->model->accesses[y].is_indirect;
}

/* The least delta among accesses whose elements lie in one record with x's and before it: where to load from. */
static int64_t record_begin(const tw_emitter *e, uint32_t x, uint32_t elements)
{
    int64_t width = e->model->accesses[x].width, low = e->delta[x];
    for (uint32_t y = 0; y < e->model->access_count; y++) {
        int64_t before = e->delta[x] - e->delta[y];
        if (!same_record_kind(e, x, y) || !e->in_tree[y]) continue; /* others aren't range-checked */
        if (before > 0 && before < elements * width && before % width == 0 && e->delta[y] < low) low = e->delta[y];
    }
    return low;
}

void tw_gen_find_record(const tw_emitter *e, tw_place *p)
{
    if (!p->has_lanes || p->is_contiguous || e->facts->checked || !e->spared) return;
    uint32_t elements = elements_of(e, p->access, e->lane_loop);
    if (!elements) return;
    p->record = elements;
    p->record_delta = record_begin(e, p->access, elements);
    p->record_at = (uint32_t)((e->delta[p->access] - p->record_delta) / e->model->accesses[p->access].width);
    for (uint32_t x = 0; x < e->model->access_count; x++)
        p->is_stored_to |= e->in_tree[x] && e->model->accesses[x].is_store && same_record_kind(e, p->access, x);
}

bool tw_gen_needs_spare(const tw_emitter *e, const tw_node *node, uint32_t lane_loop)
{
    if (node->kind != TW_NODE_LOOP) return elements_of(e, node->access, lane_loop) != 0;
    for (uint32_t i = 0; i < node->child_count; i++)
        if (tw_gen_needs_spare(e, &e->tree->nodes[node->children[i]], lane_loop)) return true;
    return false;
}

/* ---- loads ---- */

/* Records of 2, 4 or 8 bytes of integers are integers themselves: shifts are cheaper than shuffles. */
static LLVMTypeRef whole_integer(const tw_emitter *e, const tw_place *p)
{
    uint32_t bits = p->record * e->model->accesses[p->access].width * 8;
    if (LLVMGetTypeKind(tw_gen_memory_type(e, p->access)) != LLVMIntegerTypeKind) return NULL;
    return bits == 16 ? e->i16 : bits == 32 ? e->i32 : bits == 64 ? e->i64 : NULL;
}

static uint64_t record_bytes(const tw_emitter *e, const tw_place *p)
{
    return (uint64_t)p->record * e->model->accesses[p->access].width * e->lanes;
}

static LLVMValueRef load_records(tw_emitter *e, const tw_place *p, LLVMTypeRef type, uint32_t row, uint32_t vector)
{
    tw_place whole = *p;
    whole.delta = p->record_delta;
    return tw_gen_load_at(e, &whole, type, record_bytes(e, p), row, vector, 0);
}

static LLVMValueRef in_all_lanes(tw_emitter *e, LLVMTypeRef type, uint64_t value)
{
    return tw_gen_splat(e, LLVMConstInt(type, value, 0), e->lanes);
}

static LLVMValueRef take_integer(tw_emitter *e, const tw_place *p, LLVMValueRef records, LLVMTypeRef whole)
{
    uint64_t bits = e->model->accesses[p->access].width * 8;
    if (p->record_at) records = LLVMBuildLShr(e->builder, records, in_all_lanes(e, whole, p->record_at * bits), "");
    return LLVMBuildTrunc(e->builder, records, LLVMVectorType(tw_gen_memory_type(e, p->access), e->lanes), "");
}

static LLVMValueRef take_element(tw_emitter *e, LLVMValueRef records, uint32_t record, uint32_t at)
{
    LLVMValueRef lanes[64];
    for (uint32_t i = 0; i < e->lanes; i++) lanes[i] = LLVMConstInt(e->i32, i * record + at, 0);
    return LLVMBuildShuffleVector(e->builder, records, LLVMGetPoison(LLVMTypeOf(records)), LLVMConstVector(lanes, e->lanes), "");
}

LLVMValueRef tw_gen_record_load(tw_emitter *e, const tw_place *p, uint32_t row, uint32_t vector)
{
    LLVMTypeRef whole = whole_integer(e, p), element = tw_gen_memory_type(e, p->access);
    if (whole) return take_integer(e, p, load_records(e, p, LLVMVectorType(whole, e->lanes), row, vector), whole);
    LLVMValueRef records = load_records(e, p, LLVMVectorType(element, e->lanes * p->record), row, vector);
    return take_element(e, records, p->record, p->record_at);
}

/* ---- stores ---- */

typedef struct record_stores {
    const tw_node *of[RECORD_MAX]; /* by place in the record; NULL: a gap */
    const tw_node *last;
    uint32_t count;
} record_stores;

/* An access's place in p's record; -1: in none. */
static int place_in_record(const tw_emitter *e, const tw_place *p, uint32_t access)
{
    int64_t width = e->model->accesses[p->access].width, from = e->delta[access] - p->record_delta;
    if (!same_record_kind(e, p->access, access) || from < 0 || from % width || from / width >= p->record) return -1;
    return (int)(from / width);
}

/* Every store of the tree is one of `p`'s records; unguarded. */
static bool only_stores(const tw_emitter *e, const tw_place *p, record_stores *out)
{
    for (uint32_t i = 0; i < e->tree->node_count; i++) {
        const tw_node *node = &e->tree->nodes[i];
        if (node->kind != TW_NODE_STORE) continue;
        int at = place_in_record(e, p, node->access);
        if (at < 0 || out->of[at] || node->guard != TW_NONE) return false;
        out->of[at] = node;
        out->count++;
    }
    return true;
}

static bool may_meet(const tw_emitter *e, const record_stores *s, uint32_t access)
{
    for (uint32_t i = 0; i < RECORD_MAX; i++)
        if (s->of[i] && e->facts->group[s->of[i]->access] == e->facts->group[access]) return true;
    return false;
}

/* Another loop's trips, which may own the gaps, run on other threads meanwhile. */
static bool others_run(const tw_emitter *e)
{
    for (uint32_t i = 0; i < e->tree->node_count; i++)
        if (e->tree->nodes[i].threads && e->tree->nodes[i].loop != e->lane_loop) return true;
    return false;
}

/* They are children of the innermost loop, and what lies between the first and the last of them doesn't mind. */
static bool side_by_side(const tw_emitter *e, const tw_place *p, record_stores *out)
{
    const tw_node *around = e->scopes[e->depth].node;
    bool stored[RECORD_MAX] = {0};
    uint32_t seen = 0;
    for (uint32_t i = 0; i < around->child_count; i++) {
        const tw_node *child = &e->tree->nodes[around->children[i]];
        bool between = seen > 0 && seen < out->count;
        if (child->kind == TW_NODE_LOOP) {
            if (between) return false;
            continue;
        }
        if (child->kind == TW_NODE_READ && !may_meet(e, out, child->access)) continue;
        int at = place_in_record(e, p, child->access);
        if (child->kind == TW_NODE_STORE) stored[at] = true, seen++, out->last = child;
        else if (between && (at < 0 || stored[at])) return false;
    }
    return seen == out->count;
}

static LLVMValueRef element_of(tw_emitter *e, const tw_node *store, uint32_t row, uint32_t vector)
{
    LLVMTypeRef type = LLVMVectorType(tw_gen_memory_type(e, store->access), e->lanes);
    LLVMValueRef value = tw_gen_splat(e, tw_gen_instance(tw_gen_value(e, store->value), row, vector), e->lanes);
    return LLVMTypeOf(value) == type ? value : LLVMBuildTrunc(e->builder, value, type, "");
}

static LLVMValueRef combine_integers(tw_emitter *e, const tw_place *p, const record_stores *s, LLVMTypeRef whole,
                                     LLVMValueRef old, uint32_t row, uint32_t vector)
{
    uint32_t bits = e->model->accesses[p->access].width * 8;
    uint64_t element = ((uint64_t)1 << bits) - 1, kept = UINT64_MAX;
    LLVMTypeRef type = LLVMVectorType(whole, e->lanes);
    for (uint32_t i = 0; i < p->record; i++)
        if (s->of[i]) kept &= ~(element << (i * bits));
    LLVMValueRef sum = old ? LLVMBuildAnd(e->builder, old, in_all_lanes(e, whole, kept), "") : LLVMConstNull(type);
    for (uint32_t i = 0; i < p->record; i++) {
        if (!s->of[i]) continue;
        LLVMValueRef part = LLVMBuildZExt(e->builder, element_of(e, s->of[i], row, vector), type, "");
        if (i) part = LLVMBuildShl(e->builder, part, in_all_lanes(e, whole, (uint64_t)i * bits), "");
        sum = LLVMBuildOr(e->builder, sum, part, "");
    }
    return sum;
}

static LLVMValueRef shuffle(tw_emitter *e, LLVMValueRef a, LLVMValueRef b, const uint32_t *lanes, uint32_t count)
{
    LLVMValueRef mask[64 * RECORD_MAX];
    for (uint32_t i = 0; i < count; i++) mask[i] = LLVMConstInt(e->i32, lanes[i], 0);
    return LLVMBuildShuffleVector(e->builder, a, b, LLVMConstVector(mask, count), "");
}

/* Vectors 0, 1 and 2, 3 end to end, both again, then in the order of records. */
static LLVMValueRef combine_elements(tw_emitter *e, const tw_place *p, const record_stores *s, LLVMValueRef old, uint32_t row,
                                     uint32_t vector)
{
    LLVMValueRef parts[RECORD_MAX], pairs[2];
    uint32_t lanes[64 * RECORD_MAX], w = e->lanes;
    for (uint32_t i = 0; i < RECORD_MAX; i++)
        parts[i] = i < p->record && s->of[i] ? element_of(e, s->of[i], row, vector)
                   : i < p->record           ? take_element(e, old, p->record, i)
                                             : LLVMGetPoison(LLVMTypeOf(parts[0]));
    for (uint32_t i = 0; i < 4 * w; i++) lanes[i] = i;
    for (uint32_t i = 0; i < 2; i++) pairs[i] = shuffle(e, parts[2 * i], parts[2 * i + 1], lanes, 2 * w);
    LLVMValueRef all = shuffle(e, pairs[0], pairs[1], lanes, 4 * w);
    for (uint32_t i = 0; i < p->record * w; i++) lanes[i] = i % p->record * w + i / p->record;
    return shuffle(e, all, LLVMGetPoison(LLVMTypeOf(all)), lanes, p->record * w);
}

static void store_records(tw_emitter *e, const tw_place *p, const record_stores *s, uint32_t row, uint32_t vector)
{
    LLVMTypeRef whole = whole_integer(e, p);
    LLVMTypeRef type = whole ? LLVMVectorType(whole, e->lanes) : LLVMVectorType(tw_gen_memory_type(e, p->access), e->lanes * p->record);
    LLVMValueRef old = s->count < p->record ? load_records(e, p, type, row, vector) : NULL;
    LLVMValueRef all = whole ? combine_integers(e, p, s, whole, old, row, vector) : combine_elements(e, p, s, old, row, vector);
    tw_place at = *p;
    at.delta = p->record_delta;
    tw_gen_store_at(e, &at, all, record_bytes(e, p), NULL, row, vector, 0);
}

/* The first store of the tree, with the record that begins at the least of all stores: every store asks about the same. */
static bool plan_stores(tw_emitter *e, tw_place *p, record_stores *s)
{
    const tw_node *first = NULL;
    int64_t low = 0;
    for (uint32_t i = 0; i < e->tree->node_count; i++) {
        const tw_node *node = &e->tree->nodes[i];
        if (node->kind != TW_NODE_STORE) continue;
        if (!first || e->delta[node->access] < low) low = e->delta[node->access];
        if (!first) first = node;
    }
    *p = tw_gen_place(e, first->access);
    if (!p->record) return false;
    p->record_delta = low;
    if (!only_stores(e, p, s) || !side_by_side(e, p, s)) return false;
    return s->count == p->record || !others_run(e);
}

bool tw_gen_record_store(tw_emitter *e, const tw_node *node)
{
    if (e->lane_loop == TW_NONE || e->depth == 0 || !e->scopes[e->depth].node) return false;
    tw_place p;
    record_stores s = {0};
    if (!plan_stores(e, &p, &s)) return false;
    if (node != s.last) return true;
    uint32_t rows = e->row_loop == TW_NONE ? 1 : e->rows;
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t v = 0; v < e->vectors; v++) store_records(e, &p, &s, r, v);
    return true;
}
