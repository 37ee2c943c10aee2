/* SPDX-License-Identifier: Apache-2.0 */
#include "snapshot/envelope.h"

#include <inttypes.h>
#include <sodium.h>
#include <string.h>

#include "blake3/blake3.h"
#include "snapshot/little.h"

void tw_envelope_hash(tw_span first, tw_span second, uint8_t hash[TW_ENVELOPE_HASH])
{
    tw_blake3 state;
    tw_blake3_start(&state);
    tw_blake3_add(&state, first.data, first.size);
    tw_blake3_add(&state, second.data, second.size);
    tw_blake3_end(&state, hash);
}

static bool hash_is(tw_span first, tw_span second, const uint8_t wanted[TW_ENVELOPE_HASH])
{
    uint8_t hash[TW_ENVELOPE_HASH];
    tw_envelope_hash(first, second, hash);
    return sodium_memcmp(hash, wanted, sizeof hash) == 0;
}

size_t tw_envelope_tag_size(tw_snapshot_signature signature)
{
    if (signature == TW_SNAPSHOT_SIGNATURE_ED25519) return TW_SNAP_ED25519_SIZE;
    return signature == TW_SNAPSHOT_SIGNATURE_HMAC ? TW_SNAP_HMAC_SIZE : 0;
}

/* ---- header and signature ---- */

static tw_status too_short(const tw_envelope *e)
{
    return tw_snap_refuse(e->why, TW_SNAPSHOT_CLASS_FORMAT, "the %s is cut off after %" PRIu64 " bytes", e->form->noun, e->file_size);
}

bool tw_envelope_is(const tw_envelope_form *form, tw_span file)
{
    return file.size >= 4 && tw_little32(file.data) == form->magic;
}

tw_status tw_envelope_read_kind(tw_envelope *e)
{
    const uint8_t *head = e->front.data;
    if (e->front.size < TW_ENVELOPE_HEAD) return too_short(e);
    e->out->format = e->form->format;
    e->out->magic = tw_little32(head);
    e->out->version = tw_little32(head + 4);
    if (e->out->version != e->form->version)
        return tw_snap_refuse(e->why, TW_SNAPSHOT_CLASS_VERSION, "an %s of version %" PRIu32 "; only %" PRIu32 " is known here",
                              e->form->noun, e->out->version, e->form->version);
    e->flags = tw_little32(head + 8);
    uint32_t signature = e->flags & TW_ENVELOPE_SIGNATURE_MASK;
    if (e->flags & ~(TW_ENVELOPE_SIGNATURE_MASK | e->form->flags) || signature > TW_SNAPSHOT_SIGNATURE_ED25519)
        return tw_snap_refuse(e->why, TW_SNAPSHOT_CLASS_FORMAT, "the %s's flags, 0x%" PRIx32 ", aren't known", e->form->noun,
                              e->flags);
    e->table_end = TW_ENVELOPE_HEAD + e->form->sections * TW_ENVELOPE_ENTRY;
    e->bodies = e->table_end + tw_envelope_tag_size((tw_snapshot_signature)signature);
    return e->front.size < e->bodies ? too_short(e) : TW_OK;
}

static tw_status check_signature(tw_envelope *e)
{
    tw_span covered = {e->front.data, e->table_end};
    const uint8_t *tag = e->front.data + e->table_end;
    tw_snapshot_signature signature = (tw_snapshot_signature)(e->flags & TW_ENVELOPE_SIGNATURE_MASK);
    if (signature == TW_SNAPSHOT_SIGNATURE_NONE) {
        if (!e->options->require_signature) return TW_OK;
        return tw_snap_refuse(e->why, TW_SNAPSHOT_CLASS_UNSIGNED, "it has no signature, and the reader requires one");
    }
    bool hmac = signature == TW_SNAPSHOT_SIGNATURE_HMAC;
    const tw_snapshot_key *key = hmac ? e->options->hmac_key : e->options->ed25519_public;
    const char *name = hmac ? "HMAC-SHA256" : "Ed25519";
    if (!key)
        return tw_snap_refuse(e->why, TW_SNAPSHOT_CLASS_NO_KEY,
                              "it is signed with %s, and the reader has no key for that", name);
    if (hmac ? !tw_snap_hmac_is(key, covered, (tw_span){NULL, 0}, tag) : !tw_snap_ed25519_is(key, covered, tag))
        return tw_snap_refuse(e->why, TW_SNAPSHOT_CLASS_SIGNATURE, "the %s signature is not of these bytes by this key",
                              name);
    e->out->signature = signature;
    return TW_OK;
}

