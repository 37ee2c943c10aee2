/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and stores.
 *
 * An access's byte offset from the memory's start grows from scope to scope: base, then stride·counter for every loop around
 * it, each part computed where its counter lives. Accesses of one loop whose addresses differ by a constant share one
 * such chain (the range check sees that they do). Lanes: stride 0 is one scalar for all lanes, stride = width one vector
 * access, anything else lane by lane. What an indirect read adds comes on top, for each lane its own. */

#include "codegen/inside.h"

/* ---- strides ---- */

static bool expr_const(const tw_model *model, uint32_t expr, int64_t *out)
{
    const tw_expr_node *e = &model->exprs[expr];
    if (e->kind != TW_EXPR_CONST) return false;
    *out = e->bits == 32 ? (int32_t)e->imm : (int64_t)e->imm;
    return true;
}

bool tw_stride_known(const tw_emitter *e, uint32_t access, uint32_t depth, int64_t *out)
{
    const tw_model_access *x = &e->model->accesses[access];
    uint32_t coef = e->model->affines[x->address].coef[depth];
    uint8_t fact = e->facts->stride[access][depth];
    if (coef == TW_NONE || fact == TW_STRIDE_ZERO) return *out = 0, true;
    if (fact == TW_STRIDE_UNIT) return *out = x->width, true;
    return expr_const(e->model, coef, out);
}

static bool encloses(const tw_model *model, uint32_t outer, uint32_t inner)
{
    while (inner != outer && inner != TW_NONE) inner = model->loops[inner].parent;
    return inner == outer;
}

/* From trip to trip of the pair's outer loop the inner counter goes back by the skew. */
static bool is_skewed(const tw_emitter *e, uint32_t access, uint32_t loop)
{
    return e->tree->has_fronts && loop == e->tree->pair.outer &&
           encloses(e->model, e->tree->pair.inner, e->model->accesses[access].loop);
}

bool tw_step_known(const tw_emitter *e, uint32_t access, uint32_t loop, int64_t *out)
{
    int64_t inner;
    if (!tw_stride_known(e, access, e->model->loops[loop].depth, out)) return false;
    if (!is_skewed(e, access, loop)) return true;
    if (!tw_stride_known(e, access, e->model->loops[e->tree->pair.inner].depth, &inner)) return e->tree->pair.skew == 0;
    *out -= inner * e->tree->pair.skew;
    return true;
}

static LLVMValueRef stride_of(tw_emitter *e, uint32_t access, uint32_t loop)
{
    int64_t known;
    if (tw_step_known(e, access, loop, &known)) return tw_gen_const64(e, known);
    uint32_t word = e->layout.access[access] + 1;
    LLVMValueRef own = tw_gen_arg(e, word + e->model->loops[loop].depth);
    if (!is_skewed(e, access, loop)) return own;
    return tw_gen_skewed(e, own, tw_gen_arg(e, word + e->model->loops[e->tree->pair.inner].depth));
}

/* ---- representatives ---- */

/* Σ coef·expr + constant, modulo 2^32: what a base address is when sums and constant multiples are taken apart. */
enum { TERMS_MAX = 12, STEPS_MAX = 48 };
typedef struct sum {
    uint32_t expr[TERMS_MAX], coef[TERMS_MAX], count, constant, steps;
    bool failed; /* too many terms: equal to nothing */
} sum;

static void add_term(sum *out, uint32_t expr, uint32_t coef)
{
    uint32_t i = 0;
    while (i < out->count && out->expr[i] != expr) i++;
    if (i == TERMS_MAX) {
        out->failed = true;
        return;
    }
    if (i == out->count) out->expr[i] = expr, out->coef[i] = 0, out->count++;
    out->coef[i] += coef;
}

