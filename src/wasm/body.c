/* SPDX-License-Identifier: Apache-2.0 */
/* Function bodies: their locals, and the walk that checks every instruction once, so that later readers need
 * not. */
#include <stdlib.h>
#include <string.h>

#include "wasm/limits.h"
#include "wasm/read.h"

const tw_functype *tw_wasm_func_type(const tw_wasm *module, uint32_t func)
{
    return &module->types[module->funcs[func].type];
}

static tw_reader body_reader(const tw_wasm *module, uint32_t func)
{
    const tw_func *f = &module->funcs[func];
    return (tw_reader){f->body.data, f->body.data, f->body.data + f->body.size, f->body_offset};
}

/* One run through the declarations: counts, and where `into` isn't NULL writes a byte a local. */
static tw_status read_locals(tw_reader *reader, uint32_t limit, uint32_t *total, uint8_t *into, tw_error *error)
{
    uint32_t groups;
    TW_TRY(tw_read_count(reader, "local declarations", 2, UINT32_MAX, &groups, error));
    for (uint32_t i = 0; i < groups; i++) {
        uint32_t count;
        tw_type type;
        tw_reader start = *reader;
        TW_TRY(tw_read_u32(reader, "local count", &count, error));
        TW_TRY(tw_read_type(reader, "local", &type, error));
        if (count > limit - *total)
            return TW_READ_FAIL(&start, error, TW_LIMIT, "over the limit of %u locals in one function", limit);
        if (into && count) memset(into + *total, (int)type, count);
        *total += count;
    }
    return TW_OK;
}

static tw_status body_locals(const tw_wasm *module, uint32_t func, uint32_t limit, tw_reader *reader, uint32_t *total,
                             tw_error *error)
{
    *reader = body_reader(module, func);
    *total = tw_wasm_func_type(module, func)->param_count;
    if (*total > limit)
        return TW_READ_FAIL(reader, error, TW_LIMIT, "over the limit of %u locals in one function", limit);
    return read_locals(reader, limit, total, NULL, error);
}

static tw_status name_function(tw_status status, uint32_t func, tw_error *error)
{
    if (status != TW_OK && error && error->function == TW_NO_FUNCTION) error->function = func;
    return status;
}

tw_status tw_wasm_code(const tw_wasm *module, uint32_t func, tw_reader *out, uint32_t *local_count, tw_error *error)
{
    if (func >= module->func_count || module->funcs[func].imported)
        return tw_fail(error, TW_INVALID_ARGUMENT, "function %u has no body", func);
    return name_function(body_locals(module, func, TW_WASM_MAX_LOCALS, out, local_count, error), func, error);
}

tw_status tw_wasm_body(const tw_wasm *module, uint32_t func, tw_arena *arena, tw_reader *out, const uint8_t **locals,
                       uint32_t *local_count, tw_error *error)
{
    tw_reader reader;
    TW_TRY(tw_wasm_code(module, func, &reader, local_count, error));
    const tw_functype *type = tw_wasm_func_type(module, func);
    uint8_t *types = tw_arena_alloc(arena, *local_count);
    TW_TRY_ALLOC(types, error);
    if (type->param_count) memcpy(types, type->params, type->param_count);
    reader = body_reader(module, func);
    uint32_t filled = type->param_count;
    TW_TRY(name_function(read_locals(&reader, TW_WASM_MAX_LOCALS, &filled, types, error), func, error));
    *locals = types;
    *out = reader;
    return TW_OK;
}

void tw_wasm_block_type(const tw_wasm *module, const tw_instr *block, tw_functype *out)
{
    static const uint8_t singles[] = {TW_I32, TW_I64, TW_F32, TW_F64, TW_V128, TW_FUNCREF};
    *out = (tw_functype){0};
    if (block->imm.block.has_type_index) {
        if (block->imm.block.index < module->type_count) *out = module->types[block->imm.block.index];
        return;
    }
    for (size_t i = 0; i < sizeof singles; i++) {
        if (singles[i] != block->imm.block.type) continue;
        out->results = &singles[i];
        out->result_count = 1;
    }
}

/* ---- the check ---- */

typedef struct check {
    const tw_wasm *module;
    const tw_wasm_limits *limits;
    tw_reader reader;
    tw_instr instr;
    uint32_t func, local_count;
    uint8_t *open; /* the opcode of each open block; limits->nesting entries */
    uint32_t depth;
    tw_error *error;
} check;

