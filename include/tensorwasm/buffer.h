/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TENSORWASM_BUFFER_H
#define TENSORWASM_BUFFER_H

/* Buffers: memory that the host and a device share, and what devices there are.
 *
 * A buffer has one address on the host and one on its device, and both see the same bytes. Which memory that is, its *backend*
 * says. Every call that works on a buffer returns when the device is done: between calls the host may read and write through
 * tw_buffer_host as it likes.
 *
 *     devices = tw_devices_open ──► tw_devices_at, tw_devices_missing      what is here, what isn't and why
 *                   │
 *                   └─ tw_buffer_new ──► host, fill, write, read, copy, prefetch, advise ──► tw_buffer_free
 *
 * CUDA and OpenCL are looked for when something first asks about them, never when the program is built or started; where one is
 * missing, its backends are unavailable and say why. Their libraries stay loaded until the process ends. Loading may take
 * some tenths of a second. Signal handlers that they set are taken back at once; a program that runs guests on other threads
 * should ask (tw_devices_missing) before it starts those.
 *
 * A set of devices may be used from any thread at once. A buffer from one thread at a time; two buffers at once are fine. */

#include "tensorwasm/tensorwasm.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* ---- devices ---- */

/* Who drives a device: X(NAME, "name"). Append only. */
#define TW_DEVICE_KIND_MAP(X)                                                                                          \
    X(HOST, "host")     /* this machine's processors and memory: one device, always here */                            \
    X(CUDA, "cuda")     /* NVIDIA's driver, libcuda.so.1 */                                                            \
    X(OPENCL, "opencl") /* an OpenCL platform, by libOpenCL.so.1 */

typedef enum tw_device_kind {
#define TW_DEVICE_KIND_ENUM(name, text) TW_DEVICE_KIND_##name,
    TW_DEVICE_KIND_MAP(TW_DEVICE_KIND_ENUM)
#undef TW_DEVICE_KIND_ENUM
        TW_DEVICE_KINDS
} tw_device_kind;

/* Which memory a buffer is: X(NAME, "name", kind of device, "meaning"). Append only. */
#define TW_BACKEND_MAP(X)                                                                                              \
    X(HOST, "host", HOST, "pages of the host")                                                                         \
    X(CUDA_MANAGED, "cuda-managed", CUDA, "pages that the driver moves to where they are used")                        \
    X(CUDA_PINNED, "cuda-pinned", CUDA, "pages of the host that stay where they are and that the device reaches")      \
    X(OPENCL_SVM, "opencl-svm", OPENCL, "shared virtual memory, fine-grained where the device has it")

typedef enum tw_backend {
#define TW_BACKEND_ENUM(name, text, kind, meaning) TW_BACKEND_##name,
    TW_BACKEND_MAP(TW_BACKEND_ENUM)
#undef TW_BACKEND_ENUM
        TW_BACKENDS
} tw_backend;

/* What a device can do: X(NAME, "name", "meaning"), bit 1 << TW_CAN_NAME of tw_device_info.can. Append only. */
#define TW_CAN_MAP(X)                                                                                                  \
    X(PREFETCH, "prefetch", "tw_buffer_prefetch does something")                                                       \
    X(ADVISE, "advise", "tw_buffer_advise does something")                                                             \
    X(CONCURRENT, "concurrent-access", "host and device may use managed memory at the same time")                      \
    X(PAGEABLE, "pageable-access", "the device reaches any memory of the host")                                        \
    X(INTEGRATED, "integrated", "the device's memory is the host's")                                                   \
    X(SVM_COARSE, "svm-coarse", "shared virtual memory that is mapped and unmapped in turn")                           \
    X(SVM_FINE, "svm-fine", "shared virtual memory that host and device use without mapping")                          \
    X(SVM_SYSTEM, "svm-system", "shared virtual memory is all memory of the host")                                     \
    X(SVM_ATOMICS, "svm-atomics", "atomic operations on shared virtual memory")

enum {
#define TW_CAN_ENUM(name, text, meaning) TW_CAN_##name,
    TW_CAN_MAP(TW_CAN_ENUM)
#undef TW_CAN_ENUM
        TW_CAN_COUNT
};

/* "cuda", "cuda-managed", "svm-fine", and the sentences beside them; static. "unknown" for what is none. */
const char *tw_device_kind_name(tw_device_kind kind);
const char *tw_backend_name(tw_backend backend);
const char *tw_backend_meaning(tw_backend backend);
const char *tw_can_name(unsigned can);
const char *tw_can_meaning(unsigned can);