static void take_apart(const tw_model *model, uint32_t expr, uint32_t scale, sum *out)
{
    const tw_expr_node *e = &model->exprs[expr];
    int64_t k;
    if (out->failed || ++out->steps > STEPS_MAX) {
        out->failed = true;
    } else if (e->kind == TW_EXPR_CONST) {
        out->constant += scale * (uint32_t)e->imm;
    } else if (e->kind == TW_EXPR_OP && (e->op == TW_OP_I32_ADD || e->op == TW_OP_I32_SUB)) {
        take_apart(model, e->a, scale, out);
        take_apart(model, e->b, e->op == TW_OP_I32_ADD ? scale : 0 - scale, out);
    } else if (e->kind == TW_EXPR_OP && e->op == TW_OP_I32_MUL && expr_const(model, e->b, &k)) {
        take_apart(model, e->a, scale * (uint32_t)k, out);
    } else if (e->kind == TW_EXPR_OP && e->op == TW_OP_I32_MUL && expr_const(model, e->a, &k)) {
        take_apart(model, e->b, scale * (uint32_t)k, out);
    } else if (e->kind == TW_EXPR_OP && e->op == TW_OP_I32_SHL && expr_const(model, e->b, &k)) {
        take_apart(model, e->a, scale << (k & 31), out);
    } else {
        add_term(out, expr, scale);
    }
}

static uint32_t coef_of(const sum *s, uint32_t expr)
{
    for (uint32_t i = 0; i < s->count; i++)
        if (s->expr[i] == expr) return s->coef[i];
    return 0;
}

/* a - b, when that is a constant. */
static bool constant_difference(const tw_model *model, uint32_t a, uint32_t b, int64_t *out)
{
    sum x = {0}, y = {0};
    take_apart(model, a, 1, &x);
    take_apart(model, b, 1, &y);
    if (x.failed || y.failed) return *out = 0, a == b;
    for (uint32_t i = 0; i < x.count; i++)
        if (x.coef[i] != coef_of(&y, x.expr[i])) return false;
    for (uint32_t i = 0; i < y.count; i++)
        if (y.coef[i] != coef_of(&x, y.expr[i])) return false;
    *out = (int32_t)(x.constant - y.constant);
    return true;
}

static bool same_expr(const tw_model *model, uint32_t a, uint32_t b)
{
    int64_t x, y;
    if (a == b) return true;
    if (a == TW_NONE || b == TW_NONE) return false;
    return expr_const(model, a, &x) && expr_const(model, b, &y) && x == y;
}

/* Do two accesses of one loop have the same strides by the same exprs, and bases that differ by a small constant? *delta is
 * written only if they do. */
static bool same_but_constant(const tw_model *model, uint32_t x, uint32_t y, int64_t *delta)
{
    const tw_model_access *ax = &model->accesses[x], *ay = &model->accesses[y];
    if (ax->loop != ay->loop) return false;
    const tw_affine *a = &model->affines[ax->address], *b = &model->affines[ay->address];
    for (int d = 0; d < TW_MODEL_MAX_DEPTH; d++)
        if (!same_expr(model, a->coef[d], b->coef[d])) return false;
    int64_t difference;
    if (!constant_difference(model, a->base, b->base, &difference)) return false;
    difference += (int64_t)ax->offset - (int64_t)ay->offset;
    if (difference <= -TW_MODEL_MAX_DELTA || difference >= TW_MODEL_MAX_DELTA) return false;
    *delta = difference;
    return true;
}

void tw_gen_find_representatives(tw_emitter *e)
{
    for (uint32_t x = 0; x < e->model->access_count; x++) {
        e->representative[x] = x;
        e->delta[x] = 0;
        for (uint32_t y = 0; y < x; y++) {
            if (e->representative[y] != y || e->model->accesses[y].is_inspected) continue;
            if (!same_but_constant(e->model, x, y, &e->delta[x])) continue;
            e->representative[x] = y;
            break;
        }
    }
}

/* ---- offsets ---- */

bool tw_gen_contributes(const tw_emitter *e, uint32_t access, const tw_scope *scope)
{
    int64_t known;
    if (scope->loop == TW_NONE || scope->sets_off_blocks) return false;
    if (!encloses(e->model, scope->loop, e->model->accesses[access].loop)) return false;
    return !tw_step_known(e, access, scope->loop, &known) || known != 0;
}

