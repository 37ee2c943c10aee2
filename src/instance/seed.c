/* SPDX-License-Identifier: Apache-2.0 */
/* A module's data segments leave the same bytes in every instance: from the second one of a tenant on they are mapped and
 * shared until written, where they are many enough that this is cheaper than to copy them. */
#include <stdlib.h>

#include "instance/runtime.h"

static uint64_t data_bytes(const tw_wasm *wasm)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < wasm->data_count; i++)
        if (wasm->datas[i].mode == TW_SEGMENT_ACTIVE) bytes += wasm->datas[i].bytes.size;
    return bytes;
}

/* An image is made by a look at every page, which may not take much longer than to copy the data has. */
static bool pays(const tw_module *module, uint64_t memory)
{
    enum { ZEROS_A_BYTE = 64, FREE = 16 << 20 };
    uint64_t bytes = data_bytes(&module->wasm);
    return bytes >= module->engine->least_image && memory <= bytes * ZEROS_A_BYTE + FREE;
}

static tw_seed *find(const tw_module *module, tw_tenant_id tenant)
{
    tw_seed *seed = module->seeds;
    while (seed && seed->tenant != tenant) seed = seed->next;
    return seed;
}

tw_image *tw_runtime_seed(tw_module *module, tw_tenant_id tenant)
{
    pthread_mutex_lock(&module->lock);
    tw_seed *seed = find(module, tenant);
    tw_image *image = seed ? seed->image : NULL;
    if (image) tw_image_retain(image);
    pthread_mutex_unlock(&module->lock);
    return image;
}

/* Under the lock. No memory for it is no failure: instances begin without. */
static void keep(tw_module *module, tw_tenant_id tenant, const tw_slot *memory)
{
    tw_seed *seed = calloc(1, sizeof *seed);
    if (!seed) return;
    seed->tenant = tenant;
    if (tw_image_new(memory->base, atomic_load(&memory->size), &seed->image, NULL) != TW_OK) seed->image = NULL;
    seed->next = module->seeds;
    module->seeds = seed;
}

void tw_runtime_keep_seed(tw_module *module, tw_tenant_id tenant, const tw_slot *memory)
{
    if (!memory || !pays(module, atomic_load(&memory->size))) return;
    pthread_mutex_lock(&module->lock);
    if (!find(module, tenant)) keep(module, tenant, memory);
    pthread_mutex_unlock(&module->lock);
}

void tw_runtime_free_seeds(tw_module *module)
{
    while (module->seeds) {
        tw_seed *next = module->seeds->next;
        tw_image_release(module->seeds->image);
        free(module->seeds);
        module->seeds = next;
    }
}
