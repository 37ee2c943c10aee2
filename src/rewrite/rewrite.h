/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_REWRITE_REWRITE_H
#define TW_REWRITE_REWRITE_H

/* Rewrites a module so that accepted regions ask a stub, and so that whatever runs can be stopped. Only appends; no
 * index of the user's ever shifts; functions that nothing was asked for stay byte-identical.
 *
 *   F         rest = 0 ?  params…  return_call $twin  end   --rest; when it is over: countdowns = 0
 *             then the original body, untouched
 *   twin      F's body, where each region's loop is replaced by
 *                 ask = --countdown <= 0
 *                 again: if ask: [not installed: call_indirect slot 0 (region)]  (exit, headers, countdown) = call_indirect slot r (…)
 *                        if exit = 0:  (exit, headers) = call L (…);  exit = AGAIN: ask, again
 *                 branch to where exit says
 *   L         the loop itself, call-free: (live-ins, headers, others) → (exit, headers, others), where others are locals that
 *             the stub doesn't need but the bytecode reads on the way in or after the way out. When the loop has inner
 *             loops: at its header, countdown <= 0: return AGAIN; else --countdown. So countdown c makes c iterations
 *             between two questions, and the stub is asked at least every time the region is entered with c = 1.
 *
 * A twin's frame is larger than its function's, so recursion would run out of stack earlier. Functions that may call themselves
 * leave for their twins only while fewer than TW_REWRITE_MAX_DEPTH activations of such twins are alive, which "tw:depth" counts;
 * and their regions may not take more than TW_REWRITE_MAX_VALUES locals in all. What twins take on top is then bounded:
 * TW_REWRITE_STACK bytes. Every other function is on the stack once.
 *
 * Countdowns start at 0: the first arrival asks. A stub that gives a countdown below 1 is taken to mean 1. (It is a result: for
 * the host to set a global takes as long as a call.)
 *
 * All appended entities that the host needs are exported, with names that begin with "tw:":
 *   tw:stubs          the stub table; slot 0 is the generic stub (i32 region) -> ()
 *   tw:countdown:N    mutable i64, region N       tw:installed:N   mutable i32, 0 until the host has put the typed stub in
 *   tw:rest:F         mutable i32, function F: how many calls run the original body before one runs the twin again, which
 *                     then asks at its first arrivals; 0 at first. -1 is as good as for ever
 *   tw:depth          mutable i32, where a function with a region may call itself; 0 whenever nothing runs. A trap leaves it
 *                     as it is: the host then puts it back
 *   tw:memory         the private memory for probes, where there is one
 *   tw:start          the start function of a module with sites or a capturable one, no longer run by instantiation: stubs and
 *                     tw:init come first. The host calls it
 *
 * A memory that the module imports is the module's own in what is written, of the same index and type: whoever instantiates it
 * puts the host's there.
 *
 * The instances of a capturable module can be written down and brought back. Instantiation leaves memories and tables as
 * they are when nothing has been copied; one of these functions comes first, called by the host:
 *   tw:init           a fresh instance's: active segments, in the order and with the checks and drops that the
 *                     specification has. The segments themselves have become passive
 *   tw:seeded         the same for one whose memory has its contents already: data segments are only dropped
 *   tw:drop           a restored one's, after its memories, tables and globals have their contents: drops what was dropped
 *   tw:linear         memory 0                        tw:table:N       the user's table N
 *   tw:global:N       the user's mutable global N     tw:func:N        function N, if a reference to it can be had
 *   tw:dropped:N      i64, bits 64 N and up: which of the passive segments that the module's code drops are dropped */

#include "wasm/encode.h"
#include "wasm/nest.h"

enum {
    TW_REWRITE_AGAIN = -1,       /* L's code for "the countdown is over"; stubs never return it */
    TW_REWRITE_MAX_VALUES = 60,  /* parameters, and results, of a stub */
    TW_REWRITE_MAX_DEPTH = 64,
    TW_REWRITE_STACK = 512 << 10,/* 64 frames with as many values as may be, 16 bytes each, going out and coming back, and some for
                                    the functions that aren't recursive */
};

typedef struct tw_rewrite_region { /* one accepted loop nest */
    uint32_t func;
    uint64_t loop_offset;    /* module offset of the `loop` opcode that is the outermost header */
    bool nested;             /* count down in the header of L (loops inside), else once at entry */
    /* Locals that the nest doesn't write and the stub wants. L gets all that it needs, listed here or not. */
    const uint32_t *live_ins;
    uint32_t live_in_count;
    /* Locals that the nest writes and that the stub wants, or has to give back: all whose value matters on arrival or
     * after an exit, when it is the stub that moves the loop on. */
    const uint32_t *headers;
    uint32_t header_count;
} tw_rewrite_region;

/* A whole function becomes a region: its body is replaced by a call of the stub (parameters) -> (exit, results). */
typedef struct tw_rewrite_function {
    uint32_t func;
} tw_rewrite_function;

typedef struct tw_rewrite_options {
    const tw_rewrite_region *regions;
    uint32_t region_count;
    const tw_rewrite_function *functions;
    uint32_t function_count;
    bool stoppable; /* probes where a loop or a recursion might otherwise never touch memory */
    bool capturable;
} tw_rewrite_options;

/* How the host talks to a region. Sites are the regions in the order given, then the functions; a site's number is what
 * slot 0 gets as its argument and the N in the export names. */
typedef struct tw_rewrite_site {
    tw_status status;       /* TW_OK, or TW_REFUSED: left out of the rewrite, `why` says why, and the rest is unset */
    const char *why;
    uint64_t why_offset;    /* where in the user's module */
    uint32_t func;          /* the user's function */
    bool whole_function;
    uint32_t slot;          /* in the stub table */
    uint32_t countdown, rest, installed;  /* global indices; UINT32_MAX for a whole function but `installed` */
    uint32_t twin, outlined;              /* function indices; UINT32_MAX for a whole function */
    uint32_t exit_count;    /* exits 1 … exit_count, in the order of tw_nest */
    const uint8_t *params;  /* of the stub, tw_type bytes: live-ins, then headers; or the function's parameters */
    uint32_t param_count;
    const uint8_t *results; /* i32 exit, then headers, then the next countdown (i64); or exit and the function's results */
    uint32_t result_count;
} tw_rewrite_site;

typedef struct tw_rewrite {
    tw_arena arena;
    uint8_t *bytes; /* the rewritten module; NULL when it is the input, unchanged */
    size_t size;
    tw_offset_map *map; /* NULL with bytes */
    tw_rewrite_site *sites;
    uint32_t site_count;
    uint32_t stub_table;     /* UINT32_MAX without sites */
    uint32_t private_memory; /* UINT32_MAX when there is none. The stopper has to protect it too. */
    uint32_t probed_loops, probed_functions;
    uint32_t initialiser;    /* function; UINT32_MAX unless capturable */
    uint32_t drop_count;     /* bits in the globals tw:dropped:N */
    const uint32_t *referred;/* the functions tw:func:N, ascending */
    uint32_t referred_count;
} tw_rewrite;

/* The module must have passed tw_wasm_check_bodies and the engine's validation. TW_REFUSED when the module as a whole can't
 * be rewritten (it exports a name that begins with "tw:"): run the original. *out is independent of the module. Free with
 * tw_rewrite_free. */
tw_status tw_rewrite_module(const tw_wasm *module, const tw_rewrite_options *options, tw_rewrite **out,
                            tw_error *error);
void tw_rewrite_free(tw_rewrite *rewrite);

#endif
