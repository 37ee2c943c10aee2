/* SPDX-License-Identifier: Apache-2.0 */

/* Random loop nests: original against kernels.
 *
 *   nests --seconds T [--least N] [--jobs J] [--start SEED] [--offloaded PERCENT]   as many nests as fit, and at least N
 *                                                     were compared, or fewer than PERCENT of them reached a kernel
 *   nests --count N …                                 exactly N
 *   nests … --stop N                                  no more after N failures, which aren't made smaller
 *   nests … --show REFUSAL                            prints the nests that met it, and the detail
 *   nests … --sabotage 1                              compares with nests that lack a statement: a test of this test
 *   nests --seed SEED [--features MASK] [--dropped MASK] [--write FILE]             one nest; 0 equal, 1 different
 *
 * The parent only starts jobs and looks after them: a job that crashes has left the seed it was at in shared memory. A failing seed is
 * made smaller by taking features and statements away while it still fails. */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "compare.h"

extern char **environ;

enum { MAX_JOBS = 64, MAX_NAMES = 40, FAILURES_SHOWN = 2 };

typedef struct settings {
    const char *self, *write, *show;
    uint64_t start, seed, count;
    double seconds;
    uint32_t least, jobs, threads, offloaded, features, dropped, stop, sabotage;
    bool one;
} settings;

/* What a job tells its parent. */
typedef struct job {
    uint64_t nests, calls, skipped, offloaded, failures, seed;
    char mode[40];
    int step;
    uint64_t failed[FAILURES_SHOWN];
    struct {
        char name[32];
        uint64_t count;
    } refusals[MAX_NAMES];
} job;

typedef struct board {
    _Atomic uint64_t next;     /* batch */
    _Atomic uint64_t failures; /* of all jobs, for --stop */
    job jobs[MAX_JOBS];
} board;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- a job ---- */

static void watch(void *context, const nest *it, const char *mode, int step)
{
    job *j = context;
    j->seed = it->seed;
    snprintf(j->mode, sizeof j->mode, "%s", mode);
    j->step = step;
}

/* "dependence 1, few-iterations 3": one more nest for each name. */
static void count_refusals(job *j, const char *list)
{
    char copy[512], *rest = copy, *part;
    snprintf(copy, sizeof copy, "%s", list);
    while ((part = strsep(&rest, ",")) && *part) {
        char name[32];
        if (sscanf(part, " %31s", name) != 1) continue;
        for (int i = 0; i < MAX_NAMES; i++) {
            if (j->refusals[i].name[0] && strcmp(j->refusals[i].name, name) != 0) continue;
            snprintf(j->refusals[i].name, sizeof name, "%s", name);
            j->refusals[i].count++;
            break;
        }
    }
}

static void tell(const settings *s, job *j, const nest *it, const nest_verdict *verdict)
{
    j->nests++;
    j->calls += verdict->calls;
    j->skipped += verdict->skipped;
    j->offloaded += verdict->offloaded;
    if (verdict->differs && j->failures < FAILURES_SHOWN) j->failed[j->failures] = it->seed;
    j->failures += verdict->differs;
    count_refusals(j, verdict->refusals);
    if (s->show && strstr(verdict->refusals, s->show)) {
        printf("0x%016" PRIx64 ": %s (%s)\n", it->seed, verdict->refusals, verdict->detail);
        fflush(stdout);
    }
    if (verdict->differs) {
        printf("different: seed 0x%016" PRIx64 ": %s\n", it->seed, verdict->text);
        fflush(stdout);
    }
}

static void run_batch(const settings *s, uint64_t batch, job *j)
{
    static nest nests[CLASS_SIZE];
    static nest_verdict verdicts[CLASS_SIZE];
    for (uint32_t i = 0; i < CLASS_SIZE; i++)
        nest_generate(s->start / CLASS_SIZE * CLASS_SIZE + batch * CLASS_SIZE + i, s->features, s->dropped, &nests[i]);
    nests_compare(nests, CLASS_SIZE, s->threads, s->sabotage, watch, j, verdicts);
    for (uint32_t i = 0; i < CLASS_SIZE; i++) tell(s, j, &nests[i], &verdicts[i]);
}

static void run_job(const settings *s, board *b, uint32_t index, double end)
{
    for (;;) {
        uint64_t batch = atomic_fetch_add(&b->next, 1);
        if (s->count ? batch * CLASS_SIZE >= s->count : batch * CLASS_SIZE >= s->least && now() > end) break;
        if (s->stop && atomic_load(&b->failures) >= s->stop) break;
        uint64_t failures = b->jobs[index].failures;
        run_batch(s, batch, &b->jobs[index]);
        atomic_fetch_add(&b->failures, b->jobs[index].failures - failures);
    }
    exit(0);
}

