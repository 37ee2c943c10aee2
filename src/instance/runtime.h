/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_INSTANCE_RUNTIME_H
#define TW_INSTANCE_RUNTIME_H

/* What stands behind the public handles, and the operations on it. The public functions (api/) check arguments and
 * call these.
 *
 *     tw_engine ◄── tw_module ◄── tw_instance      each keeps alive what its arrow points to
 *
 * A module is decoded, checked by us and validated by the engine at once. It is rewritten and compiled when the first
 * instance needs it: how depends on whether loops are offloaded. */

#include <pthread.h>
#include <stdatomic.h>

#include "engine/engine.h"
#include "host/wasi.h"
#include "device/device.h"
#include "instance/buffers.h"
#include "instance/globals.h"
#include "instance/memory.h"
#include "instance/offload.h"
#include "instance/stop.h"
#include "instance/tables.h"
#include "instance/watch.h"
#include "memory/reset.h"
#include "rewrite/rewrite.h"
#include "snapshot/registers.h"
#include "tensorwasm/tensorwasm.h"
#include "wasm/module.h"

struct tw_engine {
    tw_core *core;
    tw_engine_options options; /* worker_path is our own copy */
    tw_wasm_limits limits;
    tw_watch watch;
    size_t least_image;     /* bytes of data from which on instances begin from an image; tests set it */
    tw_reset_way reset_way; /* of memories of pooled instances; tests set it */
    atomic_size_t references;
    pthread_mutex_t lock;   /* what follows; made by the first instance that offloads */
    tw_compiler *compiler;
    tw_device *device;
};

tw_status tw_runtime_engine_new(const tw_engine_options *options, tw_engine **out, tw_error *error);
void tw_runtime_engine_retain(tw_engine *engine);
void tw_runtime_engine_release(tw_engine *engine);
/* The compile worker and the CPU, for kernels. Valid as long as the engine. */
tw_status tw_runtime_engine_workers(tw_engine *engine, tw_compiler **compiler, tw_device **device, tw_error *error);
/* For kernels: the option, or as many as the process may use. */
uint32_t tw_runtime_engine_threads(const tw_engine *engine);

/* ---- kernel caches ---- */

struct tw_kernel_cache {
    tw_kcache *cache; /* instances hold references of their own to it */
    tw_engine *engine;
};

/* ---- modules ---- */

typedef struct tw_module_export_info {
    const char *name; /* NUL-terminated; an export whose name holds a NUL can't be called by name */
    tw_extern kind;
    uint32_t index;   /* in its index space */
    const tw_val_kind *params, *results;      /* functions */
    uint32_t param_count, result_count;
} tw_module_export_info;

/* One set of imports resolved: which of them the engine's WASI answers. */
typedef struct tw_form_link {
    tw_link *link;
    struct tw_form_link *next;
    bool is_wasi[]; /* per function import */
} tw_form_link;

/* What is compiled in a module's place: its bytes with probes, that it can be stopped, and perhaps with stubs. */
typedef struct tw_form {
    tw_offload_plan *plan;     /* NULL without stubs */
    tw_rewrite *rewrite;       /* the plan's, or our own */
    tw_code *code;             /* NULL: not made yet */
    tw_form_link *links;
} tw_form;

/* What a tenant's instances of a module find in memory 0 before any guest code has run. */
typedef struct tw_seed {
    tw_tenant_id tenant;
    tw_image *image;
    struct tw_seed *next;
} tw_seed;

enum { /* what a form can do beyond being stopped; its index in the module is the sum */
    TW_FORM_OFFLOADS = 1,
    TW_FORM_CAPTURABLE = 2,
    TW_FORMS = 4
};

struct tw_module {
    tw_engine *engine;
    atomic_size_t references;
    tw_arena arena;         /* names, kinds, exports, imports */
    tw_bytes bytes;         /* binary; wasm borrows them */
    tw_wasm wasm;
    tw_module_export_info *exports;
    uint32_t export_count;
    uint32_t *by_name;      /* indices of exports, sorted by name; without those whose name holds a NUL */
    uint32_t named_count;
    tw_link_func *imports;  /* function imports in order */
    uint32_t import_count;
    uint8_t *kinds;         /* tw_handle_kind of all imports but memories; NULL: all are functions */
    uint32_t kind_count;
    pthread_mutex_t lock;   /* what follows; what is there doesn't change, but for the forms' links */
    tw_survey *survey;      /* NULL: not made yet */
    tw_form forms[TW_FORMS];
    bool no_offload;        /* no region, the engine refused what the rewrite made, or there is no compile worker */
    char no_offload_why[256];
    tw_seed *seeds;
    bool has_hash;
    uint8_t hash[TW_REGISTERS_HASH]; /* of the bytes */
};

