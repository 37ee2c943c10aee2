/* SPDX-License-Identifier: Apache-2.0 */
/* tensor-wasm run: one module, one instance, its output and exit code.
 *
 * The order is: everything of the command line that can be wrong is looked at before any guest code runs, so that a
 * usage error has no effects; then spawn, `_initialize` for a reactor, the function; then the report; then the exit
 * code. */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/background.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/invoke.h"
#include "cli/message.h"
#include "cli/state.h"
#include "cli/wasi.h"
#include "cli/watch.h"
#include "tensorwasm/tensorwasm.h"

typedef struct settings {
    const char *invoke, *argv0, *cache_dir, *report_file;
    const char *from_snapshot, *snapshot_after, *snapshot_key;
    cli_list dirs, env;
    uint64_t timeout_ns, max_memory, max_stack;
    uint32_t threads;
    int offload, report_format;
    bool canonical_nan, report, no_cache, quiet, verbose;
} settings;

enum { REPORT_UNASKED = -1 };
#define NO_LIMIT       UINT64_MAX /* but the engine's, and the machine's */
#define PRIVATE_MEMORY ((uint64_t)1 << 20) /* of the rewriter's; more than it takes */
enum { MIN_STACK = 64 << 10, MAX_STACK = 256 << 20 }; /* tw_engine_options' */

/* The order is that of the words of --offload, which is that of tw_offload. */
_Static_assert(TW_OFFLOAD_OFF == 0 && TW_OFFLOAD_AUTO == 1 && TW_OFFLOAD_FORCE == 2, "--offload's words");
_Static_assert(TW_FORMAT_TEXT == 0 && TW_FORMAT_JSON == 1, "--report-format's words");

static const settings defaults = {
    .offload = TW_OFFLOAD_AUTO,
    .report_format = REPORT_UNASKED,
    .max_memory = NO_LIMIT,
    .max_stack = 1 << 20,
};

