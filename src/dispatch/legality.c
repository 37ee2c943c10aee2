/* SPDX-License-Identifier: Apache-2.0
 * When is loop l parallel? For equal counters of the loops around l, take two different iterations i and i' = i - t of l, and
 * any inner counters p for an access a (in iteration i) and q for an access b (in iteration i'). With strides A and B,
 *
 *   address(a) - address(b) = base(a) - base(b) + Σ outer (A - B)·n  + (A_l - B_l)·i + B_l·t + Σ inner A·p - Σ inner B·q
 *
 * and the two touch a common byte when that lies in (-width(a), width(b)); an indirect read is as wide as its index goes. All
 * counters range from 0 to the most trips - 1 (for a triangular loop the hull: safe), t from -(T-1) to T-1 without 0. overlap.c
 * answers. That forgets that i' has a range too. So where A_l ≠ B_l there is a second question, with A_l·i - B_l·i' and both in
 * range, which forgets that they differ: a conflict must pass both. The order of the two doesn't matter: either is a dependence.
 *
 * The loop is free over f loops around it when the same holds with their counters not equal but n for a and n' for b:
 * A·n - B·n' for each of them.
 *
 * The usual way is a table of subscript tests by shape (ZIV, SIV, GCD, Banerjee). Here all is numbers, so one exact
 * search with a budget does for all shapes; a step is a few dozen nanoseconds, a nest like gemm takes some dozens. */
#include "dispatch/legality.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "dispatch/overlap.h"

enum { PAIR_BUDGET = 400, BUDGET = 100000 };

typedef struct place { /* an access in numbers, with the loops around it */
    const tw_model_access *access;
    const tw_numbers_access *numbers;
    uint32_t chain[TW_MODEL_MAX_DEPTH], depth;
    bool dead; /* a loop around it has no trip */
} place;

typedef struct legality {
    const tw_model *model;
    const tw_numbers *numbers;
    tw_facts *facts;
    tw_legality *out;
    uint32_t budget;
    place places[TW_MODEL_MAX_ACCESSES];
} legality;

__attribute__((format(printf, 3, 4))) static void refuse(tw_legality *out, tw_refusal refusal, const char *format, ...)
{
    va_list args;
    if (out->refusal != TW_REFUSAL_NONE) return; /* the first reason stays */
    out->refusal = refusal;
    va_start(args, format);
    vsnprintf(out->detail, sizeof out->detail, format, args);
    va_end(args);
}

static const char *name_place(uint64_t offset, char text[32])
{
    if (offset == TW_NO_OFFSET) return "?";
    snprintf(text, 32, "0x%" PRIx64, offset);
    return text;
}

static void find_places(legality *l)
{
    for (uint32_t x = 0; x < l->model->access_count; x++) {
        place *p = &l->places[x];
        p->access = &l->model->accesses[x], p->numbers = &l->numbers->accesses[x];
        p->depth = tw_model_chain(l->model, p->access->loop, p->chain);
        p->dead = p->numbers->low >= p->numbers->high;
        for (uint32_t d = 0; d < p->depth; d++) p->dead |= l->numbers->loops[p->chain[d]].most <= 0;
    }
}

/* ---- groups ---- */

static bool footprints_meet(const place *a, const place *b)
{
    return !a->dead && !b->dead && a->numbers->low < b->numbers->high && b->numbers->low < a->numbers->high;
}

static uint32_t root_of(uint8_t *parent, uint32_t x)
{
    while (parent[x] != x) x = parent[x] = parent[parent[x]];
    return x;
}

/* A number the plan read from memory must not change under the kernel. */
static void refuse_inspected(legality *l, const place *a, const place *b)
{
    char first[32], second[32];
    const place *load = a->access->is_inspected ? a : b, *store = load == a ? b : a;
    refuse(l->out, TW_REFUSAL_DEPENDENCE, "the store at %s may change what the load at %s reads for the loop's own bounds or addresses",
           name_place(store->access->place, first), name_place(load->access->place, second));
}

