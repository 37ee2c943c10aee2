/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/ir.h"

#include <stdio.h>
#include <string.h>

/* The text form's reader: one token ahead by looking at bytes, no recursion. A first walk over the text finds the
 * largest value number and the number of blocks, so that forward references are plain indices. */

enum { SPARE_VALUES = 65536, MAX_LIST = 1 << 20 };

typedef struct parser {
    const char *start, *at, *end;
    tw_ir_func *func;
    tw_error *error;
    uint32_t named_values;           /* numbers below this may be named */
    uint32_t block_total;
    tw_ir_value *list;               /* the last list of values read */
    uint32_t list_count, list_capacity;
    uint8_t *types;                  /* types of the results being defined, TW_TYPE_NONE when not written */
    uint32_t type_count, type_capacity;
} parser;

static tw_status bad(parser *p, const char *what)
{
    return tw_fail_at(p->error, TW_MALFORMED, TW_NO_FUNCTION, (uint64_t)(p->at - p->start), "IR text: %s", what);
}

static void skip_space(parser *p)
{
    while (p->at < p->end) {
        if (*p->at == ';') {
            while (p->at < p->end && *p->at != '\n') p->at++;
        } else if (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r') p->at++;
        else return;
    }
}

static bool peek(parser *p, char c)
{
    skip_space(p);
    return p->at < p->end && *p->at == c;
}

static bool accept(parser *p, char c)
{
    if (!peek(p, c)) return false;
    p->at++;
    return true;
}

static tw_status expect(parser *p, const char *text)
{
    for (const char *c = text; *c; c++)
        if (c == text ? !accept(p, *c) : (p->at >= p->end || *p->at++ != *c)) {
            char message[64];
            snprintf(message, sizeof message, "expected \"%s\"", text);
            return bad(p, message);
        }
    return TW_OK;
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

/* Letters, digits, dots and underscores; empty when there are none. */
static tw_span read_word(parser *p)
{
    skip_space(p);
    const char *begin = p->at;
    while (p->at < p->end && is_word(*p->at)) p->at++;
    return (tw_span){(const uint8_t *)begin, (size_t)(p->at - begin)};
}

static bool word_is(tw_span word, const char *text)
{
    return word.size == strlen(text) && memcmp(word.data, text, word.size) == 0;
}

static int digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return 99;
}

/* Digits of a base; false on none or above UINT64_MAX. */
static bool read_digits(parser *p, int base, uint64_t *out)
{
    const char *begin = p->at;
    uint64_t value = 0;
    for (; p->at < p->end && digit(*p->at) < base; p->at++)
        if (__builtin_mul_overflow(value, (uint64_t)base, &value) ||
            __builtin_add_overflow(value, (uint64_t)digit(*p->at), &value))
            return false;
    *out = value;
    return p->at > begin;
}

static bool accept_hex_prefix(parser *p)
{
    if (p->end - p->at < 2 || p->at[0] != '0' || p->at[1] != 'x') return false;
    p->at += 2;
    return true;
}

static tw_status read_number(parser *p, uint64_t *out)
{
    skip_space(p);
    int base = accept_hex_prefix(p) ? 16 : 10;
    return read_digits(p, base, out) ? TW_OK : bad(p, "expected a number of at most 64 bits");
}

static tw_status read_u32(parser *p, uint32_t *out)
{
    uint64_t value;
    TW_TRY(read_number(p, &value));
    if (value > UINT32_MAX) return bad(p, "number above 2^32 - 1");
    *out = (uint32_t)value;
    return TW_OK;
}

static tw_type type_of_word(tw_span word)
{
    static const tw_type types[] = {TW_I32, TW_I64, TW_F32, TW_F64, TW_V128, TW_FUNCREF};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (word_is(word, tw_type_name(types[i]))) return types[i];
    return TW_TYPE_NONE;
}

static tw_status read_type(parser *p, tw_type *out)
{
    *out = type_of_word(read_word(p));
    return *out == TW_TYPE_NONE ? bad(p, "expected a type") : TW_OK;
}

/* " @0x1a3", if there is one. */
static tw_status read_offset(parser *p, uint64_t *out)
{
    return accept(p, '@') ? read_number(p, out) : TW_OK;
}

/* ---- values ---- */

static uint64_t float_bits(tw_type type, int64_t number)
{
    double wide = (double)number;
    float narrow = (float)number;
    uint64_t bits = 0;
    if (type == TW_F32) memcpy(&bits, &narrow, sizeof narrow);
    else memcpy(&bits, &wide, sizeof wide);
    return bits;
}

static tw_status read_v128(parser *p, uint64_t bits[2])
{
    if (!accept_hex_prefix(p)) return bad(p, "expected 0x and 32 hex digits");
    for (int i = 0; i < 32; i++, p->at++) {
        if (p->at >= p->end || digit(*p->at) > 15) return bad(p, "expected 32 hex digits");
        uint64_t *half = &bits[i < 16];
        *half = *half << 4 | (uint64_t)digit(*p->at);
    }
    return TW_OK;
}

/* What follows "type:". */
static tw_status read_const(parser *p, tw_type type, tw_ir_value *out)
{
    uint64_t bits[2] = {0, 0};
    if (type == TW_FUNCREF) {
        if (!word_is(read_word(p), "null")) return bad(p, "expected null");
    } else if (type == TW_V128) {
        TW_TRY(read_v128(p, bits));
    } else {
        bool negative = p->at < p->end && *p->at == '-', hex;
        p->at += negative;
        hex = p->end - p->at >= 2 && p->at[1] == 'x';
        TW_TRY(read_number(p, &bits[0]));
        bool is_float = type == TW_F32 || type == TW_F64;
        if (is_float && !hex && bits[0] > 1000000) return bad(p, "float above 1000000: write its bits in hex");
        if ((type == TW_I32 || (type == TW_F32 && hex)) && bits[0] > UINT32_MAX) return bad(p, "constant above 32 bits");
        if (negative && hex) return bad(p, "no sign before hex digits");
        if (negative) bits[0] = -bits[0];
        if (is_float && !hex) bits[0] = float_bits(type, (int64_t)bits[0]);
    }
    *out = tw_ir_const(p->func, type, bits[0], bits[1]);
    return *out ? TW_OK : tw_fail_memory(p->error);
}

/* "v7" as a number that may be named. */
static tw_status value_number(parser *p, tw_span word, tw_ir_value *out)
{
    uint64_t number = 0;
    for (size_t i = 1; i < word.size; i++) {
        if (digit((char)word.data[i]) > 9 || number > UINT32_MAX) return bad(p, "expected a value");
        number = number * 10 + (uint64_t)digit((char)word.data[i]);
    }
    if (word.size < 2 || word.data[0] != 'v' || !number || number >= p->named_values) return bad(p, "expected a value");
    *out = (tw_ir_value)number;
    return TW_OK;
}

static tw_status read_value(parser *p, tw_ir_value *out)
{
    tw_span word = read_word(p);
    tw_type type = type_of_word(word);
    if (type != TW_TYPE_NONE && p->at < p->end && *p->at == ':') {
        p->at++;
        return read_const(p, type, out);
    }
    return value_number(p, word, out);
}

static tw_status list_push(parser *p, tw_ir_value value)
{
    if (!TW_ARENA_GROW(&p->func->arena, p->list, p->list_count, p->list_capacity)) return tw_fail_memory(p->error);
    p->list[p->list_count++] = value;
    return TW_OK;
}

/* Does a value come next? A word that isn't key=… or the next line's beginning: only called where grammar says so. */
static bool at_value(parser *p)
{
    skip_space(p);
    const char *c = p->at;
    if (c >= p->end || !is_word(*c)) return false;
    if (*c == 'v' && c + 1 < p->end && digit(c[1]) <= 9) {
        while (c < p->end && is_word(*c)) c++;
        return c < p->end && *c != ':' && *c != '=';
    }
    while (c < p->end && is_word(*c)) c++;
    return c < p->end && *c == ':';
}

/* Is there more on this line? Operands and immediates end with it: the next line may begin with a value too. */
static bool on_same_line(const parser *p)
{
    for (const char *c = p->at; c < p->end; c++) {
        if (*c == '\n' || *c == ';') return false;
        if (*c != ' ' && *c != '\t' && *c != '\r') return true;
    }
    return false;
}

/* A list goes on over the end of a line only after a comma. */
static bool accept_comma(parser *p)
{
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\t')) p->at++;
    if (p->at >= p->end || *p->at != ',') return false;
    p->at++;
    return true;
}

static tw_status read_values(parser *p, bool first_required)
{
    p->list_count = 0;
    if (!first_required && (!on_same_line(p) || !at_value(p))) return TW_OK;
    do {
        tw_ir_value value;
        TW_TRY(read_value(p, &value));
        TW_TRY(list_push(p, value));
    } while (accept_comma(p));
    return TW_OK;
}

static tw_status define(parser *p, tw_ir_value value, tw_ir_valuedata data)
{
    if (p->func->values[value].kind != TW_IR_NONE) return bad(p, "value defined twice");
    p->func->values[value] = data;
    return TW_OK;
}

/* ---- instructions ---- */

static tw_status read_lanes(parser *p, uint8_t lanes[16])
{
    skip_space(p);
    for (int i = 0; i < 16; i++) {
        if (p->end - p->at < 2 || digit(p->at[0]) > 15 || digit(p->at[1]) > 15) return bad(p, "expected 32 hex digits");
        lanes[i] = (uint8_t)(digit(p->at[0]) << 4 | digit(p->at[1]));
        p->at += 2;
    }
    return TW_OK;
}

/* key=value pairs; the second index of an op is "table" where its first is something else, or "from". */
static tw_status read_immediates(parser *p, tw_op op, uint32_t *index, uint32_t *index2, tw_ir_inst *inst)
{
    while (on_same_line(p) && !peek(p, '@')) {
        tw_span key = read_word(p);
        if (!key.size) return bad(p, "expected an immediate or the end of the line");
        TW_TRY(expect(p, "="));
        tw_imm imm = (tw_imm)tw_op_describe(op)->imm;
        bool second = word_is(key, "from") ||
                      (word_is(key, "table") && (imm == TW_IMM_CALL_INDIRECT || imm == TW_IMM_ELEM_TABLE));
        if (inst && word_is(key, "offset")) TW_TRY(read_number(p, &inst->mem_offset));
        else if (inst && word_is(key, "lanes")) TW_TRY(read_lanes(p, inst->lanes));
        else if (second) TW_TRY(read_u32(p, index2));
        else if (word_is(key, "func") || word_is(key, "type") || word_is(key, "global") || word_is(key, "table") ||
                 word_is(key, "lane") || word_is(key, "data") || word_is(key, "elem") || word_is(key, "to"))
            TW_TRY(read_u32(p, index));
        else return bad(p, "unknown immediate");
    }
    return TW_OK;
}

/* Result types: from the table, else as written. */
static tw_status result_types(parser *p, tw_op op)
{
    const char *letters = tw_op_describe(op)->results;
    bool open = strchr(letters, '*') != NULL;
    if (!open && strlen(letters) != p->type_count) return bad(p, "wrong number of results");
    for (uint32_t i = 0; i < p->type_count; i++) {
        tw_type fixed = open ? TW_TYPE_NONE : tw_type_from_letter(letters[i]);
        if (p->types[i] == TW_TYPE_NONE) p->types[i] = (uint8_t)fixed;
        if (p->types[i] == TW_TYPE_NONE) return bad(p, "the result needs its type: \"v1: i32 = …\"");
        if (fixed != TW_TYPE_NONE && p->types[i] != fixed) return bad(p, "the operation has another result type");
    }
    return TW_OK;
}

static bool is_instruction(tw_op op)
{
    switch ((tw_opkind)tw_op_describe(op)->kind) {
    case TW_KIND_CONTROL: return op == TW_OP_CALL || op == TW_OP_CALL_INDIRECT;
    case TW_KIND_STACK: return op == TW_OP_SELECT;
    case TW_KIND_VARIABLE: return op == TW_OP_GLOBAL_GET || op == TW_OP_GLOBAL_SET;
    case TW_KIND_CONST: return false;
    case TW_KIND_REF: return op != TW_OP_REF_NULL;
    default: return true;
    }
}

/* The part from the mnemonic on; `first` is the first of the results whose types are in p->types. */
static tw_status read_inst(parser *p, tw_ir_block block, tw_op op, tw_ir_value first)
{
    tw_ir_func *func = p->func;
    if (!is_instruction(op)) return bad(p, "unknown instruction");
    TW_TRY(result_types(p, op));
    TW_TRY(read_values(p, false));
    uint32_t inst = tw_ir_inst_new(func, block, op, p->list, p->list_count, NULL, 0);
    if (inst == UINT32_MAX) return tw_fail_memory(p->error);
    for (uint32_t i = 0; i < p->type_count; i++)
        TW_TRY(define(p, first + i, (tw_ir_valuedata){.kind = TW_IR_RESULT, .type = p->types[i], .position = i,
                                                      .block = block, .inst = inst}));
    func->insts[inst].result_count = p->type_count;
    func->insts[inst].first_result = first;
    uint32_t index = 0, index2 = 0;
    TW_TRY(read_immediates(p, op, &index, &index2, &func->insts[inst]));
    func->insts[inst].index = index;
    func->insts[inst].index2 = index2;
    return read_offset(p, &func->insts[inst].offset);
}

/* "v1: i32, v2 =" with consecutive numbers, or nothing. */
static tw_status read_results(parser *p, tw_ir_value *first)
{
    p->type_count = 0;
    skip_space(p);
    if (p->end - p->at < 2 || p->at[0] != 'v' || digit(p->at[1]) > 9) return TW_OK;
    const char *c = p->at;
    while (c < p->end && is_word(*c) && *c != '.') c++;
    if (c < p->end && *c == '.') return TW_OK; /* "v128.store …" */
    do {
        tw_ir_value value;
        tw_type type = TW_TYPE_NONE;
        TW_TRY(value_number(p, read_word(p), &value));
        if (p->type_count == 0) *first = value;
        if (value != *first + p->type_count) return bad(p, "results must be numbered consecutively");
        if (accept(p, ':')) TW_TRY(read_type(p, &type));
        if (!TW_ARENA_GROW(&p->func->arena, p->types, p->type_count, p->type_capacity)) return tw_fail_memory(p->error);
        p->types[p->type_count++] = (uint8_t)type;
    } while (accept(p, ','));
    return expect(p, "=");
}

/* ---- terminators and blocks ---- */

static tw_status read_edge(parser *p, tw_ir_edge *edge)
{
    uint64_t to;
    if (!accept(p, 'b') || !read_digits(p, 10, &to) || to >= p->block_total) return bad(p, "expected a block of this function");
    TW_TRY(expect(p, "("));
    p->list_count = 0;
    if (!peek(p, ')')) TW_TRY(read_values(p, true));
    TW_TRY(expect(p, ")"));
    return tw_ir_edge_set(p->func, edge, (tw_ir_block)to, p->list, p->list_count) ? TW_OK : tw_fail_memory(p->error);
}

static tw_status read_edges(parser *p, tw_ir_block block, tw_ir_term term)
{
    tw_ir_value value = 0;
    tw_ir_edge *edges = NULL;
    uint32_t count = 0, capacity = 0;
    if (term != TW_IR_JUMP) {
        TW_TRY(read_value(p, &value));
        TW_TRY(expect(p, ","));
    }
    do {
        if (!TW_ARENA_GROW(&p->func->arena, edges, count, capacity)) return tw_fail_memory(p->error);
        TW_TRY(read_edge(p, &edges[count++]));
    } while (accept(p, ','));
    if ((term == TW_IR_JUMP && count != 1) || (term == TW_IR_BRANCH && count != 2))
        return bad(p, "wrong number of successors");
    tw_ir_blockdata *data = &p->func->blocks[block];
    data->term = (uint8_t)term;
    data->value = value;
    data->edges = edges;
    data->edge_count = count;
    return TW_OK;
}

static tw_status read_arguments(parser *p, tw_ir_block block, tw_ir_term term)
{
    TW_TRY(read_values(p, false));
    p->func->blocks[block].term = (uint8_t)term;
    return tw_ir_terminate_args(p->func, block, p->list, p->list_count) ? TW_OK : tw_fail_memory(p->error);
}

/* *done is true when word was a terminator. */
static tw_status read_term(parser *p, tw_ir_block block, tw_span word, bool *done)
{
    tw_ir_blockdata *data = &p->func->blocks[block];
    *done = true;
    if (word_is(word, "jump")) TW_TRY(read_edges(p, block, TW_IR_JUMP));
    else if (word_is(word, "branch")) TW_TRY(read_edges(p, block, TW_IR_BRANCH));
    else if (word_is(word, "switch")) TW_TRY(read_edges(p, block, TW_IR_SWITCH));
    else if (word_is(word, "unreachable")) data->term = TW_IR_UNREACHABLE;
    else if (word_is(word, "return")) TW_TRY(read_arguments(p, block, TW_IR_RETURN));
    else if (word_is(word, "return_call") || word_is(word, "return_call_indirect")) {
        data->tail_op = tw_op_from_name((const char *)word.data, (uint32_t)word.size);
        TW_TRY(read_arguments(p, block, TW_IR_TAIL_CALL));
        TW_TRY(read_immediates(p, data->tail_op, &data->index, &data->index2, NULL));
    } else *done = false;
    return *done ? read_offset(p, &data->term_offset) : TW_OK;
}

static tw_status read_body(parser *p, tw_ir_block block)
{
    for (;;) {
        tw_ir_value first = 0;
        TW_TRY(read_results(p, &first));
        tw_span word = read_word(p);
        if (!p->type_count) {
            bool done;
            TW_TRY(read_term(p, block, word, &done));
            if (done) return TW_OK;
        }
        if (!word.size || word.size > 64) return bad(p, "expected an instruction or a terminator");
        TW_TRY(read_inst(p, block, tw_op_from_name((const char *)word.data, (uint32_t)word.size), first));
    }
}

static tw_status read_params(parser *p, tw_ir_block block)
{
    tw_ir_blockdata *data = &p->func->blocks[block];
    TW_TRY(expect(p, "("));
    while (!peek(p, ')')) {
        tw_ir_value value;
        tw_type type;
        if (data->param_count) TW_TRY(expect(p, ","));
        TW_TRY(value_number(p, read_word(p), &value));
        TW_TRY(expect(p, ":"));
        TW_TRY(read_type(p, &type));
        if (!data->param_count) data->first_param = value;
        if (value != data->first_param + data->param_count) return bad(p, "parameters must be numbered consecutively");
        TW_TRY(define(p, value, (tw_ir_valuedata){.kind = TW_IR_PARAM, .type = (uint8_t)type,
                                                  .position = data->param_count, .block = block}));
        data->param_count++;
    }
    return expect(p, ")");
}

static tw_status read_block(parser *p, tw_ir_block block)
{
    uint64_t number;
    if (!accept(p, 'b') || !read_digits(p, 10, &number) || number != block) return bad(p, "blocks must be numbered b0, b1, …");
    TW_TRY(read_params(p, block));
    TW_TRY(expect(p, ":"));
    tw_ir_blockdata *data = &p->func->blocks[block];
    const char *here = p->at;
    if (word_is(read_word(p), "loop") && peek(p, '=')) {
        p->at++;
        TW_TRY(read_number(p, &data->loop_offset));
    } else p->at = here;
    TW_TRY(read_offset(p, &data->offset));
    return read_body(p, block);
}

/* ---- the function ---- */

static tw_status read_string(parser *p, char **out)
{
    TW_TRY(expect(p, "\""));
    tw_bytes text = {0};
    tw_status status = TW_OK;
    while (status == TW_OK && p->at < p->end && *p->at != '"') {
        char c = *p->at++;
        if (c == 0 || c == '\n') status = bad(p, "string not closed");
        if (c == '\\') {
            bool hex = p->end - p->at >= 2 && digit(p->at[0]) < 16 && digit(p->at[1]) < 16;
            c = (char)(hex ? digit(p->at[0]) << 4 | digit(p->at[1]) : 0);
            p->at += hex ? 2 : 0;
            if (!c) status = bad(p, "bad escape");
        }
        tw_bytes_append_byte(&text, (uint8_t)c);
    }
    if (status == TW_OK && p->at++ >= p->end) {
        p->at = p->end;
        status = bad(p, "string not closed");
    }
    *out = tw_arena_string(&p->func->arena, text.data ? text.data : "", text.size);
    if (status == TW_OK && (!*out || text.failed)) status = tw_fail_memory(p->error);
    tw_bytes_free(&text);
    return status;
}

static tw_status read_type_list(parser *p, const uint8_t **out, uint32_t *out_count)
{
    uint8_t *types = NULL;
    uint32_t count = 0, capacity = 0;
    TW_TRY(expect(p, "("));
    while (!peek(p, ')')) {
        tw_type type;
        if (count) TW_TRY(expect(p, ","));
        TW_TRY(read_type(p, &type));
        if (!TW_ARENA_GROW(&p->func->arena, types, count, capacity)) return tw_fail_memory(p->error);
        types[count++] = (uint8_t)type;
    }
    *out = types;
    *out_count = count;
    return expect(p, ")");
}

static tw_status read_func(parser *p)
{
    tw_ir_func *func = p->func;
    if (!word_is(read_word(p), "func")) return bad(p, "expected func");
    if (!peek(p, '"')) TW_TRY(read_u32(p, &func->index));
    TW_TRY(read_string(p, &func->name));
    TW_TRY(read_type_list(p, &func->params, &func->param_count));
    TW_TRY(expect(p, "->"));
    TW_TRY(read_type_list(p, &func->results, &func->result_count));
    TW_TRY(expect(p, "{"));
    for (tw_ir_block block = 0; block < p->block_total; block++) TW_TRY(read_block(p, block));
    TW_TRY(expect(p, "}"));
    skip_space(p);
    return p->at == p->end ? TW_OK : bad(p, "text after the function");
}

/* "b12(" at the start of a line is a block; "v12" anywhere a value. Names in strings and comments only make the
 * bounds wider. */
static tw_status survey(parser *p)
{
    uint64_t largest = 0;
    bool line_start = true;
    for (const char *c = p->start; c < p->end; c++) {
        if (line_start && *c == 'b' && c + 1 < p->end && digit(c[1]) <= 9) p->block_total++;
        bool inside_word = c > p->start && is_word(c[-1]);
        if (*c == 'v' && !inside_word) {
            uint64_t number = 0;
            for (const char *d = c + 1; d < p->end && digit(*d) <= 9 && number <= UINT32_MAX; d++)
                number = number * 10 + (uint64_t)digit(*d);
            if (number > largest) largest = number;
        }
        if (*c == '\n') line_start = true;
        else if (*c != ' ' && *c != '\t') line_start = false;
    }
    uint64_t most = SPARE_VALUES + (uint64_t)(p->end - p->start);
    if (largest > most) return tw_fail(p->error, TW_LIMIT, "IR text: value numbers up to %llu, at most %llu here",
                                       (unsigned long long)largest, (unsigned long long)most);
    p->named_values = (uint32_t)largest + 1;
    return TW_OK;
}

static tw_status make_room(parser *p)
{
    tw_ir_func *func = p->func;
    func->values = TW_NEW_ARRAY(&func->arena, tw_ir_valuedata, p->named_values);
    TW_TRY_ALLOC(func->values, p->error);
    func->value_count = func->value_capacity = p->named_values;
    for (uint32_t i = 0; i < p->block_total; i++)
        if (tw_ir_block_new(func) == TW_IR_NO_BLOCK) return tw_fail_memory(p->error);
    return TW_OK;
}

static bool all_defined(const tw_ir_func *func, const tw_ir_value *values, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (func->values[values[i]].kind == TW_IR_NONE) return false;
    return true;
}

static tw_status check_uses(parser *p)
{
    const tw_ir_func *func = p->func;
    bool good = true;
    for (uint32_t i = 0; i < func->inst_count; i++)
        good = good && all_defined(func, func->insts[i].args, func->insts[i].arg_count);
    for (uint32_t i = 0; i < func->block_count; i++) {
        const tw_ir_blockdata *block = &func->blocks[i];
        if (block->term == TW_IR_BRANCH || block->term == TW_IR_SWITCH) good = good && all_defined(func, &block->value, 1);
        good = good && all_defined(func, block->args, block->arg_count);
        for (uint32_t e = 0; e < block->edge_count; e++)
            good = good && all_defined(func, block->edges[e].args, block->edges[e].arg_count);
    }
    return good ? TW_OK : bad(p, "a value is used and never defined");
}

tw_status tw_ir_parse(const char *text, size_t size, tw_ir_func **out, tw_error *error)
{
    if (size > UINT32_MAX / 2) return tw_fail(error, TW_LIMIT, "IR text of %zu bytes is too long", size);
    parser p = {.start = text, .at = text, .end = text + size, .error = error};
    TW_TRY(survey(&p));
    size_t limit = (size_t)64 * 1024 * 1024 + size * 256;
    TW_TRY(tw_ir_func_new("", limit, &p.func, error));
    tw_status status = make_room(&p);
    if (status == TW_OK) status = read_func(&p);
    if (status == TW_OK) status = check_uses(&p);
    if (status != TW_OK) {
        tw_ir_func_free(p.func);
        return status;
    }
    *out = p.func;
    return TW_OK;
}
