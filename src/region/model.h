/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_REGION_MODEL_H
#define TW_REGION_MODEL_H

/* The model of a region: what a loop nest does, as a tree of counted loops over reads, stores and pure values.
 *
 *   symbols      numbers known at dispatch: the locals that the stub passes (live-ins and header values)
 *   exprs        integer programs over symbols and loop counters: trip counts, strides, bases, checks (the PLAN)
 *   affines      c0 + Σ c_d · n_d over the counters of the enclosing loops, coefficients being exprs, in Z/2^bits
 *   accesses     an affine 32-bit address + static offset, an instruction's width, read or store; a read may be indirect: a
 *                value is added to its address, of which only bounds are known beforehand
 *   values       pure operations over reads, affines, symbols, constants and carried scalars
 *   loops        a tree; a loop runs `trips` times, its counter n going 0, 1, …; an `if` that the plan decides is a loop
 *                of 0 or 1 trips
 *
 * Counters start at 0 at this arrival: header values are symbols, so a region met in the middle of its outermost loop is
 * no special case. The model is the same for every arrival; numbers come in through plan.h, decisions through facts.h.
 *
 * Text form (docs/offload.md): printed by `inspect --dump=model`, parsed by the compile worker and by tests;
 * print → parse → print is the identity. Everything lives in one arena. Immutable once built; threads may share it. */

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/error.h"
#include "wasm/opcode.h"

enum {
    TW_MODEL_MAX_DEPTH = 8,    /* loops around a statement, if-loops included */
    TW_MODEL_MAX_LOOPS = 32,
    TW_MODEL_MAX_ACCESSES = 128,
    TW_MODEL_MAX_VALUES = 4096,
    TW_MODEL_MAX_EXPRS = 8192,
    TW_MODEL_MAX_DELTA = 1 << 20, /* bytes; kernels reach accesses that differ by a smaller constant from one another */
    TW_MODEL_MAX_SYMBOLS = 1024, /* headers, live-outs and outputs too */
    TW_MODEL_MAX_AFFINES = 4096,
    TW_MODEL_MAX_CARRIED = 256,
    TW_MODEL_MAX_CHECKS = 4096,
    TW_MODEL_MAX_LIMITS = 1024,
};

#define TW_NONE UINT32_MAX

typedef enum tw_symbol_kind {
    TW_SYMBOL_LIVE_IN, /* a local that the nest doesn't write */
    TW_SYMBOL_HEADER,  /* a local's value on arrival at the outermost header */
} tw_symbol_kind;

typedef struct tw_symbol {
    uint8_t kind; /* tw_symbol_kind */
    uint8_t type; /* tw_type */
    uint32_t local;
} tw_symbol;

/* ---- exprs: evaluated in index order, arguments first ---- */

typedef enum tw_expr_kind {
    TW_EXPR_CONST,   /* imm; the upper half of a 32-bit one is 0 */
    TW_EXPR_SYMBOL,  /* index: symbols */
    TW_EXPR_COUNTER, /* index: loops; the loop's counter, wrapped to `bits` */
    TW_EXPR_OP,      /* op: a wasm integer operation of kind PURE, or a trapping one (a trap makes it poison) */
    TW_EXPR_SELECT,  /* a ? b : c; poison in the arm not taken doesn't matter */
    TW_EXPR_LOAD,    /* op: a wasm integer load from address a (i32) + imm: a live-in in memory */
    TW_EXPR_TRIPS,   /* how often the test `(a + k·b) op c` is made, k = 0, 1, …, until it first fails, that time included; as
                        i64; op: an integer compare of `bits` bits; poison when it never fails or only after a wrap */
} tw_expr_kind;

typedef struct tw_expr_node {
    uint8_t kind;      /* tw_expr_kind */
    uint8_t bits;      /* 32 or 64: of the result (TRIPS: of the compare; its result has 64) */
    uint16_t op;       /* tw_op */
    uint32_t index;    /* LOAD: of no meaning outside the builder */
    uint32_t a, b, c;  /* exprs, or TW_NONE */
    uint64_t imm;
    uint32_t counters; /* bit l: the value varies with the counter of loop l */
    bool loads;        /* there is a LOAD in it; of no meaning outside the builder */
} tw_expr_node;

