/* SPDX-License-Identifier: Apache-2.0 */
/* ir_golden [--update] PASS FILE…: each file is an input, a line "---", and the output that PASS must give. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"

enum { MEMORY = 256 << 20 };

static void print_error(const tw_error *error, tw_bytes *out)
{
    tw_bytes_printf(out, "%s: %s", tw_status_name(error->status), error->message);
    if (error->offset != TW_NO_OFFSET) tw_bytes_printf(out, " (byte %llu)", (unsigned long long)error->offset);
    tw_bytes_append_byte(out, '\n');
}

static void run_simplify(tw_ir_func *func, tw_bytes *out)
{
    tw_error error;
    if (tw_ir_simplify(func, &error) != TW_OK || tw_ir_verify(func, NULL, &error) != TW_OK) print_error(&error, out);
    else tw_ir_print(func, out);
}

static void run_thread(tw_ir_func *func, tw_bytes *out)
{
    tw_error error;
    bool changed;
    if (tw_thread_jumps(func, &changed, &error) != TW_OK || tw_ir_verify(func, NULL, &error) != TW_OK) print_error(&error, out);
    else if (!changed) tw_bytes_append_string(out, "unchanged\n");
    else tw_ir_print(func, out);
}

static void run_analysis(tw_ir_func *func, tw_bytes *out)
{
    tw_error error;
    tw_analysis *analysis;
    if (tw_analysis_new(func, MEMORY, &analysis, &error) != TW_OK) {
        print_error(&error, out);
        return;
    }
    tw_analysis_print(analysis, out);
    tw_analysis_free(analysis);
}

static void run_verify(tw_ir_func *func, tw_bytes *out)
{
    tw_error error;
    if (tw_ir_verify(func, NULL, &error) != TW_OK) print_error(&error, out);
    else tw_bytes_append_string(out, "valid\n");
}

static void run_print(tw_ir_func *func, tw_bytes *out)
{
    tw_ir_print(func, out);
}

static const struct pass {
    const char *name;
    bool needs_valid;
    void (*run)(tw_ir_func *func, tw_bytes *out);
} passes[] = {
    {"print", false, run_print},    {"verify", false, run_verify},     {"simplify", true, run_simplify},
    {"thread", true, run_thread},   {"analysis", true, run_analysis},
};

static void run_pass(const struct pass *pass, const char *text, size_t size, tw_bytes *out)
{
    tw_error error;
    tw_ir_func *func;
    if (tw_ir_parse(text, size, &func, &error) != TW_OK) {
        print_error(&error, out);
        return;
    }
    if (pass->needs_valid && tw_ir_verify(func, NULL, &error) != TW_OK) print_error(&error, out);
    else pass->run(func, out);
    tw_ir_func_free(func);
}

static bool read_file(const char *path, tw_bytes *out)
{
    FILE *file = fopen(path, "rb");
    if (!file) return false;
    char buffer[4096];
    for (size_t got; (got = fread(buffer, 1, sizeof buffer, file)) > 0;) tw_bytes_append(out, buffer, got);
    fclose(file);
    return !out->failed;
}

static bool write_file(const char *path, const char *input, size_t input_size, const tw_bytes *output)
{
    FILE *file = fopen(path, "wb");
    if (!file) return false;
    fwrite(input, 1, input_size, file);
    fprintf(file, "---\n");
    fwrite(output->data, 1, output->size, file);
    return fclose(file) == 0;
}

static bool run_file(const struct pass *pass, const char *path, bool update)
{
    tw_bytes whole = {0}, got = {0};
    if (!read_file(path, &whole)) {
        fprintf(stderr, "%s: can't be read\n", path);
        return false;
    }
    const char *mark = strstr(whole.data, "\n---\n");
    size_t size = mark ? (size_t)(mark + 1 - whole.data) : whole.size;
    const char *wanted = mark ? mark + 5 : "";
    run_pass(pass, whole.data, size, &got);
    tw_bytes_append(&got, "", 0);
    bool good = strcmp(wanted, got.data) == 0;
    if (update) good = good || write_file(path, whole.data, size, &got);
    else if (!good) printf("%s: %s gives\n%s\nwanted\n%s\n", path, pass->name, got.data, wanted);
    tw_bytes_free(&whole);
    tw_bytes_free(&got);
    return good;
}

int main(int argc, char **argv)
{
    int at = 1;
    bool update = argc > at && strcmp(argv[at], "--update") == 0, good = true;
    at += update;
    const struct pass *pass = NULL;
    for (size_t i = 0; i < sizeof passes / sizeof *passes; i++)
        if (argc > at && strcmp(argv[at], passes[i].name) == 0) pass = &passes[i];
    if (!pass || argc <= at + 1) {
        fprintf(stderr, "usage: ir_golden [--update] PASS FILE...\n");
        return 2;
    }
    for (int i = at + 1; i < argc; i++) good &= run_file(pass, argv[i], update);
    return good ? 0 : 1;
}
