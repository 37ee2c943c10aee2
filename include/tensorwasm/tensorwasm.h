/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TENSORWASM_H
#define TENSORWASM_H

/* TensorWasm for embedders.
 *
 * Life of things: an engine outlives its modules and kernel caches; a module outlives nothing (instances keep what
 * they need of it); free in any order after that. Handles are opaque. An engine, a module and a kernel cache may be used
 * from any thread at once; an instance from one thread at a time, but for tw_instance_terminate.
 *
 * Option structs start with `size`: set it with the TW_…_INIT macro, then set fields by name. A library newer than the
 * program fills what the program doesn't know with defaults.
 *
 * A process that has an engine may fork only to exec: threads, signal handlers and memory of the child aren't the engine's.
 *
 * A failed call returns a tw_status other than TW_OK, writes *error where one is passed (NULL is fine), and leaves its
 * outputs untouched. Strings are UTF-8. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tensorwasm/status.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define TW_ABI_VERSION 1
/* The version that the library was built with; differs from TW_ABI_VERSION when header and library don't match. */
uint32_t tw_abi_version(void);
/* "0.1.0"; static. */
const char *tw_version(void);

typedef struct tw_engine tw_engine;
typedef struct tw_module tw_module;
typedef struct tw_instance tw_instance;
typedef struct tw_kernel_cache tw_kernel_cache;
typedef uint64_t tw_tenant_id;

/* ---- values ---- */

typedef enum tw_val_kind { TW_VAL_I32, TW_VAL_I64, TW_VAL_F32, TW_VAL_F64, TW_VAL_V128, TW_VAL_FUNCREF } tw_val_kind;
/* A funcref: null goes in, and what comes out only says in of.i64 whether it was null (0) or not (1). */
typedef struct tw_val {
    tw_val_kind kind;
    union { int32_t i32; int64_t i64; float f32; double f64; uint8_t v128[16]; } of;
} tw_val;

/* ---- engine ---- */

typedef enum tw_offload {
    TW_OFFLOAD_OFF,   /* the library's default: every body runs as it came */
    TW_OFFLOAD_AUTO,  /* kernels where they pay */
    TW_OFFLOAD_FORCE, /* kernels wherever they are right: skips the profit test */
} tw_offload;

/* Who answers a region's stub. The last two exist for conformance tests. */
typedef enum tw_dispatcher { TW_DISPATCHER_REAL, TW_DISPATCHER_ECHO, TW_DISPATCHER_TRAP } tw_dispatcher;

typedef struct tw_detector {
    double v128_ratio_threshold; /* a function is nominated when v128 instructions make at least this part of it; 0.8 */
    uint64_t min_trip_count;     /* and its loops run at least this often (128 when nothing better is known); 64 */
} tw_detector;

typedef struct tw_engine_options {
    size_t size;
    tw_offload offload;
    tw_dispatcher dispatcher;
    tw_detector detector;
    bool canonical_nan;       /* NaNs made by arithmetic have one bit pattern, in engine and kernels */
    uint32_t threads;         /* for kernels; 0 = as many as the process may use */
    uint64_t max_memory;      /* bytes of linear memory an instance may have; default 4 GiB */
    uint32_t max_table;       /* elements; default 10,000,000 */
    /* Bytes of stack that calls may take, 64 KiB to 256 MiB; default 1 MiB. It is the stack of the thread that calls:
     * that must have as much, 1/2 MiB more unless offload is off (frames with stubs are larger), and some for host functions. */
    size_t max_stack;
    size_t max_module;        /* bytes of a module; default 256 MiB */
    const char *worker_path;  /* the compile worker; NULL = the installed one, or the one beside the library */
    uint32_t worker_limit_ms; /* wall clock of one compilation; default 10,000 */
    /* All linear memories of the process together: TW_LIMIT at instantiation, and -1 from memory.grow, beyond them. */
    uint64_t max_committed;     /* live bytes; 0 = what the process's control groups leave it */
    uint64_t max_address_space; /* bytes reserved, about 4 GiB a memory; 0 = what the system gives */
    uint64_t max_mappings;      /* 4 a memory; 0 = 7/8 of vm.max_map_count */
} tw_engine_options;
#define TW_ENGINE_OPTIONS_INIT                                                                     \
    {.size = sizeof(tw_engine_options), .detector = {0.8, 64}, .max_memory = UINT64_C(1) << 32,    \
     .max_table = 10000000, .max_stack = 1 << 20, .max_module = 256 << 20, .worker_limit_ms = 10000}