/* Of the scopes 0 … depth; rows made where the row loop is. */
static const tw_instances *offset_at(tw_emitter *e, uint32_t access, uint32_t depth)
{
    while (depth && !tw_gen_contributes(e, access, &e->scopes[depth])) depth--;
    tw_instances *out = &e->offsets[access][depth];
    if (tw_gen_valid(e, out)) return out;
    if (depth == 0) {
        LLVMValueRef base = tw_gen_arg(e, e->layout.access[access]);
        tw_gen_instances(e, out, 0, 0);
        out->of[0] = base;
        return out;
    }
    const tw_scope *scope = &e->scopes[depth];
    const tw_instances *outer = offset_at(e, access, depth - 1);
    LLVMValueRef stride = stride_of(e, access, scope->loop);
    bool makes_rows = scope->loop == e->row_loop && e->rows > 1;
    uint32_t mask = makes_rows || outer->rows > 1 ? 1u << e->row_loop : 0;
    tw_gen_instances(e, out, depth, mask);
    LLVMBasicBlockRef back = tw_gen_at(e, depth);
    LLVMValueRef step = LLVMBuildMul(e->builder, stride, scope->counter, "");
    for (uint32_t r = 0; r < out->rows; r++) {
        out->of[r] = LLVMBuildAdd(e->builder, tw_gen_instance(outer, r, 0), step, "");
        if (makes_rows && r)
            out->of[r] = LLVMBuildAdd(e->builder, out->of[r], LLVMBuildMul(e->builder, stride, tw_gen_const64(e, r), ""), "");
    }
    tw_gen_back(e, back);
    return out;
}

/* ---- one access ---- */

/* Do the rows, as many as lanes, lie side by side in memory? */
static bool is_unit_by_rows(const tw_emitter *e, uint32_t access)
{
    int64_t known;
    if (e->row_loop == TW_NONE || e->rows != e->lanes || e->vectors != 1) return false;
    if (!encloses(e->model, e->row_loop, e->model->accesses[access].loop)) return false;
    return tw_stride_known(e, access, e->model->loops[e->row_loop].depth, &known) &&
           known == e->model->accesses[access].width;
}

tw_place tw_gen_place(tw_emitter *e, uint32_t access)
{
    tw_place p = {.access = access, .delta = e->delta[access]};
    p.offsets = offset_at(e, e->representative[access], e->depth);
    if (e->lane_loop == TW_NONE) return p;
    int64_t known;
    bool is_known = tw_step_known(e, access, e->lane_loop, &known);
    p.has_lanes = !is_known || known != 0;
    p.is_contiguous = is_known && known == e->model->accesses[access].width;
    p.lane_stride = stride_of(e, access, e->lane_loop);
    p.is_turned = p.has_lanes && !p.is_contiguous && is_unit_by_rows(e, access);
    p.is_reversed = is_known && known == -(int64_t)e->model->accesses[access].width && !p.is_turned;
    if (!p.is_turned) tw_gen_find_record(e, &p);
    e->lanes_lie_apart |= p.has_lanes && !p.is_contiguous && !p.is_reversed;
    return p;
}

/* An indirect read's place; where its index differs by lane so does the whole. */
static void follow_index(tw_emitter *e, tw_place *p, uint32_t value)
{
    uint32_t index = e->model->values[value].args[0];
    p->index = tw_gen_value(e, index);
    p->is_turned = false;
    if (e->lane_loop == TW_NONE || !(e->varies[index] >> e->lane_loop & 1)) return;
    p->has_lanes = true, p->is_contiguous = p->is_reversed = false;
    e->lanes_lie_apart = true;
}

static LLVMValueRef add_index(tw_emitter *e, const tw_place *p, LLVMValueRef offset, uint32_t row, uint32_t vector, uint32_t lane)
{
    LLVMValueRef index = tw_gen_instance(p->index, row, vector);
    if (LLVMGetTypeKind(LLVMTypeOf(index)) == LLVMVectorTypeKind)
        index = LLVMBuildExtractElement(e->builder, index, LLVMConstInt(e->i32, lane, 0), "");
    return LLVMBuildAdd(e->builder, offset, LLVMBuildSExt(e->builder, index, e->i64, ""), "");
}

