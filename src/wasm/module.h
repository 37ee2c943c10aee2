/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_WASM_MODULE_H
#define TW_WASM_MODULE_H

/* A decoded module. It borrows the bytes it was decoded from (they must outlive it) and owns the rest
 * through its arena. Immutable after decoding; threads may share it. Offsets are from the first byte of
 * the module. Index spaces count imports first. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/error.h"
#include "tensorwasm/span.h"
#include "wasm/opcode.h"

typedef struct tw_name { /* UTF-8, checked; not NUL-terminated */
    const char *data;
    uint32_t size;
} tw_name;

typedef struct tw_functype {
    const uint8_t *params, *results; /* tw_type bytes */
    uint32_t param_count, result_count;
} tw_functype;

typedef struct tw_limits {
    uint64_t minimum, maximum; /* pages or elements */
    bool has_maximum;
} tw_limits;

typedef enum tw_extern_kind { TW_EXTERN_FUNC, TW_EXTERN_TABLE, TW_EXTERN_MEMORY, TW_EXTERN_GLOBAL } tw_extern_kind;

typedef struct tw_table_type { tw_type element; tw_limits limits; } tw_table_type;
typedef struct tw_global_type { tw_type type; bool is_mutable; } tw_global_type;

typedef struct tw_import {
    tw_name module, name;
    tw_extern_kind kind;
    uint32_t index; /* in its own index space */
} tw_import;

typedef struct tw_export {
    tw_name name;
    tw_extern_kind kind;
    uint32_t index;
} tw_export;

typedef struct tw_global_def {
    tw_global_type type;
    tw_span init; /* constant expression without its end; empty for imports */
} tw_global_def;

typedef struct tw_func {
    uint32_t type;         /* index into types */
    bool imported;
    tw_span body;          /* locals and code, as in the code section, without the size; empty for imports */
    uint64_t body_offset;  /* of body.data in the module */
    uint32_t import;       /* index into imports when imported */
} tw_func;

typedef enum tw_segment_mode { TW_SEGMENT_ACTIVE, TW_SEGMENT_PASSIVE, TW_SEGMENT_DECLARED } tw_segment_mode;

typedef struct tw_elem {
    tw_segment_mode mode;
    uint8_t kind;          /* 0-7, as written: only the encoder cares */
    tw_type type;
    uint32_t table;
    tw_span offset;        /* constant expression without its end (active) */
    uint32_t count;
    const uint32_t *funcs; /* function indices; NULL when the segment has expressions */
    tw_span payload;       /* the raw entries */
} tw_elem;

typedef struct tw_data {
    tw_segment_mode mode;
    uint8_t kind;   /* 0-2, as written: only the encoder cares */
    uint32_t memory;
    tw_span offset; /* constant expression without its end (active) */
    tw_span bytes;
} tw_data;

/* One section as it lay in the file, for rewriting: everything not changed is copied from here. */
typedef struct tw_section {
    uint8_t id;      /* 0 = custom */
    tw_name name;    /* custom sections */
    tw_span payload; /* without id and size; for custom sections after the name */
    tw_span whole;   /* with id and size */
    uint64_t offset; /* of payload.data */
} tw_section;

typedef struct tw_module_data {
    tw_arena arena;
    tw_span bytes;
    tw_functype *types;    uint32_t type_count;
    tw_import *imports;    uint32_t import_count;
    tw_func *funcs;        uint32_t func_count, imported_funcs;
    tw_table_type *tables; uint32_t table_count, imported_tables;
    tw_limits *memories;   uint32_t memory_count, imported_memories;
    tw_global_def *globals; uint32_t global_count, imported_globals;
    tw_export *exports;    uint32_t export_count;
    tw_elem *elems;        uint32_t elem_count;
    tw_data *datas;        uint32_t data_count;
    bool has_data_count;
    bool has_start;
    uint32_t start;
    tw_section *sections;  uint32_t section_count;
    tw_name *func_names;   /* from the name section, func_count entries; size 0 when unnamed; NULL without one */
} tw_wasm;

/* What a decoder refuses to go beyond; the defaults are in limits.h of this folder. */
typedef struct tw_wasm_limits {
    size_t module_bytes;     /* the whole file */
    uint32_t functions, types, imports, exports, globals, tables, segments;
    uint32_t memories;       /* 1 for users' modules; rewritten ones may have a private second */
    uint32_t locals;         /* in one function */
    uint32_t nesting;        /* of blocks */
    uint32_t function_bytes; /* one body */
    uint32_t parameters, results;
    uint32_t table_elements;
} tw_wasm_limits;
extern const tw_wasm_limits tw_wasm_default_limits;

