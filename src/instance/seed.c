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
    tw_image *image = seed && seed->image && seed->image->bytes >= module->engine->least_image ? seed->image : NULL;
    if (image) tw_image_retain(image);
    pthread_mutex_unlock(&module->lock);
    return image;
}

/* Under the lock. */
static tw_status make(tw_module *module, tw_tenant_id tenant, const tw_slot *memory, tw_seed **out, tw_error *error)
{
    tw_seed *seed = calloc(1, sizeof *seed);
    TW_TRY_ALLOC(seed, error);
    seed->tenant = tenant;
    tw_status status = tw_image_new(memory->base, atomic_load(&memory->size), &seed->image, error);
    if (status == TW_OK) status = tw_image_charge(seed->image, memory->account, error);
    if (status != TW_OK) {
        tw_image_release(seed->image);
        free(seed);
        return status;
    }
    seed->next = module->seeds;
    *out = module->seeds = seed;
    return TW_OK;
}

/* No memory for it is no failure: instances begin without. */
void tw_runtime_keep_seed(tw_module *module, tw_tenant_id tenant, const tw_slot *memory)
{
    tw_seed *made;
    if (!memory || !pays(module, atomic_load(&memory->size))) return;
    pthread_mutex_lock(&module->lock);
    if (!find(module, tenant)) make(module, tenant, memory, &made, NULL);
    pthread_mutex_unlock(&module->lock);
}

tw_status tw_runtime_need_seed(tw_module *module, tw_tenant_id tenant, const tw_slot *memory, tw_image **out, tw_error *error)
{
    pthread_mutex_lock(&module->lock);
    tw_seed *seed = find(module, tenant);
    tw_status status = seed ? TW_OK : make(module, tenant, memory, &seed, error);
    if (status == TW_OK) {
        tw_image_retain(seed->image);
        *out = seed->image;
    }
    pthread_mutex_unlock(&module->lock);
    return status;
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
