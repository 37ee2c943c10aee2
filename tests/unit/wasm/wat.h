/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_WAT_H
#define TW_TEST_WAT_H

/* wabt's tools for tests: text to bytes, and a second opinion on what we write. Failures end the test. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct bytes {
    uint8_t *data;
    size_t size;
} bytes;

/* All that we accept; wabt's tools take it on the command line. */
#define WAT_FEATURES "--enable-tail-call --enable-relaxed-simd --enable-extended-const"

static inline bytes read_whole(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) fail_msg("can't open %s", path);
    bytes result = {malloc(1 << 24), 0};
    result.size = fread(result.data, 1, 1 << 24, file);
    fclose(file);
    result.data = realloc(result.data, result.size + 1);
    result.data[result.size] = 0;
    return result;
}

static inline void write_whole(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    if (!file) fail_msg("can't write %s", path);
    assert_int_equal(fwrite(data, 1, size, file), size);
    fclose(file);
}

static inline void temp_name(char *name, const char *suffix)
{
    static int count;
    sprintf(name, "/tmp/tw-test-%d-%d%s", (int)getpid(), count++, suffix);
}

/* Free .data. */
static inline bytes wat(const char *flags, const char *text)
{
    char in[64], out[64], command[400];
    temp_name(in, ".wat");
    temp_name(out, ".wasm");
    write_whole(in, text, strlen(text));
    snprintf(command, sizeof command, "wat2wasm %s %s -o %s", flags, in, out);
    if (system(command) != 0) fail_msg("wat2wasm refused: %.2000s", text);
    bytes result = read_whole(out);
    unlink(in);
    unlink(out);
    return result;
}

/* What `tool flags file.wasm` prints (both channels); *ok says whether it left with 0. */
static inline bytes tool(const char *name, const char *flags, const void *data, size_t size, int *ok)
{
    char in[64], out[64], command[400];
    temp_name(in, ".wasm");
    temp_name(out, ".txt");
    write_whole(in, data, size);
    snprintf(command, sizeof command, "%s %s %s > %s 2>&1", name, flags, in, out);
    int rc = system(command);
    if (ok) *ok = rc == 0;
    bytes result = read_whole(out);
    unlink(in);
    unlink(out);
    return result;
}

static inline void assert_valid(const char *flags, const void *data, size_t size)
{
    int ok;
    bytes said = tool("wasm-validate", flags, data, size, &ok);
    if (!ok) fail_msg("not valid: %s", (char *)said.data);
    free(said.data);
}

#endif
