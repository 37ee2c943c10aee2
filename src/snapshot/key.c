/* SPDX-License-Identifier: Apache-2.0 */
#include "snapshot/key.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct tw_snapshot_key {
    tw_snapshot_key_kind kind;
    uint8_t bytes[TW_SNAPSHOT_KEY_SIZE];
};

/* More than any form of a key takes, so that a longer file is seen to be one. */
enum { KEY_FILE_ROOM = 2 * TW_SNAPSHOT_KEY_SIZE + 8 };

static const char *const kind_names[TW_SNAPSHOT_KEY_KINDS] = {"HMAC", "Ed25519 secret", "Ed25519 public", "AEAD"};

tw_status tw_snap_crypto_start(tw_error *error)
{
    return sodium_init() < 0 ? tw_fail(error, TW_INTERNAL, "libsodium doesn't start") : TW_OK;
}

tw_status tw_snapshot_key_new(tw_snapshot_key_kind kind, const uint8_t bytes[TW_SNAPSHOT_KEY_SIZE],
                              tw_snapshot_key **out, tw_error *error)
{
    if (!bytes || !out || (unsigned)kind >= TW_SNAPSHOT_KEY_KINDS)
        return tw_fail(error, TW_INVALID_ARGUMENT, "tw_snapshot_key_new: a pointer is NULL, or there is no such kind");
    TW_TRY(tw_snap_crypto_start(error));
    tw_snapshot_key *key = sodium_malloc(sizeof *key);
    TW_TRY_ALLOC(key, error);
    key->kind = kind;
    memcpy(key->bytes, bytes, sizeof key->bytes);
    *out = key;
    return TW_OK;
}

void tw_snapshot_key_free(tw_snapshot_key *key)
{
    sodium_free(key);
}

tw_status tw_snap_key_check(const tw_snapshot_key *key, tw_snapshot_key_kind kind, tw_error *error)
{
    if (!key || key->kind == kind) return TW_OK;
    return tw_fail(error, TW_INVALID_ARGUMENT, "a key of kind %s was given where one of kind %s belongs",
                   kind_names[key->kind], kind_names[kind]);
}

const uint8_t *tw_snap_key_bytes(const tw_snapshot_key *key)
{
    return key->bytes;
}

/* ---- files ---- */

/* A key that others could have read or put there is none. */
static tw_status check_file(int file, const char *path, tw_error *error)
{
    struct stat about;
    if (fstat(file, &about))
        return tw_fail(error, TW_IO, "the key file %s can't be looked at: %s", path, strerror(errno));
    if (!S_ISREG(about.st_mode)) return tw_fail(error, TW_UNTRUSTED, "the key file %s is not a regular file", path);
    if (about.st_uid != geteuid()) return tw_fail(error, TW_UNTRUSTED, "the key file %s belongs to another user", path);
    if (about.st_mode & 077)
        return tw_fail(error, TW_UNTRUSTED, "the key file %s is open to others (mode %04o): chmod 600 it", path,
                       (unsigned)about.st_mode & 07777);
    return TW_OK;
}

static tw_status read_file(int file, const char *path, uint8_t *room, size_t *size, tw_error *error)
{
    *size = 0;
    while (*size < KEY_FILE_ROOM) {
        ssize_t got = read(file, room + *size, KEY_FILE_ROOM - *size);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return tw_fail(error, TW_IO, "the key file %s can't be read: %s", path, strerror(errno));
        if (got == 0) break;
        *size += (size_t)got;
    }
    return TW_OK;
}

static bool is_hex(const uint8_t *text, size_t size, uint8_t key[TW_SNAPSHOT_KEY_SIZE])
{
    size_t length;
    if (size > 0 && text[size - 1] == '\n') size--;
    if (size > 0 && text[size - 1] == '\r') size--;
    return size == 2 * TW_SNAPSHOT_KEY_SIZE &&
           !sodium_hex2bin(key, TW_SNAPSHOT_KEY_SIZE, (const char *)text, size, NULL, &length, NULL) &&
           length == TW_SNAPSHOT_KEY_SIZE;
}