static void find_groups(legality *l)
{
    uint32_t count = l->model->access_count, next = 0;
    uint8_t parent[TW_MODEL_MAX_ACCESSES], number[TW_MODEL_MAX_ACCESSES];
    for (uint32_t x = 0; x < count; x++) parent[x] = (uint8_t)x;
    for (uint32_t x = 0; x < count; x++) {
        for (uint32_t y = x + 1; y < count; y++) {
            const place *a = &l->places[x], *b = &l->places[y];
            if (!(a->access->is_store || b->access->is_store) || !footprints_meet(a, b)) continue;
            if (a->access->is_inspected || b->access->is_inspected) refuse_inspected(l, a, b);
            uint32_t r = root_of(parent, x), s = root_of(parent, y);
            parent[r > s ? r : s] = (uint8_t)(r > s ? s : r); /* the root is the first member */
        }
    }
    for (uint32_t x = 0; x < count; x++) {
        uint32_t root = root_of(parent, x);
        if (root == x) number[x] = (uint8_t)next++;
        l->facts->group[x] = number[root];
    }
}

/* ---- parallel loops ---- */

static int64_t last_counter(const legality *l, uint32_t loop)
{
    int64_t most = l->numbers->loops[loop].most;
    return most > 0 ? most - 1 : 0;
}

static inline void add_term(tw_overlap *overlap, __int128 coef, int64_t low, int64_t high, bool nonzero)
{
    if (coef && low != high) overlap->terms[overlap->count++] = (tw_overlap_term){coef, low, high, nonzero};
}

/* The question: a loop around both accesses, and over how many loops around it. */
typedef struct question {
    uint32_t loop, depth, over;
    int64_t last; /* the loop's highest counter, at least 1 */
} question;

/* An indirect read may lie anywhere within its bounds. */
static int64_t width_of(const tw_model_access *access)
{
#ifdef TW_PLANT_POINT_INDEX
    return access->width;
#endif
    return access->width + (int64_t)access->most - access->least;
}

/* What both forms have in common. */
static void difference(const legality *l, const place *a, const place *b, const question *q, tw_overlap *out)
{
    uint32_t equal = q->depth - q->over, depth = q->depth;
    const int64_t *A = a->numbers->stride, *B = b->numbers->stride;
    out->start = (__int128)a->numbers->base + a->access->least - b->numbers->base - b->access->least, out->count = 0;
    int64_t width_a = width_of(a->access), width_b = width_of(b->access);
#ifdef TW_PLANT_POINT_INTERVAL
    width_a = width_b = 1;
#endif
    out->least = 1 - width_a, out->most = width_b - 1;
    for (uint32_t d = 0; d < equal; d++) add_term(out, (__int128)A[d] - B[d], 0, last_counter(l, a->chain[d]), false);
    for (uint32_t d = equal; d < a->depth; d++)
        if (d != depth) add_term(out, A[d], 0, last_counter(l, a->chain[d]), false);
    for (uint32_t d = equal; d < b->depth; d++)
        if (d != depth) add_term(out, -(__int128)B[d], 0, last_counter(l, b->chain[d]), false);
}

static bool possible(legality *l, tw_overlap *overlap)
{
    uint32_t budget = l->budget < PAIR_BUDGET ? l->budget : PAIR_BUDGET, before = budget;
    bool answer = tw_overlap_possible(overlap, &budget);
    l->budget -= before - budget;
    return answer;
}

static bool conflict(legality *l, const place *a, const place *b, const question *q)
{
    if (!footprints_meet(a, b)) return false;
    int64_t A = a->numbers->stride[q->depth], B = b->numbers->stride[q->depth], last = q->last, least = -last;
#ifdef TW_PLANT_DROP_DEPENDENCE
    least = 0;
#endif
    tw_overlap overlap;
    difference(l, a, b, q, &overlap);
    add_term(&overlap, (__int128)A - B, 0, last, false);
    add_term(&overlap, B, least, last, true);
    if (!possible(l, &overlap)) return false;
    if (A == B) return true;
    difference(l, a, b, q, &overlap);
    add_term(&overlap, A, 0, last, false);
    add_term(&overlap, -(__int128)B, 0, last, false);
    return possible(l, &overlap);
}

static bool is_inside(const place *p, uint32_t loop, uint32_t depth)
{
    return depth < p->depth && p->chain[depth] == loop && !p->access->is_inspected;
}

