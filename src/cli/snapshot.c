/* SPDX-License-Identifier: Apache-2.0 */
/* tensor-wasm snapshot inspect and verify: a file is read as by somebody who trusts nothing. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cli/message.h"
#include "cli/state.h"

typedef struct settings {
    cli_reading reading;
    bool json;
} settings;

static const settings defaults = {.reading = {.max_bytes = CLI_READING_MAX_BYTES, .verify = TW_SNAPSHOT_VERIFY_ONLY}};
#define LARGEST_EXACT (INT64_C(1) << 53) /* what every reader of JSON keeps exactly */

/* ---- output ---- */

static const char *signature_name(tw_snapshot_signature signature)
{
    switch (signature) {
    case TW_SNAPSHOT_SIGNATURE_HMAC: return "HMAC-SHA256";
    case TW_SNAPSHOT_SIGNATURE_ED25519: return "Ed25519";
    case TW_SNAPSHOT_SIGNATURE_NONE: break;
    }
    return NULL;
}

static void write_nonce(const tw_snapshot *s, char text[2 * TW_SNAPSHOT_NONCE_SIZE + 1])
{
    for (size_t i = 0; i < TW_SNAPSHOT_NONCE_SIZE; i++) sprintf(text + 2 * i, "%02x", s->nonce[i]);
}

static void write_instance(const tw_snapshot *s, char text[40])
{
    if (s->instance.high) sprintf(text, "0x%" PRIx64 "%016" PRIx64, s->instance.high, s->instance.low);
    else sprintf(text, "0x%" PRIx64, s->instance.low);
}

/* "2026-01-01T00:00:00Z"; empty for years that have more than four digits. */
static void write_time(uint64_t unix_ms, char *text, size_t room)
{
    time_t seconds = (time_t)(unix_ms / 1000);
    struct tm broken;
    text[0] = 0;
    if (unix_ms / 1000 < UINT64_C(253402300800) && gmtime_r(&seconds, &broken))
        strftime(text, room, "%Y-%m-%dT%H:%M:%SZ", &broken);
}

/* A number, or its digits as a string where a reader might not keep it exactly. */
static json_t *exact(uint64_t value)
{
    char text[24];
    if (value <= (uint64_t)LARGEST_EXACT) return json_integer((json_int_t)value);
    snprintf(text, sizeof text, "%" PRIu64, value);
    return json_string(text);
}

static json_t *text_or_null(const char *text)
{
    return text && *text ? json_string(text) : json_null();
}

/* Of a captured instance; NULL of anything else. free() it. */
static char *describe(const tw_snapshot *s, tw_format format)
{
    char *text;
    tw_error error;
    return tw_snapshot_describe(s, format, &text, &error) ? NULL : text;
}

static json_t *describe_json(const tw_snapshot *s)
{
    char *text = describe(s, TW_FORMAT_JSON);
    json_t *guest = text ? json_loads(text, 0, NULL) : NULL;
    free(text);
    return guest ? guest : json_null();
}

static void print_guest(const tw_snapshot *s)
{
    char *text = describe(s, TW_FORMAT_TEXT);
    fputs(text ? text : "", stdout);
    free(text);
}

static void print_json(const char *path, bool verify, const tw_snapshot *s)
{
    char instance[40], nonce[2 * TW_SNAPSHOT_NONCE_SIZE + 1], created[32], tenant[24];
    write_instance(s, instance);
    write_nonce(s, nonce);
    write_time(s->created_unix_ms, created, sizeof created);
    snprintf(tenant, sizeof tenant, "0x%" PRIx64, s->tenant);
    json_t *root =
        json_pack("{s:o, s:s, s:i, s:o, s:b}", "file", cli_json_text(path), "format", cli_format_name(s->format), "version",
                  (int)s->version, "signature", text_or_null(signature_name(s->signature)), "encrypted", s->encrypted);
    if (root && verify) json_object_set_new(root, "verified", json_true());
    else if (root)
        json_object_update_new(root, json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "tenant", tenant,
                                               "instance", instance, "created_unix_ms", exact(s->created_unix_ms),
                                               "created", text_or_null(created), "sequence", exact(s->sequence),
                                               "nonce", text_or_null(s->has_nonce ? nonce : NULL), "wasm_memory",
                                               exact(s->wasm_memory.size), "device_memory",
                                               exact(s->device_memory.size), "registers", exact(s->registers.size),
                                               "total_uncompressed_bytes", exact(s->total_uncompressed_bytes)));
    if (root && !verify) json_object_set_new(root, "guest", describe_json(s));
    cli_print_json(root);
}

