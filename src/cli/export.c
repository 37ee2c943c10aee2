/* SPDX-License-Identifier: Apache-2.0 */
/* tensor-wasm snapshot export: a module with a snapshot's state baked in. */
#include <stdlib.h>
#include <string.h>

#include "cli/guest.h"
#include "cli/input.h"
#include "cli/message.h"
#include "cli/state.h"

typedef struct settings {
    cli_reading reading;
    const char *output;
    bool wasm, wasi_from_host;
} settings;

static const settings defaults = {.reading = {.max_bytes = CLI_RUNNING_MAX_BYTES}};

static tw_status bake(const settings *s, tw_module *module, const tw_snapshot *snapshot, tw_error *error)
{
    tw_bake_options options = TW_BAKE_OPTIONS_INIT;
    uint8_t *bytes = NULL;
    size_t size = 0;
    options.wasi_from_host = s->wasi_from_host;
    tw_status status = tw_module_bake(module, snapshot, &options, &bytes, &size, error);
    if (!status) status = cli_publish(s->output, "module", bytes, size, error);
    free(bytes);
    return status;
}

static int export(const settings *s, const char *path, const tw_snapshot *snapshot)
{
    tw_engine *engine = NULL;
    tw_module *module = NULL;
    tw_error error;
    tw_status status = tw_engine_new(NULL, &engine, &error);
    if (!status) status = cli_guest_load(engine, path, &module, &error);
    if (!status) status = bake(s, module, snapshot, &error);
    tw_module_free(module);
    tw_engine_free(engine);
    return status ? cli_failure(false, path, &error) : CLI_EXIT_DONE;
}

static int run(const void *given, const cli_operands *operands)
{
    const settings *s = given;
    const char *path = operands->items[1];
    tw_snapshot *snapshot;
    tw_snapshot_class why;
    tw_error error;
    if (!s->output) return cli_usage_error(false, cli_snapshot_export.name, "no file to write: give --output FILE");
    if (!strcmp(s->output, "-")) return cli_usage_error(false, cli_snapshot_export.name, "it writes a file, not stdout");
    int code = cli_reading_check(&s->reading, false, cli_snapshot_export.name);
    if (code) return code;
    if (cli_state_read(&s->reading, path, &snapshot, &why, &error)) return cli_state_refused(false, path, why, &error);
    code = export(s, operands->items[0], snapshot);
    tw_snapshot_free(snapshot);
    return code;
}

static const cli_option options[] = {
    {CLI_TEXT, 'o', "output", "FILE", offsetof(settings, output), "the module that is written; must be given", CLI_HINT_FILE},
    {CLI_FLAG, 0, "wasm", NULL, offsetof(settings, wasm), "writes a WebAssembly module; there is nothing else yet", CLI_HINT_NONE},
    {CLI_FLAG, 0, "wasi-from-host", NULL, offsetof(settings, wasi_from_host),
     "takes a guest that can ask WASI for arguments, environment or folders again: it gets those of the host that the module "
     "runs on",
     CLI_HINT_NONE},
    CLI_READING_OPTIONS(settings),
};

static const cli_example examples[] = {
    {"tensor-wasm snapshot export --wasm app.wasm app.snap -o warm.wasm", "writes warm.wasm, which begins where app.snap was taken"},
    {"tensor-wasm snapshot save --invoke init -o app.snap app.wasm", "takes such a snapshot first"},
};

const cli_command cli_snapshot_export = {
    .name = "snapshot export",
    .operands = "MODULE SNAPSHOT",
    .summary = "writes a module with a snapshot's state baked in, for any engine",
    .text =
        "MODULE is the module that SNAPSHOT was taken of. The new module begins with what memory, globals and tables held; its instances "
        "need no snapshot and no start-up. Its start function is tw_after_restore, where MODULE exports that; MODULE's own start "
        "function and the export _initialize are left out, since they have run.\n"
        "What a module can't hold is refused: buffers, and what WASI told the guest, unless --wasi-from-host is given.",
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
