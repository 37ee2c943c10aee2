/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/input.h"
#include "cli/message.h"
#include "os/publish.h"

#define LEAST_FILE (UINT64_C(1) << 30) /* that is read, however little it may hold */
#define MOST_HELD  (UINT64_C(1) << 40)
enum { NS_PER_MS = 1000000 };

/* ---- keys ---- */

enum { HMAC, ED25519, AEAD, KEYS };
typedef struct keys {
    tw_snapshot_key *of[KEYS];
} keys;

static tw_status read_key(keys *k, int which, const char *path, tw_snapshot_key_kind kind, tw_error *error)
{
    return path ? tw_snapshot_key_read(kind, path, &k->of[which], error) : TW_OK;
}

static void free_keys(const keys *k)
{
    for (int i = 0; i < KEYS; i++) tw_snapshot_key_free(k->of[i]);
}

/* ---- nonces ---- */

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

static int check_nonce(const char *text, bool json, const char *command, const char *option)
{
    uint8_t nonce[TW_SNAPSHOT_NONCE_SIZE];
    if (!text || parse_nonce(text, nonce)) return CLI_EXIT_DONE;
    return cli_usage_error(json, command, "--%s: '%s' is not 32 hexadecimal digits", option, text);
}

int cli_reading_check(const cli_reading *how, bool json, const char *command)
{
    return check_nonce(how->nonce, json, command, "expect-nonce");
}

int cli_writing_check(const cli_writing *how, const char *command)
{
    return check_nonce(how->nonce, false, command, "nonce");
}

/* ---- reading ---- */

/* What a file may be to hold so much: what can't be compressed gets a little larger. */
static uint64_t most_file(uint64_t held)
{
    uint64_t bytes = held < MOST_HELD ? held + held / 64 : MOST_HELD;
    return bytes > LEAST_FILE ? bytes : LEAST_FILE;
}

static tw_snapshot_reader_options reader_options(const cli_reading *how, const keys *k)
{
    tw_snapshot_reader_options o = TW_SNAPSHOT_READER_OPTIONS_INIT;
    o.hmac_key = k->of[HMAC], o.ed25519_public = k->of[ED25519], o.aead_key = k->of[AEAD];
    o.require_signature = how->require_signature;
    o.lenient = how->lenient;
    o.has_max_age = how->max_age_ns > 0;
    o.max_age_ms = how->max_age_ns / NS_PER_MS;
    o.min_sequence = how->min_sequence;
    o.has_expected_nonce = how->nonce && parse_nonce(how->nonce, o.expected_nonce);
    o.max_bytes = how->max_bytes;
    o.max_file = most_file(how->max_bytes);
    return o;
}

/* Such a file is read by its name: it needn't go into memory as it is. */
static bool is_image(const char *path)
{
    uint8_t magic[4] = {0};
    FILE *file = strcmp(path, "-") ? fopen(path, "rbe") : NULL;
    bool read = file && fread(magic, 1, sizeof magic, file) == sizeof magic;
    if (file) fclose(file);
    return read && !memcmp(magic, "TWSI", sizeof magic);
}

static tw_status read_bytes(const tw_snapshot_reader *reader, uint64_t most, const char *path, tw_snapshot **out,
                            tw_snapshot_class *why, tw_error *error)
{
    cli_input_kind file = {most, "a snapshot", "a snapshot file"};
    uint8_t *bytes = NULL;
    size_t size = 0;
    tw_status status = cli_read_file(&file, path, &bytes, &size, error);
    if (!status) status = tw_snapshot_restore(reader, bytes, size, out, why, error);
    free(bytes);
    return status;
}

static tw_status read_with(const tw_snapshot_reader_options *options, const char *path, tw_snapshot **out,
                           tw_snapshot_class *why, tw_error *error)
{
    tw_snapshot_reader *reader = NULL;
    tw_status status = tw_snapshot_reader_new(options, &reader, error);
    if (!status && (options->verify == TW_SNAPSHOT_VERIFY_TRUSTED || is_image(path)))
        status = tw_snapshot_open(reader, path, out, why, error);
    else if (!status) status = read_bytes(reader, options->max_file, path, out, why, error);
    tw_snapshot_reader_free(reader);
    return status;
}

