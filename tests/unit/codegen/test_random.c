/* SPDX-License-Identifier: Apache-2.0 */
/* Random nests: whatever the scheduler makes of them, the kernel leaves the bytes that the interpreter leaves. What is
 * parallel, free or apart is found by brute force, from every byte that an interpreted run touches. TW_SEED and TW_CASES
 * choose others. */
#include "support.h"

static tw_codegen *codegen;
static uint8_t memory[MEMORY_BYTES], expected[MEMORY_BYTES], got[MEMORY_BYTES];
static uint64_t seed;

static int set_up(void **state)
{
    (void)state;
    tw_error error;
    return tw_codegen_new(&codegen, &error);
}

static int tear_down(void **state)
{
    (void)state;
    tw_codegen_free(codegen);
    return 0;
}

static uint32_t pick(uint32_t below)
{
    return (uint32_t)((random_next(&seed) >> 20) % below);
}

/* ---- a random model as text ---- */

enum { MAX_LOOPS = 8, MAX_READS = 4 };

typedef struct draft {
    tw_bytes exprs, affines, accesses, carried, values, body;
    uint32_t expr_count, access_count, value_count, carried_count, loop_count;
    int parent[MAX_LOOPS], depth[MAX_LOOPS], trips[MAX_LOOPS], trips_expr[MAX_LOOPS];
    char type; /* of the arrays: i f d, or b for bytes that are i32 in values */
} draft;

static uint32_t expr_const(draft *d, int64_t value)
{
    tw_bytes_printf(&d->exprs, "expr e%u = const i32 %lld\n", d->expr_count, (long long)value);
    return d->expr_count++;
}

static unsigned width_of(const draft *d)
{
    return d->type == 'b' ? 1 : d->type == 'd' ? 8 : 4;
}

static const char *name_of(const draft *d)
{
    return d->type == 'd' ? "f64" : d->type == 'f' ? "f32" : "i32";
}

/* A loop with a constant count, or with one that grows or shrinks with the counter of the loop around it. */
static void add_loop(draft *d, int parent, int trips, bool varying)
{
    uint32_t l = d->loop_count++;
    d->parent[l] = parent;
    d->depth[l] = parent < 0 ? 0 : d->depth[parent] + 1;
    d->trips[l] = trips;
    if (parent >= 0 && varying) {
        bool grows = pick(2);
        uint32_t start = d->expr_count;
        int around = d->trips[parent];
        tw_bytes_printf(&d->exprs, "expr e%u = counter i32 n%d\n", start, parent);
        tw_bytes_printf(&d->exprs, "expr e%u = const i32 %d\n", start + 1, grows ? (int)pick(3) : around);
        tw_bytes_printf(&d->exprs, "expr e%u = i32.%s e%u e%u\n", start + 2, grows ? "add" : "sub", start + 1, start);
        tw_bytes_printf(&d->exprs, "expr e%u = i64.extend_i32_s e%u\n", start + 3, start + 2);
        d->expr_count += 4;
        d->trips_expr[l] = (int)start + 3;
        d->trips[l] = around + 2;
        return;
    }
    tw_bytes_printf(&d->exprs, "expr e%u = const i64 %d\n", d->expr_count, trips);
    d->trips_expr[l] = (int)d->expr_count++;
}

/* An address: an array's base, a little off, and steps by the loops around; 0, one element, a row, backwards, or odd. */
static uint32_t add_access(draft *d, int loop, bool is_store, unsigned array)
{
    static const char *const ops[][2] = {{"f64.load", "f64.store"}, {"f32.load", "f32.store"}, {"i32.load", "i32.store"}, {"i32.load8_u", "i32.store8"}};
    int chain[MAX_LOOPS], length = d->depth[loop] + 1;
    for (int l = loop, at = length; at-- > 0; l = d->parent[l]) chain[at] = l;
    int64_t w = width_of(d), row = w * 80, base = 100000 + 120000 * (int64_t)array + (pick(3) ? 0 : w * (int64_t)pick(4)) + (pick(12) ? 0 : 1);
    int64_t steps[] = {0, w, row, w, row, -w, 2 * w, 4 * w, 3, row * 2};
    uint32_t a = d->access_count, x = d->access_count++;
    tw_bytes line = {0};
    for (int k = 0; k < length; k++) {
        int64_t step = steps[pick(k == length - 1 ? 10 : 5)];
        if (k == length - 1 && pick(2)) step = w;
        if (step == 0) continue;
        tw_bytes_printf(&line, " + e%u * n%d", expr_const(d, step), chain[k]);
    }
    tw_bytes_printf(&d->affines, "affine a%u i32 in n%d = e%u%s\n", a, loop, expr_const(d, base), line.size ? line.data : "");
    int kind = d->type == 'd' ? 0 : d->type == 'f' ? 1 : d->type == 'i' ? 2 : 3;
    tw_bytes_printf(&d->accesses, "access x%u %s a%u + 0 in n%d\n", x, ops[kind][is_store], a, loop);
    tw_bytes_free(&line);
    return x;
}

