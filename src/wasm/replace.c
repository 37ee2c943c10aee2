/* SPDX-License-Identifier: Apache-2.0 */
#include "wasm/encode.h"

#include <string.h>

#include "wasm/section_write.h"

static const uint8_t order[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 10, 11};
enum { KNOWN = sizeof order };

static int rank_of(uint8_t id)
{
    for (int i = 0; i < KNOWN; i++)
        if (order[i] == id) return i;
    return -1; /* custom */
}

static bool is_there(const tw_wasm *m, uint8_t id)
{
    for (uint32_t i = 0; i < m->section_count; i++)
        if (m->sections[i].id == id) return true;
    return false;
}

/* Those that the module lacks and that come before rank `until`. */
static void write_missing(const tw_wasm *m, const tw_section_change *changes, int *next, int until, tw_bytes *out)
{
    for (; *next < until; ++*next) {
        uint8_t id = order[*next];
        if (changes[id].what == TW_SECTION_REPLACED && !is_there(m, id)) tw_write_section(out, id, &changes[id].payload);
    }
}

static bool is_names(const tw_section *section)
{
    return section->id == 0 && section->name.size == 4 && !memcmp(section->name.data, "name", 4);
}

static void write_one(const tw_section *section, const tw_section_change *changes, tw_bytes *out)
{
    const tw_section_change *change = section->id || is_names(section) ? &changes[section->id] : NULL;
    if (change && change->what == TW_SECTION_LEFT_OUT) return;
    if (change && change->what == TW_SECTION_REPLACED) tw_write_section(out, section->id, &change->payload);
    else tw_bytes_append(out, section->whole.data, section->whole.size);
}

tw_status tw_wasm_replace_sections(const tw_wasm *m, const tw_section_change changes[TW_SECTION_IDS], tw_bytes *out,
                                   tw_error *error)
{
    int next = 0;
    uint32_t last_known = 0;
    tw_bytes_append(out, m->bytes.data, 8);
    for (uint32_t i = 0; i < m->section_count; i++)
        if (m->sections[i].id) last_known = i + 1;
    if (!last_known) write_missing(m, changes, &next, KNOWN, out);
    for (uint32_t i = 0; i < m->section_count; i++) {
        int rank = rank_of(m->sections[i].id);
        if (rank >= 0) write_missing(m, changes, &next, rank, out);
        write_one(&m->sections[i], changes, out);
        if (i + 1 == last_known) write_missing(m, changes, &next, KNOWN, out);
    }
    for (int id = 0; id < TW_SECTION_IDS; id++)
        if (changes[id].payload.size > UINT32_MAX) return tw_fail(error, TW_LIMIT, "a section of the new module would be over 4 GiB");
    return out->failed ? tw_fail_memory(error) : TW_OK;
}