/* Text or binary to a checked module. */
tw_status tw_runtime_module_new(tw_engine *engine, const uint8_t *bytes, size_t size, tw_module **out, tw_error *error);
void tw_runtime_module_retain(tw_module *module);
void tw_runtime_module_release(tw_module *module);
/* UINT32_MAX when there is none. */
uint32_t tw_runtime_find_export(const tw_module *module, const char *name);

/* Rewritten and compiled on first use; without stubs where there is nothing to offload. Valid as long as the module. */
tw_status tw_runtime_form(tw_module *module, unsigned kind, tw_form **out, tw_error *error);
/* The form without stubs, for this instance and all that come, since nothing could answer them. Keeps the first `why`. */
tw_status tw_runtime_form_without_offload(tw_module *module, unsigned kind, const char *why, tw_form **out,
                                          tw_error *error);
/* The image to begin with, retained; NULL where there is none yet, or none is to be. Any thread. */
tw_image *tw_runtime_seed(tw_module *module, tw_tenant_id tenant);
/* The memory is as the module's segments leave it: makes the seed of its tenant, whom it is charged to, unless there is one. Any
 * thread. */
void tw_runtime_keep_seed(tw_module *module, tw_tenant_id tenant, const tw_slot *memory);
void tw_runtime_free_seeds(tw_module *module);
/* The tenant's seed whatever it costs, retained. */
tw_status tw_runtime_need_seed(tw_module *module, tw_tenant_id tenant, const tw_slot *memory, tw_image **out, tw_error *error);
/* Every loop looked at, on first use. Valid as long as the module. */
tw_status tw_runtime_survey(tw_module *module, const tw_survey **out, tw_error *error);
/* What the compile worker makes of a region under kind assumptions: "schedule", "llvm" or "asm". */
tw_status tw_runtime_dump_kernel(tw_engine *engine, const tw_model *model, const char *what, tw_bytes *out, tw_error *error);
/* A link of the form for this choice of imports. Valid as long as the module. */
tw_status tw_runtime_link(tw_module *module, tw_form *form, const bool *is_wasi, tw_link **out, tw_error *error);
void tw_runtime_form_free(tw_form *form);

/* ---- instances ---- */

struct tw_host_call {
    tw_store *store; /* whose owner is the tw_instance */
};

typedef struct tw_put_back tw_put_back;

/* What a capture needs to know and nobody else remembers; of capturable instances. */
typedef struct tw_kept {
    tw_arena arena;
    tw_files files;
    uint64_t max_memory;
    bool has_wasi;
    bool writes_files;                    /* output goes to files of the embedder's */
    bool is_closed;                       /* WASI has to be set up again before the guest runs */
    tw_registers_strings args, env, dirs; /* dirs: the guest's names */
    tw_folder *folders;                   /* what the host's names led to, just before WASI was set up last */
} tw_kept;

/* What a pooled instance held before its start function ran; by handle. */
typedef struct tw_baseline_global {
    tw_handle handle, func;
    uint8_t type;
    bool has_func; /* a funcref that isn't null */
    tw_raw value;
} tw_baseline_global;
typedef struct tw_baseline_table {
    tw_handle handle;
    uint32_t size;
    tw_handle *funcs;
    bool *has_func;
} tw_baseline_table;
typedef struct tw_baseline {
    tw_baseline_global *globals;
    uint32_t global_count;
    bool changes_tables;
    tw_baseline_table *tables; /* when the code changes some */
    uint32_t table_count;
    tw_handle *drops;
    uint64_t *dropped; /* their bits */
    uint32_t drop_words;
    bool has_start;
    tw_handle start, linear; /* start: or tw_after_restore */
    tw_slot *memory; /* NULL without one; it has its image */
} tw_baseline;

