/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_REWRITE_BAKE_H
#define TW_REWRITE_BAKE_H

/* A module that begins with a state: what an instance of it holds before any code has run is what another one of the module held
 * once. It is a module as any other, for any engine.
 *
 *   memory      begins with the state's size; the bytes that aren't zero are active data segments
 *   globals     mutable ones begin with the state's values
 *   tables      begin with the state's size; what isn't null comes from active element segments
 *   segments    the module's own keep their numbers where code can name one. What was copied or dropped is empty now
 *   start       the module's own has run: it is left out
 *   names       those of segments are left out, others stay. Bodies, types and imports are the same bytes */

#include "wasm/module.h"

typedef struct tw_bake_global {
    uint32_t index;
    uint8_t value[16]; /* little-endian; a funcref's is its function's index u32, or UINT32_MAX for null */
} tw_bake_global;

typedef struct tw_bake_table {
    uint32_t size;
    const uint32_t *funcs; /* UINT32_MAX for null */
} tw_bake_table;

typedef struct tw_bake {
    tw_span memory;                /* whole pages; of modules that have one */
    const tw_bake_global *globals; /* the mutable ones, ascending */
    uint32_t global_count;
    const tw_bake_table *tables;   /* as many as the module has */
    const uint64_t *drops;         /* bits as in tw:dropped (rewrite.h) */
    uint32_t drop_count;
    uint32_t start;                /* a function to be the new start function; UINT32_MAX = none */
    const char *left_out;          /* an export that the new module lacks; NULL = none */
} tw_bake;

/* Appends the module. Everything is checked against the module, TW_MALFORMED; TW_LIMIT; TW_UNSUPPORTED for one that imports a
 * memory, a table or a global. */
tw_status tw_bake_module(const tw_wasm *module, const tw_bake *state, tw_bytes *out, tw_error *error);

#endif