#define CHECK_FAIL(c, status, ...) \
    tw_fail_at((c)->error, (status), (c)->func, (c)->instr.offset, __VA_ARGS__)

static const char *op_name(const check *c)
{
    return tw_op_describe(c->instr.op)->name;
}

static tw_status check_index(check *c, const char *space, uint32_t index, uint32_t count)
{
    if (index < count) return TW_OK;
    return CHECK_FAIL(c, TW_INVALID, "%s: %s %u doesn't exist: there are %u", op_name(c), space, index, count);
}

static tw_status check_memory_index(check *c, uint32_t memory)
{
    if (memory != 0 && c->limits->memories < 2)
        return CHECK_FAIL(c, TW_UNSUPPORTED,
                          "%s of memory %u belongs to the proposal multi-memory, which isn't supported", op_name(c),
                          memory);
    return check_index(c, "memory", memory, c->module->memory_count);
}

static tw_status check_labels(check *c)
{
    const uint8_t *at = c->instr.imm.labels.raw.data, *end = at + c->instr.imm.labels.raw.size;
    uint32_t label;
    while (at != end) {
        if (!tw_wasm_read_u32(&at, end, &label)) return CHECK_FAIL(c, TW_MALFORMED, "br_table label");
        TW_TRY(check_index(c, "label", label, c->depth));
    }
    return TW_OK;
}

static tw_status check_access(check *c)
{
    const tw_op_info *info = tw_op_describe(c->instr.op);
    uint32_t align = c->instr.imm.mem.align;
    if (c->instr.imm.mem.named && c->limits->memories < 2)
        return CHECK_FAIL(c, TW_UNSUPPORTED, "%s names its memory: that belongs to the proposal multi-memory, which isn't supported",
                          info->name);
    TW_TRY(check_memory_index(c, c->instr.imm.mem.memory));
    if ((uint32_t)1 << align > info->access)
        return CHECK_FAIL(c, TW_INVALID, "%s: alignment 2^%u is larger than the access", info->name, align);
    if (info->imm == TW_IMM_MEM_LANE && c->instr.imm.mem.lane >= 16u / info->access)
        return CHECK_FAIL(c, TW_INVALID, "%s: lane %u doesn't exist", info->name, c->instr.imm.mem.lane);
    return TW_OK;
}

/* Lanes of a shape: the number behind the x of the mnemonic. */
static tw_status check_lane(check *c)
{
    unsigned lanes = (unsigned)atoi(strchr(op_name(c), 'x') + 1);
    if (c->instr.imm.lane < lanes) return TW_OK;
    return CHECK_FAIL(c, TW_INVALID, "%s: lane %u doesn't exist", op_name(c), c->instr.imm.lane);
}

static tw_status check_shuffle(check *c)
{
    for (int i = 0; i < 16; i++)
        if (c->instr.imm.v128[i] >= 32)
            return CHECK_FAIL(c, TW_INVALID, "%s: lane %u doesn't exist", op_name(c), c->instr.imm.v128[i]);
    return TW_OK;
}

static tw_status check_data(check *c, uint32_t index)
{
    if (!c->module->has_data_count)
        return CHECK_FAIL(c, TW_MALFORMED, "%s needs a data count section", op_name(c));
    return check_index(c, "data segment", index, c->module->data_count);
}

static tw_status check_call_indirect(check *c)
{
    TW_TRY(check_index(c, "type", c->instr.imm.call_indirect.type, c->module->type_count));
    return check_index(c, "table", c->instr.imm.call_indirect.table, c->module->table_count);
}

static tw_status check_global(check *c)
{
    uint32_t global = c->instr.imm.index;
    TW_TRY(check_index(c, "global", global, c->module->global_count));
    if (c->instr.op == TW_OP_GLOBAL_SET && !c->module->globals[global].type.is_mutable)
        return CHECK_FAIL(c, TW_INVALID, "global.set of global %u, which is immutable", global);
    return TW_OK;
}

