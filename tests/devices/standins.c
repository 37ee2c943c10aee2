/* SPDX-License-Identifier: Apache-2.0 */
/* standins CUDA OLD-CUDA LACKING-CUDA OPENCL: what only drivers that the test controls can show. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "devices.h"

enum {
    SIZE = 20000,
    OUT_OF_MEMORY = 2,
    NO_DEVICE = 100,
    ILLEGAL_ADDRESS = 700,
    CL_OUT_OF_MEMORY = -6,
    CL_FAILED = -9999
};

static const char *cuda, *old_cuda, *lacking_cuda, *opencl;

static tw_devices *open_with(const char *cuda_library, const char *opencl_library)
{
    tw_devices_options options = TW_DEVICES_OPTIONS_INIT;
    tw_devices *devices;
    options.cuda_library = cuda_library;
    options.opencl_library = opencl_library;
    assert_int_equal(tw_devices_open(&options, &devices, NULL), TW_OK);
    return devices;
}

static const standin *standin_of(const char *path)
{
    setenv("TW_TEST_STANDIN", path, 1);
    const standin *it = test_standin("TW_TEST_STANDIN");
    assert_non_null(it);
    it->reset();
    return it;
}

static void assert_clean(const standin *driver)
{
    if (driver->wrong()) fail_msg("the driver was used wrongly:\n%s", driver->log());
    assert_int_equal(driver->alive(), 0);
}

static void assert_logged(const standin *driver, const char *text)
{
    if (!strstr(driver->log(), text)) fail_msg("no '%s' in\n%s", text, driver->log());
}

static void assert_not_logged(const standin *driver, const char *text)
{
    if (strstr(driver->log(), text)) fail_msg("'%s' in\n%s", text, driver->log());
}

/* ---- what is missing says why ---- */

static void assert_missing(tw_devices *devices, tw_backend backend, const char *says)
{
    tw_buffer *buffer;
    tw_error error = {0};
    const char *why = tw_devices_missing(devices, backend);
    assert_non_null(why);
    if (!strstr(why, says)) fail_msg("'%s' doesn't say '%s'", why, says);
    assert_int_equal(test_try(devices, backend, 0, 1, &buffer, &error), TW_UNAVAILABLE);
    if (!strstr(error.message, says) || !strstr(error.message, "is not available: ")) fail_msg("%s", error.message);
}

static void a_missing_driver_is_unavailable_and_the_host_is_there(void **state)
{
    (void)state;
    tw_devices *devices = open_with("/nonexistent/libcuda.so.1", "/nonexistent/libOpenCL.so.1");
    assert_missing(devices, TW_BACKEND_CUDA_MANAGED, "/nonexistent/libcuda.so.1: cannot open");
    assert_missing(devices, TW_BACKEND_CUDA_PINNED, "/nonexistent/libcuda.so.1: cannot open");
    assert_missing(devices, TW_BACKEND_OPENCL_SVM, "/nonexistent/libOpenCL.so.1: cannot open");
    assert_null(tw_devices_missing(devices, TW_BACKEND_HOST));
    assert_non_null(tw_devices_missing(devices, TW_BACKENDS));
    tw_buffer_free(test_buffer(devices, TW_BACKEND_HOST, 0, 1));
    assert_int_equal(tw_devices_at(devices, 0)->kind, TW_DEVICE_KIND_HOST);
    assert_null(tw_devices_at(devices, 1));
    assert_null(tw_devices_at(devices, SIZE_MAX));
    tw_devices_close(devices);
}

static void a_driver_that_lacks_a_function_is_unavailable(void **state)
{
    (void)state;
    tw_devices *devices = open_with(lacking_cuda, cuda); /* a library that isn't OpenCL's */
    assert_missing(devices, TW_BACKEND_CUDA_MANAGED, "lacks cuMemAllocManaged");
    assert_missing(devices, TW_BACKEND_OPENCL_SVM, "lacks clGetPlatformIDs");
    tw_devices_close(devices);
}