/* Of lane `lane` of an instance; bytes from the memory's start. */
static LLVMValueRef offset_of(tw_emitter *e, const tw_place *p, uint32_t row, uint32_t vector, uint32_t lane)
{
    LLVMValueRef offset = tw_gen_instance(p->offsets, row, 0);
    int64_t trips = (int64_t)vector * e->lanes + lane;
    if (p->index) offset = add_index(e, p, offset, row, vector, lane);
    if (!p->has_lanes || trips == 0) return offset;
    return LLVMBuildAdd(e->builder, offset, LLVMBuildMul(e->builder, p->lane_stride, tw_gen_const64(e, trips), ""), "");
}

/* Checked kernels test bytes [offset, offset + size) here and now. */
static void check_access(tw_emitter *e, const tw_place *p, LLVMValueRef offset, uint64_t size)
{
    if (!e->facts->checked) return;
    LLVMValueRef start = LLVMBuildAdd(e->builder, offset, tw_gen_const64(e, p->delta), "");
    LLVMValueRef room = LLVMBuildSub(e->builder, e->memory_size, tw_gen_const64(e, (int64_t)size), "");
    LLVMValueRef inside = LLVMBuildICmp(e->builder, LLVMIntULE, start, room, "");
    LLVMValueRef fits = LLVMBuildICmp(e->builder, LLVMIntUGE, e->memory_size, tw_gen_const64(e, (int64_t)size), "");
    LLVMBasicBlockRef go_on = tw_gen_block(e, "in");
    LLVMBuildCondBr(e->builder, LLVMBuildAnd(e->builder, inside, fits, ""), go_on, e->stopped);
    LLVMPositionBuilderAtEnd(e->builder, go_on);
}

static LLVMValueRef pointer_to(tw_emitter *e, const tw_place *p, LLVMValueRef offset)
{
    LLVMValueRef at = LLVMBuildGEP2(e->builder, e->i8, e->memory, &offset, 1, "");
    if (!p->delta) return at;
    LLVMValueRef delta = tw_gen_const64(e, p->delta);
    return LLVMBuildGEP2(e->builder, e->i8, at, &delta, 1, "");
}

/* Alignment 1, and what the access can't overlap. */
static LLVMValueRef annotate(tw_emitter *e, const tw_place *p, LLVMValueRef instruction)
{
    LLVMSetAlignment(instruction, 1);
    if (p->is_stored_to) return instruction;
    LLVMMetadataRef others[256], own = e->group_scope[e->facts->group[p->access]];
    unsigned count = 0;
    for (int g = 0; g < 256; g++)
        if (e->group_scope[g] && g != e->facts->group[p->access]) others[count++] = e->group_scope[g];
    LLVMMetadataRef in = LLVMMDNodeInContext2(e->context, &own, 1), out = LLVMMDNodeInContext2(e->context, others, count);
    LLVMSetMetadata(instruction, e->kind_alias_scope, LLVMMetadataAsValue(e->context, in));
    if (count) LLVMSetMetadata(instruction, e->kind_noalias, LLVMMetadataAsValue(e->context, out));
    return instruction;
}

/* ---- what is in memory and what an operation makes of it ---- */

typedef struct memory_type {
    LLVMTypeRef type; /* in memory */
    bool sign;        /* extends with the sign */
} memory_type;

static memory_type memory_type_of(const tw_emitter *e, tw_op op)
{
    switch (op) {
    case TW_OP_F32_LOAD: case TW_OP_F32_STORE: return (memory_type){e->f32, false};
    case TW_OP_F64_LOAD: case TW_OP_F64_STORE: return (memory_type){e->f64, false};
    case TW_OP_I32_LOAD8_S: case TW_OP_I64_LOAD8_S: return (memory_type){e->i8, true};
    case TW_OP_I32_LOAD8_U: case TW_OP_I64_LOAD8_U: case TW_OP_I32_STORE8: case TW_OP_I64_STORE8:
        return (memory_type){e->i8, false};
    case TW_OP_I32_LOAD16_S: case TW_OP_I64_LOAD16_S: return (memory_type){e->i16, true};
    case TW_OP_I32_LOAD16_U: case TW_OP_I64_LOAD16_U: case TW_OP_I32_STORE16: case TW_OP_I64_STORE16:
        return (memory_type){e->i16, false};
    case TW_OP_I64_LOAD32_S: return (memory_type){e->i32, true};
    case TW_OP_I32_LOAD: case TW_OP_I32_STORE: case TW_OP_I64_LOAD32_U: case TW_OP_I64_STORE32:
        return (memory_type){e->i32, false};
    default: return (memory_type){e->i64, false};
    }
}

