/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CODEGEN_INSIDE_H
#define TW_CODEGEN_INSIDE_H

/* The emitter's state; inside this room only.
 *
 * Scopes. The tree is emitted from outside in; each loop being emitted is a scope. What doesn't change in an inner scope is
 * computed in the outer one: code for scope k goes to the end of the current block when k is the innermost, else before
 * the branch with which scope k+1 is entered or passed by. All that scope k holds then dominates it, and it dominates all
 * that scope k will hold.
 *
 * Instances. In a loop with lanes, vectors or rows a value that varies with it has several instances: rows × vectors of
 * them, each an LLVM vector of `lanes` lanes; one that doesn't vary has one scalar. Memory of what has been emitted
 * (values, addresses) is valid while its scope is the same one: scopes have serial numbers. */

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>

#include "codegen/codegen.h"
#include "region/facts.h"

enum {
    TW_MAX_ROWS = 8,
    TW_MAX_VECTORS = 8,
    TW_MAX_INSTANCES = TW_MAX_ROWS * TW_MAX_VECTORS,
    TW_MAX_SCOPES = 2 * TW_MODEL_MAX_DEPTH + 2,
};

typedef struct tw_scope {
    uint32_t loop;          /* of the model; TW_NONE: the function */
    const tw_node *node;    /* NULL: the function */
    bool sets_off_blocks;   /* its counter isn't the loop's */
    uint64_t serial;
    LLVMBasicBlockRef around; /* ends in the branch into the scope or past it */
    LLVMBasicBlockRef before; /* a loop's preheader: passed once, and only when there is a trip */
    LLVMValueRef counter;     /* i64; of the first row and lane */
    LLVMValueRef upper;       /* trips end here (blocks: of this block) */
} tw_scope;

typedef struct tw_instances {
    uint64_t serial; /* 0: none */
    uint32_t depth;  /* scope */
    uint8_t rows, vectors;
    LLVMValueRef *of; /* rows × vectors */
} tw_instances;

/* One access in the making. */
typedef struct tw_place {
    uint32_t access;
    const tw_instances *offsets;
    const tw_instances *index;     /* of an indirect read: what is added to the offset; NULL */
    int64_t delta;                 /* to the representative */
    bool has_lanes, is_contiguous; /* lanes: the access differs by lane; as one vector */
    bool is_turned;                /* one vector by rows instead, of as many rows as there are lanes */
    bool is_reversed;              /* as one vector, last lane first */
    LLVMValueRef lane_stride;
    uint32_t record, record_at;    /* lanes lie in records of that many elements, this one at that place; 0: they don't */
    int64_t record_delta;          /* of the record's first element, to the representative */
    bool is_stored_to;             /* whole records are stored somewhere: the group says nothing about all their bytes */
} tw_place;

/* A cell that a loop reads and writes in every trip, kept in a register meanwhile. */
typedef struct tw_held {
    const tw_node *read, *store;
    tw_place place;
    tw_instances first, now, after;
} tw_held;

enum { TW_MAX_HELD = 8 };

