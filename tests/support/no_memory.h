/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_NO_MEMORY_H
#define TW_TEST_NO_MEMORY_H

/* The program's malloc, which fails where a test says: libraries that are linked or loaded use it, too. Not under sanitizers,
 * which have their own (NO_MEMORY_OURS is 0, and nothing ever fails). One file of a program includes this.
 *
 *     for (long n = 0; !no_memory_over(status); n++) {
 *         no_memory_at(n);              the n-th allocation from here on fails, counted from 0
 *         status = …;
 *     }
 *
 * A program with the engine in it defines NO_MEMORY_BELOW, an address in front of which our own code lies: only allocations from
 * there fail, on the thread that said so, and only they are counted as blocks. The engine aborts where it has no memory.
 *
 * And how much of it is in use: no_memory_most, since no_memory_measure.
 */

#include <stdatomic.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <malloc.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define NO_MEMORY_OURS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define NO_MEMORY_OURS 0
#endif
#endif
#ifndef NO_MEMORY_OURS
#define NO_MEMORY_OURS 1
#endif

static atomic_long no_memory_left = -1; /* allocations until one fails; -1 = none does */
static atomic_long no_memory_failed;    /* since no_memory_at */
static atomic_long no_memory_blocks;    /* that are there now */

static atomic_long no_memory_bytes, no_memory_peak;

static inline void no_memory_measure(void) { no_memory_peak = (long)no_memory_bytes; }
/* Bytes more than there were when measuring began. */
static inline long no_memory_most(long before) { return no_memory_peak - before; }

static pthread_t no_memory_thread;

static inline void no_memory_at(long at)
{
    no_memory_thread = pthread_self();
    no_memory_failed = 0;
    no_memory_left = at;
}

/* Back to plenty. Whether one has failed. */
static inline bool no_memory_ends(void)
{
    no_memory_left = -1;
    return no_memory_failed != 0;
}

#if NO_MEMORY_OURS
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void __libc_free(void *old);
#define NO_MEMORY_SHOWN __attribute__((visibility("default")))

#ifdef NO_MEMORY_BELOW
#define NO_MEMORY_COUNTS ((uintptr_t)__builtin_return_address(0) < (NO_MEMORY_BELOW) && no_memory_is_watched())
static bool no_memory_is_watched(void) { return no_memory_thread && pthread_equal(no_memory_thread, pthread_self()); }
#else
#define NO_MEMORY_COUNTS true
#endif

static bool no_memory_fails(bool counts)
{
    if (!counts || no_memory_left < 0 || no_memory_left-- > 0) return false;
    no_memory_failed++;
    return true;
}

static void *no_memory_counts(void *block)
{
    if (!block) return NULL;
    long bytes = atomic_fetch_add(&no_memory_bytes, (long)malloc_usable_size(block)) + (long)malloc_usable_size(block);
    for (long peak = no_memory_peak; bytes > peak && !atomic_compare_exchange_weak(&no_memory_peak, &peak, bytes);) {}
    return block;
}

static void no_memory_goes(void *block)
{
    if (block) no_memory_bytes -= (long)malloc_usable_size(block);
}

NO_MEMORY_SHOWN void *malloc(size_t size)
{
    bool counts = NO_MEMORY_COUNTS;
    void *block = no_memory_fails(counts) ? NULL : no_memory_counts(__libc_malloc(size));
    no_memory_blocks += counts && block;
    return block;
}

NO_MEMORY_SHOWN void *calloc(size_t count, size_t size)
{
    bool counts = NO_MEMORY_COUNTS;
    void *block = no_memory_fails(counts) ? NULL : no_memory_counts(__libc_calloc(count, size));
    no_memory_blocks += counts && block;
    return block;
}

NO_MEMORY_SHOWN void *realloc(void *old, size_t size)
{
    bool counts = NO_MEMORY_COUNTS;
    if (no_memory_fails(counts)) return NULL;
    no_memory_goes(old);
    void *block = __libc_realloc(old, size);
    no_memory_counts(block ? block : old);
    no_memory_blocks += counts && block && !old;
    return block;
}

NO_MEMORY_SHOWN void free(void *old)
{
    no_memory_blocks -= NO_MEMORY_COUNTS && old;
    no_memory_goes(old);
    __libc_free(old);
}
#endif

#endif
