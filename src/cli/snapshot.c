/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/command.h"
#include "cli/convert.h"
#include "cli/input.h"
#include "cli/message.h"
#include "cli/parse.h"
#include "cli/suggest.h"
#include "tensorwasm/snapshot.h"

typedef struct settings {
    const char *hmac_key, *ed25519_key, *aead_key, *nonce;
    const char *sign_hmac, *sign_ed25519, *encrypt;
    int to;
    bool require_signature, lenient, json;
    uint64_t max_age_ns, min_sequence, max_bytes;
} settings;

static const settings defaults = {.max_bytes = UINT64_C(256) << 20};

enum { ACTION_INSPECT, ACTION_VERIFY, ACTION_CONVERT, NS_PER_MS = 1000000 };
#define ACTIONS       "inspect|verify|convert"
#define FORMATS       "archive|v2|v3|v4"
static const tw_snapshot_format formats[] = {TW_SNAPSHOT_ARCHIVE, TW_SNAPSHOT_V2, TW_SNAPSHOT_V3, TW_SNAPSHOT_V4};
#define LEAST_FILE    (UINT64_C(1) << 30) /* that is read, however little it may hold */
#define MOST_HELD     (UINT64_C(1) << 40)
#define LARGEST_EXACT (INT64_C(1) << 53) /* what every reader of JSON keeps exactly */

/* ---- the reader ---- */

typedef struct keys {
    tw_snapshot_key *hmac, *ed25519, *aead;
} keys;

static tw_status read_key(const char *path, tw_snapshot_key_kind kind, tw_snapshot_key **out, tw_error *error)
{
    return path ? tw_snapshot_key_read(kind, path, out, error) : TW_OK;
}

static tw_status read_keys(const settings *s, keys *out, tw_error *error)
{
    tw_status status = read_key(s->hmac_key, TW_SNAPSHOT_KEY_HMAC, &out->hmac, error);
    if (!status) status = read_key(s->ed25519_key, TW_SNAPSHOT_KEY_ED25519_PUBLIC, &out->ed25519, error);
    if (!status) status = read_key(s->aead_key, TW_SNAPSHOT_KEY_AEAD, &out->aead, error);
    return status;
}

static void free_keys(const keys *k)
{
    tw_snapshot_key_free(k->hmac);
    tw_snapshot_key_free(k->ed25519);
    tw_snapshot_key_free(k->aead);
}

static int digit(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *found = c ? strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c) : NULL;
    return found ? (int)(found - digits) : -1;
}