static void a_driver_that_does_not_start_is_unavailable(void **state)
{
    (void)state;
    static const char *const calls[] = {"cuInit", "cuDriverGetVersion", "cuDeviceGetCount", "cuDeviceGet"};
    const standin *driver = standin_of(cuda), *other = standin_of(opencl);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        driver->fail_next(calls[i], 1, NO_DEVICE);
        tw_devices *devices = open_with(cuda, opencl);
        assert_missing(devices, TW_BACKEND_CUDA_PINNED, calls[i]);
        assert_missing(devices, TW_BACKEND_CUDA_PINNED, "error 100, CUDA_ERROR_NO_DEVICE (no CUDA-capable device");
        tw_devices_close(devices);
    }
    other->fail_next("clGetPlatformIDs", 1, -1001);
    tw_devices *devices = open_with(cuda, opencl);
    assert_missing(devices, TW_BACKEND_OPENCL_SVM, "no platform of its (clGetPlatformIDs: -1001)");
    tw_devices_close(devices);
    other->fail_next("clGetDeviceIDs", 1, -1);
    devices = open_with(cuda, opencl);
    assert_missing(devices, TW_BACKEND_OPENCL_SVM, "have no device");
    tw_devices_close(devices);
    assert_clean(driver);
    assert_clean(other);
}

/* ---- descriptions ---- */

static void assert_device(const tw_device_info *d, tw_device_kind kind, uint32_t index, const char *name,
                          const char *version, uint32_t units, uint32_t backends, uint32_t can)
{
    assert_non_null(d);
    assert_int_equal(d->kind, kind);
    assert_int_equal(d->index, index);
    assert_string_equal(d->name, name);
    assert_string_equal(d->version, version);
    assert_int_equal(d->memory, 1 << 30);
    assert_int_equal(d->compute_units, units);
    assert_int_equal(d->backends, backends);
    assert_int_equal(d->can, can);
}

static void devices_are_described_as_their_drivers_say(void **state)
{
    (void)state;
    tw_devices *devices = open_with(cuda, opencl);
    const uint32_t managed = 1 << TW_BACKEND_CUDA_MANAGED, pinned = 1 << TW_BACKEND_CUDA_PINNED;
    assert_device(tw_devices_at(devices, 1), TW_DEVICE_KIND_CUDA, 0, "stand-in A", "compute capability 9.0", 4,
                  managed | pinned, 1 << TW_CAN_PREFETCH | 1 << TW_CAN_ADVISE | 1 << TW_CAN_CONCURRENT);
    assert_device(tw_devices_at(devices, 2), TW_DEVICE_KIND_CUDA, 1, "stand-in B", "compute capability 8.0", 4,
                  managed | pinned, 0);
    assert_device(tw_devices_at(devices, 3), TW_DEVICE_KIND_CUDA, 2, "stand-in C", "compute capability 7.0", 4, pinned,
                  0);
    assert_device(tw_devices_at(devices, 4), TW_DEVICE_KIND_OPENCL, 0, "coarse", "OpenCL 2.0 stand-in", 3,
                  1 << TW_BACKEND_OPENCL_SVM, 1 << TW_CAN_SVM_COARSE);
    assert_device(tw_devices_at(devices, 5), TW_DEVICE_KIND_OPENCL, 1, "fine", "OpenCL 2.1 stand-in", 3,
                  1 << TW_BACKEND_OPENCL_SVM,
                  1 << TW_CAN_PREFETCH | 1 << TW_CAN_SVM_COARSE | 1 << TW_CAN_SVM_FINE | 1 << TW_CAN_SVM_ATOMICS);
    assert_device(tw_devices_at(devices, 6), TW_DEVICE_KIND_OPENCL, 2, "old", "OpenCL 1.2 stand-in", 3, 0, 0);
    assert_null(tw_devices_at(devices, 7));
    assert_string_equal(tw_devices_at(devices, 1)->driver, "CUDA driver 12.4");
    assert_string_equal(tw_devices_at(devices, 4)->driver, "Stand-in 1.0");
    tw_devices_close(devices);
}

