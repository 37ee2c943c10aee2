/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ENGINE_ENGINE_H
#define TW_ENGINE_ENGINE_H

/* The WebAssembly engine below us, seen without its name. This folder alone includes its headers.
 *
 *     tw_core    the engine: settings, compiler. One a process.
 *     tw_code    a compiled module
 *     tw_link    a compiled module with its imports resolved to bindings by index or to the engine's WASI
 *     tw_store   one instance, with everything that belongs to it
 *
 * Value types are the binary format's bytes (0x7F i32 … 0x7B v128, 0x70 funcref). Values travel raw: 16 bytes each, a
 * function's arguments in order, overwritten by its results. Whoever calls vouches for the types.
 *
 * Core, code and link may be used from any thread; a store from one thread at a time. A link keeps its code alive, a
 * store its link and core. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/raw.h"
#include "memory/slot.h"

typedef struct tw_core tw_core;
typedef struct tw_code tw_code;
typedef struct tw_link tw_link;
typedef struct tw_store tw_store;

/* ---- the engine ---- */

typedef struct tw_core_options {
    bool canonical_nan;
    size_t max_stack; /* bytes of guest stack; the calling thread must have more */
} tw_core_options;

tw_status tw_core_new(const tw_core_options *options, tw_core **out, tw_error *error);
/* Links and stores keep it alive. */
void tw_core_free(tw_core *core);

/* Text format to binary. */
tw_status tw_core_assemble(const char *text, size_t size, tw_bytes *out, tw_error *error);
/* TW_INVALID with the engine's own sentence. The engine accepts a little more than TensorWasm does (several memories,
 * call_ref): the decoder refuses that first. */
tw_status tw_core_validate(tw_core *core, const uint8_t *bytes, size_t size, tw_error *error);

/* ---- compiled modules ---- */

tw_status tw_code_new(tw_core *core, const uint8_t *bytes, size_t size, tw_code **out, tw_error *error);
void tw_code_free(tw_code *code);

typedef struct tw_link_func { /* a function import, in the module's order */
    const char *module, *name; /* NUL-terminated */
    const uint8_t *params, *results;
    uint32_t param_count, result_count;
    bool is_wasi; /* the engine's WASI answers; else the store's binding of the same index */
} tw_link_func;

/* Something in a store: a function, table, memory or global. Copy freely; dead when the store is. */
typedef struct tw_handle { uint64_t opaque[3]; } tw_handle;
typedef enum tw_handle_kind { TW_HANDLE_FUNC, TW_HANDLE_GLOBAL, TW_HANDLE_TABLE, TW_HANDLE_MEMORY } tw_handle_kind;

/* What the module imports. Globals and tables live in a store: each instance is given its own (tw_store_options). */
typedef struct tw_link_imports {
    const tw_link_func *funcs;
    size_t func_count;
    const uint8_t *kinds; /* of all imports in the module's order, each a tw_handle_kind but MEMORY; NULL: all are functions */
    size_t count;
} tw_link_imports;
/* Every function import must be listed. TW_LINK otherwise. */
tw_status tw_link_new(tw_code *code, const tw_link_imports *imports, tw_link **out, tw_error *error);
void tw_link_free(tw_link *link);

/* ---- instances ---- */

/* A host function. values: arguments, to be overwritten by results. A failure becomes a trap of the guest, and the
 * status and error become the ending of the call from outside; TW_TRAP without a message is an `unreachable` of the
 * guest. error->message is empty at first. */
typedef tw_status (*tw_raw_func)(void *context, tw_store *store, tw_raw *values, size_t count, tw_error *error);
typedef struct tw_binding {
    tw_raw_func call;
    void *context;
} tw_binding;

typedef struct tw_wasi_dir_setup { const char *host, *guest; } tw_wasi_dir_setup;
typedef struct tw_wasi_setup {
    const char **args;                       /* with argv[0] */
    size_t arg_count;
    const char **env_names, **env_values;
    size_t env_count;
    const tw_wasi_dir_setup *dirs;
    size_t dir_count;
    bool inherit_stdin, inherit_stdout, inherit_stderr;
    const uint8_t *stdin_bytes; size_t stdin_size; /* when not inherited */
    const char *stdout_path, *stderr_path;         /* when not inherited; created or cut off */
} tw_wasi_setup;

