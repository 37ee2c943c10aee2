/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_CODEGEN_SUPPORT_H
#define TW_TEST_CODEGEN_SUPPORT_H

/* Models from text with numbers, run by the interpreter and as kernels over copies of one memory. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "codegen/codegen.h"
#include "region/interp.h"
#include "region/plan.h"

enum { MEMORY_BYTES = 1 << 20 };

typedef struct subject {
    tw_model *model;
    tw_facts facts;
    tw_arena arena;
    tw_layout layout;
    tw_plan *plan;
    uint64_t *args, outputs[16];
    uint32_t stop;
    int64_t iterations;
} subject;

static inline void subject_from_text(subject *s, const char *text, size_t size)
{
    tw_error error = {.message = ""};
    memset(s, 0, sizeof *s);
    size_t model_size = tw_model_text_size(text, size);
    if (tw_model_parse(text, model_size, &s->model, &error))
        fail_msg("byte %llu: %s", (unsigned long long)error.offset, error.message);
    if (tw_facts_parse(s->model, text + model_size, size - model_size, &s->facts, &error)) fail_msg("%s", error.message);
    tw_arena_init(&s->arena, TW_ARENA_NO_LIMIT);
    assert_true(tw_layout_make(s->model, &s->arena, &s->layout));
    assert_int_equal(tw_plan_new(s->model, &s->plan, &error), TW_OK);
    s->args = calloc(s->layout.count, 8);
}

static inline void subject_from_file(subject *s, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/models/%s.model", TW_TEST_DATA, name);
    FILE *file = fopen(path, "rb");
    if (!file) fail_msg("no %s", path);
    char *text = malloc(1 << 17);
    size_t size = fread(text, 1, 1 << 17, file);
    fclose(file);
    subject_from_text(s, text, size);
    free(text);
}

static inline void subject_free(subject *s)
{
    tw_plan_free(s->plan);
    tw_model_free(s->model);
    tw_arena_free(&s->arena);
    free(s->args);
}

/* Evaluates the plan with these symbols and lays the numbers out as a kernel's arguments. */
static inline void subject_numbers(subject *s, const uint64_t *symbols, const uint8_t *memory, uint64_t memory_size)
{
    const tw_model *m = s->model;
    tw_numbers *n = tw_plan_numbers(s->plan);
    for (uint32_t i = 0; symbols && i < m->symbol_count; i++) n->symbols[i] = symbols[i];
    if (!tw_plan_evaluate(s->plan, (tw_plan_memory){memory, memory_size})) fail_msg("plan: %u %s", n->refusal, n->detail);
    s->iterations = (int64_t)n->iterations;
    for (uint32_t l = 0; l < m->loop_count; l++) {
        s->args[s->layout.trips[l]] = (uint64_t)n->loops[l].t0;
        for (uint32_t d = 0; d < m->loops[l].depth; d++) s->args[s->layout.trips[l] + 1 + d] = (uint64_t)n->loops[l].t[d];
    }
    for (uint32_t x = 0; x < m->access_count; x++) {
        uint32_t depth = m->accesses[x].loop == TW_NONE ? 0 : m->loops[m->accesses[x].loop].depth + 1;
        s->args[s->layout.access[x]] = (uint64_t)n->accesses[x].base;
        for (uint32_t d = 0; d < depth; d++) s->args[s->layout.access[x] + 1 + d] = (uint64_t)n->accesses[x].stride[d];
    }
    for (uint32_t a = 0; a < m->affine_count; a++) {
        uint32_t depth = m->affines[a].loop == TW_NONE ? 0 : m->loops[m->affines[a].loop].depth + 1;
        s->args[s->layout.affine[a]] = n->affines[a].c0;
        for (uint32_t d = 0; d < depth; d++) s->args[s->layout.affine[a] + 1 + d] = n->affines[a].c[d];
    }
    for (uint32_t i = 0; symbols && i < m->symbol_count; i++) s->args[s->layout.symbol[i]] = symbols[i];
}

typedef struct kernel {
    tw_kernel_info info;
    void *code;
    size_t mapped;
    tw_kernel_entry entry;
} kernel;

