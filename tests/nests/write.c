/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "nest.h"
#include "ops.h"

/* Nest → instructions. A loop is written with its test at the top, at the bottom under a guard, at the bottom alone, or in its
 * middle; or unrolled, as clang does it: with a remainder loop that counts down, an `if` around the one copy that is left of two, or the
 * test between two copies. A pointer access has a local of its own, set before its innermost loop and advanced with the counter. */

typedef struct writer {
    const nest *it;
    emit_func *func;
    code *out;
    uint32_t counter[MAX_LOOPS], old[MAX_LOOPS];
    uint32_t pointer[MAX_ACCESSES];
    uint32_t accumulator[MAX_ACCUMULATORS];
    uint32_t word[MAX_WORDS];
    int copy[MAX_LOOPS]; /* which copy of an unrolled body is being written */
    bool twisted;        /* it is the one that differs */
    uint32_t shared;     /* the local that a shared load is kept in */
    uint32_t forwarded;  /* the local that a forwarded one is kept in */
    bool remainder;      /* of the loop that forwards */
    uint32_t held, copied, base;             /* locals of the base that is handed on, of its copy, and which of the two is read */
    uint32_t kept[MAX_BOUND_CHECKS];         /* locals of the indices that were well */
    uint32_t report_label[MAX_BOUND_CHECKS]; /* of reports outside: how many blocks were open when theirs opened */
} writer;

static void write_i32(writer *w, int32_t value)
{
    emit_const(w->out, T_I32, (uint64_t)(int64_t)value);
}

static void write_number(writer *w, const number *n)
{
    switch (n->kind) {
    case NUMBER_CONST: emit_const(w->out, n->type, (uint64_t)n->value[0]); break;
    case NUMBER_PARAM: emit_get(w->out, n->index); break;
    case NUMBER_WORD:
        if (w->it->words_hoisted) {
            emit_get(w->out, w->word[n->index]);
        } else {
            write_i32(w, BLOCK_ADDRESS);
            emit_memory(w->out, 0x28, 2, 4 * n->index);
        }
        break;
    }
}

/* The counter as i32, in the copy of the body that is being written. */
static void write_counter(writer *w, int loop_, wtype as)
{
    bool wide = w->it->loops[loop_].wide;
    emit_get(w->out, w->counter[loop_]);
    if (wide && as == T_I32) emit_op(w->out, 0xA7);
    if (!wide && as == T_I64) emit_op(w->out, 0xAC);
    if (!w->copy[loop_]) return;
    emit_const(w->out, as, (uint64_t)w->copy[loop_]);
    bool by_or = w->copy[loop_] & 1 && w->it->seed % 8 == 3; /* i | 1 is i + 1 there; compilers rarely write it so */
    emit_op(w->out, as == T_I64 ? 0x7C : by_or ? 0x72 : 0x6A);
}

static bool is_zero(const number *n)
{
    for (int r = 0; r < RUNS; r++)
        if (n->value[r]) return false;
    return n->kind == NUMBER_CONST;
}

/* Multiplies the i32 on the stack. */
static void write_times(writer *w, const number *n)
{
    int64_t value = n->value[0];
    if (n->kind == NUMBER_CONST && value > 0 && (value & (value - 1)) == 0) {
        if (value == 1) return;
        write_i32(w, __builtin_ctzll((uint64_t)value));
        emit_op(w->out, 0x74);
    } else {
        write_number(w, n);
        emit_op(w->out, 0x6C);
    }
}

/* ---- addresses ---- */

static bool advances(const nest *it, const nest_access *x)
{
    if (x->loop == NONE || x->form != ADDRESS_POINTER) return false;
    int depth = it->loops[x->loop].depth;
    return x->uses[depth] && !is_zero(&it->arrays[x->array].coef[depth]);
}

/* base + displacement + the sum over the loops around. */
static void write_sum(writer *w, const nest_access *x)
{
    const array *a = &w->it->arrays[x->array];
    if (x->array == w->it->handed.array) emit_get(w->out, w->base);
    else write_number(w, &a->base);
    for (int l = x->loop; l != NONE; l = w->it->loops[l].parent) {
        int depth = w->it->loops[l].depth;
        if (!x->uses[depth] || is_zero(&a->coef[depth])) continue;
        write_counter(w, l, T_I32);
        if (x->shift[depth]) {
            write_i32(w, x->shift[depth]);
            emit_op(w->out, 0x6A);
        }
        write_times(w, &a->coef[depth]);
        emit_op(w->out, 0x6A);
    }
    if (!x->displacement) return;
    write_i32(w, x->displacement);
    emit_op(w->out, 0x6A);
}

