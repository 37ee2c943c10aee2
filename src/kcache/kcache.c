/* SPDX-License-Identifier: Apache-2.0
 * A kernel is found by a hash of (tenant, ABI, compiler, request) and then compared in full, in memory as on disk: a
 * collision costs a recompilation and nothing else. References: the table has one, every caller of tw_kcache_get has one,
 * and a claim has one of its own (and one of the cache), so that a compilation may outlive whoever asked for it. */
#include "kcache/kcache.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sodium.h>

#include "kcache/accepted.h"
#include "kcache/code.h"
#include "kcache/disk.h"
#include "kcache/learned.h"
#include "os/clock.h"

enum { BUCKETS = 1024, MAX_KERNELS = 1 << 16, MAX_REQUEST = 16 << 20, HASH = 32, RETRY_NS = 2000000000, REASON = 512 };

struct tw_kernel {
    atomic_uint refs;
    atomic_int state; /* tw_kernel_state */
    tw_kcache *cache; /* outlives the references */
    tw_kernel *next;  /* in the bucket; lock held */
    uint64_t used;    /* order of the last use; lock held */
    uint64_t retry_at;/* of a failure that wasn't the request's fault; 0: never; lock held */
    uint8_t hash[HASH];
    uint64_t tenant;
    char *identity, *request;
    size_t request_size;
    tw_kernel_info info;
    tw_code code;
    char failure[REASON]; /* lock held */
};

struct tw_kcache {
    atomic_uint refs;
    size_t max_bytes;
    tw_disk *disk;
    char refusal[REASON]; /* why there is no disk; empty otherwise */
    pthread_mutex_t lock; /* everything below */
    pthread_cond_t settled;
    tw_kernel *buckets[BUCKETS];
    uint32_t kernel_count; /* in all states */
    uint64_t clock;
    tw_accepted accepted;
    tw_lessons lessons;
    tw_kcache_stats stats;
};

/* ---- life ---- */

static void init_locks(tw_kcache *cache)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&cache->settled, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&cache->lock, NULL);
}

static void open_disk(tw_kcache *cache, const tw_kcache_options *options)
{
    char reason[256];
    cache->disk = tw_disk_open(options->directory, options->max_disk_bytes ? options->max_disk_bytes : UINT64_C(1) << 30,
                               reason, sizeof reason);
    if (cache->disk) tw_lessons_load(&cache->lessons, cache->disk);
    else snprintf(cache->refusal, sizeof cache->refusal, "no kernels on disk in %.200s: %s", options->directory, reason);
}

tw_status tw_kcache_new(const tw_kcache_options *options, tw_kcache **out, tw_error *error)
{
    if (sodium_init() < 0) return tw_fail(error, TW_INTERNAL, "libsodium doesn't start");
    tw_kcache *cache = calloc(1, sizeof *cache);
    TW_TRY_ALLOC(cache, error);
    atomic_init(&cache->refs, 1);
    cache->max_bytes = options->max_bytes ? options->max_bytes : (size_t)256 << 20;
    init_locks(cache);
    if (options->directory) open_disk(cache, options);
    *out = cache;
    return TW_OK;
}

tw_kcache *tw_kcache_ref(tw_kcache *cache)
{
    atomic_fetch_add(&cache->refs, 1);
    return cache;
}

void tw_kcache_unref(tw_kcache *cache)
{
    if (!cache || atomic_fetch_sub(&cache->refs, 1) != 1) return;
    if (cache->disk && cache->lessons.changed) tw_lessons_save(&cache->lessons, cache->disk);
    for (int i = 0; i < BUCKETS; i++)
        for (tw_kernel *kernel = cache->buckets[i], *next; kernel; kernel = next) {
            next = kernel->next;
            tw_kernel_unref(kernel);
        }
    tw_disk_close(cache->disk);
    tw_accepted_free(&cache->accepted);
    tw_lessons_free(&cache->lessons);
    pthread_cond_destroy(&cache->settled);
    pthread_mutex_destroy(&cache->lock);
    free(cache);
}

const char *tw_kcache_disk_refusal(const tw_kcache *cache)
{
    return cache->refusal[0] ? cache->refusal : NULL;
}

/* ---- accepted regions ---- */

