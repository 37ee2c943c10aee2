/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "nest.h"
#include "ops.h"

/* In this order: loops with their numbers, what the loops do with these numbers (by executing them), arrays whose strides fit
 * those ranges, statements, and at last where each array lies in each run: apart from the others and inside the memory, but for
 * the hazards that this seed draws. Most nests have at most one hazard, and mostly in some runs only: a nest that never
 * reaches a kernel tests nothing, and a kernel made in a good run must not be used in a bad one. */

enum {
    WORK_LIMIT = 200000,      /* iterations in all, of one run */
    ARRAY_BUDGET = 24 * 1024, /* bytes that one array's rows may span */
    FIRST_ADDRESS = 1024,     /* arrays lie from here on */
};

static const uint8_t widths[ELEMS] = {1, 2, 4, 8, 4, 8};

uint8_t elem_width(elem elem_)
{
    return widths[elem_];
}

bool elem_is_float(elem elem_)
{
    return elem_ >= ELEM_F32;
}

nest_class nest_class_of(uint64_t seed)
{
    random_state random = random_seeded(seed / CLASS_SIZE * 0x9E3779B97F4A7C15 + 1);
    nest_class class = {.canonical = random_below(&random, 3) != 0,
                        .whole = random_below(&random, 8) == 0,
                        .unrolled = random_below(&random, 4) == 0};
    class.canonical |= class.whole;
    return class;
}

static uint32_t below(nest *g, uint32_t limit)
{
    return random_below(&g->random, limit);
}

/* A choice that a feature allows; drawn either way, so that taking a feature away leaves the other choices alone. */
static bool maybe(nest *g, feature which, uint32_t percent)
{
    bool drawn = below(g, 100) < percent;
    return drawn && (g->features >> which & 1);
}

static bool chance(nest *g, uint32_t percent)
{
    return below(g, 100) < percent;
}

/* ---- numbers ---- */

static bool same_in_all_runs(const int64_t value[RUNS])
{
    for (int r = 1; r < RUNS; r++)
        if (value[r] != value[0]) return false;
    return true;
}

static number number_of(nest *g, wtype type, const int64_t value[RUNS])
{
    number out = {.kind = NUMBER_PARAM, .type = type};
    memcpy(out.value, value, sizeof out.value);
    bool constant = !maybe(g, FEATURE_SYMBOLIC, 55), word = maybe(g, FEATURE_IN_MEMORY, 20);
    if (same_in_all_runs(value) && constant) {
        out.kind = NUMBER_CONST;
    } else if (type == T_I32 && word && g->word_count < MAX_WORDS) {
        out.kind = NUMBER_WORD;
        out.index = g->word_count;
        g->words[g->word_count++] = out;
    } else {
        if (g->param_count == sizeof g->params / sizeof *g->params) abort();
        out.index = g->param_count;
        g->params[g->param_count] = type;
        g->param_numbers[g->param_count++] = out;
    }
    return out;
}

static number number_constant(wtype type, int64_t value)
{
    number out = {.kind = NUMBER_CONST, .type = type};
    for (int r = 0; r < RUNS; r++) out.value[r] = value;
    return out;
}

/* ---- loops ---- */

bool compare_holds(compare compare_, bool wide, int64_t a, int64_t b)
{
    int64_t x = wide ? a : (int32_t)a, y = wide ? b : (int32_t)b;
    uint64_t ux = wide ? (uint64_t)a : (uint32_t)a, uy = wide ? (uint64_t)b : (uint32_t)b;
    switch (compare_) {
    case NE: return ux != uy;
    case EQ: return ux == uy;
    case LT_S: return x < y;
    case LT_U: return ux < uy;
    case LE_S: return x <= y;
    case LE_U: return ux <= uy;
    case GT_S: return x > y;
    case GT_U: return ux > uy;
    case GE_S: return x >= y;
    case GE_U: return ux >= uy;
    default: return false;
    }
}

static bool is_unsigned(compare compare_)
{
    return compare_ == LT_U || compare_ == LE_U || compare_ == GT_U || compare_ == GE_U;
}

static int64_t draw_trips(nest *g, int depth)
{
    static const uint8_t notable[] = {0, 1, 2, 63, 64, 65}, small[] = {1, 2, 3, 5, 8, 13, 17, 4};
    bool is_notable = chance(g, g->depth - depth > 2 ? 30 : 55);
    uint32_t a = notable[below(g, 6)], b = small[below(g, 8)], c = below(g, g->depth == 1 ? 300 : 24);
    return is_notable ? a : chance(g, 50) ? b : c;
}

static compare draw_compare(nest *g)
{
    static const compare usual[] = {LT_S, LT_S, LT_U, NE, NE, NE},
                         any[] = {NE, LT_S, LT_U, LE_S, LE_U, GT_S, GT_U, GE_S, GE_U};
    compare a = usual[below(g, 6)], b = any[below(g, 9)];
    compare out = maybe(g, FEATURE_EXITS, 50) ? b : a;
    bool backwards = g->features >> FEATURE_BACKWARDS & 1;
    return backwards || out < GT_S ? out : LT_S;
}

static int64_t draw_step(nest *g, compare compare_)
{
    static const uint8_t steps[] = {2, 3, 4, 8, 5};
    uint32_t other = steps[below(g, 5)];
    int64_t size = maybe(g, FEATURE_STEPS, 30) ? other : 1;
    bool down = maybe(g, FEATURE_BACKWARDS, 35);
    return compare_ >= GT_S || (compare_ == NE && down) ? -size : size;
}

/* The bound at which the test fails first for start + failing * step. */
static int64_t bound_for(nest *g, compare compare_, int64_t start, int64_t step, int64_t failing)
{
    int64_t value = start + failing * step, slack = (int64_t)below(g, (uint32_t)(step < 0 ? -step : step));
    switch (compare_) {
    case LT_S:
    case LT_U: return value - slack;
    case LE_S:
    case LE_U: return value - slack - 1;
    case GT_S:
    case GT_U: return value + slack;
    case GE_S:
    case GE_U: return value + slack + 1;
    default: return value;
    }
}

typedef struct counts {
    int64_t failing[RUNS], start[RUNS], bound[RUNS], most;
} counts;

static void draw_counts(nest *g, const loop *l, counts *out)
{
    bool differ = maybe(g, FEATURE_SYMBOLIC, 75);
    out->most = 0;
    for (int r = 0; r < RUNS; r++) {
        int64_t drawn = draw_trips(g, l->depth);
        out->failing[r] = differ || r == 0 ? drawn : out->failing[0];
        if (r && differ) continue;
    }
    for (int r = 0; r < RUNS; r++) {
        if (l->test_old && out->failing[r]) out->failing[r]--;
        if (l->place == TEST_BOTTOM && !l->test_old && out->failing[r] == 0) out->failing[r] = 1;
        if (out->failing[r] > out->most) out->most = out->failing[r];
    }
}

/* Starting values that keep clear of wraps in the test's own signedness. */
static void draw_start(nest *g, const loop *l, int64_t step, counts *c)
{
    int64_t size = step < 0 ? -step : step;
    int64_t small = chance(g, 55) ? 0 : below(g, 12), negative = chance(g, 25) ? -(int64_t)below(g, 20) : 0;
    bool to_zero = chance(g, 60);
    for (int r = 0; r < RUNS; r++) {
        if (step < 0 && l->compare == NE && to_zero) c->start[r] = c->failing[r] * size;
        else if (step < 0) c->start[r] = c->most * size + small + 2 * size;
        else c->start[r] = small + (is_unsigned(l->compare) ? 0 : negative);
    }
}

/* for (unsigned i = n - 1; i < n; i--), and counters that pass 2^31 as unsigned numbers. */
static void draw_wrap(nest *g, loop *l, counts *c)
{
    bool reverse = chance(g, 50);
    l->compare = LT_U;
    l->place = TEST_TOP;
    l->test_old = l->wide = false;
    l->step = number_constant(T_I32, reverse ? -1 : 1);
    for (int r = 0; r < RUNS; r++) {
        c->start[r] = reverse ? c->failing[r] - 1 : INT32_MAX - c->failing[r] / 2;
        c->bound[r] = reverse ? c->failing[r] : c->start[r] + c->failing[r];
    }
}