static bool twisted_by(const writer *w, twist_kind kind, int target)
{
    return w->twisted && w->it->twist.kind == kind && w->it->twist.target == target;
}

/* Puts the address on the stack; returns what else belongs into the instruction's offset. */
static uint32_t write_plain_address(writer *w, int access_);
static void write_expr(writer *w, int index);

static uint32_t write_address(writer *w, int access_)
{
    uint32_t offset = write_plain_address(w, access_);
    if (w->it->accesses[access_].index != NONE) {
        write_expr(w, w->it->accesses[access_].index);
        emit_op(w->out, 0x6A);
    }
    return offset + (twisted_by(w, TWIST_SHIFT, access_) ? w->it->accesses[access_].width : 0u);
}

static uint32_t write_plain_address(writer *w, int access_)
{
    const nest_access *x = &w->it->accesses[access_];
    if (!advances(w->it, x)) {
        write_sum(w, x);
        return x->offset;
    }
    emit_get(w->out, w->pointer[access_]);
    int copy = w->copy[x->loop];
    if (!copy) return x->offset;
    const number *coef = &w->it->arrays[x->array].coef[w->it->loops[x->loop].depth];
    if (coef->kind == NUMBER_CONST && coef->value[0] > 0) return x->offset + (uint32_t)(copy * coef->value[0]);
    write_number(w, coef);
    write_i32(w, copy);
    emit_op(w->out, 0x6C);
    emit_op(w->out, 0x6A);
    return x->offset;
}

static void write_pointers(writer *w, int loop_)
{
    for (int i = 0; i < w->it->access_count; i++) {
        if (w->it->accesses[i].loop != loop_ || !advances(w->it, &w->it->accesses[i])) continue;
        write_sum(w, &w->it->accesses[i]);
        emit_set(w->out, w->pointer[i]);
    }
}

/* counter += steps * step, and every pointer with it. */
static void write_advance(writer *w, int loop_, int32_t steps)
{
    const loop *l = &w->it->loops[loop_];
    for (int i = 0; i < w->it->access_count; i++) {
        const nest_access *x = &w->it->accesses[i];
        if (x->loop != loop_ || !advances(w->it, x)) continue;
        const number *coef = &w->it->arrays[x->array].coef[l->depth];
        emit_get(w->out, w->pointer[i]);
        if (coef->kind == NUMBER_CONST && l->step.kind == NUMBER_CONST) {
            write_i32(w, (int32_t)(coef->value[0] * l->step.value[0] * steps));
        } else {
            write_number(w, &l->step);
            if (l->wide) emit_op(w->out, 0xA7);
            write_times(w, coef);
            write_i32(w, steps);
            emit_op(w->out, 0x6C);
        }
        emit_op(w->out, 0x6A);
        emit_set(w->out, w->pointer[i]);
    }
    emit_get(w->out, w->counter[loop_]);
    if (l->test_old) emit_tee(w->out, w->old[loop_]);
    write_number(w, &l->step);
    if (steps != 1) {
        emit_const(w->out, l->wide ? T_I64 : T_I32, (uint64_t)(int64_t)steps);
        emit_op(w->out, l->wide ? 0x7E : 0x6C);
    }
    emit_op(w->out, l->wide ? 0x7C : 0x6A);
    emit_set(w->out, w->counter[loop_]);
}

/* ---- expressions and statements ---- */

static uint32_t natural_align(const nest_access *x)
{
    return (uint32_t)__builtin_ctz(x->width);
}

static void write_load(writer *w, int access_)
{
    const nest_access *x = &w->it->accesses[access_];
    const twist *t = &w->it->twist;
    const forward *f = &w->it->forward;
    bool shared = t->kind == TWIST_SHARED && t->target == access_ && x->loop == t->loop;
    bool forwards = f->loop != NONE && !w->remainder && f->there == access_;
    if (shared && w->copy[t->loop]) {
        emit_get(w->out, w->shared);
        return;
    }
    if (f->loop != NONE && f->here == access_ && w->copy[f->loop] && !w->remainder) {
        emit_get(w->out, w->forwarded);
        return;
    }
    uint32_t offset = write_address(w, access_);
    emit_memory(w->out, x->op, natural_align(x), offset);
    if (shared) emit_tee(w->out, w->shared);
    if (forwards) emit_tee(w->out, w->forwarded);
}