/* A base that isn't in a private folder can still be verified. */
static tw_status read_base(const tw_snapshot_reader_options *options, const char *path, tw_snapshot **out, tw_snapshot_class *why,
                           tw_error *error)
{
    tw_snapshot_reader_options verified = *options;
    verified.verify = TW_SNAPSHOT_VERIFY_FULL;
    if (options->verify != TW_SNAPSHOT_VERIFY_TRUSTED || !is_image(path)) return read_with(&verified, path, out, why, error);
    tw_status status = read_with(options, path, out, why, error);
    if (!status || *why != TW_SNAPSHOT_CLASS_STORE) return status;
    if (options->base && !options->base->wasm_memory.data && options->base->wasm_memory.size) return status; /* it stands on one that isn't */
    return read_with(&verified, path, out, why, error);
}

/* Each on the one before; *out is the last, or NULL where there is none. On trust only where the options say so. */
static tw_status read_bases(const tw_snapshot_reader_options *options, const cli_list *files, tw_snapshot **out,
                            tw_snapshot_class *why, tw_error *error)
{
    tw_snapshot_reader_options each = *options;
    tw_status status = TW_OK;
    each.has_max_age = each.has_expected_nonce = false;
    each.min_sequence = 0;
    for (size_t i = 0; !status && i < files->count; i++) {
        tw_snapshot *next = NULL;
        each.base = *out;
        status = read_base(&each, files->items[i], &next, why, error);
        tw_snapshot_free(*out);
        *out = next;
    }
    return status;
}

static tw_status read_on_bases(const cli_reading *how, const keys *k, const char *path, tw_snapshot **out,
                               tw_snapshot_class *why, tw_error *error)
{
    tw_snapshot_reader_options options = reader_options(how, k);
    tw_snapshot *base = NULL;
    options.verify = (tw_snapshot_verify)how->verify;
    tw_status status = read_bases(&options, &how->bases, &base, why, error);
    options.base = base;
    if (!status) status = read_with(&options, path, out, why, error);
    tw_snapshot_free(base);
    return status;
}

tw_status cli_state_read(const cli_reading *how, const char *path, tw_snapshot **out, tw_snapshot_class *why,
                         tw_error *error)
{
    keys k = {0};
    *why = TW_SNAPSHOT_CLASS_NONE;
    tw_status status = read_key(&k, HMAC, how->hmac_key, TW_SNAPSHOT_KEY_HMAC, error);
    if (!status) status = read_key(&k, ED25519, how->ed25519_public, TW_SNAPSHOT_KEY_ED25519_PUBLIC, error);
    if (!status) status = read_key(&k, AEAD, how->aead_key, TW_SNAPSHOT_KEY_AEAD, error);
    if (!status) status = read_on_bases(how, &k, path, out, why, error);
    free_keys(&k);
    return status;
}

int cli_state_refused(bool json, const char *path, tw_snapshot_class why, const tw_error *error)
{
    const char *name = why ? tw_snapshot_class_name(why) : tw_status_name(error->status);
    if (json)
        cli_print_json(json_pack("{s:{s:s, s:o}}", "error", "class", name, "message", cli_json_text(error->message)));
    else cli_say("%s: %s (%s)%s", path, error->message, name, why == TW_SNAPSHOT_CLASS_LIMIT ? "; --max-bytes SIZE allows more, or less" : "");
    return CLI_EXIT_FAILURE;
}

/* ---- writing ---- */

static const tw_snapshot_format formats[] = {TW_SNAPSHOT_ARCHIVE, TW_SNAPSHOT_V2, TW_SNAPSHOT_V3, TW_SNAPSHOT_V4, TW_SNAPSHOT_IMAGE};

tw_snapshot_format cli_format_at(int index) { return formats[index]; }