tw_status tw_envelope_verify(tw_envelope *e)
{
    const uint8_t *head = e->front.data;
    TW_TRY(check_signature(e));
    tw_span table = {head + TW_ENVELOPE_HEAD, e->table_end - TW_ENVELOPE_HEAD};
    if (!hash_is((tw_span){head, TW_ENVELOPE_HASHED}, table, head + TW_ENVELOPE_HASHED))
        return tw_snap_refuse(e->why, TW_SNAPSHOT_CLASS_HASH, "the hash of header and section table is another");
    if (tw_little32(head + 12) != e->form->sections)
        return tw_snap_refuse(e->why, TW_SNAPSHOT_CLASS_FORMAT, "the %s has %" PRIu32 " sections; %" PRIu32 " belong there",
                              e->form->noun, tw_little32(head + 12), e->form->sections);
    uint64_t size = tw_little64(head + 16);
    if (size > e->file_size) return too_short(e);
    if (size < e->file_size)
        return tw_snap_refuse(e->why, TW_SNAPSHOT_CLASS_TRAILING, "%" PRIu64 " bytes stand behind the %s", e->file_size - size,
                              e->form->noun);
    e->out->has_content = true;
    memcpy(e->out->content, head + TW_ENVELOPE_HASHED, TW_ENVELOPE_HASH);
    return TW_OK;
}

/* ---- the table ---- */

/* Sections stand in one order, each once, without gaps: so there is nothing to be duplicated, reordered or overlapped. */
tw_status tw_envelope_read_entry(tw_envelope *e, size_t index, uint64_t offset)
{
    tw_envelope_entry *entry = &e->entries[index];
    entry->raw = e->front.data + TW_ENVELOPE_HEAD + index * TW_ENVELOPE_ENTRY;
    uint32_t kind = tw_little32(entry->raw), version = tw_little32(entry->raw + 4);
    entry->offset = tw_little64(entry->raw + 8);
    entry->length = tw_little64(entry->raw + 16);
    entry->size = tw_little64(entry->raw + 24);
    if (kind != index + 1)
        return tw_snap_refuse(e->why, TW_SNAPSHOT_CLASS_FORMAT, "section %zu is of kind %" PRIu32 "; %s belongs there", index,
                              kind, e->form->names[index]);
    if (version != e->form->section_version)
        return tw_snap_refuse(e->why, TW_SNAPSHOT_CLASS_VERSION, "%s of version %" PRIu32 "; only %" PRIu32 " is known here",
                              e->form->names[index], version, e->form->section_version);
    if (entry->offset != offset || offset > e->file_size || entry->length > e->file_size - offset)
        return tw_snap_refuse(e->why, TW_SNAPSHOT_CLASS_FORMAT, "%s doesn't lie where it should in the %s",
                              e->form->names[index], e->form->noun);
    return TW_OK;
}

tw_status tw_envelope_end(const tw_envelope *e, uint64_t offset)
{
    if (offset == e->file_size) return TW_OK;
    return tw_snap_refuse(e->why, TW_SNAPSHOT_CLASS_FORMAT, "the sections end at %" PRIu64 ", the %s at %" PRIu64, offset,
                          e->form->noun, e->file_size);
}

tw_status tw_envelope_check_sizes(tw_envelope *e, const uint64_t sizes[3])
{
    uint64_t total = 0;
    for (size_t i = 0; i < 3; i++)
        if (__builtin_add_overflow(total, sizes[i], &total)) total = UINT64_MAX;
    e->out->total_uncompressed_bytes = total;
    if (total > e->options->max_bytes || total > SIZE_MAX / 2)
        return tw_snap_refuse(e->why, TW_SNAPSHOT_CLASS_LIMIT,
                              "the memories have %" PRIu64 " bytes; the reader takes at most %" PRIu64, total,
                              e->options->max_bytes);
    if (e->entries[0].size != TW_ENVELOPE_META)
        return tw_snap_refuse(e->why, TW_SNAPSHOT_CLASS_FORMAT, "metadata of %" PRIu64 " bytes; %d belong there",
                              e->entries[0].size, TW_ENVELOPE_META);
    return TW_OK;
}

/* ---- bodies ---- */

