/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NESTS_EMIT_H
#define NESTS_EMIT_H

/* Writes WebAssembly binaries, independently of the project's own encoder: what the generator means is what the engine
 * reads. Bytes grow as needed; running out of memory ends the process. */

#include <stddef.h>
#include <stdint.h>

typedef struct code {
    uint8_t *data;
    size_t size, room;
    uint32_t open; /* blocks */
} code;

typedef enum wtype { T_I32, T_I64, T_F32, T_F64 } wtype; /* 0x7F - t is the binary form */

void code_free(code *out);
void emit_byte(code *out, unsigned byte);
void emit_bytes(code *out, const void *data, size_t size);
void emit_u32(code *out, uint32_t value);
void emit_s64(code *out, int64_t value);

/* Instructions. op: the opcode, or 0xFC00 | n for those after the prefix 0xFC. */
void emit_op(code *out, unsigned op);
void emit_get(code *out, uint32_t local);
void emit_set(code *out, uint32_t local);
void emit_tee(code *out, uint32_t local);
void emit_const(code *out, wtype type, uint64_t bits);
void emit_memory(code *out, unsigned op, uint32_t align_log2, uint32_t offset);
void emit_call_report(code *out); /* i32 → i32: keeps it at REPORT_ADDRESS, and gives it back */
enum { REPORT_ADDRESS = 256 };
void emit_br(code *out, uint32_t depth);
void emit_br_if(code *out, uint32_t depth);
void emit_block(code *out); /* [] -> [] */
void emit_loop(code *out);
void emit_if(code *out);
void emit_end(code *out);

/* One function of a module under construction. Local numbers count parameters first. */
typedef struct emit_func {
    wtype params[64];
    uint32_t param_count;
    wtype locals[1024];
    uint32_t local_count;
    code body; /* without locals and the final end */
} emit_func;

uint32_t emit_local(emit_func *func, wtype type);

/* The whole module: memory of `pages` pages exported as "memory"; functions exported as "n0", "n1", … each with one i64
 * result; and "grow", which grows the memory by its parameter. Appends to out. */
void emit_module(code *out, const emit_func *funcs, uint32_t count, uint32_t pages);

#endif