/* Another opcode of the same type. */
static unsigned other_op(unsigned op)
{
    for (int r = 0; r < OP_ROWS; r++)
        if (op >= op_table[r].first && op <= op_table[r].last)
            return op < op_table[r].last ? op + 1 : op_table[r].first;
    return op;
}

static void write_op(writer *w, int index, const expr *e)
{
    bool swap = twisted_by(w, TWIST_SWAP, index) && e->index >= 2 &&
                w->it->exprs[e->args[0]].type == w->it->exprs[e->args[1]].type;
    for (int i = 0; i < e->index; i++) write_expr(w, e->args[swap && i < 2 ? 1 - i : i]);
    emit_op(w->out, twisted_by(w, TWIST_OP, index) ? other_op(e->op) : e->op);
}

static void write_expr(writer *w, int index)
{
    const expr *e = &w->it->exprs[index];
    switch (e->kind) {
    case EXPR_NUMBER:
        if (twisted_by(w, TWIST_CONST, index) && e->number.kind == NUMBER_CONST)
            emit_const(w->out, e->type, (uint64_t)e->number.value[0] + 1);
        else write_number(w, &e->number);
        break;
    case EXPR_COUNTER:
        write_counter(w, e->index, e->type);
        if (!twisted_by(w, TWIST_HALF, index)) break;
        emit_const(w->out, e->type, e->type == T_I32 ? 0x80000000 : UINT64_C(1) << 63);
        emit_op(w->out, e->type == T_I32 ? 0x6A : 0x7C);
        break;
    case EXPR_ACCUMULATOR: emit_get(w->out, w->accumulator[e->index]); break;
    case EXPR_LOAD: write_load(w, e->index); break;
    case EXPR_OP: write_op(w, index, e); break;
    }
}

/* ---- bound checks ---- */

static const uint8_t compare_ops[COMPARES];
static const compare negations[COMPARES], swaps[COMPARES];

static void write_index(writer *w, const bound_check *c)
{
    write_counter(w, c->loop, T_I32);
    write_i32(w, c->scale);
    emit_op(w->out, 0x6C);
    if (c->outer != NONE) {
        write_counter(w, c->outer, T_I32);
        write_i32(w, c->outer_scale);
        emit_op(w->out, 0x6C);
        emit_op(w->out, 0x6A);
    }
    if (c->add) {
        write_i32(w, c->add);
        emit_op(w->out, 0x6A);
    }
    if (c->data == NONE) return;
    write_expr(w, c->data);
    emit_op(w->out, 0x6A);
}

static void widen(writer *w, const bound_check *c)
{
    if (c->wide) emit_op(w->out, c->compare == LT_U || c->compare == LE_U ? 0xAD : 0xAC);
}

static void write_limit(writer *w, const bound_check *c)
{
    write_number(w, &c->limit);
    if (c->moves != NONE) {
        write_counter(w, c->moves, T_I32);
        write_i32(w, c->limit_scale);
        emit_op(w->out, 0x6C);
        emit_op(w->out, 0x6A);
    }
    widen(w, c);
}

/* 1 when the check fails; with `holds` 1 when it doesn't. */
static void write_failure(writer *w, int index, bool holds)
{
    const bound_check *c = &w->it->checks[index];
    compare op = c->negated ? negations[c->compare] : c->compare;
    if (c->swapped) op = swaps[op], write_limit(w, c);
    if (c->lags) emit_get(w->out, w->kept[index]);
    else write_index(w, c);
    widen(w, c);
    if (!c->swapped) write_limit(w, c);
    emit_op(w->out, compare_ops[op] + (c->wide ? 11u : 0u));
    if (c->negated == holds) emit_op(w->out, 0x45);
}