/* ---- one nest ---- */

static int run_one(const settings *s)
{
    static nest it;
    static nest_verdict verdict;
    nest_generate(s->seed, s->features, s->dropped, &it);
    if (s->write) {
        size_t size;
        uint8_t *bytes = nests_module(&it, 1, &size);
        FILE *file = fopen(s->write, "wb");
        if (!file || fwrite(bytes, 1, size, file) != size || fclose(file)) return 2;
        free(bytes);
    }
    nests_compare(&it, 1, s->threads, s->sabotage, NULL, NULL, &verdict);
    printf("seed 0x%016" PRIx64 ": %s%s%s%s%s\n", s->seed,
           verdict.differs   ? verdict.text
           : verdict.skipped ? "skipped, the original takes too long"
                             : "equal",
           verdict.offloaded ? ", ran kernels" : ", no kernel", verdict.refusals[0] ? " (" : "", verdict.refusals,
           verdict.refusals[0] ? ")" : "");
    if (verdict.detail[0]) printf("  %s\n", verdict.detail);
    return verdict.differs;
}

/* ---- making a failure smaller ---- */

static bool fails(const settings *s, uint64_t seed, uint32_t features, uint32_t dropped)
{
    char text[4][32];
    snprintf(text[0], 32, "0x%" PRIx64, seed);
    snprintf(text[1], 32, "0x%x", features);
    snprintf(text[2], 32, "0x%x", dropped);
    snprintf(text[3], 32, "%u", s->threads);
    char *args[] = {(char *)s->self,
                    "--seed",
                    text[0],
                    "--features",
                    text[1],
                    "--dropped",
                    text[2],
                    "--threads",
                    text[3],
                    "--sabotage",
                    s->sabotage ? "1" : "0",
                    NULL};
    posix_spawn_file_actions_t quiet;
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&quiet, 2, "/dev/null", O_WRONLY, 0);
    pid_t child;
    int error = posix_spawn(&child, "/proc/self/exe", &quiet, NULL, args, environ), state = 0;
    posix_spawn_file_actions_destroy(&quiet);
    if (error || waitpid(child, &state, 0) != child) return false;
    return WIFSIGNALED(state) || (WIFEXITED(state) && WEXITSTATUS(state) == 1);
}

static void reduce(const settings *s, uint64_t seed)
{
    static const char *const names[] = {
#define FEATURE_NAME(name, text, meaning) text,
        FEATURE_MAP(FEATURE_NAME)
#undef FEATURE_NAME
    };
    uint32_t features = s->features, dropped = s->dropped;
    if (s->stop) return;
    if (!fails(s, seed, features, dropped)) {
        printf("reproduce (only in company of its batch so far): nests --start 0x%" PRIx64 " --count %d\n",
               seed / CLASS_SIZE * CLASS_SIZE, CLASS_SIZE);
        return;
    }
    for (int f = 0; f < FEATURE_COUNT; f++)
        if (fails(s, seed, features & ~(UINT32_C(1) << f), dropped)) features &= ~(UINT32_C(1) << f);
    for (int d = 0; d < MAX_STATEMENTS; d++)
        if (fails(s, seed, features, dropped | UINT32_C(1) << d)) dropped |= UINT32_C(1) << d;
    printf("reproduce: %s --seed 0x%" PRIx64 " --features 0x%x --dropped 0x%x --threads %u --write nest.wasm\n  needs:",
           s->self, seed, features, dropped, s->threads);
    for (int f = 0; f < FEATURE_COUNT; f++)
        if (features >> f & 1) printf(" %s", names[f]);
    printf("\n");
}

/* ---- the parent ---- */

static void add(job *sum, const job *j)
{
    sum->nests += j->nests;
    sum->calls += j->calls;
    sum->skipped += j->skipped;
    sum->offloaded += j->offloaded;
    sum->failures += j->failures;
    for (int i = 0; i < MAX_NAMES && j->refusals[i].name[0]; i++)
        for (uint64_t n = j->refusals[i].count; n; n--) count_refusals(sum, j->refusals[i].name);
}

static bool start_jobs(const settings *s, board *b, pid_t *children)
{
    double end = now() + s->seconds;
    for (uint32_t i = 0; i < s->jobs; i++) {
        children[i] = fork();
        if (children[i] < 0) return false;
        if (children[i] == 0) run_job(s, b, i, end);
    }
    return true;
}