/* In iterations of the loop alone, where that is the whole story: then the distance is a number. 0 when it isn't. */
static int64_t distance(const place *a, const place *b, uint32_t depth)
{
    int64_t stride = a->numbers->stride[depth], apart;
    if (!stride || stride != b->numbers->stride[depth] || a->depth != b->depth) return 0;
    if (a->access->is_indirect || b->access->is_indirect) return 0;
    for (uint32_t d = 0; d < a->depth; d++)
        if (a->numbers->stride[d] != b->numbers->stride[d]) return 0;
    if (__builtin_sub_overflow(a->numbers->base, b->numbers->base, &apart)) return 0;
    return apart % stride ? 0 : apart / stride;
}

static void refuse_pair(legality *l, const place *a, const place *b, uint32_t loop, uint32_t depth)
{
    char first[32], second[32], third[32], far[64] = "";
    int64_t iterations = distance(a, b, depth);
    if (iterations) snprintf(far, sizeof far, ", %" PRId64 " iteration%s apart", iterations < 0 ? -iterations : iterations,
                             iterations == 1 || iterations == -1 ? "" : "s");
    const char *where = name_place(l->model->loops[loop].place, third);
    if (a == b)
        refuse(l->out, TW_REFUSAL_DEPENDENCE, "loop %s: the store at %s meets its own bytes in another iteration", where,
               name_place(a->access->place, first));
    else
        refuse(l->out, TW_REFUSAL_DEPENDENCE, "loop %s: the %s at %s and the %s at %s touch common bytes in different iterations%s",
               where, a->access->is_store ? "store" : "load", name_place(a->access->place, first),
               b->access->is_store ? "store" : "load", name_place(b->access->place, second), far);
}

static bool carries_scalar(const legality *l, uint32_t loop)
{
    for (uint32_t c = 0; c < l->model->carried_count; c++)
        if (l->model->carried[c].loop == loop) return true;
    return false;
}

/* The first pair of accesses in the loop that conflicts; false when none does. */
static bool find_conflict(legality *l, const question *q, const place **first, const place **second)
{
    for (uint32_t x = 0; x < l->model->access_count; x++) {
        const place *a = &l->places[x];
        if (!a->access->is_store || !is_inside(a, q->loop, q->depth)) continue;
        for (uint32_t y = 0; y < l->model->access_count; y++) {
            const place *b = &l->places[y];
            if (!is_inside(b, q->loop, q->depth) || (b->access->is_store && y < x)) continue;
            if (conflict(l, a, b, q)) return *first = a, *second = b, true;
        }
    }
    return false;
}

/* One trip counts as two, so that facts don't flicker with the size. */
static question ask(const legality *l, uint32_t loop)
{
    int64_t last = last_counter(l, loop);
    return (question){.loop = loop, .depth = l->model->loops[loop].depth, .last = last > 0 ? last : 1};
}

static bool is_parallel(legality *l, uint32_t loop)
{
    char text[32];
    if (l->model->loops[loop].is_if) return true;
    if (carries_scalar(l, loop)) {
        refuse(l->out, TW_REFUSAL_CARRIED, "loop %s: each iteration needs a scalar that the one before computed",
               name_place(l->model->loops[loop].place, text));
        return false;
    }
    question q = ask(l, loop);
    const place *a, *b;
    if (!find_conflict(l, &q, &a, &b)) return true;
    refuse_pair(l, a, b, loop, q.depth);
    return false;
}

/* Over how many loops around it. A scalar that one of those hands on ties its iterations together. */
static uint8_t freedom(legality *l, uint32_t loop)
{
    if (l->model->loops[loop].is_if) return 0;
    question q = ask(l, loop);
    const place *a, *b;
    for (uint32_t around = l->model->loops[loop].parent; around != TW_NONE; around = l->model->loops[around].parent) {
        q.over++;
        if (carries_scalar(l, around) || find_conflict(l, &q, &a, &b)) return (uint8_t)(q.over - 1);
    }
    return (uint8_t)q.over;
}