static void a_device_without_the_backend_gives_no_buffer(void **state)
{
    (void)state;
    tw_devices *devices = open_with(cuda, opencl);
    tw_buffer *buffer;
    tw_error error = {0};
    assert_int_equal(test_try(devices, TW_BACKEND_CUDA_MANAGED, 2, 1, &buffer, &error), TW_UNAVAILABLE);
    assert_string_equal(error.message, "device 2 has no cuda-managed");
    assert_int_equal(test_try(devices, TW_BACKEND_OPENCL_SVM, 2, 1, &buffer, &error), TW_UNAVAILABLE);
    assert_string_equal(error.message, "device 2 has no opencl-svm");
    assert_int_equal(test_try(devices, TW_BACKEND_CUDA_PINNED, 3, 1, &buffer, &error), TW_UNAVAILABLE);
    tw_devices_close(devices);
}

/* ---- hints ---- */

static void hint(tw_buffer *buffer)
{
    assert_int_equal(tw_buffer_prefetch(buffer, 4096, 8192, TW_PLACE_DEVICE, NULL), TW_OK);
    assert_int_equal(tw_buffer_prefetch(buffer, 4096, 8192, TW_PLACE_HOST, NULL), TW_OK);
    for (unsigned advice = 0; advice < TW_ADVICES; advice++)
        assert_int_equal(tw_buffer_advise(buffer, 0, SIZE, (tw_advice)advice, NULL), TW_OK);
}

/* call: the form that this driver has. "N for P": N the advice of cuda.h, or 0 for a prefetch; P the device, -1 the host. */
static void assert_hints(const char *library, const char *prefetch, const char *advise, const char *other)
{
    static const char *const advices[] = {"1 for 0", "2 for 0", "3 for -1", "3 for 0", "4 for 0", "5 for 0", "6 for 0"};
    const standin *driver = standin_of(library);
    tw_devices *devices = open_with(library, opencl);
    tw_buffer *buffer = test_buffer(devices, TW_BACKEND_CUDA_MANAGED, 0, SIZE);
    char line[128];
    hint(buffer);
    for (int place = -1; place <= 0; place++) {
        snprintf(line, sizeof line, "%s of 8192 bytes at 0x%llx, 0 for %d\n", prefetch,
                 (unsigned long long)tw_buffer_device(buffer) + 4096, place);
        assert_logged(driver, line);
    }
    for (size_t i = 0; i < sizeof advices / sizeof *advices; i++) {
        snprintf(line, sizeof line, "%s of %d bytes at 0x%llx, %s\n", advise, SIZE,
                 (unsigned long long)tw_buffer_device(buffer), advices[i]);
        assert_logged(driver, line);
    }
    assert_not_logged(driver, other);
    tw_buffer_free(buffer);
    tw_devices_close(devices);
    assert_clean(driver);
}

static void hints_reach_both_forms_of_the_driver(void **state)
{
    (void)state;
    assert_hints(cuda, "cuMemPrefetchAsync_v2", "cuMemAdvise_v2", "Async of 8192");
    assert_hints(old_cuda, "cuMemPrefetchAsync", "cuMemAdvise", "_v2");
}

static void hints_that_cannot_be_followed_do_nothing(void **state)
{
    (void)state;
    static const struct {
        tw_backend backend;
        uint32_t device;
    } where[] = {{TW_BACKEND_CUDA_MANAGED, 1}, {TW_BACKEND_CUDA_PINNED, 0}, {TW_BACKEND_OPENCL_SVM, 0}};
    const standin *driver = standin_of(cuda), *other = standin_of(opencl);
    tw_devices *devices = open_with(cuda, opencl);
    for (size_t i = 0; i < sizeof where / sizeof *where; i++) {
        tw_buffer *buffer = test_buffer(devices, where[i].backend, where[i].device, SIZE);
        hint(buffer);
        tw_buffer_free(buffer);
    }
    assert_not_logged(driver, "Prefetch");
    assert_not_logged(driver, "Advise");
    assert_not_logged(other, "Migrate");
    tw_devices_close(devices);
    assert_clean(driver);
    assert_clean(other);
}

/* ---- failures: each call of the driver in turn ---- */