static uint32_t add_value(draft *d, const char *text)
{
    tw_bytes_printf(&d->values, "value v%u = %s\n", d->value_count, text);
    return d->value_count++;
}

static uint32_t add_read(draft *d, int loop)
{
    char text[32];
    snprintf(text, sizeof text, "read x%u", add_access(d, loop, false, pick(3)));
    uint32_t v = add_value(d, text);
    tw_bytes_printf(&d->body, "read v%u\n", v);
    return v;
}

static uint32_t combine(draft *d, uint32_t a, uint32_t b)
{
    static const char *const floats[] = {"add", "mul", "sub", "add", "min", "max"}, *const ints[] = {"add", "mul", "xor", "sub", "or", "shr_u"};
    char text[64];
    bool is_int = d->type == 'i' || d->type == 'b';
    snprintf(text, sizeof text, "%s.%s v%u v%u", name_of(d), (is_int ? ints : floats)[pick(6)], a, b);
    return add_value(d, text);
}

/* Reads, an expression of them, perhaps a guard, a store. */
static void add_statement(draft *d, int loop, uint32_t extra)
{
    uint32_t value = add_read(d, loop), guard = TW_NONE;
    for (uint32_t i = pick(MAX_READS - 1); i-- > 0;) value = combine(d, value, add_read(d, loop));
    if (extra != TW_NONE) value = combine(d, value, extra);
    if (pick(5) == 0) {
        char text[64];
        bool is_int = d->type == 'i' || d->type == 'b';
        snprintf(text, sizeof text, "%s.%s v%u v%u", name_of(d), is_int ? "lt_s" : "lt", value, add_read(d, loop));
        guard = add_value(d, text);
    }
    tw_bytes_printf(&d->body, "store x%u v%u", add_access(d, loop, true, pick(4)), value);
    if (guard != TW_NONE) tw_bytes_printf(&d->body, " if v%u", guard);
    tw_bytes_append_byte(&d->body, '\n');
}

/* An innermost loop that hands a sum on; returns its final value. */
static uint32_t add_sum(draft *d, int loop)
{
    char text[64];
    uint32_t c = d->carried_count++;
    snprintf(text, sizeof text, "const %s 0", name_of(d));
    uint32_t init = add_value(d, text);
    snprintf(text, sizeof text, "carried c%u", c);
    uint32_t now = add_value(d, text);
    tw_bytes_printf(&d->body, "n%d {\n", loop);
    uint32_t product = combine(d, add_read(d, loop), add_read(d, loop)), next = combine(d, now, product);
    tw_bytes_append_string(&d->body, "}\n");
    tw_bytes_printf(&d->carried, "carried c%u %s in n%d init v%u next v%u\n", c, name_of(d), loop, init, next);
    snprintf(text, sizeof text, "final c%u", c);
    return add_value(d, text);
}

/* An address with given steps, outermost loop first. */
static uint32_t add_access_with(draft *d, int loop, bool is_store, int64_t base, const int64_t *steps)
{
    static const char *const ops[][2] = {{"f64.load", "f64.store"}, {"f32.load", "f32.store"}, {"i32.load", "i32.store"}, {"i32.load8_u", "i32.store8"}};
    int chain[MAX_LOOPS], length = d->depth[loop] + 1;
    for (int l = loop, at = length; at-- > 0; l = d->parent[l]) chain[at] = l;
    uint32_t x = d->access_count++, coefs[MAX_LOOPS], origin = expr_const(d, base);
    for (int k = 0; k < length; k++) coefs[k] = expr_const(d, steps[k]);
    tw_bytes_printf(&d->affines, "affine a%u i32 in n%d = e%u", x, loop, origin);
    for (int k = 0; k < length; k++)
        if (steps[k]) tw_bytes_printf(&d->affines, " + e%u * n%d", coefs[k], chain[k]);
    int kind = d->type == 'd' ? 0 : d->type == 'f' ? 1 : d->type == 'i' ? 2 : 3;
    tw_bytes_printf(&d->affines, "\n");
    tw_bytes_printf(&d->accesses, "access x%u %s a%u + 0 in n%d\n", x, ops[kind][is_store], x, loop);
    return x;
}

