/* SPDX-License-Identifier: Apache-2.0 */
/* tensor-wasm bench: starts and calls of one guest, over and over (starts.h), and how long they took. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/background.h"
#include "cli/guest.h"
#include "cli/message.h"
#include "cli/starts.h"
#include "cli/wasi.h"
#include "cli/watch.h"

typedef struct settings {
    cli_guest_settings guest; /* first: its rows of options count from here */
    uint64_t starts, duration_ns, warm_up_ns;
    uint32_t workers, calls;
    bool fresh, pooled, output, no_warm_up, json;
} settings;
_Static_assert(offsetof(settings, guest) == 0, "CLI_GUEST_FIELD counts from there");

#define SECOND UINT64_C(1000000000)
enum { MAX_WORKERS = 1024 };
static const settings defaults = {.guest = CLI_GUEST_DEFAULTS("bench"), .warm_up_ns = SECOND / 5, .workers = 1, .calls = 1};

/* What it holds; everything may be NULL. */
typedef struct holder {
    const settings *s;
    const char *path;
    tw_engine *engine;
    tw_kernel_cache *cache;
    char *folder;
    tw_module *module;
    tw_instance_pool *pool;
    int32_t exit_code; /* of a start function of the pool's */
    cli_wasi wasi;
    cli_invocation invocation;
    cli_starts *result;
} holder;

static const char *const parts[CLI_PARTS] = {[CLI_PART_START] = "start", [CLI_PART_CALL] = "call", [CLI_PART_END] = "end"};
static const struct { const char *name; double percent; } columns[] = {{"p50", 50}, {"p95", 95}, {"p99", 99}};

static double seconds(uint64_t ns) { return (double)ns / 1e9; }

static double a_second(uint64_t count, uint64_t ns) { return ns ? (double)count / seconds(ns) : 0; }

/* ---- as text ---- */

static void print_duration(double ns)
{
    static const struct { double worth; const char *unit; } units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
    size_t i = 0;
    while (i < CLI_LENGTH(units) - 1 && ns < units[i].worth) i++;
    double value = ns / units[i].worth;
    printf("  %7.*f %-2s", value < 10 ? 2 : value < 100 ? 1 : 0, value, units[i].unit);
}

static void print_part(const char *name, const cli_latency *latency)
{
    if (!latency->count) return;
    printf("%-5s", name);
    print_duration(cli_latency_mean(latency));
    for (size_t i = 0; i < CLI_LENGTH(columns); i++) print_duration((double)cli_latency_percentile(latency, columns[i].percent));
    print_duration((double)latency->most);
    putchar('\n');
}

static const char *way(const settings *s) { return s->fresh ? "each a new instance" : "from a pool"; }

static void print_text(const holder *h)
{
    const cli_starts *r = h->result;
    const char *name = h->invocation.name;
    printf("%s%s%s: %" PRIu64 " starts, %s, by %u thread%s in %.3f s, %.3f s of CPU time%s\n", h->path, name ? ", " : "", name ? name : "",
           r->starts, way(h->s), h->s->workers, h->s->workers == 1 ? "" : "s", seconds(r->wall_ns), seconds(r->cpu_ns),
           r->interrupted ? ", interrupted" : "");
    printf("starts/s %14.1f\n", a_second(r->starts, r->wall_ns));
    if (name) printf("calls/s  %14.1f\n", a_second(r->calls, r->wall_ns));
    if (!r->starts) return;
    printf("%-5s  %10s  %10s  %10s  %10s  %10s\n", "", "mean   ", "p50   ", "p95   ", "p99   ", "max   ");
    for (int p = 0; p < CLI_PARTS; p++) print_part(parts[p], &r->parts[p]);
}

/* ---- as JSON ---- */

static json_t *json_part(const cli_latency *latency)
{
    json_t *part = json_pack("{s:I, s:f, s:I, s:I}", "count", (json_int_t)latency->count, "mean", cli_latency_mean(latency), "min",
                             (json_int_t)latency->least, "max", (json_int_t)latency->most);
    for (size_t i = 0; part && i < CLI_LENGTH(columns); i++)
        json_object_set_new(part, columns[i].name, json_integer((json_int_t)cli_latency_percentile(latency, columns[i].percent)));
    return part;
}