/* What a program would print: the number of the check, and all counters and sums that are integers, as they are. */
static void write_report(writer *w, int index)
{
    write_i32(w, index + 1);
    for (int l = 0; l < w->it->loop_count; l++) {
        emit_get(w->out, w->counter[l]);
        if (w->it->loops[l].wide) emit_op(w->out, 0xA7);
        emit_op(w->out, 0x6A);
        write_i32(w, 31);
        emit_op(w->out, 0x6C);
    }
    for (int a = 0; a < w->it->accumulator_count; a++) {
        if (w->it->accumulators[a] > T_I64) continue;
        emit_get(w->out, w->accumulator[a]);
        if (w->it->accumulators[a] == T_I64) emit_op(w->out, 0xA7);
        emit_op(w->out, 0x73);
    }
    for (int c = 0; c < w->it->check_count; c++) {
        if (!w->it->checks[c].remembers) continue;
        write_i32(w, 7);
        emit_op(w->out, 0x6C);
        emit_get(w->out, w->kept[c]);
        emit_op(w->out, 0x6A);
    }
    emit_call_report(w->out);
    emit_op(w->out, 0x1A);
    emit_op(w->out, 0x00);
}

static void write_refusal(writer *w, int index)
{
    check_form form = w->it->checks[index].form;
    if (form == CHECK_OUTSIDE) {
        write_failure(w, index, false);
        emit_br_if(w->out, w->out->open - 1 - w->report_label[index]);
        return;
    }
    if (form == CHECK_JUMPED) emit_block(w->out);
    write_failure(w, index, form == CHECK_JUMPED);
    if (form == CHECK_JUMPED) emit_br_if(w->out, 0);
    else emit_if(w->out);
    write_report(w, index);
    emit_end(w->out);
}

static void write_check(writer *w, int index)
{
    write_refusal(w, index);
    if (!w->it->checks[index].remembers) return;
    write_index(w, &w->it->checks[index]);
    emit_set(w->out, w->kept[index]);
}

static void write_statement(writer *w, int index)
{
    const statement *s = &w->it->statements[index];
    if (w->it->dropped >> index & 1) return;
    if (s->guard != NONE) {
        write_expr(w, s->guard);
        emit_if(w->out);
    }
    switch (s->kind) {
    case STATEMENT_STORE: {
        uint32_t offset = write_address(w, s->target);
        write_expr(w, s->value);
        emit_memory(w->out, w->it->accesses[s->target].op, natural_align(&w->it->accesses[s->target]), offset);
        break;
    }
    case STATEMENT_SET:
        write_expr(w, s->value);
        emit_set(w->out, w->accumulator[s->target]);
        break;
    case STATEMENT_UNREACHABLE: emit_op(w->out, 0x00); break;
    case STATEMENT_CHECK: write_check(w, s->target); break;
    }
    if (s->guard != NONE) emit_end(w->out);
}

/* ---- loops ---- */

static void write_loop(writer *w, int index);

static void write_copied(writer *w, uint32_t to, uint32_t from)
{
    emit_get(w->out, from);
    emit_set(w->out, to);
}

/* What the body of a loop does to the base that is handed on, unless a body around it has done so. */
static hand hand_of(const writer *w, const loop *l)
{
    if (!l || w->it->handed.array == NONE || w->base != w->held) return HAND_NONE;
    return w->it->handed.how[l - w->it->loops];
}

static void begin_hand(writer *w, hand how, const loop *l)
{
    if (how != HAND_COPY && how != HAND_SWAP) return;
    write_copied(w, w->copied, w->held);
    w->base = w->copied;
    if (how == HAND_COPY) return;
    write_counter(w, (int)(l - w->it->loops), T_I32);
    emit_set(w->out, w->held);
}

static void end_hand(writer *w, hand how)
{
    if (how == HAND_SWAP) write_copied(w, w->held, w->copied);
    if (how == HAND_LATE) write_copied(w, w->copied, w->held);
    if (how != HAND_NONE) w->base = w->held;
}

/* breaks: how many blocks out the loop's exit is; only loops that have a break ask. */
static void write_body(writer *w, const body *b, const loop *l, uint32_t breaks)
{
    bool mine = w->twisted && l == &w->it->loops[w->it->twist.loop],
         reversed = mine && w->it->twist.kind == TWIST_ORDER;
    int count = b->count - (mine && w->it->twist.kind == TWIST_SKIP);
    hand how = hand_of(w, l);
    begin_hand(w, how, l);
    for (int i = 0; i < count; i++) {
        const item *it = &b->items[reversed ? count - 1 - i : i];
        if (it->kind == ITEM_LOOP) write_loop(w, it->index);
        else write_statement(w, it->index);
    }
    end_hand(w, how);
    if (!l || l->break_load == NONE) return;
    uint32_t offset = write_address(w, l->break_load);
    emit_memory(w->out, w->it->accesses[l->break_load].op, 0, offset);
    emit_op(w->out, 0x45);
    emit_br_if(w->out, breaks);
}