/* options NULL = defaults. One engine a process: a second gives TW_BUSY until the first is freed. */
tw_status tw_engine_new(const tw_engine_options *options, tw_engine **out, tw_error *error);
void tw_engine_free(tw_engine *engine);
/* What this machine makes the engine do in a lesser way, a sentence; NULL when nothing. Static. */
const char *tw_engine_fallback(const tw_engine *engine);

/* ---- kernel caches ---- */

typedef struct tw_kernel_cache_options {
    size_t size;
    const char *directory; /* NULL = memory only; made 0700 when missing; not used when others may write to it */
    size_t max_bytes;      /* of kernels kept in memory; default 256 MiB */
} tw_kernel_cache_options;
#define TW_KERNEL_CACHE_OPTIONS_INIT {.size = sizeof(tw_kernel_cache_options), .max_bytes = 256 << 20}

typedef struct tw_kernel_cache_stats {
    uint64_t entries;   /* accepted regions, with or without code yet */
    uint64_t kernels;   /* compiled kernels in memory */
    uint64_t bytes;     /* of their code */
    uint64_t hits, misses, disk_hits, disk_rejected; /* since creation */
} tw_kernel_cache_stats;

tw_status tw_kernel_cache_new(tw_engine *engine, const tw_kernel_cache_options *options, tw_kernel_cache **out,
                              tw_error *error);
/* Why the directory isn't used: it can't be trusted, made or written. NULL when it is, or none was asked for. Valid as
 * long as the cache. */
const char *tw_kernel_cache_refusal(const tw_kernel_cache *cache);
/* Instances that use it keep it alive. */
void tw_kernel_cache_free(tw_kernel_cache *cache);
/* Entries of one tenant. */
uint64_t tw_kernel_cache_size(const tw_kernel_cache *cache, tw_tenant_id tenant);
/* No entry of any tenant. */
bool tw_kernel_cache_is_empty(const tw_kernel_cache *cache);
void tw_kernel_cache_get_stats(const tw_kernel_cache *cache, tw_kernel_cache_stats *out);

/* For a process that ends before its kernels are compiled: what is still being compiled for the cache's directory, in bytes
 * that another process with the same installation, directory and user hands to tw_kernel_cache_compile. *bytes is NULL when
 * nothing is; free() it. */
tw_status tw_kernel_cache_unfinished(tw_kernel_cache *cache, void **bytes, size_t *size, tw_error *error);
/* Compiles these kernels and waits for them, at most timeout_ns. TW_INVALID_ARGUMENT for bytes that aren't from
 * tw_kernel_cache_unfinished; a kernel that can't be compiled is no failure. */
tw_status tw_kernel_cache_compile(tw_kernel_cache *cache, const void *bytes, size_t size, uint64_t timeout_ns,
                                  tw_error *error);

/* ---- modules ---- */

/* Decodes, validates and (lazily) analyses; nothing of the bytes is kept by reference. Text format is accepted too
 * when the bytes begin with neither "\0asm" nor anything else binary. */
tw_status tw_module_new(tw_engine *engine, const uint8_t *bytes, size_t size, tw_module **out, tw_error *error);
/* Only says whether the module is valid here. */
tw_status tw_module_validate(tw_engine *engine, const uint8_t *bytes, size_t size, tw_error *error);
void tw_module_free(tw_module *module);

typedef enum tw_extern { TW_EXPORT_FUNC, TW_EXPORT_TABLE, TW_EXPORT_MEMORY, TW_EXPORT_GLOBAL } tw_extern;
size_t tw_module_export_count(const tw_module *module);
/* *name is valid as long as the module and NUL-terminated. */
tw_status tw_module_export(const tw_module *module, size_t index, const char **name, tw_extern *kind);
/* Parameter and result kinds of an exported function; arrays valid as long as the module. */
tw_status tw_module_func_type(const tw_module *module, const char *name, const tw_val_kind **params, size_t *param_count,
                              const tw_val_kind **results, size_t *result_count, tw_error *error);

/* ---- host functions ---- */

typedef struct tw_host_call tw_host_call;
/* The calling instance's memory 0, valid until the callback returns or the memory grows. NULL without one. */
uint8_t *tw_host_memory(tw_host_call *call, size_t *size);
/* Returns TW_OK with results written, or fails: the guest traps and the caller of the export gets this status and error. */
typedef tw_status (*tw_host_func)(void *context, tw_host_call *call, const tw_val *args, tw_val *results, tw_error *error);

typedef struct tw_import_func {
    const char *module, *name;
    const tw_val_kind *params;  size_t param_count;  /* funcref can't cross */
    const tw_val_kind *results; size_t result_count;
    tw_host_func call;
    void *context;
} tw_import_func;

/* ---- memories of the host ---- */

