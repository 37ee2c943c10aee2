/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TENSORWASM_SNAPSHOT_H
#define TENSORWASM_SNAPSHOT_H

/* Snapshot files: state of an instance as bytes that can be kept, sent, checked and read again.
 *
 * The two calls here work on plain byte spans and know nothing of running instances: tw_snapshot_capture makes a file of
 * a state, tw_snapshot_restore gives the state of a file, after it has checked everything that can be checked. Where the
 * spans lie (heap, mapped file, memory that a device shares) makes no difference to the bytes of the file.
 *
 * A reader trusts nothing: sizes are bounded before memory is asked for, a signature is checked before anything is
 * decompressed, tags are compared in constant time. What it refuses it names by a class (tw_snapshot_class).
 *
 * Writers and readers are plain settings; they and keys may be used from any thread at once. The formats are specified in
 * docs/snapshot-format.md. */

#include "tensorwasm/span.h"
#include "tensorwasm/tensorwasm.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* What is written first into the payload of v2, v3 and v4, the earlier project's formats, and the version behind it. */
#define TW_SNAPSHOT_MAGIC UINT32_C(0xBA115407)
#define TW_SNAPSHOT_VERSION 2
/* The version inside a v3 file: the payload is version 2's. */
#define TW_SNAPSHOT_VERSION_SIGNED 3

/* The same of our own archives: "TWSA". */
#define TW_SNAPSHOT_ARCHIVE_MAGIC UINT32_C(0x41535754)
#define TW_SNAPSHOT_ARCHIVE_VERSION 1

/* The same of our own images: "TWSI". */
#define TW_SNAPSHOT_IMAGE_MAGIC UINT32_C(0x49535754)
#define TW_SNAPSHOT_IMAGE_VERSION 1

typedef enum tw_snapshot_format {
    TW_SNAPSHOT_ARCHIVE = 1, /* our own: signed and encrypted where asked for, zero pages left out, several threads */
    TW_SNAPSHOT_V2 = 2, /* one zstd frame: no signature */
    TW_SNAPSHOT_V3 = 3, /* that, and a trailer with HMAC-SHA256 or Ed25519 */
    TW_SNAPSHOT_V4 = 4, /* an envelope with BLAKE3 and HMAC-SHA256 */
    TW_SNAPSHOT_IMAGE = 5, /* our own: pages that can be mapped, so that only those that are touched cost; signed where asked for */
} tw_snapshot_format;

/* Why a file isn't taken: X(NAME, "text", status, "meaning"). Append only. */
#define TW_SNAPSHOT_CLASS_MAP(X)                                                                                       \
    X(NONE, "none", OK, "it wasn't refused, or for a reason outside the file: no memory, a wrong argument")            \
    X(FORMAT, "format", MALFORMED, "it isn't built as a snapshot is, or ends too early")                               \
    X(MAGIC, "magic", MALFORMED, "the payload doesn't begin as a snapshot's does")                                     \
    X(VERSION, "version", UNSUPPORTED, "a version that isn't known, or not allowed there")                             \
    X(TRAILING, "trailing", MALFORMED, "there are bytes behind its end")                                               \
    X(CRC, "crc", MALFORMED, "the checksum of the memories is another")                                                \
    X(TOTAL, "total", MALFORMED, "the declared sum of sizes is another")                                               \
    X(HASH, "hash", MALFORMED, "a content hash is another")                                                            \
    X(LIMIT, "limit", LIMIT, "a size is above what the format or the reader allows")                                   \
    X(UNSIGNED, "unsigned", UNTRUSTED, "it has no signature and the reader requires one")                              \
    X(NO_SIGNATURE, "signature missing", UNTRUSTED, "its version promises a signature and there is none")              \
    X(NO_KEY, "nokey", UNTRUSTED, "it is signed or encrypted and the reader has no key for that")                      \
    X(SIGNATURE, "signature", UNTRUSTED, "the signature is not of these bytes by this key")                            \
    X(AEAD, "aead", UNTRUSTED, "it isn't encrypted with the reader's key, or was changed")                             \
    X(STALE, "stale", UNTRUSTED, "it is older than the reader allows")                                                 \
    X(REPLAY, "replay", UNTRUSTED, "its sequence number or nonce isn't the one that the reader expects")               \
    X(BASE, "base", NOT_FOUND, "it holds what differs from a base, and the reader has none or another")                \
    X(STORE, "store", UNTRUSTED, "it was to be taken on trust, and isn't a file of ours in a folder that is closed to others")