typedef struct tw_devices tw_devices;
typedef struct tw_devices_options {
    size_t size;
    const char *cuda_library;   /* instead of libcuda.so.1: a name for dlopen, or a path with a slash in it */
    const char *opencl_library; /* instead of libOpenCL.so.1 */
    uint64_t max_bytes;         /* of one buffer; default 2^63 - 1: only the device's own limit */
} tw_devices_options;
#define TW_DEVICES_OPTIONS_INIT {.size = sizeof(tw_devices_options), .max_bytes = INT64_MAX}

/* options NULL = defaults. Loads nothing yet. */
tw_status tw_devices_open(const tw_devices_options *options, tw_devices **out, tw_error *error);
/* Buffers keep what they need of it. NULL is fine. */
void tw_devices_close(tw_devices *devices);

/* A device. Made by the library only, which may add fields at the end; valid as long as the set. */
typedef struct tw_device_info {
    tw_device_kind kind;
    uint32_t index;         /* among those of its kind, from 0: tw_buffer_options.device */
    const char *name;       /* the model's */
    const char *driver;     /* which system or driver serves it, with its version */
    const char *version;    /* what it implements: "compute capability 9.0", "OpenCL 3.0 …"; "" for the host */
    uint64_t memory;        /* bytes */
    uint32_t compute_units; /* processors, multiprocessors, compute units */
    uint32_t backends;      /* bits 1 << tw_backend */
    uint32_t can;           /* bits 1 << TW_CAN_… */
} tw_device_info;

/* All devices of all kinds: the host, then CUDA's, then OpenCL's. NULL past the end. Loads what wasn't looked for yet. */
const tw_device_info *tw_devices_at(tw_devices *devices, size_t index);
/* Why no device has this backend, a sentence without full stop; NULL when one has. Valid as long as the set. */
const char *tw_devices_missing(tw_devices *devices, tw_backend backend);

/* ---- buffers ---- */

typedef struct tw_buffer tw_buffer;
typedef struct tw_buffer_options {
    size_t size;
    tw_backend backend; /* default TW_BACKEND_HOST */
    uint32_t device;    /* of the backend's kind; default 0 */
    tw_tenant_id tenant; /* whose account it counts to; default 0 */
} tw_buffer_options;
#define TW_BUFFER_OPTIONS_INIT {.size = sizeof(tw_buffer_options)}

/* A buffer of `bytes`, all zero; the device writes the zeros. options NULL = defaults. Owned by the caller: tw_buffer_free. It
 * may outlive `devices`.
 *   TW_INVALID_ARGUMENT  bytes is 0, or there is no such backend
 *   TW_LIMIT             more than max_bytes, than the device could ever give, or than the tenant's limit leaves
 *   TW_NO_MEMORY         the host or the device has none left
 *   TW_UNAVAILABLE       the backend or the device isn't here; the message says why
 *   TW_DEVICE            the driver failed otherwise, and says how */
tw_status tw_buffer_new(tw_devices *devices, const tw_buffer_options *options, uint64_t bytes, tw_buffer **out,
                        tw_error *error);
/* NULL is fine. Both addresses are dead afterwards. */
void tw_buffer_free(tw_buffer *buffer);

/* Where it lies for the host, and for its device; both are valid until it is freed, and never change. */
void *tw_buffer_host(const tw_buffer *buffer);
uint64_t tw_buffer_device(const tw_buffer *buffer);
uint64_t tw_buffer_size(const tw_buffer *buffer); /* bytes */
tw_backend tw_buffer_backend(const tw_buffer *buffer);

/* The calls below give TW_INVALID_ARGUMENT when offset and size don't lie in the buffer (0 bytes anywhere in it or at its end are
 * fine), and TW_DEVICE when the driver fails: the bytes in the range may then be anything, all others are as they were. */

/* Repeats the `width` low bytes of `pattern`, 1, 2 or 4, as they lie in memory; offset and size must be multiples of it. By the
 * device. */
tw_status tw_buffer_fill(tw_buffer *buffer, uint64_t offset, uint64_t size, uint32_t pattern, unsigned width,
                         tw_error *error);
/* All of it becomes zero, by the device. */
tw_status tw_buffer_zero(tw_buffer *buffer, tw_error *error);
/* Bytes of the caller's go in, or come out, through the device. data must not lie in the buffer. */
tw_status tw_buffer_write(tw_buffer *buffer, uint64_t offset, const void *data, uint64_t size, tw_error *error);
tw_status tw_buffer_read(const tw_buffer *buffer, uint64_t offset, void *data, uint64_t size, tw_error *error);
/* From one buffer to another, of any backend, or to another part of the same one: TW_INVALID_ARGUMENT if the two overlap. On the
 * device when it is the same one. */