typedef struct tw_affine {
    uint8_t bits;                          /* 32 or 64 */
    uint32_t loop;                         /* innermost loop it may vary with; TW_NONE = constant in the region */
    uint32_t base;                         /* expr without counters */
    uint32_t coef[TW_MODEL_MAX_DEPTH];     /* by depth of the enclosing loop: expr without counters, or TW_NONE = 0 */
} tw_affine;

typedef struct tw_model_access {
    uint16_t op;       /* tw_op of kind LOAD or STORE */
    uint8_t width;     /* bytes touched */
    bool is_store;
    bool is_inspected; /* a live-in in memory that the plan reads: takes part in dependences, not in the kernel */
    bool is_indirect;  /* a read at address + index, an i32 value (args[0] of the read's value) with … */
    int32_t least, most; /* … signed bounds that hold whatever is in memory (bounds.h); both 0 where it isn't indirect */
    uint32_t loop;     /* innermost enclosing loop, TW_NONE outside all */
    uint32_t address;  /* affine of 32 bits; the effective address is (affine mod 2^32) + offset */
    uint64_t offset;
    uint64_t place;    /* module offset of the instruction, for reports; TW_NO_OFFSET when unknown */
} tw_model_access;

typedef enum tw_value_kind {
    TW_VALUE_CONST,   /* bits; the upper half of a 32-bit one is 0 */
    TW_VALUE_SYMBOL,  /* index */
    TW_VALUE_AFFINE,  /* index: an integer */
    TW_VALUE_READ,    /* index: access; performed where the body has the item; args[0]: what an indirect one adds to its address */
    TW_VALUE_OP,      /* op over args[0..2], which have lower numbers: PURE scalar operations; select (args: a, b, condition);
                         integer division and remainder by a constant that isn't 0 (nor -1 for div_s and rem_s) */
    TW_VALUE_CARRIED, /* index: carried scalar, its value at the start of the iteration */
    TW_VALUE_FINAL,   /* index: carried scalar, its value after its loop (its init when there was no trip) */
} tw_value_kind;

typedef struct tw_value_node {
    uint8_t kind; /* tw_value_kind */
    uint8_t type; /* tw_type */
    uint16_t op;
    uint32_t index;
    uint32_t args[3]; /* values, TW_NONE */
    uint64_t bits;
} tw_value_node;

typedef struct tw_carried { /* a scalar that one iteration hands to the next */
    uint32_t loop;
    uint8_t type;
    uint32_t init, next; /* values: init in the scope around the loop, next at the iteration's end */
} tw_carried;

typedef enum tw_item_kind {
    TW_ITEM_READ,  /* value: of kind READ; guard: an i32 value or TW_NONE. A read whose guard is 0 may be performed all the
                      same (its footprint is checked with the rest): its value must then not matter */
    TW_ITEM_STORE, /* index: access; value: what; guard: an i32 value, or TW_NONE; 0: nothing is stored */
    TW_ITEM_LOOP,  /* index: loop */
} tw_item_kind;

typedef struct tw_item {
    uint8_t kind;
    uint32_t index, value, guard;
} tw_item;

typedef struct tw_model_loop {
    uint32_t parent;      /* TW_NONE for the outermost (loop 0); parents have lower numbers */
    uint32_t depth;       /* 0 for loop 0 */
    bool is_if;           /* at most one trip, no counter in use */
    uint32_t trips;       /* expr (i64), over the counters of enclosing loops only */
    tw_item *items;       /* in the order of the original code */
    uint32_t item_count, item_capacity;
    uint64_t place;       /* module offset of the header; TW_NO_OFFSET when unknown or for an if */
} tw_model_loop;

/* A predicate on numbers that makes the model true: `expr` ≠ 0 for all values of the counters it varies with, within
 * their loops' trips. */
typedef struct tw_check {
    uint32_t expr;
    uint32_t loop;    /* innermost loop whose counters it ranges over; TW_NONE: once */
    uint16_t refusal; /* tw_refusal when it fails */
} tw_check;

/* A predicate that makes the model true, of a value that moves with the counters: `affine op bound`, or `affine op other`, for all values
 * of the counters of the affine's loop and of those around it. The plan proves it by the ends of the affine's range, or of the
 * difference's; those of either side must lie in one window of the compare's signedness. */
