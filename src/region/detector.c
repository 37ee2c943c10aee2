/* SPDX-License-Identifier: Apache-2.0 */
#include "region/detector.h"

#include <string.h>

#include "lift/lift.h"

enum { FUNCTION_MEMORY = 64 << 20, ASSUMED_TRIPS = 128 };

/* A function with a `loop` instruction counts as running it ASSUMED_TRIPS times, back edge or not. */
bool tw_detector_nominates(const tw_wasm *module, uint32_t func, const tw_detector_options *options)
{
    tw_arena arena;
    tw_reader reader;
    const uint8_t *locals;
    uint32_t count, vectors = 0, all = 0;
    uint64_t trips = 0;
    tw_instr instr;
    tw_arena_init(&arena, 1 << 20);
    if (tw_wasm_body(module, func, &arena, &reader, &locals, &count, NULL) == TW_OK)
        while (tw_wasm_next(&reader, &instr, NULL) == TW_OK) {
            all++;
            vectors += tw_op_describe(instr.op)->prefix == 0xFD;
            if (instr.op == TW_OP_LOOP) trips = ASSUMED_TRIPS;
        }
    tw_arena_free(&arena);
    return vectors && trips >= options->min_trip_count && (double)vectors >= options->v128_ratio_threshold * (double)all;
}

typedef struct adder {
    const tw_ir_func *func;
    tw_model *model;
    uint32_t *value; /* IR value → model value; TW_NONE */
    uint32_t depth;
} adder;

static uint32_t add(adder *a, tw_value_node node)
{
    tw_model *model = a->model;
    if (model->value_count >= TW_MODEL_MAX_VALUES) return TW_NONE;
    if (!TW_ARENA_GROW(&model->arena, model->values, model->value_count, model->value_capacity)) return TW_NONE;
    model->values[model->value_count] = node;
    return model->value_count++;
}

static bool is_scalar(uint8_t type)
{
    return type == TW_I32 || type == TW_I64 || type == TW_F32 || type == TW_F64;
}

static uint32_t value_of(adder *a, tw_ir_value value)
{
    const tw_ir_valuedata *data = &a->func->values[value];
    tw_value_node node = {.type = data->type, .index = TW_NONE, .args = {TW_NONE, TW_NONE, TW_NONE}};
    if (a->value[value] != TW_NONE) return a->value[value];
    if (!is_scalar(data->type) || a->depth > 100) return TW_NONE;
    if (data->kind == TW_IR_CONST) {
        node.kind = TW_VALUE_CONST;
        node.bits = data->bits[0];
        return a->value[value] = add(a, node);
    }
    if (data->kind == TW_IR_PARAM) {
        if (data->block != 0) return TW_NONE;
        node.kind = TW_VALUE_SYMBOL;
        node.index = data->position;
        return a->value[value] = add(a, node);
    }
    const tw_ir_inst *inst = &a->func->insts[data->inst];
    if ((tw_op_describe(inst->op)->kind != TW_KIND_PURE && inst->op != TW_OP_SELECT) || inst->arg_count > 3) return TW_NONE;
    node.kind = TW_VALUE_OP;
    node.op = (uint16_t)inst->op;
    a->depth++;
    for (uint32_t i = 0; i < inst->arg_count; i++)
        if ((node.args[i] = value_of(a, inst->args[i])) == TW_NONE) return TW_NONE;
    a->depth--;
    return a->value[value] = add(a, node);
}

/* The one path from the entry to a return, if every jump is unconditional and nothing on the way has an effect. */
static const tw_ir_blockdata *straight_line(const tw_ir_func *func)
{
    const tw_ir_blockdata *block = &func->blocks[0];
    for (uint32_t steps = 0; steps <= func->block_count; steps++) {
        for (uint32_t i = 0; i < block->inst_count; i++) {
            uint8_t kind = tw_op_describe(func->insts[block->insts[i]].op)->kind;
            if (kind != TW_KIND_PURE && func->insts[block->insts[i]].op != TW_OP_SELECT) return NULL;
        }
        if (block->term == TW_IR_RETURN) return block;
        if (block->term != TW_IR_JUMP || block->edges[0].arg_count) return NULL;
        block = &func->blocks[block->edges[0].to];
    }
    return NULL;
}

static bool fill(adder *a, tw_model *model)
{
    const tw_ir_func *func = a->func;
    const tw_ir_blockdata *last = straight_line(func);
    if (!last || !last->arg_count) return false;
    model->symbols = TW_NEW_ARRAY(&model->arena, tw_symbol, func->param_count);
    model->outputs = TW_NEW_ARRAY(&model->arena, uint32_t, last->arg_count);
    a->value = TW_NEW_ARRAY(&model->arena, uint32_t, func->value_count);
    if (!model->symbols || !model->outputs || !a->value) return false;
    memset(a->value, 0xFF, func->value_count * sizeof *a->value);
    for (uint32_t p = 0; p < func->param_count; p++) {
        if (!is_scalar(func->params[p])) return false;
        model->symbols[p] = (tw_symbol){.kind = TW_SYMBOL_LIVE_IN, .type = func->params[p], .local = p};
    }
    model->symbol_count = model->symbol_capacity = func->param_count;
    for (uint32_t r = 0; r < last->arg_count; r++)
        if ((model->outputs[r] = value_of(a, last->args[r])) == TW_NONE) return false;
    model->output_count = last->arg_count;
    model->exits_at_end = true;
    model->exit = 1;
    model->copies = 1;
    return true;
}

static bool add_region(const tw_wasm *module, uint32_t func, tw_survey *survey, tw_model *model)
{
    char name[200];
    tw_wasm_func_name(module, func, name, sizeof name);
    model->name = tw_arena_printf(&model->arena, "%s", name);
    model->func = func;
    model->place = module->funcs[func].body_offset;
    uint32_t *locals = TW_NEW_ARRAY(&survey->arena, uint32_t, model->symbol_count);
    if (!model->name || !locals || !TW_ARENA_GROW(&survey->arena, survey->regions, survey->region_count, survey->region_capacity)) return false;
    for (uint32_t p = 0; p < model->symbol_count; p++) locals[p] = p;
    survey->regions[survey->region_count++] = (tw_survey_region){.model = model, .func = func, .place = model->place,
        .whole_function = true, .live_ins = locals, .live_in_count = model->symbol_count};
    return true;
}

bool tw_detector_add(const tw_wasm *module, uint32_t func, tw_survey *survey)
{
    tw_ir_func *ir;
    tw_model *model;
    if (tw_lift(module, func, FUNCTION_MEMORY, &ir, NULL) != TW_OK) return false;
    bool ok = tw_model_new(&model, NULL) == TW_OK;
    if (ok) {
        adder a = {.func = ir, .model = model};
        ok = fill(&a, model) && tw_model_verify(model, NULL) == TW_OK && add_region(module, func, survey, model);
        if (!ok) tw_model_free(model);
    }
    tw_ir_func_free(ir);
    return ok;
}