static uint32_t add_read_with(draft *d, int loop, int64_t base, const int64_t *steps)
{
    char text[32];
    snprintf(text, sizeof text, "read x%u", add_access_with(d, loop, false, base, steps));
    uint32_t v = add_value(d, text);
    tw_bytes_printf(&d->body, "read v%u\n", v);
    return v;
}

/* c = f(c, a, b) with matrix-like steps: products, transposes, sums over rows, and things that only look like them. */
static void add_product(draft *d, int loop)
{
    int64_t w = width_of(d), row = w * 80, choice[] = {0, w, row, w * 41};
    int64_t c[MAX_LOOPS], a[MAX_LOOPS], b[MAX_LOOPS], base = 100000 + (pick(4) ? 0 : w * (int64_t)pick(90));
    for (int k = 0; k <= d->depth[loop]; k++) c[k] = choice[pick(3)], a[k] = choice[pick(4)], b[k] = choice[pick(4)];
    int depth = d->depth[loop];
    if (pick(2) && depth >= 1) { /* c[i][j], a[i][l], b[l][j] in the order i, l, j, or a transpose */
        for (int k = 0; k <= depth; k++) c[k] = a[k] = b[k] = 0;
        c[0] = row, c[depth] = w, b[depth] = w, a[0] = depth == 1 && pick(2) ? w : row;
        if (depth == 2) a[1] = w, b[1] = row;
        else a[depth] = a[0] == w ? row : w;
    }
    bool updates = pick(4), overlaps = pick(4) == 0;
    uint32_t value = combine(d, add_read_with(d, loop, overlaps ? 100000 : 300000, a), add_read_with(d, loop, 600000, b));
    if (updates) value = combine(d, add_read_with(d, loop, base, c), value);
    tw_bytes_printf(&d->body, "store x%u v%u\n", add_access_with(d, loop, true, base, c), value);
}

/* Pixels, complex numbers: elements of one record read and written, all of them or some, with or without others between. */
static void add_records(draft *d)
{
    static const int counts[] = {1, 7, 8, 9, 31, 33, 40, 65, 100};
    int64_t w = width_of(d);
    int size = 2 + (int)pick(3), depth = pick(4) == 0;
    if (depth) {
        add_loop(d, -1, 3, false);
        tw_bytes_append_string(&d->body, "n0 {\n");
    }
    int loop = depth;
    add_loop(d, depth - 1, counts[pick(9)], false);
    tw_bytes_printf(&d->body, "n%d {\n", loop);
    int64_t steps[2] = {w * 500, w * size};
    int64_t *at = depth ? steps : steps + 1, from = 100000, to = pick(3) ? 300000 : from;
    if (pick(6) == 0) to = from + w * (1 + pick(2));
    for (int k = 0; k < size; k++) {
        if (pick(4) == 0) continue; /* a gap */
        uint32_t value = add_read_with(d, loop, from + w * (int64_t)pick((uint32_t)size), at);
        if (pick(2)) value = combine(d, value, add_read_with(d, loop, to + w * (pick(4) ? k : (int64_t)pick((uint32_t)size)), at));
        if (pick(8) == 0) value = combine(d, value, add_read_with(d, loop, 600000, (int64_t[]){w, -w} + !depth));
        tw_bytes_printf(&d->body, "store x%u v%u\n", add_access_with(d, loop, true, to + w * k, at), value);
    }
    if (pick(6) == 0) {
        uint32_t value = add_read_with(d, loop, from, at);
        tw_bytes_printf(&d->body, "store x%u v%u\n", add_access_with(d, loop, true, 800000, (int64_t[]){w * 200, w} + !depth), value);
    }
    tw_bytes_append_string(&d->body, depth ? "}\n}\n" : "}\n");
}