static void print_json(const holder *h)
{
    const cli_starts *r = h->result;
    json_t *latency = json_object();
    for (int p = 0; p < CLI_PARTS; p++) json_object_set_new(latency, parts[p], json_part(&r->parts[p]));
    cli_print_json(json_pack("{s:o, s:o, s:s, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:b, s:o, s:o}",
                             "module", cli_json_text(h->path), "function", h->invocation.name ? cli_json_text(h->invocation.name) : json_null(),
                             "mode", h->s->fresh ? "fresh" : "pooled", "threads", (json_int_t)h->s->workers,
                             "calls_per_start", (json_int_t)h->s->calls, "starts", (json_int_t)r->starts, "calls", (json_int_t)r->calls,
                             "exits", (json_int_t)r->exits, "seconds", seconds(r->wall_ns), "cpu_seconds", seconds(r->cpu_ns),
                             "starts_per_second", a_second(r->starts, r->wall_ns), "calls_per_second", a_second(r->calls, r->wall_ns),
                             "interrupted", r->interrupted, "latency_ns", latency, "error", r->status ? cli_json_error(&r->error) : json_null()));
}

/* ---- progress ---- */

static void clear_line(void) { fputs("\r\033[K", stderr); }

static void show_progress(void *context, uint64_t starts, uint64_t ns)
{
    const settings *s = context;
    clear_line();
    fprintf(stderr, "%" PRIu64, starts);
    if (s->starts) fprintf(stderr, " of %" PRIu64, s->starts);
    fprintf(stderr, " starts, %.0f/s, %.0f s", a_second(starts, ns), seconds(ns));
    if (s->duration_ns) fprintf(stderr, " of %.0f s", seconds(s->duration_ns));
    fflush(stderr);
}

static bool shows_progress(const settings *s) { return !s->guest.quiet && isatty(STDERR_FILENO); }

/* ---- the run ---- */

static tw_status make_pool(holder *h, const tw_spawn_options *spawn, tw_error *error)
{
    tw_instance_pool_options options = TW_INSTANCE_POOL_OPTIONS_INIT;
    options.max_idle = h->s->workers;
    return h->s->fresh ? TW_OK : tw_instance_pool_new(h->module, spawn, &options, &h->pool, error);
}

static tw_status measure(holder *h, tw_error *error)
{
    const settings *s = h->s;
    tw_spawn_options spawn = TW_SPAWN_OPTIONS_INIT;
    spawn.kernel_cache = h->cache;
    spawn.wasi = &h->wasi.options;
    if (s->guest.max_memory != CLI_NO_LIMIT) spawn.max_memory = s->guest.max_memory;
    spawn.timeout_ns = s->guest.timeout_ns;
    spawn.exit_code = &h->exit_code;
    tw_status status = make_pool(h, &spawn, error);
    if (status) return status;
    bool shows = shows_progress(s);
    cli_starts_options options = {.module = h->module, .pool = h->pool, .spawn = &spawn, .invocation = &h->invocation, .most = s->starts,
                                  .duration_ns = s->duration_ns, .warm_up_ns = s->no_warm_up ? 0 : s->warm_up_ns, .calls = s->calls,
                                  .threads = s->workers, .stack = (size_t)s->guest.max_stack + CLI_HOST_STACK,
                                  .progress = shows ? show_progress : NULL, .context = (void *)s};
    status = cli_starts_run(&options, h->result, error);
    if (shows) clear_line();
    return status;
}

/* As `run` ends, for the guest that failed. */
static int exit_code(const holder *h)
{
    const cli_starts *r = h->result;
    char message[128];
    switch (r->status) {
    case TW_OK: return r->interrupted ? CLI_EXIT_INTERRUPTED : CLI_EXIT_DONE;
    case TW_EXIT:
        cli_say("%s: a guest exited with %d", h->path, r->exit_code ? r->exit_code : h->exit_code);
        return r->exit_code ? r->exit_code : h->exit_code;
    case TW_TRAP: cli_say("%s", r->error.message); return CLI_EXIT_TRAP;
    case TW_TIMEOUT:
        cli_timeout_message(message, h->s->guest.timeout_ns);
        cli_say("%s", message);
        return CLI_EXIT_TIMEOUT;
    default: return cli_failure(false, h->path, &r->error);
    }
}

