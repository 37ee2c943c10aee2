/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_BASE_ARENA_H
#define TW_BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

/* Memory with one lifetime: everything allocated from an arena lives until tw_arena_free.
 * One thread at a time. A limit bounds what untrusted input can make us allocate. */
typedef struct tw_arena {
    struct tw_arena_chunk *chunks;
    uint8_t *next, *end;
    size_t used;  /* bytes handed out */
    size_t limit; /* bytes that may be handed out */
} tw_arena;

#define TW_ARENA_NO_LIMIT SIZE_MAX

void tw_arena_init(tw_arena *arena, size_t limit);
/* Frees every allocation; the arena may be used again. */
void tw_arena_free(tw_arena *arena);

/* Zeroed, aligned to 16. NULL when out of memory or over the limit. size 0 gives a valid pointer. */
void *tw_arena_alloc(tw_arena *arena, size_t size);
/* count * size, checked. */
void *tw_arena_array(tw_arena *arena, size_t count, size_t size);
/* A copy of length bytes with a NUL after them. */
char *tw_arena_string(tw_arena *arena, const char *bytes, size_t length);
char *tw_arena_printf(tw_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#define TW_NEW(arena, type) ((type *)tw_arena_alloc((arena), sizeof(type)))
#define TW_NEW_ARRAY(arena, type, count) ((type *)tw_arena_array((arena), (count), sizeof(type)))

/* Makes room for one more in an arena-backed growing array: (items, count, capacity) are lvalues.
 * Evaluates to 1, or 0 when out of memory (the array is then unchanged). The old copy stays in the
 * arena: growth by doubling bounds the waste by the final size. */
#define TW_ARENA_GROW(arena, items, count, capacity)                                               \
    ((count) < (capacity) ||                                                                       \
     tw_arena_grow_((arena), (void **)&(items), (count), &(capacity), sizeof *(items)))
int tw_arena_grow_(tw_arena *arena, void **items, size_t count, uint32_t *capacity, size_t size);

#endif
