/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GUESTS_HARNESS_H
#define GUESTS_HARNESS_H

/* Running guests through the public API, and saying in which way two runs differ. Used by every end-to-end suite and by
 * the figures. Failures to set up (no such file, no engine) print why and end the process: a test can't go on without. */

#include "table.h"

/* How a run is made. */
typedef struct run_mode {
    const char *name;
    tw_offload offload;
    uint32_t threads;
    bool canonical_nan;
} run_mode;

tw_engine *harness_engine(const run_mode *mode);
/* directory NULL: in memory only. NULL when this build has no kernel caches: every mode then runs the original. */
tw_kernel_cache *harness_cache(tw_engine *engine, const char *directory);
/* The whole file; free() it. */
uint8_t *harness_read(const char *path, size_t *size);
tw_module *harness_module(tw_engine *engine, const char *path);
/* An instance whose exported memory "memory" has at least `bytes` bytes. */
tw_instance *harness_spawn(tw_module *module, tw_kernel_cache *cache, uint64_t bytes);
uint8_t *harness_memory(tw_instance *instance, size_t *size);

/* What was left after a call. */
typedef struct run_outcome {
    tw_status status;
    tw_error error;  /* when status isn't TW_OK */
    tw_val result;   /* of guests that have one */
    uint8_t *memory; /* a copy; free() it */
    size_t size;
} run_outcome;

/* Calls and copies the memory. has_result: the export gives one value. */
void harness_call(tw_instance *instance, const char *name, const guest_call *call, bool has_result, run_outcome *out);
void run_outcome_free(run_outcome *outcome);

/* Equal status, trap, result and memory? With canonical NaNs to the last bit; without, a NaN may stand for another one where
 * the call's float arrays are. In `text` (size bytes): the first difference, for people. */
bool harness_equal(const run_outcome *a, const run_outcome *b, const guest_call *call, bool canonical_nan, char *text,
                   size_t size);

/* The same guest compiled for this machine, which works on any block of call->end bytes laid out like the memory. */
typedef struct native_guest {
    void *library;
    void (*call)(unsigned char *memory, const void *args, double *result);
} native_guest;
/* folder: of the built guests. Stays loaded until harness_native_close. */
native_guest harness_native_open(const char *folder, const guest *which);
void harness_native_call(const native_guest *native, const guest_call *call, uint8_t *memory, double *result);
void harness_native_close(native_guest *native);

/* Sums over an instance's report. */
typedef struct report_totals {
    uint64_t regions, arrivals, dispatches, kernel_iterations, original_iterations;
    bool paid_without_hope; /* a region that `auto` would leave alone ran a kernel that was worth something */
    char refusals[512]; /* "dependence 1, few-iterations 3" */
    char detail[512];   /* of the last refusal of each region, one after the other */
} report_totals;
/* False when the report isn't what docs/offload.md says. */
bool harness_report(const tw_instance *instance, report_totals *out);
/* The report or the inspection names this refusal: at run time in `totals`, or at load time for a loop of function `function`. */
bool harness_refused(const tw_module *module, const report_totals *totals, const char *function, const char *refusal);

#endif