typedef struct failure {
    const char *function;
    int code;
    tw_status status;
    const char *says;
} failure;

/* Does all that can be done with a buffer; the first failure. */
static tw_status use(tw_devices *devices, tw_backend backend, uint32_t device, tw_error *error)
{
    tw_buffer *buffer = NULL, *other = NULL;
    uint8_t bytes[64] = {1};
    tw_status status = test_try(devices, backend, device, SIZE, &buffer, error);
    if (!status) status = test_try(devices, backend, device, SIZE, &other, error);
    if (!status) status = tw_buffer_write(buffer, 16, bytes, sizeof bytes, error);
    if (!status) status = tw_buffer_read(buffer, 16, bytes, sizeof bytes, error);
    if (!status) status = tw_buffer_fill(buffer, 0, 64, 7, 2, error);
    if (!status) status = tw_buffer_fill(buffer, 0, 64, 7, 4, error);
    if (!status) status = tw_buffer_copy(buffer, 0, other, 0, SIZE, error);
    if (!status) status = tw_buffer_prefetch(buffer, 0, SIZE, TW_PLACE_DEVICE, error);
    if (!status) status = tw_buffer_advise(buffer, 0, SIZE, TW_ADVICE_READ_MOSTLY, error);
    if (!status && backend == TW_BACKEND_OPENCL_SVM) memset(tw_buffer_host(buffer), 1, SIZE); /* still the host's */
    tw_buffer_free(other);
    tw_buffer_free(buffer);
    return status;
}

static void assert_failure(const standin *driver, tw_backend backend, uint32_t device, const failure *f)
{
    tw_devices *devices = open_with(cuda, opencl);
    tw_error error = {0};
    assert_null(tw_devices_missing(devices, backend)); /* opened: the failure is met by a buffer */
    driver->reset();
    driver->fail_next(f->function, 1, f->code);
    tw_status status = use(devices, backend, device, &error);
    assert_logged(driver, "fails with");
    if (status != f->status || !strstr(error.message, f->says))
        fail_msg("%s: %s, %s", f->function, tw_status_name(status), error.message);
    driver->reset();
    assert_int_equal(use(devices, backend, device, &error), TW_OK); /* the next one finds everything well */
    tw_devices_close(devices);
    assert_clean(driver);
}

static void every_failure_of_cuda_is_a_status_and_leaves_nothing_behind(void **state)
{
    (void)state;
    const standin *driver = standin_of(cuda);
    static const failure both[] = {
        {"cuDevicePrimaryCtxRetain", OUT_OF_MEMORY, TW_NO_MEMORY,
         "cuDevicePrimaryCtxRetain: error 2, CUDA_ERROR_OUT_OF_MEMORY (out of memory)"},
        {"cuDevicePrimaryCtxRetain", ILLEGAL_ADDRESS, TW_DEVICE,
         "cuDevicePrimaryCtxRetain: error 700, which has no name"},
        {"cuCtxPushCurrent_v2", ILLEGAL_ADDRESS, TW_DEVICE, "cuCtxPushCurrent"},
        {"cuStreamCreate", ILLEGAL_ADDRESS, TW_DEVICE, "cuStreamCreate"},
        {"cuMemsetD8Async", ILLEGAL_ADDRESS, TW_DEVICE, "cuMemset"},
        {"cuMemsetD16Async", ILLEGAL_ADDRESS, TW_DEVICE, "cuMemset"},
        {"cuMemsetD32Async", ILLEGAL_ADDRESS, TW_DEVICE, "cuMemset"},
        {"cuMemcpyAsync", ILLEGAL_ADDRESS, TW_DEVICE, "cuMemcpyAsync"},
        {"cuMemcpyAsync", OUT_OF_MEMORY, TW_NO_MEMORY, "cuMemcpyAsync"},
    };
    static const failure managed[] = {
        {"cuMemAllocManaged", OUT_OF_MEMORY, TW_NO_MEMORY, "cuMemAllocManaged"},
        {"cuMemAllocManaged", ILLEGAL_ADDRESS, TW_DEVICE, "cuMemAllocManaged"},
        {"cuMemPrefetchAsync_v2", ILLEGAL_ADDRESS, TW_DEVICE, "cuMemPrefetchAsync"},
        {"cuMemAdvise_v2", ILLEGAL_ADDRESS, TW_DEVICE, "cuMemAdvise"},
    };
    static const failure pinned[] = {
        {"cuMemHostAlloc", OUT_OF_MEMORY, TW_NO_MEMORY, "cuMemHostAlloc"},
        {"cuMemHostGetDevicePointer_v2", ILLEGAL_ADDRESS, TW_DEVICE, "cuMemHostGetDevicePointer"},
    };
    for (size_t i = 0; i < sizeof both / sizeof *both; i++) {
        assert_failure(driver, TW_BACKEND_CUDA_MANAGED, 0, &both[i]);
        assert_failure(driver, TW_BACKEND_CUDA_MANAGED, 1, &both[i]);
        assert_failure(driver, TW_BACKEND_CUDA_PINNED, 0, &both[i]);
    }
    for (size_t i = 0; i < sizeof managed / sizeof *managed; i++)
        assert_failure(driver, TW_BACKEND_CUDA_MANAGED, 0, &managed[i]);
    for (size_t i = 0; i < sizeof pinned / sizeof *pinned; i++)
        assert_failure(driver, TW_BACKEND_CUDA_PINNED, 0, &pinned[i]);
}