typedef enum tw_snapshot_class {
#define TW_SNAPSHOT_CLASS_ENUM(name, text, status, meaning) TW_SNAPSHOT_CLASS_##name,
    TW_SNAPSHOT_CLASS_MAP(TW_SNAPSHOT_CLASS_ENUM)
#undef TW_SNAPSHOT_CLASS_ENUM
        TW_SNAPSHOT_CLASS_COUNT
} tw_snapshot_class;
/* "crc", "signature missing", …, and the sentence beside it; static. */
const char *tw_snapshot_class_name(tw_snapshot_class refused);
const char *tw_snapshot_class_meaning(tw_snapshot_class refused);

/* ---- keys ---- */

typedef struct tw_snapshot_key tw_snapshot_key;
typedef enum tw_snapshot_key_kind {
    TW_SNAPSHOT_KEY_HMAC,           /* HMAC-SHA256, to sign and to verify */
    TW_SNAPSHOT_KEY_ED25519_SECRET, /* the seed, to sign */
    TW_SNAPSHOT_KEY_ED25519_PUBLIC, /* to verify */
    TW_SNAPSHOT_KEY_AEAD,           /* to encrypt and to decrypt */
    TW_SNAPSHOT_KEY_KINDS
} tw_snapshot_key_kind;
enum { TW_SNAPSHOT_KEY_SIZE = 32, TW_SNAPSHOT_NONCE_SIZE = 16 };

/* Copies the key; the caller wipes its own. */
tw_status tw_snapshot_key_new(tw_snapshot_key_kind kind, const uint8_t bytes[TW_SNAPSHOT_KEY_SIZE], tw_snapshot_key **out,
                              tw_error *error);
/* From a file: 32 bytes as they are, or 64 hexadecimal digits and perhaps a line end. The file must be a regular one, not a
 * link, ours, and closed to group and others (mode 0600 or 0400): else TW_UNTRUSTED. Also TW_NOT_FOUND, TW_IO, TW_MALFORMED.
 * Nothing of a key is ever put into a message. */
tw_status tw_snapshot_key_read(tw_snapshot_key_kind kind, const char *path, tw_snapshot_key **out, tw_error *error);
/* Wipes it. Not while a writer or reader that was given it is in use. */
void tw_snapshot_key_free(tw_snapshot_key *key);

/* ---- state ---- */

/* 128 bits: high * 2^64 + low. */
typedef struct tw_instance_id {
    uint64_t high, low;
} tw_instance_id;

typedef struct tw_snapshot_state {
    size_t size;
    tw_tenant_id tenant;
    tw_instance_id instance;
    tw_span wasm_memory, device_memory, registers; /* read during the call only */
    bool has_created;                              /* else: now */
    uint64_t created_unix_ms;
    uint64_t sequence;                             /* rises from snapshot to snapshot where replays matter; else 0 */
    bool has_nonce;
    uint8_t nonce[TW_SNAPSHOT_NONCE_SIZE];
} tw_snapshot_state;
#define TW_SNAPSHOT_STATE_INIT {.size = sizeof(tw_snapshot_state)}

/* ---- writing ---- */