/* A linear memory that the host makes and modules import; instances that do are captured, restored and offloaded as those with memories
 * of their own. Several may have it at once and run in turns: a call of one while another runs on it is TW_BUSY. What one
 * writes, and how large it makes the memory, the next one finds. While several have it none can be captured. It isn't for pools:
 * their instances have memories of their own (tw_import_memory). */
typedef struct tw_memory tw_memory;
typedef struct tw_memory_options {
    size_t size;
    uint64_t bytes;     /* in whole pages of 64 KiB */
    uint64_t max_bytes; /* that it may grow to; 0 = bytes */
} tw_memory_options;
#define TW_MEMORY_OPTIONS_INIT {.size = sizeof(tw_memory_options)}

/* All zero. TW_INVALID_ARGUMENT; TW_LIMIT where the engine's limits or the system's have no room. */
tw_status tw_memory_new(tw_engine *engine, const tw_memory_options *options, tw_memory **out, tw_error *error);
/* Instances keep it. NULL is fine. */
void tw_memory_free(tw_memory *memory);
/* Where it lies, for its whole life, and its live size. Not while an instance runs on it. */
uint8_t *tw_memory_data(const tw_memory *memory, size_t *size);

/* It must have the import's type: at least its minimum now, and a maximum not above its maximum, where it has one. memory NULL: a new
 * one for each instance, of the import's limits, which is the instance's own in all that follows (tw_instance_memory finds it). */
typedef struct tw_import_memory {
    const char *module, *name;
    tw_memory *memory;
} tw_import_memory;

/* ---- globals of the host ---- */

/* A global that the host makes and modules import, with its type and mutability. Offsets of segments and the first values of a module's
 * own globals may be made of immutable ones.
 *
 * A mutable one is the host's and the guests' together: what the host sets between calls, or in a host function, the guest reads; what a guest has
 * set, the host reads as soon as the call or a host function in it begins or ends. Several instances may have it and run in turns: a
 * call of one while another runs with it is TW_BUSY, but for a call that a host function makes, which runs the other inside. A trap keeps
 * what was set before it. Captures hold what an instance's imported globals are, as its own; while several instances have a mutable one
 * none can be captured. A restore sets the mutable ones that it is offered, which may be no other instance's, and wants the immutable ones as
 * they were. A pool's instances find a mutable one as it is when they are taken, as a spawn would; a pool that begins with a snapshot takes only
 * immutable ones. What an instance exports can't be given to another one: each has an engine's store of its own. */
typedef struct tw_global tw_global;
/* value: its kind is the global's type. Of function references there are immutable nulls only. TW_INVALID_ARGUMENT. */
tw_status tw_global_new(tw_engine *engine, const tw_val *value, bool is_mutable, tw_global **out, tw_error *error);
/* Instances keep it. NULL is fine. */
void tw_global_free(tw_global *global);
/* Any thread. TW_BUSY while a guest runs with it, unless that has called a host function. */
tw_status tw_global_get(tw_global *global, tw_val *out, tw_error *error);
/* Likewise. TW_INVALID_ARGUMENT for an immutable one, or another type's value. */
tw_status tw_global_set(tw_global *global, const tw_val *value, tw_error *error);

typedef struct tw_import_global {
    const char *module, *name;
    tw_global *global;
} tw_import_global;

/* ---- tables of the host ---- */

/* A table of function references that the host makes and modules import. It is one instance's at a time, since a guest's functions belong to
 * their instance, TW_BUSY for others: the instance finds the host's functions where tw_table_set put them and null elsewhere; its
 * segments and its code put in what they like; and when it ends, or its spawn has failed, the table is again as the host made it. While it holds a
 * host's function its instance can't be captured. It isn't for pools: their instances have tables of their own (tw_import_table). */
typedef struct tw_table tw_table;
typedef struct tw_table_options {
    size_t size;
    uint32_t elements;
    uint32_t max_elements; /* that it may grow to; 0 = elements */
} tw_table_options;
#define TW_TABLE_OPTIONS_INIT {.size = sizeof(tw_table_options)}

/* All null. TW_INVALID_ARGUMENT; TW_LIMIT beyond the engine's max_table. */
tw_status tw_table_new(tw_engine *engine, const tw_table_options *options, tw_table **out, tw_error *error);
/* Instances keep it. NULL is fine. */
void tw_table_free(tw_table *table);
/* func: its names are ignored, and it is copied but for its context, which must outlive the instances that have the table; NULL: null. TW_BUSY
 * while an instance has it. */
tw_status tw_table_set(tw_table *table, uint32_t index, const tw_import_func *func, tw_error *error);

