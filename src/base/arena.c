/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Chunks grow with what has been handed out: there may be thousands of small arenas. */
enum { ALIGNMENT = 16, LEAST_CHUNK = 4 * 1024, MOST_CHUNK = 64 * 1024 };

struct tw_arena_chunk {
    struct tw_arena_chunk *previous;
    size_t size;
    _Alignas(ALIGNMENT) uint8_t bytes[];
};

void tw_arena_init(tw_arena *arena, size_t limit)
{
    *arena = (tw_arena){.limit = limit};
}

void tw_arena_free(tw_arena *arena)
{
    struct tw_arena_chunk *chunk = arena->chunks;
    while (chunk) {
        struct tw_arena_chunk *previous = chunk->previous;
        free(chunk);
        chunk = previous;
    }
    tw_arena_init(arena, arena->limit);
}

void *tw_arena_alloc(tw_arena *arena, size_t size)
{
    if (size > SIZE_MAX - ALIGNMENT) return NULL;
    size = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    if (size > arena->limit - arena->used) return NULL;
    if (!arena->next || size > (size_t)(arena->end - arena->next)) {
        size_t want = arena->used < LEAST_CHUNK ? LEAST_CHUNK : arena->used > MOST_CHUNK ? MOST_CHUNK : arena->used;
        if (want < size) want = size;
        if (want > SIZE_MAX - sizeof(struct tw_arena_chunk)) return NULL;
        struct tw_arena_chunk *chunk = calloc(1, sizeof *chunk + want);
        if (!chunk) return NULL;
        chunk->size = want;
        chunk->previous = arena->chunks;
        arena->chunks = chunk;
        arena->next = chunk->bytes;
        arena->end = chunk->bytes + want;
    }
    void *result = arena->next;
    arena->next += size;
    arena->used += size;
    return result;
}

void *tw_arena_array(tw_arena *arena, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) return NULL;
    return tw_arena_alloc(arena, bytes);
}

char *tw_arena_string(tw_arena *arena, const char *bytes, size_t length)
{
    if (length == SIZE_MAX) return NULL;
    char *copy = tw_arena_alloc(arena, length + 1);
    if (copy && length) memcpy(copy, bytes, length);
    return copy;
}

char *tw_arena_printf(tw_arena *arena, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = length < 0 ? NULL : tw_arena_alloc(arena, (size_t)length + 1);
    if (text) vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

int tw_arena_grow_(tw_arena *arena, void **items, size_t count, uint32_t *capacity, size_t size)
{
    uint32_t wanted = *capacity ? *capacity : 4;
    if (*capacity) {
        if (*capacity > UINT32_MAX / 2) return 0;
        wanted = *capacity * 2;
    }
    void *grown = tw_arena_array(arena, wanted, size);
    if (!grown) return 0;
    if (count) memcpy(grown, *items, count * size);
    *items = grown;
    *capacity = wanted;
    return 1;
}