void tw_region_identify(const void *text, size_t size, tw_region_id *out)
{
    crypto_generichash(out->bytes, sizeof out->bytes, text, size, NULL, 0);
}

void tw_kcache_accept(tw_kcache *cache, uint64_t tenant, const tw_region_id *region)
{
    pthread_mutex_lock(&cache->lock);
    tw_accepted_add(&cache->accepted, tenant, region);
    pthread_mutex_unlock(&cache->lock);
}

uint64_t tw_kcache_size(tw_kcache *cache, uint64_t tenant)
{
    pthread_mutex_lock(&cache->lock);
    uint64_t count = tw_accepted_count(&cache->accepted, tenant);
    pthread_mutex_unlock(&cache->lock);
    return count;
}

bool tw_kcache_is_empty(tw_kcache *cache)
{
    pthread_mutex_lock(&cache->lock);
    bool empty = !cache->accepted.count;
    pthread_mutex_unlock(&cache->lock);
    return empty;
}

void tw_kcache_get_stats(tw_kcache *cache, tw_kcache_stats *out)
{
    pthread_mutex_lock(&cache->lock);
    *out = cache->stats;
    out->entries = cache->accepted.count;
    pthread_mutex_unlock(&cache->lock);
}

/* ---- kernels ---- */

static void hash_key(const tw_kcache_key *key, uint8_t hash[HASH])
{
    uint32_t abi = TW_KERNEL_ABI;
    crypto_generichash_state state;
    crypto_generichash_init(&state, NULL, 0, HASH);
    crypto_generichash_update(&state, (const uint8_t *)&key->tenant, sizeof key->tenant);
    crypto_generichash_update(&state, (const uint8_t *)&abi, sizeof abi);
    crypto_generichash_update(&state, (const uint8_t *)key->identity, strlen(key->identity) + 1);
    crypto_generichash_update(&state, (const uint8_t *)key->request, key->request_size);
    crypto_generichash_final(&state, hash, HASH);
}

static bool same_key(const tw_kernel *kernel, const tw_kcache_key *key)
{
    return kernel->tenant == key->tenant && kernel->request_size == key->request_size &&
           !memcmp(kernel->request, key->request, key->request_size) && !strcmp(kernel->identity, key->identity);
}

static tw_kernel *kernel_new(tw_kcache *cache, const tw_kcache_key *key, const uint8_t hash[HASH])
{
    tw_kernel *kernel = calloc(1, sizeof *kernel);
    if (!kernel) return NULL;
    atomic_init(&kernel->refs, 1);
    atomic_init(&kernel->state, TW_KERNEL_COMPILING);
    kernel->cache = cache, kernel->tenant = key->tenant;
    memcpy(kernel->hash, hash, HASH);
    kernel->identity = strdup(key->identity);
    kernel->request = malloc(key->request_size + 1);
    kernel->request_size = key->request_size;
    if (kernel->identity && kernel->request) {
        memcpy(kernel->request, key->request, key->request_size);
        return kernel;
    }
    tw_kernel_unref(kernel);
    return NULL;
}

void tw_kernel_unref(tw_kernel *kernel)
{
    if (!kernel || atomic_fetch_sub(&kernel->refs, 1) != 1) return;
    tw_code_unmap(&kernel->code);
    free(kernel->identity);
    free(kernel->request);
    free(kernel);
}

static tw_kernel **bucket_of(tw_kcache *cache, const uint8_t hash[HASH])
{
    return &cache->buckets[(hash[0] | hash[1] << 8) & (BUCKETS - 1)];
}

/* A reference, or NULL. Lock held. */
static tw_kernel *find(tw_kcache *cache, const tw_kcache_key *key, const uint8_t hash[HASH])
{
    tw_kernel *kernel = *bucket_of(cache, hash);
    while (kernel && (memcmp(kernel->hash, hash, HASH) || !same_key(kernel, key))) kernel = kernel->next;
    if (!kernel) return NULL;
    kernel->used = ++cache->clock;
    atomic_fetch_add(&kernel->refs, 1);
    return kernel;
}

