/* SPDX-License-Identifier: Apache-2.0 */
/* Public functions whose rooms aren't built yet: they say so. */
#include "base/error.h"
#include "tensorwasm/tensorwasm.h"

static tw_status absent(const char *what, tw_error *error)
{
    return tw_fail(error, TW_UNSUPPORTED, "this build of TensorWasm has no %s yet", what);
}

tw_status tw_kernel_cache_new(tw_engine *engine, const tw_kernel_cache_options *options, tw_kernel_cache **out,
                              tw_error *error)
{
    (void)engine, (void)options, (void)out;
    return absent("kernel cache", error);
}

void tw_kernel_cache_free(tw_kernel_cache *cache) { (void)cache; }

uint64_t tw_kernel_cache_size(const tw_kernel_cache *cache, tw_tenant_id tenant)
{
    (void)cache, (void)tenant;
    return 0;
}

bool tw_kernel_cache_is_empty(const tw_kernel_cache *cache)
{
    (void)cache;
    return true;
}

void tw_kernel_cache_get_stats(const tw_kernel_cache *cache, tw_kernel_cache_stats *out)
{
    (void)cache;
    *out = (tw_kernel_cache_stats){0};
}

tw_status tw_instance_report(const tw_instance *instance, tw_format format, char **text, tw_error *error)
{
    (void)instance, (void)format, (void)text;
    return absent("report", error);
}