struct tw_instance {
    tw_module *module;
    const tw_form *form;
    tw_tenant_id tenant;
    tw_account *account; /* the tenant's, held */
    uint64_t timeout_ns;
    tw_store *store;
    tw_stopper stopper;
    bool offloads;                /* was to */
    tw_stubs *stubs;              /* NULL: every body runs as it came */
    tw_wasi wasi;
    tw_binding *bindings;         /* per function import */
    tw_instance_import *imports;  /* per function import; those that aren't the embedder's stay empty */
    tw_handle *handles;           /* per export, of functions; found on first call */
    bool *has_handle;
    int32_t exit_code;
    const tw_put_back *put_back;  /* during a spawn that restores */
    tw_kept kept;
    tw_own_buffers buffers;
    tw_memory *lent;              /* its memory is the host's; or NULL */
    tw_handle linear;             /* … as the engine knows it */
    tw_lent_globals globals;      /* that it imports */
    tw_lent_tables tables;
    bool pooled, watches_files;
    bool spoiled;                 /* a call hasn't come back well */
    tw_baseline baseline;         /* of a pooled one */
    uint64_t pool;                /* number of the pool that it was taken from; 0 = none, or it is idle */
    struct tw_instance *next_idle;
};

/* from: state to begin with (instance/state.h), or NULL for a fresh instance. */
tw_status tw_runtime_spawn(tw_module *module, const tw_spawn_options *options, const tw_put_back *from, tw_instance **out,
                           tw_error *error);
/* What lies between begin and end is a run, on one thread (stop.h), and the instance's globals are its own. begin: TW_TERMINATED, TW_BUSY. */
tw_status tw_runtime_begin_run(tw_instance *instance, uint64_t timeout_ns, tw_error *error);
tw_stop tw_runtime_end_run(tw_instance *instance);
tw_status tw_runtime_call(tw_instance *instance, const char *name, const tw_val *args, size_t arg_count,
                          tw_val *results, size_t result_count, tw_error *error);
/* name NULL: memory 0, whether it is exported or not. */
tw_status tw_runtime_memory(tw_instance *instance, const char *name, uint8_t **base, size_t *size, tw_error *error);
tw_status tw_runtime_global_get(tw_instance *instance, const char *name, tw_val *out, tw_error *error);
/* The value's kind is a kind, and a funcref is null. */
tw_status tw_runtime_global_set(tw_instance *instance, const char *name, const tw_val *value, tw_error *error);
/* The user's memory 0; NULL when the module has none. */
tw_slot *tw_runtime_slot(const tw_module *module, const tw_store *store);
/* TW_IO when a page whose file was gone has been read: it was zero, and not what the guest had. */
tw_status tw_runtime_check_lost(const tw_instance *instance, tw_error *error);
void tw_runtime_free(tw_instance *instance);

/* An instance that can be reset. It is as after a reset: its start comes with tw_runtime_start_again. */
tw_status tw_runtime_spawn_pooled(tw_module *module, const tw_spawn_options *options, const tw_put_back *from, tw_instance **out,
                                  tw_error *error);
/* As it was spawned from the same state (NULL: fresh) but for WASI, of which only what the guest had open is closed, and its start
 * function. False: it can't be, free it. */
bool tw_runtime_reset(tw_instance *instance, const tw_put_back *from);
/* What the guest had open, and files for its output; where neither is, nothing. */
bool tw_runtime_close_wasi(tw_instance *instance);
/* The rest of a start: WASI as for a new one (NULL: none), which begins files for output anew, and the start
 * function. */
tw_status tw_runtime_start_again(tw_instance *instance, const tw_wasi_options *wasi, tw_error *error);
/* Between tw:init and the start function. */
tw_status tw_runtime_take_baseline(tw_instance *instance, tw_error *error);
/* Our side of WASI for a guest that begins. */
void tw_runtime_begin_wasi(tw_instance *instance, const tw_wasi_options *options);
bool tw_runtime_changes_tables(const tw_module *module);
static inline bool tw_runtime_is_capturable(const tw_instance *instance)
{
    return instance->form->rewrite->initialiser != UINT32_MAX;
}

/* Resolves every import: the embedder's functions, then WASI. Fills bindings, imports, globals and tables of the instance, and is_wasi. */
tw_status tw_runtime_resolve(tw_instance *instance, const tw_spawn_options *options, bool *is_wasi, tw_error *error);
/* Host functions into its tables: before the instance has anything else. */
tw_status tw_runtime_on_imports(void *instance, tw_store *store, tw_error *error);
/* The public set-up in the engine's form; free with tw_runtime_wasi_free. */
tw_status tw_runtime_wasi_setup(const tw_wasi_options *options, tw_wasi_setup *out, tw_error *error);
void tw_runtime_wasi_free(tw_wasi_setup *setup);
/* Turns an ending that isn't TW_OK into the public status and error. */
tw_status tw_runtime_ending(tw_instance *instance, const tw_ending *ending, tw_stop reason, tw_error *error);

#endif