/* What was measured is told in any case, unless that is nothing. */
static int finish(const holder *h)
{
    const cli_starts *r = h->result;
    if (h->s->json) print_json(h);
    else if (r->starts || !r->status) print_text(h);
    fflush(stdout);
    int code = exit_code(h);
    if (r->given_up) _exit(code); /* a thread is in the guest still: nothing can be taken down under it */
    if (h->cache && h->folder) cli_finish_in_background(h->cache, h->folder);
    return code;
}

static int prepare(holder *h, const cli_operands *operands)
{
    h->invocation.command = h->s->guest.command;
    h->wasi.command = h->s->guest.command;
    int code = cli_wasi_prepare(&h->wasi, &h->s->guest.dirs, &h->s->guest.env, h->s->guest.argv0, operands);
    h->wasi.options.inherit_stdin = false;
    h->wasi.options.inherit_stdout = h->wasi.options.inherit_stderr = h->s->output;
    h->result = calloc(1, sizeof *h->result);
    if (!h->result) cli_say("out of memory");
    return code ? code : h->result ? CLI_EXIT_DONE : CLI_EXIT_FAILURE;
}

static int bench(holder *h, const cli_operands *operands)
{
    const settings *s = h->s;
    tw_error error;
    tw_status status = cli_guest_engine(&s->guest, s->workers, &h->engine, &error);
    if (status == TW_INVALID_ARGUMENT) return cli_usage_error(s->json, s->guest.command, "%s", error.message);
    if (status) return cli_failure(s->json, NULL, &error);
    if (cli_guest_load(h->engine, h->path, &h->module, &error)) return cli_failure(s->json, h->path, &error);
    int code = cli_invocation_prepare(&h->invocation, h->module, s->guest.invoke, operands);
    if (code) return code;
    if (cli_guest_cache(&s->guest, h->engine, &h->folder, &h->cache, &error)) return cli_failure(s->json, NULL, &error);
    if (!h->invocation.name && h->invocation.hint[0] && !s->guest.quiet) cli_say("%s: %s", h->path, h->invocation.hint);
    if (measure(h, &error)) return cli_failure(s->json, h->path, &error);
    return finish(h);
}

static void release(holder *h)
{
    tw_instance_pool_free(h->pool);
    tw_module_free(h->module);
    tw_kernel_cache_free(h->cache);
    tw_engine_free(h->engine);
    cli_invocation_free(&h->invocation);
    cli_wasi_free(&h->wasi);
    free(h->folder);
    free(h->result);
}

static int check(const settings *s)
{
    const char *wrong = s->fresh && s->pooled                 ? "--fresh and --pooled can't both be"
                        : !s->workers || s->workers > MAX_WORKERS ? "-c: between 1 and 1024 threads"
                        : !s->calls                           ? "--calls must be 1 at least"
                        : s->guest.max_stack < CLI_MIN_STACK || s->guest.max_stack > CLI_MAX_STACK
                            ? "--max-stack must lie between 64KiB and 256MiB" : NULL;
    return wrong ? cli_usage_error(s->json, s->guest.command, "%s", wrong) : CLI_EXIT_DONE;
}

static int run(const void *given, const cli_operands *operands)
{
    settings s = *(const settings *)given;
    if (!s.starts && !s.duration_ns) s.duration_ns = 2 * SECOND;
    int code = check(&s);
    if (code) return code;
    holder h = {.s = &s, .path = operands->items[0]};
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    code = prepare(&h, operands);
    if (!code) code = bench(&h, operands);
    release(&h);
    return code;
}

