/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ENGINE_INSIDE_H
#define TW_ENGINE_INSIDE_H

/* What the files of this folder share. Nobody else includes it. */

#include <pthread.h>
#include <stdatomic.h>

#include <wasmtime.h>

#include "engine/engine.h"

typedef struct tw_maker tw_maker;

struct tw_core {
    wasm_engine_t *engine;
    atomic_size_t references;
    pthread_mutex_t lock;
    wasmtime_linker_t *wasi;       /* the engine's WASI, defined; made on first use under the lock */
    wasmtime_module_t *wasi_pass[2]; /* see wasi.c, without and with path_open; likewise */
    tw_maker *makers;              /* see imports.c; likewise */
    uint32_t maker_count;
};

struct tw_code {
    tw_core *core;
    wasmtime_module_t *module;
    atomic_size_t references;
    void *image;
};

struct tw_link {
    tw_code *code;
    wasmtime_instance_pre_t *pre; /* NULL where something is imported that lives in a store */
    atomic_size_t references;
    bool uses_wasi;
    wasmtime_linker_t *linker;    /* then: WASI */
    struct tw_link_import *imports;
    size_t import_count;
};

/* An import as a store answers it. */
typedef struct tw_link_import {
    uint8_t kind;
    uint32_t index;        /* among those of its kind */
    bool is_wasi;
    char *name;            /* of WASI's functions */
    wasm_functype_t *type; /* of other functions */
} tw_link_import;

#define TW_MAX_SLOTS 2 /* the user's memory, and a private one to stop a guest that has none */

/* A host function that a store made for itself. */
typedef struct tw_store_func {
    tw_binding binding;
    struct tw_store_func *next;
} tw_store_func;

struct tw_store {
    tw_link *link;
    wasmtime_store_t *store;
    wasmtime_context_t *context;
    wasmtime_instance_t instance;
    const tw_binding *bindings;
    void *owner;
    void (*on_memory)(void *owner, tw_slot *slot);
    uint64_t max_memory;
    tw_account *account;
    tw_image *image;            /* during instantiation; borrowed */
    bool seeded;
    tw_slot *lent;              /* during instantiation */
    tw_slot *slots[TW_MAX_SLOTS];
    uint32_t slot_count;
    wasmtime_caller_t *caller;  /* inside a binding: who called */
    tw_error host_error;        /* status != TW_OK: why a host function failed */
    tw_store_func *funcs;
    wasmtime_global_t *globals; /* that the module imports */
    wasmtime_table_t *tables;
    uint32_t global_count, table_count;
    bool has_wasi_pass, passes_path_open;
    wasmtime_func_t wasi_pass[TW_WASI_PASS_COUNT];
};

void tw_core_retain(tw_core *core);
/* The linker with WASI in it. */
tw_status tw_core_wasi(tw_core *core, wasmtime_linker_t **out, tw_error *error);
/* Fails with the engine's sentence and deletes it. */
tw_status tw_engine_fail(tw_error *error, tw_status status, wasmtime_error_t *failure);
/* NULL when out of memory or a type byte is unknown. */
wasm_functype_t *tw_engine_functype(const uint8_t *params, uint32_t param_count, const uint8_t *results,
                                    uint32_t result_count);
/* Says whether the guest ran to its end, else fills the ending. Deletes both. */
tw_status tw_ending_take(tw_store *store, wasmtime_error_t *failure, wasm_trap_t *trap, tw_ending *ending);
/* The callback of every binding: data is its index, the store is the caller's. */
wasm_trap_t *tw_store_on_binding(void *data, wasmtime_caller_t *caller, wasmtime_val_raw_t *values, size_t count);
wasi_config_t *tw_wasi_config(const tw_wasi_setup *setup, tw_error *error);
/* A link whose instances are made with tw_imports_instantiate. */
tw_status tw_imports_link(tw_link *link, const tw_link_imports *imports, tw_error *error);
void tw_imports_unlink(tw_link *link);
/* Makes the globals and tables of the options. */
tw_status tw_imports_make(tw_store *store, const tw_store_options *options, tw_error *error);
tw_status tw_imports_instantiate(tw_store *store, tw_ending *ending);
void tw_imports_forget(tw_core *core);
/* Where a memory of the store under construction goes. */
void tw_creator_set(wasm_config_t *config);
tw_store *tw_creator_begin(tw_store *store);

#endif
