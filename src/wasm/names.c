/* SPDX-License-Identifier: Apache-2.0 */
/* Function names, for people. */
#include <stdio.h>
#include <string.h>

#include "wasm/decode.h"

enum { SUBSECTION_FUNCTIONS = 1 };

static void decode_func_names(tw_wasm *m, tw_reader *r)
{
    uint32_t count, func;
    tw_name name;
    if (tw_read_u32(r, "names", &count, NULL) != TW_OK) return;
    for (uint32_t i = 0; i < count; i++) {
        if (tw_read_u32(r, "names", &func, NULL) != TW_OK || tw_read_name(r, "name", &name, NULL) != TW_OK) return;
        if (func < m->func_count) m->func_names[func] = name;
    }
}

tw_status tw_decode_names(tw_decoder *d, const tw_section *section)
{
    tw_wasm *m = d->module;
    tw_reader r = {section->payload.data, section->payload.data, section->payload.data + section->payload.size,
                   section->offset};
    m->func_names = TW_NEW_ARRAY(&m->arena, tw_name, m->func_count);
    TW_TRY_ALLOC(m->func_names, d->error);
    while (tw_reader_left(&r)) {
        uint8_t id;
        uint32_t size;
        tw_span payload;
        if (tw_read_byte(&r, "names", &id, NULL) != TW_OK || tw_read_u32(&r, "names", &size, NULL) != TW_OK ||
            tw_read_bytes(&r, "names", size, &payload, NULL) != TW_OK)
            break;
        tw_reader inner = {payload.data, payload.data, payload.data + payload.size, 0};
        if (id == SUBSECTION_FUNCTIONS) decode_func_names(m, &inner);
    }
    return TW_OK;
}

static const tw_name *find_name(const tw_wasm *module, uint32_t func)
{
    if (module->func_names && func < module->func_count && module->func_names[func].size)
        return &module->func_names[func];
    for (uint32_t i = 0; i < module->export_count; i++)
        if (module->exports[i].kind == TW_EXTERN_FUNC && module->exports[i].index == func)
            return &module->exports[i].name;
    return NULL;
}

/* Cuts at a character's boundary. */
static void copy_name(const tw_name *name, char *out, size_t size)
{
    size_t length = name->size < size ? name->size : size - 1;
    while (length < name->size && length && ((uint8_t)name->data[length] & 0xC0) == 0x80) length--;
    memcpy(out, name->data, length);
    out[length] = 0;
}

void tw_wasm_func_name(const tw_wasm *module, uint32_t func, char *out, size_t size)
{
    if (size == 0) return;
    const tw_name *name = find_name(module, func);
    if (name) copy_name(name, out, size);
    else snprintf(out, size, "func[%u]", func);
}