/* Two or three loops and a product inside, with or without a statement beside the inner ones. */
static void add_matrices(draft *d)
{
    static const int counts[] = {1, 2, 3, 7, 9, 17, 33, 40};
    int depth = 2 + (int)pick(2);
    for (int k = 0; k < depth; k++) {
        add_loop(d, k - 1, counts[pick(8)], pick(12) == 0);
        tw_bytes_printf(&d->body, "n%d {\n", k);
        if (k == 0 && depth == 3 && pick(2)) {
            add_loop(d, 0, counts[pick(8)], false); /* takes number 1: the rest moves up */
            tw_bytes_append_string(&d->body, "n1 {\n");
            add_product(d, 1);
            tw_bytes_append_string(&d->body, "}\n");
            add_loop(d, 0, counts[pick(8)], false);
            add_loop(d, 2, counts[pick(8)], false);
            tw_bytes_append_string(&d->body, "n2 {\nn3 {\n");
            add_product(d, 3);
            tw_bytes_append_string(&d->body, "}\n}\n}\n");
            return;
        }
    }
    add_product(d, depth - 1);
    for (int k = 0; k < depth; k++) tw_bytes_append_string(&d->body, "}\n");
}

/* Cells made of their neighbours, in place: every loop has its dependences, whichever way it walks. */
static void add_smoothing(draft *d)
{
    static const int counts[] = {1, 2, 3, 5, 9, 17, 26, 40};
    bool large = pick(8) == 0; /* several tiles */
    int64_t w = width_of(d), steps[3] = {0}, row = w * (large ? 400 : 60);
    int depth = 2 + (pick(3) == 0);
    for (int k = 0; k < depth; k++) {
        int count = large ? k == depth - 1 ? 150 + (int)pick(200) : 60 + (int)pick(40) : counts[pick(8)];
        add_loop(d, k - 1, k < depth - 2 ? 1 + (int)pick(large ? 1 : 3) : count, false);
        tw_bytes_printf(&d->body, "n%d {\n", k);
    }
    int loop = depth - 1;
    steps[depth - 2] = pick(2) ? row : -row, steps[depth - 1] = pick(8) == 0 ? 2 * w : pick(2) ? w : -w;
    if (pick(6) == 0) { /* columns */
        int64_t other = steps[depth - 1];
        steps[depth - 1] = steps[depth - 2], steps[depth - 2] = other;
    }
    uint32_t value = TW_NONE;
    for (uint32_t i = 1 + pick(5); i-- > 0;) {
        int64_t near = ((int64_t)pick(3) - 1) * row + ((int64_t)pick(5) - 2) * w;
        uint32_t read = add_read_with(d, loop, 400000 + near + (pick(30) == 0), steps);
        value = value == TW_NONE ? read : combine(d, value, read);
    }
    if (pick(3) == 0) value = combine(d, value, add_read_with(d, loop, 700000, (int64_t[]){w, pick(2) ? w : 0, w}));
    if (pick(3) == 0 && (d->type == 'i' || d->type == 'b')) {
        char text[32];
        uint32_t a = d->access_count++; /* its number goes with an affine of its own; no access has it */
        tw_bytes_printf(&d->affines, "affine a%u i32 in n%d = e%u + e%u * n%d + e%u * n%d\n", a, loop, expr_const(d, 5), expr_const(d, 3),
                        loop - 1, expr_const(d, -7), loop);
        tw_bytes_printf(&d->accesses, "access x%u i32.load8_u a%u + 500000 in n%d\n", a, a, loop);
        snprintf(text, sizeof text, "affine a%u", a);
        value = combine(d, value, add_value(d, text));
    }
    tw_bytes_printf(&d->body, "store x%u v%u\n", add_access_with(d, loop, true, 400000, steps), value);
    for (int k = 0; k < depth; k++) tw_bytes_append_string(&d->body, "}\n");
}

