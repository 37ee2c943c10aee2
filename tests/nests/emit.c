/* SPDX-License-Identifier: Apache-2.0 */
#include "emit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void code_free(code *out)
{
    free(out->data);
    *out = (code){0};
}

void emit_bytes(code *out, const void *data, size_t size)
{
    if (!size) return;
    if (size > out->room - out->size) {
        out->room = 2 * (out->room + size) + 64;
        out->data = realloc(out->data, out->room);
        if (!out->data) abort();
    }
    memcpy(out->data + out->size, data, size);
    out->size += size;
}

void emit_byte(code *out, unsigned byte)
{
    emit_bytes(out, &(uint8_t){(uint8_t)byte}, 1);
}

void emit_u32(code *out, uint32_t value)
{
    for (; value >= 128; value >>= 7) emit_byte(out, (value & 127) | 128);
    emit_byte(out, value);
}

void emit_s64(code *out, int64_t value)
{
    for (; value < -64 || value >= 64; value >>= 7) emit_byte(out, ((unsigned)value & 127) | 128);
    emit_byte(out, (unsigned)value & 127);
}

void emit_op(code *out, unsigned op)
{
    if (op >> 8) {
        emit_byte(out, op >> 8);
        emit_u32(out, op & 255);
    } else {
        emit_byte(out, op);
    }
}

static void with_index(code *out, unsigned op, uint32_t index)
{
    emit_byte(out, op);
    emit_u32(out, index);
}

void emit_get(code *out, uint32_t local)
{
    with_index(out, 0x20, local);
}
void emit_set(code *out, uint32_t local)
{
    with_index(out, 0x21, local);
}
void emit_tee(code *out, uint32_t local)
{
    with_index(out, 0x22, local);
}
void emit_br(code *out, uint32_t depth)
{
    with_index(out, 0x0C, depth);
}
void emit_br_if(code *out, uint32_t depth)
{
    with_index(out, 0x0D, depth);
}
void emit_block(code *out)
{
    emit_bytes(out, "\x02\x40", 2);
    out->open++;
}
void emit_loop(code *out)
{
    emit_bytes(out, "\x03\x40", 2);
    out->open++;
}
void emit_if(code *out)
{
    emit_bytes(out, "\x04\x40", 2);
    out->open++;
}
void emit_end(code *out)
{
    if (out->open) out->open--;
    emit_byte(out, 0x0B);
}

void emit_const(code *out, wtype type, uint64_t bits)
{
    emit_byte(out, 0x41 + type);
    switch (type) {
    case T_I32: emit_s64(out, (int32_t)bits); break;
    case T_I64: emit_s64(out, (int64_t)bits); break;
    case T_F32: emit_bytes(out, &(uint32_t){(uint32_t)bits}, 4); break;
    case T_F64: emit_bytes(out, &bits, 8); break;
    }
}

void emit_call_report(code *out)
{
    with_index(out, 0x10, 0);
}

void emit_memory(code *out, unsigned op, uint32_t align_log2, uint32_t offset)
{
    emit_byte(out, op);
    emit_u32(out, align_log2);
    emit_u32(out, offset);
}

uint32_t emit_local(emit_func *func, wtype type)
{
    if (func->local_count == sizeof func->locals / sizeof *func->locals) abort();
    func->locals[func->local_count++] = type;
    return func->param_count + func->local_count - 1;
}

/* ---- the module ---- */

static void section(code *out, unsigned id, code *payload)
{
    emit_byte(out, id);
    emit_u32(out, (uint32_t)payload->size);
    emit_bytes(out, payload->data, payload->size);
    code_free(payload);
}

static void function_type(code *out, const wtype *params, uint32_t count, wtype result)
{
    emit_byte(out, 0x60);
    emit_u32(out, count);
    for (uint32_t i = 0; i < count; i++) emit_byte(out, 0x7F - params[i]);
    emit_u32(out, 1);
    emit_byte(out, 0x7F - result);
}

static void export_entry(code *out, const char *name, unsigned kind, uint32_t index)
{
    emit_u32(out, (uint32_t)strlen(name));
    emit_bytes(out, name, strlen(name));
    emit_byte(out, kind);
    emit_u32(out, index);
}

static void function_body(code *out, const wtype *locals, uint32_t local_count, const code *body)
{
    code whole = {0};
    emit_u32(&whole, local_count);
    for (uint32_t i = 0; i < local_count; i++) {
        emit_u32(&whole, 1);
        emit_byte(&whole, 0x7F - locals[i]);
    }
    emit_bytes(&whole, body->data, body->size);
    emit_end(&whole);
    emit_u32(out, (uint32_t)whole.size);
    emit_bytes(out, whole.data, whole.size);
    code_free(&whole);
}

static void types_and_functions(code *out, const emit_func *funcs, uint32_t count)
{
    code types = {0}, functions = {0};
    emit_u32(&types, count + 1);
    emit_u32(&functions, count + 2);
    function_type(&types, (wtype[]){T_I32}, 1, T_I32);
    for (uint32_t i = 0; i < count; i++) function_type(&types, funcs[i].params, funcs[i].param_count, T_I64);
    emit_u32(&functions, 0);
    for (uint32_t i = 0; i <= count; i++) emit_u32(&functions, i);
    section(out, 1, &types);
    section(out, 3, &functions);
}

static void memory_and_exports(code *out, uint32_t count, uint32_t pages)
{
    code memory = {0}, exports = {0};
    emit_bytes(&memory, "\x01\x00", 2);
    emit_u32(&memory, pages);
    emit_u32(&exports, count + 2);
    export_entry(&exports, "memory", 2, 0);
    export_entry(&exports, "grow", 0, 1);
    for (uint32_t i = 0; i < count; i++) {
        char name[16];
        snprintf(name, sizeof name, "n%u", i);
        export_entry(&exports, name, 0, i + 2);
    }
    section(out, 5, &memory);
    section(out, 7, &exports);
}

void emit_module(code *out, const emit_func *funcs, uint32_t count, uint32_t pages)
{
    emit_bytes(out, "\0asm\1\0\0\0", 8);
    types_and_functions(out, funcs, count);
    memory_and_exports(out, count, pages);
    code bodies = {0}, grow = {0}, report = {0};
    emit_u32(&bodies, count + 2);
    emit_const(&report, T_I32, REPORT_ADDRESS);
    emit_get(&report, 0);
    emit_memory(&report, 0x36, 2, 0);
    emit_get(&report, 0);
    function_body(&bodies, NULL, 0, &report);
    emit_get(&grow, 0);
    emit_bytes(&grow, "\x40\x00", 2);
    function_body(&bodies, NULL, 0, &grow);
    for (uint32_t i = 0; i < count; i++) function_body(&bodies, funcs[i].locals, funcs[i].local_count, &funcs[i].body);
    code_free(&report);
    code_free(&grow);
    section(out, 10, &bodies);
}