LLVMTypeRef tw_gen_memory_type(const tw_emitter *e, uint32_t access)
{
    return memory_type_of(e, (tw_op)e->model->accesses[access].op).type;
}

static LLVMValueRef extend(tw_emitter *e, LLVMValueRef raw, memory_type memory, uint8_t type, uint32_t lanes)
{
    if (type == TW_F32 || type == TW_F64) return raw;
    LLVMTypeRef wide = tw_gen_lanes_of(tw_gen_type(e, type), lanes);
    if (LLVMTypeOf(raw) == wide) return raw;
    return memory.sign ? LLVMBuildSExt(e->builder, raw, wide, "") : LLVMBuildZExt(e->builder, raw, wide, "");
}

LLVMValueRef tw_gen_load_at(tw_emitter *e, const tw_place *p, LLVMTypeRef type, uint64_t size, uint32_t row, uint32_t vector, uint32_t lane)
{
    LLVMValueRef offset = offset_of(e, p, row, vector, lane);
    check_access(e, p, offset, size);
    return annotate(e, p, LLVMBuildLoad2(e->builder, type, pointer_to(e, p, offset), ""));
}

static LLVMValueRef reverse(tw_emitter *e, LLVMValueRef value)
{
    LLVMValueRef order[64];
    for (uint32_t i = 0; i < e->lanes; i++) order[i] = LLVMConstInt(e->i32, e->lanes - 1 - i, 0);
    return LLVMBuildShuffleVector(e->builder, value, LLVMGetPoison(LLVMTypeOf(value)), LLVMConstVector(order, e->lanes), "");
}

static LLVMValueRef load_raw(tw_emitter *e, const tw_place *p, LLVMTypeRef type, uint32_t row, uint32_t vector)
{
    uint64_t width = e->model->accesses[p->access].width;
    if (!p->has_lanes || e->lanes == 1) return tw_gen_load_at(e, p, type, width, row, vector, 0);
    LLVMTypeRef wide = LLVMVectorType(type, e->lanes);
    if (p->is_contiguous) return tw_gen_load_at(e, p, wide, width * e->lanes, row, vector, 0);
    if (p->is_reversed) return reverse(e, tw_gen_load_at(e, p, wide, width * e->lanes, row, vector, e->lanes - 1));
    if (p->record) return tw_gen_record_load(e, p, row, vector);
    LLVMValueRef all = LLVMGetPoison(wide);
    for (uint32_t lane = 0; lane < e->lanes; lane++)
        all = LLVMBuildInsertElement(e->builder, all, tw_gen_load_at(e, p, type, width, row, vector, lane),
                                     LLVMConstInt(e->i32, lane, 0), "");
    return all;
}

LLVMValueRef tw_gen_load(tw_emitter *e, const tw_place *p, uint32_t row, uint32_t vector)
{
    tw_op op = (tw_op)e->model->accesses[p->access].op;
    memory_type memory = memory_type_of(e, op);
    uint8_t type = (uint8_t)tw_type_from_letter(tw_op_describe(op)->results[0]);
    return extend(e, load_raw(e, p, memory.type, row, vector), memory, type, p->has_lanes ? e->lanes : 1);
}

/* All rows of a turned access: a vector of rows for each lane, then transposed. */
static void load_turned(tw_emitter *e, const tw_place *p, LLVMValueRef *rows)
{
    const tw_model_access *x = &e->model->accesses[p->access];
    memory_type memory = memory_type_of(e, (tw_op)x->op);
    uint8_t type = (uint8_t)tw_type_from_letter(tw_op_describe((tw_op)x->op)->results[0]);
    LLVMTypeRef wide = LLVMVectorType(memory.type, e->rows);
    for (uint32_t lane = 0; lane < e->lanes; lane++)
        rows[lane] = tw_gen_load_at(e, p, wide, (uint64_t)x->width * e->rows, 0, 0, lane);
    tw_gen_transpose(e, rows, e->rows);
    for (uint32_t r = 0; r < e->rows; r++) rows[r] = extend(e, rows[r], memory, type, e->lanes);
}

