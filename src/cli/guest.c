/* SPDX-License-Identifier: Apache-2.0 */
/* A guest's life. The order is: everything of the command line that can be wrong is looked at before any guest code runs, so
 * that a usage error has no effects; then spawn or restore, `_initialize` for a reactor, the function, the snapshot; then the
 * report; then the exit code. */
#include "cli/guest.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/background.h"
#include "cli/input.h"
#include "cli/invoke.h"
#include "cli/message.h"
#include "cli/wasi.h"
#include "cli/watch.h"
#include "tensorwasm/buffer.h"

#define PRIVATE_MEMORY ((uint64_t)1 << 20) /* of the rewriter's; more than it takes */

/* The order is that of the words of --offload, which is that of tw_offload. */
_Static_assert(TW_OFFLOAD_OFF == 0 && TW_OFFLOAD_AUTO == 1 && TW_OFFLOAD_FORCE == 2, "--offload's words");
_Static_assert(TW_FORMAT_TEXT == 0 && TW_FORMAT_JSON == 1, "--report-format's words");

/* What a run holds; everything may be NULL. */
typedef struct holder {
    const cli_guest_settings *s;
    const char *path;
    tw_engine *engine;
    tw_kernel_cache *cache;
    char *folder; /* of the cache, when it has one */
    FILE *report; /* where --report-file said */
    tw_module *module;
    tw_instance *instance;
    int32_t exit_code; /* of a start function that left through proc_exit: then there is no instance */
    cli_wasi wasi;
    cli_invocation invocation;
    tw_snapshot *snapshot; /* to begin with */
    char *captured_export; /* after which a snapshot is taken */
    const char *captured_file;
    bool captured;
} holder;

/* The user's word counts more than a control group's. */
static uint64_t committed(uint64_t max_memory, uint64_t guests)
{
    uint64_t each = max_memory < CLI_NO_LIMIT - PRIVATE_MEMORY ? max_memory + PRIVATE_MEMORY : max_memory;
    return each > CLI_NO_LIMIT / guests ? 0 : each * guests;
}

tw_status cli_guest_engine(const cli_guest_settings *s, uint32_t guests, tw_engine **out, tw_error *error)
{
    tw_engine_options options = TW_ENGINE_OPTIONS_INIT;
    options.offload = (tw_offload)s->offload;
    options.canonical_nan = s->canonical_nan;
    options.threads = s->threads;
    if (s->max_memory != CLI_NO_LIMIT) {
        options.max_memory = s->max_memory;
        options.max_committed = committed(s->max_memory, guests);
    }
    options.max_stack = s->max_stack;
    return tw_engine_new(&options, out, error);
}

/* ~/.cache/tensorwasm/kernels, or where XDG_CACHE_HOME says. NULL when neither is known. free() it. */
static char *default_cache_folder(void)
{
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char *folder = NULL;
    if (base && *base == '/') {
        if (asprintf(&folder, "%s/tensorwasm/kernels", base) < 0) return NULL;
    } else if (home && *home == '/') {
        if (asprintf(&folder, "%s/.cache/tensorwasm/kernels", home) < 0) return NULL;
    }
    return folder;
}

/* A folder that was named must be usable; without the usual one kernels live in memory only. */
static tw_status check_folder(const cli_guest_settings *s, const tw_kernel_cache *cache, tw_error *error)
{
    const char *refusal = tw_kernel_cache_refusal(cache);
    if (!refusal) return TW_OK;
    *error = (tw_error){.status = TW_IO, .function = TW_NO_FUNCTION, .offset = TW_NO_OFFSET};
    snprintf(error->message, sizeof error->message, "--cache-dir: %s", refusal);
    if (s->cache_dir) return TW_IO;
    if (s->verbose) cli_say("%s", refusal);
    return TW_OK;
}

tw_status cli_guest_cache(const cli_guest_settings *s, tw_engine *engine, char **folder, tw_kernel_cache **out, tw_error *error)
{
    if (s->offload == TW_OFFLOAD_OFF) return TW_OK;
    tw_kernel_cache_options options = TW_KERNEL_CACHE_OPTIONS_INIT;
    if (!s->no_cache) *folder = s->cache_dir ? strdup(s->cache_dir) : default_cache_folder();
    options.directory = *folder;
    tw_status status = tw_kernel_cache_new(engine, &options, out, error);
    return status ? status : check_folder(s, *out, error);
}