typedef struct tw_emitter {
    const tw_tree *tree;
    const tw_model *model;
    const tw_facts *facts;
    tw_arena *arena;
    tw_layout layout;
    tw_error *error;
    tw_status status; /* the first failure; emission goes on with undefined values */

    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMBuilderRef builder;
    LLVMValueRef function;
    LLVMTypeRef i1, i8, i16, i32, i64, i128, f32, f64, pointer;
    LLVMValueRef env, first, last, memory, memory_size, args, stop, thread, threads, meet, meet_context;
    LLVMBasicBlockRef stopped; /* returns TW_KERNEL_STOPPED */

    tw_scope scopes[TW_MAX_SCOPES];
    uint32_t depth; /* of the innermost scope; 0 = the function */
    uint64_t serials;
    uint32_t lane_loop, row_loop; /* TW_NONE: none is active */
    uint32_t lanes, vectors, rows;
    const tw_node *spared; /* the lane loop that leaves a trip to scalars, where records need it; NULL */
    tw_held *held;     /* of the innermost loop */
    uint32_t held_count;
    bool in_threads;   /* inside the thread loop */
    bool meet_pending; /* a thread may have read what another is about to write */
    bool lanes_lie_apart; /* somewhere: each lane has an address of its own, or shuffles stand for that */

    uint32_t varies[TW_MODEL_MAX_VALUES]; /* bit l: differs between trips of loop l */
    tw_instances *values;                 /* by value */
    tw_instances (*offsets)[TW_MAX_SCOPES]; /* by access and scope: bytes from memory's start, of the scopes so far */
    uint32_t *representative;             /* by access: one with the same address but for a constant, itself if none */
    int64_t *delta;                       /* by access: that constant */
    bool in_tree[TW_MODEL_MAX_ACCESSES];  /* made by a node, and therefore range-checked */
    LLVMMetadataRef *group_scope;         /* by group */
    unsigned kind_alias_scope, kind_noalias;
} tw_emitter;