/* An outer loop's counter as bound or start. */
static void draw_triangle(nest *g, loop *l, counts *c)
{
    const loop *outer = &g->loops[l->parent];
    bool as_start = chance(g, 30);
    int64_t extra = below(g, 3);
    if (outer->start_outer != NONE || outer->wide != l->wide) return;
    l->compare = chance(g, 50) ? LT_S : LE_S;
    int64_t step = l->step.value[0] < 0 ? 1 : l->step.value[0];
    l->step = number_constant(l->wide ? T_I64 : T_I32, step);
    for (int r = 0; r < RUNS; r++) {
        int64_t first = outer->start.value[r], last = first + 24 * outer->step.value[r];
        int64_t low = first < last ? first : last;
        c->start[r] = as_start ? extra - 1 : 0;
        c->bound[r] = as_start ? (first < last ? last : first) + extra + 4 : extra - low;
    }
    *(as_start ? &l->start_outer : &l->bound_outer) = l->parent;
}

static void draw_unroll(nest *g, loop *l, counts *c)
{
    int copies = 2 << below(g, 3);
    l->unroll = l->depth == g->depth - 1 ? copies : 2;
    l->rest_is_if = chance(g, 60) && l->unroll == 2;
    l->compare = LT_S;
    l->place = TEST_GUARDED;
    l->test_old = l->wide = false;
    l->step = number_constant(T_I32, 1);
    l->start_outer = NONE;
    for (int r = 0; r < RUNS; r++) {
        c->start[r] = 0;
        c->bound[r] = l->bound_outer == NONE ? c->failing[r] : c->bound[r];
    }
}

/* What a compiler makes of a constant count that the copies don't divide: the test stands between two of them. */
static void draw_middle_of_copies(nest *g, loop *l, counts *c)
{
    int before = 1 + (int)below(g, (uint32_t)l->unroll - 1);
    if (l->bound_outer != NONE) return;
    l->place = TEST_MIDDLE;
    l->before = before;
    for (int r = 0; r < RUNS; r++) c->bound[r] = c->failing[r] - c->failing[r] % l->unroll + before;
}

static void draw_middle(nest *g, loop *l)
{
    l->loops_before = chance(g, 50);
    l->place = TEST_MIDDLE;
    l->test_old = false;
}

static void draw_numbers(nest *g, loop *l)
{
    l->compare = draw_compare(g);
    l->swapped = maybe(g, FEATURE_EXITS, 25);
    l->negated = maybe(g, FEATURE_EXITS, 25);
    static const test_place places[] = {TEST_TOP, TEST_GUARDED, TEST_GUARDED, TEST_BOTTOM};
    l->place = places[below(g, 4)];
    if (g->handed.array != NONE && g->handed.at_bottom && l->parent == NONE) l->place = TEST_BOTTOM;
    l->test_old = maybe(g, FEATURE_EXITS, 12) && l->place != TEST_TOP;
    l->wide = maybe(g, FEATURE_WIDE, 8);
    wtype type = l->wide ? T_I64 : T_I32;
    int64_t step = draw_step(g, l->compare), steps[RUNS] = {step, step, step, step};
    l->step = chance(g, 85) ? number_constant(type, step) : number_of(g, type, steps);
    counts c = {0};
    draw_counts(g, l, &c);
    draw_start(g, l, step, &c);
    for (int r = 0; r < RUNS; r++) c.bound[r] = bound_for(g, l->compare, c.start[r], step, c.failing[r]);
    bool triangle = maybe(g, FEATURE_TRIANGULAR, 30), unroll = maybe(g, FEATURE_UNROLL, g->class.unrolled ? 85 : 25),
         wrap = maybe(g, FEATURE_WRAP, 3), middle = maybe(g, FEATURE_MIDDLE, 15), middle_of_copies = maybe(g, FEATURE_MIDDLE, 35);
    if (triangle && l->parent != NONE) draw_triangle(g, l, &c);
    if (unroll) draw_unroll(g, l, &c);
    if (unroll && middle_of_copies) draw_middle_of_copies(g, l, &c);
    else if (!unroll && middle) draw_middle(g, l);
    else if (!unroll && wrap && l->bound_outer == NONE && l->start_outer == NONE) draw_wrap(g, l, &c);
    type = l->wide ? T_I64 : T_I32;
    l->start = number_of(g, type, c.start);
    l->bound = number_of(g, type, c.bound);
}

static void add_item(body *to, item_kind kind, int index)
{
    if (to->count == MAX_ITEMS) return;
    to->items[to->count++] = (item){kind, index};
}

static body *body_of(nest *g, int loop_)
{
    return loop_ == NONE ? &g->body : &g->loops[loop_].body;
}

static int add_loop(nest *g, int parent)
{
    int index = g->loop_count++;
    loop *l = &g->loops[index];
    *l = (loop){.parent = parent, .start_outer = NONE, .bound_outer = NONE, .unroll = 1, .break_load = NONE};
    l->depth = parent == NONE ? 0 : g->loops[parent].depth + 1;
    draw_numbers(g, l);
    return index;
}

/* A chain of `depth` loops, now and then with a second loop beside an inner one, or a second chain. */
static void draw_loops(nest *g)
{
    bool second = maybe(g, FEATURE_SIBLINGS, 12) || (g->handed.array != NONE && g->handed.again);
    int chains = second ? 2 : 1;
    for (int c = 0; c < chains; c++) {
        int parent = NONE;
        for (int d = 0; d < g->depth; d++) {
            int inner = add_loop(g, parent);
            add_item(body_of(g, parent), ITEM_LOOP, inner);
            if (d && maybe(g, FEATURE_SIBLINGS, 20) && g->loop_count < MAX_LOOPS - MAX_DEPTH)
                add_item(body_of(g, parent), ITEM_LOOP, add_loop(g, parent));
            parent = inner;
        }
    }
}

/* ---- what the loops do with their numbers ---- */

typedef struct execution {
    nest *g;
    int run;
    int64_t counter[MAX_LOOPS];
    uint64_t work;
} execution;

static bool execute_body(execution *e, const body *b);

static int64_t wrapped(const loop *l, int64_t value)
{
    if (l->wide) return value;
    return is_unsigned(l->compare) && !l->step.type ? (int64_t)(uint32_t)value : (int32_t)value;
}

static bool execute_loop(execution *e, int index)
{
    loop *l = &e->g->loops[index];
    int64_t step = l->step.value[e->run];
    int64_t bound = l->bound.value[e->run] + (l->bound_outer == NONE ? 0 : e->counter[l->bound_outer]);
    int64_t at = wrapped(l, l->start.value[e->run] + (l->start_outer == NONE ? 0 : e->counter[l->start_outer])), old;
    bool middle = l->place == TEST_MIDDLE && l->unroll == 1;
    if (l->place != TEST_BOTTOM && !middle && !compare_holds(l->compare, l->wide, at, bound)) return true;
    do {
        if (l->trips[e->run]++ == 0) l->least[e->run] = l->most[e->run] = at;
        if (at < l->least[e->run]) l->least[e->run] = at;
        if (at > l->most[e->run]) l->most[e->run] = at;
        if (++e->work > WORK_LIMIT) return false;
        e->counter[index] = at;
        bool last = middle && !compare_holds(l->compare, l->wide, at, bound);
        if ((!last || l->loops_before) && !execute_body(e, &l->body)) return false;
        if (last) return true;
        old = at;
        at = wrapped(l, at + step);
    } while (middle || compare_holds(l->compare, l->wide, l->test_old ? old : at, bound));
    return true;
}

static bool execute_body(execution *e, const body *b)
{
    for (int i = 0; i < b->count; i++)
        if (b->items[i].kind == ITEM_LOOP && !execute_loop(e, b->items[i].index)) return false;
    return true;
}

static bool execute_runs(nest *g)
{
    for (int r = 0; r < RUNS; r++) {
        execution e = {.g = g, .run = r};
        if (!execute_body(&e, &g->body)) return false;
    }
    return true;
}

/* ---- arrays ---- */

static int64_t extent(const nest *g, int depth, int run)
{
    int64_t most = 1;
    for (int l = 0; l < g->loop_count; l++) {
        const loop *it = &g->loops[l];
        int64_t span = it->trips[run] ? it->most[run] - it->least[run] + 1 : 1;
        if (it->depth == depth && span > most) most = span;
    }
    return most;
}

static void shuffle(nest *g, int *items, int count)
{
    for (int i = count - 1; i > 0; i--) {
        int j = (int)below(g, (uint32_t)i + 1), t = items[i];
        items[i] = items[j];
        items[j] = t;
    }
}

static elem draw_elem(nest *g)
{
    elem out = (elem)below(g, ELEMS);
    bool floats = g->features >> FEATURE_FLOAT & 1;
    if (!g->class.canonical) return g->integers_only ? (elem)(out % 4) : g->float_elem;
    return floats ? out : (elem)(out % 4);
}

