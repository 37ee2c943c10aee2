/* SPDX-License-Identifier: Apache-2.0 */
/* The text form of a model.
 *
 * A line an entity, each kind numbered from 0 without gaps: s symbols, n loops, e exprs, a affines, x accesses, c carried
 * scalars, v values. Kinds come in the order below (a line may only name kinds above it, and exprs or values of its own
 * kind with a lower number, but that loops name exprs and carried scalars name values). Words are separated by spaces;
 * numbers are decimal, with a '-' where negative, or 0x…; [ ] marks what may be missing.
 *
 *   region "NAME" [func N] [at OFFSET] [exits-at-end] [copies N] exit N   NAME: bytes; " \ and control bytes as \xx
 *   symbol s0 TYPE live-in|header LOCAL
 *   loop n0 [in n] trips e [at OFFSET]                             a loop; `in`: the enclosing one
 *   if n1 in n trips e                                             0 or 1 trips, no counter
 *   expr e0 = const i32|i64 N
 *   expr e1 = symbol s
 *   expr e2 = counter i32|i64 n
 *   expr e3 = OP e…                                                integer operation: i32.add e1 e2
 *   expr e4 = select e e e                                         a ? b : c
 *   expr e5 = OP e + OFFSET                                        integer load: i32.load e3 + 8
 *   expr e6 = trips OP e e e
 *   affine a0 i32|i64 [in n] = e [+ e * n]…                        n: enclosing loops, outermost first
 *   access x0 OP a + OFFSET [in n] [inspected | indirect LEAST to MOST] [at OFFSET]
 *   carried c0 TYPE in n init v next v
 *   value v0 = const TYPE N                                        floats: their bits
 *   value v1 = symbol s | affine a | read x | carried c | final c
 *   value v2 = OP v… | select v v v                                select: a, b, condition
 *   check e [in n] REFUSAL
 *   limit a OP e | affine a [at OFFSET]                            integer compare, for all counters of a's loop and around
 *   apart x x                                                      the two have no byte in common
 *   header LOCAL TYPE symbol s affine e | dead
 *   live-out h affine a | unknown                                  h: number of the header
 *   output v
 *   n0 {                                                           the body: items in order, loops nested
 *     read v [if v]
 *     store x v [if v]
 *     n1 {
 *     }
 *   }
 *   end
 *
 * A region without loops has its items at the left margin. */

#include <string.h>

#include "region/model.h"
#include "region/refusals.h"
#include "region/text.h"

enum { MODEL_BYTES = 64 << 20, MAX_ITEMS = TW_MODEL_MAX_ACCESSES + TW_MODEL_MAX_LOOPS };

tw_status tw_model_new(tw_model **out, tw_error *error)
{
    tw_arena arena;
    tw_arena_init(&arena, MODEL_BYTES);
    tw_model *model = TW_NEW(&arena, tw_model);
    char *name = tw_arena_string(&arena, "", 0);
    if (!model || !name) {
        tw_arena_free(&arena);
        return tw_fail_memory(error);
    }
    *model = (tw_model){.arena = arena, .name = name, .copies = 1, .func = TW_NO_FUNCTION, .place = TW_NO_OFFSET};
    *out = model;
    return TW_OK;
}

void tw_model_free(tw_model *model)
{
    if (!model) return;
    tw_arena arena = model->arena; /* the model itself lies in it */
    tw_arena_free(&arena);
}

uint32_t tw_model_chain(const tw_model *model, uint32_t loop, uint32_t chain[TW_MODEL_MAX_DEPTH])
{
    if (loop == TW_NONE) return 0;
    uint32_t length = model->loops[loop].depth + 1;
    for (uint32_t at = length; at-- > 0; loop = model->loops[loop].parent) chain[at] = loop;
    return length;
}

/* ---- print ---- */

static void print_name(const char *name, tw_bytes *out)
{
    tw_bytes_append_byte(out, '"');
    for (const uint8_t *at = (const uint8_t *)name; *at; at++) {
        if (*at < 0x20 || *at == 0x7F || *at == '"' || *at == '\\') tw_bytes_printf(out, "\\%02x", *at);
        else tw_bytes_append_byte(out, *at);
    }
    tw_bytes_append_byte(out, '"');
}

static void print_place(uint64_t place, tw_bytes *out)
{
    if (place != TW_NO_OFFSET) tw_bytes_printf(out, " at 0x%llx", (unsigned long long)place);
}

static void print_in(uint32_t loop, tw_bytes *out)
{
    if (loop != TW_NONE) tw_bytes_printf(out, " in n%u", loop);
}

static void print_const(uint8_t type, uint64_t bits, tw_bytes *out)
{
    tw_bytes_printf(out, "const %s ", tw_type_name((tw_type)type));
    if (type == TW_I32) tw_bytes_printf(out, "%d", (int32_t)bits);
    else if (type == TW_I64) tw_bytes_printf(out, "%lld", (long long)bits);
    else tw_bytes_printf(out, "0x%llx", (unsigned long long)bits);
}

static void print_args(char letter, const uint32_t args[3], tw_bytes *out)
{
    for (int i = 0; i < 3 && args[i] != TW_NONE; i++) tw_bytes_printf(out, " %c%u", letter, args[i]);
}

