/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCL's shared virtual memory: the device fills, and copies the bytes over that from a buffer of its own kind. */
#include "seed000_devices.h"

static void fill_and_copy(tw_buffer *buffer, const uint8_t *bytes, size_t size)
{
    tw_buffer *staging = test_buffer(devices, TW_BACKEND_OPENCL_SVM, device_index, size);
    assert_int_equal(tw_buffer_fill(buffer, 0, size, 0xFF, 1, NULL), TW_OK); /* no byte is right by chance */
    memcpy(tw_buffer_host(staging), bytes, size);
    assert_int_equal(tw_buffer_copy(buffer, 0, staging, 0, size, NULL), TW_OK);
    tw_buffer_free(staging);
}

static const purpose its = {TW_BACKEND_OPENCL_SVM, "TW_TEST_OPENCL", "clSVMAlloc", "clEnqueueSVMMemcpy", fill_and_copy};

int main(int count, char **args)
{
    return run_purpose(count, args);
}
