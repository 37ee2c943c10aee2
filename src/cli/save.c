/* SPDX-License-Identifier: Apache-2.0 */
/* tensor-wasm snapshot save and restore: a guest is run up to a point and written down; and goes on from there. */
#include "cli/guest.h"
#include "cli/message.h"
#include "tensorwasm/tensorwasm.h"

/* ---- save ---- */

static const cli_guest_settings save_defaults = CLI_GUEST_DEFAULTS("snapshot save");

static int save(const void *given, const cli_operands *operands)
{
    const cli_guest_settings *s = given;
    if (!s->output) return cli_usage_error(false, s->command, "no file to write: give --output FILE");
    return cli_guest_live(s, operands);
}

#define OUTPUT(help) {CLI_TEXT, 'o', "output", "FILE", CLI_GUEST_FIELD(output), help, CLI_HINT_FILE}

static const cli_option save_options[] = {
    OUTPUT("the snapshot file that is written; must be given"),
    {CLI_TEXT, 0, "invoke", "NAME", CLI_GUEST_FIELD(invoke),
     "calls the export NAME instead of _start, with the arguments behind MODULE typed by its signature, and prints its "
     "results one a line",
     CLI_HINT_NONE},
    {CLI_HEADING, 0, NULL, NULL, 0, "What is written", CLI_HINT_NONE},
    CLI_WRITING_OPTIONS(cli_guest_settings),
    CLI_NAMING_OPTIONS(cli_guest_settings),
    {CLI_HEADING, 0, "", NULL, 0, "What the guest sees", CLI_HINT_NONE},
    CLI_GUEST_SEES,
    CLI_GUEST_LIMITS,
    CLI_GUEST_KERNELS,
    CLI_GUEST_TOLD,
};

static const cli_example save_examples[] = {
    {"tensor-wasm snapshot save -o app.snap app.wasm", "starts app.wasm and keeps what has become of it"},
    {"tensor-wasm snapshot save --invoke warm -o app.snap app.wasm 40", "calls warm with 40 first"},
    {"tensor-wasm snapshot save --sign-hmac-key-file key --sequence 7 -o app.snap app.wasm",
     "signs it, for a reader that demands --min-sequence 7"},
};

const cli_command cli_snapshot_save = {
    .name = "snapshot save",
    .operands = "MODULE [args...]",
    .summary = "runs a module up to the end of a call and writes its state to a file",
    .text =
        "The guest begins as with 'tensor-wasm run': its start function, _initialize for a reactor, then the function of --invoke, or "
        "_start. When that has come back, with exit code 0 if it exits, its state is written: memory, globals, tables, which "
        "segments are dropped, arguments and environment. Nothing is written when it traps, runs out of time, exits with another "
        "code, or holds what can't be written down, like open files.\n"
        "Options may also stand behind MODULE: what is for the guest and begins with a dash comes behind '--', but for numbers.",
    .options = save_options,
    .option_count = CLI_LENGTH(save_options),
    .examples = save_examples,
    .example_count = CLI_LENGTH(save_examples),
    .defaults = &save_defaults,
    .settings_size = sizeof save_defaults,
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .takes_numbers = true,
    .run = save,
};

/* ---- restore ---- */

static const cli_guest_settings restore_defaults = CLI_GUEST_DEFAULTS("snapshot restore");

static int restore(const void *given, const cli_operands *operands)
{
    cli_guest_settings s = *(const cli_guest_settings *)given;
    cli_operands rest = {operands->items + 1, operands->count - 1};
    s.from_snapshot = operands->items[0];
    return cli_guest_live(&s, &rest);
}

static const cli_option restore_options[] = {
    {CLI_TEXT, 0, "invoke", "NAME", CLI_GUEST_FIELD(invoke),
     "calls the export NAME instead of _start, with the arguments behind MODULE typed by its signature, and prints its "
     "results one a line",
     CLI_HINT_NONE},
    CLI_READING_OPTIONS(cli_guest_settings),
    CLI_VERIFY_OPTION(cli_guest_settings),
    {CLI_HEADING, 0, NULL, NULL, 0, "What is written at the end", CLI_HINT_NONE},
    OUTPUT("writes a new snapshot when the call has come back"),
    CLI_WRITING_OPTIONS(cli_guest_settings),
    CLI_NAMING_OPTIONS(cli_guest_settings),
    {CLI_HEADING, 0, "", NULL, 0, "What the guest sees", CLI_HINT_NONE},
    CLI_GUEST_DIR,
    CLI_GUEST_LIMITS,
    CLI_GUEST_KERNELS,
    CLI_GUEST_TOLD,
};

static const cli_example restore_examples[] = {
    {"tensor-wasm snapshot restore --invoke query app.snap app.wasm 7", "goes on from app.snap and calls query with 7"},
    {"tensor-wasm snapshot restore --invoke step -o app.snap app.snap app.wasm", "calls step and keeps what has become of it"},
    {"tensor-wasm snapshot restore --hmac-key-file key --require-signature app.snap app.wasm",
     "only if it is signed with this key"},
};

const cli_command cli_snapshot_restore = {
    .name = "snapshot restore",
    .operands = "FILE MODULE [args...]",
    .summary = "goes on from a snapshot file: calls a function of the guest in it",
    .text =
        "MODULE must be the module that the snapshot was taken of, bit by bit. The guest has the arguments and the environment that it "
        "had; each of its folders must be given with --dir HOST::GUEST. Neither its start function nor _initialize is called again; "
        "its export tw_after_restore is, if there is one, and then the function of --invoke, or _start.",
    .options = restore_options,
    .option_count = CLI_LENGTH(restore_options),
    .examples = restore_examples,
    .example_count = CLI_LENGTH(restore_examples),
    .defaults = &restore_defaults,
    .settings_size = sizeof restore_defaults,
    .min_operands = 2,
    .max_operands = SIZE_MAX,
    .takes_numbers = true,
    .run = restore,
};