typedef struct tw_snapshot tw_snapshot;
typedef struct tw_snapshot_writer tw_snapshot_writer;
typedef struct tw_snapshot_writer_options {
    size_t size;
    tw_snapshot_format format;        /* default TW_SNAPSHOT_ARCHIVE */
    int level;                        /* of zstd, 1 to 19; default 3. v4 is always at 3 */
    /* Keys must outlive the writer. An archive or image is signed when it has one, v3 needs one: Ed25519's where both are given. v4
     * needs the HMAC key. */
    const tw_snapshot_key *hmac_key;
    const tw_snapshot_key *ed25519_secret;
    const tw_snapshot_key *aead_key;  /* encrypts an archive; no other format */
    uint32_t threads;                 /* that compress an archive or hash an image; 0 = as many as the process may use */
    /* Images only: what is as in this snapshot isn't written, and whoever reads the image must have it. An archive or image of the
     * same tenant, verified in full; at most TW_SNAPSHOT_MAX_DEPTH stand on one another. It must outlive the writer. */
    const tw_snapshot *base;
} tw_snapshot_writer_options;
enum { TW_SNAPSHOT_MAX_DEPTH = 16 };
#define TW_SNAPSHOT_WRITER_OPTIONS_INIT                                                                                \
    {.size = sizeof(tw_snapshot_writer_options), .format = TW_SNAPSHOT_ARCHIVE, .level = 3}

/* options NULL = defaults. TW_INVALID_ARGUMENT where format and keys don't go together. */
tw_status tw_snapshot_writer_new(const tw_snapshot_writer_options *options, tw_snapshot_writer **out, tw_error *error);
void tw_snapshot_writer_free(tw_snapshot_writer *writer);
/* *bytes is the file, malloc'd: free() it. Same state, options and libzstd give the same bytes, with any number of threads; but
 * encryption takes random numbers. TW_LIMIT for what v2, v3, v4 can't hold: registers above 1 MiB, wasm memory above 1 GiB,
 * device memory above 4 GiB, a v4 payload above 256 MiB. */
tw_status tw_snapshot_capture(const tw_snapshot_writer *writer, const tw_snapshot_state *state, uint8_t **bytes,
                              size_t *size, tw_error *error);
/* The same into a file, all or nothing: whoever looks, after a crash too, finds the old file or the new one. It has mode 0600.
 * Blocks of an image that are zero become holes of the file. TW_IO. */
tw_status tw_snapshot_save(const tw_snapshot_writer *writer, const tw_snapshot_state *state, const char *path, tw_error *error);

/* ---- reading ---- */

typedef enum tw_snapshot_verify {
    TW_SNAPSHOT_VERIFY_FULL,    /* all bytes by their hashes; what is verified can't change afterwards */
    TW_SNAPSHOT_VERIFY_TRUSTED, /* an image's pages aren't looked at; see tw_snapshot_open */
    TW_SNAPSHOT_VERIFY_ONLY,    /* as full, but an image's pages aren't kept: its memories have sizes and no data */
} tw_snapshot_verify;

typedef struct tw_snapshot_reader tw_snapshot_reader;
typedef struct tw_snapshot_reader_options {
    size_t size;
    const tw_snapshot_key *hmac_key;       /* keys must outlive the reader. A key alone requires nothing */
    const tw_snapshot_key *ed25519_public;
    const tw_snapshot_key *aead_key;       /* with it, only encrypted files are taken */
    bool require_signature;                /* encryption isn't one */
    bool lenient;                          /* joins the zstd frames of v4, ignores bytes behind the payload of v2, v3, v4 */
    bool has_max_age;
    uint64_t max_age_ms;                   /* by the clock of this machine; the future isn't old */
    uint64_t min_sequence;
    bool has_expected_nonce;
    uint8_t expected_nonce[TW_SNAPSHOT_NONCE_SIZE];
    uint64_t max_bytes;                    /* of a payload, or the memories of an archive or image; default 256 MiB */
    uint64_t max_file;                     /* bytes of a file; default 1 GiB */
    uint32_t threads;                      /* that read an archive or image; 0 = as many as the process may use */
    tw_snapshot_verify verify;             /* of tw_snapshot_open */
    /* Of incremental images; must outlive the reader, not what it read. One whose pages were taken on trust is a base only for a reader
     * that takes images on trust. */
    const tw_snapshot *base;
} tw_snapshot_reader_options;
#define TW_SNAPSHOT_READER_OPTIONS_INIT                                                                                \
    {.size = sizeof(tw_snapshot_reader_options), .max_bytes = 256 << 20, .max_file = 1 << 30}

