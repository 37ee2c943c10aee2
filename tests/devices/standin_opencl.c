/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for OpenCL: see standin.h. Declarations are those that tests/devices/opencl_header.c holds to CL/cl.h.
 *
 * Device 0 has coarse-grained memory: the host can touch it only while it is mapped, the device only while it isn't. Device 1 has
 * fine-grained memory, device 2 is of OpenCL 1.2 and has none. PoCL, a real OpenCL, runs the same tests. */
#include <sys/mman.h>
#include <unistd.h>

#include "device/opencl/cl.h"
#include "standin_common.h"

#define EXPORT                                               __attribute__((visibility("default")))
#define DECLARE(field, symbol, optional, result, parameters) EXPORT result symbol parameters;
TW_OPENCL_CALLS(DECLARE)
#undef DECLARE
EXPORT const standin *tw_standin(void);

enum { DEVICES = 3, MOST = 256, QUEUE = 64 };
enum { OUT_OF_RESOURCES = -5, INVALID_VALUE = -30, INVALID_DEVICE = -33, INVALID_CONTEXT = -34, INVALID_QUEUE = -36 };
#define DEVICE_MEMORY ((size_t)1 << 30)
#define LARGEST       ((size_t)1 << 28)

struct _cl_platform_id {
    int dummy;
};
struct _cl_device_id {
    int index;
};
struct _cl_context {
    int alive;
    tw_cl_device device;
};
typedef struct work {
    char kind; /* 'f'ill, 'c'opy, 'm'ap, 'u'nmap, 'g' migrate */
    uint8_t *to;
    const uint8_t *from;
    uint8_t pattern[4];
    size_t width, size;
} work;
struct _cl_command_queue {
    int alive;
    tw_cl_context context;
    work list[QUEUE];
    int count;
};
typedef struct allocation {
    bool alive, coarse, mapped;
    bool to_be_mapped;        /* when all that is queued is done */
    uint8_t *memory, *behind; /* the same: what was given out, and where the stand-in works */
    size_t size;
} allocation;

static struct _cl_platform_id platform;
static struct _cl_device_id devices[DEVICES] = {{0}, {1}, {2}};
static struct _cl_context contexts[MOST];
static struct _cl_command_queue queues[MOST];
static allocation allocations[MOST];

static tw_cl_int begin(const char *function)
{
    pthread_mutex_lock(&standin_lock);
    int code = injected(function);
    if (code) note("%s fails with %d\n", function, code);
    return code;
}

static tw_cl_int end(tw_cl_int result)
{
    pthread_mutex_unlock(&standin_lock);
    return result;
}

#define BEGIN                                                                                                          \
    tw_cl_int begun = begin(__func__);                                                                                 \
    if (begun) return end(begun)

static tw_cl_int refuse(tw_cl_int result, const char *function, const char *why)
{
    WRONG("%s: %s", function, why);
    return end(result);
}

/* ---- platform and devices ---- */

tw_cl_int clGetPlatformIDs(tw_cl_uint most, tw_cl_platform *out, tw_cl_uint *count)
{
    BEGIN;
    if (most) *out = &platform;
    *count = 1;
    return end(0);
}

static tw_cl_int answer(const void *value, size_t has, size_t size, void *out, size_t *needed)
{
    if (needed) *needed = has;
    if (out && size < has) return end(INVALID_VALUE);
    if (out) memcpy(out, value, has);
    return end(0);
}

tw_cl_int clGetPlatformInfo(tw_cl_platform which, tw_cl_uint what, size_t size, void *value, size_t *needed)
{
    BEGIN;
    if (which != &platform || what != TW_CL_PLATFORM_NAME) return refuse(INVALID_VALUE, __func__, "platform");
    return answer("Stand-in", sizeof "Stand-in", size, value, needed);
}

tw_cl_int clGetDeviceIDs(tw_cl_platform which, tw_cl_flags type, tw_cl_uint most, tw_cl_device *out, tw_cl_uint *count)
{
    BEGIN;
    if (which != &platform || type != TW_CL_DEVICE_TYPE_ALL) return refuse(INVALID_VALUE, __func__, "platform");
    for (tw_cl_uint i = 0; i < most && i < DEVICES; i++) out[i] = &devices[i];
    *count = DEVICES;
    return end(0);
}

