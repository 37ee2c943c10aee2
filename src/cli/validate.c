/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/input.h"
#include "cli/message.h"
#include "tensorwasm/tensorwasm.h"

typedef struct settings {
    bool json, quiet;
} settings;

static const settings defaults = {false, false};

static tw_status validate(const uint8_t *bytes, size_t size, tw_error *error)
{
    tw_engine *engine;
    tw_status status = tw_engine_new(NULL, &engine, error);
    if (status) return status;
    status = tw_module_validate(engine, bytes, size, error);
    tw_engine_free(engine);
    return status;
}

static void print_valid(const settings *s, const char *path)
{
    if (s->json) cli_print_json(json_pack("{s:o, s:b}", "module", cli_json_text(path), "valid", 1));
    else if (!s->quiet) printf("%s: valid\n", path);
}

/* Not being able to look is something else than not valid. */
static int print_not_valid(const settings *s, const char *path, const tw_error *error)
{
    if (!s->json || error->status == TW_INTERNAL || error->status == TW_NO_MEMORY)
        return cli_failure(s->json, path, error);
    cli_print_json(
        json_pack("{s:o, s:b, s:o}", "module", cli_json_text(path), "valid", 0, "error", cli_json_error(error)));
    return CLI_EXIT_FAILURE;
}

static int run(const void *given, const cli_operands *operands)
{
    const settings *s = given;
    const char *path = operands->items[0];
    uint8_t *bytes;
    size_t size;
    tw_error error;
    if (cli_read_module(path, &bytes, &size, &error)) return cli_failure(s->json, path, &error);
    tw_status status = validate(bytes, size, &error);
    free(bytes);
    if (status) return print_not_valid(s, path, &error);
    print_valid(s, path);
    return CLI_EXIT_DONE;
}

static const cli_option options[] = {
    {CLI_FLAG, 0, "json", NULL, offsetof(settings, json), "prints JSON, errors too", CLI_HINT_NONE},
    {CLI_FLAG, 'q', "quiet", NULL, offsetof(settings, quiet), "prints nothing for a valid module", CLI_HINT_NONE},
};

static const cli_example examples[] = {
    {"tensor-wasm validate app.wasm", "prints 'app.wasm: valid', or what is wrong and where, and then exits with 1"},
    {"tensor-wasm validate --json - < app.wasm", "reads stdin; prints an object with 'valid', or with 'error'"},
};

const cli_command cli_validate = {
    .name = "validate",
    .operands = "MODULE",
    .summary = "says whether a module is valid here, or what is wrong and where",
    .text =
        "MODULE is a .wasm or a .wat file, or - for stdin. Nothing of it is run. A module that needs a proposal which is "
        "off here is refused with the name of the proposal.",
    .options = options,
    .option_count = CLI_LENGTH(options),
    .examples = examples,
    .example_count = CLI_LENGTH(examples),
    .defaults = &defaults,
    .settings_size = sizeof defaults,
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