/* options NULL = defaults. */
tw_status tw_snapshot_reader_new(const tw_snapshot_reader_options *options, tw_snapshot_reader **out, tw_error *error);
void tw_snapshot_reader_free(tw_snapshot_reader *reader);

typedef enum tw_snapshot_signature {
    TW_SNAPSHOT_SIGNATURE_NONE,
    TW_SNAPSHOT_SIGNATURE_HMAC,
    TW_SNAPSHOT_SIGNATURE_ED25519,
} tw_snapshot_signature;

/* What was read. Made by the library only, which may add fields at the end. */
struct tw_snapshot {
    tw_snapshot_format format;
    uint32_t magic, version;         /* as they stand in the file; a v4 file has version 2 inside */
    tw_snapshot_signature signature; /* that was verified */
    bool encrypted;
    tw_tenant_id tenant;
    tw_instance_id instance;
    uint64_t created_unix_ms, sequence;
    bool has_nonce;
    uint8_t nonce[TW_SNAPSHOT_NONCE_SIZE];
    uint64_t total_uncompressed_bytes;             /* the sum of the three sizes */
    tw_span wasm_memory, device_memory, registers; /* valid until the snapshot is freed */
    bool has_content;
    uint8_t content[32]; /* of archives and images: BLAKE3 of header and table, which hold all other hashes */
    bool has_base;
    uint8_t base[32];    /* of an incremental image: its base's content */
    uint32_t depth;      /* how many snapshots it stands on */
    const void *inside;  /* the library's own */
};

/* bytes are read during the call only. *why (may be NULL) is written by every call: the class of a refusal, or
 * TW_SNAPSHOT_CLASS_NONE. */
tw_status tw_snapshot_restore(const tw_snapshot_reader *reader, const uint8_t *bytes, size_t size, tw_snapshot **out,
                              tw_snapshot_class *why, tw_error *error);
/* From a file, of any format. An image's pages become a copy in memory that several instances share until they write, and that
 * stays right whatever becomes of the file.
 *
 * With TW_SNAPSHOT_VERIFY_TRUSTED an image's pages are neither read nor copied: instances map the file itself, so restoring costs what
 * is touched. Signature, header, metadata, registers and device memory are verified as ever. Only for a store of our own: the folder must be ours
 * with mode 0700, the file a regular one, no link, ours, and not writable by others; else class "store". Who can write there
 * can change what guests see. Of such a snapshot's wasm memory the size is known and the data are NULL: it serves
 * tw_instance_restore and pools. A file that becomes shorter while a guest runs ends that guest's call with TW_IO. Into a memory that
 * the host made the pages are read; TW_IO there leaves it half written.
 *
 * An incremental image is mapped over its base where that is an image opened from a file, too; else the two are merged in memory, and the
 * snapshot has its data.
 *
 * Also TW_NOT_FOUND, TW_IO. */
tw_status tw_snapshot_open(const tw_snapshot_reader *reader, const char *path, tw_snapshot **out, tw_snapshot_class *why,
                           tw_error *error);
void tw_snapshot_free(tw_snapshot *snapshot);

/* ---- comparing ---- */

typedef struct tw_snapshot_diff_options {
    size_t size;
    tw_format format;
    bool state_only; /* tenant, name, time, sequence number and nonce don't count */
} tw_snapshot_diff_options;
#define TW_SNAPSHOT_DIFF_OPTIONS_INIT {.size = sizeof(tw_snapshot_diff_options)}

/* What differs between two snapshots: metadata; of instances the module, globals, tables, dropped segments and what WASI told; memories
 * by ranges of pages of 4 KiB, with how many bytes are others. How the files are written doesn't count: format, signature,
 * encryption. *text is malloc'd, free() it; as text it is empty when all is the same, as JSON an object with "same". Options NULL =
 * defaults. */
tw_status tw_snapshot_diff(const tw_snapshot *a, const tw_snapshot *b, const tw_snapshot_diff_options *options, bool *same, char **text,
                           tw_error *error);

