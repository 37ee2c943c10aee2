/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_INPUT_H
#define TW_CLI_INPUT_H

#include <stddef.h>
#include <stdint.h>

#include "tensorwasm/status.h"

/* The largest module that the command line reads, in bytes: the library's default limit. */
#define CLI_MAX_MODULE ((size_t)256 << 20)

/* Reads a module, wasm or wat, from a file or, for "-", from stdin. *bytes is malloc'd (free it) and at least one byte
 * long even when *size is 0. Fails with TW_NOT_FOUND, TW_IO, TW_LIMIT or TW_NO_MEMORY. */
tw_status cli_read_module(const char *path, uint8_t **bytes, size_t *size, tw_error *error);

/* Another kind of file. */
typedef struct cli_input_kind {
    size_t most;       /* bytes */
    const char *noun;  /* "a module" */
    const char *files; /* "a .wasm or .wat file": what to name instead of a folder */
} cli_input_kind;
/* As cli_read_module. */
tw_status cli_read_file(const cli_input_kind *kind, const char *path, uint8_t **bytes, size_t *size, tw_error *error);

#endif
