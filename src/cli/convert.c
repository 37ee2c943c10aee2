/* SPDX-License-Identifier: Apache-2.0 */
/* tensor-wasm snapshot convert: the same state as a file of another format, with other keys. */
#include <stdio.h>
#include <string.h>

#include "cli/message.h"
#include "cli/state.h"

typedef struct settings {
    cli_reading reading;
    cli_writing writing;
    bool json;
} settings;

static const settings defaults = {.reading = {.max_bytes = CLI_READING_MAX_BYTES}};

static tw_snapshot_state state_of(const tw_snapshot *from)
{
    tw_snapshot_state state = TW_SNAPSHOT_STATE_INIT;
    state.tenant = from->tenant;
    state.instance = from->instance;
    state.wasm_memory = from->wasm_memory;
    state.device_memory = from->device_memory;
    state.registers = from->registers;
    state.has_created = true;
    state.created_unix_ms = from->created_unix_ms;
    state.sequence = from->sequence;
    state.has_nonce = from->has_nonce;
    memcpy(state.nonce, from->nonce, sizeof state.nonce);
    return state;
}

/* What `from` had and the new file hasn't. */
static const char *lost(const cli_writing *how, const tw_snapshot *from)
{
    bool signature = from->signature && !how->hmac_key && !how->ed25519_secret, encryption = from->encrypted && !how->aead_key;
    return signature && encryption ? "its signature and its encryption" : signature ? "its signature" : encryption ? "its encryption" : "";
}

static void tell(const settings *s, const tw_snapshot *from, const char *path, const char *to)
{
    const char *without = lost(&s->writing, from), *format = cli_format_name(cli_format_at(s->writing.to));
    if (s->json)
        cli_print_json(json_pack("{s:o, s:s, s:o, s:o}", "file", cli_json_text(to), "format", format, "from",
                                 cli_json_text(path), "lost", *without ? json_string(without) : json_null()));
    else printf("%s: %s, from %s, %s%s%s\n", to, format, path, cli_format_name(from->format), *without ? ", without " : "", without);
}

static int run(const void *given, const cli_operands *operands)
{
    const settings *s = given;
    const char *path = operands->items[0], *to = operands->items[1];
    tw_snapshot *snapshot;
    tw_snapshot_class why;
    tw_error error;
    if (!strcmp(to, "-")) return cli_usage_error(s->json, cli_snapshot_convert.name, "it writes a file, not stdout");
    int code = cli_reading_check(&s->reading, s->json, cli_snapshot_convert.name);
    if (code) return code;
    if (cli_state_read(&s->reading, path, &snapshot, &why, &error)) return cli_state_refused(s->json, path, why, &error);
    tw_snapshot_state state = state_of(snapshot);
    if (cli_state_write(&state, &s->writing, to, &error)) code = cli_state_refused(s->json, to, TW_SNAPSHOT_CLASS_NONE, &error);
    else tell(s, snapshot, path, to);
    tw_snapshot_free(snapshot);
    return code;
}

static const cli_option options[] = {
    {CLI_HEADING, 0, NULL, NULL, 0, "What is written", CLI_HINT_NONE},
    CLI_WRITING_OPTIONS(settings),
    CLI_READING_OPTIONS(settings),
    {CLI_HEADING, 0, NULL, NULL, 0, "Output", CLI_HINT_NONE},
    {CLI_FLAG, 0, "json", NULL, offsetof(settings, json), "prints JSON; a refusal with its class", CLI_HINT_NONE},
};

static const cli_example examples[] = {
    {"tensor-wasm snapshot convert --to v3 --sign-hmac-key-file key app.snap old.snap",
     "writes the same state for the earlier project's reader"},
    {"tensor-wasm snapshot convert --encrypt-key-file secret old.snap app.snap", "the other way, encrypted"},
};

const cli_command cli_snapshot_convert = {
    .name = "snapshot convert",
    .operands = "FILE TO",
    .summary = "writes the state of a snapshot file in another format, or with other keys",
    .text =
        "FILE is read as by 'snapshot inspect', and TO written, all or nothing: memories, registers, names, times, sequence number and "
        "nonce stay; the signature and encryption are those that are asked for. What TO can't hold is told, and what is too large for a "
        "format is refused.",
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