/* ---- emit.c ---- */
/* Emits the whole kernel into the emitter's module. */
tw_status tw_gen_kernel(tw_emitter *e);
/* Remembers the first failure; the message is printf's. */
void tw_gen_fail(tw_emitter *e, tw_status status, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* ---- scope.c: where code goes ---- */
LLVMBasicBlockRef tw_gen_block(tw_emitter *e, const char *name);
/* Positions the builder for scope `depth`. Returns the block to come back to. */
LLVMBasicBlockRef tw_gen_at(tw_emitter *e, uint32_t depth);
void tw_gen_back(tw_emitter *e, LLVMBasicBlockRef block);
/* Innermost scope whose loop is in `mask`, for code that depends on those counters; 0 = none. */
uint32_t tw_gen_depth_of(const tw_emitter *e, uint32_t mask);
bool tw_gen_valid(const tw_emitter *e, const tw_instances *instances);
/* Fresh instances at scope `depth` for what varies with the loops in `mask`. */
void tw_gen_instances(tw_emitter *e, tw_instances *out, uint32_t depth, uint32_t mask);
LLVMValueRef tw_gen_const64(const tw_emitter *e, int64_t value);
/* Word `index` of the arguments, loaded at the function's begin. */
LLVMValueRef tw_gen_arg(tw_emitter *e, uint32_t index);

/* The outer counter's coefficient along a wavefront, from those of the tree's pair; at the function's begin. */
LLVMValueRef tw_gen_skewed(tw_emitter *e, LLVMValueRef outer, LLVMValueRef inner);

/* ---- ops.c: what operations mean ---- */
LLVMTypeRef tw_gen_type(const tw_emitter *e, uint8_t type);
/* The type of one instance: a vector of `lanes`, or the scalar itself for 1. */
LLVMTypeRef tw_gen_lanes_of(LLVMTypeRef scalar, uint32_t lanes);
/* A scalar in every lane; a vector stays. */
LLVMValueRef tw_gen_splat(tw_emitter *e, LLVMValueRef value, uint32_t lanes);
/* A wasm operation on scalars or on vectors of `lanes` lanes (arguments that are scalars then are splat). */
LLVMValueRef tw_gen_op(tw_emitter *e, tw_op op, uint8_t type, LLVMValueRef *args, uint32_t lanes);
LLVMValueRef tw_gen_intrinsic(tw_emitter *e, const char *name, LLVMTypeRef overload, LLVMValueRef *args, unsigned count);

/* ---- value.c ---- */
/* Instances of a value, emitted where they belong unless they are there already. Never NULL. */
const tw_instances *tw_gen_value(tw_emitter *e, uint32_t value);
/* The instance for (row, vector), whatever varies. */
LLVMValueRef tw_gen_instance(const tw_instances *instances, uint32_t row, uint32_t vector);

/* ---- access.c: reads and stores ---- */
void tw_gen_find_representatives(tw_emitter *e);
/* A stride that facts or the model fix; by depth of the loop. */
bool tw_stride_known(const tw_emitter *e, uint32_t access, uint32_t depth, int64_t *out);
/* The same from trip to trip of a loop as the tree makes them: along a wavefront two counters change at once. */
bool tw_step_known(const tw_emitter *e, uint32_t access, uint32_t loop, int64_t *out);
void tw_gen_read(tw_emitter *e, const tw_node *node);
tw_place tw_gen_place(tw_emitter *e, uint32_t access);
/* Does the access's address change from trip to trip of the scope? */
bool tw_gen_contributes(const tw_emitter *e, uint32_t access, const tw_scope *scope);
/* At the current position. */
LLVMValueRef tw_gen_load(tw_emitter *e, const tw_place *p, uint32_t row, uint32_t vector);
void tw_gen_store_value(tw_emitter *e, const tw_place *p, LLVMValueRef value, LLVMValueRef guard, uint32_t row, uint32_t vector);
/* only_if: an i1, or NULL. */
void tw_gen_store(tw_emitter *e, const tw_node *node, LLVMValueRef only_if);

/* A vector or scalar of `size` bytes at lane `lane`, as it lies in memory. guard: an i1, or NULL. */
LLVMValueRef tw_gen_load_at(tw_emitter *e, const tw_place *p, LLVMTypeRef type, uint64_t size, uint32_t row, uint32_t vector,
                            uint32_t lane);
void tw_gen_store_at(tw_emitter *e, const tw_place *p, LLVMValueRef value, uint64_t size, LLVMValueRef guard, uint32_t row,
                     uint32_t vector, uint32_t lane);
/* The type of an access in memory. */
LLVMTypeRef tw_gen_memory_type(const tw_emitter *e, uint32_t access);

/* ---- record.c: arrays of records (pixels, complex numbers) ---- */
/* Fills p's record, if the access is one of those that can be done by whole records. */
void tw_gen_find_record(const tw_emitter *e, tw_place *p);
/* Does doing whole records reach beyond the last lane's elements? Then a loop must leave one trip to scalars. */
bool tw_gen_needs_spare(const tw_emitter *e, const tw_node *node, uint32_t lane_loop);
LLVMValueRef tw_gen_record_load(tw_emitter *e, const tw_place *p, uint32_t row, uint32_t vector);
/* Takes a store over if the stores of its record can be done at once; it is done with the last of them. */
bool tw_gen_record_store(tw_emitter *e, const tw_node *node);

/* ---- turn.c ---- */
/* n vectors of n lanes become their transpose: row r of `m` gets element r of each. n: a power of two, at most TW_MAX_ROWS. */
void tw_gen_transpose(tw_emitter *e, LLVMValueRef *m, uint32_t n);

/* ---- held.c ---- */
/* The cells that a loop with this node can hold; places are made in the scope around, which is current. */
uint32_t tw_gen_find_held(tw_emitter *e, const tw_node *node, tw_held held[TW_MAX_HELD]);
void tw_gen_held_load(tw_emitter *e, tw_held *h);                              /* in the preheader */
void tw_gen_held_begin(tw_emitter *e, tw_held *h, LLVMBasicBlockRef before);   /* at the begin of the body, in its scope */
/* Takes the node's part if it is held. */
bool tw_gen_held_node(tw_emitter *e, const tw_node *node);
void tw_gen_held_next(tw_held *h, LLVMBasicBlockRef latch);
void tw_gen_held_store(tw_emitter *e, tw_held *h);                             /* when the loop is left after a trip */

/* ---- range.c ---- */
/* An i1: every access of the tree stays inside memory for outermost trips first … last-1, and the numbers are what the facts
 * say. Emitted at the current position. */
LLVMValueRef tw_gen_range_check(tw_emitter *e);

/* ---- elf.c ---- */
/* One position-independent block out of a relocatable object; *entry is the offset of `symbol` in it. */
tw_status tw_flatten(const uint8_t *object, size_t size, const char *symbol, tw_bytes *code, uint32_t *entry,
                     tw_error *error);

#endif