static void print_expr(const tw_model *model, uint32_t index, tw_bytes *out)
{
    const tw_expr_node *e = &model->exprs[index];
    const char *type = e->bits == 32 ? "i32" : "i64", *op = tw_op_describe((tw_op)e->op)->name;
    tw_bytes_printf(out, "expr e%u = ", index);
    switch ((tw_expr_kind)e->kind) {
    case TW_EXPR_CONST: print_const(e->bits == 32 ? TW_I32 : TW_I64, e->imm, out); break;
    case TW_EXPR_SYMBOL: tw_bytes_printf(out, "symbol s%u", e->index); break;
    case TW_EXPR_COUNTER: tw_bytes_printf(out, "counter %s n%u", type, e->index); break;
    case TW_EXPR_OP: tw_bytes_append_string(out, op); print_args('e', (uint32_t[]){e->a, e->b, e->c}, out); break;
    case TW_EXPR_SELECT: tw_bytes_printf(out, "select e%u e%u e%u", e->a, e->b, e->c); break;
    case TW_EXPR_LOAD: tw_bytes_printf(out, "%s e%u + %llu", op, e->a, (unsigned long long)e->imm); break;
    case TW_EXPR_TRIPS: tw_bytes_printf(out, "trips %s e%u e%u e%u", op, e->a, e->b, e->c); break;
    }
    tw_bytes_append_byte(out, '\n');
}

static void print_affine(const tw_model *model, uint32_t index, tw_bytes *out)
{
    const tw_affine *a = &model->affines[index];
    uint32_t chain[TW_MODEL_MAX_DEPTH], length = tw_model_chain(model, a->loop, chain);
    tw_bytes_printf(out, "affine a%u i%u", index, a->bits);
    print_in(a->loop, out);
    tw_bytes_printf(out, " = e%u", a->base);
    for (uint32_t d = 0; d < length; d++)
        if (a->coef[d] != TW_NONE) tw_bytes_printf(out, " + e%u * n%u", a->coef[d], chain[d]);
    tw_bytes_append_byte(out, '\n');
}

static void print_access(const tw_model *model, uint32_t index, tw_bytes *out)
{
    const tw_model_access *x = &model->accesses[index];
    tw_bytes_printf(out, "access x%u %s a%u + %llu", index, tw_op_describe((tw_op)x->op)->name, x->address,
                    (unsigned long long)x->offset);
    print_in(x->loop, out);
    if (x->is_inspected) tw_bytes_append_string(out, " inspected");
    if (x->is_indirect) tw_bytes_printf(out, " indirect %d to %d", x->least, x->most);
    print_place(x->place, out);
    tw_bytes_append_byte(out, '\n');
}

static void print_value(const tw_model *model, uint32_t index, tw_bytes *out)
{
    const tw_value_node *v = &model->values[index];
    tw_bytes_printf(out, "value v%u = ", index);
    switch ((tw_value_kind)v->kind) {
    case TW_VALUE_CONST: print_const(v->type, v->bits, out); break;
    case TW_VALUE_SYMBOL: tw_bytes_printf(out, "symbol s%u", v->index); break;
    case TW_VALUE_AFFINE: tw_bytes_printf(out, "affine a%u", v->index); break;
    case TW_VALUE_READ:
        tw_bytes_printf(out, "read x%u", v->index);
        if (v->args[0] != TW_NONE) tw_bytes_printf(out, " by v%u", v->args[0]);
        break;
    case TW_VALUE_OP:
        tw_bytes_append_string(out, tw_op_describe((tw_op)v->op)->name);
        print_args('v', v->args, out);
        break;
    case TW_VALUE_CARRIED: tw_bytes_printf(out, "carried c%u", v->index); break;
    case TW_VALUE_FINAL: tw_bytes_printf(out, "final c%u", v->index); break;
    }
    tw_bytes_append_byte(out, '\n');
}

static void print_items(const tw_model *model, const tw_item *items, uint32_t count, uint32_t indent, tw_bytes *out)
{
    for (uint32_t i = 0; i < count; i++) {
        const tw_item *item = &items[i];
        tw_bytes_printf(out, "%*s", (int)indent, "");
        if (item->kind == TW_ITEM_LOOP) {
            const tw_model_loop *loop = &model->loops[item->index];
            tw_bytes_printf(out, "n%u {\n", item->index);
            print_items(model, loop->items, loop->item_count, indent + 2, out);
            tw_bytes_printf(out, "%*s}\n", (int)indent, "");
            continue;
        }
        if (item->kind == TW_ITEM_READ) tw_bytes_printf(out, "read v%u", item->value);
        else tw_bytes_printf(out, "store x%u v%u", item->index, item->value);
        if (item->guard != TW_NONE) tw_bytes_printf(out, " if v%u", item->guard);
        tw_bytes_append_byte(out, '\n');
    }
}

static void print_loops(const tw_model *model, tw_bytes *out)
{
    for (uint32_t l = 0; l < model->loop_count; l++) {
        const tw_model_loop *loop = &model->loops[l];
        tw_bytes_printf(out, "%s n%u", loop->is_if ? "if" : "loop", l);
        print_in(loop->parent, out);
        tw_bytes_printf(out, " trips e%u", loop->trips);
        print_place(loop->place, out);
        tw_bytes_append_byte(out, '\n');
    }
}

static void print_carried(const tw_model *model, tw_bytes *out)
{
    for (uint32_t c = 0; c < model->carried_count; c++) {
        const tw_carried *carried = &model->carried[c];
        tw_bytes_printf(out, "carried c%u %s in n%u init v%u next v%u\n", c, tw_type_name((tw_type)carried->type),
                        carried->loop, carried->init, carried->next);
    }
}

