/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MEMORY_SLOT_H
#define TW_MEMORY_SLOT_H

/* Where a linear memory lives: reserved address space, of which the first `size` bytes are there.
 *
 *     base                base + size                    base + reserved        + guard
 *      | readable, writable  | PROT_NONE: grow opens it     | PROT_NONE, for ever  |
 *
 * With 4 GiB reserved and 32 MiB of guard no 32-bit address plus offset can leave the slot, and the engine compiles
 * no bounds checks. Where that much address space can't be had (ulimit -v), slots are small and guests carry checks:
 * tw_slot_layout says which, once for the process. What slots take is charged to budgets (memory/budget.h).
 *
 * A slot serves one instance at a time and goes back to a free list afterwards, zeroed; it isn't unmapped. Stopping a guest takes the live
 * bytes away: the next access of guest code traps, and the fault of host code (a memory.fill, a WASI call) is served,
 * after which the stopper closes the slot again. All state changes are made under the slot's lock:
 *
 *     enter ── running ──► close ── running, closed ──► leave: opened again
 *
 * The lock is also taken by grow, so that a memory that grows while it is being closed stays closed. */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "memory/account.h"
#include "memory/image.h"

typedef struct tw_slot_layout {
    size_t reserved; /* bytes a slot reserves at least */
    size_t guard;    /* and behind them */
    bool full;       /* 4 GiB + 32 MiB: no bounds checks needed */
} tw_slot_layout;

/* Probes once what this process may reserve: two memories of 4 GiB (a guest's, and a private one to stop it) and some for
 * everything else. Later calls give the same answer. */
tw_slot_layout tw_slot_probe(void);

/* What memory/reset.c remembers: no other pages than these are private, unless a page fault has happened since. */
enum { TW_KNOWN_RUNS = 128 };
typedef struct tw_known_pages {
    bool valid;
    uint64_t faults; /* of the process, before the pages were looked for */
    uint32_t pages, count;
    struct { uint32_t first, pages; } runs[TW_KNOWN_RUNS];
} tw_known_pages;

typedef struct tw_slot {
    uint8_t *base;
    _Atomic size_t size;  /* live bytes; written by the owner's thread only, under the lock */
    size_t reserved, guard;
    size_t most;          /* bytes that it may grow to, <= reserved */
    bool lent;            /* a host's: instances use it in turns, and it isn't given back when one ends */
    size_t opened;        /* bytes from base with access rights, >= size; what was open before is zero */
    pthread_mutex_t lock;
    uint64_t generation;  /* counts owners: a stopper that comes late finds another number */
    bool running;
    atomic_bool closed;   /* written under the lock */
    atomic_bool served;   /* a fault of host code opened pages of a closed slot */
    atomic_bool lost;     /* a page's file was gone: who read it got a trap or zeros. The memory isn't what it was */
    tw_image *image;      /* whose contents it began with; NULL: none */
    bool image_mapped;    /* … and it is charged for that */
    tw_known_pages *known; /* NULL: nothing. A slot that has some doesn't get huge pages, and isn't used again by others */
    tw_account *account;  /* that its live bytes are charged to; NULL: nobody's */
    struct tw_slot *next;
} tw_slot;

/* A zeroed slot of `size` bytes with at least `reserved` (>= size) and `guard`; not running. TW_LIMIT where a budget or the
 * system has no address space, mappings or memory for it. Any thread. */
tw_status tw_slot_take(size_t size, size_t reserved, size_t guard, tw_slot **out, tw_error *error);
/* The same, charged to a tenant's account as long as it is taken: TW_LIMIT where that has a limit. */
tw_status tw_slot_take_for(tw_account *account, size_t size, size_t reserved, size_t guard, tw_slot **out, tw_error *error);
/* Back to the pool, zeroed. Not running, nobody else may hold it. */
void tw_slot_give(tw_slot *slot);

/* Makes the live size new_size (>= size, <= reserved); the base stays. TW_LIMIT when a budget or the system refuses. Owner's
 * thread. */
tw_status tw_slot_grow(tw_slot *slot, size_t new_size, tw_error *error);

/* A zeroed slot of at least the image's size gets its contents: the extents are mapped, nothing is copied. Keeps the image
 * until the slot is given back. TW_LIMIT when a budget or the system refuses: nothing has changed, or give it back. Owner's
 * thread, not running. */
tw_status tw_slot_put_image(tw_slot *slot, tw_image *image, tw_error *error);
/* The memory has these contents already, as its own: only resets look at the image. Keeps it likewise. */
void tw_slot_adopt_image(tw_slot *slot, tw_image *image);
/* For resets, likewise: the image's contents anew, without a look at what is there (a memory that holds just these keeps them
 * even where it fails); and the live size made smaller, what was beyond it given back to the system. False when the system
 * refuses. */
bool tw_slot_map_image(tw_slot *slot);
bool tw_slot_shrink(tw_slot *slot, size_t new_size);

/* Guest code is about to run, or has returned. Leave opens what close closed. Owner's thread. */
void tw_slot_enter(tw_slot *slot);
/* False when somebody else's guest runs on it. */
bool tw_slot_try_enter(tw_slot *slot);
void tw_slot_leave(tw_slot *slot);
/* Takes the pages away if `generation` still owns the slot and runs; again if a fault was served meanwhile. Any thread. */
typedef enum tw_slot_closing {
    TW_SLOT_IDLE,   /* nothing to stop */
    TW_SLOT_CLOSED,
    TW_SLOT_AGAIN,  /* closed, and host code had opened some of it since the last time */
} tw_slot_closing;
tw_slot_closing tw_slot_close(tw_slot *slot, uint64_t generation);

/* Slots kept for reuse, freed. For tests and for the end of an engine. */
void tw_slot_trim(void);

#endif