/* The least recently used one that nobody but the table refers to. Lock held. */
static tw_kernel **idle(tw_kcache *cache)
{
    tw_kernel **best = NULL;
    for (int i = 0; i < BUCKETS; i++)
        for (tw_kernel **at = &cache->buckets[i]; *at; at = &(*at)->next)
            if (atomic_load(&(*at)->refs) == 1 && (!best || (*at)->used < (*best)->used)) best = at;
    return best;
}

static void make_room(tw_kcache *cache)
{
    while (cache->stats.bytes > cache->max_bytes || cache->kernel_count > MAX_KERNELS) {
        tw_kernel **at = idle(cache), *kernel = at ? *at : NULL;
        if (!kernel) return;
        *at = kernel->next;
        cache->kernel_count--;
        if (atomic_load(&kernel->state) == TW_KERNEL_READY) cache->stats.kernels--, cache->stats.bytes -= kernel->code.size;
        tw_kernel_unref(kernel);
    }
}

/* The table takes a reference of its own. Lock held. */
static void insert(tw_kcache *cache, tw_kernel *kernel)
{
    tw_kernel **bucket = bucket_of(cache, kernel->hash);
    atomic_fetch_add(&kernel->refs, 1);
    kernel->next = *bucket, kernel->used = ++cache->clock;
    *bucket = kernel;
    cache->kernel_count++;
    make_room(cache);
}

static void claim_it(tw_kcache *cache, tw_kernel *kernel, bool *claimed)
{
    atomic_fetch_add(&kernel->refs, 1);
    tw_kcache_ref(cache);
    atomic_store(&kernel->state, TW_KERNEL_COMPILING);
    *claimed = true;
}

/* ---- kernels on disk: "identity NUL request" lengths and info as little-endian words, then the bytes ---- */

static void name_of(const tw_kernel *kernel, char name[2 * HASH + 2])
{
    name[0] = 'k';
    sodium_bin2hex(name + 1, 2 * HASH + 1, kernel->hash, HASH);
}

typedef struct disk_kernel { /* natural alignment leaves no holes; the host is little-endian */
    uint64_t tenant, identity_size, request_size;
    tw_kernel_info info;
} disk_kernel;
_Static_assert(sizeof(disk_kernel) == 24 + sizeof(tw_kernel_info) && sizeof(tw_kernel_info) == 24 + 128, "no padding");

static void save(const tw_kernel *kernel, const uint8_t *code)
{
    char name[2 * HASH + 2];
    disk_kernel head = {kernel->tenant, strlen(kernel->identity), kernel->request_size, kernel->info};
    size_t size = sizeof head + head.identity_size + head.request_size + kernel->info.code_size;
    uint8_t *payload = malloc(size), *at = payload;
    if (!payload) return;
    memcpy(at, &head, sizeof head), at += sizeof head;
    memcpy(at, kernel->identity, head.identity_size), at += head.identity_size;
    memcpy(at, kernel->request, head.request_size), at += head.request_size;
    memcpy(at, code, kernel->info.code_size);
    name_of(kernel, name);
    tw_disk_write(kernel->cache->disk, name, payload, size);
    free(payload);
}

/* What follows the head when it is this kernel's, else NULL. Nothing is believed because it was authentic. */
static const uint8_t *code_of(const tw_kernel *kernel, const uint8_t *payload, size_t size, disk_kernel *head)
{
    if (size < sizeof *head) return NULL;
    memcpy(head, payload, sizeof *head);
    const uint8_t *identity = payload + sizeof *head;
    size_t left = size - sizeof *head, identity_size = strlen(kernel->identity);
    if (head->tenant != kernel->tenant || head->identity_size != identity_size || head->request_size != kernel->request_size) return NULL;
    if (left < identity_size || left - identity_size < head->request_size) return NULL;
    if (left - identity_size - head->request_size != head->info.code_size) return NULL;
    if (memcmp(identity, kernel->identity, identity_size)) return NULL;
    if (memcmp(identity + identity_size, kernel->request, head->request_size)) return NULL;
    return tw_code_check(&head->info, NULL) == TW_OK ? identity + identity_size + head->request_size : NULL;
}

