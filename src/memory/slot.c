/* SPDX-License-Identifier: Apache-2.0 */
#include "memory/slot.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "memory/budget.h"
#include "memory/faults.h"

#define FULL_RESERVED ((size_t)1 << 32)
#define FULL_GUARD ((size_t)32 << 20)
#define SMALL_RESERVED ((size_t)256 << 20)
#define SMALL_GUARD ((size_t)64 << 10)
#define PROBE_BYTES ((size_t)4 << 10)  /* probes of the rewrite lie in the first page */
#define SERVE_BYTES ((size_t)1 << 20)  /* opened by one served fault elsewhere, that a long copy is over soon */
#define CLEAR_BYTES ((size_t)64 << 10) /* up to here memset is cheaper than madvise */
#define MAX_FREE 1024                  /* slots kept for reuse */
#define MAX_WARM 64                    /* … of them with pages, which memset has zeroed */
#define SLOT_MAPPINGS 4                /* live, beyond it, and what serving faults of a closed one cuts out */
#define PROBE_REST ((size_t)1 << 30)   /* address space for code, stacks and the heap */

static struct {
    pthread_mutex_t lock;
    tw_slot *free;
    size_t count;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint8_t *reserve(size_t bytes)
{
    void *base = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return base == MAP_FAILED ? NULL : base;
}

static tw_slot_layout layout;
static void probe(void)
{
    size_t wanted = 2 * (FULL_RESERVED + FULL_GUARD) + PROBE_REST;
    uint8_t *base = reserve(wanted);
    layout = base ? (tw_slot_layout){FULL_RESERVED, FULL_GUARD, true}
                  : (tw_slot_layout){SMALL_RESERVED, SMALL_GUARD, false};
    if (base) munmap(base, wanted);
}

tw_slot_layout tw_slot_probe(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, probe);
    return layout;
}