static void add_nest(draft *d, int parent, int levels)
{
    static const int counts[] = {1, 2, 3, 5, 8, 13, 17, 31, 33, 40};
    int loop = (int)d->loop_count;
    add_loop(d, parent, counts[pick(levels > 1 ? 7 : 10)], pick(5) == 0);
    tw_bytes_printf(&d->body, "n%d {\n", loop);
    uint32_t sum = TW_NONE;
    if (levels == 1 && parent >= 0 && pick(3) == 0 && d->loop_count < MAX_LOOPS) {
        int inner = (int)d->loop_count;
        add_loop(d, loop, counts[pick(7)], false);
        sum = add_sum(d, inner);
    }
    if (levels > 1 && pick(6) == 0) add_statement(d, loop, TW_NONE);
    if (levels > 1) add_nest(d, loop, levels - 1);
    if (levels > 1 && pick(5) == 0 && d->loop_count < MAX_LOOPS - 1) add_nest(d, loop, 1);
    for (uint32_t i = levels == 1 ? 1 + pick(2) : pick(5) == 0; i-- > 0;) add_statement(d, loop, sum);
    tw_bytes_append_string(&d->body, "}\n");
}

static void make_text(tw_bytes *out)
{
    draft d = {.type = "ifdb"[pick(4)]};
    uint32_t kind = pick(6);
    if (kind < 2) add_matrices(&d);
    else if (kind == 2) add_records(&d);
    else if (kind == 3) add_smoothing(&d);
    else add_nest(&d, -1, 1 + (int)pick(3));
    tw_bytes_append_string(out, "region \"random\" exits-at-end exit 1\n");
    for (uint32_t l = 0; l < d.loop_count; l++) {
        tw_bytes_printf(out, "loop n%u", l);
        if (d.parent[l] >= 0) tw_bytes_printf(out, " in n%d", d.parent[l]);
        tw_bytes_printf(out, " trips e%d\n", d.trips_expr[l]);
    }
    tw_bytes *parts[] = {&d.exprs, &d.affines, &d.accesses, &d.carried, &d.values, &d.body};
    for (int i = 0; i < 6; i++) {
        if (parts[i]->data) tw_bytes_append_string(out, parts[i]->data);
        tw_bytes_free(parts[i]);
    }
    tw_bytes_append_string(out, "end\n");
}

/* ---- facts by brute force ---- */

typedef struct touch {
    uint8_t access;
    bool is_store;
    uint32_t address;
    uint16_t counters[MAX_LOOPS];
} touch;

enum { MAX_TOUCHES = 400000 };
static touch touches[MAX_TOUCHES];
static uint32_t touch_count;

static void take_touch(void *context, uint32_t access, const uint64_t *counters, uint64_t address)
{
    const tw_model *model = context;
    if (touch_count >= MAX_TOUCHES) return;
    touch *t = &touches[touch_count++];
    *t = (touch){.access = (uint8_t)access, .is_store = model->accesses[access].is_store, .address = (uint32_t)address};
    for (int l = 0; l < MAX_LOOPS; l++) t->counters[l] = (uint16_t)counters[l];
}

/* What two touches of a byte say: of each loop around both, whether its trips can still be independent. */
static void relate(const tw_model *m, tw_facts *facts, uint8_t *dependent_from, const touch *a, const touch *b)
{
    if (!a->is_store && !b->is_store) return;
    if (facts->group[a->access] != facts->group[b->access]) {
        uint8_t from = facts->group[a->access], to = facts->group[b->access];
        for (uint32_t x = 0; x < m->access_count; x++)
            if (facts->group[x] == from) facts->group[x] = to;
    }
    uint32_t ca[TW_MODEL_MAX_DEPTH], cb[TW_MODEL_MAX_DEPTH];
    uint32_t la = tw_model_chain(m, m->accesses[a->access].loop, ca), lb = tw_model_chain(m, m->accesses[b->access].loop, cb);
    uint32_t equal = 0; /* outer counters that are equal */
    for (uint32_t d = 0; d < la && d < lb && ca[d] == cb[d]; d++) {
        uint32_t loop = ca[d];
        /* dependent when this many counters outside are equal, or fewer */
        if (a->counters[loop] != b->counters[loop] && equal + 1 > dependent_from[loop]) dependent_from[loop] = (uint8_t)(equal + 1);
        if (equal == d && a->counters[loop] == b->counters[loop]) equal = d + 1;
    }
}

static int by_address(const void *a, const void *b)
{
    const touch *x = a, *y = b;
    return x->address < y->address ? -1 : x->address > y->address;
}

