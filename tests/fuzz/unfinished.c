/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the kernels that another process left to be compiled: taken or refused; there is no worker to compile them. */
#include <stdlib.h>
#include <string.h>

#include "tensorwasm/tensorwasm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static tw_engine *engine;
static tw_kernel_cache *cache;

static void require(bool condition)
{
    if (!condition) abort();
}

static void begin(void)
{
    tw_engine_options options = TW_ENGINE_OPTIONS_INIT;
    options.offload = TW_OFFLOAD_FORCE;
    options.worker_path = "/nowhere/at/all";
    options.threads = 1;
    require(tw_engine_new(&options, &engine, NULL) == TW_OK && tw_kernel_cache_new(engine, NULL, &cache, NULL) == TW_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tw_error error = {.message = ""};
    if (!engine) begin();
    tw_status status = tw_kernel_cache_compile(cache, data, size, 1000000, &error);
    require(status == TW_OK || (error.status == status && error.message[0]));
    uint8_t *framed = malloc(size + 8); /* behind what it must begin with */
    require(framed != NULL);
    memcpy(framed, "TWUNFIN1", 8);
    if (size) memcpy(framed + 8, data, size);
    status = tw_kernel_cache_compile(cache, framed, size + 8, 1000000, &error);
    require(status == TW_OK || (error.status == status && error.message[0]));
    free(framed);
    return 0;
}
