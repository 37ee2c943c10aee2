/* SPDX-License-Identifier: Apache-2.0 */
#include "api/options.h"
#include "instance/runtime.h"
#include "memory/slot.h"

#ifndef TW_VERSION
#define TW_VERSION "0"
#endif

#define MIN_STACK ((size_t)64 << 10)
#define MAX_STACK ((size_t)256 << 20)

uint32_t tw_abi_version(void) { return TW_ABI_VERSION; }

const char *tw_version(void) { return TW_VERSION; }

static tw_status check(const tw_engine_options *options, tw_error *error)
{
    if (options->offload > TW_OFFLOAD_FORCE || options->dispatcher > TW_DISPATCHER_TRAP)
        return tw_fail(error, TW_INVALID_ARGUMENT, "engine options: no such offload or dispatcher");
    if (options->max_stack < MIN_STACK || options->max_stack > MAX_STACK)
        return tw_fail(error, TW_INVALID_ARGUMENT, "engine options: max_stack must lie between 64 KiB and 256 MiB");
    return TW_OK;
}

tw_status tw_engine_new(const tw_engine_options *options, tw_engine **out, tw_error *error)
{
    if (!out) return tw_fail(error, TW_INVALID_ARGUMENT, "tw_engine_new: out is NULL");
    tw_engine_options own = TW_ENGINE_OPTIONS_INIT;
    TW_TRY(tw_options_read(&own, sizeof own, options, "tw_engine_options", error));
    TW_TRY(check(&own, error));
    return tw_runtime_engine_new(&own, out, error);
}

void tw_engine_free(tw_engine *engine) { tw_runtime_engine_release(engine); }

const char *tw_engine_fallback(const tw_engine *engine)
{
    (void)engine; /* there is one: the answer is about its settings */
    return tw_slot_probe().full ? NULL
                                : "4 GiB a memory can't be reserved here (ulimit -v?): 256 MiB a memory, and guests carry bounds checks, "
                                  "which cost time";
}