typedef struct tw_limit {
    uint32_t affine;
    uint16_t op;      /* tw_op: an integer compare of the affine's bits */
    uint32_t bound;   /* expr without counters; TW_NONE where the other side moves, too: */
    uint32_t other;   /* affine of the same bits and loop; TW_NONE beside a bound */
    uint64_t place;   /* module offset of the branch that would have led to a trap; TW_NO_OFFSET when unknown */
} tw_limit;

/* What a header local is after k iterations of loop 0: symbol + k·step, or whatever (not needed). */
typedef enum tw_header_kind { TW_HEADER_AFFINE, TW_HEADER_DEAD } tw_header_kind;
typedef struct tw_header {
    uint32_t local;
    uint8_t kind, type;
    uint32_t symbol;  /* its value on arrival */
    uint32_t step;    /* expr without counters (AFFINE) */
} tw_header;

/* What is live after the region's exit. When a value can't be given, the kernel stops one iteration early and the guest
 * does the last one. */
typedef enum tw_live_out_kind { TW_LIVE_OUT_AFFINE, TW_LIVE_OUT_UNKNOWN } tw_live_out_kind;
typedef struct tw_live_out {
    uint32_t header;   /* index into headers: the local that is read after the exit */
    uint8_t kind;
    uint32_t affine;   /* AFFINE: at n0 = the number of the original loop's last iteration (not of its copies) */
} tw_live_out;

/* Two accesses whose footprints must have no byte in common for the model to be right: the plan checks it. */
typedef struct tw_pair {
    uint32_t first, second;
} tw_pair;

typedef struct tw_model {
    tw_arena arena;
    char *name;              /* "function#ordinal" */
    uint32_t func;           /* in the user's module */
    uint64_t place;          /* module offset of the outermost header */
    tw_symbol *symbols;      uint32_t symbol_count, symbol_capacity;
    tw_expr_node *exprs;     uint32_t expr_count, expr_capacity;
    tw_affine *affines;      uint32_t affine_count, affine_capacity;
    tw_model_access *accesses;     uint32_t access_count, access_capacity;
    tw_value_node *values;   uint32_t value_count, value_capacity;
    tw_carried *carried;     uint32_t carried_count, carried_capacity;
    tw_model_loop *loops;          uint32_t loop_count, loop_capacity;
    tw_check *checks;        uint32_t check_count, check_capacity;
    tw_limit *limits;        uint32_t limit_count, limit_capacity;
    tw_pair *apart;          uint32_t apart_count, apart_capacity;
    tw_header *headers;      uint32_t header_count, header_capacity;
    tw_live_out *live_outs;  uint32_t live_out_count, live_out_capacity;
    uint32_t *outputs;       uint32_t output_count; /* values: results of a whole-function region, which has no loops */
    tw_item *items;          uint32_t item_count, item_capacity; /* of a region without loops */
    bool exits_at_end;       /* the only exit is at the latch: all arrivals run whole; else the last one is the guest's */
    uint32_t copies;         /* iterations of loop 0 here for one of the original loop, which was unrolled; at least 1 */
    uint32_t exit;           /* the rewrite's exit number when the loop is left */
} tw_model;

/* Empty: place TW_NO_OFFSET, func TW_NO_FUNCTION, name "". */
tw_status tw_model_new(tw_model **out, tw_error *error);
void tw_model_free(tw_model *model);
void tw_model_print(const tw_model *model, tw_bytes *out);
/* The whole of `text` must be one model, "end" line included. error->offset is the byte in the text. Checked: every index, type, depth and order; a parsed model is well-formed. */
tw_status tw_model_parse(const char *text, size_t size, tw_model **out, tw_error *error);
/* Bytes of the model at the start of `text`, its "end" line included (facts may follow); `size` when there is no such line. */
size_t tw_model_text_size(const char *text, size_t size);
/* What parse checks, for a model built in memory. TW_INVALID says what is wrong where. */
tw_status tw_model_verify(const tw_model *model, tw_error *error);

/* The chain of loops around `loop` (itself included), outermost first; returns its length = depth + 1, 0 for TW_NONE. */
uint32_t tw_model_chain(const tw_model *model, uint32_t loop, uint32_t chain[TW_MODEL_MAX_DEPTH]);

#endif
