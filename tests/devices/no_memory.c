/* SPDX-License-Identifier: Apache-2.0 */
/* no_memory CUDA OPENCL: each allocation between opening devices and using a buffer fails once, those of the loader and of the stand-ins
 * too: a status, nothing lost, nothing left with a driver. The program's malloc is ours here; not under sanitizers, which
 * have their own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../support/no_memory.h"
#include "devices.h"

#if !NO_MEMORY_OURS
int main(void)
{
    return TEST_SKIPPED;
}
#else

static const char *cuda, *opencl;

/* The first failure of all that is done. */
static tw_status use(tw_backend backend)
{
    tw_devices_options options = TW_DEVICES_OPTIONS_INIT;
    tw_devices *devices = NULL;
    tw_buffer *buffer = NULL;
    options.cuda_library = cuda;
    options.opencl_library = opencl;
    tw_status status = tw_devices_open(&options, &devices, NULL);
    if (!status) status = test_try(devices, backend, 0, 5000, &buffer, NULL);
    if (!status) status = tw_buffer_fill(buffer, 0, 5000, 1, 4, NULL);
    tw_buffer_free(buffer);
    tw_devices_close(devices);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    setenv("TW_TEST_CUDA", cuda, 1);
    setenv("TW_TEST_OPENCL", opencl, 1);
    const standin *drivers[] = {test_standin("TW_TEST_CUDA"), test_standin("TW_TEST_OPENCL")};
    for (unsigned backend = 0; backend < TW_BACKENDS; backend++) {
        assert_int_equal(use((tw_backend)backend), TW_OK); /* loaded once: what that keeps isn't counted */
        bool all_done = false;
        long refused = 0;
        for (long n = 0; !all_done; n++) {
            long before = no_memory_blocks;
            no_memory_at(n);
            tw_status status = use((tw_backend)backend);
            all_done = !no_memory_ends();
            /* unavailable: the loader had no memory */
            if (!all_done) assert_true(status == TW_OK || status == TW_NO_MEMORY || status == TW_UNAVAILABLE);
            else assert_int_equal(status, TW_OK);
            if (no_memory_blocks != before)
                fail_msg("%s, allocation %ld: %ld blocks", tw_backend_name((tw_backend)backend), n, no_memory_blocks - before);
            assert_true(n < 1000);
            refused += status == TW_NO_MEMORY;
        }
        assert_true(refused >= 3); /* the set, the platform, the buffer */
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(drivers[i]->wrong(), 0);
        assert_int_equal(drivers[i]->alive(), 0);
    }
}

/* Memory that is there again is seen: nothing is remembered as missing for want of it. */
static void a_set_that_had_no_memory_tries_again(void **state)
{
    (void)state;
    tw_devices *devices = test_devices();
    tw_buffer *buffer;
    bool refused = false;
    for (long n = 0; n < 1000; n++) {
        no_memory_at(n);
        tw_status status = test_try(devices, TW_BACKEND_HOST, 0, 1, &buffer, NULL);
        no_memory_ends();
        if (status == TW_OK) tw_buffer_free(buffer);
        refused = refused || status == TW_NO_MEMORY;
        if (status == TW_OK) break;
        assert_int_equal(status, TW_NO_MEMORY);
    }
    assert_true(refused);
    tw_buffer_free(test_buffer(devices, TW_BACKEND_HOST, 0, 1));
    tw_devices_close(devices);
}

int main(int count, char **args)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(a_set_that_had_no_memory_tries_again),
    };
    if (count != 3) return 2;
    cuda = args[1];
    opencl = args[2];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