/* What a run holds; everything may be NULL. */
typedef struct holder {
    const settings *s;
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

static tw_status make_engine(holder *h, tw_error *error)
{
    tw_engine_options options = TW_ENGINE_OPTIONS_INIT;
    options.offload = (tw_offload)h->s->offload;
    options.canonical_nan = h->s->canonical_nan;
    options.threads = h->s->threads;
    if (h->s->max_memory != NO_LIMIT) {
        options.max_memory = h->s->max_memory;
        if (options.max_memory < NO_LIMIT - PRIVATE_MEMORY) /* the user's word counts more than a control group's */
            options.max_committed = options.max_memory + PRIVATE_MEMORY;
    }
    options.max_stack = h->s->max_stack;
    return tw_engine_new(&options, &h->engine, error);
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
static tw_status check_folder(const holder *h, tw_error *error)
{
    const char *refusal = tw_kernel_cache_refusal(h->cache);
    if (!refusal) return TW_OK;
    *error = (tw_error){.status = TW_IO, .function = TW_NO_FUNCTION, .offset = TW_NO_OFFSET};
    snprintf(error->message, sizeof error->message, "--cache-dir: %s", refusal);
    if (h->s->cache_dir) return TW_IO;
    if (h->s->verbose) cli_say("%s", refusal);
    return TW_OK;
}

static tw_status make_cache(holder *h, tw_error *error)
{
    const settings *s = h->s;
    if (s->offload == TW_OFFLOAD_OFF) return TW_OK;
    tw_kernel_cache_options options = TW_KERNEL_CACHE_OPTIONS_INIT;
    if (!s->no_cache) h->folder = s->cache_dir ? strdup(s->cache_dir) : default_cache_folder();
    options.directory = h->folder;
    tw_status status = tw_kernel_cache_new(h->engine, &options, &h->cache, error);
    return status ? status : check_folder(h, error);
}

static void tell_cache(const holder *h, bool goes_on)
{
    tw_kernel_cache_stats stats;
    tw_kernel_cache_get_stats(h->cache, &stats);
    cli_say("kernels: %" PRIu64 " from disk, %" PRIu64 " refused there, %" PRIu64 " in memory at the end",
            stats.disk_hits, stats.disk_rejected, stats.kernels);
    if (goes_on) cli_say("kernels: the rest is compiled in the background, for the next run");
}

static tw_status load(holder *h, tw_error *error)
{
    uint8_t *bytes;
    size_t size;
    tw_status status = cli_read_module(h->path, &bytes, &size, error);
    if (status) return status;
    status = tw_module_new(h->engine, bytes, size, &h->module, error);
    free(bytes);
    return status;
}

static tw_status spawn(holder *h, tw_error *error)
{
    tw_spawn_options options = TW_SPAWN_OPTIONS_INIT;
    options.kernel_cache = h->cache;
    options.wasi = &h->wasi.options;
    if (h->s->max_memory != NO_LIMIT) options.max_memory = h->s->max_memory;
    options.timeout_ns = h->s->timeout_ns;
    options.exit_code = &h->exit_code;
    options.capturable = h->captured_export != NULL;
    if (!h->snapshot) return tw_instance_spawn(h->module, &options, &h->instance, error);
    return tw_instance_restore(h->module, h->snapshot, &options, &h->instance, error);
}

/* ---- snapshots ---- */

/* EXPORT=FILE. */
static int prepare_capture(holder *h)
{
    const char *text = h->s->snapshot_after, *equals = text ? strchr(text, '=') : NULL;
    if (!text) return CLI_EXIT_DONE;
    if (!equals || equals == text || !equals[1])
        return cli_usage_error(false, "run", "--snapshot-after: '%s' is not EXPORT=FILE", text);
    h->captured_export = strndup(text, (size_t)(equals - text));
    h->captured_file = equals + 1;
    return h->captured_export ? CLI_EXIT_DONE : CLI_EXIT_FAILURE;
}

static tw_status capture_after(void *context, const char *export, tw_error *error)
{
    holder *h = context;
    if (!h->captured_export || strcmp(export, h->captured_export)) return TW_OK;
    tw_status status = cli_state_save(h->instance, h->s->snapshot_key, h->captured_file, error);
    h->captured = status == TW_OK;
    return status;
}

/* The guest was told its arguments and environment before. */
static int prepare_restore(holder *h, const cli_operands *operands)
{
    const settings *s = h->s;
    tw_error error;
    if (!s->from_snapshot) return CLI_EXIT_DONE;
    if (s->env.count || s->argv0)
        return cli_usage_error(false, "run", "%s: a guest from a snapshot has the arguments and environment that it had",
                               s->env.count ? "--env" : "--argv0");
    if (operands->count > 1 && !s->invoke)
        return cli_usage_error(false, "run", "'%s': a guest from a snapshot has the arguments that it had", operands->items[1]);
    h->wasi.options.arg_count = 0;
    if (cli_state_read(s->snapshot_key, s->from_snapshot, &h->snapshot, &error))
        return cli_failure(false, s->from_snapshot, &error);
    return CLI_EXIT_DONE;
}

static int prepare_calls(holder *h, const cli_operands *operands)
{
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
    cli_watch_stop();
    return NULL;
}

/* The guest runs on the stack of the thread that calls it, and the main thread's may be smaller than --max-stack: it
 * gets a thread of its own, with room for the host functions that it calls. */
static tw_status live(holder *h, tw_error *error)
{
    enum { HOST_STACK = 2 << 20 }; /* 1/2 MiB of that for stubs */
    life l = {h, error, TW_OK};
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    bool started = !pthread_attr_setstacksize(&attributes, (size_t)h->s->max_stack + HOST_STACK) &&
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
    default: return cli_failure(false, h->path, error);
    }
}

static bool wants_report(const settings *s)
{
    return s->report || s->report_file || s->report_format != REPORT_UNASKED;
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
    if (status == TW_EXIT && h->captured_export && !h->captured && !h->s->quiet)
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
    tw_status status = make_engine(h, &error);
    if (status == TW_INVALID_ARGUMENT) return cli_usage_error(false, "run", "%s", error.message);
    if (status) return cli_failure(false, NULL, &error);
    if (h->s->verbose && tw_engine_fallback(h->engine)) cli_say("%s", tw_engine_fallback(h->engine));
    if (load(h, &error)) return cli_failure(false, h->path, &error);
    int code = prepare_calls(h, operands);
    if (code) return code;
    if (make_cache(h, &error)) return cli_failure(false, NULL, &error);
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

static int run(const void *given, const cli_operands *operands)
{
    const settings *s = given;
    holder h = {.s = s, .path = operands->items[0]};
    if (s->max_stack < MIN_STACK || s->max_stack > MAX_STACK)
        return cli_usage_error(false, "run", "--max-stack must lie between 64KiB and 256MiB");
    int code = cli_wasi_prepare(&h.wasi, &s->dirs, &s->env, s->argv0, operands);
    if (!code) code = prepare_capture(&h);
    if (!code) code = prepare_restore(&h, operands);
    /* A guest that writes to a closed pipe or past the limit on file sizes gets an error code, as from any WASI host. */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    if (!code) code = run_guest(&h, operands);
    release(&h);
    return code;
}

#define FIELD(name) offsetof(settings, name)
static const cli_option options[] = {
    {CLI_HEADING, 0, "", NULL, 0, "What is called", CLI_HINT_NONE},
    {CLI_TEXT, 0, "invoke", "NAME", FIELD(invoke),
     "calls the export NAME instead of _start, with the arguments behind MODULE typed by its signature, and prints its "
     "results one a line",
     CLI_HINT_NONE},
    {CLI_HEADING, 0, "", NULL, 0, "Snapshots", CLI_HINT_NONE},
    {CLI_TEXT, 0, "snapshot-after", "EXPORT=FILE", FIELD(snapshot_after),
     "writes a snapshot to FILE when the call of EXPORT has come back; if nothing else calls it, it is called first, without "
     "arguments",
     CLI_HINT_NONE},
    {CLI_TEXT, 0, "from-snapshot", "FILE", FIELD(from_snapshot),
     "goes on from a snapshot of the same module, with its arguments and environment; _initialize isn't called again, "
     "tw_after_restore is, if there is one; each folder that the guest had must be given with --dir HOST::GUEST",
     CLI_HINT_FILE},
    {CLI_TEXT, 0, "snapshot-key-file", "FILE", FIELD(snapshot_key),
     "signs the snapshot that is written with this key (HMAC-SHA256), and takes only one that was signed with it; the file has "
     "mode 0600 and 32 bytes or 64 hexadecimal digits",
     CLI_HINT_FILE},
    {CLI_HEADING, 0, "", NULL, 0, "What the guest sees", CLI_HINT_NONE},
    {CLI_LIST, 0, "dir", "HOST[::GUEST]", FIELD(dirs),
     "gives the guest the folder HOST, under the name GUEST if there is one; may be given again", CLI_HINT_FOLDER},
    {CLI_LIST, 0, "env", "NAME[=VALUE]", FIELD(env),
     "sets an environment variable; without =VALUE it is taken over from ours; may be given again", CLI_HINT_NONE},
    {CLI_TEXT, 0, "argv0", "NAME", FIELD(argv0), "the guest's argument 0, instead of MODULE's file name",
     CLI_HINT_NONE},
    {CLI_HEADING, 0, "", NULL, 0, "Limits", CLI_HINT_NONE},
    {CLI_DURATION, 0, "timeout", "TIME", FIELD(timeout_ns),
     "ends the guest after TIME (500ms, 2s, 1m), also when it sleeps or waits for input; exit code 124", CLI_HINT_NONE},
    {CLI_SIZE, 0, "max-memory", "SIZE", FIELD(max_memory),
     "the most linear memory it may have (64KiB, 256MiB); default 4GiB, or what a control group leaves", CLI_HINT_NONE},
    {CLI_SIZE, 0, "max-stack", "SIZE", FIELD(max_stack), "the most stack its calls may take; default 1MiB",
     CLI_HINT_NONE},
    {CLI_HEADING, 0, "", NULL, 0, "Kernels", CLI_HINT_NONE},
    {CLI_CHOICE, 0, "offload", "off|auto|force", FIELD(offload),
     "runs hot loops as native kernels: never, where it pays (the default), or wherever it is right", CLI_HINT_NONE},
    {CLI_COUNT, 0, "threads", "N", FIELD(threads), "threads for kernels; default: as many as the process may use",
     CLI_HINT_NONE},
    {CLI_FLAG, 0, "canonical-nan", NULL, FIELD(canonical_nan),
     "gives NaNs made by arithmetic one bit pattern, so that memories are equal to the last bit", CLI_HINT_NONE},
    {CLI_TEXT, 0, "cache-dir", "FOLDER", FIELD(cache_dir),
     "keeps compiled kernels in FOLDER instead of ~/.cache/tensorwasm/kernels; what isn't compiled when the guest ends is "
     "finished in the background",
     CLI_HINT_FOLDER},
    {CLI_FLAG, 0, "no-cache", NULL, FIELD(no_cache), "keeps kernels in memory only", CLI_HINT_NONE},
    {CLI_HEADING, 0, "", NULL, 0, "What is told", CLI_HINT_NONE},
    {CLI_FLAG, 0, "report", NULL, FIELD(report), "prints at the end what became of each region that was found; 'inspect' tells of loops that are none", CLI_HINT_NONE},
    {CLI_CHOICE, 0, "report-format", "text|json", FIELD(report_format), "the report's form; default text",
     CLI_HINT_NONE},
    {CLI_TEXT, 0, "report-file", "FILE", FIELD(report_file), "writes the report to FILE instead of stderr",
     CLI_HINT_FILE},
    {CLI_FLAG, 'q', "quiet", NULL, FIELD(quiet), "no hints, only errors", CLI_HINT_NONE},
    {CLI_FLAG, 'v', "verbose", NULL, FIELD(verbose),
     "tells what falls back to something lesser and why, and where kernels came from", CLI_HINT_NONE},
};

static const cli_example examples[] = {
    {"tensor-wasm hello.wasm", "runs a WASI program; 'run' may be left out"},
    {"tensor-wasm run --dir data --env LANG=C app.wasm data/in.txt -o data/out.txt",
     "everything behind app.wasm is the program's; it sees the folder data"},
    {"tensor-wasm run --dir /srv/in::/in app.wasm /in/a.txt", "the guest knows the folder /srv/in as /in"},
    {"tensor-wasm run --invoke add add.wat 7 -5", "prints 2"},
    {"tensor-wasm run --invoke dot v.wasm f32x4:1,2,3,nan i32x4:1,2,3,4", "vectors are written lane by lane"},
    {"tensor-wasm run --timeout 2s --max-memory 256MiB app.wasm", "bounds time and memory"},
    {"tensor-wasm run --snapshot-after warm=app.snap app.wasm", "calls warm, keeps what has become of the guest, and goes on"},
    {"tensor-wasm run --from-snapshot app.snap --invoke query app.wasm 7", "goes on from there, in any process"},
    {"tensor-wasm run --report --offload=force gemm.wasm", "tells which loops ran as kernels, and why others didn't"},
    {"generate-wasm | tensor-wasm -", "runs a module that comes from a pipe"},
};

const cli_command cli_run = {
    .name = "run",
    .operands = "MODULE [args...]",
    .summary = "runs a WebAssembly module",
    .text =
        "MODULE is a .wasm or a .wat file, or - for stdin. All options come before it: everything behind it is the "
        "guest's. 'tensor-wasm MODULE' is short for 'tensor-wasm run MODULE'.\n"
        "A module that exports _start is a WASI program: it gets arguments, environment, folders and the standard "
        "streams, and its exit code is ours. One that exports _initialize is a reactor: that is called first, then the "
        "function of --invoke.\n"
        "A trap prints its kind, its place in the module and a backtrace, and exits with 134; a time-out exits with "
        "124.",
    .options = options,
    .option_count = CLI_LENGTH(options),
    .examples = examples,
    .example_count = CLI_LENGTH(examples),
    .defaults = &defaults,
    .settings_size = sizeof defaults,
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .rest_is_guests = true,
    .run = run,
};