static inline void kernel_load(kernel *k, const tw_kernel_info *info, const void *code)
{
    k->info = *info;
    k->mapped = (info->code_size + 4095u) & ~(size_t)4095;
    k->code = mmap(NULL, k->mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(k->code != MAP_FAILED);
    memcpy(k->code, code, info->code_size);
    assert_int_equal(mprotect(k->code, k->mapped, PROT_READ | PROT_EXEC), 0);
    void *at = (uint8_t *)k->code + info->entry;
    memcpy(&k->entry, &at, sizeof at);
}

static inline void kernel_free(kernel *k)
{
    munmap(k->code, k->mapped);
}

typedef enum manner { PLAIN, SCHEDULED } manner;

static inline void subject_tree(const subject *s, manner how, const tw_codegen *codegen, tw_arena *arena, tw_tree **tree)
{
    tw_error error = {.message = ""};
    tw_status status = how == PLAIN ? tw_schedule_plain(s->model, &s->facts, arena, tree, &error)
                                    : tw_schedule_make(s->model, &s->facts, tw_codegen_target(codegen), arena, tree, &error);
    if (status) fail_msg("schedule: %s", error.message);
}

static inline void subject_compile(const subject *s, tw_codegen *codegen, manner how, unsigned level, kernel *out)
{
    tw_arena arena;
    tw_arena_init(&arena, TW_ARENA_NO_LIMIT);
    tw_tree *tree;
    subject_tree(s, how, codegen, &arena, &tree);
    tw_kernel_info info;
    tw_bytes code = {0};
    tw_error error = {.message = ""};
    if (tw_codegen_compile(codegen, tree, level, &info, &code, &error)) fail_msg("compile: %s", error.message);
    assert_int_equal(info.abi, TW_KERNEL_ABI);
    assert_int_equal(info.arg_count, s->layout.count);
    kernel_load(out, &info, code.data);
    tw_bytes_free(&code);
    tw_arena_free(&arena);
}

static inline int32_t subject_run(subject *s, const kernel *k, uint8_t *memory, uint64_t size, int64_t first, int64_t last)
{
    tw_kernel_env env = {.memory = memory, .memory_size = size, .args = s->args, .outputs = s->outputs, .stop = &s->stop,
                         .thread = 0, .threads = 1};
    return k->entry(&env, first, last);
}

/* Several threads make the same call together. */
typedef struct team {
    pthread_barrier_t barrier;
    subject *s;
    const kernel *k;
    uint8_t *memory;
    uint32_t threads;
} team;

typedef struct member {
    team *team;
    uint32_t index;
    int32_t result;
} member;

static inline int32_t team_meet(void *context)
{
    pthread_barrier_wait(&((team *)context)->barrier);
    return 0;
}

static inline void *team_join(void *context)
{
    member *m = context;
    team *t = m->team;
    tw_kernel_env env = {.memory = t->memory, .memory_size = MEMORY_BYTES, .args = t->s->args, .outputs = t->s->outputs,
                         .stop = &t->s->stop, .thread = m->index, .threads = t->threads, .meet = team_meet, .context = t};
    m->result = t->k->entry(&env, 0, t->s->iterations);
    return NULL;
}

/* At most 8 threads; DONE, or what one of them answered instead. */
static inline int32_t subject_run_team(subject *s, const kernel *k, uint8_t *memory, uint32_t threads)
{
    team t = {.s = s, .k = k, .memory = memory, .threads = threads};
    member members[8];
    pthread_t ids[8];
    int32_t result = TW_KERNEL_DONE;
    pthread_barrier_init(&t.barrier, NULL, threads);
    for (uint32_t i = 0; i < threads; i++) {
        members[i] = (member){&t, i, -1};
        assert_int_equal(pthread_create(&ids[i], NULL, team_join, &members[i]), 0);
    }
    for (uint32_t i = 0; i < threads; i++) {
        pthread_join(ids[i], NULL);
        if (members[i].result != TW_KERNEL_DONE) result = members[i].result;
    }
    pthread_barrier_destroy(&t.barrier);
    return result;
}

static inline void subject_interpret(subject *s, uint8_t *memory, uint64_t size, uint64_t shuffle)
{
    tw_error error = {.message = ""};
    tw_interp in = {.model = s->model, .layout = &s->layout, .args = s->args, .memory = memory, .memory_size = size,
                    .outputs = s->outputs, .canonical_nan = s->facts.canonical_nan, .facts = &s->facts, .shuffle = shuffle};
    if (tw_model_run(&in, 0, s->iterations, &error)) fail_msg("interpreter: %s", error.message);
}

static inline uint64_t f64_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, 8);
    return bits;
}

static inline uint64_t f32_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits;
}

static inline uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Doubles, floats or plain bytes all over; no NaN. */
static inline void fill_f64(uint8_t *memory, uint64_t seed)
{
    for (size_t i = 0; i + 8 <= MEMORY_BYTES; i += 8) {
        double value = (double)(int64_t)(random_next(&seed) >> 20) / 1e9 - 3000;
        memcpy(memory + i, &value, 8);
    }
}

static inline void fill_f32(uint8_t *memory, uint64_t seed)
{
    for (size_t i = 0; i + 4 <= MEMORY_BYTES; i += 4) {
        float value = (float)(int32_t)(random_next(&seed) >> 33) / 1e6f - 300;
        memcpy(memory + i, &value, 4);
    }
}

static inline void fill_bytes(uint8_t *memory, uint64_t seed)
{
    for (size_t i = 0; i + 8 <= MEMORY_BYTES; i += 8) {
        uint64_t bits = random_next(&seed);
        memcpy(memory + i, &bits, 8);
    }
}

static inline void assert_same_memory(const uint8_t *got, const uint8_t *expected, const char *what)
{
    for (size_t i = 0; i < MEMORY_BYTES; i++)
        if (got[i] != expected[i]) fail_msg("%s: byte %zu is %02x, not %02x", what, i, got[i], expected[i]);
}

#endif
