/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_KCACHE_KCACHE_H
#define TW_KCACHE_KCACHE_H

/* Kernels, kept: in memory per tenant and, with a directory, on disk.
 *
 *   accepted region   a region that a tenant's instance may offload: an entry, with or without code (tw_kcache_accept)
 *   kernel            code for one request (model + facts) of one tenant by one compiler: compiling → ready | failed
 *   learned           what was measured, by region and size class
 *
 * Tenants never share an entry. Code is mapped writable, filled, then made executable: never both at once. What is read
 * from disk is authenticated with the key in the directory and compared in full; anything else is removed and rebuilt.
 * Every function may be called from any thread. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/kernel_abi.h"

typedef struct tw_kcache tw_kcache;
typedef struct tw_kernel tw_kernel;

typedef struct tw_kcache_options {
    const char *directory;   /* NULL: memory only. Made 0700 when missing, parents too */
    size_t max_bytes;        /* of code in memory; 0: 256 MiB. Kernels in use stay beyond it */
    uint64_t max_disk_bytes; /* 0: 1 GiB */
} tw_kcache_options;

/* Fails only for memory: a directory that can't be trusted or used leaves the cache without disk, and
 * tw_kcache_disk_refusal says why. */
tw_status tw_kcache_new(const tw_kcache_options *options, tw_kcache **out, tw_error *error);
tw_kcache *tw_kcache_ref(tw_kcache *cache);
/* The last one writes what was learned and frees. NULL is fine. */
void tw_kcache_unref(tw_kcache *cache);
/* NULL when the disk is in use or none was asked for; lives as long as the cache. */
const char *tw_kcache_disk_refusal(const tw_kcache *cache);

/* ---- accepted regions ---- */

typedef struct tw_region_id { uint8_t bytes[32]; } tw_region_id; /* hash of a model's text */
void tw_region_identify(const void *text, size_t size, tw_region_id *out);

/* Makes an entry unless there is one. Beyond 2^20 entries nothing is added. */
void tw_kcache_accept(tw_kcache *cache, uint64_t tenant, const tw_region_id *region);
uint64_t tw_kcache_size(tw_kcache *cache, uint64_t tenant); /* entries of one tenant */
bool tw_kcache_is_empty(tw_kcache *cache);                  /* no entry of any tenant */

typedef struct tw_kcache_stats {
    uint64_t entries;   /* accepted regions of all tenants */
    uint64_t kernels;   /* ready, in memory */
    uint64_t bytes;     /* of their code */
    uint64_t hits, misses, disk_hits, disk_rejected; /* of tw_kcache_get, since creation */
} tw_kcache_stats;
void tw_kcache_get_stats(tw_kcache *cache, tw_kcache_stats *out);

/* ---- kernels ---- */

typedef enum tw_kernel_state { TW_KERNEL_COMPILING, TW_KERNEL_READY, TW_KERNEL_FAILED } tw_kernel_state;

typedef struct tw_kcache_key {
    uint64_t tenant;
    const char *identity; /* of the compiler and its target */
    const char *request;  /* a model's text followed by its facts' */
    size_t request_size;
} tw_kcache_key;

/* A kernel's references must go before the cache's last one (a claim has its own).
 * Looks in memory, then on disk. *out is referenced, or NULL when there is none and !claim. With claim a kernel is made when
 * there is none: *claimed then says that the caller owes it code: exactly one tw_kernel_finish or tw_kernel_fail, from
 * any thread, at any time: the claim keeps kernel and cache alive until then. A failed kernel may be claimed again
 * after a while when the failure was the worker's and not the request's. */
tw_status tw_kcache_get(tw_kcache *cache, const tw_kcache_key *key, bool claim, tw_kernel **out, bool *claimed,
                        tw_error *error);
/* Copies code, maps it, wakes waiters, writes it to disk. Malformed info or code becomes a failure. */
void tw_kernel_finish(tw_kernel *kernel, const tw_kernel_info *info, const uint8_t *code);
/* status: TW_REFUSED and TW_LIMIT are the request's fault and final, others may be tried again. */
void tw_kernel_fail(tw_kernel *kernel, tw_status status, const char *reason);

void tw_kernel_unref(tw_kernel *kernel); /* NULL is fine */
tw_kernel_state tw_kernel_state_of(const tw_kernel *kernel);
/* Of a ready kernel; valid as long as the reference. */
tw_kernel_entry tw_kernel_entry_of(const tw_kernel *kernel);
const tw_kernel_info *tw_kernel_info_of(const tw_kernel *kernel);
/* Copies a failed one's reason. */
void tw_kernel_failure(const tw_kernel *kernel, char *out, size_t size);
/* Claims whose code hasn't come yet and that would go to disk: appends tenant u64, request size u64 and request of each. */
void tw_kcache_unfinished(tw_kcache *cache, tw_bytes *out);
/* Until it isn't compiling any more, *stop is set (looked at every few milliseconds), or the time is over. */
tw_kernel_state tw_kernel_wait(tw_kernel *kernel, const atomic_uint *stop, uint64_t timeout_ns);

/* ---- learned ---- */

typedef struct tw_learned {
    float original, one, many; /* nanoseconds per unit of the plan's work: original code, kernel on one thread, on many; 0: unknown */
    uint16_t threads;          /* those of `many` */
    uint16_t samples;          /* capped */
} tw_learned;

/* size_class < 64: log2 of the work. */
bool tw_kcache_recall(tw_kcache *cache, uint64_t tenant, const tw_region_id *region, uint32_t size_class, tw_learned *out);
void tw_kcache_learn(tw_kcache *cache, uint64_t tenant, const tw_region_id *region, uint32_t size_class,
                     const tw_learned *learned);

#endif