/* Checks, headers, live-outs, outputs. */
static void print_edges(const tw_model *model, tw_bytes *out)
{
    for (uint32_t i = 0; i < model->check_count; i++) {
        tw_bytes_printf(out, "check e%u", model->checks[i].expr);
        print_in(model->checks[i].loop, out);
        tw_bytes_printf(out, " %s\n", tw_refusal_name((tw_refusal)model->checks[i].refusal));
    }
    for (uint32_t i = 0; i < model->limit_count; i++) {
        const tw_limit *l = &model->limits[i];
        tw_bytes_printf(out, "limit a%u %s ", l->affine, tw_op_describe((tw_op)l->op)->name);
        if (l->other == TW_NONE) tw_bytes_printf(out, "e%u", l->bound);
        else tw_bytes_printf(out, "affine a%u", l->other);
        print_place(l->place, out);
        tw_bytes_append_string(out, "\n");
    }
    for (uint32_t i = 0; i < model->apart_count; i++)
        tw_bytes_printf(out, "apart x%u x%u\n", model->apart[i].first, model->apart[i].second);
    for (uint32_t i = 0; i < model->header_count; i++) {
        const tw_header *h = &model->headers[i];
        tw_bytes_printf(out, "header %u %s symbol s%u ", h->local, tw_type_name((tw_type)h->type), h->symbol);
        if (h->kind == TW_HEADER_AFFINE) tw_bytes_printf(out, "affine e%u\n", h->step);
        else tw_bytes_append_string(out, "dead\n");
    }
    for (uint32_t i = 0; i < model->live_out_count; i++) {
        const tw_live_out *o = &model->live_outs[i];
        tw_bytes_printf(out, "live-out %u ", o->header);
        if (o->kind == TW_LIVE_OUT_AFFINE) tw_bytes_printf(out, "affine a%u\n", o->affine);
        else tw_bytes_append_string(out, "unknown\n");
    }
    for (uint32_t i = 0; i < model->output_count; i++) tw_bytes_printf(out, "output v%u\n", model->outputs[i]);
}

static void print_region(const tw_model *model, tw_bytes *out)
{
    tw_bytes_append_string(out, "region ");
    print_name(model->name, out);
    if (model->func != TW_NO_FUNCTION) tw_bytes_printf(out, " func %u", model->func);
    print_place(model->place, out);
    if (model->exits_at_end) tw_bytes_append_string(out, " exits-at-end");
    if (model->copies != 1) tw_bytes_printf(out, " copies %u", model->copies);
    tw_bytes_printf(out, " exit %u\n", model->exit);
}

void tw_model_print(const tw_model *model, tw_bytes *out)
{
    print_region(model, out);
    for (uint32_t i = 0; i < model->symbol_count; i++) {
        const tw_symbol *s = &model->symbols[i];
        tw_bytes_printf(out, "symbol s%u %s %s %u\n", i, tw_type_name((tw_type)s->type),
                        s->kind == TW_SYMBOL_HEADER ? "header" : "live-in", s->local);
    }
    print_loops(model, out);
    for (uint32_t i = 0; i < model->expr_count; i++) print_expr(model, i, out);
    for (uint32_t i = 0; i < model->affine_count; i++) print_affine(model, i, out);
    for (uint32_t i = 0; i < model->access_count; i++) print_access(model, i, out);
    print_carried(model, out);
    for (uint32_t i = 0; i < model->value_count; i++) print_value(model, i, out);
    print_edges(model, out);
    if (model->loop_count) print_items(model, &(tw_item){.kind = TW_ITEM_LOOP, .index = 0}, 1, 0, out);
    else print_items(model, model->items, model->item_count, 0, out);
    tw_bytes_append_string(out, "end\n");
}

size_t tw_model_text_size(const char *text, size_t size)
{
    for (size_t at = 0; at + 4 <= size; at++)
        if ((at == 0 || text[at - 1] == '\n') && memcmp(text + at, "end\n", 4) == 0) return at + 4;
    return size;
}

/* ---- parse ---- */

typedef struct parser {
    tw_text text;
    tw_model *model;
    uint32_t open[TW_MODEL_MAX_DEPTH]; /* loops of the body that are open */
    uint32_t open_count, items;
    bool body_done, ended;
} parser;

#define FAIL(p, ...) return tw_text_fail(&(p)->text, __VA_ARGS__)

