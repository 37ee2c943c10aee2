/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_STATE_H
#define TW_CLI_STATE_H

/* Snapshot files as the command line reads and writes them: what a reader demands and a writer is told, with the rows of
 * options that say it, shared by every command that does either. Keys come from files, are read when they are needed and
 * wiped after. */

#include "cli/command.h"
#include "tensorwasm/snapshot.h"

/* ---- reading ---- */

typedef struct cli_reading {
    const char *hmac_key, *ed25519_public, *aead_key; /* files; NULL = none */
    const char *nonce;                                /* hexadecimal digits; NULL = any */
    bool require_signature, lenient;
    uint64_t max_age_ns, min_sequence;                /* 0 = any */
    uint64_t max_bytes;
    cli_list bases; /* of an incremental image, the lowest first */
    int verify;     /* a tw_snapshot_verify, whose first two are the words of --verify */
} cli_reading;

#define CLI_READING_MAX_BYTES (UINT64_C(256) << 20) /* of a file that is only looked at */
#define CLI_RUNNING_MAX_BYTES (UINT64_C(8) << 30)   /* of one to go on from: a whole memory, and some */

#define CLI_KEYS_HEADING "Keys, from files of mode 0600 with 32 bytes or 64 hexadecimal digits"
/* `settings` is a type with a cli_reading named `reading`. */
#define CLI_READING_OPTIONS(settings)                                                                                  \
    {CLI_HEADING, 0, NULL, NULL, 0, CLI_KEYS_HEADING, CLI_HINT_NONE},                                                  \
    {CLI_TEXT, 0, "hmac-key-file", "FILE", offsetof(settings, reading.hmac_key),                                       \
     "the key of v3, v4, archives and images signed with HMAC-SHA256", CLI_HINT_FILE},                                         \
    {CLI_TEXT, 0, "ed25519-public-key-file", "FILE", offsetof(settings, reading.ed25519_public),                       \
     "the public key of v3, archives and images signed with Ed25519", CLI_HINT_FILE},                                          \
    {CLI_TEXT, 0, "aead-key-file", "FILE", offsetof(settings, reading.aead_key),                                       \
     "the key of encrypted files; others are refused then", CLI_HINT_FILE},                                            \
    {CLI_HEADING, 0, NULL, NULL, 0, "What is demanded", CLI_HINT_NONE},                                                \
    {CLI_FLAG, 0, "require-signature", NULL, offsetof(settings, reading.require_signature),                            \
     "refuses what isn't signed; a key alone doesn't, and encryption is no signature", CLI_HINT_NONE},                 \
    {CLI_DURATION, 0, "max-age", "TIME", offsetof(settings, reading.max_age_ns), "refuses older files, like 24h",      \
     CLI_HINT_NONE},                                                                                                   \
    {CLI_NUMBER, 0, "min-sequence", "N", offsetof(settings, reading.min_sequence), "refuses lower sequence numbers",   \
     CLI_HINT_NONE},                                                                                                   \
    {CLI_TEXT, 0, "expect-nonce", "HEX", offsetof(settings, reading.nonce), "refuses another nonce, or none",          \
     CLI_HINT_NONE},                                                                                                   \
    {CLI_SIZE, 0, "max-bytes", "SIZE", offsetof(settings, reading.max_bytes),                                          \
     "refuses to decompress to more; default 256MiB, 8GiB where a guest goes on from it", CLI_HINT_NONE},              \
    {CLI_FLAG, 0, "lenient", NULL, offsetof(settings, reading.lenient),                                                \
     "joins the frames of v4 and ignores bytes behind a payload, as the earlier project's reader does", CLI_HINT_NONE}, \
    CLI_BASE_OPTION(settings)
#define CLI_BASE_OPTION(settings)                                                                                      \
    {CLI_LIST, 0, "base", "FILE", offsetof(settings, reading.bases),                                                   \
     "what an incremental image stands on; may be given again, the lowest first", CLI_HINT_FILE}