/* Strides: the dimensions in some order, each row long enough for the one before; too long ones are dropped. */
static void add_array(nest *g)
{
    array *a = &g->arrays[g->array_count++];
    a->elem = draw_elem(g);
    int order[MAX_DEPTH] = {2, 1, 0};
    if (chance(g, 35)) shuffle(g, order, MAX_DEPTH);
    bool one_shape = chance(g, 40), negative = maybe(g, FEATURE_BACKWARDS, 8), twice = maybe(g, FEATURE_STEPS, 10);
    int64_t padding = chance(g, 30) ? below(g, 5) : 0, margin = chance(g, 50) ? 3 : 0;
    int64_t stride[RUNS], coef[RUNS];
    for (int r = 0; r < RUNS; r++) stride[r] = widths[a->elem] * (twice ? 2 : 1);
    for (int i = 0; i < MAX_DEPTH; i++) {
        int d = order[i];
        a->coef[d] = number_constant(T_I32, 0);
        if (d >= g->depth) continue;
        bool dropped = chance(g, 6);
        for (int r = 0; r < RUNS; r++) {
            int64_t length = 0;
            for (int s = 0; s < RUNS; s++)
                if ((one_shape || s == r) && extent(g, d, s) > length) length = extent(g, d, s);
            dropped |= stride[r] * (length + margin) > ARRAY_BUDGET;
            coef[r] = negative && i == 0 ? -stride[r] : stride[r];
            stride[r] *= length + padding + margin;
        }
        if (!dropped) {
            a->coef[d] = number_of(g, T_I32, coef);
            continue;
        }
        for (int r = 0; r < RUNS; r++) stride[r] = coef[r] < 0 ? -coef[r] : coef[r];
    }
}

/* ---- expressions ---- */

static int add_expr(nest *g, expr e)
{
    if (g->expr_count == MAX_EXPRS) abort();
    g->exprs[g->expr_count] = e;
    return g->expr_count++;
}

static int expr_op(nest *g, unsigned op, wtype type, int args, int a, int b, int c)
{
    return add_expr(g, (expr){.kind = EXPR_OP, .type = type, .op = op, .index = args, .args = {a, b, c}});
}

static uint64_t draw_bits(nest *g, wtype type)
{
    static const float floats[] = {0.5f, 1.0f, -1.5f, 3.25f, 0.1f, 1e-3f};
    static const uint64_t edges[] = {UINT64_MAX, INT32_MAX,          0x80000000, 0x80000001,
                                     UINT32_MAX, 0x8000000000000000, 31,         64};
    uint32_t a = below(g, 20), shift = below(g, 60), small = chance(g, 70), edge = chance(g, 35);
    uint64_t big = random_next(&g->random) >> shift, notable = edges[below(g, 8)];
    if (edge) big = notable;
    float f = floats[below(g, 6)];
    double d = (double)f;
    uint32_t f_bits;
    uint64_t d_bits;
    memcpy(&f_bits, &f, 4);
    memcpy(&d_bits, &d, 8);
    switch (type) {
    case T_I32: return small ? a : (uint32_t)big;
    case T_I64: return small ? a : big;
    case T_F32: return f_bits;
    default: return d_bits;
    }
}

static int expr_number(nest *g, wtype type)
{
    int64_t value[RUNS];
    for (int r = 0; r < RUNS; r++) value[r] = (int64_t)draw_bits(g, type);
    bool differ = maybe(g, FEATURE_SYMBOLIC, 40);
    if (!differ || g->param_count > 40)
        for (int r = 1; r < RUNS; r++) value[r] = value[0];
    number n = g->param_count > 40 ? number_constant(type, value[0]) : number_of(g, type, value);
    return add_expr(g, (expr){.kind = EXPR_NUMBER, .type = type, .number = n});
}

/* Total conversions from any type to any other. */
static int convert(nest *g, int from, wtype to)
{
    static const unsigned ops[4][4] = {/* [from][to] */
                                       {0, 0xAC, 0xB2, 0xB7},
                                       {0xA7, 0, 0xB4, 0xB9},
                                       {0xFC00, 0xFC04, 0, 0xBB},
                                       {0xFC02, 0xFC06, 0xB6, 0}};
    wtype type = g->exprs[from].type;
    return type == to ? from : expr_op(g, ops[type][to], to, 1, from, 0, 0);
}

static int expr_counter(nest *g, int loop_, wtype type)
{
    int up = (int)below(g, MAX_DEPTH);
    for (int i = 0; i < up && g->loops[loop_].parent != NONE; i++) loop_ = g->loops[loop_].parent;
    wtype own = g->loops[loop_].wide ? T_I64 : T_I32;
    return convert(g, add_expr(g, (expr){.kind = EXPR_COUNTER, .type = own, .index = loop_}), type);
}

/* ---- accesses ---- */

typedef struct memory_op {
    unsigned op;
    uint8_t width;
} memory_op;
static const memory_op loads[4][7] = {{{0x28, 4}, {0x2C, 1}, {0x2D, 1}, {0x2E, 2}, {0x2F, 2}, {0x28, 4}, {0x28, 4}},
                                      {{0x29, 8}, {0x30, 1}, {0x31, 1}, {0x32, 2}, {0x33, 2}, {0x34, 4}, {0x35, 4}},
                                      {{0x2A, 4}, {0x2A, 4}, {0x2A, 4}, {0x2A, 4}, {0x2A, 4}, {0x2A, 4}, {0x2A, 4}},
                                      {{0x2B, 8}, {0x2B, 8}, {0x2B, 8}, {0x2B, 8}, {0x2B, 8}, {0x2B, 8}, {0x2B, 8}}};
static const memory_op stores[4][4] = {{{0x36, 4}, {0x3A, 1}, {0x3B, 2}, {0x36, 4}},
                                       {{0x37, 8}, {0x3C, 1}, {0x3D, 2}, {0x3E, 4}},
                                       {{0x38, 4}, {0x38, 4}, {0x38, 4}, {0x38, 4}},
                                       {{0x39, 8}, {0x39, 8}, {0x39, 8}, {0x39, 8}}};

/* The instruction that fits the array's elements, or any other of the type. */
static memory_op draw_memory_op(nest *g, elem elem_, const memory_op *table, uint32_t count)
{
    memory_op any = table[below(g, count)];
    bool mixed = maybe(g, FEATURE_MIXED, 6) && (g->class.canonical || g->integers_only);
    if (mixed) return any;
    uint32_t start = below(g, count);
    for (uint32_t i = 0; i < count; i++)
        if (table[(start + i) % count].width == widths[elem_]) return table[(start + i) % count];
    return any;
}

static wtype natural_type(nest *g, elem elem_)
{
    static const wtype types[ELEMS] = {T_I32, T_I32, T_I32, T_I64, T_F32, T_F64};
    return elem_ < ELEM_I64 && chance(g, 15) ? T_I64 : types[elem_];
}

static int add_access(nest *g, int array_, int loop_, memory_op op, bool is_store)
{
    nest_access a = {.array = array_, .loop = loop_, .op = op.op, .width = op.width, .index = NONE};
    int depth = loop_ == NONE ? 0 : g->loops[loop_].depth + 1;
    for (int d = 0; d < MAX_DEPTH; d++) {
        bool unused = chance(g, is_store ? 2 : 15), shifted = maybe(g, FEATURE_STENCIL, is_store ? 3 : 15);
        int shift = (int)below(g, 4) - 1;
        a.uses[d] = d < depth && !unused;
        a.shift[d] = shifted && a.uses[d] ? shift : 0;
    }
    int32_t step = widths[g->arrays[array_].elem] * ((int32_t)below(g, 5) - 2);
    bool moved = maybe(g, FEATURE_STENCIL, is_store ? 5 : 20), in_offset = chance(g, 60);
    if (moved && in_offset && step > 0) a.offset = (uint32_t)step;
    else if (moved) a.displacement = step;
    uint32_t far = 16 * below(g, 64);
    if (chance(g, 5)) a.offset += far;
    a.form = maybe(g, FEATURE_POINTER, 40) ? ADDRESS_POINTER : ADDRESS_COMPUTED;
    if (g->access_count == MAX_ACCESSES) return (int)below(g, MAX_ACCESSES);
    g->accesses[g->access_count] = a;
    return g->access_count++;
}

/* The last array is the one that is mostly written and rarely read: reading what the loop writes is mostly a dependence. */
static int array_to_read(nest *g)
{
    int any = (int)below(g, (uint32_t)g->array_count), other = (int)below(g, (uint32_t)g->array_count - 1);
    return chance(g, 75) ? other : any;
}

static int array_to_write(nest *g)
{
    int any = (int)below(g, (uint32_t)g->array_count);
    return chance(g, 75) ? g->array_count - 1 : any;
}

