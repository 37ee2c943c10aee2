/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_GUEST_H
#define TW_CLI_GUEST_H

/* One module, one instance: what `run`, `snapshot save` and `snapshot restore` have in common. They differ in their rows of
 * options and in where a snapshot is read from and written to. */

#include "cli/command.h"
#include "cli/state.h"

typedef struct cli_guest_settings {
    const char *command; /* for usage errors */
    const char *invoke, *argv0, *cache_dir, *report_file;
    const char *from_snapshot;  /* a file to go on from; NULL = a fresh instance */
    const char *snapshot_after; /* EXPORT=FILE */
    const char *output;         /* the snapshot that is written at the end; NULL = none */
    const char *snapshot_key, *snapshot_aead; /* of `run`: for both, reading and writing */
    cli_reading reading;
    cli_writing writing;
    cli_list dirs, env;
    uint64_t timeout_ns, max_memory, max_stack;
    uint32_t threads;
    int offload, report_format;
    bool canonical_nan, report, no_cache, quiet, verbose;
} cli_guest_settings;

enum { CLI_REPORT_UNASKED = -1 };
#define CLI_NO_LIMIT UINT64_MAX /* but the engine's, and the machine's */

#define CLI_GUEST_DEFAULTS(name)                                                                                       \
    {.command = name, .offload = TW_OFFLOAD_AUTO, .report_format = CLI_REPORT_UNASKED, .max_memory = CLI_NO_LIMIT,     \
     .max_stack = 1 << 20, .reading = {.max_bytes = CLI_RUNNING_MAX_BYTES}}

#define CLI_GUEST_FIELD(name) offsetof(cli_guest_settings, name)
#define CLI_GUEST_DIR                                                                                                  \
    {CLI_LIST, 0, "dir", "HOST[::GUEST]", CLI_GUEST_FIELD(dirs),                                                       \
     "gives the guest the folder HOST, under the name GUEST if there is one; may be given again", CLI_HINT_FOLDER}
#define CLI_GUEST_SEES                                                                                                 \
    CLI_GUEST_DIR,                                                                                                     \
    {CLI_LIST, 0, "env", "NAME[=VALUE]", CLI_GUEST_FIELD(env),                                                         \
     "sets an environment variable; without =VALUE it is taken over from ours; may be given again", CLI_HINT_NONE},    \
    {CLI_TEXT, 0, "argv0", "NAME", CLI_GUEST_FIELD(argv0), "the guest's argument 0, instead of MODULE's file name",    \
     CLI_HINT_NONE}
#define CLI_GUEST_LIMITS                                                                                               \
    {CLI_HEADING, 0, "", NULL, 0, "Limits", CLI_HINT_NONE},                                                            \
    {CLI_DURATION, 0, "timeout", "TIME", CLI_GUEST_FIELD(timeout_ns),                                                  \
     "ends the guest after TIME (500ms, 2s, 1m), also when it sleeps or waits for input; exit code 124",               \
     CLI_HINT_NONE},                                                                                                   \
    {CLI_SIZE, 0, "max-memory", "SIZE", CLI_GUEST_FIELD(max_memory),                                                   \
     "the most linear memory it may have (64KiB, 256MiB); default 4GiB, or what a control group leaves",               \
     CLI_HINT_NONE},                                                                                                   \
    {CLI_SIZE, 0, "max-stack", "SIZE", CLI_GUEST_FIELD(max_stack),                                                     \
     "the most stack its calls may take; default 1MiB", CLI_HINT_NONE}
#define CLI_GUEST_KERNELS                                                                                              \
    {CLI_HEADING, 0, "", NULL, 0, "Kernels", CLI_HINT_NONE},                                                           \
    {CLI_CHOICE, 0, "offload", "off|auto|force", CLI_GUEST_FIELD(offload),                                             \
     "runs hot loops as native kernels: never, where it pays (the default), or wherever it is right", CLI_HINT_NONE},  \
    {CLI_COUNT, 0, "threads", "N", CLI_GUEST_FIELD(threads),                                                           \
     "threads for kernels; default: as many as the process may use", CLI_HINT_NONE},                                   \
    {CLI_FLAG, 0, "canonical-nan", NULL, CLI_GUEST_FIELD(canonical_nan),                                               \
     "gives NaNs made by arithmetic one bit pattern, so that memories are equal to the last bit", CLI_HINT_NONE},      \
    {CLI_TEXT, 0, "cache-dir", "FOLDER", CLI_GUEST_FIELD(cache_dir),                                                   \
     "keeps compiled kernels in FOLDER instead of ~/.cache/tensorwasm/kernels; what isn't compiled when the guest "    \
     "ends is finished in the background",                                                                             \
     CLI_HINT_FOLDER},                                                                                                 \
    {CLI_FLAG, 0, "no-cache", NULL, CLI_GUEST_FIELD(no_cache), "keeps kernels in memory only", CLI_HINT_NONE}
#define CLI_GUEST_TOLD                                                                                                 \
    {CLI_HEADING, 0, "", NULL, 0, "What is told", CLI_HINT_NONE},                                                      \
    {CLI_FLAG, 0, "report", NULL, CLI_GUEST_FIELD(report),                                                             \
     "prints at the end what became of each region that was found; 'inspect' tells of loops that are none",            \
     CLI_HINT_NONE},                                                                                                   \
    {CLI_CHOICE, 0, "report-format", "text|json", CLI_GUEST_FIELD(report_format),                                      \
     "the report's form; default text", CLI_HINT_NONE},                                                                \
    {CLI_TEXT, 0, "report-file", "FILE", CLI_GUEST_FIELD(report_file),                                                 \
     "writes the report to FILE instead of stderr", CLI_HINT_FILE},                                                    \
    {CLI_FLAG, 'q', "quiet", NULL, CLI_GUEST_FIELD(quiet), "no hints, only errors", CLI_HINT_NONE},                    \
    {CLI_FLAG, 'v', "verbose", NULL, CLI_GUEST_FIELD(verbose),                                                         \
     "tells what falls back to something lesser and why, and where kernels came from", CLI_HINT_NONE}

enum {
    CLI_MIN_STACK = 64 << 10, CLI_MAX_STACK = 256 << 20, /* tw_engine_options' */
    CLI_HOST_STACK = 2 << 20, /* of a guest's thread beyond that, for the host functions that it calls; 1/2 MiB of it for stubs */
};
/* As the settings say, for so many guests at a time. TW_INVALID_ARGUMENT for what the command line asks and can't be had. */
tw_status cli_guest_engine(const cli_guest_settings *settings, uint32_t guests, tw_engine **out, tw_error *error);
/* *out stays NULL with offload off; *folder is the cache's, where it has one: free() it. */
tw_status cli_guest_cache(const cli_guest_settings *settings, tw_engine *engine, char **folder, tw_kernel_cache **out, tw_error *error);
tw_status cli_guest_load(tw_engine *engine, const char *path, tw_module **out, tw_error *error);
/* operands: MODULE and the guest's arguments. Gives the exit code. */
int cli_guest_live(const cli_guest_settings *settings, const cli_operands *operands);

#endif