/* Waits for the jobs; a crash is a failure of the nest that it happened in. */
static void await_jobs(const settings *s, board *b, const pid_t *children)
{
    for (uint32_t i = 0; i < s->jobs; i++) {
        int state;
        while (waitpid(children[i], &state, 0) < 0 && errno == EINTR) {}
        for (int f = 0; f < FAILURES_SHOWN && b->jobs[i].failed[f]; f++) reduce(s, b->jobs[i].failed[f]);
        if (WIFEXITED(state) && WEXITSTATUS(state) == 0) continue;
        b->jobs[i].failures++;
        atomic_fetch_add(&b->failures, 1);
        printf("crashed (%s %d): seed 0x%016" PRIx64 ", %s, call %d\n", WIFSIGNALED(state) ? "signal" : "exit",
               WIFSIGNALED(state) ? WTERMSIG(state) : WEXITSTATUS(state), b->jobs[i].seed, b->jobs[i].mode,
               b->jobs[i].step);
        reduce(s, b->jobs[i].seed);
    }
}

static void print_sum(const settings *s, const job *sum, double seconds)
{
    printf("nests: start 0x%" PRIx64 ", %" PRIu64 " nests, %" PRIu64 " calls in %.0f s; %" PRIu64
           " (%.0f %%) ran kernels, %" PRIu64 " skipped, %" PRIu64 " failures\n",
           s->start, sum->nests, sum->calls, seconds, sum->offloaded,
           sum->nests ? 100.0 * (double)sum->offloaded / (double)sum->nests : 0.0, sum->skipped, sum->failures);
    printf("nests that met a refusal at run time:");
    for (int i = 0; i < MAX_NAMES && sum->refusals[i].name[0]; i++)
        printf(" %s %" PRIu64, sum->refusals[i].name, sum->refusals[i].count);
    printf("\n");
}

static int run_many(const settings *s)
{
    board *b = mmap(NULL, sizeof *b, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (b == MAP_FAILED) return 2;
    printf("nests: start 0x%" PRIx64 "\n", s->start);
    fflush(stdout);
    pid_t children[MAX_JOBS];
    double began = now();
    if (!start_jobs(s, b, children)) return 2;
    await_jobs(s, b, children);
    job sum = {0};
    for (uint32_t i = 0; i < s->jobs; i++) add(&sum, &b->jobs[i]);
    print_sum(s, &sum, now() - began);
    bool enough = sum.nests >= s->least && sum.offloaded * 100 >= sum.nests * s->offloaded;
    if (!enough)
        printf("nests: too few: at least %u nests, %u %% of them in kernels, are asked for\n", s->least, s->offloaded);
    return sum.failures || !enough;
}

static bool read_settings(int argc, char **argv, settings *s)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *name = argv[i], *value = argv[i + 1];
        uint64_t n = strtoull(value, NULL, 0);
        if (!strcmp(name, "--seconds")) s->seconds = strtod(value, NULL);
        else if (!strcmp(name, "--count")) s->count = n;
        else if (!strcmp(name, "--least")) s->least = (uint32_t)n;
        else if (!strcmp(name, "--jobs")) s->jobs = (uint32_t)n;
        else if (!strcmp(name, "--threads")) s->threads = (uint32_t)n;
        else if (!strcmp(name, "--start")) s->start = n;
        else if (!strcmp(name, "--offloaded")) s->offloaded = (uint32_t)n;
        else if (!strcmp(name, "--features")) s->features = (uint32_t)n;
        else if (!strcmp(name, "--dropped")) s->dropped = (uint32_t)n;
        else if (!strcmp(name, "--stop")) s->stop = (uint32_t)n;
        else if (!strcmp(name, "--sabotage")) s->sabotage = (uint32_t)n;
        else if (!strcmp(name, "--show")) s->show = value;
        else if (!strcmp(name, "--write")) s->write = value;
        else if (!strcmp(name, "--seed")) {
            s->seed = n;
            s->one = true;
        } else return false;
    }
    return argc % 2 == 1 && s->jobs >= 1 && s->jobs <= MAX_JOBS;
}

int main(int argc, char **argv)
{
    settings s = {.self = argv[0], .seconds = 10, .jobs = 2, .threads = 3, .features = ALL_FEATURES};
    s.start = (uint64_t)time(NULL) << 20; /* another one each time; printed */
    if (!read_settings(argc, argv, &s)) {
        fprintf(stderr,
                "usage: nests [--seconds T | --count N | --seed S] [--start S] [--jobs J] [--threads N] [--least N]\n"
                "             [--offloaded PERCENT] [--features MASK] [--dropped MASK] [--write FILE] [--stop N]\n");
        return 2;
    }
    return s.one ? run_one(&s) : run_many(&s);
}