static bool stores_to_group(const tw_emitter *e, const tw_node *node, uint8_t group)
{
    for (uint32_t i = 0; i < node->child_count; i++) {
        const tw_node *child = &e->tree->nodes[node->children[i]];
        if (child->kind == TW_NODE_STORE && e->facts->group[child->access] == group) return true;
        if (child->kind == TW_NODE_LOOP && stores_to_group(e, child, group)) return true;
    }
    return false;
}

/* When nothing in the innermost loop can change what is read, its preheader is the place: it is passed only when the loop
 * has a trip, in which the read is made. */
static bool can_go_before(const tw_emitter *e, const tw_node *node)
{
    const tw_scope *scope = &e->scopes[e->depth];
    if (!scope->before || tw_gen_contributes(e, node->access, scope) || e->facts->checked) return false;
    if (e->model->accesses[node->access].is_indirect) return false;
    return !stores_to_group(e, scope->node, e->facts->group[node->access]);
}

void tw_gen_read(tw_emitter *e, const tw_node *node)
{
    tw_place p = tw_gen_place(e, node->access);
    tw_instances *out = &e->values[node->value];
    if (e->model->accesses[node->access].is_indirect) follow_index(e, &p, node->value);
    tw_gen_instances(e, out, e->depth, e->varies[node->value]);
    bool before = can_go_before(e, node);
    LLVMBasicBlockRef back = LLVMGetInsertBlock(e->builder);
    if (before) LLVMPositionBuilderBefore(e->builder, LLVMGetBasicBlockTerminator(e->scopes[e->depth].before));
    if (p.is_turned) load_turned(e, &p, out->of);
    for (uint32_t r = 0; r < out->rows && !p.is_turned; r++)
        for (uint32_t v = 0; v < out->vectors; v++) out->of[r * out->vectors + v] = tw_gen_load(e, &p, r, v);
    if (before) tw_gen_back(e, back);
}

/* ---- stores ---- */

static LLVMValueRef narrow(tw_emitter *e, LLVMValueRef value, LLVMTypeRef memory, uint32_t lanes)
{
    LLVMTypeRef wanted = tw_gen_lanes_of(memory, lanes);
    return LLVMTypeOf(value) == wanted ? value : LLVMBuildTrunc(e->builder, value, wanted, "");
}

static LLVMValueRef is_set(tw_emitter *e, LLVMValueRef guard)
{
    return LLVMBuildICmp(e->builder, LLVMIntNE, guard, LLVMConstNull(LLVMTypeOf(guard)), "");
}

/* Stores `value` (scalar or vector) under `guard`, an i1 or NULL. */
void tw_gen_store_at(tw_emitter *e, const tw_place *p, LLVMValueRef value, uint64_t size, LLVMValueRef guard, uint32_t row, uint32_t vector,
                     uint32_t lane)
{
    LLVMBasicBlockRef after = NULL;
    if (guard) {
        LLVMBasicBlockRef then = tw_gen_block(e, "store");
        after = tw_gen_block(e, "stored");
        LLVMBuildCondBr(e->builder, guard, then, after);
        LLVMPositionBuilderAtEnd(e->builder, then);
    }
    LLVMValueRef offset = offset_of(e, p, row, vector, lane);
    check_access(e, p, offset, size);
    annotate(e, p, LLVMBuildStore(e->builder, value, pointer_to(e, p, offset)));
    if (!guard) return;
    LLVMBuildBr(e->builder, after);
    LLVMPositionBuilderAtEnd(e->builder, after);
}