/* It must have the import's type: at least its minimum, and a maximum not above its maximum, where it has one. table NULL: a new one
 * for each instance, of the import's limits, all null, which is the instance's own in all that follows. */
typedef struct tw_import_table {
    const char *module, *name;
    tw_table *table;
} tw_import_table;

/* ---- WASI preview 1 ---- */

typedef struct tw_wasi_dir { const char *host, *guest; } tw_wasi_dir;
typedef struct tw_wasi_options {
    size_t size;
    const char *const *args; size_t arg_count;        /* with argv[0] */
    const char *const *env;  size_t env_count;        /* "KEY=VALUE" */
    const tw_wasi_dir *dirs; size_t dir_count;
    bool inherit_stdin, inherit_stdout, inherit_stderr;
    const uint8_t *stdin_bytes; size_t stdin_size;    /* when not inherited */
    const char *stdout_path, *stderr_path;            /* when not inherited */
} tw_wasi_options;
#define TW_WASI_OPTIONS_INIT {.size = sizeof(tw_wasi_options)}

/* ---- instances ---- */

typedef struct tw_spawn_options {
    size_t size;
    tw_tenant_id tenant;
    tw_kernel_cache *kernel_cache;        /* NULL = no offload for this instance, whatever the engine's setting */
    const tw_import_func *imports; size_t import_count; /* need not outlive the call; their contexts must outlive the instance */
    const tw_wasi_options *wasi;          /* NULL = no WASI */
    uint64_t max_memory;                  /* 0 = the engine's */
    uint64_t timeout_ns;                  /* for instantiation and each call; 0 = none. Ends the call; the instance goes on, but
                                             for one stopped in the middle of a kernel: that counts as terminated */
    int32_t *exit_code;                   /* NULL, or where a spawn that fails with TW_EXIT leaves the code */
    bool capturable;                      /* tw_instance_capture can be called (snapshot.h); the module is compiled once more for it */
    const struct tw_buffer_restoring *buffers; /* buffer.h: where a restored instance's buffers are made; NULL = on the host */
    const tw_import_memory *memories; size_t memory_count; /* need not outlive the call */
    const tw_import_global *globals; size_t global_count;  /* likewise */
    const tw_import_table *tables; size_t table_count;     /* likewise */
} tw_spawn_options;
#define TW_SPAWN_OPTIONS_INIT {.size = sizeof(tw_spawn_options)}

/* Instantiates: data, elements, start function. */
tw_status tw_instance_spawn(tw_module *module, const tw_spawn_options *options, tw_instance **out, tw_error *error);
/* Calls an export. The arrays must have the length of the export's type; argument kinds are checked.
 * TW_TRAP, TW_EXIT (tw_instance_exit_code), TW_TIMEOUT, TW_TERMINATED and the errors of host functions come back here;
 * error->message of a trap has its kind, function, offset in the user's module, and backtrace. */
tw_status tw_instance_call(tw_instance *instance, const char *name, const tw_val *args, size_t arg_count, tw_val *results,
                           size_t result_count, tw_error *error);
/* Ends whatever the instance does, from any thread; later calls give TW_TERMINATED. A second time: TW_TERMINATED. */
tw_status tw_instance_terminate(tw_instance *instance, tw_error *error);
/* Does nothing inside a call of the instance (a host function): free it when that has returned. */
void tw_instance_free(tw_instance *instance);
/* After TW_EXIT. */
int32_t tw_instance_exit_code(const tw_instance *instance);
/* An exported memory, or the memory of a module that exports none under a name: name NULL. Base pointer (stable for the instance's life) and live
 * size. Not while a call runs. */
tw_status tw_instance_memory(tw_instance *instance, const char *name, uint8_t **base, size_t *size, tw_error *error);

/* The value of an exported global; of a funcref only whether it is null. What a guest exports as immutable can so be made anew
 * for another one (tw_global_new). TW_NOT_FOUND; TW_BUSY during a call, also of another instance that has the same global of the host's. */
tw_status tw_instance_global_get(tw_instance *instance, const char *name, tw_val *out, tw_error *error);
/* Of a mutable one; a funcref can be set to null. TW_INVALID_ARGUMENT for an immutable one or another type's value. */
tw_status tw_instance_global_set(tw_instance *instance, const char *name, const tw_val *value, tw_error *error);

/* ---- pools ---- */

/* Instances of one module that are used again: to take one costs microseconds. What comes out is as tw_instance_spawn would make it,
 * whatever was done to it before: memory and its size, globals, tables, what WASI knows, the buffers of a snapshot (made anew at each reset, as
 * spawn->buffers says, and kept by idle instances). A pool is for one tenant. Any thread; but while a pool is being freed no other may
 * use it. */
