/* SPDX-License-Identifier: Apache-2.0 */
/* A pool copies its options, a tenant gets an account, a buffer counts to it: each allocation fails once, and each time the call says
 * so and leaves nothing behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* The first function of the engine's library: all of our own lies in front. The engine's threads may still be at it, too. */
int32_t tw_global_set_func(void *context, const void *global, const void *func);
#define NO_MEMORY_BELOW ((uintptr_t)tw_global_set_func)

#include "../../support/embedder.h"
#include "../../support/no_memory.h"
#include "tensorwasm/buffer.h"

static tw_status nothing(void *context, tw_host_call *host, const tw_val *args, tw_val *results, tw_error *why)
{
    (void)context, (void)host, (void)args, (void)results, (void)why;
    return TW_OK;
}

static void a_pool_of_many_options(void **state)
{
    (void)state;
    if (!NO_MEMORY_OURS) skip();
    tw_module *module = module_of("(module (memory 1))");
    static const char *const args[] = {"a", "b"}, *const env[] = {"A=b"};
    static const tw_val_kind kinds[] = {TW_VAL_I32, TW_VAL_I64};
    const tw_import_func imports[] = {{"m", "n", kinds, 2, kinds, 1, nothing, NULL}, {"m", "o", NULL, 0, NULL, 0, nothing, NULL}};
    const tw_wasi_dir dirs[] = {{"/tmp", "/"}};
    tw_wasi_options wasi = TW_WASI_OPTIONS_INIT;
    wasi.args = args, wasi.arg_count = 2, wasi.env = env, wasi.env_count = 1, wasi.dirs = dirs, wasi.dir_count = 1;
    wasi.stdin_bytes = (const uint8_t *)"input", wasi.stdin_size = 5, wasi.stdout_path = "/dev/null", wasi.stderr_path = "/dev/null";
    tw_spawn_options options = usual();
    options.wasi = &wasi, options.imports = imports, options.import_count = 2;
    long failed = 0;
    for (long at = 0;; at++) {
        tw_instance_pool *pool = NULL;
        long before = no_memory_blocks;
        no_memory_at(at);
        tw_status status = tw_instance_pool_new(module, &options, NULL, &pool, &error);
        if (!no_memory_ends()) {
            OK(status);
            tw_instance_pool_free(pool);
            assert_int_equal(no_memory_blocks, before);
            break;
        }
        assert_int_equal(status, TW_NO_MEMORY);
        assert_null(pool);
        assert_int_equal(no_memory_blocks, before);
        failed++;
    }
    assert_true(failed > 1); /* an arena takes few blocks */
    tw_module_free(module);
}

static void a_buffer_and_a_limit(void **state)
{
    (void)state;
    if (!NO_MEMORY_OURS) skip();
    tw_devices *devices;
    tw_buffer_options options = TW_BUFFER_OPTIONS_INIT;
    tw_tenant_usage usage = TW_TENANT_USAGE_INIT;
    options.tenant = 12345;
    OK(tw_devices_open(NULL, &devices, &error));
    assert_null(tw_devices_missing(devices, TW_BACKEND_HOST)); /* opened */
    for (long at = 0;; at++) {
        tw_buffer *buffer = NULL;
        long before = no_memory_blocks;
        no_memory_at(at);
        tw_status status = tw_buffer_new(devices, &options, 1000, &buffer, &error);
        bool failed = no_memory_ends();
        OK(tw_tenant_get_usage(12345, &usage, &error));
        assert_int_equal(usage.buffers, failed ? 0 : 1000);
        if (!failed) OK(status);
        else assert_int_equal(status, TW_NO_MEMORY);
        tw_buffer_free(buffer);
        assert_int_equal(no_memory_blocks, before);
        if (!failed) break;
    }
    long before = no_memory_blocks;
    no_memory_at(0);
    assert_int_equal(tw_tenant_limit(12345, 5, &error), TW_NO_MEMORY);
    assert_true(no_memory_ends());
    OK(tw_tenant_limit(12345, 5, &error));
    OK(tw_tenant_limit(12345, 0, &error));
    assert_int_equal(no_memory_blocks, before);
    tw_devices_close(devices);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pool_of_many_options),
        cmocka_unit_test(a_buffer_and_a_limit),
    };
    return cmocka_run_group_tests(tests, plain_set_up, plain_tear_down);
}