static bool parse_nonce(const char *text, uint8_t nonce[TW_SNAPSHOT_NONCE_SIZE])
{
    if (strlen(text) != 2 * TW_SNAPSHOT_NONCE_SIZE) return false;
    for (size_t i = 0; i < TW_SNAPSHOT_NONCE_SIZE; i++) {
        int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);
        if (high < 0 || low < 0) return false;
        nonce[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

/* What a file may be to hold so much: what can't be compressed gets a little larger. */
static uint64_t most_file(uint64_t held)
{
    uint64_t bytes = held < MOST_HELD ? held + held / 64 : MOST_HELD;
    return bytes > LEAST_FILE ? bytes : LEAST_FILE;
}

/* False for a nonce that isn't one. */
static bool options_of(const settings *s, tw_snapshot_reader_options *o)
{
    o->require_signature = s->require_signature;
    o->lenient = s->lenient;
    o->has_max_age = s->max_age_ns > 0;
    o->max_age_ms = s->max_age_ns / NS_PER_MS;
    o->min_sequence = s->min_sequence;
    o->has_expected_nonce = s->nonce;
    o->max_bytes = s->max_bytes;
    o->max_file = most_file(s->max_bytes);
    return !s->nonce || parse_nonce(s->nonce, o->expected_nonce);
}

/* A reader's keys must outlive it: all is done in here. */
static tw_status read_snapshot(const settings *s, tw_snapshot_reader_options *options, const char *path,
                               tw_snapshot **out, tw_snapshot_class *why, tw_error *error)
{
    cli_input_kind file = {options->max_file, "a snapshot", "a snapshot file"};
    keys k = {0};
    uint8_t *bytes = NULL;
    size_t size;
    tw_snapshot_reader *reader = NULL;
    tw_status status = read_keys(s, &k, error);
    options->hmac_key = k.hmac;
    options->ed25519_public = k.ed25519;
    options->aead_key = k.aead;
    if (!status) status = cli_read_file(&file, path, &bytes, &size, error);
    if (!status) status = tw_snapshot_reader_new(options, &reader, error);
    if (!status) status = tw_snapshot_restore(reader, bytes, size, out, why, error);
    tw_snapshot_reader_free(reader);
    free_keys(&k);
    free(bytes);
    return status;
}

/* ---- output ---- */

static const char *format_name(tw_snapshot_format format)
{
    switch (format) {
    case TW_SNAPSHOT_ARCHIVE: return "archive";
    case TW_SNAPSHOT_V2: return "v2";
    case TW_SNAPSHOT_V3: return "v3";
    case TW_SNAPSHOT_V4: return "v4";
    }
    return "unknown";
}

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

static void print_json(const char *path, bool verify, const tw_snapshot *s)
{
    char instance[40], nonce[2 * TW_SNAPSHOT_NONCE_SIZE + 1], created[32], tenant[24];
    write_instance(s, instance);
    write_nonce(s, nonce);
    write_time(s->created_unix_ms, created, sizeof created);
    snprintf(tenant, sizeof tenant, "0x%" PRIx64, s->tenant);
    json_t *root =
        json_pack("{s:o, s:s, s:i, s:o, s:b}", "file", cli_json_text(path), "format", format_name(s->format), "version",
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
    cli_print_json(root);
}

static void print_line(const char *path, const char *says, const tw_snapshot *s)
{
    const char *signature = signature_name(s->signature);
    printf("%s: %s%s, %s%s%s\n", path, says, format_name(s->format), signature ? "signed with " : "not signed",
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
}

/* The class of a refusal; for anything else (a file or key that can't be read) the status. */
static int print_failure(const settings *s, const char *path, tw_snapshot_class why, const tw_error *error)
{
    const char *name = why ? tw_snapshot_class_name(why) : tw_status_name(error->status);
    if (s->json)
        cli_print_json(json_pack("{s:{s:s, s:o}}", "error", "class", name, "message", cli_json_text(error->message)));
    else cli_say("%s: %s (%s)", path, error->message, name);
    return CLI_EXIT_FAILURE;
}

/* ---- the command ---- */

static int unknown_action(const settings *s, const char *word)
{
    cli_suggestion near;
    if (!strcmp(word, "save") || !strcmp(word, "restore"))
        return cli_usage_error(s->json, "snapshot", "a guest's snapshot is %s by 'tensor-wasm run %s'",
                               *word == 's' ? "written" : "read", *word == 's' ? "--snapshot-after EXPORT=FILE" : "--from-snapshot FILE");
    cli_suggestion_init(&near, word);
    cli_suggestion_offer(&near, "inspect");
    cli_suggestion_offer(&near, "verify");
    cli_suggestion_offer(&near, "convert");
    return cli_usage_error(s->json, "snapshot", "'%s' is nothing to do with a snapshot: it is inspect, verify or convert%s%s%s",
                           word, near.best ? "; did you mean '" : "", near.best ? near.best : "",
                           near.best ? "'?" : "");
}

static int convert(const settings *s, const tw_snapshot *from, const char *path, const char *to)
{
    cli_conversion how = {formats[s->to], s->sign_hmac, s->sign_ed25519, s->encrypt};
    tw_error error;
    if (cli_convert(&how, from, to, &error)) return print_failure(s, to, TW_SNAPSHOT_CLASS_NONE, &error);
    const char *lost = cli_convert_lost(&how, from);
    if (s->json)
        cli_print_json(json_pack("{s:o, s:s, s:o, s:o}", "file", cli_json_text(to), "format", format_name(how.format), "from",
                                 cli_json_text(path), "lost", text_or_null(lost)));
    else printf("%s: %s, from %s, %s%s%s\n", to, format_name(how.format), path, format_name(from->format), *lost ? ", without " : "", lost);
    return CLI_EXIT_DONE;
}

/* What belongs to convert only, and belongs to it. */
static int check_operands(const settings *s, int action, const cli_operands *operands)
{
    if (action == ACTION_CONVERT && operands->count < 3)
        return cli_usage_error(s->json, "snapshot", "convert needs the file to write: snapshot convert FILE TO");
    if (action == ACTION_CONVERT && !strcmp(operands->items[2], "-"))
        return cli_usage_error(s->json, "snapshot", "convert writes a file, not stdout: snapshot convert FILE TO");
    if (action != ACTION_CONVERT && operands->count > 2)
        return cli_usage_error(s->json, "snapshot", "'%s' is one operand too many", operands->items[2]);
    if (action != ACTION_CONVERT && (s->to || s->sign_hmac || s->sign_ed25519 || s->encrypt))
        return cli_usage_error(s->json, "snapshot", "%s are convert's", "--to, --sign-hmac-key-file, --sign-ed25519-key-file and --encrypt-key-file");
    return CLI_EXIT_DONE;
}

static int run(const void *given, const cli_operands *operands)
{
    const settings *s = given;
    const char *path = operands->items[1];
    int action = cli_choice_index(ACTIONS, operands->items[0]);
    tw_snapshot_reader_options options = TW_SNAPSHOT_READER_OPTIONS_INIT;
    tw_snapshot *snapshot;
    tw_snapshot_class why = TW_SNAPSHOT_CLASS_NONE;
    tw_error error;
    if (action < 0) return unknown_action(s, operands->items[0]);
    int code = check_operands(s, action, operands);
    if (code) return code;
    if (!options_of(s, &options))
        return cli_usage_error(s->json, "snapshot", "--expect-nonce: '%s' is not 32 hexadecimal digits", s->nonce);
    if (read_snapshot(s, &options, path, &snapshot, &why, &error)) return print_failure(s, path, why, &error);
    if (action == ACTION_CONVERT) code = convert(s, snapshot, path, operands->items[2]);
    else if (s->json) print_json(path, action == ACTION_VERIFY, snapshot);
    else if (action == ACTION_VERIFY) print_line(path, "verified: ", snapshot);
    else print_text(path, snapshot);
    tw_snapshot_free(snapshot);
    return code;
}

static const cli_option options[] = {
    {CLI_HEADING, 0, NULL, NULL, 0, "Keys, from files of mode 0600 with 32 bytes or 64 hexadecimal digits",
     CLI_HINT_NONE},
    {CLI_TEXT, 0, "hmac-key-file", "FILE", offsetof(settings, hmac_key),
     "the key of v3, v4 and archives signed with HMAC-SHA256", CLI_HINT_FILE},
    {CLI_TEXT, 0, "ed25519-public-key-file", "FILE", offsetof(settings, ed25519_key),
     "the public key of v3 and archives signed with Ed25519", CLI_HINT_FILE},
    {CLI_TEXT, 0, "aead-key-file", "FILE", offsetof(settings, aead_key),
     "the key of encrypted files; others are refused then", CLI_HINT_FILE},
    {CLI_HEADING, 0, NULL, NULL, 0, "What is demanded", CLI_HINT_NONE},
    {CLI_FLAG, 0, "require-signature", NULL, offsetof(settings, require_signature),
     "refuses what isn't signed; a key alone doesn't, and encryption is no signature", CLI_HINT_NONE},
    {CLI_DURATION, 0, "max-age", "TIME", offsetof(settings, max_age_ns), "refuses older files, like 24h",
     CLI_HINT_NONE},
    {CLI_NUMBER, 0, "min-sequence", "N", offsetof(settings, min_sequence), "refuses lower sequence numbers",
     CLI_HINT_NONE},
    {CLI_TEXT, 0, "expect-nonce", "HEX", offsetof(settings, nonce), "refuses another nonce, or none", CLI_HINT_NONE},
    {CLI_SIZE, 0, "max-bytes", "SIZE", offsetof(settings, max_bytes), "refuses to decompress to more (256MiB)",
     CLI_HINT_NONE},
    {CLI_FLAG, 0, "lenient", NULL, offsetof(settings, lenient),
     "joins the frames of v4 and ignores bytes behind a payload, as the earlier project's reader does", CLI_HINT_NONE},
    {CLI_HEADING, 0, NULL, NULL, 0, "What convert writes", CLI_HINT_NONE},
    {CLI_CHOICE, 0, "to", FORMATS, offsetof(settings, to), "the format; archive (ours) when nothing is said", CLI_HINT_NONE},
    {CLI_TEXT, 0, "sign-hmac-key-file", "FILE", offsetof(settings, sign_hmac),
     "signs with HMAC-SHA256: archive, v3, v4, which must be", CLI_HINT_FILE},
    {CLI_TEXT, 0, "sign-ed25519-key-file", "FILE", offsetof(settings, sign_ed25519),
     "signs with this seed of an Ed25519 key: archive, v3", CLI_HINT_FILE},
    {CLI_TEXT, 0, "encrypt-key-file", "FILE", offsetof(settings, encrypt), "encrypts an archive", CLI_HINT_FILE},
    {CLI_HEADING, 0, NULL, NULL, 0, "Output", CLI_HINT_NONE},
    {CLI_FLAG, 0, "json", NULL, offsetof(settings, json), "prints JSON; a refusal with its class", CLI_HINT_NONE},
};

static const cli_example examples[] = {
    {"tensor-wasm snapshot inspect state.snap", "checks an unsigned file and says what is in it"},
    {"tensor-wasm snapshot verify --hmac-key-file key --require-signature --min-sequence 7 state.snap",
     "prints 'state.snap: verified' and what it is; or why not, and then exits with 1"},
    {"tensor-wasm snapshot convert --to v3 --sign-hmac-key-file key state.snap old.snap",
     "writes the same state for the earlier project's reader"},
};

const cli_command cli_snapshot = {
    .name = "snapshot",
    .operands = "inspect|verify|convert FILE [TO]",
    .summary = "checks a snapshot file, says what is in it, or writes it in another format",
    .text =
        "FILE is an archive of ours, or the earlier project's v2, v3 or v4, or its encrypted form; or - for stdin. All of it is "
        "checked before anything is printed: signature, hashes, structure, and what the options demand.\n"
        "'convert' reads FILE so and writes TO: memories, registers, names, times, sequence number and nonce stay; the signature and "
        "encryption are those that are asked for. A snapshot of a running guest is written and read by 'tensor-wasm run'.\n"
        "A refusal has a class, like 'signature', 'replay' or 'crc', behind its message, or in JSON as error.class.",
    .options = options,
    .option_count = CLI_LENGTH(options),
    .examples = examples,
    .example_count = CLI_LENGTH(examples),
    .defaults = &defaults,
    .settings_size = sizeof defaults,
    .min_operands = 2,
    .max_operands = 3,
    .run = run,
};