static void tell_cache(const holder *h, bool goes_on)
{
    tw_kernel_cache_stats stats;
    tw_kernel_cache_get_stats(h->cache, &stats);
    cli_say("kernels: %" PRIu64 " from disk, %" PRIu64 " refused there, %" PRIu64 " in memory at the end",
            stats.disk_hits, stats.disk_rejected, stats.kernels);
    if (goes_on) cli_say("kernels: the rest is compiled in the background, for the next run");
}

tw_status cli_guest_load(tw_engine *engine, const char *path, tw_module **out, tw_error *error)
{
    uint8_t *bytes;
    size_t size;
    tw_status status = cli_read_module(path, &bytes, &size, error);
    if (status) return status;
    status = tw_module_new(engine, bytes, size, out, error);
    free(bytes);
    return status;
}

static void tell_buffers(const holder *h)
{
    tw_instance_buffer_info info;
    for (size_t i = 0; h->s->verbose && !tw_instance_buffer_at(h->instance, i, &info); i++)
        if (info.note) cli_say("buffer \"%s\" is on the host: %s", info.name, info.note);
}

/* Drivers are looked for when a buffer of theirs is to come back. */
static tw_status restore(holder *h, tw_spawn_options *options, tw_error *error)
{
    tw_buffer_restoring buffers = TW_BUFFER_RESTORING_INIT;
    tw_status status = tw_devices_open(NULL, &buffers.devices, error);
    if (status) return status;
    options->buffers = &buffers;
    status = tw_instance_restore(h->module, h->snapshot, options, &h->instance, error);
    tw_devices_close(buffers.devices);
    if (!status) tell_buffers(h);
    return status;
}

static tw_status spawn(holder *h, tw_error *error)
{
    tw_spawn_options options = TW_SPAWN_OPTIONS_INIT;
    options.kernel_cache = h->cache;
    options.wasi = &h->wasi.options;
    if (h->s->max_memory != CLI_NO_LIMIT) options.max_memory = h->s->max_memory;
    options.timeout_ns = h->s->timeout_ns;
    options.exit_code = &h->exit_code;
    options.capturable = h->captured_export || h->s->output;
    if (!h->snapshot) return tw_instance_spawn(h->module, &options, &h->instance, error);
    return restore(h, &options, error);
}

/* ---- snapshots ---- */

static int try_writing(const holder *h, const char *path)
{
    tw_error error;
    return cli_writing_try(&h->s->writing, &error) ? cli_failure(false, path, &error) : CLI_EXIT_DONE;
}

/* EXPORT=FILE, or just FILE. */
static int prepare_capture(holder *h)
{
    const char *text = h->s->snapshot_after, *equals = text ? strchr(text, '=') : NULL;
    if (h->s->output) return try_writing(h, h->s->output);
    if (!text) return CLI_EXIT_DONE;
    if (!equals || equals == text || !equals[1])
        return cli_usage_error(false, h->s->command, "--snapshot-after: '%s' is not EXPORT=FILE", text);
    h->captured_export = strndup(text, (size_t)(equals - text));
    h->captured_file = equals + 1;
    return h->captured_export ? try_writing(h, h->captured_file) : CLI_EXIT_FAILURE;
}

static tw_status capture_after(void *context, const char *export, tw_error *error)
{
    holder *h = context;
    if (!h->captured_export || strcmp(export, h->captured_export)) return TW_OK;
    tw_status status = cli_state_save(h->instance, &h->s->writing, h->captured_file, error);
    h->captured = status == TW_OK;
    return status;
}

/* After all calls: one that left through exit code 0 came back well, too. */
static tw_status capture_at_end(holder *h, tw_status ended, tw_error *error)
{
    bool well = ended == TW_OK || (ended == TW_EXIT && h->instance && tw_instance_exit_code(h->instance) == 0);
    tw_error own;
    if (!h->s->output || !well) return ended;
    tw_status status = cli_state_save(h->instance, &h->s->writing, h->s->output, &own);
    h->captured = status == TW_OK;
    if (status) *error = own;
    return status ? status : ended;
}

