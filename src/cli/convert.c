/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/convert.h"

#include <stdlib.h>
#include <string.h>

#include "cli/state.h"

typedef struct keys {
    tw_snapshot_key *hmac, *ed25519, *aead;
} keys;

static tw_status read_key(const char *path, tw_snapshot_key_kind kind, tw_snapshot_key **out, tw_error *error)
{
    return path ? tw_snapshot_key_read(kind, path, out, error) : TW_OK;
}

static tw_status read_keys(const cli_conversion *how, keys *out, tw_error *error)
{
    tw_status status = read_key(how->hmac_key, TW_SNAPSHOT_KEY_HMAC, &out->hmac, error);
    if (!status) status = read_key(how->ed25519_secret, TW_SNAPSHOT_KEY_ED25519_SECRET, &out->ed25519, error);
    if (!status) status = read_key(how->aead_key, TW_SNAPSHOT_KEY_AEAD, &out->aead, error);
    return status;
}

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

tw_status cli_convert(const cli_conversion *how, const tw_snapshot *from, const char *path, tw_error *error)
{
    tw_snapshot_writer_options options = TW_SNAPSHOT_WRITER_OPTIONS_INIT;
    tw_snapshot_state state = state_of(from);
    tw_snapshot_writer *writer = NULL;
    keys k = {0};
    uint8_t *bytes = NULL;
    size_t size = 0;
    tw_status status = read_keys(how, &k, error);
    options.format = how->format;
    options.hmac_key = k.hmac;
    options.ed25519_secret = k.ed25519;
    options.aead_key = k.aead;
    if (!status) status = tw_snapshot_writer_new(&options, &writer, error);
    if (!status) status = tw_snapshot_capture(writer, &state, &bytes, &size, error);
    if (!status) status = cli_state_publish(path, bytes, size, error);
    free(bytes);
    tw_snapshot_writer_free(writer);
    tw_snapshot_key_free(k.hmac);
    tw_snapshot_key_free(k.ed25519);
    tw_snapshot_key_free(k.aead);
    return status;
}

const char *cli_convert_lost(const cli_conversion *how, const tw_snapshot *from)
{
    bool signature = from->signature && !how->hmac_key && !how->ed25519_secret, encryption = from->encrypted && !how->aead_key;
    return signature && encryption ? "its signature and its encryption" : signature ? "its signature" : encryption ? "its encryption" : "";
}