static void every_failure_of_opencl_is_a_status_and_leaves_nothing_behind(void **state)
{
    (void)state;
    const standin *driver = standin_of(opencl);
    static const failure both[] = {
        {"clCreateContext", CL_FAILED, TW_DEVICE, "clCreateContext: OpenCL's error -9999"},
        {"clCreateContext", CL_OUT_OF_MEMORY, TW_NO_MEMORY, "clCreateContext"},
        {"clCreateCommandQueueWithProperties", CL_FAILED, TW_DEVICE, "clCreateCommandQueueWithProperties"},
        {"clSVMAlloc", CL_FAILED, TW_NO_MEMORY, "clSVMAlloc"},
        {"clEnqueueSVMMemFill", CL_FAILED, TW_DEVICE, "clEnqueueSVMMemFill"},
        {"clEnqueueSVMMemcpy", CL_FAILED, TW_DEVICE, "clEnqueueSVMMemcpy"},
    };
    static const failure coarse[] = {
        {"clEnqueueSVMMap", CL_FAILED, TW_DEVICE, "clEnqueueSVMMap"},
        {"clEnqueueSVMUnmap", CL_FAILED, TW_DEVICE, "clEnqueueSVMUnmap"},
    };
    static const failure fine = {"clEnqueueSVMMigrateMem", CL_FAILED, TW_DEVICE, "clEnqueueSVMMigrateMem"};
    for (size_t i = 0; i < sizeof both / sizeof *both; i++) {
        assert_failure(driver, TW_BACKEND_OPENCL_SVM, 0, &both[i]);
        assert_failure(driver, TW_BACKEND_OPENCL_SVM, 1, &both[i]);
    }
    for (size_t i = 0; i < sizeof coarse / sizeof *coarse; i++)
        assert_failure(driver, TW_BACKEND_OPENCL_SVM, 0, &coarse[i]);
    assert_failure(driver, TW_BACKEND_OPENCL_SVM, 1, &fine);
}

/* ---- memory that runs out; order of things ---- */

static void a_device_that_is_full_is_no_memory_and_gives_again_after_a_free(void **state)
{
    (void)state;
    const standin *driver = standin_of(cuda);
    tw_devices *devices = open_with(cuda, opencl);
    tw_buffer *first = test_buffer(devices, TW_BACKEND_CUDA_PINNED, 0, 48 << 20), *second;
    tw_error error = {0};
    assert_int_equal(test_try(devices, TW_BACKEND_CUDA_PINNED, 0, 48 << 20, &second, &error), TW_NO_MEMORY);
    assert_non_null(strstr(error.message, "cuMemHostAlloc: error 2, CUDA_ERROR_OUT_OF_MEMORY"));
    tw_buffer_free(first);
    second = test_buffer(devices, TW_BACKEND_CUDA_PINNED, 0, 48 << 20);
    tw_buffer_free(second);
    tw_devices_close(devices);
    assert_clean(driver);
}

