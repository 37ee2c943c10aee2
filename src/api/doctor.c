/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/error.h"
#include "compile/installation.h"
#include "memory/slot.h"
#include "os/machine.h"
#include "tensorwasm/tensorwasm.h"

/* A line of the report; a number where there is no text. */
typedef struct fact {
    const char *key, *label;
    uint64_t number;
    const char *text;
} fact;

static void write_json_string(tw_bytes *out, const char *text)
{
    tw_bytes_append_byte(out, '"');
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\') tw_bytes_printf(out, "\\%c", c);
        else if (c < 0x20) tw_bytes_printf(out, "\\u%04x", c);
        else tw_bytes_append_byte(out, c);
    }
    tw_bytes_append_byte(out, '"');
}

static void write_json(tw_bytes *out, const fact *facts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        tw_bytes_printf(out, "%s\n  \"%s\": ", i ? "," : "{", facts[i].key);
        if (facts[i].text) write_json_string(out, facts[i].text);
        else tw_bytes_printf(out, "%" PRIu64, facts[i].number);
    }
    tw_bytes_append_string(out, "\n}\n");
}

static void write_text(tw_bytes *out, const fact *facts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        tw_bytes_printf(out, "%-18s ", facts[i].label);
        if (facts[i].text) tw_bytes_printf(out, "%s\n", facts[i].text);
        else tw_bytes_printf(out, "%" PRIu64 "\n", facts[i].number);
    }
}

static const char *describe_slots(const tw_slot_layout *layout)
{
    return layout->full ? "4 GiB + 32 MiB guard a memory: no bounds checks"
                        : "4 GiB can't be reserved here (ulimit -v?): 256 MiB a memory, with bounds checks (slower)";
}

static const char *describe_limit(uint64_t bytes, char *buffer, size_t size)
{
    if (bytes == UINT64_MAX) return "no limit";
    snprintf(buffer, size, "%" PRIu64 " bytes", bytes);
    return buffer;
}

tw_status tw_doctor(tw_format format, char **text, tw_error *error)
{
    if (!text) return tw_fail(error, TW_INVALID_ARGUMENT, "tw_doctor: text is NULL");
    tw_machine machine;
    tw_machine_describe(&machine);
    tw_slot_layout layout = tw_slot_probe();
    char space[32], groups[32], worker[PATH_MAX];
    bool has_worker = tw_worker_find(worker, sizeof worker);
    const fact facts[] = {
        {"version", "tensorwasm", 0, tw_version()},
        {"kernel", "kernel", 0, machine.kernel},
        {"cpu", "processor", 0, machine.cpu},
        {"simd", "SIMD", 0, machine.simd},
        {"processors", "processors usable", machine.processors, NULL},
        {"memory_bytes", "memory (bytes)", machine.memory, NULL},
        {"memory_limit", "memory limit", 0, describe_limit(machine.memory_limit, groups, sizeof groups)},
        {"address_space", "address space", 0, describe_limit(machine.address_space, space, sizeof space)},
        {"max_mappings", "mappings at most", machine.max_mappings, NULL},
        {"reservation", "linear memory", 0, describe_slots(&layout)},
        {"slot_bytes", "bytes a memory", layout.reserved, NULL},
        {"worker", "compile worker", 0, has_worker ? worker : "not installed: no loop becomes a kernel"},
    };
    tw_bytes out = {0};
    (format == TW_FORMAT_JSON ? write_json : write_text)(&out, facts, sizeof facts / sizeof *facts);
    char *taken = tw_bytes_take(&out, NULL);
    TW_TRY_ALLOC(taken, error);
    *text = taken;
    return TW_OK;
}
