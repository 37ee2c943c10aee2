/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/message.h"
#include "tensorwasm/tensorwasm.h"

typedef struct settings {
    bool json;
} settings;

static const settings defaults = {false};

static int run(const void *given, const cli_operands *operands)
{
    (void)operands;
    const settings *s = given;
    char *text;
    tw_error error;
    if (tw_doctor(s->json ? TW_FORMAT_JSON : TW_FORMAT_TEXT, &text, &error)) return cli_failure(s->json, NULL, &error);
    fputs(text, stdout);
    free(text);
    return CLI_EXIT_DONE;
}

static const cli_option options[] = {
    {CLI_FLAG, 0, "json", NULL, offsetof(settings, json), "prints JSON", CLI_HINT_NONE},
};

static const cli_example examples[] = {
    {"tensor-wasm doctor", "says what is here, and what is missing or does with less"},
    {"tensor-wasm doctor --json", "the same for scripts"},
};

const cli_command cli_doctor = {
    .name = "doctor",
    .operands = "",
    .summary = "says what this machine offers",
    .text =
        "Looks at the kernel, the limits, the processor's vector instructions, the address space for linear memories and "
        "the compile worker, and says which fallbacks are in use because something is missing.",
    .options = options,
    .option_count = CLI_LENGTH(options),
    .examples = examples,
    .example_count = CLI_LENGTH(examples),
    .defaults = &defaults,
    .settings_size = sizeof defaults,
    .run = run,
};