static void a_context_lives_from_the_first_buffer_to_the_last(void **state)
{
    (void)state;
    const standin *driver = standin_of(cuda);
    tw_devices *devices = open_with(cuda, opencl);
    assert_null(tw_devices_missing(devices, TW_BACKEND_CUDA_MANAGED));
    assert_not_logged(driver, "cuDevicePrimaryCtxRetain"); /* looking is cheap */
    tw_buffer *first = test_buffer(devices, TW_BACKEND_CUDA_MANAGED, 0, SIZE);
    tw_buffer *second = test_buffer(devices, TW_BACKEND_CUDA_PINNED, 0, SIZE);
    const char *once = strstr(driver->log(), "cuDevicePrimaryCtxRetain 0\n");
    assert_non_null(once);
    assert_null(strstr(once + 1, "cuDevicePrimaryCtxRetain"));
    assert_true(tw_buffer_device(second) !=
                (uintptr_t)tw_buffer_host(second)); /* the stand-in's, that nothing is mixed up */
    tw_devices_close(devices);
    tw_buffer_free(first);
    assert_not_logged(driver, "cuDevicePrimaryCtxRelease");
    tw_buffer_free(second);
    assert_logged(driver, "cuDevicePrimaryCtxRelease 0\n");
    assert_clean(driver);
}

/* The stand-in's coarse memory is gone for the host while it is the device's: touching it then is a crash. */
static void coarse_memory_is_the_hosts_between_calls(void **state)
{
    (void)state;
    const standin *driver = standin_of(opencl);
    tw_devices *devices = open_with(cuda, opencl);
    tw_buffer *buffer = test_buffer(devices, TW_BACKEND_OPENCL_SVM, 0, SIZE);
    uint8_t *host = tw_buffer_host(buffer);
    assert_int_equal(tw_buffer_fill(buffer, 0, SIZE, 0x33, 1, NULL), TW_OK);
    assert_int_equal(host[SIZE - 1], 0x33);
    host[0] = 1;
    driver->fail_next("clEnqueueSVMMemFill", 1, CL_FAILED);
    assert_int_equal(tw_buffer_fill(buffer, 0, SIZE, 0x44, 1, NULL), TW_DEVICE);
    assert_int_equal(host[0], 1); /* after a failure, too */
    assert_int_equal(tw_buffer_copy(buffer, 0, buffer, SIZE / 2, SIZE / 2, NULL), TW_OK);
    assert_int_equal(host[0], 0x33);
    tw_buffer_free(buffer);
    tw_devices_close(devices);
    assert_clean(driver);
}

int main(int count, char **args)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_driver_is_unavailable_and_the_host_is_there),
        cmocka_unit_test(a_driver_that_lacks_a_function_is_unavailable),
        cmocka_unit_test(a_driver_that_does_not_start_is_unavailable),
        cmocka_unit_test(devices_are_described_as_their_drivers_say),
        cmocka_unit_test(a_device_without_the_backend_gives_no_buffer),
        cmocka_unit_test(hints_reach_both_forms_of_the_driver),
        cmocka_unit_test(hints_that_cannot_be_followed_do_nothing),
        cmocka_unit_test(every_failure_of_cuda_is_a_status_and_leaves_nothing_behind),
        cmocka_unit_test(every_failure_of_opencl_is_a_status_and_leaves_nothing_behind),
        cmocka_unit_test(a_device_that_is_full_is_no_memory_and_gives_again_after_a_free),
        cmocka_unit_test(a_context_lives_from_the_first_buffer_to_the_last),
        cmocka_unit_test(coarse_memory_is_the_hosts_between_calls),
    };
    if (count != 5) return 2;
    cuda = args[1];
    old_cuda = args[2];
    lacking_cuda = args[3];
    opencl = args[4];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
