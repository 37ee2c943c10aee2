/* SPDX-License-Identifier: Apache-2.0 */
/* Pinned memory: the host's pages, which the device reaches by an address of its own. The device gets the beginning alone and makes
 * the rest of it by copying within the buffer, so that every byte but those was written by it, through its own address. */
#include "seed000_devices.h"

/* The patterns repeat themselves after 251, 253 and 256 bytes; the size where nothing does. */
static size_t period_of(const uint8_t *bytes, size_t size)
{
    static const size_t known[] = {251, 253, 256};
    for (int i = 0; i < 3; i++)
        if (size > known[i] && !memcmp(bytes, bytes + known[i], size - known[i])) return known[i];
    return size;
}

static void copy_on_the_device(tw_buffer *buffer, const uint8_t *bytes, size_t size)
{
    size_t done = period_of(bytes, size);
    assert_int_equal(tw_buffer_write(buffer, 0, bytes, done, NULL), TW_OK);
    while (done < size) {
        size_t more = done < size - done ? done : size - done;
        assert_int_equal(tw_buffer_copy(buffer, done, buffer, 0, more, NULL), TW_OK);
        done += more;
    }
}

static const purpose its = {TW_BACKEND_CUDA_PINNED, "TW_TEST_CUDA", "cuMemHostAlloc", "cuMemcpyAsync",
                            copy_on_the_device};

int main(int count, char **args)
{
    return run_purpose(count, args);
}