/* One of at most MAX_ACCESSES; when they are used up, a constant instead. */
static int expr_load(nest *g, int loop_, wtype type)
{
    int array_ = array_to_read(g);
    wtype own = natural_type(g, g->arrays[array_].elem);
    memory_op op = draw_memory_op(g, g->arrays[array_].elem, loads[own], 7);
    if (g->access_count == MAX_ACCESSES) return expr_number(g, type);
    int index = add_access(g, array_, loop_, op, false);
    return convert(g, add_expr(g, (expr){.kind = EXPR_LOAD, .type = own, .index = index}), type);
}

static int draw_expr(nest *g, int loop_, wtype type, int height);

static bool op_allowed(const nest *g, const op_info *row)
{
    bool floats = g->features >> FEATURE_FLOAT & 1, traps = g->features >> FEATURE_TRAP_OPS & 1;
    if ((row->flags & OP_TRAPS) && !traps) return false;
    if ((row->flags & OP_SHOWS_NAN) && !g->class.canonical) return false;
    return floats || (row->arg < T_F32 && row->result < T_F32);
}

/* Simple arithmetic most of the time: real loops are made of it, and the rest is still met often. */
static int draw_op(nest *g, int loop_, wtype type, int height)
{
    static const unsigned simple[4][4] = {
        {0x6A, 0x6B, 0x6C, 0x73}, {0x7C, 0x7D, 0x7E, 0x85}, {0x92, 0x93, 0x94, 0x92}, {0xA0, 0xA1, 0xA2, 0xA0}};
    unsigned op = simple[type][below(g, 4)];
    wtype arg = type;
    int args = 2;
    bool any = chance(g, 35), rare_trap = chance(g, 12);
    const op_info *row = &op_table[below(g, OP_ROWS)];
    for (int tries = 0; any && tries < 60; tries++, row = &op_table[below(g, OP_ROWS)]) {
        if (row->result != type || !op_allowed(g, row) || ((row->flags & OP_TRAPS) && !rare_trap)) continue;
        op = row->first + below(g, row->last - row->first + 1);
        arg = row->arg;
        args = row->args;
        break;
    }
    int a = draw_expr(g, loop_, arg, height - 1), b = args == 2 ? draw_expr(g, loop_, arg, height - 1) : 0;
    return expr_op(g, op, type, args, a, b, 0);
}

static int draw_select(nest *g, int loop_, wtype type, int height)
{
    int a = draw_expr(g, loop_, type, height - 1), b = draw_expr(g, loop_, type, height - 1);
    return expr_op(g, OP_SELECT, type, 3, a, b, draw_expr(g, loop_, T_I32, height - 1));
}

static int draw_leaf(nest *g, int loop_, wtype type)
{
    uint32_t which = below(g, 100);
    if (which < 60) return expr_load(g, loop_, type);
    if (which < 80 && loop_ != NONE) return expr_counter(g, loop_, type);
    return expr_number(g, type);
}

static int draw_expr(nest *g, int loop_, wtype type, int height)
{
    if (g->expr_count > MAX_EXPRS - 64 || height <= 0 || chance(g, 25)) return draw_leaf(g, loop_, type);
    return chance(g, 8) ? draw_select(g, loop_, type, height) : draw_op(g, loop_, type, height);
}

/* ---- statements ---- */

static int add_statement(nest *g, statement s)
{
    if (g->statement_count == MAX_STATEMENTS) return NONE;
    g->statements[g->statement_count] = s;
    return g->statement_count++;
}

/* Before the loops of a body, or after them. */
static void put_statement(nest *g, int loop_, bool first, statement s)
{
    body *b = body_of(g, loop_);
    if (b->count == MAX_ITEMS) return;
    int index = add_statement(g, s);
    if (index == NONE) return;
    add_item(b, ITEM_STATEMENT, index);
    if (!first) return;
    item moved = b->items[b->count - 1];
    memmove(b->items + 1, b->items, sizeof moved * (size_t)(b->count - 1));
    b->items[0] = moved;
}

static int draw_guard(nest *g, int loop_)
{
    bool guarded = maybe(g, FEATURE_GUARD, 15), by_data = chance(g, 50);
    int left = by_data ? expr_load(g, loop_, T_I32) : expr_counter(g, loop_, T_I32), right = expr_number(g, T_I32);
    int test = expr_op(g, 0x46 + below(g, 10), T_I32, 2, left, right, 0);
    return guarded ? test : NONE;
}

static void draw_store(nest *g, int loop_, bool first)
{
    int array_ = array_to_write(g), guard = loop_ == NONE ? NONE : draw_guard(g, loop_);
    elem elem_ = g->arrays[array_].elem;
    wtype type = natural_type(g, elem_);
    memory_op op = draw_memory_op(g, elem_, stores[type], 4);
    int value = draw_expr(g, loop_, type, 3);
    bool update = chance(g, 35);
    if (g->access_count > MAX_ACCESSES - 2) return;
    int target = add_access(g, array_, loop_, op, true);
    if (update) { /* the target's own cell, read with the instruction that matches the store */
        memory_op same = draw_memory_op(g, elem_, loads[type], 7);
        int read = add_access(g, array_, loop_, same, false);
        nest_access copy = g->accesses[target];
        copy.op = same.op;
        copy.width = same.width;
        g->accesses[read] = copy;
        static const unsigned adds[] = {0x6A, 0x7C, 0x92, 0xA0};
        int load = add_expr(g, (expr){.kind = EXPR_LOAD, .type = type, .index = read});
        value = expr_op(g, adds[type], type, 2, load, value, 0);
    }
    put_statement(
        g, loop_, first,
        (statement){.kind = STATEMENT_STORE, .loop = loop_, .guard = guard, .target = target, .value = value});
}

/* sum = first; loop: sum = sum op value; afterwards: array = sum. */
static void draw_accumulator(nest *g, int loop_)
{
    if (g->accumulator_count == MAX_ACCUMULATORS || g->statement_count > MAX_STATEMENTS - 3) return;
    int array_ = (int)below(g, (uint32_t)g->array_count), outer = g->loops[loop_].parent,
        index = g->accumulator_count++;
    wtype type = natural_type(g, g->arrays[array_].elem);
    g->accumulators[index] = type;
    bool previous = chance(g, 15);
    int start = draw_expr(g, outer, type, 1), value = draw_expr(g, loop_, type, 2);
    int old = add_expr(g, (expr){.kind = EXPR_ACCUMULATOR, .type = type, .index = index});
    static const unsigned adds[] = {0x6A, 0x7C, 0x92, 0xA0};
    int sum = previous ? value : expr_op(g, adds[type], type, 2, old, value, 0);
    put_statement(g, outer, true,
                  (statement){.kind = STATEMENT_SET, .loop = outer, .guard = NONE, .target = index, .value = start});
    put_statement(g, loop_, false,
                  (statement){.kind = STATEMENT_SET, .loop = loop_, .guard = NONE, .target = index, .value = sum});
    if (g->access_count == MAX_ACCESSES) return;
    memory_op op = draw_memory_op(g, g->arrays[array_].elem, stores[type], 4);
    int target = add_access(g, array_, previous ? loop_ : outer, op, true);
    put_statement(
        g, previous ? loop_ : outer, previous,
        (statement){
            .kind = STATEMENT_STORE, .loop = previous ? loop_ : outer, .guard = NONE, .target = target, .value = old});
}

static int add_load(nest *g, int access_, wtype type)
{
    return add_expr(g, (expr){.kind = EXPR_LOAD, .type = type, .index = access_});
}

/* b[i] = a[i] op a[i + 1], the second read being the next copy's first. */
static void draw_forward(nest *g, int loop_)
{
    static const unsigned ops[4][3] = {{0x6A, 0x6B, 0x73}, {0x7C, 0x7D, 0x85}, {0x92, 0x93, 0x94}, {0xA0, 0xA1, 0xA2}};
    if (g->access_count > MAX_ACCESSES - 3) return;
    int from = array_to_read(g), to = array_to_write(g);
    wtype type = natural_type(g, g->arrays[from].elem), stored = natural_type(g, g->arrays[to].elem);
    memory_op load = draw_memory_op(g, g->arrays[from].elem, loads[type], 7);
    memory_op store = draw_memory_op(g, g->arrays[to].elem, stores[stored], 4);
    int here = add_access(g, from, loop_, load, false), there = add_access(g, from, loop_, load, false);
    g->accesses[there] = g->accesses[here];
    g->accesses[there].shift[g->loops[loop_].depth]++;
    int value = expr_op(g, ops[type][below(g, 3)], type, 2, add_load(g, here, type), add_load(g, there, type), 0);
    int target = add_access(g, to, loop_, store, true);
    if (chance(g, 60)) g->forward = (forward){loop_, here, there};
    put_statement(g, loop_, false, (statement){STATEMENT_STORE, loop_, NONE, target, convert(g, value, stored)});
}