/* The least inner distance for each outer one between iterations of the pair (inner, the loop around it). */
enum { FAR = 64 };
static void find_least(const tw_model *m, uint32_t inner, int least[FAR])
{
    uint32_t outer = m->loops[inner].parent;
    for (int i = 0; i < FAR; i++) least[i] = FAR;
    for (uint32_t i = 0; i < touch_count; i++)
        for (uint32_t j = i + 1; j < touch_count && touches[j].address < touches[i].address + m->accesses[touches[i].access].width; j++) {
            const touch *a = &touches[i], *b = &touches[j];
            int far = a->counters[outer] - b->counters[outer], near = a->counters[inner] - b->counters[inner];
            bool equal = a->is_store || b->is_store;
            for (uint32_t l = m->loops[outer].parent; l != TW_NONE; l = m->loops[l].parent) equal &= a->counters[l] == b->counters[l];
            if (far < 0 || (far == 0 && near < 0)) far = -far, near = -near;
            if (equal && (far || near) && far < FAR && near < least[far]) least[far] = near;
        }
}

/* Two or three loops, one in another, none of them parallel: how far dependences reach in the innermost pair. */
static void find_distances(const tw_model *m, tw_facts *f)
{
    uint32_t inner = m->loop_count - 1;
    int least[FAR], ahead = FAR;
    if (m->loop_count < 2 || m->carried_count) return;
    for (uint32_t l = 0; l < m->loop_count; l++)
        if (f->parallel[l] || f->varying[l] || f->dead[l] || m->loops[l].is_if || (l != inner && m->loops[l].item_count > 1)) return;
    find_least(m, inner, least);
    for (int far = 0; far < FAR; far++) {
        if (least[far] >= ahead) continue;
        ahead = least[far];
        if (f->distance_count == TW_FACTS_DISTANCES) {
            f->distance_count = 0;
            return;
        }
        f->pair = (uint8_t)inner;
        f->distance[f->distance_count++] = (tw_distance){(int8_t)far, (int8_t)least[far]};
    }
}

static void find_facts(subject *s)
{
    const tw_model *m = s->model;
    tw_facts *f = &s->facts;
    const tw_numbers *n = tw_plan_numbers(s->plan);
    uint8_t dependent_from[TW_MODEL_MAX_LOOPS] = {0};
    bool carries[TW_MODEL_MAX_LOOPS] = {0};
    for (uint32_t x = 0; x < m->access_count; x++) f->group[x] = (uint8_t)x;
    qsort(touches, touch_count, sizeof *touches, by_address);
    for (uint32_t i = 0; i < touch_count; i++)
        for (uint32_t j = i + 1; j < touch_count && touches[j].address < touches[i].address + 8; j++)
            if (touches[j].address < touches[i].address + m->accesses[touches[i].access].width)
                relate(m, f, dependent_from, &touches[i], &touches[j]);
    for (uint32_t c = 0; c < m->carried_count; c++) carries[m->carried[c].loop] = true;
    for (uint32_t l = 0; l < m->loop_count; l++) {
        uint32_t depth = m->loops[l].depth;
        /* dependent_from = how many equal outer counters still allow a dependence, plus one; parallel: not with all of them */
        f->parallel[l] = !carries[l] && dependent_from[l] <= depth;
        f->free[l] = f->parallel[l] ? (uint8_t)(depth - dependent_from[l]) : 0;
        f->varying[l] = n->loops[l].varies;
        f->dead[l] = n->loops[l].most <= 0;
        f->trips[l] = (uint64_t)n->loops[l].most << (6 * pick(4)); /* a hint: kernels don't rely on it */
    }
    for (uint32_t x = 0; x < m->access_count; x++)
        for (uint32_t d = 0; d <= m->loops[m->accesses[x].loop].depth; d++) {
            int64_t stride = n->accesses[x].stride[d];
            f->stride[x][d] = stride == 0 ? TW_STRIDE_ZERO : stride == m->accesses[x].width ? TW_STRIDE_UNIT : TW_STRIDE_ANY;
        }
    f->canonical_nan = true;
    find_distances(m, f);
}

/* ---- one case ---- */

static void print_case(const subject *s, const char *text, const tw_tree *tree)
{
    tw_bytes out = {0};
    tw_facts_print(s->model, &s->facts, &out);
    tw_tree_print(tree, &out);
    print_error("%s%s", text, out.data);
    tw_bytes_free(&out);
}