/* The bytes of all lanes are this vector's own, so lanes that are switched off may be rewritten with what they hold. */
static LLVMValueRef blend(tw_emitter *e, const tw_place *p, LLVMValueRef value, uint64_t size, LLVMValueRef guard, uint32_t row,
                          uint32_t vector, uint32_t lane)
{
    LLVMValueRef old = tw_gen_load_at(e, p, LLVMTypeOf(value), size, row, vector, lane);
    return LLVMBuildSelect(e->builder, guard, value, old, "");
}

static void store_lanes(tw_emitter *e, const tw_place *p, LLVMValueRef value, LLVMValueRef guard, uint32_t row, uint32_t vector)
{
    uint64_t width = e->model->accesses[p->access].width;
    bool guard_is_vector = guard && LLVMGetTypeKind(LLVMTypeOf(guard)) == LLVMVectorTypeKind;
    if (p->is_contiguous || p->is_reversed) {
        uint32_t first = p->is_reversed ? e->lanes - 1 : 0; /* the lane at the lowest address */
        if (p->is_reversed) value = reverse(e, value);
        if (p->is_reversed && guard_is_vector) guard = reverse(e, guard);
        if (guard_is_vector) value = blend(e, p, value, width * e->lanes, guard, row, vector, first), guard = NULL;
        tw_gen_store_at(e, p, value, width * e->lanes, guard, row, vector, first);
        return;
    }
    for (uint32_t lane = 0; lane < e->lanes; lane++) {
        LLVMValueRef index = LLVMConstInt(e->i32, lane, 0);
        LLVMValueRef bit = guard_is_vector ? LLVMBuildExtractElement(e->builder, guard, index, "") : guard;
        tw_gen_store_at(e, p, LLVMBuildExtractElement(e->builder, value, index, ""), width, bit, row, vector, lane);
    }
}

void tw_gen_store_value(tw_emitter *e, const tw_place *p, LLVMValueRef value, LLVMValueRef guard, uint32_t row, uint32_t vector)
{
    const tw_model_access *x = &e->model->accesses[p->access];
    uint32_t lanes = p->has_lanes ? e->lanes : 1;
    value = narrow(e, tw_gen_splat(e, value, lanes), memory_type_of(e, (tw_op)x->op).type, lanes);
    if (lanes > 1) store_lanes(e, p, value, guard, row, vector);
    else if (e->lane_loop != TW_NONE) tw_gen_fail(e, TW_INTERNAL, "a store in lanes has the same address in each");
    else tw_gen_store_at(e, p, value, x->width, guard, row, vector, 0);
}

static void store_turned(tw_emitter *e, const tw_place *p, const tw_instances *values)
{
    const tw_model_access *x = &e->model->accesses[p->access];
    LLVMTypeRef memory = memory_type_of(e, (tw_op)x->op).type;
    LLVMValueRef rows[TW_MAX_ROWS];
    for (uint32_t r = 0; r < e->rows; r++)
        rows[r] = narrow(e, tw_gen_splat(e, tw_gen_instance(values, r, 0), e->lanes), memory, e->lanes);
    tw_gen_transpose(e, rows, e->rows);
    for (uint32_t lane = 0; lane < e->lanes; lane++)
        tw_gen_store_at(e, p, rows[lane], (uint64_t)x->width * e->rows, NULL, 0, 0, lane);
}

void tw_gen_store(tw_emitter *e, const tw_node *node, LLVMValueRef only_if)
{
    if (!only_if && tw_gen_record_store(e, node)) return;
    const tw_instances *values = tw_gen_value(e, node->value);
    const tw_instances *guards = node->guard == TW_NONE ? NULL : tw_gen_value(e, node->guard);
    tw_place p = tw_gen_place(e, node->access);
    if (p.is_turned && !guards && !only_if) {
        store_turned(e, &p, values);
        return;
    }
    uint32_t rows = e->row_loop == TW_NONE ? 1 : e->rows, vectors = e->lane_loop == TW_NONE ? 1 : e->vectors;
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t v = 0; v < vectors; v++) {
            LLVMValueRef guard = guards ? is_set(e, tw_gen_instance(guards, r, v)) : NULL;
            if (only_if) guard = guard ? LLVMBuildAnd(e->builder, guard, only_if, "") : only_if;
            tw_gen_store_value(e, &p, tw_gen_instance(values, r, v), guard, r, v);
        }
}