/* A global and a table that are made for an instance which imports them; in the module's order. */
typedef struct tw_store_global {
    uint32_t same_as; /* number of an earlier one that is the same global; its own otherwise */
    uint8_t type;     /* of a funcref only null, and it can't be mutable */
    bool is_mutable;
    tw_raw value;
} tw_store_global;
typedef struct tw_store_table {
    uint32_t same_as;
    uint64_t size, most; /* elements; all null */
    bool has_most;
} tw_store_table;

typedef struct tw_store_options {
    const tw_binding *bindings;  /* as many as the link has functions; must outlive the store */
    const tw_wasi_setup *wasi;   /* NULL = none; only read during the call */
    uint64_t max_memory;         /* bytes, for each memory */
    uint32_t max_table;          /* elements, for each table */
    tw_account *account;         /* that memories are charged to, or NULL; must outlive the store */
    tw_image *image;             /* contents of the module's own memory 0, or NULL; see tw_store_is_seeded */
    tw_slot *lent;               /* the module's memory 0 is this one; or NULL. Not given back with the store */
    bool passes_path_open;       /* path_open is among what host functions may pass on to WASI */
    const tw_store_global *globals; /* as many as the module imports; likewise tables */
    uint32_t global_count;
    const tw_store_table *tables;
    uint32_t table_count;
    tw_status (*on_imports)(void *owner, tw_store *store, tw_error *error); /* they are made, nothing else is; or NULL */
    void *owner;                 /* tw_store_owner */
    void (*on_memory)(void *owner, tw_slot *slot); /* a memory came to be, in order of index; the guest hasn't run yet */
} tw_store_options;

/* Why guest code stopped. X(NAME, "sentence") */
#define TW_TRAP_MAP(X)                                                                             \
    X(STACK_OVERFLOW, "call stack exhausted")                                                      \
    X(MEMORY_OUT_OF_BOUNDS, "out of bounds memory access")                                         \
    X(HEAP_MISALIGNED, "unaligned atomic access")                                                  \
    X(TABLE_OUT_OF_BOUNDS, "out of bounds table access")                                           \
    X(INDIRECT_CALL_TO_NULL, "uninitialized table element")                                        \
    X(BAD_SIGNATURE, "indirect call type mismatch")                                                \
    X(INTEGER_OVERFLOW, "integer overflow")                                                        \
    X(INTEGER_DIVISION_BY_ZERO, "integer divide by zero")                                          \
    X(BAD_CONVERSION_TO_INTEGER, "invalid conversion to integer")                                  \
    X(UNREACHABLE, "wasm `unreachable` instruction executed")                                      \
    X(OTHER, "the guest trapped")

typedef enum tw_trap {
#define TW_TRAP_ENUM(name, text) TW_TRAP_##name,
    TW_TRAP_MAP(TW_TRAP_ENUM)
#undef TW_TRAP_ENUM
} tw_trap;
/* The sentence; static. */
const char *tw_trap_text(tw_trap trap);

#define TW_MAX_FRAMES 20 /* as many as the engine records */
typedef struct tw_frame {
    uint32_t function; /* index in the compiled module */
    uint64_t offset;   /* byte offset in the compiled module, or TW_NO_OFFSET */
} tw_frame;

/* What became of a run of guest code. Only status is written when it is TW_OK. */
typedef struct tw_ending {
    tw_status status;  /* TW_OK, TW_TRAP, TW_EXIT, TW_LIMIT (the system refused), or what a host function returned */
    bool from_host;    /* a host function returned it: look at error only */
    tw_trap trap;      /* TW_TRAP */
    int32_t exit_code; /* TW_EXIT */
    tw_error error;    /* neither TW_TRAP nor TW_EXIT */
    uint32_t frame_count;
    tw_frame frames[TW_MAX_FRAMES]; /* innermost first */
} tw_ending;

/* WASI as it is for a new instance; of stores that have some. Not during a call. */
tw_status tw_store_set_wasi(tw_store *store, const tw_wasi_setup *setup, tw_error *error);
/* Instantiates: runs active segments and the start function. Returns ending->status. *out is a store to be freed, or
 * NULL, also after a failure: whoever holds its slots lets go of them first. */
tw_status tw_store_new(tw_link *link, const tw_store_options *options, tw_store **out, tw_ending *ending);
void tw_store_free(tw_store *store);
void *tw_store_owner(const tw_store *store);