/* A region with loops none of which is parallel stays where it is; the outermost loop's reason is the one to tell. */
static void find_parallel(legality *l)
{
    bool any = !l->model->loop_count;
    tw_legality first = *l->out;
    for (uint32_t loop = 0; loop < l->model->loop_count; loop++) {
        l->facts->parallel[loop] = is_parallel(l, loop);
        if (l->facts->parallel[loop]) l->facts->free[loop] = freedom(l, loop);
        any |= l->facts->parallel[loop] && !l->model->loops[loop].is_if && l->numbers->loops[loop].most > 0;
    }
    l->out->is_serial = !any && first.refusal == TW_REFUSAL_NONE && l->out->refusal != TW_REFUSAL_NONE;
    if (any) *l->out = first;
    else if (l->out->refusal == TW_REFUSAL_NONE) refuse(l->out, TW_REFUSAL_FEW, "no loop has a trip");
}

/* ---- the rest ---- */

/* Steps far apart, so that one kernel serves many sizes; the exact number is no fact. */
static uint64_t trips_hint(int64_t most)
{
    static const int64_t steps[] = {1, 4, 16, 64, 1024};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (most <= steps[i]) return (uint64_t)steps[i];
    return 65536;
}

static void describe_loops(legality *l)
{
    for (uint32_t loop = 0; loop < l->model->loop_count; loop++) {
        const tw_numbers_loop *numbers = &l->numbers->loops[loop];
        l->facts->dead[loop] = numbers->most <= 0;
        l->facts->varying[loop] = numbers->varies;
        l->facts->trips[loop] = trips_hint(numbers->most);
    }
}

static void describe_strides(legality *l)
{
    for (uint32_t x = 0; x < l->model->access_count; x++)
        for (uint32_t d = 0; d < l->places[x].depth; d++) {
            int64_t stride = l->places[x].numbers->stride[d];
            l->facts->stride[x][d] = stride == 0 ? TW_STRIDE_ZERO : stride == l->places[x].access->width ? TW_STRIDE_UNIT : TW_STRIDE_ANY;
        }
}

void tw_legality_find(const tw_model *model, const tw_numbers *numbers, tw_facts *facts, tw_legality *out)
{
    legality l;
    l.model = model, l.numbers = numbers, l.facts = facts, l.out = out, l.budget = BUDGET; /* places: as many as needed */
    memset(facts, 0, sizeof *facts);
    out->refusal = TW_REFUSAL_NONE, out->detail[0] = 0, out->is_serial = false;
    find_places(&l);
    find_groups(&l);
    find_parallel(&l);
    describe_loops(&l);
    describe_strides(&l);
}

/* ---- implication ---- */

static bool groups_imply(const tw_model *model, const tw_facts *strong, const tw_facts *weak)
{
    for (uint32_t x = 0; x < model->access_count; x++)
        for (uint32_t y = x + 1; y < model->access_count; y++)
            if (weak->group[x] != weak->group[y] && strong->group[x] == strong->group[y]) return false;
    return true;
}

static bool strides_imply(const tw_model *model, const tw_facts *strong, const tw_facts *weak)
{
    for (uint32_t x = 0; x < model->access_count; x++)
        for (uint32_t d = 0; d < TW_MODEL_MAX_DEPTH; d++)
            if (weak->stride[x][d] != TW_STRIDE_ANY && weak->stride[x][d] != strong->stride[x][d]) return false;
    return true;
}

/* Every dependence of the strong ones is ahead by one of theirs, and that by one of the weak ones. */
static bool distances_imply(const tw_facts *strong, const tw_facts *weak)
{
    if (!weak->distance_count) return true;
    if (!strong->distance_count || strong->pair != weak->pair) return false;
    for (uint32_t i = 0; i < strong->distance_count; i++) {
        bool covered = false;
        for (uint32_t k = 0; k < weak->distance_count; k++)
            covered |= strong->distance[i].outer >= weak->distance[k].outer && strong->distance[i].inner >= weak->distance[k].inner;
        if (!covered) return false;
    }
    return true;
}

bool tw_facts_imply(const tw_model *model, const tw_facts *strong, const tw_facts *weak)
{
    if (strong->canonical_nan != weak->canonical_nan || strong->checked != weak->checked) return false;
    for (uint32_t l = 0; l < model->loop_count; l++) {
        if (weak->parallel[l] && !strong->parallel[l]) return false;
        if (weak->free[l] > strong->free[l]) return false;
        if (weak->dead[l] && !strong->dead[l]) return false;
        if (!weak->varying[l] && strong->varying[l]) return false;
    }
    return distances_imply(strong, weak) && strides_imply(model, strong, weak) && groups_imply(model, strong, weak);
}