typedef struct tw_instance_pool tw_instance_pool;
typedef struct tw_instance_pool_options {
    size_t size;
    uint32_t max_idle; /* instances kept ready; default 16 */
    const struct tw_snapshot *snapshot; /* what instances begin with, and are reset to (snapshot.h); it must outlive the pool. NULL: fresh */
} tw_instance_pool_options;
#define TW_INSTANCE_POOL_OPTIONS_INIT {.size = sizeof(tw_instance_pool_options), .max_idle = 16}

/* spawn: as for tw_instance_spawn; the pool keeps a copy of all that it points to, but for the contexts of imports and for exit_code,
 * which must outlive the pool. Keeps the module. */
tw_status tw_instance_pool_new(tw_module *module, const tw_spawn_options *spawn, const tw_instance_pool_options *options, tw_instance_pool **out,
                      tw_error *error);
/* One that was given back, or a new one; there may be any number of them. Its start function runs on this thread, and files for
 * WASI's output begin anew, as with a spawn. Fails as tw_instance_spawn does. */
tw_status tw_instance_pool_take(tw_instance_pool *pool, tw_instance **out, tw_error *error);
/* Makes instances until `count` are ready, or max_idle: takes then find them. No guest code runs but segments; start functions run when
 * they are taken. Fails as tw_instance_spawn does, with those kept that were made. */
tw_status tw_instance_pool_warm(tw_instance_pool *pool, uint32_t count, tw_error *error);
/* Instead of tw_instance_free: resets the instance and keeps it. One that trapped, exited, ran out of time, was terminated, has
 * grown a table or dropped a segment is freed, and so is one that wasn't taken from this pool. Files that its guest had open are closed.
 * The handle is given up, as by tw_instance_free. Who goes on using it all the same harms nobody as long as the pool keeps the instance:
 * calls give TW_INVALID_ARGUMENT, to give it back again or to free it does nothing. Nor does this do anything inside a call of the
 * instance, which stays the caller's. */
void tw_instance_pool_give(tw_instance_pool *pool, tw_instance *instance);
/* How many are ready. */
size_t tw_instance_pool_idle(tw_instance_pool *pool);
/* Those that are out are the caller's: free them, don't give them back. */
void tw_instance_pool_free(tw_instance_pool *pool);

/* ---- tenants ---- */

/* What a tenant has of this process's memory: live bytes of its instances' linear memories, images of its modules' data (one for each module
 * whose instances are pooled or capturable, as long as the module or an instance is), and buffers (buffer.h). */
typedef struct tw_tenant_usage {
    size_t size;
    uint64_t memories, images, buffers; /* bytes */
    uint64_t limit;                     /* 0 = none */
} tw_tenant_usage;
#define TW_TENANT_USAGE_INIT {.size = sizeof(tw_tenant_usage)}

/* Of all three together, in this process: beyond it spawns and buffers fail with TW_LIMIT, and memory.grow gives -1. 0 = none. What the
 * tenant has already, it keeps. Any thread. TW_NO_MEMORY. */
tw_status tw_tenant_limit(tw_tenant_id tenant, uint64_t max_bytes, tw_error *error);
/* Fills what out->size covers. Any thread. */
tw_status tw_tenant_get_usage(tw_tenant_id tenant, tw_tenant_usage *out, tw_error *error);

/* ---- seeing inside ---- */

typedef enum tw_format { TW_FORMAT_TEXT, TW_FORMAT_JSON } tw_format;
/* What became of each region in this instance so far. *text is malloc'd, free() it. */
tw_status tw_instance_report(const tw_instance *instance, tw_format format, char **text, tw_error *error);
/* Every loop of the module: name, place, depth, model or refusal. *text is malloc'd, free() it. */
tw_status tw_module_inspect(const tw_module *module, tw_format format, char **text, tw_error *error);
/* One region by name: "ir", "model", "plan", "schedule" or "llvm". TW_NOT_FOUND when the module has no loop of that name,
 * TW_REFUSED when it has and the loop is no region, or only part of one. *text is malloc'd, free() it. */
tw_status tw_module_dump(const tw_module *module, const char *what, const char *region, char **text, tw_error *error);
/* What a refusal means and what to change; NULL when there is no such refusal. Static. */
const char *tw_refusal_explain(const char *refusal);
/* The name of each refusal, counted from 0; NULL past the last. Static. */
const char *tw_refusal_listed(size_t index);
/* What this machine offers. *text is malloc'd, free() it. */
tw_status tw_doctor(tw_format format, char **text, tw_error *error);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