/* Decodes every section (bodies stay as spans) and refuses what is off or over a limit, by name and
 * offset: TW_MALFORMED, TW_INVALID, TW_UNSUPPORTED, TW_LIMIT. On failure nothing is left to free.
 * limits NULL = the defaults. */
tw_status tw_wasm_decode(tw_span bytes, const tw_wasm_limits *limits, tw_wasm *out, tw_error *error);
void tw_wasm_free(tw_wasm *module);

/* Walks every instruction of every body: opcodes known and switched on, immediates well-formed and in range,
 * nesting and locals within limits, no call_ref. Not a type check:
 * the engine validates. After this and the engine's validation tw_wasm_next never fails on the module. */
tw_status tw_wasm_check_bodies(const tw_wasm *module, const tw_wasm_limits *limits, tw_error *error);

const tw_functype *tw_wasm_func_type(const tw_wasm *module, uint32_t func);
/* The name-section name, else the export name, else "func[N]". Into the caller's buffer; always terminated. */
void tw_wasm_func_name(const tw_wasm *module, uint32_t func, char *out, size_t size);

/* ---- reading a body ---- */

typedef struct tw_instr {
    tw_op op;
    uint64_t offset; /* of the opcode, in the module */
    uint32_t size;   /* bytes with immediates */
    union {
        struct { bool has_type_index; tw_type type; uint32_t index; } block; /* type NONE + !has_type_index: [] -> [] */
        uint32_t index;                                  /* label, func, local, global, table, data, elem, memory */
        struct { uint32_t type, table; } call_indirect;
        struct { uint32_t count; tw_span raw; } labels;  /* raw: count + 1 LEBs; read with tw_wasm_read_u32 */
        struct { uint32_t align, lane; uint64_t offset; uint32_t memory; bool named; } mem; /* align: its logarithm; named: the bytes say which memory */
        struct { uint32_t first, second; } pair; /* as written: data memory, elem table; *.copy: destination source */
        struct { uint32_t count; tw_span raw; } types;   /* select t*: a byte each */
        int32_t i32;
        int64_t i64;
        uint32_t f32;                                    /* bits */
        uint64_t f64;                                    /* bits */
        uint8_t v128[16];                                /* const and shuffle */
        uint8_t lane;
        tw_type ref;
    } imm;
} tw_instr;

typedef struct tw_reader {
    const uint8_t *start, *at, *end;
    uint64_t base; /* module offset of start */
} tw_reader;

/* Positions a reader after the local declarations and expands them: *locals gets one tw_type byte a local,
 * parameters first, from `arena`. */
tw_status tw_wasm_body(const tw_wasm *module, uint32_t func, tw_arena *arena, tw_reader *out,
                       const uint8_t **locals, uint32_t *local_count, tw_error *error);
/* The same without expanding the locals: nothing is allocated. */
tw_status tw_wasm_code(const tw_wasm *module, uint32_t func, tw_reader *out, uint32_t *local_count, tw_error *error);
/* Reads one instruction. TW_MALFORMED at the end of the bytes. */
tw_status tw_wasm_next(tw_reader *reader, tw_instr *out, tw_error *error);
/* LEB128, at most five bytes; for br_table's raw labels. False when malformed. */
bool tw_wasm_read_u32(const uint8_t **at, const uint8_t *end, uint32_t *out);
/* Resolves a block type: params and results as tw_type bytes. */
void tw_wasm_block_type(const tw_wasm *module, const tw_instr *block, tw_functype *out);

/* ---- writing (encode.h has the module-level edits) ---- */
void tw_write_u32(tw_bytes *out, uint32_t value);
void tw_write_s32(tw_bytes *out, int32_t value);
void tw_write_s64(tw_bytes *out, int64_t value);
/* Opcode bytes without immediates. */
void tw_write_op(tw_bytes *out, tw_op op);
/* The whole instruction, from op and imm, in the shortest form. */
void tw_write_instr(tw_bytes *out, const tw_instr *instr);
/* An instruction whose immediate is one index (or none: index is then ignored). */
void tw_write_index(tw_bytes *out, tw_op op, uint32_t index);

#endif