tw_status tw_envelope_check_body(const tw_envelope *e, size_t index, tw_span body)
{
    if (hash_is(body, (tw_span){NULL, 0}, e->entries[index].raw + TW_ENVELOPE_HASH_AT)) return TW_OK;
    return tw_snap_refuse(e->why, TW_SNAPSHOT_CLASS_HASH, "the hash of %s is another", e->form->names[index]);
}

tw_status tw_envelope_read_meta(const tw_envelope *e, tw_span body)
{
    tw_snapshot *s = e->out;
    const uint8_t *at = body.data;
    if (body.size != TW_ENVELOPE_META || at[48] > 1 || (at[48] == 0 && !sodium_is_zero(at + 49, TW_SNAPSHOT_NONCE_SIZE)))
        return tw_snap_refuse(e->why, TW_SNAPSHOT_CLASS_FORMAT, "the metadata isn't built as it should be");
    s->tenant = tw_little64(at);
    s->instance = (tw_instance_id){.low = tw_little64(at + 8), .high = tw_little64(at + 16)};
    s->created_unix_ms = tw_little64(at + 24);
    s->sequence = tw_little64(at + 32);
    s->has_nonce = at[48];
    memcpy(s->nonce, at + 49, TW_SNAPSHOT_NONCE_SIZE);
    if (tw_little64(at + 40) != s->total_uncompressed_bytes)
        return tw_snap_refuse(e->why, TW_SNAPSHOT_CLASS_TOTAL,
                              "the total is given as %" PRIu64 " bytes; the memories have %" PRIu64, tw_little64(at + 40),
                              s->total_uncompressed_bytes);
    return TW_OK;
}

/* ---- writing ---- */

tw_snapshot_signature tw_envelope_signature(const tw_snapshot_writer_options *options)
{
    if (options->ed25519_secret) return TW_SNAPSHOT_SIGNATURE_ED25519;
    return options->hmac_key ? TW_SNAPSHOT_SIGNATURE_HMAC : TW_SNAPSHOT_SIGNATURE_NONE;
}

void tw_envelope_append_meta(const tw_snapshot_state *state, tw_bytes *out)
{
    uint8_t meta[TW_ENVELOPE_META] = {0}, *at = meta;
    at = tw_put_little64(at, state->tenant);
    at = tw_put_little64(at, state->instance.low);
    at = tw_put_little64(at, state->instance.high);
    at = tw_put_little64(at, state->created_unix_ms);
    at = tw_put_little64(at, state->sequence);
    at = tw_put_little64(at, (uint64_t)state->wasm_memory.size + state->device_memory.size + state->registers.size);
    *at++ = state->has_nonce;
    if (state->has_nonce) memcpy(at, state->nonce, TW_SNAPSHOT_NONCE_SIZE);
    tw_bytes_append(out, meta, sizeof meta);
}

void tw_envelope_put_entry(const tw_envelope_form *form, size_t index, uint64_t offset, uint64_t length, uint64_t size,
                           uint8_t entry[TW_ENVELOPE_ENTRY])
{
    uint8_t *at = tw_put_little32(entry, (uint32_t)index + 1);
    at = tw_put_little32(at, form->section_version);
    tw_put_little64(tw_put_little64(tw_put_little64(at, offset), length), size);
}

void tw_envelope_put_head(const tw_envelope_form *form, uint32_t flags, uint64_t file_size, uint8_t head[TW_ENVELOPE_HEAD])
{
    uint8_t *at = tw_put_little32(head, form->magic);
    at = tw_put_little32(at, form->version);
    at = tw_put_little32(at, flags);
    at = tw_put_little32(at, form->sections);
    tw_put_little64(at, file_size);
}

void tw_envelope_close(const tw_envelope_form *form, const tw_snapshot_writer_options *options, uint8_t *front)
{
    tw_span table = {front + TW_ENVELOPE_HEAD, form->sections * TW_ENVELOPE_ENTRY};
    tw_span covered = {front, TW_ENVELOPE_HEAD + table.size};
    tw_envelope_hash((tw_span){front, TW_ENVELOPE_HASHED}, table, front + TW_ENVELOPE_HASHED);
    switch (tw_envelope_signature(options)) {
    case TW_SNAPSHOT_SIGNATURE_HMAC: tw_snap_hmac(options->hmac_key, covered, (tw_span){NULL, 0}, front + covered.size); break;
    case TW_SNAPSHOT_SIGNATURE_ED25519: tw_snap_ed25519_sign(options->ed25519_secret, covered, front + covered.size); break;
    case TW_SNAPSHOT_SIGNATURE_NONE: break;
    }
}