/* t = a[i]; a[i] = t op c; b[i] = t - a[i]: the same address before and after a store to it. */
static void draw_read_twice(nest *g, int loop_)
{
    static const unsigned muls[] = {0x6C, 0x7E, 0x94, 0xA2}, subs[] = {0x6B, 0x7D, 0x93, 0xA1};
    if (g->access_count > MAX_ACCESSES - 3 || g->accumulator_count == MAX_ACCUMULATORS) return;
    int from = array_to_write(g), to = array_to_write(g), index = g->accumulator_count++;
    wtype type = natural_type(g, g->arrays[from].elem), stored = natural_type(g, g->arrays[to].elem);
    g->accumulators[index] = type;
    memory_op load = draw_memory_op(g, g->arrays[from].elem, loads[type], 7);
    memory_op back = draw_memory_op(g, g->arrays[from].elem, stores[type], 4);
    memory_op store = draw_memory_op(g, g->arrays[to].elem, stores[stored], 4);
    int read = add_access(g, from, loop_, load, false), written = add_access(g, from, loop_, back, true);
    g->accesses[written] = g->accesses[read];
    g->accesses[written].op = back.op;
    g->accesses[written].width = back.width;
    int target = add_access(g, to, loop_, store, true);
    int old = add_expr(g, (expr){.kind = EXPR_ACCUMULATOR, .type = type, .index = index});
    int product = expr_op(g, muls[type], type, 2, old, expr_number(g, type), 0);
    int difference = expr_op(g, subs[type], type, 2, old, add_load(g, read, type), 0);
    put_statement(g, loop_, false, (statement){STATEMENT_SET, loop_, NONE, index, add_load(g, read, type)});
    put_statement(g, loop_, false, (statement){STATEMENT_STORE, loop_, NONE, written, product});
    put_statement(g, loop_, false, (statement){STATEMENT_STORE, loop_, NONE, target, convert(g, difference, stored)});
}

/* The cell that the loop's first iteration has behind it, for the loop around; NONE when it can't be written down. */
static int cell_before(nest *g, int target, memory_op load)
{
    nest_access cell = g->accesses[target];
    const loop *l = &g->loops[cell.loop];
    const number *coef = &g->arrays[cell.array].coef[l->depth];
    bool fixed = l->start.kind == NUMBER_CONST && l->start_outer == NONE && l->step.kind == NUMBER_CONST && coef->kind == NUMBER_CONST;
    if (!fixed || !cell.uses[l->depth] || g->access_count == MAX_ACCESSES) return NONE;
    cell.displacement += (int32_t)(coef->value[0] * (l->start.value[0] - l->step.value[0]));
    cell.loop = l->parent;
    cell.uses[l->depth] = false;
    cell.shift[l->depth] = 0;
    cell.op = load.op;
    cell.width = load.width;
    g->accesses[g->access_count] = cell;
    return g->access_count++;
}

/* a[i][j] = a[i-1][j] op a[i][j-1] op …, in place. The last cell stored may go to the next iteration in a local, as compilers
 * have it. */
static void draw_smoothing(nest *g, int loop_)
{
    static const unsigned ops[4][3] = {{0x6A, 0x6B, 0x73}, {0x7C, 0x7D, 0x85}, {0x92, 0x93, 0x92}, {0xA0, 0xA1, 0xA0}};
    uint32_t reads = 1 + below(g, 4), by_local = below(g, 3);
    if (g->access_count > MAX_ACCESSES - 8 || g->accumulator_count == MAX_ACCUMULATORS || g->loops[loop_].parent == NONE) return;
    int array_ = array_to_write(g), depth = g->loops[loop_].depth;
    wtype type = natural_type(g, g->arrays[array_].elem);
    memory_op load = draw_memory_op(g, g->arrays[array_].elem, loads[type], 7);
    memory_op store = draw_memory_op(g, g->arrays[array_].elem, stores[type], 4);
    int target = add_access(g, array_, loop_, store, true), value = NONE, before = NONE;
    for (int d = 0; d <= depth; d++) g->accesses[target].uses[d] = true;
    g->accesses[target].displacement = 0;
    if (by_local) before = cell_before(g, target, load);
    if (before != NONE) value = add_expr(g, (expr){.kind = EXPR_ACCUMULATOR, .type = type, .index = g->accumulator_count});
    for (uint32_t i = 0; i < reads; i++) {
        int read = add_access(g, array_, loop_, load, false);
        g->accesses[read] = g->accesses[target];
        g->accesses[read].op = load.op;
        g->accesses[read].width = load.width;
        g->accesses[read].shift[depth] += (int)below(g, 5) - 2;
        g->accesses[read].shift[depth - 1] += (int)below(g, 3) - 1;
        int cell = add_load(g, read, type);
        value = value == NONE ? cell : expr_op(g, ops[type][below(g, 3)], type, 2, value, cell, 0);
    }
    if (before != NONE) {
        int index = g->accumulator_count++, first = add_load(g, before, type);
        g->accumulators[index] = type;
        put_statement(g, g->loops[loop_].parent, true, (statement){STATEMENT_SET, g->loops[loop_].parent, NONE, index, first});
        put_statement(g, loop_, false, (statement){STATEMENT_SET, loop_, NONE, index, value});
        value = add_expr(g, (expr){.kind = EXPR_ACCUMULATOR, .type = type, .index = index});
    }
    put_statement(g, loop_, false, (statement){STATEMENT_STORE, loop_, NONE, target, value});
}

static void draw_unreachable(nest *g, int loop_)
{
    int64_t at[RUNS];
    for (int r = 0; r < RUNS; r++) { /* an iteration in the middle, in some runs */
        const loop *l = &g->loops[loop_];
        int64_t span = l->most[r] - l->least[r] + 1;
        at[r] =
            chance(g, 50) ? l->least[r] + (int64_t)below(g, (uint32_t)(span > 0 && span < 1000 ? span : 1)) : -1000000;
    }
    wtype type = g->loops[loop_].wide ? T_I64 : T_I32;
    int counter = add_expr(g, (expr){.kind = EXPR_COUNTER, .type = type, .index = loop_});
    int where = add_expr(g, (expr){.kind = EXPR_NUMBER, .type = type, .number = number_of(g, type, at)});
    int guard = expr_op(g, type == T_I32 ? 0x46 : 0x51, T_I32, 2, counter, where, 0);
    put_statement(g, loop_, chance(g, 50), (statement){.kind = STATEMENT_UNREACHABLE, .loop = loop_, .guard = guard});
}

static bool is_innermost(const nest *g, int loop_)
{
    for (int l = 0; l < g->loop_count; l++)
        if (g->loops[l].parent == loop_) return false;
    return true;
}

/* Something of the kind that the twist is about, in its loop if there is any. */
static int draw_target(nest *g, twist_kind kind, int loop_)
{
    bool access = kind == TWIST_SHIFT || kind == TWIST_SHARED;
    uint32_t count = (uint32_t)(access ? g->access_count : g->expr_count), start = below(g, count ? count : 1);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = (start + i) % count;
        if (access && g->accesses[at].loop == loop_) return (int)at;
        const expr *e = &g->exprs[access ? 0 : at];
        if (!access && kind == TWIST_HALF && e->kind == EXPR_COUNTER && e->index == loop_) return (int)at;
        bool fits = kind == TWIST_CONST ? e->kind == EXPR_NUMBER && e->number.kind == NUMBER_CONST
                                        : kind != TWIST_HALF && e->kind == EXPR_OP;
        if (!access && fits) return (int)at;
    }
    return 0;
}

static void draw_twist(nest *g)
{
    for (int l = 0; l < g->loop_count; l++) {
        twist_kind kind = (twist_kind)(1 + below(g, TWISTS - 1));
        uint32_t copy = below(g, (uint32_t)g->loops[l].unroll + 1);
        bool drawn = maybe(g, FEATURE_TWIST, g->class.unrolled ? 70 : 35);
        if (drawn && g->loops[l].unroll > 1) g->twist = (twist){kind, l, (int)copy, draw_target(g, kind, l)};
    }
}