static bool is_device(tw_cl_device device)
{
    return device >= devices && device < devices + DEVICES;
}

tw_cl_int clGetDeviceInfo(tw_cl_device device, tw_cl_uint what, size_t size, void *value, size_t *needed)
{
    static const char *const names[] = {"coarse", "fine", "old"};
    static const char *const versions[] = {"OpenCL 2.0 stand-in", "OpenCL 2.1 stand-in", "OpenCL 1.2 stand-in"};
    static const tw_cl_flags svm[] = {1, 1 | 2 | 8, 0};
    BEGIN;
    if (!is_device(device)) return refuse(INVALID_DEVICE, __func__, "device");
    const uint64_t memory = DEVICE_MEMORY, most = LARGEST;
    const tw_cl_uint units = 3, no = 0;
    int i = device->index;
    switch (what) {
    case TW_CL_DEVICE_NAME: return answer(names[i], strlen(names[i]) + 1, size, value, needed);
    case TW_CL_DEVICE_VERSION: return answer(versions[i], strlen(versions[i]) + 1, size, value, needed);
    case TW_CL_DRIVER_VERSION: return answer("1.0", sizeof "1.0", size, value, needed);
    case TW_CL_DEVICE_MAX_COMPUTE_UNITS: return answer(&units, sizeof units, size, value, needed);
    case TW_CL_DEVICE_HOST_UNIFIED_MEMORY: return answer(&no, sizeof no, size, value, needed);
    case TW_CL_DEVICE_GLOBAL_MEM_SIZE: return answer(&memory, sizeof memory, size, value, needed);
    case TW_CL_DEVICE_MAX_MEM_ALLOC_SIZE: return answer(&most, sizeof most, size, value, needed);
    case TW_CL_DEVICE_SVM_CAPABILITIES:
        return i == 2 ? end(INVALID_VALUE) : answer(&svm[i], sizeof svm[i], size, value, needed);
    default: return end(INVALID_VALUE);
    }
}

/* ---- contexts and queues ---- */

tw_cl_context clCreateContext(const tw_cl_context_property *properties, tw_cl_uint count, const tw_cl_device *list,
                              tw_cl_notify notify, void *data, tw_cl_int *result)
{
    (void)notify;
    (void)data;
    *result = begin(__func__);
    if (!*result && (properties[0] != TW_CL_CONTEXT_PLATFORM || properties[1] != (intptr_t)&platform || properties[2] ||
                     count != 1 || !is_device(list[0]))) {
        WRONG("%s: properties or devices", __func__);
        *result = INVALID_VALUE;
    }
    tw_cl_context made = NULL;
    for (int i = 0; i < MOST && !*result && !made; i++)
        if (!contexts[i].alive) made = &contexts[i];
    if (made) *made = (struct _cl_context){1, list[0]};
    end(0);
    return made;
}

tw_cl_int clReleaseContext(tw_cl_context context)
{
    BEGIN;
    if (!context || !context->alive) return refuse(INVALID_CONTEXT, __func__, "not a context");
    context->alive = 0;
    return end(0);
}

tw_cl_queue clCreateCommandQueueWithProperties(tw_cl_context context, tw_cl_device device,
                                               const tw_cl_queue_property *properties, tw_cl_int *result)
{
    *result = begin(__func__);
    if (!*result && (properties || !context || !context->alive || context->device != device || device->index == 2)) {
        WRONG("%s: context, device or properties", __func__);
        *result = INVALID_CONTEXT;
    }
    tw_cl_queue made = NULL;
    for (int i = 0; i < MOST && !*result && !made; i++)
        if (!queues[i].alive) made = &queues[i];
    if (made) *made = (struct _cl_command_queue){.alive = 1, .context = context};
    end(0);
    return made;
}

tw_cl_int clReleaseCommandQueue(tw_cl_queue queue)
{
    BEGIN;
    if (!queue || !queue->alive) return refuse(INVALID_QUEUE, __func__, "not a queue");
    if (queue->count) WRONG("%s: with work in it", __func__);
    queue->alive = 0;
    return end(0);
}

