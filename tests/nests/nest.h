/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NESTS_NEST_H
#define NESTS_NEST_H

/* A random loop nest and the numbers it is run with.
 *
 *   nest_generate   seed → a nest: loops, arrays, statements; and for each of RUNS runs a value for every number
 *   nest_write      nest → one WebAssembly function, in one of the many forms that compilers give such a nest
 *   nest_fill       nest, run → the memory before that run
 *
 * A seed says everything; `features` and `dropped` take things away from what the seed says, for minimising: each choice that
 * a feature allows is drawn all the same, so that the rest of the nest stays as it was. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emit.h"
#include "random.h"

enum {
    RUNS = 4,
    MAX_DEPTH = 3,
    MAX_LOOPS = 7,
    MAX_ARRAYS = 4,
    MAX_ACCESSES = 64,
    MAX_EXPRS = 512,
    MAX_STATEMENTS = 20,
    MAX_ACCUMULATORS = 6,
    MAX_ITEMS = 10,
    MAX_BOUND_CHECKS = 4,
    MAX_WORDS = 24,
    NONE = -1,
    MEMORY_PAGES = 4,
    MEMORY_BYTES = MEMORY_PAGES * 65536,
    WHOLE_PAGES = 65536,   /* a memory that ends at 2^32 */
    WINDOW_BYTES = 131072, /* of such a memory the first and the last so many bytes are looked at */
    BLOCK_ADDRESS = 512,   /* where bounds and pointers lie in memory */
};

/* X(NAME, "name", what it allows). */
#define FEATURE_MAP(X)                                                                                                 \
    X(FLOAT, "float", "floating-point arithmetic")                                                                     \
    X(SPECIAL, "special", "NaN, infinity, -0 and subnormal data")                                                      \
    X(TRAP_OPS, "trap-ops", "divisions and conversions that may trap")                                                 \
    X(UNREACHABLE, "unreachable", "unreachable in some iteration")                                                     \
    X(GUARD, "guard", "statements under a condition")                                                                  \
    X(CARRIED, "carried", "scalars that one iteration hands to the next")                                              \
    X(TRIANGULAR, "triangular", "bounds that depend on an outer counter")                                              \
    X(UNROLL, "unroll", "unrolled bodies with remainder loops")                                                        \
    X(POINTER, "pointer", "pointers that advance with the loop")                                                       \
    X(IN_MEMORY, "in-memory", "bounds and pointers in memory")                                                         \
    X(OVERLAP, "overlap", "arrays that overlap")                                                                       \
    X(EDGE, "edge", "arrays at the very start or end of the memory")                                                   \
    X(PAST, "past", "accesses beyond the memory's end, or below 0")                                                    \
    X(MIXED, "mixed", "several widths in one array")                                                                   \
    X(UNALIGNED, "unaligned", "arrays at odd addresses")                                                               \
    X(WIDE, "wide", "64-bit counters")                                                                                 \
    X(DEEP, "deep", "more than one loop")                                                                              \
    X(SIBLINGS, "siblings", "several loops, or loops and statements, in one body")                                     \
    X(STENCIL, "stencil", "neighbouring cells")                                                                        \
    X(BACKWARDS, "backwards", "negative steps")                                                                        \
    X(STEPS, "steps", "steps other than 1")                                                                            \
    X(EXITS, "exits", "all forms of exit test, not only the usual ones")                                               \
    X(WRAP, "wrap", "counters that wrap round")                                                                        \
    X(SYMBOLIC, "symbolic", "sizes and strides that aren't constants")                                                 \
    X(RESULT, "result", "counters and sums that are used after the loops")                                             \
    X(BREAK, "break", "a second way out of a loop")                                                                    \
    X(TWIST, "twist", "unrolled copies that aren't alike")                                                               \
    X(MIDDLE, "middle", "loops that are left in their middle")                                                          \
    X(CHECKED, "checked", "bounds checks that report and trap")                                                         \
    X(INDIRECT, "indirect", "addresses that follow from data")                                                          \
    X(HANDED, "handed", "an array's base that locals hand on")

typedef enum feature {
#define FEATURE_ENUM(name, text, meaning) FEATURE_##name,
    FEATURE_MAP(FEATURE_ENUM)
#undef FEATURE_ENUM
        FEATURE_COUNT
} feature;
#define ALL_FEATURES ((UINT32_C(1) << FEATURE_COUNT) - 1)