/* The global or table that was made for the index-th import of its kind. False when there is none, or not yet. */
bool tw_store_imported(const tw_store *store, tw_handle_kind kind, uint32_t index, tw_handle *out);
/* About 200 ns: keep the handle. False when there is no such export of that kind. */
bool tw_store_export(tw_store *store, const char *name, tw_handle_kind kind, tw_handle *out);

/* values: room for max(arguments, results). Returns ending->status. */
tw_status tw_store_call(tw_store *store, const tw_handle *func, tw_raw *values, size_t count, tw_ending *ending);

/* A new host function in this store. It lives as long as the store. */
tw_status tw_store_func_new(tw_store *store, const uint8_t *params, uint32_t param_count, const uint8_t *results,
                            uint32_t result_count, tw_raw_func call, void *context, tw_handle *out, tw_error *error);
/* table[index] = func, or null for NULL. False when out of range. */
bool tw_store_table_set(tw_store *store, const tw_handle *table, uint32_t index, const tw_handle *func);
uint64_t tw_store_table_size(tw_store *store, const tw_handle *table);
/* By null entries. False when the store's limit or the table's own refuses. */
bool tw_store_table_grow(tw_store *store, const tw_handle *table, uint64_t delta);
typedef enum tw_reference { TW_REFERENCE_FUNC, TW_REFERENCE_NULL, TW_REFERENCE_NONE } tw_reference;
/* NONE: no such entry, or not a funcref. *out is written for FUNC only. */
tw_reference tw_store_table_get(tw_store *store, const tw_handle *table, uint32_t index, tw_handle *out);
tw_reference tw_store_global_get_func(tw_store *store, const tw_handle *global, tw_handle *out);
bool tw_store_global_set_func(tw_store *store, const tw_handle *global, const tw_handle *func);
/* The same for every handle of one function of an instance, whether it came from an export, a table or a global. */
uintptr_t tw_store_func_identity(tw_store *store, const tw_handle *func);
/* Numeric globals; the bits of f32 and f64. Set is false for an immutable one or another type's size. */
void tw_store_global_get(tw_store *store, const tw_handle *global, tw_raw *out);
bool tw_store_global_set_i32(tw_store *store, const tw_handle *global, int32_t value);
bool tw_store_global_set_i64(tw_store *store, const tw_handle *global, int64_t value);
/* type: the byte of a numeric type or v128. */
bool tw_store_global_set(tw_store *store, const tw_handle *global, uint8_t type, const tw_raw *value);

/* The slot of the module's index-th own memory; NULL when there are fewer. Also during instantiation. */
tw_slot *tw_store_slot(const tw_store *store, uint32_t index);
/* The image of the options is mapped there: the guest's data is in place. False, too, where the system wouldn't: then the memory
 * begins as without one. */
bool tw_store_is_seeded(const tw_store *store);
/* Bytes of the memory that a handle stands for; for exported memories. */
uint8_t *tw_store_memory(tw_store *store, const tw_handle *memory, size_t *size);
/* As the guest's memory.grow. False when a limit or the system refuses. */
bool tw_store_memory_grow(tw_store *store, const tw_handle *memory, uint64_t pages);

/* ---- WASI ---- */

/* Whether the engine's WASI preview 1 has a function of that name. Static. */
bool tw_wasi_knows(const char *name);

/* The functions of it that a host function may pass on to, as if the guest had called. X(name, "params"): i is i32, l
 * i64; the result is the errno. */
#define TW_WASI_PASS_MAP(X)                                                                        \
    X(fd_read, "iiii")                                                                             \
    X(fd_close, "i")                                                                               \
    X(fd_renumber, "ii")                                                                           \
    X(fd_fdstat_get, "ii")                                                                         \
    X(clock_time_get, "ili")                                                                       \
    X(poll_oneoff, "iiii")                                                                         \
    X(path_open, "iiiiillii")

typedef enum tw_wasi_pass {
#define TW_WASI_PASS_ENUM(name, params) TW_WASI_##name,
    TW_WASI_PASS_MAP(TW_WASI_PASS_ENUM)
#undef TW_WASI_PASS_ENUM
        TW_WASI_PASS_COUNT
} tw_wasi_pass;
_Static_assert(TW_WASI_path_open == TW_WASI_PASS_COUNT - 1, "the last one, which most stores don't have");

/* Only inside a binding that the guest called. values[0] gets the errno. */
tw_status tw_store_wasi(tw_store *store, tw_wasi_pass function, tw_raw *values, size_t count, tw_error *error);

#endif