/* The guest traps; host code goes on with zeros, and whoever called it looks at `lost`. */
static tw_fault_verdict on_lost_page(tw_slot *slot, const tw_fault *fault)
{
    uint8_t *page = (uint8_t *)((uintptr_t)fault->address & ~(uintptr_t)(PROBE_BYTES - 1));
    atomic_store(&slot->lost, true);
    if (fault->in_guest) return TW_FAULT_PASS;
    void *mapped = mmap(page, PROBE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    return mapped == MAP_FAILED ? TW_FAULT_PASS : TW_FAULT_SERVED;
}

/* Runs in a signal handler. The lock isn't taken: opening too little or too much of a closed slot is put right by the
 * stopper's next close, or by leave. The first page is open to host code for one instruction at a time, so that the probe
 * which follows a memory.fill or an import finds it closed, however short the guest's own part of its loop is. */
static tw_fault_verdict on_fault(void *context, const tw_fault *fault)
{
    tw_slot *slot = context;
    size_t size = atomic_load(&slot->size), at = (size_t)(fault->address - slot->base);
    if (fault->after) {
        if (atomic_load(&slot->closed)) mprotect(slot->base, PROBE_BYTES, PROT_NONE);
        return TW_FAULT_SERVED;
    }
    if (fault->is_bus && at < size) return on_lost_page(slot, fault);
    if (at >= size || fault->in_guest) return TW_FAULT_PASS;
    size_t start = at < PROBE_BYTES ? 0 : at & ~(SERVE_BYTES - 1), end = at < PROBE_BYTES ? PROBE_BYTES : start + SERVE_BYTES;
    if (at >= PROBE_BYTES && start == 0) start = PROBE_BYTES;
    if (end > size) end = size;
    if (mprotect(slot->base + start, end - start, PROT_READ | PROT_WRITE)) return TW_FAULT_PASS;
    if (start == 0 && fault->can_step) return TW_FAULT_SERVED_ONCE;
    atomic_store(&slot->served, true);
    return TW_FAULT_SERVED;
}

static uint64_t mappings_of(const tw_image *image) { return 2 * (uint64_t)image->extent_count; }

static void let_go_of_image(tw_slot *slot)
{
    if (!slot->image) return;
    if (slot->image_mapped) tw_budget_give(TW_BUDGET_MAPPINGS, mappings_of(slot->image));
    tw_image_release(slot->image);
    slot->image = NULL;
    slot->image_mapped = false;
}

static void destroy(tw_slot *slot)
{
    let_go_of_image(slot);
    tw_faults_remove(slot->base);
    munmap(slot->base, slot->reserved + slot->guard);
    tw_budget_give(TW_BUDGET_ADDRESSES, slot->reserved + slot->guard);
    tw_budget_give(TW_BUDGET_MAPPINGS, SLOT_MAPPINGS);
    pthread_mutex_destroy(&slot->lock);
    free(slot->known);
    free(slot);
}

static tw_status charge(size_t bytes, tw_error *error)
{
    TW_TRY(tw_budget_take(TW_BUDGET_ADDRESSES, bytes, error));
    tw_status status = tw_budget_take(TW_BUDGET_MAPPINGS, SLOT_MAPPINGS, error);
    if (status != TW_OK) tw_budget_give(TW_BUDGET_ADDRESSES, bytes);
    return status;
}

static tw_status map(tw_slot *slot, tw_error *error)
{
    size_t bytes = slot->reserved + slot->guard;
    slot->base = reserve(bytes);
    if (!slot->base)
        return tw_fail(error, TW_LIMIT, "the system has no %zu bytes of address space for a linear memory (ulimit -v?)", bytes);
    if (tw_faults_add(slot->base, bytes, on_fault, slot)) return TW_OK;
    munmap(slot->base, bytes);
    return tw_fail_memory(error);
}

static tw_status create(size_t reserved, size_t guard, tw_slot **out, tw_error *error)
{
    tw_slot *slot = calloc(1, sizeof *slot);
    TW_TRY_ALLOC(slot, error);
    slot->reserved = reserved;
    slot->guard = guard;
    tw_status status = charge(reserved + guard, error);
    if (status == TW_OK) {
        status = map(slot, error);
        if (status == TW_OK) {
            pthread_mutex_init(&slot->lock, NULL);
            *out = slot;
            return TW_OK;
        }
        tw_budget_give(TW_BUDGET_ADDRESSES, reserved + guard);
        tw_budget_give(TW_BUDGET_MAPPINGS, SLOT_MAPPINGS);
    }
    free(slot);
    return status;
}

static tw_slot *reuse(size_t reserved, size_t guard)
{
    pthread_mutex_lock(&pool.lock);
    tw_slot **at = &pool.free;
    while (*at && ((*at)->reserved != reserved || (*at)->guard != guard)) at = &(*at)->next;
    tw_slot *slot = *at;
    if (slot) {
        *at = slot->next;
        pool.count--;
    }
    pthread_mutex_unlock(&pool.lock);
    return slot;
}

/* Access rights for exactly the first `size` bytes. */
static bool open_exactly(tw_slot *slot, size_t size)
{
    size_t opened = slot->opened;
    if (size > opened && mprotect(slot->base + opened, size - opened, PROT_READ | PROT_WRITE)) return false;
    if (size < opened && mprotect(slot->base + size, opened - size, PROT_NONE)) return false;
    slot->opened = size;
    return true;
}

static tw_status take(size_t size, size_t reserved, size_t guard, tw_slot **out, tw_error *error)
{
    tw_slot *slot = reuse(reserved, guard);
    if (!slot) TW_TRY(create(reserved, guard, &slot, error));
    if (!open_exactly(slot, size)) {
        destroy(slot);
        return tw_fail(error, TW_LIMIT, "the system has no memory for a linear memory of %zu bytes", size);
    }
    atomic_store(&slot->size, size);
    slot->most = reserved;
    slot->lent = false;
    *out = slot;
    return TW_OK;
}

/* Live bytes, of the process and of a tenant. */
static tw_status commit(tw_account *account, size_t bytes, tw_error *error)
{
    TW_TRY(tw_account_take(account, TW_ACCOUNT_MEMORIES, bytes, error));
    tw_status status = tw_budget_take(TW_BUDGET_COMMITTED, bytes, error);
    if (status != TW_OK) tw_account_give(account, TW_ACCOUNT_MEMORIES, bytes);
    return status;
}

static void uncommit(tw_account *account, size_t bytes)
{
    tw_budget_give(TW_BUDGET_COMMITTED, bytes);
    tw_account_give(account, TW_ACCOUNT_MEMORIES, bytes);
}

tw_status tw_slot_take_for(tw_account *account, size_t size, size_t reserved, size_t guard, tw_slot **out, tw_error *error)
{
    if (size > reserved) return tw_fail(error, TW_INTERNAL, "a slot of %zu bytes in a reservation of %zu", size, reserved);
    TW_TRY(commit(account, size, error));
    tw_status status = take(size, reserved, guard, out, error);
    if (status == TW_OK) (*out)->account = tw_account_hold(account);
    else uncommit(account, size);
    return status;
}

tw_status tw_slot_take(size_t size, size_t reserved, size_t guard, tw_slot **out, tw_error *error)
{
    return tw_slot_take_for(NULL, size, reserved, guard, out, error);
}

/* Changing the rights of a whole slot merges mappings, so it hardly ever fails; when it does (out of memory in the
 * kernel) the state stays as it was and the next call tries again. */
static bool protect(tw_slot *slot, int access)
{
    return !slot->opened || mprotect(slot->base, slot->opened, access) == 0;
}

static void open_again(tw_slot *slot)
{
    if (slot->closed && protect(slot, PROT_READ | PROT_WRITE)) slot->closed = false;
}

/* ---- images ---- */

static bool map_anonymous(uint8_t *at, size_t size)
{
    return !size || mmap(at, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED;
}

static bool map_extents(const tw_slot *slot, const tw_image *image)
{
    for (uint32_t i = 0; i < image->extent_count; i++) {
        const tw_extent *e = &image->extents[i];
        if (mmap(slot->base + e->at, e->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED,
                 image->files[e->file].file, (off_t)e->in_file) == MAP_FAILED)
            return false;
    }
    return true;
}

tw_status tw_slot_put_image(tw_slot *slot, tw_image *image, tw_error *error)
{
    if (slot->image || image->size > slot->opened)
        return tw_fail(error, TW_INTERNAL, "a slot of %zu bytes can't take an image of %zu", slot->opened, image->size);
    TW_TRY(tw_budget_take(TW_BUDGET_MAPPINGS, mappings_of(image), error));
    tw_image_retain(image);
    slot->image = image;
    slot->image_mapped = true; /* from now on giving it back maps all of it anew */
    if (map_extents(slot, image)) return TW_OK;
    return tw_fail(error, TW_LIMIT, "the system maps no more images of memories");
}

void tw_slot_adopt_image(tw_slot *slot, tw_image *image)
{
    tw_image_retain(image);
    slot->image = image;
}

bool tw_slot_map_image(tw_slot *slot)
{
    if (!slot->image_mapped && tw_budget_take(TW_BUDGET_MAPPINGS, mappings_of(slot->image), NULL) != TW_OK) return false;
    slot->image_mapped = true;
    size_t at = 0;
    for (uint32_t i = 0; i < slot->image->extent_count; i++) {
        const tw_extent *e = &slot->image->extents[i];
        if (e->at > at && madvise(slot->base + at, e->at - at, MADV_DONTNEED)) return false;
        at = e->at + e->size;
    }
    if (at < slot->opened && madvise(slot->base + at, slot->opened - at, MADV_DONTNEED)) return false;
    return map_extents(slot, slot->image);
}

/* Beyond the image lies anonymous memory only. */
bool tw_slot_shrink(tw_slot *slot, size_t new_size)
{
    size_t size = atomic_load(&slot->size);
    if (slot->opened > new_size && madvise(slot->base + new_size, slot->opened - new_size, MADV_DONTNEED)) return false;
    if (!open_exactly(slot, new_size)) return false;
    atomic_store(&slot->size, new_size);
    if (size > new_size) uncommit(slot->account, size - new_size);
    return true;
}

/* Whatever is mapped there becomes fresh anonymous memory. */
static bool drop_image(tw_slot *slot)
{
    bool dropped = map_anonymous(slot->base, slot->opened);
    let_go_of_image(slot);
    return dropped;
}

/* Zeroes everything that was ever open. A system that won't is answered by giving the slot up. */
static bool clear(tw_slot *slot, bool keep_pages)
{
    if (slot->image_mapped) return drop_image(slot);
    let_go_of_image(slot);
    if (keep_pages && slot->opened <= CLEAR_BYTES) memset(slot->base, 0, slot->opened);
    else return madvise(slot->base, slot->opened, MADV_DONTNEED) == 0;
    return true;
}

static size_t count_free(void)
{
    pthread_mutex_lock(&pool.lock);
    size_t count = pool.count;
    pthread_mutex_unlock(&pool.lock);
    return count;
}

static bool put_aside(tw_slot *slot)
{
    pthread_mutex_lock(&pool.lock);
    bool kept = pool.count < MAX_FREE;
    if (kept) {
        slot->next = pool.free;
        pool.free = slot;
        pool.count++;
    }
    pthread_mutex_unlock(&pool.lock);
    return kept;
}

void tw_slot_give(tw_slot *slot)
{
    pthread_mutex_lock(&slot->lock);
    slot->generation++;
    open_again(slot);
    bool usable = !slot->closed;
    slot->running = false;
    pthread_mutex_unlock(&slot->lock);
    uncommit(slot->account, atomic_load(&slot->size));
    tw_account_drop(slot->account);
    slot->account = NULL;
    usable = usable && !atomic_load(&slot->lost) && !slot->known;
    if (!usable || !clear(slot, count_free() < MAX_WARM) || !put_aside(slot)) destroy(slot);
}

/* Under the lock. */
static bool open_more(tw_slot *slot, size_t new_size)
{
    int access = slot->closed ? PROT_NONE : PROT_READ | PROT_WRITE;
    if (new_size > slot->opened && mprotect(slot->base + slot->opened, new_size - slot->opened, access)) return false;
    if (new_size > slot->opened) slot->opened = new_size;
    atomic_store(&slot->size, new_size);
    return true;
}

tw_status tw_slot_grow(tw_slot *slot, size_t new_size, tw_error *error)
{
    size_t size = atomic_load(&slot->size);
    if (new_size > slot->most)
        return tw_fail(error, TW_LIMIT, "a linear memory of %zu bytes is larger than the %zu that it may have", new_size, slot->most);
    TW_TRY(commit(slot->account, new_size - size, error));
    pthread_mutex_lock(&slot->lock);
    bool ok = open_more(slot, new_size);
    pthread_mutex_unlock(&slot->lock);
    if (ok) return TW_OK;
    uncommit(slot->account, new_size - size);
    return tw_fail(error, TW_LIMIT, "the system has no memory for a linear memory of %zu bytes", new_size);
}

void tw_slot_enter(tw_slot *slot)
{
    pthread_mutex_lock(&slot->lock);
    open_again(slot);
    slot->running = true;
    pthread_mutex_unlock(&slot->lock);
}

bool tw_slot_try_enter(tw_slot *slot)
{
    pthread_mutex_lock(&slot->lock);
    bool free = !slot->running;
    if (free) open_again(slot);
    slot->running = true;
    pthread_mutex_unlock(&slot->lock);
    return free;
}

void tw_slot_leave(tw_slot *slot)
{
    pthread_mutex_lock(&slot->lock);
    open_again(slot);
    slot->running = false;
    pthread_mutex_unlock(&slot->lock);
}

tw_slot_closing tw_slot_close(tw_slot *slot, uint64_t generation)
{
    pthread_mutex_lock(&slot->lock);
    bool ours = slot->generation == generation && slot->running;
    bool served = ours && atomic_exchange(&slot->served, false);
    if (ours && (!slot->closed || served)) slot->closed = protect(slot, PROT_NONE) || slot->closed;
    pthread_mutex_unlock(&slot->lock);
    return !ours ? TW_SLOT_IDLE : served ? TW_SLOT_AGAIN : TW_SLOT_CLOSED;
}

void tw_slot_trim(void)
{
    pthread_mutex_lock(&pool.lock);
    tw_slot *slot = pool.free;
    pool.free = NULL;
    pool.count = 0;
    pthread_mutex_unlock(&pool.lock);
    while (slot) {
        tw_slot *next = slot->next;
        destroy(slot);
        slot = next;
    }
}