#define CLI_VERIFY_OPTION(settings)                                                                                    \
    {CLI_CHOICE, 0, "verify", "full|trusted", offsetof(settings, reading.verify),                                      \
     "an image's pages: all of them before the guest begins (the default), or none, from a folder of ours with mode 0700", \
     CLI_HINT_NONE}

/* What can't be meant is told, and gives CLI_EXIT_USAGE. */
int cli_reading_check(const cli_reading *how, bool json, const char *command);
/* Reads and checks a file, "-" for stdin. Free with tw_snapshot_free. *why: the class of a refusal. */
tw_status cli_state_read(const cli_reading *how, const char *path, tw_snapshot **out, tw_snapshot_class *why,
                         tw_error *error);
/* Says what became of it, with the class of a refusal, or the status of anything else (a file or key that can't be read) behind
 * it. Gives CLI_EXIT_FAILURE. */
int cli_state_refused(bool json, const char *path, tw_snapshot_class why, const tw_error *error);

/* ---- writing ---- */

typedef struct cli_writing {
    int to; /* index of CLI_FORMATS */
    const char *hmac_key, *ed25519_secret, *aead_key; /* files; NULL = none */
    const char *nonce;
    uint64_t sequence;
    cli_list against; /* an incremental image's base, behind what that stands on */
} cli_writing;

#define CLI_FORMATS "archive|v2|v3|v4|image"
tw_snapshot_format cli_format_at(int index);
const char *cli_format_name(tw_snapshot_format format);

#define CLI_WRITING_OPTIONS(settings)                                                                                  \
    {CLI_CHOICE, 0, "to", CLI_FORMATS, offsetof(settings, writing.to),                                                 \
     "the format; archive (ours) when nothing is said; an image (ours) is larger, and guests start from it at once", CLI_HINT_NONE},                                                \
    {CLI_TEXT, 0, "sign-hmac-key-file", "FILE", offsetof(settings, writing.hmac_key),                                  \
     "signs with HMAC-SHA256: archive, image, v3, v4, which must be", CLI_HINT_FILE},                                         \
    {CLI_TEXT, 0, "sign-ed25519-key-file", "FILE", offsetof(settings, writing.ed25519_secret),                         \
     "signs with this seed of an Ed25519 key: archive, image, v3", CLI_HINT_FILE},                                            \
    {CLI_TEXT, 0, "encrypt-key-file", "FILE", offsetof(settings, writing.aead_key), "encrypts an archive",             \
     CLI_HINT_FILE},                                                                                                   \
    CLI_AGAINST_OPTION(settings)
#define CLI_AGAINST_OPTION(settings)                                                                                   \
    {CLI_LIST, 0, "against", "FILE", offsetof(settings, writing.against),                                              \
     "an image: only what differs from this archive or image, not signed or with the HMAC key; where that is incremental, " \
     "behind what it stands on",                                                                                       \
     CLI_HINT_FILE}
#define CLI_NAMING_OPTIONS(settings)                                                                                   \
    {CLI_NUMBER, 0, "sequence", "N", offsetof(settings, writing.sequence),                                             \
     "its sequence number, for readers that refuse old ones; default 0", CLI_HINT_NONE},                               \
    {CLI_TEXT, 0, "nonce", "HEX", offsetof(settings, writing.nonce),                                                   \
     "its nonce, 32 hexadecimal digits, for readers that expect one", CLI_HINT_NONE}

int cli_writing_check(const cli_writing *how, const char *command);
/* Whether the keys can be had, and go with the format: before a guest runs for it. */
tw_status cli_writing_try(const cli_writing *how, tw_error *error);
/* Takes the snapshot of an instance and writes the file, all or nothing. */
tw_status cli_state_save(tw_instance *instance, const cli_writing *how, const char *path, tw_error *error);
/* Writes a state as a file, all or nothing; its sequence number and nonce are the state's. */
tw_status cli_state_write(const tw_snapshot_state *state, const cli_writing *how, const char *path, tw_error *error);
/* Any file, all or nothing. */
tw_status cli_publish(const char *path, const char *what, const uint8_t *bytes, size_t size, tw_error *error);

#endif