/* What a seed's low bits say about the engine and module that its nest runs in. */
typedef struct nest_class {
    bool canonical; /* canonical NaNs: everything is equal to the last bit; else nests keep NaN bits out of integers */
    bool whole;     /* a memory of 4 GiB */
    bool unrolled;  /* mostly unrolled loops, and mostly with something wrong about them */
} nest_class;
nest_class nest_class_of(uint64_t seed);
enum { CLASS_SIZE = 16 }; /* seeds that share all but their lowest four bits have one class */

typedef enum number_kind { NUMBER_CONST, NUMBER_PARAM, NUMBER_WORD } number_kind;
typedef struct number {
    number_kind kind;
    wtype type;
    uint32_t index;      /* parameter, or word of the block */
    int64_t value[RUNS]; /* floats: their bits */
} number;

typedef enum compare { NE, LT_S, LT_U, LE_S, LE_U, GT_S, GT_U, GE_S, GE_U, EQ, COMPARES } compare;
typedef enum test_place { TEST_TOP, TEST_GUARDED, TEST_BOTTOM, TEST_MIDDLE } test_place;

typedef enum item_kind { ITEM_LOOP, ITEM_STATEMENT } item_kind;
typedef struct item {
    item_kind kind;
    int index;
} item;
typedef struct body {
    item items[MAX_ITEMS];
    int count;
} body;

typedef struct loop {
    int parent, depth;
    bool wide;
    number start, step, bound;
    int start_outer, bound_outer; /* loop whose counter is added to start or bound; NONE */
    compare compare;              /* the loop goes on while counter CMP bound */
    bool swapped, negated;        /* how it is written */
    test_place place;
    bool test_old;  /* the counter before the increment is tested */
    int unroll;     /* 1, or the copies of the body */
    bool rest_is_if; /* of two copies: what is left is an `if` instead of a loop */
    int before;     /* TEST_MIDDLE of an unrolled loop: so many copies stand before the test; trips leave that remainder */
    bool loops_before; /* TEST_MIDDLE of another: the loops in its body stand before the test */
    int break_load; /* access: the loop is left when it reads 0; NONE */
    body body;
    int64_t least[RUNS], most[RUNS]; /* of the counter in the body */
    uint64_t trips[RUNS];            /* in all */
} loop;

typedef enum elem { ELEM_U8, ELEM_I16, ELEM_I32, ELEM_I64, ELEM_F32, ELEM_F64, ELEMS } elem;

typedef struct array {
    elem elem;
    number base;
    number coef[MAX_DEPTH];        /* bytes for each step of the counter at that depth */
    int64_t low[RUNS], high[RUNS]; /* bytes that its accesses touch, when base is 0; then as placed */
} array;

typedef enum address_form { ADDRESS_COMPUTED, ADDRESS_POINTER } address_form;
typedef struct nest_access {
    int array, loop; /* loop: innermost around it, or NONE */
    unsigned op;     /* load or store */
    uint8_t width;
    bool uses[MAX_DEPTH]; /* whether the counter of that depth takes part */
    int shift[MAX_DEPTH]; /* added to that counter */
    int32_t displacement; /* bytes, added to the address before it is used */
    uint32_t offset;      /* bytes, in the instruction */
    address_form form;
    int index;            /* expr, bytes that are added to the address; NONE */
    int64_t index_least, index_most;
} nest_access;

typedef enum expr_kind { EXPR_NUMBER, EXPR_COUNTER, EXPR_LOAD, EXPR_ACCUMULATOR, EXPR_OP } expr_kind;
typedef struct expr {
    expr_kind kind;
    wtype type;
    unsigned op;
    int index; /* loop, access, accumulator, or argument count of an OP */
    int args[3];
    number number;
} expr;

typedef enum statement_kind { STATEMENT_STORE, STATEMENT_SET, STATEMENT_UNREACHABLE, STATEMENT_CHECK } statement_kind;
typedef struct statement {
    statement_kind kind;
    int loop;   /* NONE outside all */
    int guard;  /* expr of type i32, or NONE */
    int target; /* access, accumulator, or bound check */
    int value;  /* expr */
} statement;

/* As compilers of safe languages write them: an index that fails against its limit is reported by a call, and traps. */
typedef enum check_form {
    CHECK_IN_PLACE,  /* the report stands in an `if` */
    CHECK_JUMPED,    /* control jumps over the report */
    CHECK_OUTSIDE,   /* the report stands behind the function's code */
    CHECK_FORMS
} check_form;