static tw_status parse(tw_snapshot_key_kind kind, const char *path, const uint8_t *text, size_t size,
                       tw_snapshot_key **out, tw_error *error)
{
    uint8_t key[TW_SNAPSHOT_KEY_SIZE];
    if (size == TW_SNAPSHOT_KEY_SIZE) return tw_snapshot_key_new(kind, text, out, error);
    tw_status status = TW_MALFORMED;
    if (is_hex(text, size, key)) status = tw_snapshot_key_new(kind, key, out, error);
    else tw_fail(error, TW_MALFORMED, "the key file %s has neither 32 bytes nor 64 hexadecimal digits", path);
    sodium_memzero(key, sizeof key);
    return status;
}

tw_status tw_snapshot_key_read(tw_snapshot_key_kind kind, const char *path, tw_snapshot_key **out, tw_error *error)
{
    if (!path || !out) return tw_fail(error, TW_INVALID_ARGUMENT, "tw_snapshot_key_read: a required pointer is NULL");
    /* Not blocking: a named pipe must not make us wait before we have seen that it is one. */
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (file < 0 && errno == ELOOP) return tw_fail(error, TW_UNTRUSTED, "the key file %s is a link", path);
    if (file < 0)
        return tw_fail(error, errno == ENOENT ? TW_NOT_FOUND : TW_IO, "the key file %s can't be opened: %s", path,
                       strerror(errno));
    uint8_t text[KEY_FILE_ROOM];
    size_t size;
    tw_status status = check_file(file, path, error);
    if (!status) status = read_file(file, path, text, &size, error);
    if (!status) status = parse(kind, path, text, size, out, error);
    sodium_memzero(text, sizeof text);
    close(file);
    return status;
}

/* ---- signatures ---- */

static const uint8_t *bytes_of(tw_span span)
{
    return span.data ? span.data : (const uint8_t *)"";
}

void tw_snap_hmac(const tw_snapshot_key *key, tw_span first, tw_span second, uint8_t tag[TW_SNAP_HMAC_SIZE])
{
    crypto_auth_hmacsha256_state state;
    crypto_auth_hmacsha256_init(&state, key->bytes, sizeof key->bytes);
    crypto_auth_hmacsha256_update(&state, bytes_of(first), first.size);
    crypto_auth_hmacsha256_update(&state, bytes_of(second), second.size);
    crypto_auth_hmacsha256_final(&state, tag);
    sodium_memzero(&state, sizeof state);
}

bool tw_snap_hmac_is(const tw_snapshot_key *key, tw_span first, tw_span second, const uint8_t tag[TW_SNAP_HMAC_SIZE])
{
    uint8_t wanted[TW_SNAP_HMAC_SIZE];
    tw_snap_hmac(key, first, second, wanted);
    bool same = sodium_memcmp(wanted, tag, sizeof wanted) == 0;
    sodium_memzero(wanted, sizeof wanted);
    return same;
}

void tw_snap_ed25519_sign(const tw_snapshot_key *secret, tw_span message, uint8_t signature[TW_SNAP_ED25519_SIZE])
{
    uint8_t public_key[crypto_sign_PUBLICKEYBYTES], pair[crypto_sign_SECRETKEYBYTES];
    crypto_sign_seed_keypair(public_key, pair, secret->bytes);
    crypto_sign_detached(signature, NULL, bytes_of(message), message.size, pair);
    sodium_memzero(pair, sizeof pair);
}

bool tw_snap_ed25519_is(const tw_snapshot_key *key, tw_span message, const uint8_t signature[TW_SNAP_ED25519_SIZE])
{
    return crypto_sign_verify_detached(signature, bytes_of(message), message.size, key->bytes) == 0;
}