/* What a snapshot of an instance says of it: module, limit, how many globals and elements, dropped segments, arguments, names of
 * variables, folders, buffers. TW_MALFORMED, TW_UNSUPPORTED or TW_LIMIT when its registers aren't an instance's. *text is malloc'd,
 * free() it. */
tw_status tw_snapshot_describe(const tw_snapshot *snapshot, tw_format format, char **text, tw_error *error);

/* ---- running instances ---- */

typedef struct tw_capture_options {
    size_t size;
    tw_instance_id instance;       /* a name for it, if it has one */
    uint64_t sequence;
    bool has_created;              /* else: now */
    uint64_t created_unix_ms;
    bool has_nonce;
    uint8_t nonce[TW_SNAPSHOT_NONCE_SIZE];
} tw_capture_options;
#define TW_CAPTURE_OPTIONS_INIT {.size = sizeof(tw_capture_options)}

/* An instance that was spawned with `capturable`, as it is between two calls: memory, mutable and imported globals, tables, which segments have
 * been dropped, what WASI told it, its buffers, and which module it is of. *bytes is the file, malloc'd: free() it. The instance goes on.
 * What isn't part of it: time (a restored guest's monotonic clock begins anew), host functions and what they know, the
 * contents of directories.
 * TW_BUSY during a call; TW_TERMINATED; TW_UNSUPPORTED with the reason where something can't be written down: open files (by
 * name), descriptors that were closed or renumbered, standard input that was given as bytes and read, a reference to a function
 * from outside the module. Options NULL = defaults. */
tw_status tw_instance_capture(tw_instance *instance, const tw_snapshot_writer *writer, const tw_capture_options *options,
                              uint8_t **bytes, size_t *size, tw_error *error);
/* The same into a file, as tw_snapshot_save. */
tw_status tw_instance_save(tw_instance *instance, const tw_snapshot_writer *writer, const tw_capture_options *options,
                           const char *path, tw_error *error);

/* A new instance that goes on where the captured one was; it is capturable itself. An export "tw_after_restore", without
 * parameters and results, is called first: the place to seed random numbers and look at clocks.
 *
 * The options are those of tw_instance_spawn. The module must be the same, bit by bit in binary form, and so must the tenant. The
 * lower of the limits counts, the captured one's or that of the options. A guest with WASI has the arguments and the environment
 * that it had: the options have none; streams are those of the options; each of its directories must be among the options'
 * under the guest's name for it, and no other; one whose module imports nothing of WASI needs no options for it. Its buffers
 * come back under their names, where the options' `buffers` say (buffer.h); on the host where nothing is said or a device is missing.
 * TW_INVALID_ARGUMENT for another module or other directories, TW_UNTRUSTED for another tenant, TW_LIMIT, TW_MALFORMED for
 * registers that aren't of tw_instance_capture or don't fit, TW_UNAVAILABLE for a buffer's backend, TW_LINK, and what
 * tw_after_restore ended in. */
tw_status tw_instance_restore(tw_module *module, const tw_snapshot *snapshot, const tw_spawn_options *options,
                              tw_instance **out, tw_error *error);

typedef struct tw_bake_options {
    size_t size;
    bool wasi_from_host; /* arguments, environment and folders are those of the host that the new module runs on */
} tw_bake_options;
#define TW_BAKE_OPTIONS_INIT {.size = sizeof(tw_bake_options)}

/* A module of its own, for any engine, that begins with the snapshot's state: memory, globals and tables are its first contents, and
 * its instances go on where the captured one was. tw_after_restore is its start function, where there is one; the module's own
 * isn't, and the export "_initialize" is left out: both have run. *bytes is the module in binary form, malloc'd: free() it.
 * The module must be the snapshot's. TW_UNSUPPORTED, with the reason, for what a module can't hold: buffers; arguments,
 * environment and folders that it could ask WASI for again, unless the options say that its host gives them. Else as
 * tw_instance_restore, but for tenants: nothing runs here. */
tw_status tw_module_bake(tw_module *module, const tw_snapshot *snapshot, const tw_bake_options *options, uint8_t **bytes, size_t *size,
                         tw_error *error);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