static void draw_statements(nest *g)
{
    for (int l = 0; l < g->loop_count; l++) {
        bool innermost = is_innermost(g, l), between = maybe(g, FEATURE_SIBLINGS, 25), first = chance(g, 50);
        bool carried = maybe(g, FEATURE_CARRIED, g->loops[l].parent == NONE ? 4 : 25), alone = chance(g, 60);
        bool broken = maybe(g, FEATURE_BREAK, 2);
        bool smoothed = maybe(g, FEATURE_STENCIL, 12), only = chance(g, 80);
        bool unrolled = g->loops[l].unroll > 1, forwarded = chance(g, 30), twice = chance(g, unrolled ? 20 : 5);
        if (innermost && smoothed) draw_smoothing(g, l);
        if (innermost && smoothed && only) continue;
        if (innermost && carried) draw_accumulator(g, l);
        if (innermost && unrolled && forwarded) draw_forward(g, l);
        if (innermost && twice) draw_read_twice(g, l);
        if (innermost && !(carried && alone)) draw_store(g, l, false);
        if (innermost && chance(g, 25)) draw_store(g, l, false);
        if (!innermost && between) draw_store(g, l, first);
        if (maybe(g, FEATURE_UNREACHABLE, 3)) draw_unreachable(g, l);
        if (broken && g->loops[l].unroll == 1 && g->loops[l].place != TEST_MIDDLE && g->access_count < MAX_ACCESSES)
            g->loops[l].break_load = add_access(g, 0, l, (memory_op){0x2D, 1}, false);
    }
}

/* ---- indices that follow from data ---- */

typedef struct drawn_index {
    int expr;
    int64_t least, most;
} drawn_index;

static int expr_i32(nest *g, int32_t value)
{
    number n = {.kind = NUMBER_CONST, .type = T_I32};
    for (int r = 0; r < RUNS; r++) n.value[r] = value;
    return add_expr(g, (expr){.kind = EXPR_NUMBER, .type = T_I32, .number = n});
}

static int expr_i32_op(nest *g, unsigned op, int a, int b)
{
    return expr_op(g, op, T_I32, 2, a, b, 0);
}

static int draw_byte(nest *g, int loop_)
{
    int array_ = array_to_read(g);
    bool may = !elem_is_float(g->arrays[array_].elem) && g->access_count < MAX_ACCESSES;
    if (!may) return expr_i32_op(g, 0x71, expr_load(g, loop_, T_I32), expr_i32(g, 255));
    return add_expr(g, (expr){.kind = EXPR_LOAD, .type = T_I32, .index = add_access(g, array_, loop_, (memory_op){0x2D, 1}, false)});
}

static drawn_index draw_clamped(nest *g, int value)
{
    int32_t low = (int32_t)below(g, 20) - 10, high = low + 1 + (int32_t)below(g, 60);
    int below_high = expr_op(g, OP_SELECT, T_I32, 3, value, expr_i32(g, high), expr_i32_op(g, 0x48, value, expr_i32(g, high)));
    int both = expr_op(g, OP_SELECT, T_I32, 3, below_high, expr_i32(g, low), expr_i32_op(g, 0x4A, below_high, expr_i32(g, low)));
    return (drawn_index){both, low, high};
}

static drawn_index draw_index_in_elements(nest *g, int loop_)
{
    static const int32_t masks[] = {1, 7, 15, 63, 255, 12}, divisors[] = {3, 10, 100};
    int32_t mask = masks[below(g, 6)], divisor = divisors[below(g, 3)], bits = 1 + (int32_t)below(g, 8);
    uint32_t form = below(g, 6);
    if (form == 0) return (drawn_index){draw_byte(g, loop_), 0, 255};
    bool by_counter = chance(g, 25) && loop_ != NONE;
    int value = by_counter ? expr_counter(g, loop_, T_I32) : expr_load(g, loop_, T_I32);
    switch (form) {
    case 1: return (drawn_index){expr_i32_op(g, 0x71, value, expr_i32(g, mask)), 0, mask};
    case 2: return (drawn_index){expr_i32_op(g, 0x76, value, expr_i32(g, 32 - bits)), 0, (1 << bits) - 1};
    case 3: return (drawn_index){expr_i32_op(g, 0x70, value, expr_i32(g, divisor)), 0, divisor - 1};
    case 4: return (drawn_index){expr_i32_op(g, 0x6F, value, expr_i32(g, divisor)), 1 - divisor, divisor - 1};
    default: return draw_clamped(g, value);
    }
}

/* ---- bound checks ---- */

static int64_t index_at(const bound_check *c, int64_t counter, int64_t outer)
{
    return counter * c->scale + (c->outer == NONE ? 0 : outer * c->outer_scale) + c->add;
}

/* By how much the limit has moved. */
static int64_t limit_at(const bound_check *c, int64_t counter, int64_t outer)
{
    return c->moves == NONE ? 0 : (c->moves == c->loop ? counter : outer) * c->limit_scale;
}

/* Over the corners of the two counters' ranges; with `gap` less what the limit has moved. */
static void index_range(const nest *g, const bound_check *c, int run, bool gap, int64_t *low, int64_t *high)
{
    const loop *l = &g->loops[c->loop], *o = &g->loops[c->outer == NONE ? c->loop : c->outer];
    const int64_t inner[] = {l->least[run], l->most[run]}, outer[] = {o->least[run], o->most[run]};
    *low = INT64_MAX, *high = INT64_MIN;
    for (int i = 0; i < 4; i++) {
        int64_t at = index_at(c, inner[i & 1], outer[i >> 1]) - (gap ? limit_at(c, inner[i & 1], outer[i >> 1]) : 0);
        if (at + c->data_least < *low) *low = at + c->data_least;
        if (at + c->data_most > *high) *high = at + c->data_most;
    }
}

/* Mostly just enough; sometimes an index in the middle fails. */
static void draw_limit(nest *g, bound_check *c)
{
    int64_t limit[RUNS];
    bool never = chance(g, 75);
    for (int r = 0; r < RUNS; r++) {
        int64_t low, high;
        index_range(g, c, r, true, &low, &high);
        if (low > high || high - low > 100000 || high > INT32_MAX || low < INT32_MIN) low = high = 0;
        int64_t slack = chance(g, 70) ? 0 : below(g, 40), within = low + (int64_t)below(g, (uint32_t)(high - low) + 1);
        bool fails = !never && chance(g, 40), below_all = chance(g, 50);
        switch (c->compare) {
        case LT_S: case LT_U: limit[r] = fails ? within : high + 1 + slack; break;
        case LE_S: case LE_U: limit[r] = fails ? within - 1 : high + slack; break;
        case GT_S: case GT_U: limit[r] = fails ? within : low - 1 - slack; break;
        case GE_S: case GE_U: limit[r] = fails ? within + 1 : low - slack; break;
        default: limit[r] = fails ? within : below_all ? low - 1 - slack : high + 1 + slack; break;
        }
    }
    c->limit = number_of(g, T_I32, limit);
}

/* What is kept at first: one step before the first index, so that it moves evenly from the start, or anything. */
static number draw_first(nest *g, const bound_check *c)
{
    int64_t first[RUNS];
    bool before = chance(g, 70);
    for (int r = 0; r < RUNS; r++) {
        int64_t low, high;
        index_range(g, c, r, false, &low, &high);
        first[r] = (int32_t)(before ? (c->scale > 0 ? low - c->scale : high - c->scale) : (int64_t)below(g, 9));
    }
    return number_of(g, T_I32, first);
}

static void draw_bound_check(nest *g, int loop_)
{
    static const compare compares[] = {LT_U, LT_U, LT_U, LT_S, LE_U, GE_S, GT_S, NE};
    static const int8_t scales[] = {1, 1, 1, 2, 4, -1, 3, 8};
    int parent = g->loops[loop_].parent;
    bool by_outer = chance(g, 50), guarded = chance(g, 12), first = chance(g, 70);
    bound_check c = {.loop = loop_, .outer = by_outer ? parent : NONE, .scale = scales[below(g, 8)], .outer_scale = 1 + (int32_t)below(g, 30),
                     .add = chance(g, 60) ? 0 : (int32_t)below(g, 9) - 2, .compare = compares[below(g, 8)], .swapped = chance(g, 25),
                     .negated = chance(g, 25), .form = (check_form)below(g, CHECK_FORMS), .moves = NONE};
    bool moves = chance(g, 30), with_inner = chance(g, 50);
    c.limit_scale = (int32_t)below(g, 12) - 3;
    if (moves) c.moves = with_inner || c.outer == NONE ? loop_ : c.outer;
    bool by_data = maybe(g, FEATURE_INDIRECT, 20), as_drawn = chance(g, 50);
    drawn_index data = draw_index_in_elements(g, loop_);
    c.data = NONE;
    if (by_data) c.data = data.expr, c.data_least = data.least, c.data_most = data.most;
    if (by_data && as_drawn) c.scale = 0, c.outer = NONE, c.moves = NONE;
    draw_limit(g, &c);
    c.wide = chance(g, 25);
    c.remembers = chance(g, 40);
    c.lags = chance(g, 35) && c.remembers;
    c.first = draw_first(g, &c);
    int guard = expr_op(g, 0x46 + below(g, 10), T_I32, 2, expr_counter(g, loop_, T_I32), expr_number(g, T_I32), 0);
    g->checks[g->check_count] = c;
    put_statement(g, loop_, first, (statement){.kind = STATEMENT_CHECK, .loop = loop_, .guard = guarded ? guard : NONE, .target = g->check_count++});
}

