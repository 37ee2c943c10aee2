/* SPDX-License-Identifier: Apache-2.0 */
#include "api/options.h"
#include "device/backend.h"
#include "device/cuda/cuda.h"
#include "device/opencl/opencl.h"

tw_status tw_devices_open(const tw_devices_options *options, tw_devices **out, tw_error *error)
{
    if (!out) return tw_fail(error, TW_INVALID_ARGUMENT, "tw_devices_open: out is NULL");
    tw_devices_options own = TW_DEVICES_OPTIONS_INIT;
    TW_TRY(tw_options_read(&own, sizeof own, options, "tw_devices_options", error));
    const tw_devices_setup setup = {
        .open = {[TW_DEVICE_KIND_HOST] = tw_host_platform_open,
                 [TW_DEVICE_KIND_CUDA] = tw_cuda_platform_open,
                 [TW_DEVICE_KIND_OPENCL] = tw_opencl_platform_open},
        .library = {[TW_DEVICE_KIND_CUDA] = own.cuda_library, [TW_DEVICE_KIND_OPENCL] = own.opencl_library},
        .max_bytes = own.max_bytes,
    };
    return tw_devices_new(&setup, out, error);
}

tw_status tw_buffer_new(tw_devices *devices, const tw_buffer_options *options, uint64_t bytes, tw_buffer **out,
                        tw_error *error)
{
    if (!devices || !out) return tw_fail(error, TW_INVALID_ARGUMENT, "tw_buffer_new: a required pointer is NULL");
    tw_buffer_options own = TW_BUFFER_OPTIONS_INIT;
    TW_TRY(tw_options_read(&own, sizeof own, options, "tw_buffer_options", error));
    return tw_buffer_take(devices, &own, bytes, out, error);
}