static void write_bound(writer *w, const loop *l)
{
    write_number(w, &l->bound);
    if (l->bound_outer == NONE) return;
    write_counter(w, l->bound_outer, l->wide ? T_I64 : T_I32);
    emit_op(w->out, l->wide ? 0x7C : 0x6A);
}

/* Opcodes of i32; those of i64 lie 11 above. Negated and swapped forms mean the same. */
static const uint8_t compare_ops[COMPARES] = {0x47, 0x48, 0x49, 0x4C, 0x4D, 0x4A, 0x4B, 0x4E, 0x4F, 0x46};
static const compare negations[COMPARES] = {EQ, GE_S, GE_U, GT_S, GT_U, LE_S, LE_U, LT_S, LT_U, NE};
static const compare swaps[COMPARES] = {NE, GT_S, GT_U, GE_S, GE_U, LT_S, LT_U, LE_S, LE_U, EQ};

/* 1 while the loop goes on; with `leaves` 1 when it ends. */
static void write_test(writer *w, const loop *l, uint32_t local, bool leaves)
{
    compare op = l->negated ? negations[l->compare] : l->compare;
    if (l->swapped) op = swaps[op];
    if (l->swapped) write_bound(w, l);
    emit_get(w->out, local);
    if (!l->swapped) write_bound(w, l);
    emit_op(w->out, compare_ops[op] + (l->wide ? 11u : 0u));
    if (l->negated != leaves) emit_op(w->out, 0x45);
}

static void write_top_tested(writer *w, int index, const loop *l)
{
    emit_block(w->out);
    emit_loop(w->out);
    write_test(w, l, w->counter[index], true);
    emit_br_if(w->out, 1);
    write_body(w, &l->body, l, 1);
    write_advance(w, index, 1);
    emit_br(w->out, 0);
    emit_end(w->out);
    emit_end(w->out);
}

/* How many items of the body stand before the test: about half, the loops among them on one side. */
static int items_before(const loop *l)
{
    int first = l->body.count, end = 0;
    for (int i = 0; i < l->body.count; i++) {
        if (l->body.items[i].kind != ITEM_LOOP) continue;
        if (first > i) first = i;
        end = i + 1;
    }
    if (!end) return (l->body.count + 1) / 2;
    return l->loops_before ? end : first;
}

static void write_middle_tested(writer *w, int index, const loop *l)
{
    body before = l->body, after = {0};
    before.count = items_before(l);
    for (int i = before.count; i < l->body.count; i++) after.items[after.count++] = l->body.items[i];
    emit_block(w->out);
    emit_loop(w->out);
    write_body(w, &before, NULL, 0);
    write_test(w, l, w->counter[index], true);
    emit_br_if(w->out, 1);
    write_body(w, &after, NULL, 0);
    write_advance(w, index, 1);
    emit_br(w->out, 0);
    emit_end(w->out);
    emit_end(w->out);
}

/* for (i = 0; i < n; i++), n being a multiple of U and `before` more. */
static void write_middle_of_copies(writer *w, int index, const loop *l)
{
    emit_block(w->out);
    emit_loop(w->out);
    for (w->copy[index] = 0; w->copy[index] < l->before; w->copy[index]++) write_body(w, &l->body, NULL, 0);
    emit_get(w->out, w->counter[index]);
    write_bound(w, l);
    write_i32(w, l->before);
    emit_op(w->out, 0x6B);
    emit_op(w->out, 0x46);
    emit_br_if(w->out, 1);
    for (; w->copy[index] < l->unroll; w->copy[index]++) write_body(w, &l->body, NULL, 0);
    w->copy[index] = 0;
    write_advance(w, index, l->unroll);
    emit_br(w->out, 0);
    emit_end(w->out);
    emit_end(w->out);
}

