/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes: decoded or refused with a place, never worse. What is accepted is encoded, decoded again and encoded
 * again: the second encoding must equal the first. An edit without changes must give the input back. */
#include <stdlib.h>
#include <string.h>

#include "wasm/encode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition) abort();
}

static void check_error(tw_status status, const tw_error *error, size_t size)
{
    require(error->status == status && status != TW_INTERNAL && error->message[0]);
    require(error->offset == TW_NO_OFFSET || error->offset <= size);
}

static void check_noop_edit(const tw_wasm *module)
{
    tw_error error;
    tw_bytes out = {0};
    tw_edit *edit = tw_edit_new(module);
    require(edit && tw_edit_encode(edit, &out, &error) == TW_OK);
    require(out.size == module->bytes.size && memcmp(out.data, module->bytes.data, out.size) == 0);
    tw_bytes_free(&out);
    tw_edit_free(edit);
}

static void check_encode(const tw_wasm *module)
{
    tw_error error;
    tw_wasm again;
    tw_bytes first = {0}, second = {0};
    require(tw_wasm_encode(module, &first, &error) == TW_OK);
    require(tw_wasm_decode((tw_span){(uint8_t *)first.data, first.size}, NULL, &again, &error) == TW_OK);
    require(tw_wasm_check_bodies(&again, NULL, &error) == TW_OK);
    require(again.func_count == module->func_count && again.elem_count == module->elem_count &&
            again.data_count == module->data_count && again.export_count == module->export_count);
    require(tw_wasm_encode(&again, &second, &error) == TW_OK);
    require(first.size == second.size && memcmp(first.data, second.data, first.size) == 0);
    tw_wasm_free(&again);
    tw_bytes_free(&first);
    tw_bytes_free(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tw_wasm module;
    tw_error error = {0};
    tw_status status = tw_wasm_decode((tw_span){data, size}, NULL, &module, &error);
    if (status != TW_OK) {
        check_error(status, &error, size);
        return 0;
    }
    char name[40];
    for (uint32_t i = 0; i < module.func_count && i < 8; i++) tw_wasm_func_name(&module, i, name, sizeof name);
    check_noop_edit(&module);
    status = tw_wasm_check_bodies(&module, NULL, &error);
    if (status != TW_OK) check_error(status, &error, size);
    else check_encode(&module);
    tw_wasm_free(&module);
    return 0;
}
