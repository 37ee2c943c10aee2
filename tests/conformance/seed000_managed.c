/* SPDX-License-Identifier: Apache-2.0 */
/* Managed memory as it comes, as the earlier project's first backend gave it: the device copies the bytes in, and the host reads them
 * where they are, without any hint. */
#include "seed000_devices.h"

static void copy_in(tw_buffer *buffer, const uint8_t *bytes, size_t size)
{
    assert_int_equal(tw_buffer_fill(buffer, 0, size, 0xFF, 1, NULL), TW_OK); /* no byte is right by chance */
    assert_int_equal(tw_buffer_write(buffer, 0, bytes, size, NULL), TW_OK);
}

static const purpose its = {TW_BACKEND_CUDA_MANAGED, "TW_TEST_CUDA", "cuMemAllocManaged", "cuMemcpyAsync",
                            copy_in};

int main(int count, char **args)
{
    return run_purpose(count, args);
}