/* The guest was told its arguments and environment before. */
static int prepare_restore(holder *h, const cli_operands *operands)
{
    const cli_guest_settings *s = h->s;
    tw_snapshot_class why;
    tw_error error;
    if (!s->from_snapshot) return CLI_EXIT_DONE;
    if (s->env.count || s->argv0)
        return cli_usage_error(false, s->command, "%s: a guest from a snapshot has the arguments and environment that it had",
                               s->env.count ? "--env" : "--argv0");
    if (operands->count > 1 && !s->invoke)
        return cli_usage_error(false, s->command, "'%s': a guest from a snapshot has the arguments that it had", operands->items[1]);
    h->wasi.options.arg_count = 0;
    if (!cli_state_read(&s->reading, s->from_snapshot, &h->snapshot, &why, &error)) return CLI_EXIT_DONE;
    return why ? cli_state_refused(false, s->from_snapshot, why, &error) : cli_failure(false, s->from_snapshot, &error);
}

static int prepare_calls(holder *h, const cli_operands *operands)
{
    h->invocation.command = h->s->command;
    int code = cli_invocation_prepare(&h->invocation, h->module, h->s->invoke, operands);
    if (h->snapshot) h->invocation.initialize = false; /* it has been */
    if (!code && h->captured_export) code = cli_invocation_insert(&h->invocation, h->module, h->captured_export);
    return code;
}

static tw_status no_thread(tw_error *error)
{
    *error = (tw_error){TW_IO, TW_NO_FUNCTION, TW_NO_OFFSET, "no thread can be started: is a limit on processes met?"};
    return TW_IO;
}

typedef struct life {
    holder *h;
    tw_error *error;
    tw_status status;
} life;

/* From spawn to the last return, under one watch. */
static void *live_on_thread(void *given)
{
    life *l = given;
    holder *h = l->h;
    if (h->s->timeout_ns && !cli_watch_start(h->s->timeout_ns)) {
        l->status = no_thread(l->error);
        return NULL;
    }
    l->status = spawn(h, l->error);
    cli_invocation_watcher watcher = {capture_after, h};
    if (!l->status) l->status = cli_invocation_call(&h->invocation, h->instance, &watcher, l->error);
    l->status = capture_at_end(h, l->status, l->error);
    cli_watch_stop();
    return NULL;
}

/* The guest runs on the stack of the thread that calls it, and the main thread's may be smaller than --max-stack: it
 * gets a thread of its own, with room for the host functions that it calls. */
static tw_status live(holder *h, tw_error *error)
{
    life l = {h, error, TW_OK};
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    bool started = !pthread_attr_setstacksize(&attributes, (size_t)h->s->max_stack + CLI_HOST_STACK) &&
                   !pthread_create(&thread, &attributes, live_on_thread, &l);
    pthread_attr_destroy(&attributes);
    if (!started) return no_thread(error);
    pthread_join(thread, NULL);
    return l.status;
}

static int exit_code(const holder *h, tw_status status, const tw_error *error)
{
    char message[128];
    switch (status) {
    case TW_OK: return CLI_EXIT_DONE;
    case TW_EXIT: return h->instance ? tw_instance_exit_code(h->instance) : h->exit_code;
    case TW_TRAP: cli_say("%s", error->message); return CLI_EXIT_TRAP;
    case TW_TIMEOUT:
        cli_timeout_message(message, h->s->timeout_ns);
        cli_say("%s", message);
        if (h->s->verbose) cli_say("%s", error->message);
        return CLI_EXIT_TIMEOUT;
    case TW_LINK:
        cli_failure(false, h->path, error);
        if (!h->s->quiet) cli_say("this command offers WASI preview 1 and nothing else; what embeds TensorWasm can offer functions, memories, globals and tables");
        return CLI_EXIT_FAILURE;
    default: return cli_failure(false, h->path, error);
    }
}

static bool wants_report(const cli_guest_settings *s)
{
    return s->report || s->report_file || s->report_format != CLI_REPORT_UNASKED;
}