/* Drawn from numbers of their own: without them a seed's nest is what it was. */
static void draw_bound_checks(nest *g)
{
    random_state before = g->random;
    g->random = random_seeded(g->seed * 0x9E3779B97F4A7C15 + 77);
    bool drawn = maybe(g, FEATURE_CHECKED, 22);
    int count = 1 + (int)below(g, MAX_BOUND_CHECKS);
    for (int i = 0; drawn && i < count; i++) draw_bound_check(g, (int)below(g, (uint32_t)g->loop_count));
    g->random = before;
}

/* ---- addresses that follow from data ---- */

static void draw_index(nest *g, int access_)
{
    int32_t width = widths[g->arrays[g->accesses[access_].array].elem], shift = __builtin_ctz((uint32_t)width);
    bool scaled = chance(g, 90), shifted = chance(g, 50);
    drawn_index in = draw_index_in_elements(g, g->accesses[access_].loop);
    if (scaled && shifted) in.expr = expr_i32_op(g, 0x74, in.expr, expr_i32(g, shift));
    if (scaled && !shifted) in.expr = expr_i32_op(g, 0x6C, in.expr, expr_i32(g, width));
    nest_access *x = &g->accesses[access_]; /* drawing may have added others */
    x->index = in.expr, x->index_least = scaled ? in.least * width : in.least, x->index_most = scaled ? in.most * width : in.most;
}

/* From numbers of their own, as bound checks are. */
static void draw_indices(nest *g)
{
    enum { FIRST_STORE = 0x36 };
    random_state before = g->random;
    g->random = random_seeded(g->seed * 0x9E3779B97F4A7C15 + 78);
    bool drawn = maybe(g, FEATURE_INDIRECT, 22);
    int count = g->access_count;
    for (int i = 0; drawn && i < count; i++) {
        bool is_store = g->accesses[i].op >= FIRST_STORE, chosen = chance(g, is_store ? 2 : 40);
        if (chosen && g->expr_count < MAX_EXPRS - 32) draw_index(g, i);
    }
    g->random = before;
}

/* ---- a base that is handed on ---- */

/* Before the loops; likewise. */
static void draw_handed(nest *g)
{
    static const hand ways[] = {HAND_NONE, HAND_COPY, HAND_COPY, HAND_SWAP, HAND_SWAP, HAND_SWAP, HAND_SWAP, HAND_LATE};
    random_state before = g->random;
    g->random = random_seeded(g->seed * 0x9E3779B97F4A7C15 + 79);
    bool drawn = maybe(g, FEATURE_HANDED, 20);
    g->handed = (handed){.array = (int)below(g, 2), .copy_first = chance(g, 70), .in_result = chance(g, 50), .again = chance(g, 90), .at_bottom = chance(g, 80)};
    for (int l = 0; l < MAX_LOOPS; l++) g->handed.how[l] = ways[below(g, 8)];
    if (!drawn) g->handed.array = NONE;
    g->random = before;
}

/* ---- placing the arrays ---- */

static void widen(array *a, int run, int64_t low, int64_t high)
{
    if (low < a->low[run]) a->low[run] = low;
    if (high > a->high[run]) a->high[run] = high;
}

/* Bytes that an access touches when its array's base is 0. Empty when it is never made. */
static void touch(nest *g, const nest_access *x, int run)
{
    array *a = &g->arrays[x->array];
    int64_t low = x->displacement + (int64_t)x->offset + x->index_least, high = low + x->index_most - x->index_least + x->width;
    if (g->twist.kind == TWIST_SHIFT && x == &g->accesses[g->twist.target]) high += x->width;
    for (int l = x->loop; l != NONE; l = g->loops[l].parent) {
        const loop *it = &g->loops[l];
        if (!it->trips[run]) return;
        if (!x->uses[it->depth]) continue;
        int64_t coef = a->coef[it->depth].value[run], shift = x->shift[it->depth];
        int64_t first = coef * (it->least[run] + shift), last = coef * (it->most[run] + shift);
        low += first < last ? first : last;
        high += first < last ? last : first;
    }
    widen(a, run, low, high);
}

typedef enum hazard {
    HAZARD_NONE,
    HAZARD_OVERLAP,
    HAZARD_AT_END,
    HAZARD_PAST_END,
    HAZARD_AT_ZERO,
    HAZARD_BELOW_ZERO,
    HAZARD_OVER_WORDS,
    HAZARDS
} hazard;

static hazard draw_hazard(nest *g)
{
    hazard out = (hazard)(1 + below(g, HAZARDS - 1));
    bool drawn = chance(g, 35), loose_floats = !g->class.canonical && !g->integers_only;
    bool overlap = g->features >> FEATURE_OVERLAP & 1, edge = g->features >> FEATURE_EDGE & 1,
         past = g->features >> FEATURE_PAST & 1;
    if (!drawn || (out == HAZARD_OVERLAP && !overlap)) return HAZARD_NONE;
    if ((out == HAZARD_AT_END || out == HAZARD_AT_ZERO) && !edge) return HAZARD_NONE;
    if ((out == HAZARD_PAST_END || out == HAZARD_BELOW_ZERO) && !past) return HAZARD_NONE;
    if (out == HAZARD_OVER_WORDS && (!overlap || loose_floats)) return HAZARD_NONE;
    return out;
}

/* Where the lowest byte of array a goes when it is the one with the hazard. */
static int64_t hazard_address(nest *g, hazard hazard_, const array *a, const array *other, int run, int64_t friendly)
{
    int64_t size = a->high[run] - a->low[run], width = widths[a->elem],
            end = g->class.whole ? INT64_C(1) << 32 : MEMORY_BYTES;
    int64_t few = (1 + (int64_t)below(g, 4)) * width, span = other->high[run] - other->low[run];
    int64_t anywhere = span > 0 ? (int64_t)below(g, (uint32_t)span) / width * width : 0;
    int64_t where[] = {0, few, -few, anywhere, span - few, few - size}; /* the last two: only the edges overlap */
    int64_t chosen = where[below(g, 6)];
    bool unaligned = maybe(g, FEATURE_UNALIGNED, 15) && (g->class.canonical || g->integers_only);
    switch (hazard_) {
    case HAZARD_OVERLAP: return other->low[run] + chosen + (unaligned ? 1 : 0);
    case HAZARD_AT_END: return end - size;
    case HAZARD_PAST_END: return end - size + few;
    case HAZARD_AT_ZERO: return size > BLOCK_ADDRESS && !g->class.canonical && !g->integers_only ? friendly : 0;
    case HAZARD_BELOW_ZERO: return -few;
    case HAZARD_OVER_WORDS: return BLOCK_ADDRESS + 4 * (int64_t)below(g, MAX_WORDS) - (int64_t)below(g, 8) * width;
    default: return friendly;
    }
}

/* In a whole memory some arrays live in its last bytes. */
static int64_t friendly_address(nest *g, int64_t *next, int64_t size, int64_t width, bool high)
{
    int64_t gap = (int64_t)below(g, 64), at = *next + gap;
    bool unaligned = maybe(g, FEATURE_UNALIGNED, 10) && (g->class.canonical || g->integers_only);
    at = at / 8 * 8 + (unaligned ? 1 + gap % width : 0);
    *next = at + size + 8;
    return g->class.whole && high ? (INT64_C(1) << 32) - WINDOW_BYTES + at - FIRST_ADDRESS : at;
}

/* Static arrays: each at one address in all runs, with room for all of them. False when there isn't that much room. */
static bool place_static(nest *g, const bool *high, int64_t places[MAX_ARRAYS][RUNS])
{
    int64_t next = FIRST_ADDRESS;
    for (int i = 0; i < g->array_count; i++) {
        const array *a = &g->arrays[i];
        int64_t low = a->low[0], end = a->high[0];
        for (int r = 1; r < RUNS; r++) {
            low = a->low[r] < low ? a->low[r] : low;
            end = a->high[r] > end ? a->high[r] : end;
        }
        int64_t at = friendly_address(g, &next, end - low, widths[a->elem], high[i]);
        for (int r = 0; r < RUNS; r++) places[i][r] = at + a->low[r] - low;
    }
    return next < WINDOW_BYTES - 4096;
}

