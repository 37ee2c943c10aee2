/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_WASM_LIMITS_H
#define TW_WASM_LIMITS_H

/* The defaults of tw_wasm_limits: no lower than what the engine takes, since the engine's own limits hold
 * anyway; they bound our memory and time before the engine has seen the bytes. */
#define TW_WASM_DEFAULT_LIMITS                                                                     \
    {                                                                                              \
        .module_bytes = (size_t)1 << 30, .functions = 1000000, .types = 1000000,                   \
        .imports = 1000000, .exports = 1000000, .globals = 1000000, .tables = 100,                 \
        .segments = 100000, .memories = 1, .locals = 50000, .nesting = 20000,                      \
        .function_bytes = 7654321, .parameters = 1000, .results = 1000, .table_elements = 10000000 \
    }

enum {
    TW_WASM_MAX_PAGES = 65536,
    TW_WASM_MAX_LOCALS = 50000, /* of one function, whatever the limits say: the engine's own */
};

#endif
