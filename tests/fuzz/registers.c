/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes: registers of an instance, or refused with a sentence. There is one way to write a state: what is taken and written
 * again has the same bytes. */
#include <stdlib.h>
#include <string.h>

#include "snapshot/registers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition) abort();
}

static void write_again(const tw_registers *r, const uint8_t *data, size_t size)
{
    tw_bytes out = {0};
    tw_registers_write(r, &out);
    require(!out.failed && out.size == size && memcmp(out.data, data, size) == 0);
    tw_bytes_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tw_arena arena;
    tw_registers r;
    tw_error error = {.message = ""};
    tw_arena_init(&arena, 64 * size + 4096);
    tw_status status = tw_registers_read((tw_span){data, size}, &arena, &r, &error);
    if (status == TW_OK) write_again(&r, data, size);
    else require((status == TW_MALFORMED || status == TW_UNSUPPORTED || status == TW_LIMIT) && error.message[0]);
    tw_arena_free(&arena);
    return 0;
}