static tw_status check_immediate(check *c)
{
    const tw_wasm *m = c->module;
    const tw_instr *i = &c->instr;
    switch ((tw_imm)tw_op_describe(i->op)->imm) {
    case TW_IMM_NONE: case TW_IMM_I32: case TW_IMM_I64: case TW_IMM_F32: case TW_IMM_F64: case TW_IMM_V128:
    case TW_IMM_REF: return TW_OK;
    case TW_IMM_BLOCK:
        return i->imm.block.has_type_index ? check_index(c, "type", i->imm.block.index, m->type_count) : TW_OK;
    case TW_IMM_LABEL: return check_index(c, "label", i->imm.index, c->depth);
    case TW_IMM_LABELS: return check_labels(c);
    case TW_IMM_FUNC: return check_index(c, "function", i->imm.index, m->func_count);
    case TW_IMM_CALL_INDIRECT: return check_call_indirect(c);
    case TW_IMM_LOCAL: return check_index(c, "local", i->imm.index, c->local_count);
    case TW_IMM_GLOBAL: return check_global(c);
    case TW_IMM_TABLE: return check_index(c, "table", i->imm.index, m->table_count);
    case TW_IMM_TYPES:
        return i->imm.types.count == 1 ? TW_OK : CHECK_FAIL(c, TW_INVALID, "select of %u types", i->imm.types.count);
    case TW_IMM_MEM: case TW_IMM_MEM_LANE: return check_access(c);
    case TW_IMM_LANE: return check_lane(c);
    case TW_IMM_SHUFFLE: return check_shuffle(c);
    case TW_IMM_MEMORY: return check_memory_index(c, i->imm.index);
    case TW_IMM_MEMORY2:
        TW_TRY(check_memory_index(c, i->imm.pair.first));
        return check_memory_index(c, i->imm.pair.second);
    case TW_IMM_DATA_MEMORY:
        TW_TRY(check_data(c, i->imm.pair.first));
        return check_memory_index(c, i->imm.pair.second);
    case TW_IMM_DATA: return check_data(c, i->imm.index);
    case TW_IMM_ELEM_TABLE:
        TW_TRY(check_index(c, "element segment", i->imm.pair.first, m->elem_count));
        return check_index(c, "table", i->imm.pair.second, m->table_count);
    case TW_IMM_ELEM: return check_index(c, "element segment", i->imm.index, m->elem_count);
    case TW_IMM_TABLE2:
        TW_TRY(check_index(c, "table", i->imm.pair.first, m->table_count));
        return check_index(c, "table", i->imm.pair.second, m->table_count);
    }
    return CHECK_FAIL(c, TW_INTERNAL, "immediate form of %s", op_name(c));
}

static tw_status check_nesting(check *c)
{
    switch (c->instr.op) {
    case TW_OP_BLOCK: case TW_OP_LOOP: case TW_OP_IF:
        if (c->depth > c->limits->nesting)
            return CHECK_FAIL(c, TW_LIMIT, "blocks nest deeper than the limit of %u", c->limits->nesting);
        c->open[c->depth++] = (uint8_t)tw_op_describe(c->instr.op)->code;
        return TW_OK;
    case TW_OP_ELSE:
        if (c->open[c->depth - 1] != tw_op_describe(TW_OP_IF)->code)
            return CHECK_FAIL(c, TW_INVALID, "else without an if");
        c->open[c->depth - 1] = (uint8_t)tw_op_describe(TW_OP_ELSE)->code;
        return TW_OK;
    case TW_OP_END: c->depth--; return TW_OK;
    default: return TW_OK;
    }
}

static tw_status check_body(check *c)
{
    TW_TRY(name_function(body_locals(c->module, c->func, c->limits->locals, &c->reader, &c->local_count, c->error),
                         c->func, c->error));
    c->open[0] = (uint8_t)tw_op_describe(TW_OP_BLOCK)->code;
    c->depth = 1;
    while (c->depth > 0) {
        TW_TRY(name_function(tw_wasm_next(&c->reader, &c->instr, c->error), c->func, c->error));
        TW_TRY(check_immediate(c));
        TW_TRY(check_nesting(c));
    }
    if (c->reader.at == c->reader.end) return TW_OK;
    return tw_fail_at(c->error, TW_MALFORMED, c->func, tw_reader_offset(&c->reader),
                      "instructions after the function's end");
}

static tw_status check_all(check *c)
{
    for (uint32_t func = 0; func < c->module->func_count; func++) {
        c->func = func;
        if (!c->module->funcs[func].imported) TW_TRY(check_body(c));
    }
    return TW_OK;
}

tw_status tw_wasm_check_bodies(const tw_wasm *module, const tw_wasm_limits *limits, tw_error *error)
{
    check c = {.module = module, .limits = limits ? limits : &tw_wasm_default_limits, .error = error};
    c.open = malloc((size_t)c.limits->nesting + 1);
    TW_TRY_ALLOC(c.open, error);
    tw_status status = check_all(&c);
    free(c.open);
    return status;
}
