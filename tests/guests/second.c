/* SPDX-License-Identifier: Apache-2.0 */

/* A second run finds its kernels on disk: it runs them without a compile worker, so without LLVM.
 *
 *   second FOLDER     FOLDER holds the programs of one level */

#include <dirent.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"

enum { N = 1000 };

static unsigned failures;

static void check(bool holds, const char *what, const report_totals *totals)
{
    if (holds) return;
    failures++;
    printf("not ok: %s (%" PRIu64 " of %" PRIu64 " iterations in kernels; %s)\n", what, totals->kernel_iterations,
           totals->kernel_iterations + totals->original_iterations, totals->refusals);
}

/* Processes whose parent we are. */
static int count_children(void)
{
    DIR *all = opendir("/proc");
    int count = 0;
    for (struct dirent *entry; all && (entry = readdir(all));) {
        char path[300], line[512];
        int parent = 0;
        snprintf(path, sizeof path, "/proc/%s/stat", entry->d_name);
        FILE *file = entry->d_name[0] >= '1' && entry->d_name[0] <= '9' ? fopen(path, "r") : NULL;
        if (!file) continue;
        char *after = fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
        count += after && sscanf(after + 1, " %*c %d", &parent) == 1 && parent == getpid();
        fclose(file);
    }
    if (all) closedir(all);
    return count;
}

/* Returns how many children there were when the kernel had run. */
static int run(const char *path, const char *folder, tw_kernel_cache_stats *stats, report_totals *totals)
{
    const run_mode mode = {"second", TW_OFFLOAD_FORCE, 2, false};
    guest_call call;
    guest_lay_out(&guests[0], N, &call); /* saxpy */
    tw_engine *engine = harness_engine(&mode);
    tw_kernel_cache *cache = harness_cache(engine, folder);
    tw_module *module = harness_module(engine, path);
    tw_instance *instance = harness_spawn(module, cache, call.end);
    run_outcome outcome;
    harness_call(instance, guests[0].export, &call, false, &outcome);
    check(outcome.status == TW_OK && harness_report(instance, totals), "the call", totals);
    int children = count_children();
    tw_kernel_cache_get_stats(cache, stats);
    run_outcome_free(&outcome);
    tw_instance_free(instance);
    tw_module_free(module);
    tw_kernel_cache_free(cache);
    tw_engine_free(engine);
    return children;
}

/* The engine kills the worker and doesn't wait for the system to clear it away. */
static bool worker_goes(void)
{
    for (int i = 0; i < 1000 && count_children(); i++) usleep(10000);
    return count_children() == 0;
}

static int remove_entry(const char *path, const struct stat *about, int kind, struct FTW *where)
{
    (void)about, (void)kind, (void)where;
    return remove(path);
}

int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    char path[1024], folder[] = "/tmp/tensorwasm-second-XXXXXX";
    snprintf(path, sizeof path, "%s/saxpy.wasm", argv[1]);
    if (!mkdtemp(folder)) return 2;
    tw_kernel_cache_stats stats;
    report_totals totals;
    int workers = run(path, folder, &stats, &totals);
    check(workers == 1, "the first run has a compile worker", &totals);
    check(totals.kernel_iterations >= N - 4, "the first run uses kernels", &totals);
    check(worker_goes(), "the worker ends with its engine", &totals);
    workers = run(path, folder, &stats, &totals);
    check(workers == 0, "the second run has no compile worker", &totals);
    check(totals.kernel_iterations >= N - 4, "the second run uses kernels", &totals);
    check(stats.disk_hits > 0 && stats.disk_rejected == 0, "they come from the disk", &totals);
    nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    printf("%u failures\n", failures);
    return failures != 0;
}