tw_status tw_buffer_copy(tw_buffer *to, uint64_t to_offset, const tw_buffer *from, uint64_t from_offset, uint64_t size,
                         tw_error *error);

typedef enum tw_place { TW_PLACE_HOST, TW_PLACE_DEVICE } tw_place;

/* What a program means to do with a range: X(NAME, "name"). Append only. */
#define TW_ADVICE_MAP(X)                                                                                               \
    X(READ_MOSTLY, "read-mostly")                                                                                      \
    X(NOT_READ_MOSTLY, "not-read-mostly")                                                                              \
    X(PREFER_HOST, "prefer-host")                                                                                      \
    X(PREFER_DEVICE, "prefer-device")                                                                                  \
    X(PREFER_NONE, "prefer-none")                                                                                      \
    X(ACCESSED_BY_DEVICE, "accessed-by-device")                                                                        \
    X(NOT_ACCESSED_BY_DEVICE, "not-accessed-by-device")

typedef enum tw_advice {
#define TW_ADVICE_ENUM(name, text) TW_ADVICE_##name,
    TW_ADVICE_MAP(TW_ADVICE_ENUM)
#undef TW_ADVICE_ENUM
        TW_ADVICES
} tw_advice;

/* Hints. They change no byte, and where a device can't follow them (tw_device_info.can) they do nothing. prefetch has the pages
 * at `place` when it returns. */
tw_status tw_buffer_prefetch(tw_buffer *buffer, uint64_t offset, uint64_t size, tw_place place, tw_error *error);
tw_status tw_buffer_advise(tw_buffer *buffer, uint64_t offset, uint64_t size, tw_advice advice, tw_error *error);

/* ---- buffers of an instance ---- */

/* An instance can own buffers, each under a name. They live as long as it does, are captured with it (snapshot.h) and made anew with
 * it, and an instance that is given back to its pool has none again, as one that begins. An instance and its buffers are used
 * from one thread at a time; host functions may do it during a call. */

/* On success the buffer is the instance's: it frees it, when it is freed or given back to its pool. Until then the host uses it as
 * before. The name is copied; 1 to 255 bytes, UTF-8, each once. TW_INVALID_ARGUMENT, TW_LIMIT (1024 buffers), TW_NO_MEMORY: then it
 * is still the caller's. A buffer is of one instance at a time, and tw_buffer_free does nothing with it until it is detached. */
tw_status tw_instance_attach_buffer(tw_instance *instance, const char *name, tw_buffer *buffer, tw_error *error);
/* The caller's again, to be freed with tw_buffer_free. TW_NOT_FOUND. */
tw_status tw_instance_detach_buffer(tw_instance *instance, const char *name, tw_buffer **out, tw_error *error);
/* Still the instance's: don't free it. NULL when it has none of that name. */
tw_buffer *tw_instance_buffer(const tw_instance *instance, const char *name);

/* Made by the library only, which may add fields at the end. Valid until a buffer comes or goes. */
typedef struct tw_instance_buffer_info {
    const char *name;
    tw_buffer *buffer;   /* the instance's */
    tw_backend captured; /* what it was when it was captured; its own backend where it wasn't restored */
    const char *note;    /* why a restored one is on another backend: "cuda-managed is not available: …"; else NULL */
} tw_instance_buffer_info;
size_t tw_instance_buffer_count(const tw_instance *instance);
/* In the order in which they came. TW_NOT_FOUND past the last. */
tw_status tw_instance_buffer_at(const tw_instance *instance, size_t index, tw_instance_buffer_info *out);

/* Where a restored instance's buffers are made. */
typedef enum tw_buffer_place {
    TW_BUFFERS_OR_HOST,    /* on the backend that they were on; where that isn't available, on the host, with a note */
    TW_BUFFERS_AS_CAPTURED,/* there, or TW_UNAVAILABLE */
    TW_BUFFERS_ON_BACKEND, /* on `backend`, or TW_UNAVAILABLE */
} tw_buffer_place;

/* tw_spawn_options.buffers, for tw_instance_restore and for pools whose instances begin with a snapshot. */
typedef struct tw_buffer_restoring {
    size_t size;
    tw_devices *devices; /* NULL = there is only the host; buffers keep what they need of it */
    tw_buffer_place place;
    tw_backend backend;  /* TW_BUFFERS_ON_BACKEND */
    uint32_t device;     /* of the backend's kind; default 0 */
    uint64_t max_bytes;  /* of all together, TW_LIMIT beyond; 0 = any */
} tw_buffer_restoring;
#define TW_BUFFER_RESTORING_INIT {.size = sizeof(tw_buffer_restoring)}

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