static void place_each_run(nest *g, const bool *high, int64_t places[MAX_ARRAYS][RUNS])
{
    for (int r = 0; r < RUNS; r++) {
        int64_t next = FIRST_ADDRESS;
        for (int i = 0; i < g->array_count; i++) {
            const array *a = &g->arrays[i];
            places[i][r] = friendly_address(g, &next, a->high[r] - a->low[r], widths[a->elem], high[i]);
        }
    }
}

static void move_array(array *a, int run, int64_t low)
{
    a->high[run] += low - a->low[run];
    a->low[run] = low;
}

static void place_arrays(nest *g)
{
    hazard hazard_ = draw_hazard(g);
    int victim = (int)below(g, (uint32_t)g->array_count), partner = (int)below(g, (uint32_t)g->array_count);
    uint32_t runs = chance(g, 50) ? 15 : 1u << below(g, RUNS) | 1u << below(g, RUNS);
    int64_t places[MAX_ARRAYS][RUNS], bases[MAX_ARRAYS][RUNS];
    bool high[MAX_ARRAYS], fixed = chance(g, 40);
    for (int i = 0; i < g->array_count; i++) {
        high[i] = chance(g, 40);
        for (int r = 0; r < RUNS; r++)
            if (g->arrays[i].high[r] < g->arrays[i].low[r]) g->arrays[i].low[r] = g->arrays[i].high[r] = 0;
    }
    if (!fixed || !place_static(g, high, places)) place_each_run(g, high, places);
    for (int r = 0; r < RUNS; r++) {
        for (int i = 0; i < g->array_count; i++) {
            bases[i][r] = (int32_t)(places[i][r] - g->arrays[i].low[r]);
            move_array(&g->arrays[i], r, places[i][r]);
        }
        if (!(runs >> r & 1) || (hazard_ == HAZARD_OVERLAP && victim == partner)) continue;
        array *a = &g->arrays[victim];
        int64_t low = hazard_address(g, hazard_, a, &g->arrays[partner], r, a->low[r]);
        bases[victim][r] = (int32_t)(bases[victim][r] + low - a->low[r]);
        move_array(a, r, low);
    }
    for (int i = 0; i < g->array_count; i++) g->arrays[i].base = number_of(g, T_I32, bases[i]);
}

static void measure_arrays(nest *g)
{
    for (int i = 0; i < g->array_count; i++)
        for (int r = 0; r < RUNS; r++) {
            g->arrays[i].low[r] = INT64_MAX;
            g->arrays[i].high[r] = INT64_MIN;
        }
    for (int i = 0; i < g->access_count; i++)
        for (int r = 0; r < RUNS; r++) touch(g, &g->accesses[i], r);
}

static bool arrays_fit(const nest *g)
{
    for (int r = 0; r < RUNS; r++) {
        int64_t sum = FIRST_ADDRESS;
        for (int i = 0; i < g->array_count; i++)
            if (g->arrays[i].high[r] > g->arrays[i].low[r]) sum += g->arrays[i].high[r] - g->arrays[i].low[r] + 128;
        if (sum > WINDOW_BYTES - 4096) return false;
    }
    return true;
}

/* ---- all of it ---- */

static bool attempt(nest *g, uint64_t seed, uint32_t round)
{
    uint32_t features = g->features, dropped = g->dropped;
    *g = (nest){
        .seed = seed, .class = nest_class_of(seed), .features = features, .dropped = dropped, .forward = {NONE, 0, 0}};
    g->random = random_seeded(seed * 0xD1B54A32D192ED03 + round);
    g->integers_only = chance(g, 40) || !(features >> FEATURE_FLOAT & 1);
    g->float_elem = chance(g, 50) ? ELEM_F32 : ELEM_F64;
    int depth = 1 + (int)below(g, 100) / 40;
    g->depth = features >> FEATURE_DEEP & 1 ? depth : 1;
    g->words_hoisted = chance(g, 50);
    g->gives_result = maybe(g, FEATURE_RESULT, 50);
    draw_handed(g);
    draw_loops(g);
    if (!execute_runs(g)) return false;
    int arrays = 2 + (int)below(g, 3);
    while (g->array_count < arrays) add_array(g);
    draw_statements(g);
    draw_twist(g);
    draw_bound_checks(g);
    draw_indices(g);
    measure_arrays(g);
    if (!arrays_fit(g)) return false;
    place_arrays(g);
    return true;
}

void nest_generate(uint64_t seed, uint32_t features, uint32_t dropped, nest *out)
{
    out->features = features;
    out->dropped = dropped;
    for (uint32_t round = 0; !attempt(out, seed, round); round++)
        if (round > 10000) abort(); /* can't be: most attempts succeed */
}

/* ---- the memory before a run ---- */

static uint64_t draw_float(random_state *random, bool is_double, bool special)
{
    static const uint64_t doubles[] = {0x7FF8000000000000,
                                       0xFFF8000000000001,
                                       0x7FF0000000000001,
                                       0x7FF0000000000000,
                                       0xFFF0000000000000,
                                       0x8000000000000000,
                                       0,
                                       0x0000000000000003,
                                       0x800FFFFFFFFFFFFF,
                                       0x7FEFFFFFFFFFFFFF};
    static const uint32_t floats[] = {0x7FC00000, 0xFFC00001, 0x7F800001, 0x7F800000, 0xFF800000,
                                      0x80000000, 0,          0x00000003, 0x807FFFFF, 0x7F7FFFFF};
    uint32_t which = random_below(random, 10), rare = random_below(random, 12), n = random_below(random, 4000);
    if (special && rare == 0) return is_double ? doubles[which] : floats[which];
    float f = ((float)n - 2000) / 64;
    double d = (double)f;
    uint64_t bits = 0;
    memcpy(&bits, is_double ? (void *)&d : (void *)&f, is_double ? 8 : 4);
    return bits;
}

/* Where a byte of linear memory is in the test's picture of it; NULL when it isn't. */
static uint8_t *picture(const nest *it, uint8_t *memory, int64_t address)
{
    int64_t last = (INT64_C(1) << 32) - WINDOW_BYTES;
    if (it->class.whole) {
        address &= UINT32_MAX;
        if (address >= last) return memory + WINDOW_BYTES + (address - last);
        return address < WINDOW_BYTES ? memory + address : NULL;
    }
    return address >= 0 && address < MEMORY_BYTES ? memory + address : NULL;
}

static void fill_array(const nest *it, const array *a, int run, random_state *random, uint8_t *memory)
{
    bool special = it->features >> FEATURE_SPECIAL & 1;
    for (int64_t at = a->low[run]; at < a->high[run]; at += widths[a->elem]) {
        uint64_t bits = elem_is_float(a->elem) ? draw_float(random, a->elem == ELEM_F64, special) : random_next(random);
        if (!elem_is_float(a->elem) && bits >> 62) bits = bits >> 40 & 127;
        for (int b = 0; b < widths[a->elem] && at + b < a->high[run]; b++) {
            uint8_t *to = picture(it, memory, at + b);
            if (to) *to = (uint8_t)(bits >> 8 * b);
        }
    }
}

void nest_fill(const nest *it, int run, uint8_t *memory)
{
    random_state random = random_seeded(it->seed * RUNS + (uint64_t)run);
    for (size_t i = 0; i < MEMORY_BYTES; i += 8) memcpy(memory + i, &(uint64_t){random_next(&random)}, 8);
    for (int i = 0; i < it->array_count; i++) fill_array(it, &it->arrays[i], run, &random, memory);
    for (uint32_t w = 0; w < it->word_count; w++)
        memcpy(memory + BLOCK_ADDRESS + 4 * w, &(uint32_t){(uint32_t)it->words[w].value[run]}, 4);
}

void nest_blur_nans(const nest *it, int run, uint8_t *memory)
{
    for (int i = 0; i < it->array_count; i++) {
        const array *a = &it->arrays[i];
        if (!elem_is_float(a->elem)) continue;
        for (int64_t at = a->low[run]; at + widths[a->elem] <= a->high[run]; at += widths[a->elem]) {
            uint8_t *from = picture(it, memory, at);
            if (!from || !picture(it, memory, at + widths[a->elem] - 1)) continue;
            uint64_t bits = 0;
            memcpy(&bits, from, widths[a->elem]);
            bool nan = a->elem == ELEM_F64 ? (bits & INT64_MAX) > 0x7FF0000000000000 : (bits & INT32_MAX) > 0x7F800000;
            if (nan) memset(from, 0xFF, widths[a->elem]);
        }
    }
}