static tw_disk_found load(tw_kcache *cache, tw_kernel *kernel)
{
    char name[2 * HASH + 2];
    uint8_t *payload;
    size_t size;
    name_of(kernel, name);
    tw_disk_found found = cache->disk ? tw_disk_read(cache->disk, name, &payload, &size) : TW_DISK_ABSENT;
    if (found != TW_DISK_FOUND) return found;
    disk_kernel head;
    const uint8_t *code = code_of(kernel, payload, size, &head);
    if (code && tw_code_map(&head.info, code, &kernel->code, NULL) == TW_OK) {
        kernel->info = head.info;
        atomic_store(&kernel->state, TW_KERNEL_READY);
    } else {
        tw_disk_remove(cache->disk, name);
        found = TW_DISK_REJECTED;
    }
    free(payload);
    return found;
}

/* ---- get ---- */

static bool may_retry(const tw_kernel *kernel)
{
    return atomic_load(&kernel->state) == TW_KERNEL_FAILED && kernel->retry_at && tw_clock_now() >= kernel->retry_at;
}

/* In memory. Lock held. */
static tw_kernel *get_known(tw_kcache *cache, const tw_kcache_key *key, const uint8_t hash[HASH], bool claim, bool *claimed)
{
    tw_kernel *kernel = find(cache, key, hash);
    if (!kernel) return NULL;
    cache->stats.hits += atomic_load(&kernel->state) == TW_KERNEL_READY;
    if (claim && may_retry(kernel)) claim_it(cache, kernel, claimed);
    return kernel;
}

/* fresh: looked up on disk without the lock; another thread may have been quicker. Takes over its reference. */
static tw_kernel *admit(tw_kcache *cache, const tw_kcache_key *key, tw_kernel *fresh, tw_disk_found found, bool claim, bool *claimed)
{
    pthread_mutex_lock(&cache->lock);
    cache->stats.disk_rejected += found == TW_DISK_REJECTED;
    tw_kernel *kernel = get_known(cache, key, fresh->hash, claim, claimed);
    bool ready = atomic_load(&fresh->state) == TW_KERNEL_READY;
    if (!kernel && ready) {
        cache->stats.disk_hits++, cache->stats.kernels++, cache->stats.bytes += fresh->code.size;
    } else if (!kernel) {
        cache->stats.misses++;
        if (claim) claim_it(cache, fresh, claimed);
    }
    if (!kernel && (ready || claim)) {
        insert(cache, fresh);
        kernel = fresh, fresh = NULL;
    }
    pthread_mutex_unlock(&cache->lock);
    tw_kernel_unref(fresh);
    return kernel;
}

tw_status tw_kcache_get(tw_kcache *cache, const tw_kcache_key *key, bool claim, tw_kernel **out, bool *claimed, tw_error *error)
{
    *out = NULL, *claimed = false;
    if (key->request_size > MAX_REQUEST)
        return tw_fail(error, TW_LIMIT, "a request of %zu bytes to the compiler is too long", key->request_size);
    uint8_t hash[HASH];
    hash_key(key, hash);
    pthread_mutex_lock(&cache->lock);
    *out = get_known(cache, key, hash, claim, claimed);
    pthread_mutex_unlock(&cache->lock);
    if (*out) return TW_OK;
    tw_kernel *fresh = kernel_new(cache, key, hash);
    TW_TRY_ALLOC(fresh, error);
    tw_disk_found found = load(cache, fresh);
    *out = admit(cache, key, fresh, found, claim, claimed);
    return TW_OK;
}

/* ---- the claim's end ---- */

static void settle(tw_kernel *kernel, tw_kernel_state state)
{
    tw_kcache *cache = kernel->cache;
    pthread_mutex_lock(&cache->lock);
    if (state == TW_KERNEL_READY) cache->stats.kernels++, cache->stats.bytes += kernel->code.size;
    atomic_store(&kernel->state, (int)state);
    pthread_cond_broadcast(&cache->settled);
    make_room(cache);
    pthread_mutex_unlock(&cache->lock);
}

static void end_claim(tw_kernel *kernel)
{
    tw_kcache *cache = kernel->cache;
    tw_kernel_unref(kernel);
    tw_kcache_unref(cache);
}

void tw_kernel_fail(tw_kernel *kernel, tw_status status, const char *reason)
{
    bool final = status == TW_REFUSED || status == TW_LIMIT || status == TW_UNSUPPORTED;
    pthread_mutex_lock(&kernel->cache->lock);
    snprintf(kernel->failure, sizeof kernel->failure, "%s: %s", tw_status_name(status), reason);
    kernel->retry_at = final ? 0 : tw_clock_now() + RETRY_NS;
    pthread_mutex_unlock(&kernel->cache->lock);
    settle(kernel, TW_KERNEL_FAILED);
    end_claim(kernel);
}