/* Room for entity number *index, which must be the next of its kind. */
#define NEXT_ENTITY(p, letter, array, limit)                                                            \
    uint32_t index;                                                                                     \
    TW_TRY(tw_text_index(&(p)->text, letter, &index));                                                  \
    if (index != (p)->model->array##_count) FAIL(p, "%c%u is out of turn", letter, index);              \
    if (index >= (limit)) FAIL(p, "too many of kind %c", letter);                                       \
    TW_TRY_ALLOC(TW_ARENA_GROW(&(p)->model->arena, (p)->model->array##s, index, (p)->model->array##_capacity), \
                 (p)->text.error)

/* A reference to an entity that must have been declared. */
static tw_status parse_ref(parser *p, char letter, uint32_t count, uint32_t *out)
{
    tw_text before = p->text;
    TW_TRY(tw_text_index(&p->text, letter, out));
    if (*out < count) return TW_OK;
    return tw_text_fail(&before, "there is no %c%u", letter, *out);
}

static tw_status parse_type(parser *p, bool integer_only, uint8_t *out)
{
    for (const char *letter = integer_only ? "il" : "ilfd"; *letter; letter++) {
        tw_type type = tw_type_from_letter(*letter);
        if (!tw_text_word(&p->text, tw_type_name(type))) continue;
        *out = (uint8_t)type;
        return TW_OK;
    }
    FAIL(p, "expected a type");
}

static tw_status parse_op(parser *p, tw_op *out)
{
    const char *word;
    size_t size = tw_text_peek(&p->text, &word);
    *out = tw_op_from_name(word, (uint32_t)size);
    if (*out == TW_OP_INVALID) FAIL(p, "expected an operation");
    p->text.at += size;
    return TW_OK;
}

static tw_status parse_in(parser *p, uint32_t *out)
{
    *out = TW_NONE;
    return tw_text_word(&p->text, "in") ? parse_ref(p, 'n', p->model->loop_count, out) : TW_OK;
}

static tw_status parse_place(parser *p, uint64_t *out)
{
    *out = TW_NO_OFFSET;
    return tw_text_word(&p->text, "at") ? tw_text_u64(&p->text, out) : TW_OK;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Consumes NAME and its closing quote; the opening one has been met. */
static tw_status parse_name_bytes(parser *p, tw_bytes *out)
{
    tw_text *t = &p->text;
    for (t->at++; t->at < t->end && *t->at != '"' && *t->at != '\n'; t->at++) {
        if (*t->at != '\\') {
            if (*t->at == 0) FAIL(p, "NUL in a name");
            tw_bytes_append_byte(out, (uint8_t)*t->at);
            continue;
        }
        int high = t->end - t->at > 2 ? hex_digit(t->at[1]) : -1, low = high < 0 ? -1 : hex_digit(t->at[2]);
        if (low < 0 || high + low == 0) FAIL(p, "expected two hexadecimal digits, not 00");
        tw_bytes_append_byte(out, (uint8_t)(high * 16 + low));
        t->at += 2;
    }
    if (t->at == t->end || *t->at != '"') FAIL(p, "expected a closing \"");
    t->at++;
    return TW_OK;
}

static tw_status parse_name(parser *p)
{
    const char *word;
    if (!tw_text_peek(&p->text, &word) || *word != '"') FAIL(p, "expected a name in \"\"");
    tw_bytes name = {0};
    tw_status status = parse_name_bytes(p, &name);
    if (status == TW_OK) p->model->name = tw_arena_string(&p->model->arena, name.data ? name.data : "", name.size);
    bool failed = name.failed || (status == TW_OK && !p->model->name);
    tw_bytes_free(&name);
    return failed ? tw_fail_memory(p->text.error) : status;
}

static tw_status parse_region(parser *p)
{
    TW_TRY(tw_text_expect(&p->text, "region"));
    TW_TRY(parse_name(p));
    if (tw_text_word(&p->text, "func")) TW_TRY(tw_text_u32(&p->text, &p->model->func));
    TW_TRY(parse_place(p, &p->model->place));
    p->model->exits_at_end = tw_text_word(&p->text, "exits-at-end");
    p->model->copies = 1;
    if (tw_text_word(&p->text, "copies")) {
        TW_TRY(tw_text_u32(&p->text, &p->model->copies));
        if (!p->model->copies) FAIL(p, "copies must be at least 1");
    }
    TW_TRY(tw_text_expect(&p->text, "exit"));
    TW_TRY(tw_text_u32(&p->text, &p->model->exit));
    return tw_text_line_end(&p->text);
}

static tw_status parse_symbol(parser *p)
{
    NEXT_ENTITY(p, 's', symbol, TW_MODEL_MAX_SYMBOLS);
    tw_symbol *s = &p->model->symbols[index];
    TW_TRY(parse_type(p, false, &s->type));
    s->kind = tw_text_word(&p->text, "header") ? TW_SYMBOL_HEADER : TW_SYMBOL_LIVE_IN;
    if (s->kind == TW_SYMBOL_LIVE_IN) TW_TRY(tw_text_expect(&p->text, "live-in"));
    TW_TRY(tw_text_u32(&p->text, &s->local));
    p->model->symbol_count++;
    return TW_OK;
}

static tw_status parse_loop_of_kind(parser *p, bool is_if)
{
    NEXT_ENTITY(p, 'n', loop, TW_MODEL_MAX_LOOPS);
    tw_model_loop *loop = &p->model->loops[index];
    *loop = (tw_model_loop){.is_if = is_if};
    TW_TRY(parse_in(p, &loop->parent));
    if (loop->parent != TW_NONE) loop->depth = p->model->loops[loop->parent].depth + 1;
    if (loop->depth >= TW_MODEL_MAX_DEPTH) FAIL(p, "loops are nested too deeply");
    TW_TRY(tw_text_expect(&p->text, "trips"));
    TW_TRY(tw_text_index(&p->text, 'e', &loop->trips));
    TW_TRY(parse_place(p, &loop->place));
    p->model->loop_count++;
    return TW_OK;
}

static tw_status parse_loop(parser *p)
{
    return parse_loop_of_kind(p, false);
}

static tw_status parse_if(parser *p)
{
    return parse_loop_of_kind(p, true);
}

static tw_status parse_const(parser *p, bool integer_only, uint8_t *type, uint64_t *bits)
{
    TW_TRY(parse_type(p, integer_only, type));
    TW_TRY(tw_text_u64(&p->text, bits));
    if (*type == TW_I64 || *type == TW_F64) return TW_OK;
    if (*bits > UINT32_MAX && (int64_t)*bits != (int32_t)*bits) FAIL(p, "the constant needs more than 32 bits");
    *bits = (uint32_t)*bits;
    return TW_OK;
}

static tw_status parse_refs(parser *p, char letter, uint32_t limit, size_t count, uint32_t *out[3])
{
    if (count > 3) FAIL(p, "the operation doesn't belong in a model");
    for (size_t i = 0; i < count; i++) TW_TRY(parse_ref(p, letter, limit, out[i]));
    return TW_OK;
}

static uint8_t letter_bits(char letter)
{
    return letter == 'i' || letter == 'f' ? 32 : 64;
}

/* An operation, a load, or trips after its word. */
static tw_status parse_expr_op(parser *p, tw_expr_node *e, uint32_t index)
{
    tw_op op;
    bool trips = tw_text_word(&p->text, "trips");
    TW_TRY(parse_op(p, &op));
    const tw_op_info *info = tw_op_describe(op);
    e->op = (uint16_t)op;
    e->kind = trips ? TW_EXPR_TRIPS : info->kind == TW_KIND_LOAD ? TW_EXPR_LOAD : TW_EXPR_OP;
    e->bits = letter_bits(trips ? info->operands[0] : info->results[0]);
    size_t count = trips ? 3 : strlen(info->operands);
    TW_TRY(parse_refs(p, 'e', index, count, (uint32_t *[]){&e->a, &e->b, &e->c}));
    if (e->kind != TW_EXPR_LOAD) return TW_OK;
    TW_TRY(tw_text_expect(&p->text, "+"));
    return tw_text_u64(&p->text, &e->imm);
}

static tw_status parse_expr_rest(parser *p, tw_expr_node *e, uint32_t index)
{
    uint8_t type = TW_I32;
    if (tw_text_word(&p->text, "const")) {
        TW_TRY(parse_const(p, true, &type, &e->imm));
        e->kind = TW_EXPR_CONST;
    } else if (tw_text_word(&p->text, "symbol")) {
        TW_TRY(parse_ref(p, 's', p->model->symbol_count, &e->index));
        e->kind = TW_EXPR_SYMBOL;
        type = p->model->symbols[e->index].type;
    } else if (tw_text_word(&p->text, "counter")) {
        TW_TRY(parse_type(p, true, &type));
        TW_TRY(parse_ref(p, 'n', p->model->loop_count, &e->index));
        e->kind = TW_EXPR_COUNTER;
        e->counters = 1u << e->index;
    } else if (tw_text_word(&p->text, "select")) {
        TW_TRY(parse_refs(p, 'e', index, 3, (uint32_t *[]){&e->a, &e->b, &e->c}));
        e->kind = TW_EXPR_SELECT;
        type = p->model->exprs[e->b].bits == 32 && p->model->exprs[e->b].kind != TW_EXPR_TRIPS ? TW_I32 : TW_I64;
    } else {
        return parse_expr_op(p, e, index);
    }
    e->bits = type == TW_I32 || type == TW_F32 ? 32 : 64;
    return TW_OK;
}

static tw_status parse_expr(parser *p)
{
    NEXT_ENTITY(p, 'e', expr, TW_MODEL_MAX_EXPRS);
    TW_TRY(tw_text_expect(&p->text, "="));
    tw_expr_node e = {.a = TW_NONE, .b = TW_NONE, .c = TW_NONE};
    TW_TRY(parse_expr_rest(p, &e, index));
    const uint32_t args[] = {e.a, e.b, e.c};
    for (int i = 0; i < 3; i++)
        if (args[i] != TW_NONE) e.counters |= p->model->exprs[args[i]].counters;
    p->model->exprs[index] = e;
    p->model->expr_count++;
    return TW_OK;
}

static tw_status parse_affine(parser *p)
{
    NEXT_ENTITY(p, 'a', affine, TW_MODEL_MAX_AFFINES);
    tw_affine *a = &p->model->affines[index];
    uint8_t type = TW_I32;
    TW_TRY(parse_type(p, true, &type));
    a->bits = type == TW_I32 ? 32 : 64;
    TW_TRY(parse_in(p, &a->loop));
    TW_TRY(tw_text_expect(&p->text, "="));
    TW_TRY(parse_ref(p, 'e', p->model->expr_count, &a->base));
    for (int d = 0; d < TW_MODEL_MAX_DEPTH; d++) a->coef[d] = TW_NONE;
    uint32_t chain[TW_MODEL_MAX_DEPTH], length = tw_model_chain(p->model, a->loop, chain), d = 0;
    while (tw_text_word(&p->text, "+")) {
        uint32_t coef, loop;
        TW_TRY(parse_ref(p, 'e', p->model->expr_count, &coef));
        TW_TRY(tw_text_expect(&p->text, "*"));
        TW_TRY(tw_text_index(&p->text, 'n', &loop));
        while (d < length && chain[d] != loop) d++;
        if (d == length) FAIL(p, "n%u doesn't enclose it, or is out of order", loop);
        a->coef[d++] = coef;
    }
    p->model->affine_count++;
    return TW_OK;
}

static tw_status parse_bounds(parser *p, tw_model_access *x)
{
    uint64_t least, most;
    TW_TRY(tw_text_u64(&p->text, &least));
    TW_TRY(tw_text_expect(&p->text, "to"));
    TW_TRY(tw_text_u64(&p->text, &most));
    x->least = (int32_t)least, x->most = (int32_t)most;
    if (x->least != (int64_t)least || x->most != (int64_t)most) FAIL(p, "bounds of an index have 32 bits");
    return TW_OK;
}

static tw_status parse_access(parser *p)
{
    tw_model *model = p->model;
    uint32_t index;
    TW_TRY(tw_text_index(&p->text, 'x', &index));
    if (index != model->access_count || index >= TW_MODEL_MAX_ACCESSES) FAIL(p, "x%u is out of turn or too many", index);
    TW_TRY_ALLOC(TW_ARENA_GROW(&model->arena, model->accesses, index, model->access_capacity), p->text.error);
    tw_model_access *x = &model->accesses[index];
    tw_op op;
    TW_TRY(parse_op(p, &op));
    *x = (tw_model_access){.op = (uint16_t)op, .width = tw_op_describe(op)->access,
                           .is_store = tw_op_describe(op)->kind == TW_KIND_STORE};
    TW_TRY(parse_ref(p, 'a', model->affine_count, &x->address));
    TW_TRY(tw_text_expect(&p->text, "+"));
    TW_TRY(tw_text_u64(&p->text, &x->offset));
    TW_TRY(parse_in(p, &x->loop));
    x->is_inspected = tw_text_word(&p->text, "inspected");
    x->is_indirect = !x->is_inspected && tw_text_word(&p->text, "indirect");
    if (x->is_indirect) TW_TRY(parse_bounds(p, x));
    TW_TRY(parse_place(p, &x->place));
    model->access_count++;
    return TW_OK;
}

static tw_status parse_carried(parser *p)
{
    tw_model *model = p->model;
    uint32_t index;
    TW_TRY(tw_text_index(&p->text, 'c', &index));
    if (index != model->carried_count || index >= TW_MODEL_MAX_CARRIED) FAIL(p, "c%u is out of turn or too many", index);
    TW_TRY_ALLOC(TW_ARENA_GROW(&model->arena, model->carried, index, model->carried_capacity), p->text.error);
    tw_carried *c = &model->carried[index];
    TW_TRY(parse_type(p, false, &c->type));
    TW_TRY(tw_text_expect(&p->text, "in"));
    TW_TRY(parse_ref(p, 'n', model->loop_count, &c->loop));
    TW_TRY(tw_text_expect(&p->text, "init"));
    TW_TRY(tw_text_index(&p->text, 'v', &c->init));
    TW_TRY(tw_text_expect(&p->text, "next"));
    TW_TRY(tw_text_index(&p->text, 'v', &c->next));
    model->carried_count++;
    return TW_OK;
}

/* An operation with its arguments, select included. */
static tw_status parse_value_op(parser *p, tw_value_node *v, uint32_t index)
{
    tw_op op;
    TW_TRY(parse_op(p, &op));
    const tw_op_info *info = tw_op_describe(op);
    size_t count = op == TW_OP_SELECT ? 3 : strlen(info->operands);
    TW_TRY(parse_refs(p, 'v', index, count, (uint32_t *[]){&v->args[0], &v->args[1], &v->args[2]}));
    v->kind = TW_VALUE_OP;
    v->op = (uint16_t)op;
    v->type = op == TW_OP_SELECT ? p->model->values[v->args[0]].type : (uint8_t)tw_type_from_letter(info->results[0]);
    return TW_OK;
}

static tw_status parse_value_rest(parser *p, tw_value_node *v, uint32_t index)
{
    const tw_model *model = p->model;
    if (tw_text_word(&p->text, "const")) {
        v->kind = TW_VALUE_CONST;
        return parse_const(p, false, &v->type, &v->bits);
    }
    if (tw_text_word(&p->text, "symbol")) {
        v->kind = TW_VALUE_SYMBOL;
        TW_TRY(parse_ref(p, 's', model->symbol_count, &v->index));
        v->type = model->symbols[v->index].type;
        return TW_OK;
    }
    if (tw_text_word(&p->text, "affine")) {
        v->kind = TW_VALUE_AFFINE;
        TW_TRY(parse_ref(p, 'a', model->affine_count, &v->index));
        v->type = model->affines[v->index].bits == 32 ? TW_I32 : TW_I64;
        return TW_OK;
    }
    if (tw_text_word(&p->text, "read")) {
        v->kind = TW_VALUE_READ;
        TW_TRY(parse_ref(p, 'x', model->access_count, &v->index));
        v->type = (uint8_t)tw_type_from_letter(tw_op_describe((tw_op)model->accesses[v->index].op)->results[0]);
        return tw_text_word(&p->text, "by") ? parse_ref(p, 'v', index, &v->args[0]) : TW_OK;
    }
    bool carried = tw_text_word(&p->text, "carried");
    if (!carried && !tw_text_word(&p->text, "final")) return parse_value_op(p, v, index);
    v->kind = carried ? TW_VALUE_CARRIED : TW_VALUE_FINAL;
    TW_TRY(parse_ref(p, 'c', model->carried_count, &v->index));
    v->type = model->carried[v->index].type;
    return TW_OK;
}

static tw_status parse_value(parser *p)
{
    NEXT_ENTITY(p, 'v', value, TW_MODEL_MAX_VALUES);
    TW_TRY(tw_text_expect(&p->text, "="));
    tw_value_node v = {.args = {TW_NONE, TW_NONE, TW_NONE}};
    TW_TRY(parse_value_rest(p, &v, index));
    p->model->values[index] = v;
    p->model->value_count++;
    return TW_OK;
}

static tw_status parse_check(parser *p)
{
    tw_model *model = p->model;
    if (model->check_count >= TW_MODEL_MAX_CHECKS) FAIL(p, "too many checks");
    TW_TRY_ALLOC(TW_ARENA_GROW(&model->arena, model->checks, model->check_count, model->check_capacity), p->text.error);
    tw_check *c = &model->checks[model->check_count];
    TW_TRY(parse_ref(p, 'e', model->expr_count, &c->expr));
    TW_TRY(parse_in(p, &c->loop));
    uint16_t refusal = 0;
    while (refusal < TW_REFUSAL_COUNT && !tw_text_word(&p->text, tw_refusal_name((tw_refusal)refusal))) refusal++;
    if (refusal == TW_REFUSAL_COUNT) FAIL(p, "expected a refusal");
    c->refusal = refusal;
    model->check_count++;
    return TW_OK;
}

static tw_status parse_limit(parser *p)
{
    tw_model *model = p->model;
    tw_op op;
    if (model->limit_count >= TW_MODEL_MAX_LIMITS) FAIL(p, "too many limits");
    TW_TRY_ALLOC(TW_ARENA_GROW(&model->arena, model->limits, model->limit_count, model->limit_capacity), p->text.error);
    tw_limit *l = &model->limits[model->limit_count];
    TW_TRY(parse_ref(p, 'a', model->affine_count, &l->affine));
    TW_TRY(parse_op(p, &op));
    l->op = (uint16_t)op;
    l->bound = l->other = TW_NONE;
    if (tw_text_word(&p->text, "affine")) TW_TRY(parse_ref(p, 'a', model->affine_count, &l->other));
    else TW_TRY(parse_ref(p, 'e', model->expr_count, &l->bound));
    TW_TRY(parse_place(p, &l->place));
    model->limit_count++;
    return TW_OK;
}

static tw_status parse_apart(parser *p)
{
    tw_model *model = p->model;
    if (model->apart_count >= TW_MODEL_MAX_ACCESSES) FAIL(p, "too many pairs");
    TW_TRY_ALLOC(TW_ARENA_GROW(&model->arena, model->apart, model->apart_count, model->apart_capacity), p->text.error);
    tw_pair *pair = &model->apart[model->apart_count];
    TW_TRY(parse_ref(p, 'x', model->access_count, &pair->first));
    TW_TRY(parse_ref(p, 'x', model->access_count, &pair->second));
    model->apart_count++;
    return TW_OK;
}

static tw_status parse_header(parser *p)
{
    tw_model *model = p->model;
    if (model->header_count >= TW_MODEL_MAX_SYMBOLS) FAIL(p, "too many headers");
    TW_TRY_ALLOC(TW_ARENA_GROW(&model->arena, model->headers, model->header_count, model->header_capacity),
                 p->text.error);
    tw_header *h = &model->headers[model->header_count];
    TW_TRY(tw_text_u32(&p->text, &h->local));
    TW_TRY(parse_type(p, false, &h->type));
    TW_TRY(tw_text_expect(&p->text, "symbol"));
    TW_TRY(parse_ref(p, 's', model->symbol_count, &h->symbol));
    h->kind = tw_text_word(&p->text, "dead") ? TW_HEADER_DEAD : TW_HEADER_AFFINE;
    h->step = TW_NONE;
    if (h->kind == TW_HEADER_AFFINE) {
        TW_TRY(tw_text_expect(&p->text, "affine"));
        TW_TRY(parse_ref(p, 'e', model->expr_count, &h->step));
    }
    model->header_count++;
    return TW_OK;
}

static tw_status parse_live_out(parser *p)
{
    tw_model *model = p->model;
    if (model->live_out_count >= TW_MODEL_MAX_SYMBOLS) FAIL(p, "too many live-outs");
    TW_TRY_ALLOC(TW_ARENA_GROW(&model->arena, model->live_outs, model->live_out_count, model->live_out_capacity),
                 p->text.error);
    tw_live_out *o = &model->live_outs[model->live_out_count];
    TW_TRY(tw_text_u32(&p->text, &o->header));
    o->kind = tw_text_word(&p->text, "unknown") ? TW_LIVE_OUT_UNKNOWN : TW_LIVE_OUT_AFFINE;
    o->affine = TW_NONE;
    if (o->kind == TW_LIVE_OUT_AFFINE) {
        TW_TRY(tw_text_expect(&p->text, "affine"));
        TW_TRY(parse_ref(p, 'a', model->affine_count, &o->affine));
    }
    model->live_out_count++;
    return TW_OK;
}

static tw_status parse_output(parser *p)
{
    tw_model *model = p->model;
    if (model->output_count >= TW_MODEL_MAX_SYMBOLS) FAIL(p, "too many outputs");
    if (!model->outputs) model->outputs = TW_NEW_ARRAY(&model->arena, uint32_t, TW_MODEL_MAX_SYMBOLS);
    TW_TRY_ALLOC(model->outputs, p->text.error);
    TW_TRY(parse_ref(p, 'v', model->value_count, &model->outputs[model->output_count]));
    model->output_count++;
    return TW_OK;
}

/* ---- the body ---- */

static tw_status add_item(parser *p, tw_item item)
{
    tw_model *model = p->model;
    if (p->body_done || p->items++ >= MAX_ITEMS) FAIL(p, "an item after the body, or too many");
    if (p->open_count) {
        tw_model_loop *loop = &model->loops[p->open[p->open_count - 1]];
        TW_TRY_ALLOC(TW_ARENA_GROW(&model->arena, loop->items, loop->item_count, loop->item_capacity), p->text.error);
        loop->items[loop->item_count++] = item;
    } else {
        if (model->loop_count) FAIL(p, "an item outside the loops");
        TW_TRY_ALLOC(TW_ARENA_GROW(&model->arena, model->items, model->item_count, model->item_capacity), p->text.error);
        model->items[model->item_count++] = item;
    }
    return TW_OK;
}

static tw_status parse_guard(parser *p, uint32_t *out)
{
    *out = TW_NONE;
    return tw_text_word(&p->text, "if") ? parse_ref(p, 'v', p->model->value_count, out) : TW_OK;
}

static tw_status parse_read(parser *p)
{
    tw_item item = {.kind = TW_ITEM_READ};
    TW_TRY(parse_ref(p, 'v', p->model->value_count, &item.value));
    item.index = p->model->values[item.value].index;
    TW_TRY(parse_guard(p, &item.guard));
    return add_item(p, item);
}

static tw_status parse_store(parser *p)
{
    tw_item item = {.kind = TW_ITEM_STORE};
    TW_TRY(parse_ref(p, 'x', p->model->access_count, &item.index));
    TW_TRY(parse_ref(p, 'v', p->model->value_count, &item.value));
    TW_TRY(parse_guard(p, &item.guard));
    return add_item(p, item);
}

/* "n3 {": the loop becomes an item of the open one. */
static tw_status parse_open(parser *p)
{
    uint32_t loop;
    TW_TRY(parse_ref(p, 'n', p->model->loop_count, &loop));
    TW_TRY(tw_text_expect(&p->text, "{"));
    if (p->open_count == 0 ? loop != 0 || p->body_done : p->open_count >= TW_MODEL_MAX_DEPTH)
        FAIL(p, "the body is one n0 { … }, no deeper than the limit");
    if (p->open_count)
        TW_TRY(add_item(p, (tw_item){.kind = TW_ITEM_LOOP, .index = loop, .value = TW_NONE, .guard = TW_NONE}));
    p->open[p->open_count++] = loop;
    return TW_OK;
}

static tw_status parse_close(parser *p)
{
    if (!p->open_count) FAIL(p, "no loop is open");
    p->body_done = --p->open_count == 0;
    return TW_OK;
}

static tw_status parse_end(parser *p)
{
    if (p->open_count) FAIL(p, "a loop is still open");
    p->ended = true;
    return TW_OK;
}

/* ---- lines ---- */

static const struct {
    const char *word;
    tw_status (*parse)(parser *p);
} rows[] = {
    {"symbol", parse_symbol},   {"loop", parse_loop},     {"if", parse_if},           {"expr", parse_expr},
    {"affine", parse_affine},   {"access", parse_access}, {"carried", parse_carried}, {"value", parse_value},
    {"check", parse_check},     {"limit", parse_limit},   {"apart", parse_apart},   {"header", parse_header}, {"live-out", parse_live_out}, {"output", parse_output},
    {"read", parse_read},       {"store", parse_store},   {"}", parse_close},         {"end", parse_end},
};

static tw_status parse_line(parser *p)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!tw_text_word(&p->text, rows[i].word)) continue;
        TW_TRY(rows[i].parse(p));
        return tw_text_line_end(&p->text);
    }
    TW_TRY(parse_open(p));
    return tw_text_line_end(&p->text);
}

