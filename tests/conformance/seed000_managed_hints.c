/* SPDX-License-Identifier: Apache-2.0 */
/* Managed memory that is moved about: advice and prefetches bring the pages to the device, which copies the bytes from another
 * managed buffer, and back to the host before they are captured. Neither may show in a file. */
#include "seed000_devices.h"

static void copy_between_prefetches(tw_buffer *buffer, const uint8_t *bytes, size_t size)
{
    tw_buffer *staging = test_buffer(devices, TW_BACKEND_CUDA_MANAGED, device_index, size);
    memcpy(tw_buffer_host(staging), bytes, size);
    assert_int_equal(tw_buffer_advise(staging, 0, size, TW_ADVICE_READ_MOSTLY, NULL), TW_OK);
    assert_int_equal(tw_buffer_advise(buffer, 0, size, TW_ADVICE_PREFER_DEVICE, NULL), TW_OK);
    assert_int_equal(tw_buffer_prefetch(staging, 0, size, TW_PLACE_DEVICE, NULL), TW_OK);
    assert_int_equal(tw_buffer_prefetch(buffer, 0, size, TW_PLACE_DEVICE, NULL), TW_OK);
    assert_int_equal(tw_buffer_copy(buffer, 0, staging, 0, size, NULL), TW_OK);
    assert_int_equal(tw_buffer_advise(buffer, 0, size, TW_ADVICE_PREFER_HOST, NULL), TW_OK);
    assert_int_equal(tw_buffer_prefetch(buffer, 0, size, TW_PLACE_HOST, NULL), TW_OK);
    tw_buffer_free(staging);
}

static const purpose its = {TW_BACKEND_CUDA_MANAGED, "TW_TEST_CUDA", "cuMemAllocManaged", "cuMemcpyAsync",
                            copy_between_prefetches};

/* The hints of the purpose reached the driver, in either form of its calls. */
static void the_driver_was_told(void **state)
{
    (void)state;
    const standin *driver = test_standin(its.driver);
    if (!driver) skip();
    driver->reset();
    tw_buffer *buffer = written(fill_device_pattern, DEVICE_SIZE);
    char line[128];
    for (int place = -1; place <= 0; place++) {
        snprintf(line, sizeof line, " of %d bytes at 0x%llx, 0 for %d\n", DEVICE_SIZE,
                 (unsigned long long)tw_buffer_device(buffer), place);
        if (!strstr(driver->log(), line)) fail_msg("no '%s' in\n%s", line, driver->log());
    }
    tw_buffer_free(buffer);
}

int main(int count, char **args)
{
    const struct CMUnitTest told[] = {cmocka_unit_test(the_driver_was_told)};
    int failed = run_purpose(count, args);
    return failed ? failed : cmocka_run_group_tests(told, make_all, free_all);
}
