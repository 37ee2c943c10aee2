/* SPDX-License-Identifier: Apache-2.0 */
/* traps engine|driver: a guest's traps stay traps beside a driver that takes signals over, as PoCL does with SIGSEGV, SIGFPE and more,
 * whichever of the two came first. A process each: cmocka takes the engine's handlers away after a test. Without OpenCL here it is
 * skipped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "devices.h"

static const char module_text[] =
    "(module (memory 1) (func (export \"divide\") (param i32 i32) (result i32) (i32.div_s (local.get 0) (local.get 1)))"
    " (func (export \"load\") (param i32 i32) (result i32) (i32.load offset=0xfffffff0 (i32.add (local.get 0) (local.get 1)))))";

static tw_engine *engine;
static tw_instance *instance;

static void start_guest(void)
{
    tw_module *module;
    assert_int_equal(tw_engine_new(NULL, &engine, NULL), TW_OK);
    assert_int_equal(tw_module_new(engine, (const uint8_t *)module_text, sizeof module_text - 1, &module, NULL), TW_OK);
    assert_int_equal(tw_instance_spawn(module, NULL, &instance, NULL), TW_OK);
    tw_module_free(module);
}

static void end_guest(void)
{
    tw_instance_free(instance);
    tw_engine_free(engine);
}

static void start_devices(void)
{
    tw_devices *devices = test_devices();
    tw_buffer *buffer = test_buffer(devices, TW_BACKEND_OPENCL_SVM, 0, 65536);
    assert_int_equal(tw_buffer_fill(buffer, 0, 65536, 1, 4, NULL), TW_OK);
    tw_buffer_free(buffer);
    tw_devices_close(devices);
}

static tw_status call(const char *name, int32_t a, int32_t b, int32_t *result)
{
    const tw_val args[] = {{.kind = TW_VAL_I32, .of.i32 = a}, {.kind = TW_VAL_I32, .of.i32 = b}};
    tw_val out = {.kind = TW_VAL_I32};
    tw_status status = tw_instance_call(instance, name, args, 2, &out, 1, NULL);
    *result = out.of.i32;
    return status;
}

static void assert_traps(void)
{
    int32_t result;
    assert_int_equal(call("divide", 42, 6, &result), TW_OK);
    assert_int_equal(result, 7);
    assert_int_equal(call("divide", 42, 0, &result), TW_TRAP);
    assert_int_equal(call("divide", INT32_MIN, -1, &result), TW_TRAP);
    assert_int_equal(call("load", 0, 0, &result), TW_TRAP);
    assert_int_equal(call("divide", 42, 7, &result), TW_OK);
    assert_int_equal(result, 6);
}

static void traps_stay_traps_when_the_driver_comes_after_the_engine(void **state)
{
    (void)state;
    start_guest();
    assert_traps();
    start_devices();
    assert_traps();
    end_guest();
}

static void traps_are_traps_when_the_driver_came_first(void **state)
{
    (void)state;
    start_devices();
    start_guest();
    assert_traps();
    end_guest();
}

/* Whether OpenCL is here is asked in a process of its own: the driver must not be opened before the engine. */
static bool has_opencl(const char *program)
{
    char line[1024];
    snprintf(line, sizeof line, "'%s' ask", program);
    return system(line) == 0;
}

int main(int count, char **args)
{
    const struct CMUnitTest engine_first[] = {
        cmocka_unit_test(traps_stay_traps_when_the_driver_comes_after_the_engine)};
    const struct CMUnitTest driver_first[] = {cmocka_unit_test(traps_are_traps_when_the_driver_came_first)};
    if (count != 2) return 2;
    if (!strcmp(args[1], "ask")) {
        test_need(TW_BACKEND_OPENCL_SVM);
        return 0;
    }
    if (!has_opencl(args[0])) return TEST_SKIPPED;
    if (!strcmp(args[1], "engine")) return cmocka_run_group_tests(engine_first, NULL, NULL);
    return cmocka_run_group_tests(driver_first, NULL, NULL);
}