/* ---- memory ---- */

void *clSVMAlloc(tw_cl_context context, tw_cl_flags flags, size_t size, tw_cl_uint alignment)
{
    void *memory = NULL;
    bool fine = flags == (TW_CL_MEM_READ_WRITE | TW_CL_MEM_SVM_FINE_GRAIN_BUFFER);
    int code = begin(__func__);
    if (!code && (!context || !context->alive || (flags != TW_CL_MEM_READ_WRITE && !fine) || alignment || !size ||
                  fine != (context->device->index == 1)))
        WRONG("%s: context, flags or size", __func__);
    else if (!code && size <= LARGEST) {
        allocation *a = allocations;
        while (a->alive) a++;
        int file = memfd_create("standin", MFD_CLOEXEC);
        if (!ftruncate(file, (off_t)size)) {
            *a = (allocation){.alive = true, .coarse = !fine, .size = size};
            a->memory = mmap(NULL, size, fine ? PROT_READ | PROT_WRITE : PROT_NONE, MAP_SHARED, file, 0);
            a->behind = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
            memset(a->behind, 0xA7, size < 65536 ? size : 65536); /* somebody else's bytes */
            memory = a->memory;
            note("clSVMAlloc of %zu bytes at %p\n", size, memory);
        }
        close(file);
    }
    end(0);
    return memory;
}

/* The live allocation that the whole range lies in. */
static allocation *find(const void *memory, size_t size)
{
    for (int i = 0; i < MOST; i++) {
        allocation *a = &allocations[i];
        uintptr_t first = (uintptr_t)a->memory, at = (uintptr_t)memory;
        if (a->alive && size && at >= first && at - first <= a->size && size <= a->size - (at - first)) return a;
    }
    return NULL;
}

void clSVMFree(tw_cl_context context, void *memory)
{
    begin(__func__);
    allocation *a = find(memory, 1);
    if (!context || !context->alive || !a || a->memory != memory) WRONG("%s: not an allocation", __func__);
    else if (a->mapped || a->to_be_mapped) WRONG("%s: still mapped", __func__);
    else {
        note("clSVMFree at %p\n", memory);
        munmap(a->memory, a->size);
        munmap(a->behind, a->size);
        a->alive = false;
    }
    end(0);
}

/* ---- work ---- */

/* Where the device works; a mistake when the memory is the host's at that moment. */
static uint8_t *on_device(const void *at, size_t size)
{
    allocation *a = find(at, size);
    if (!a) return (uint8_t *)(uintptr_t)at; /* the caller's own memory */
    if (a->coarse && a->mapped) WRONG("the device works on memory that is mapped");
    return a->behind + ((const uint8_t *)at - a->memory);
}

static void map(allocation *a, bool mapped)
{
    if (a->coarse && mprotect(a->memory, a->size, mapped ? PROT_READ | PROT_WRITE : PROT_NONE)) abort();
    a->mapped = mapped;
}

static void do_work(const work *w)
{
    static const char *const names[] = {
        ['f'] = "fill", ['c'] = "copy", ['m'] = "map", ['u'] = "unmap", ['g'] = "migrate"};
    note("done: %s of %zu bytes at %p\n", names[(int)w->kind], w->size, (void *)w->to);
    switch (w->kind) {
    case 'm': map(find(w->to, 1), true); break;
    case 'u': map(find(w->to, 1), false); break;
    case 'c': memcpy(on_device(w->to, w->size), on_device(w->from, w->size), w->size); break;
    case 'f':
        for (size_t at = 0; at < w->size; at += w->width) memcpy(on_device(w->to, w->size) + at, w->pattern, w->width);
        break;
    default: on_device(w->to, w->size);
    }
}

static void work_off(tw_cl_queue queue)
{
    for (int i = 0; i < queue->count; i++) do_work(&queue->list[i]);
    queue->count = 0;
}

tw_cl_int clFinish(tw_cl_queue queue)
{
    BEGIN;
    if (!queue || !queue->alive) return refuse(INVALID_QUEUE, __func__, "not a queue");
    work_off(queue);
    return end(0);
}