static tw_status parse_all(parser *p)
{
    TW_TRY(parse_region(p));
    while (!p->ended) TW_TRY(parse_line(p));
    if (p->text.at != p->text.end) FAIL(p, "more after the end line");
    return TW_OK;
}

/* Byte of the line that declares what the verifier's message begins with ("value v3: …"); 0 when there is none. */
static uint64_t line_of_flaw(const char *text, size_t size, const char *message)
{
    const char *colon = strchr(message, ':');
    size_t length = colon ? (size_t)(colon - message) : 0;
    if (!length) return 0;
    for (size_t at = 0; at + length < size; at++)
        if ((at == 0 || text[at - 1] == '\n') && memcmp(text + at, message, length) == 0 && text[at + length] == ' ')
            return at;
    return 0;
}

static tw_status verify_parsed(const char *text, size_t size, const tw_model *model, tw_error *error)
{
    tw_error local;
    tw_status status = tw_model_verify(model, &local);
    if (status == TW_OK || !error) return status;
    local.offset = line_of_flaw(text, size, local.message);
    *error = local;
    return status;
}

tw_status tw_model_parse(const char *text, size_t size, tw_model **out, tw_error *error)
{
    tw_model *model;
    TW_TRY(tw_model_new(&model, error));
    parser p = {.text = {text, text, text + size, error}, .model = model};
    tw_status status = parse_all(&p);
    if (status == TW_OK) status = verify_parsed(text, size, model, error);
    if (status == TW_OK) *out = model;
    else tw_model_free(model);
    return status;
}