static void write_bottom_tested(writer *w, int index, const loop *l)
{
    emit_block(w->out);
    if (l->place == TEST_GUARDED) {
        write_test(w, l, w->counter[index], true);
        emit_br_if(w->out, 0);
    }
    emit_loop(w->out);
    write_body(w, &l->body, l, 1);
    write_advance(w, index, 1);
    write_test(w, l, l->test_old ? w->old[index] : w->counter[index], false);
    emit_br_if(w->out, 0);
    emit_end(w->out);
    emit_end(w->out);
}

/* copy == unroll: the remainder. A twist inside a twisted copy's inner loop is its own affair. */
static void write_copy(writer *w, int index, int copy)
{
    const loop *l = &w->it->loops[index];
    bool outer = w->twisted;
    w->twisted = w->it->twist.kind && w->it->twist.loop == index && w->it->twist.copy == copy;
    if (w->it->forward.loop == index) w->remainder = copy == l->unroll;
    write_body(w, &l->body, l, 2);
    w->twisted = outer;
}

/* n % U single ones, from where the counter stands, which then stands there again. */
static void write_remainder(writer *w, int index, const loop *l, uint32_t bound, uint32_t left)
{
    bool twice = w->it->twist.kind == TWIST_TWICE && w->it->twist.loop == index;
    emit_get(w->out, bound);
    write_i32(w, l->unroll - 1);
    emit_op(w->out, 0x71);
    emit_tee(w->out, left);
    emit_if(w->out);
    if (!l->rest_is_if) emit_loop(w->out);
    write_copy(w, index, l->unroll);
    write_advance(w, index, 1);
    if (!l->rest_is_if) {
        emit_get(w->out, left);
        write_i32(w, -1);
        emit_op(w->out, 0x6A);
        emit_tee(w->out, left);
        emit_br_if(w->out, 0);
        emit_end(w->out);
    }
    emit_end(w->out);
    if (!twice) return;
    emit_get(w->out, bound);
    write_i32(w, -l->unroll);
    emit_op(w->out, 0x71);
    emit_set(w->out, w->counter[index]);
    write_pointers(w, index);
}

/* for (i = 0; i < n; i++): n / U times U copies, then n % U single ones. */
static void write_unrolled(writer *w, int index, const loop *l)
{
    uint32_t bound = emit_local(w->func, T_I32), left = emit_local(w->func, T_I32);
    emit_block(w->out);
    write_bound(w, l);
    emit_tee(w->out, bound);
    write_i32(w, 1);
    emit_op(w->out, 0x48); /* n < 1 */
    emit_br_if(w->out, 0);
    emit_get(w->out, bound);
    write_i32(w, l->unroll);
    emit_op(w->out, 0x4F);
    emit_if(w->out);
    emit_get(w->out, bound);
    write_i32(w, 0x7FFFFFFF & -l->unroll);
    emit_op(w->out, 0x71);
    emit_set(w->out, left);
    emit_loop(w->out);
    for (w->copy[index] = 0; w->copy[index] < l->unroll; w->copy[index]++) write_copy(w, index, w->copy[index]);
    w->copy[index] = 0;
    write_advance(w, index, l->unroll);
    emit_get(w->out, w->counter[index]);
    emit_get(w->out, left);
    emit_op(w->out, 0x47);
    emit_br_if(w->out, 0);
    emit_end(w->out);
    emit_end(w->out);
    write_remainder(w, index, l, bound, left);
    if (w->it->twist.kind == TWIST_TWICE && w->it->twist.loop == index) write_remainder(w, index, l, bound, left);
    emit_end(w->out);
}

static void write_loop(writer *w, int index)
{
    const loop *l = &w->it->loops[index];
    write_number(w, &l->start);
    if (l->start_outer != NONE) {
        write_counter(w, l->start_outer, l->wide ? T_I64 : T_I32);
        emit_op(w->out, l->wide ? 0x7C : 0x6A);
    }
    emit_set(w->out, w->counter[index]);
    write_pointers(w, index);
    if (l->unroll > 1 && l->place == TEST_MIDDLE) write_middle_of_copies(w, index, l);
    else if (l->unroll > 1) write_unrolled(w, index, l);
    else if (l->place == TEST_MIDDLE) write_middle_tested(w, index, l);
    else if (l->place == TEST_TOP) write_top_tested(w, index, l);
    else write_bottom_tested(w, index, l);
}

/* ---- the function ---- */

