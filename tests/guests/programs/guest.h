/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GUEST_H
#define GUEST_H

/* One source, two builds: a freestanding WebAssembly module whose exports work on its linear memory, and a native shared
 * object in which the same functions work on a block of bytes that the caller passes. The driver lays the arrays out the
 * same way for both: an array is a byte offset from the memory's first byte.
 *
 *   GUEST(void, saxpy, (int n, float a, const float *x, float *y)) { … }
 *   NATIVE(saxpy, (I32(0), F32(1), PTR(2), PTR(3)))      the arguments in order, by kind; nothing in a WebAssembly build
 *   NATIVE_F64(dot, (…))                                 the same for a function that returns a double */

#ifdef __wasm__

#define GUEST(type, name, parameters) __attribute__((export_name(#name))) type name parameters
#define NATIVE(name, arguments)
#define NATIVE_F64(name, arguments)
/* An address that lies in memory, such as a field of a structure. */
#define AT(type, address) ((type *)(address))

/* More memory for the driver's arrays: the result is what memory.grow gives. */
__attribute__((export_name("reserve"))) int reserve(int pages)
{
    return (int)__builtin_wasm_memory_grow(0, (unsigned long)pages);
}

#else

typedef union guest_arg {
    int i32;
    unsigned address;
    float f32;
    double f64;
} guest_arg;

static _Thread_local unsigned char *guest_memory;

#define GUEST(type, name, parameters) type name parameters
#define I32(k)                        args[k].i32
#define F32(k)                        args[k].f32
#define F64(k)                        args[k].f64
#define PTR(k)                        ((void *)(memory + args[k].address))
#define NATIVE(name, arguments)                                                                                        \
    __attribute__((visibility("default"))) void native_##name(unsigned char *memory, const guest_arg *args,            \
                                                              double *result)                                          \
    {                                                                                                                  \
        guest_memory = memory;                                                                                         \
        *result = 0;                                                                                                   \
        name arguments;                                                                                                \
    }
#define NATIVE_F64(name, arguments)                                                                                    \
    __attribute__((visibility("default"))) void native_##name(unsigned char *memory, const guest_arg *args,            \
                                                              double *result)                                          \
    {                                                                                                                  \
        guest_memory = memory;                                                                                         \
        *result = name arguments;                                                                                      \
    }
#define AT(type, address) ((type *)(void *)(guest_memory + (address)))

#endif
#endif