/* Before the guest runs: it would be a pity to lose the report for a slip in the file's name. */
static bool open_report(holder *h)
{
    const char *path = h->s->report_file;
    h->report = path ? fopen(path, "we") : stderr;
    if (!h->report) cli_say("--report-file: %s: %s", path, strerror(errno));
    return h->report != NULL;
}

static bool close_report(holder *h)
{
    bool closed = !h->report || h->report == stderr || !fclose(h->report);
    h->report = NULL;
    return closed;
}

static int report(holder *h)
{
    char *text;
    tw_error error;
    tw_format format = h->s->report_format == TW_FORMAT_JSON ? TW_FORMAT_JSON : TW_FORMAT_TEXT;
    if (tw_instance_report(h->instance, format, &text, &error)) return cli_failure(false, "the report", &error);
    bool written = fputs(text, h->report) >= 0;
    if (!close_report(h)) written = false;
    free(text);
    if (!written) cli_say("the report can't be written to %s", h->s->report_file ? h->s->report_file : "stderr");
    return written ? CLI_EXIT_DONE : CLI_EXIT_FAILURE;
}

/* The guest's own ending comes first: a report that fails is told, but only changes the code of a success. */
static int finish(holder *h, tw_status status, const tw_error *error)
{
    if (!status) cli_invocation_print(&h->invocation, stdout);
    fflush(stdout);
    int code = exit_code(h, status, error);
    if (status == TW_EXIT && (h->captured_export || h->s->output) && !h->captured && !h->s->quiet)
        cli_say("%s: no snapshot was written: the guest exited with %d", h->path, code);
    bool goes_on = h->cache && h->folder && cli_finish_in_background(h->cache, h->folder);
    if (h->s->verbose && h->cache) tell_cache(h, goes_on);
    if (wants_report(h->s) && h->instance) {
        int reported = report(h);
        if (code == CLI_EXIT_DONE) code = reported;
    }
    return code;
}

static int run_guest(holder *h, const cli_operands *operands)
{
    tw_error error;
    tw_status status = cli_guest_engine(h->s, 1, &h->engine, &error);
    if (status == TW_INVALID_ARGUMENT) return cli_usage_error(false, h->s->command, "%s", error.message);
    if (status) return cli_failure(false, NULL, &error);
    if (h->s->verbose && tw_engine_fallback(h->engine)) cli_say("%s", tw_engine_fallback(h->engine));
    if (cli_guest_load(h->engine, h->path, &h->module, &error)) return cli_failure(false, h->path, &error);
    int code = prepare_calls(h, operands);
    if (code) return code;
    if (cli_guest_cache(h->s, h->engine, &h->folder, &h->cache, &error)) return cli_failure(false, NULL, &error);
    if (!open_report(h)) return CLI_EXIT_FAILURE;
    if (!h->invocation.name && h->invocation.hint[0] && !h->s->quiet) cli_say("%s: %s", h->path, h->invocation.hint);
    return finish(h, live(h, &error), &error);
}

static void release(holder *h)
{
    close_report(h);
    tw_instance_free(h->instance);
    tw_snapshot_free(h->snapshot);
    free(h->captured_export);
    tw_module_free(h->module);
    tw_kernel_cache_free(h->cache);
    free(h->folder);
    tw_engine_free(h->engine);
    cli_invocation_free(&h->invocation);
    cli_wasi_free(&h->wasi);
}

int cli_guest_live(const cli_guest_settings *s, const cli_operands *operands)
{
    holder h = {.s = s, .path = operands->items[0]};
    if (s->max_stack < CLI_MIN_STACK || s->max_stack > CLI_MAX_STACK)
        return cli_usage_error(false, s->command, "--max-stack must lie between 64KiB and 256MiB");
    int code = cli_reading_check(&s->reading, false, s->command);
    if (!code) code = cli_writing_check(&s->writing, s->command);
    if (code) return code;
    h.wasi.command = s->command;
    code = cli_wasi_prepare(&h.wasi, &s->dirs, &s->env, s->argv0, operands);
    if (!code) code = prepare_capture(&h);
    if (!code) code = prepare_restore(&h, operands);
    /* A guest that writes to a closed pipe or past the limit on file sizes gets an error code, as from any WASI host. */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    if (!code) code = run_guest(&h, operands);
    release(&h);
    return code;
}