static void print_line(const char *path, const char *says, const tw_snapshot *s)
{
    const char *signature = signature_name(s->signature);
    printf("%s: %s%s, %s%s%s\n", path, says, cli_format_name(s->format), signature ? "signed with " : "not signed",
           signature ? signature : "", s->encrypted ? ", encrypted" : "");
}

static void print_text(const char *path, const tw_snapshot *s)
{
    char instance[40], nonce[2 * TW_SNAPSHOT_NONCE_SIZE + 1], created[32];
    write_instance(s, instance);
    write_nonce(s, nonce);
    write_time(s->created_unix_ms, created, sizeof created);
    print_line(path, "", s);
    printf("  tenant           0x%" PRIx64 "\n  instance         %s\n", s->tenant, instance);
    printf("  created          %s%s%" PRIu64 " ms since 1970\n", created, *created ? ", " : "", s->created_unix_ms);
    printf("  sequence number  %" PRIu64 "\n  nonce            %s\n", s->sequence, s->has_nonce ? nonce : "none");
    printf("  wasm memory      %zu bytes\n  device memory    %zu bytes\n  registers        %zu bytes\n",
           s->wasm_memory.size, s->device_memory.size, s->registers.size);
    print_guest(s);
}

/* ---- the commands ---- */

static int look(const settings *s, const char *command, const cli_operands *operands, bool verify)
{
    const char *path = operands->items[0];
    tw_snapshot *snapshot;
    tw_snapshot_class why;
    tw_error error;
    int code = cli_reading_check(&s->reading, s->json, command);
    if (code) return code;
    if (cli_state_read(&s->reading, path, &snapshot, &why, &error)) return cli_state_refused(s->json, path, why, &error);
    if (s->json) print_json(path, verify, snapshot);
    else if (verify) print_line(path, "verified: ", snapshot);
    else print_text(path, snapshot);
    tw_snapshot_free(snapshot);
    return CLI_EXIT_DONE;
}

static int inspect(const void *given, const cli_operands *operands)
{
    return look(given, cli_snapshot_inspect.name, operands, false);
}

static int verify(const void *given, const cli_operands *operands)
{
    return look(given, cli_snapshot_verify.name, operands, true);
}

static const cli_option options[] = {
    CLI_READING_OPTIONS(settings),
    {CLI_HEADING, 0, NULL, NULL, 0, "Output", CLI_HINT_NONE},
    {CLI_FLAG, 0, "json", NULL, offsetof(settings, json), "prints JSON; a refusal with its class", CLI_HINT_NONE},
};

#define TEXT                                                                                                           \
    "FILE is an archive or image of ours, or the earlier project's v2, v3 or v4, or its encrypted form; or - for "     \
    "stdin. All of it is checked before anything is printed: signature, hashes, structure, and what the options "     \
    "demand.\n"                                                                                                        \
    "A refusal has a class, like 'signature', 'replay' or 'crc', behind its message, or in JSON as error.class; the "  \
    "exit code is 1."

static const cli_example inspect_examples[] = {
    {"tensor-wasm snapshot inspect app.snap", "checks an unsigned file and says what is in it"},
    {"tensor-wasm snapshot inspect --hmac-key-file key --json app.snap", "the same of a signed one, for programs"},
};

const cli_command cli_snapshot_inspect = {
    .name = "snapshot inspect",
    .operands = "FILE",
    .summary = "checks a snapshot file and says what is in it",
    .text = TEXT,
    .options = options,
    .option_count = CLI_LENGTH(options),
    .examples = inspect_examples,
    .example_count = CLI_LENGTH(inspect_examples),
    .defaults = &defaults,
    .settings_size = sizeof defaults,
    .min_operands = 1,
    .max_operands = 1,
    .run = inspect,
};

static const cli_example verify_examples[] = {
    {"tensor-wasm snapshot verify --hmac-key-file key --require-signature --min-sequence 7 app.snap",
     "prints 'app.snap: verified' and what it is; or why not, and then exits with 1"},
};

const cli_command cli_snapshot_verify = {
    .name = "snapshot verify",
    .operands = "FILE",
    .summary = "says whether a snapshot file is all that it has to be",
    .text = TEXT,
    .options = options,
    .option_count = CLI_LENGTH(options),
    .examples = verify_examples,
    .example_count = CLI_LENGTH(verify_examples),
    .defaults = &defaults,
    .settings_size = sizeof defaults,
    .min_operands = 1,
    .max_operands = 1,
    .run = verify,
};