static wtype load_type(unsigned op)
{
    if (op == 0x2A || op == 0x2B) return op == 0x2A ? T_F32 : T_F64;
    return op == 0x28 || (op >= 0x2C && op <= 0x2F) ? T_I32 : T_I64;
}

static void declare_locals(writer *w)
{
    if (w->it->handed.array != NONE) {
        uint32_t first = emit_local(w->func, T_I32), second = emit_local(w->func, T_I32);
        w->copied = w->it->handed.copy_first ? first : second;
        w->base = w->held = w->it->handed.copy_first ? second : first;
    }
    for (int l = 0; l < w->it->loop_count; l++) {
        wtype type = w->it->loops[l].wide ? T_I64 : T_I32;
        w->counter[l] = emit_local(w->func, type);
        w->old[l] = emit_local(w->func, type);
    }
    for (int a = 0; a < w->it->access_count; a++) w->pointer[a] = emit_local(w->func, T_I32);
    for (int a = 0; a < w->it->accumulator_count; a++) w->accumulator[a] = emit_local(w->func, w->it->accumulators[a]);
    const twist *t = &w->it->twist;
    if (t->kind == TWIST_SHARED && w->it->access_count)
        w->shared = emit_local(w->func, load_type(w->it->accesses[t->target].op));
    const forward *f = &w->it->forward;
    if (f->loop != NONE) w->forwarded = emit_local(w->func, load_type(w->it->accesses[f->there].op));
    for (uint32_t i = 0; i < w->it->word_count; i++) w->word[i] = emit_local(w->func, T_I32);
    for (int c = 0; c < w->it->check_count; c++) w->kept[c] = emit_local(w->func, T_I32);
}

static void keep_first(writer *w)
{
    if (w->it->handed.array != NONE) {
        write_number(w, &w->it->arrays[w->it->handed.array].base);
        emit_set(w->out, w->held);
    }
    for (int c = 0; c < w->it->check_count; c++) {
        if (!w->it->checks[c].remembers) continue;
        write_number(w, &w->it->checks[c].first);
        emit_set(w->out, w->kept[c]);
    }
}

static void hoist_words(writer *w)
{
    for (uint32_t i = 0; w->it->words_hoisted && i < w->it->word_count; i++) {
        write_i32(w, BLOCK_ADDRESS);
        emit_memory(w->out, 0x28, 2, 4 * i);
        emit_set(w->out, w->word[i]);
    }
}

/* result = result * 31 + value */
static void mix(writer *w)
{
    emit_op(w->out, 0x7C);
    emit_const(w->out, T_I64, 31);
    emit_op(w->out, 0x7E);
}

/* Counters and sums as the loops left them, in one number. */
static void write_result(writer *w)
{
    static const unsigned to_i64[] = {0xAC, 0, 0xFC04, 0xFC06};
    emit_const(w->out, T_I64, 1);
    if (w->it->handed.array != NONE && w->it->handed.in_result) {
        emit_get(w->out, w->copied);
        emit_op(w->out, 0xAC);
        mix(w);
    }
    if (!w->it->gives_result) return;
    for (int l = 0; l < w->it->loop_count; l++) {
        emit_get(w->out, w->counter[l]);
        if (!w->it->loops[l].wide) emit_op(w->out, 0xAC);
        mix(w);
    }
    for (int a = 0; a < w->it->accumulator_count; a++) {
        emit_get(w->out, w->accumulator[a]);
        if (w->it->accumulators[a] != T_I64) emit_op(w->out, to_i64[w->it->accumulators[a]]);
        mix(w);
    }
}

void nest_write(const nest *it, emit_func *out)
{
    *out = (emit_func){.param_count = it->param_count};
    memcpy(out->params, it->params, sizeof out->params);
    writer w = {.it = it, .func = out, .out = &out->body};
    declare_locals(&w);
    hoist_words(&w);
    keep_first(&w);
    for (int c = 0; c < it->check_count; c++) {
        if (it->checks[c].form != CHECK_OUTSIDE) continue;
        w.report_label[c] = w.out->open;
        emit_block(w.out);
    }
    write_body(&w, &it->body, NULL, 0);
    write_result(&w);
    for (int c = it->check_count; c-- > 0;) {
        if (it->checks[c].form != CHECK_OUTSIDE) continue;
        emit_op(w.out, 0x0F);
        emit_end(w.out);
        write_report(&w, c);
    }
}