typedef struct bound_check { /* counter·scale (+ the outer counter·outer_scale) + add (+ data), as i32, against the limit */
    int loop, outer; /* NONE */
    int32_t scale, outer_scale, add;
    int data;        /* expr, or NONE */
    int64_t data_least, data_most;
    number limit;
    int moves;       /* loop whose counter·limit_scale is added to the limit; NONE */
    int32_t limit_scale;
    compare compare; /* all is well while it holds */
    bool swapped, negated;
    bool wide;      /* compared as 64-bit numbers */
    bool remembers; /* an index that is well is kept in a local, for the reports to tell */
    bool lags;      /* what is compared is the index that has been kept */
    number first;   /* kept before the loops */
    check_form form;
} bound_check;

/* Unrolled code that isn't quite: one copy of a loop's body differs from the others. */
typedef enum twist_kind {
    TWIST_NONE,
    TWIST_SHIFT,  /* an access lies one element further */
    TWIST_OP,     /* another operation */
    TWIST_CONST,  /* another constant */
    TWIST_SWAP,   /* operands the other way round */
    TWIST_ORDER,  /* statements the other way round */
    TWIST_SKIP,   /* without its last statement */
    TWIST_SHARED, /* a load of the first copy serves the others too */
    TWIST_TWICE,  /* the remainder runs twice */
    TWIST_HALF,   /* a counter is 2^31 more */
    TWISTS
} twist_kind;

typedef struct twist {
    twist_kind kind;
    int loop, copy; /* copy == loops[loop].unroll: the remainder */
    int target;     /* access or expr, by kind */
} twist;

/* A cell that one copy of an unrolled body has read serves as the next copy's neighbour, as compilers do it with stencils. */
typedef struct forward {
    int loop;        /* NONE: no such thing */
    int here, there; /* accesses: this iteration's cell, and the next one's */
} forward;

/* An array's base in a local, of which another one has a copy now and then, as compilers leave them behind. */
typedef enum hand {
    HAND_NONE,
    HAND_COPY, /* copied as an iteration begins, and read there */
    HAND_SWAP, /* likewise, and the base's own local serves as another till the iteration ends */
    HAND_LATE, /* copied as an iteration ends */
    HANDS
} hand;

typedef struct handed {
    int array; /* NONE: no such thing */
    hand how[MAX_LOOPS];
    bool copy_first; /* its local comes first */
    bool in_result;  /* the copy is used after the loops */
    bool again;      /* there is a second chain of loops */
    bool at_bottom;  /* outermost loops are tested there, and so run */
} handed;

typedef struct nest {
    uint64_t seed;
    nest_class class;
    random_state random;
    uint32_t features, dropped;
    bool
        integers_only; /* without canonical NaNs: either this, or all floats are of one type and never seen as integers */
    elem float_elem;
    wtype params[64];
    number param_numbers[64];
    uint32_t param_count;
    number words[MAX_WORDS];
    uint32_t word_count;
    int depth;
    loop loops[MAX_LOOPS];
    int loop_count;
    array arrays[MAX_ARRAYS];
    int array_count;
    nest_access accesses[MAX_ACCESSES];
    int access_count;
    expr exprs[MAX_EXPRS];
    int expr_count;
    bound_check checks[MAX_BOUND_CHECKS];
    int check_count;
    statement statements[MAX_STATEMENTS];
    int statement_count;
    wtype accumulators[MAX_ACCUMULATORS];
    int accumulator_count;
    body body;
    bool words_hoisted; /* read once at the start, or at every use */
    bool gives_result;
    twist twist;
    forward forward;
    handed handed;
} nest;

/* features: a mask of 1 << feature; dropped: bit s takes statement s away. */
void nest_generate(uint64_t seed, uint32_t features, uint32_t dropped, nest *out);
void nest_write(const nest *it, emit_func *out);
/* memory: MEMORY_BYTES bytes, or for a whole memory the two windows, one after the other. */
void nest_fill(const nest *it, int run, uint8_t *memory);
/* Rewrites every NaN in the nest's float arrays as one and the same, for comparing without canonical NaNs. */
void nest_blur_nans(const nest *it, int run, uint8_t *memory);

/* Wasm's own compares on the low 32 or 64 bits. */
bool compare_holds(compare compare, bool wide, int64_t a, int64_t b);
uint8_t elem_width(elem elem);
bool elem_is_float(elem elem);

#endif
