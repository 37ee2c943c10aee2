/* SPDX-License-Identifier: Apache-2.0 */
/* tensor-wasm snapshot diff: what is another in the second of two files. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/message.h"
#include "cli/state.h"

typedef struct settings {
    cli_reading reading;
    bool json, state_only;
} settings;

static const settings defaults = {.reading = {.max_bytes = CLI_READING_MAX_BYTES}};

static void print_json(const char *a, const char *b, const char *text)
{
    json_t *root = json_loads(text, 0, NULL), *named = json_pack("{s:o, s:o}", "a", cli_json_text(a), "b", cli_json_text(b));
    if (root && named) json_object_update(named, root);
    json_decref(root);
    cli_print_json(named);
}

static int tell(const settings *s, const char *a, const char *b, bool same, const char *text)
{
    if (s->json) print_json(a, b, text);
    else printf("%s, %s: %s\n%s", a, b, same ? "the same" : "they differ", text);
    return same ? CLI_EXIT_DONE : CLI_EXIT_FAILURE;
}

static int compare(const settings *s, const char *const paths[2], tw_snapshot *const files[2])
{
    tw_snapshot_diff_options options = TW_SNAPSHOT_DIFF_OPTIONS_INIT;
    tw_error error;
    char *text;
    bool same;
    options.format = s->json ? TW_FORMAT_JSON : TW_FORMAT_TEXT;
    options.state_only = s->state_only;
    if (tw_snapshot_diff(files[0], files[1], &options, &same, &text, &error)) return cli_failure(s->json, NULL, &error);
    int code = tell(s, paths[0], paths[1], same, text);
    free(text);
    return code;
}

static int run(const void *given, const cli_operands *operands)
{
    const settings *s = given;
    const char *paths[2] = {operands->items[0], operands->items[1]};
    tw_snapshot *files[2] = {0};
    tw_snapshot_class why;
    tw_error error;
    int code = cli_reading_check(&s->reading, s->json, cli_snapshot_diff.name);
    for (int i = 0; i < 2 && !code; i++)
        if (cli_state_read(&s->reading, paths[i], &files[i], &why, &error)) code = cli_state_refused(s->json, paths[i], why, &error);
    if (!code) code = compare(s, paths, files);
    tw_snapshot_free(files[0]);
    tw_snapshot_free(files[1]);
    return code;
}

static const cli_option options[] = {
    {CLI_FLAG, 0, "state-only", NULL, offsetof(settings, state_only),
     "leaves out tenant, instance, time, sequence number and nonce", CLI_HINT_NONE},
    CLI_READING_OPTIONS(settings),
    {CLI_HEADING, 0, NULL, NULL, 0, "Output", CLI_HINT_NONE},
    {CLI_FLAG, 0, "json", NULL, offsetof(settings, json), "prints JSON; a refusal with its class", CLI_HINT_NONE},
};

static const cli_example examples[] = {
    {"tensor-wasm snapshot diff before.snap after.snap", "tells what a call has changed"},
    {"tensor-wasm snapshot diff --state-only --json a.snap b.snap", "the same for programs; metadata doesn't count"},
};

const cli_command cli_snapshot_diff = {
    .name = "snapshot diff",
    .operands = "A B",
    .summary = "tells what differs between two snapshot files",
    .text =
        "Both are read as by 'snapshot inspect', with the same keys and demands. What differs is told of the metadata; of guests their module, "
        "globals, tables, dropped segments and what WASI told them; of memories by ranges of pages, with how many bytes are others. "
        "How the files are written doesn't count: format, signature, encryption.\n"
        "The exit code is 0 when all is the same and 1 when something differs or a file is refused.",
    .options = options,
    .option_count = CLI_LENGTH(options),
    .examples = examples,
    .example_count = CLI_LENGTH(examples),
    .defaults = &defaults,
    .settings_size = sizeof defaults,
    .min_operands = 2,
    .max_operands = 2,
    .run = run,
};