#define FIELD(name) offsetof(settings, name)
static const cli_option options[] = {
    {CLI_HEADING, 0, "", NULL, 0, "What is called", CLI_HINT_NONE},
    {CLI_TEXT, 0, "invoke", "NAME", CLI_GUEST_FIELD(invoke),
     "calls the export NAME instead of _start, with the arguments behind MODULE typed by its signature", CLI_HINT_NONE},
    {CLI_COUNT, 0, "calls", "N", FIELD(calls), "calls it N times in each instance; default 1", CLI_HINT_NONE},
    {CLI_HEADING, 0, "", NULL, 0, "How often", CLI_HINT_NONE},
    {CLI_NUMBER, 'n', "starts", "N", FIELD(starts), "so many starts, all threads together; default: as many as take 2s", CLI_HINT_NONE},
    {CLI_DURATION, 0, "duration", "TIME", FIELD(duration_ns), "no new start after TIME, however many there have been", CLI_HINT_NONE},
    {CLI_COUNT, 'c', "workers", "THREADS", FIELD(workers), "threads that start and call; default 1", CLI_HINT_NONE},
    {CLI_FLAG, 0, "pooled", NULL, FIELD(pooled), "takes each instance from a pool and gives it back, which resets it (the default)",
     CLI_HINT_NONE},
    {CLI_FLAG, 0, "fresh", NULL, FIELD(fresh), "makes a new instance for each start, and frees it", CLI_HINT_NONE},
    {CLI_DURATION, 0, "warm-up", "TIME", FIELD(warm_up_ns), "starts that aren't counted, before, on each thread; default 200ms", CLI_HINT_NONE},
    {CLI_FLAG, 0, "no-warm-up", NULL, FIELD(no_warm_up), "counts from the first start", CLI_HINT_NONE},
    {CLI_HEADING, 0, "", NULL, 0, "What the guest sees", CLI_HINT_NONE},
    CLI_GUEST_SEES,
    {CLI_FLAG, 0, "output", NULL, FIELD(output), "lets through what the guest prints; otherwise that goes nowhere", CLI_HINT_NONE},
    CLI_GUEST_LIMITS,
    CLI_GUEST_KERNELS,
    {CLI_HEADING, 0, "", NULL, 0, "Output", CLI_HINT_NONE},
    {CLI_FLAG, 0, "json", NULL, FIELD(json), "prints JSON; times in nanoseconds", CLI_HINT_NONE},
    {CLI_FLAG, 'q', "quiet", NULL, CLI_GUEST_FIELD(quiet), "no progress and no hints, only errors", CLI_HINT_NONE},
};

static const cli_example examples[] = {
    {"tensor-wasm bench --invoke add add.wat 7 -5", "starts from a pool for 2 seconds, with one call each"},
    {"tensor-wasm bench --fresh -n 10000 app.wasm", "what 10,000 new instances take that run a WASI program"},
    {"tensor-wasm bench -c 4 --invoke handle --calls 10 handler.wasm", "four threads that share a pool, ten calls in each instance"},
    {"tensor-wasm bench --json --duration 10s --invoke f m.wasm | jq .latency_ns.call.p99", "one figure"},
};

const cli_command cli_bench = {
    .name = "bench",
    .operands = "MODULE [args...]",
    .summary = "measures starts and calls of a module: how many a second, how long each takes",
    .text =
        "Starts MODULE over and over: from a pool of instances that are reset between two uses, or as new instances. Each start calls _start, "
        "or the function of --invoke; _initialize belongs to the start. Options may also stand behind MODULE: what is for the guest "
        "and begins with a dash comes behind '--', but for numbers. Its input is empty.\n"
        "What is told: starts and calls a second, and of each part the mean, the time that 50, 95 and 99 of 100 didn't exceed (1 % too "
        "high at most), and the longest. 'start' is until the function can be called, 'call' the function, 'end' the reset in a pool, or the freeing. "
        "The clock's own time, some 30 ns, is in each. Starts before that warm up caches and kernels aren't counted.\n"
        "Ctrl-C ends it and tells what has been measured till then, with exit code 130. A guest that traps, runs out of time or exits with "
        "another code than 0 ends it, too: what was measured is told, then why, with the exit code that 'run' would have.",
    .options = options,
    .option_count = CLI_LENGTH(options),
    .examples = examples,
    .example_count = CLI_LENGTH(examples),
    .defaults = &defaults,
    .settings_size = sizeof defaults,
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .takes_numbers = true,
    .run = run,
};