void tw_kernel_finish(tw_kernel *kernel, const tw_kernel_info *info, const uint8_t *code)
{
    tw_error error;
    tw_status status = tw_code_check(info, &error);
    if (status == TW_OK) status = tw_code_map(info, code, &kernel->code, &error);
    if (status != TW_OK) {
        tw_kernel_fail(kernel, status, error.message);
        return;
    }
    kernel->info = *info;
    settle(kernel, TW_KERNEL_READY);
    if (kernel->cache->disk) save(kernel, code);
    end_claim(kernel);
}

/* ---- looking at one ---- */

tw_kernel_state tw_kernel_state_of(const tw_kernel *kernel)
{
    return (tw_kernel_state)atomic_load_explicit(&kernel->state, memory_order_acquire);
}

tw_kernel_entry tw_kernel_entry_of(const tw_kernel *kernel)
{
    return (tw_kernel_entry)(uintptr_t)((uint8_t *)kernel->code.base + kernel->info.entry);
}

const tw_kernel_info *tw_kernel_info_of(const tw_kernel *kernel)
{
    return &kernel->info;
}

void tw_kernel_failure(const tw_kernel *kernel, char *out, size_t size)
{
    pthread_mutex_lock(&kernel->cache->lock);
    snprintf(out, size, "%s", kernel->failure);
    pthread_mutex_unlock(&kernel->cache->lock);
}

tw_kernel_state tw_kernel_wait(tw_kernel *kernel, const atomic_uint *stop, uint64_t timeout_ns)
{
    enum { LOOK_NS = 5000000 };
    tw_kcache *cache = kernel->cache;
    uint64_t now, end = tw_clock_after(timeout_ns);
    pthread_mutex_lock(&cache->lock);
    while (tw_kernel_state_of(kernel) == TW_KERNEL_COMPILING && !atomic_load(stop) && (now = tw_clock_now()) < end) {
        uint64_t until = end - now < LOOK_NS ? end : now + LOOK_NS;
        struct timespec time = {.tv_sec = (time_t)(until / 1000000000u), .tv_nsec = (long)(until % 1000000000u)};
        pthread_cond_timedwait(&cache->settled, &cache->lock, &time);
    }
    pthread_mutex_unlock(&cache->lock);
    return tw_kernel_state_of(kernel);
}

/* ---- learned ---- */

bool tw_kcache_recall(tw_kcache *cache, uint64_t tenant, const tw_region_id *region, uint32_t size_class, tw_learned *out)
{
    pthread_mutex_lock(&cache->lock);
    bool found = tw_lessons_get(&cache->lessons, tenant, region, size_class, out);
    pthread_mutex_unlock(&cache->lock);
    return found;
}

void tw_kcache_learn(tw_kcache *cache, uint64_t tenant, const tw_region_id *region, uint32_t size_class,
                     const tw_learned *learned)
{
    if (size_class > 63) return;
    pthread_mutex_lock(&cache->lock);
    tw_lessons_put(&cache->lessons, tenant, region, size_class, learned);
    pthread_mutex_unlock(&cache->lock);
}

/* ---- what has no code yet ---- */

static void append_request(tw_bytes *out, const tw_kernel *kernel)
{
    uint64_t size = kernel->request_size;
    tw_bytes_append(out, &kernel->tenant, sizeof kernel->tenant);
    tw_bytes_append(out, &size, sizeof size);
    tw_bytes_append(out, kernel->request, kernel->request_size);
}

void tw_kcache_unfinished(tw_kcache *cache, tw_bytes *out)
{
    if (!cache->disk) return;
    pthread_mutex_lock(&cache->lock);
    for (int i = 0; i < BUCKETS; i++)
        for (const tw_kernel *kernel = cache->buckets[i]; kernel; kernel = kernel->next)
            if (atomic_load(&kernel->state) == TW_KERNEL_COMPILING) append_request(out, kernel);
    pthread_mutex_unlock(&cache->lock);
}