static tw_cl_int enqueue(const char *function, tw_cl_queue queue, tw_cl_uint waits, const tw_cl_event *wait,
                         tw_cl_event *event, work w)
{
    if (!queue || !queue->alive) return refuse(INVALID_QUEUE, function, "not a queue");
    if (waits || wait || event) return refuse(INVALID_VALUE, function, "events");
    if (queue->count == QUEUE) return refuse(INVALID_VALUE, function, "nobody waits for the queue");
    note("%s of %zu bytes at %p\n", function, w.size, (void *)w.to);
    queue->list[queue->count++] = w;
    return end(0);
}

tw_cl_int clEnqueueSVMMap(tw_cl_queue queue, tw_cl_bool blocking, tw_cl_flags flags, void *memory, size_t size,
                          TW_CL_WAIT)
{
    BEGIN;
    allocation *a = find(memory, size);
    if (!a || a->memory != memory || a->to_be_mapped || flags != (TW_CL_MAP_READ | TW_CL_MAP_WRITE))
        return refuse(INVALID_VALUE, __func__, "not an allocation, mapped, or flags");
    a->to_be_mapped = true;
    tw_cl_int result =
        enqueue(__func__, queue, wait_count, wait, event, (work){.kind = 'm', .to = memory, .size = size});
    if (!result && blocking) clFinish(queue);
    return result;
}

tw_cl_int clEnqueueSVMUnmap(tw_cl_queue queue, void *memory, TW_CL_WAIT)
{
    BEGIN;
    allocation *a = find(memory, 1);
    if (!a || a->memory != memory || !a->to_be_mapped) return refuse(INVALID_VALUE, __func__, "not mapped");
    a->to_be_mapped = false;
    return enqueue(__func__, queue, wait_count, wait, event, (work){.kind = 'u', .to = memory, .size = a->size});
}

tw_cl_int clEnqueueSVMMemFill(tw_cl_queue queue, void *to, const void *pattern, size_t pattern_size, size_t size,
                              TW_CL_WAIT)
{
    BEGIN;
    work w = {.kind = 'f', .to = to, .width = pattern_size, .size = size};
    if (!find(to, size) || !pattern || (pattern_size != 1 && pattern_size != 2 && pattern_size != 4))
        return refuse(INVALID_VALUE, __func__, "range or pattern");
    if ((uintptr_t)to % pattern_size || size % pattern_size) return refuse(INVALID_VALUE, __func__, "not aligned");
    memcpy(w.pattern, pattern, pattern_size);
    return enqueue(__func__, queue, wait_count, wait, event, w);
}

tw_cl_int clEnqueueSVMMemcpy(tw_cl_queue queue, tw_cl_bool blocking, void *to, const void *from, size_t size,
                             TW_CL_WAIT)
{
    BEGIN;
    if (!to || !from || (!find(to, size) && !find(from, size))) return refuse(INVALID_VALUE, __func__, "ranges");
    tw_cl_int result =
        enqueue(__func__, queue, wait_count, wait, event, (work){.kind = 'c', .to = to, .from = from, .size = size});
    if (!result && blocking) clFinish(queue);
    return result;
}

tw_cl_int clEnqueueSVMMigrateMem(tw_cl_queue queue, tw_cl_uint count, const void **memory, const size_t *sizes,
                                 tw_cl_flags flags, TW_CL_WAIT)
{
    BEGIN;
    if (queue->context->device->index != 1) return refuse(INVALID_VALUE, __func__, "the device is of OpenCL 2.0");
    if (count != 1 || !find(memory[0], sizes[0]) || flags & ~(tw_cl_flags)3)
        return refuse(INVALID_VALUE, __func__, "range");
    return enqueue(__func__, queue, wait_count, wait, event,
                   (work){.kind = 'g', .to = (uint8_t *)(uintptr_t)memory[0], .size = sizes[0]});
}

/* ---- for tests ---- */

static int alive(void)
{
    int sum = 0;
    for (int i = 0; i < MOST; i++) sum += allocations[i].alive + queues[i].alive + contexts[i].alive;
    return sum;
}

const standin *tw_standin(void)
{
    static const standin it = {standin_reset, standin_fail, standin_log, standin_wrong, alive};
    return &it;
}