static bool differs(const uint8_t *a, const uint8_t *b)
{
    return memcmp(a, b, MEMORY_BYTES) != 0;
}

typedef struct census {
    int cases, parallel, shared, lanes, rows, blocks, fronts, skipped;
} census;

static void count_tree(const tw_tree *tree, census *c)
{
    bool lanes = false, rows = false, blocks = false;
    for (uint32_t i = 0; i < tree->node_count; i++) {
        lanes |= tree->nodes[i].lanes > 1;
        rows |= tree->nodes[i].rows > 1;
        blocks |= tree->nodes[i].block > 0;
    }
    c->cases++, c->lanes += lanes, c->rows += rows, c->blocks += blocks, c->parallel += tree->outer_parallel, c->fronts += tree->has_fronts;
}

static void run_case(uint64_t number, census *c)
{
    tw_bytes text = {0};
    subject s;
    seed = number * 0x9E3779B97F4A7C15u + 1;
    for (int i = 0; i < 4; i++) random_next(&seed);
    make_text(&text);
    subject_from_text(&s, text.data, text.size);
    fill_bytes(memory, number + 1);
    tw_numbers *n = tw_plan_numbers(s.plan);
    if (!tw_plan_evaluate(s.plan, (tw_plan_memory){memory, MEMORY_BYTES})) {
        (void)n;
        c->skipped++;
        subject_free(&s);
        tw_bytes_free(&text);
        return;
    }
    subject_numbers(&s, NULL, memory, MEMORY_BYTES);
    s.facts.canonical_nan = true;
    memcpy(expected, memory, MEMORY_BYTES);
    touch_count = 0;
    tw_error error = {.message = ""};
    tw_interp in = {.model = s.model, .layout = &s.layout, .args = s.args, .memory = expected, .memory_size = MEMORY_BYTES,
                    .canonical_nan = true, .touch = take_touch, .context = s.model};
    if (tw_model_run(&in, 0, s.iterations, &error)) fail_msg("case %llu: %s", (unsigned long long)number, error.message);
    if (touch_count < MAX_TOUCHES) {
        find_facts(&s);
        tw_arena arena;
        tw_tree *tree;
        tw_arena_init(&arena, TW_ARENA_NO_LIMIT);
        subject_tree(&s, SCHEDULED, codegen, &arena, &tree);
        count_tree(tree, c);
        kernel k;
        subject_compile(&s, codegen, SCHEDULED, 3, &k);
        uint32_t most = k.info.shares_work ? 3 : 1;
        for (uint32_t threads = 1; threads <= most; threads += 2) {
            memcpy(got, memory, MEMORY_BYTES);
            int32_t result = subject_run_team(&s, &k, got, threads);
            if (result == TW_KERNEL_DONE && !differs(got, expected)) continue;
            print_case(&s, text.data, tree);
            fail_msg("case %llu on %u threads: result %d, %s", (unsigned long long)number, threads, result,
                     differs(got, expected) ? "other bytes" : "same bytes");
        }
        c->shared += k.info.shares_work;
        for (uint64_t shuffle = 1; shuffle < 3; shuffle++) { /* the facts themselves: parallel loops in any order */
            memcpy(got, memory, MEMORY_BYTES);
            subject_interpret(&s, got, MEMORY_BYTES, shuffle);
            if (differs(got, expected)) fail_msg("case %llu: the facts are wrong", (unsigned long long)number);
        }
        kernel_free(&k);
        tw_arena_free(&arena);
    }
    subject_free(&s);
    tw_bytes_free(&text);
}

static uint64_t from_environment(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 0) : otherwise;
}

static void random_nests(void **state)
{
    (void)state;
    uint64_t start = from_environment("TW_SEED", 1), cases = from_environment("TW_CASES", 200);
    census c = {0};
    for (uint64_t i = 0; i < cases; i++) run_case(start + i, &c);
    print_message("%d cases: root parallel %d, shared %d, lanes %d, rows %d, blocks %d, wavefronts %d; %d refused by the plan\n",
                  c.cases, c.parallel, c.shared, c.lanes, c.rows, c.blocks, c.fronts, c.skipped);
    assert_true(c.cases > (int)cases / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_nests)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