const char *cli_format_name(tw_snapshot_format format)
{
    switch (format) {
    case TW_SNAPSHOT_ARCHIVE: return "archive";
    case TW_SNAPSHOT_V2: return "v2";
    case TW_SNAPSHOT_V3: return "v3";
    case TW_SNAPSHOT_V4: return "v4";
    case TW_SNAPSHOT_IMAGE: return "image";
    }
    return "unknown";
}

tw_status cli_publish(const char *path, const char *what, const uint8_t *bytes, size_t size, tw_error *error)
{
    const char *step;
    int failed = tw_publish(path, bytes, size, &step);
    if (!failed) return TW_OK;
    *error = (tw_error){.status = TW_IO, .function = TW_NO_FUNCTION, .offset = TW_NO_OFFSET};
    snprintf(error->message, sizeof error->message, "can't write the %s %.300s: %s: %s", what, path, step, strerror(failed));
    return TW_IO;
}

/* Either a state or an instance is written. */
typedef struct source {
    const tw_snapshot_state *state;
    tw_instance *instance;
} source;

static tw_status make_file(const source *from, const cli_writing *how, const tw_snapshot_writer *writer, const char *path,
                           tw_error *error)
{
    if (from->state) return tw_snapshot_save(writer, from->state, path, error);
    tw_capture_options options = TW_CAPTURE_OPTIONS_INIT;
    options.sequence = how->sequence;
    options.has_nonce = how->nonce && parse_nonce(how->nonce, options.nonce);
    return tw_instance_save(from->instance, writer, &options, path, error);
}

static tw_status read_writers_keys(const cli_writing *how, keys *k, tw_error *error)
{
    tw_status status = read_key(k, HMAC, how->hmac_key, TW_SNAPSHOT_KEY_HMAC, error);
    if (!status) status = read_key(k, ED25519, how->ed25519_secret, TW_SNAPSHOT_KEY_ED25519_SECRET, error);
    if (!status) status = read_key(k, AEAD, how->aead_key, TW_SNAPSHOT_KEY_AEAD, error);
    return status;
}

static tw_status make_writer(const cli_writing *how, const keys *k, const tw_snapshot *base, tw_snapshot_writer **out, tw_error *error)
{
    tw_snapshot_writer_options options = TW_SNAPSHOT_WRITER_OPTIONS_INIT;
    options.format = cli_format_at(how->to);
    options.hmac_key = k->of[HMAC], options.ed25519_secret = k->of[ED25519], options.aead_key = k->of[AEAD];
    options.base = base;
    return tw_snapshot_writer_new(&options, out, error);
}

static tw_status read_against(const cli_writing *how, const keys *k, tw_snapshot **out, tw_error *error)
{
    const cli_reading reading = {.max_bytes = CLI_RUNNING_MAX_BYTES};
    const keys verifying = {{[HMAC] = k->of[HMAC]}};
    tw_snapshot_reader_options options = reader_options(&reading, &verifying);
    tw_snapshot_class why;
    return read_bases(&options, &how->against, out, &why, error);
}

/* from NULL: nothing is written. */
static tw_status write_file(const source *from, const cli_writing *how, const char *path, tw_error *error)
{
    keys k = {0};
    tw_snapshot *base = NULL;
    tw_snapshot_writer *writer = NULL;
    tw_status status = read_writers_keys(how, &k, error);
    if (!status) status = read_against(how, &k, &base, error);
    if (!status) status = make_writer(how, &k, base, &writer, error);
    if (!status && from) status = make_file(from, how, writer, path, error);
    tw_snapshot_writer_free(writer);
    tw_snapshot_free(base);
    free_keys(&k);
    return status;
}

tw_status cli_writing_try(const cli_writing *how, tw_error *error) { return write_file(NULL, how, NULL, error); }

tw_status cli_state_save(tw_instance *instance, const cli_writing *how, const char *path, tw_error *error)
{
    return write_file(&(source){.instance = instance}, how, path, error);
}

tw_status cli_state_write(const tw_snapshot_state *state, const cli_writing *how, const char *path, tw_error *error)
{
    return write_file(&(source){.state = state}, how, path, error);
}
