/* SPDX-License-Identifier: Apache-2.0 */
/* Spawn options that outlive the call: all they point to is copied, but for what the embedder must keep anyway (the contexts of its
 * functions, and exit_code). */
#include <string.h>

#include "device/backend.h"
#include "instance/pool.h"

static const char *copy_string(tw_arena *arena, const char *from, bool *failed)
{
    const char *copy = from ? tw_arena_string(arena, from, strlen(from)) : NULL;
    *failed |= from && !copy;
    return copy;
}

static const void *copy_bytes(tw_arena *arena, const void *from, size_t size, bool *failed)
{
    void *copy = tw_arena_alloc(arena, size ? size : 1);
    *failed |= !copy;
    if (copy && size) memcpy(copy, from, size);
    return copy;
}

static const char *const *copy_strings(tw_arena *arena, const char *const *from, size_t count, bool *failed)
{
    const char **copies = TW_NEW_ARRAY(arena, const char *, count);
    *failed |= !copies;
    for (size_t i = 0; i < count && !*failed; i++) copies[i] = copy_string(arena, from[i], failed);
    return copies;
}

static const tw_import_func *copy_imports(tw_arena *arena, const tw_import_func *from, size_t count, bool *failed)
{
    tw_import_func *copies = TW_NEW_ARRAY(arena, tw_import_func, count);
    *failed |= !copies;
    for (size_t i = 0; i < count && !*failed; i++) {
        copies[i] = from[i];
        copies[i].module = copy_string(arena, from[i].module, failed);
        copies[i].name = copy_string(arena, from[i].name, failed);
        copies[i].params = copy_bytes(arena, from[i].params, from[i].param_count * sizeof *from[i].params, failed);
        copies[i].results = copy_bytes(arena, from[i].results, from[i].result_count * sizeof *from[i].results, failed);
    }
    return copies;
}

static void copy_wasi(tw_arena *arena, const tw_wasi_options *from, tw_wasi_options *to, bool *failed)
{
    *to = *from;
    to->args = copy_strings(arena, from->args, from->arg_count, failed);
    to->env = copy_strings(arena, from->env, from->env_count, failed);
    to->stdout_path = copy_string(arena, from->stdout_path, failed);
    to->stderr_path = copy_string(arena, from->stderr_path, failed);
    if (from->stdin_bytes) to->stdin_bytes = copy_bytes(arena, from->stdin_bytes, from->stdin_size, failed);
    tw_wasi_dir *dirs = TW_NEW_ARRAY(arena, tw_wasi_dir, from->dir_count);
    *failed |= !dirs;
    for (size_t i = 0; i < from->dir_count && !*failed; i++)
        dirs[i] = (tw_wasi_dir){copy_string(arena, from->dirs[i].host, failed), copy_string(arena, from->dirs[i].guest, failed)};
    to->dirs = dirs;
}

/* Memories and tables stay what a spawn makes of them: NULL, or a refusal. */
static const tw_import_memory *copy_memories(tw_arena *arena, const tw_import_memory *from, size_t count, bool *failed)
{
    tw_import_memory *copies = TW_NEW_ARRAY(arena, tw_import_memory, count);
    *failed |= !copies;
    for (size_t i = 0; i < count && !*failed; i++)
        copies[i] = (tw_import_memory){copy_string(arena, from[i].module, failed), copy_string(arena, from[i].name, failed), from[i].memory};
    return copies;
}

static const tw_import_table *copy_tables(tw_arena *arena, const tw_import_table *from, size_t count, bool *failed)
{
    tw_import_table *copies = TW_NEW_ARRAY(arena, tw_import_table, count);
    *failed |= !copies;
    for (size_t i = 0; i < count && !*failed; i++)
        copies[i] = (tw_import_table){copy_string(arena, from[i].module, failed), copy_string(arena, from[i].name, failed), from[i].table};
    return copies;
}

/* With a reference to each, which tw_runtime_pool_drop_options gives back. */
static tw_import_global *copy_globals(tw_arena *arena, const tw_import_global *from, size_t count, bool *failed)
{
    tw_import_global *copies = TW_NEW_ARRAY(arena, tw_import_global, count);
    *failed |= !copies;
    for (size_t i = 0; i < count && !*failed; i++)
        copies[i] = (tw_import_global){copy_string(arena, from[i].module, failed), copy_string(arena, from[i].name, failed), from[i].global};
    for (size_t i = 0; i < count && !*failed; i++) atomic_fetch_add(&from[i].global->references, 1);
    return copies;
}

tw_status tw_runtime_pool_keep_options(tw_instance_pool *pool, const tw_spawn_options *options, tw_error *error)
{
    bool failed = false;
    pool->options = *options;
    pool->options.imports = copy_imports(&pool->arena, options->imports, options->import_count, &failed);
    pool->options.memories = copy_memories(&pool->arena, options->memories, options->memory_count, &failed);
    pool->options.tables = copy_tables(&pool->arena, options->tables, options->table_count, &failed);
    pool->globals = failed ? NULL : copy_globals(&pool->arena, options->globals, options->global_count, &failed);
    pool->global_count = failed ? 0 : options->global_count;
    pool->options.globals = pool->globals;
    if (options->wasi) {
        copy_wasi(&pool->arena, options->wasi, &pool->wasi, &failed);
        pool->options.wasi = &pool->wasi;
    }
    pool->buffers = *options->buffers;
    pool->options.buffers = &pool->buffers;
    if (pool->buffers.devices) tw_devices_hold(pool->buffers.devices);
    if (options->kernel_cache) {
        pool->cache = (tw_kernel_cache){tw_kcache_ref(options->kernel_cache->cache), options->kernel_cache->engine};
        pool->options.kernel_cache = &pool->cache;
    }
    return failed ? tw_fail_memory(error) : TW_OK;
}

void tw_runtime_pool_drop_options(tw_instance_pool *pool)
{
    for (size_t i = 0; i < pool->global_count; i++) tw_lent_global_release(pool->globals[i].global);
    if (pool->buffers.devices) tw_devices_close(pool->buffers.devices);
    if (pool->cache.cache) tw_kcache_unref(pool->cache.cache);
}
