/* SPDX-License-Identifier: Apache-2.0 */
#include "memory/reset.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define PAGE ((size_t)TW_IMAGE_PAGE)
#define SMALL ((size_t)64 << 10)       /* up to here all pages are compared in the time that asking takes */
#define KEPT 64u                       /* so many private pages are kept, used or not */
#define WALKED ((size_t)16 << 20)      /* up to here a word a page is read sooner than pages are mapped anew */

/* ---- what the kernel knows of pages; declared here, since headers are often older than kernels ---- */

typedef struct page_region {
    uint64_t start, end, categories;
} page_region;

typedef struct scan_args {
    uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
    uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
} scan_args;
#define SCAN _IOWR('f', 16, scan_args)
enum { IS_FILE = 1 << 2, IS_PRESENT = 1 << 3, IS_SWAPPED = 1 << 4, IS_ZERO = 1 << 5 };
#define ENTRY_PRESENT (UINT64_C(1) << 63)
#define ENTRY_SWAPPED (UINT64_C(1) << 62)
#define ENTRY_FILE    (UINT64_C(1) << 61)

static int pagemap = -1;
static bool can_scan, can_read, can_count;

/* Page faults of this process so far. */
static uint64_t count_faults(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)usage.ru_minflt + (uint64_t)usage.ru_majflt;
}

static bool counts_a_fault(void)
{
    uint8_t *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return false;
    uint64_t before = count_faults();
    *(volatile uint8_t *)page = 1;
    bool counted = count_faults() > before;
    munmap(page, PAGE);
    return counted;
}

/* One round over [start, end): regions of private pages, and how far it came. -1 on failure. */
static int scan_once(uintptr_t start, uintptr_t end, page_region *out, size_t room, uintptr_t *reached)
{
    scan_args args = {.size = sizeof args, .start = start, .end = end, .vec = (uintptr_t)out, .vec_len = room,
                      .category_inverted = IS_FILE | IS_ZERO, .category_mask = IS_FILE | IS_ZERO,
                      .category_anyof_mask = IS_PRESENT | IS_SWAPPED, .return_mask = IS_PRESENT};
    int count = ioctl(pagemap, SCAN, &args);
    *reached = args.walk_end;
    return count;
}

static void probe(void)
{
    static const uint8_t page[2 * TW_IMAGE_PAGE];
    page_region region;
    uint64_t entry;
    uintptr_t reached, start = ((uintptr_t)page + PAGE - 1) & ~(PAGE - 1);
    pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if (pagemap < 0) return;
    can_read = pread(pagemap, &entry, sizeof entry, (off_t)(start / PAGE * sizeof entry)) == sizeof entry;
    can_scan = scan_once(start, start + PAGE, &region, 1, &reached) >= 0;
    can_count = counts_a_fault();
}

bool tw_reset_can(tw_reset_way way)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, probe);
    switch (way) {
    case TW_RESET_SCAN: return can_scan;
    case TW_RESET_RECALL: return can_scan && can_count;
    case TW_RESET_PAGEMAP: return can_read;
    default: return way < TW_RESET_WAYS;
    }
}

tw_reset_way tw_reset_choose(size_t size)
{
    if (size <= SMALL) return TW_RESET_COMPARE;
    if (tw_reset_can(TW_RESET_RECALL)) return TW_RESET_RECALL;
    if (tw_reset_can(TW_RESET_SCAN)) return TW_RESET_SCAN;
    return tw_reset_can(TW_RESET_PAGEMAP) && size <= WALKED ? TW_RESET_PAGEMAP : TW_RESET_REMAP;
}

/* ---- ways ---- */

static void restore_page(const tw_slot *slot, size_t at)
{
    const uint8_t *wanted = tw_image_page(slot->image, at);
    if (wanted) memcpy(slot->base + at, wanted, PAGE);
    else memset(slot->base + at, 0, PAGE);
}

static void restore_range(const tw_slot *slot, size_t start, size_t end)
{
    for (size_t at = start; at < end; at += PAGE) restore_page(slot, at);
}

typedef uint64_t vector __attribute__((vector_size(32), may_alias));

/* Which clone is chosen before sanitizers are set up. */
#if defined __x86_64__ && defined __GLIBC__ && !defined __clang__ && !defined __SANITIZE_THREAD__ && !defined __SANITIZE_ADDRESS__
__attribute__((target_clones("avx2", "default")))
#endif
static bool is_zero(const uint8_t *page)
{
    const vector *at = (const vector *)page, *end = (const vector *)(page + PAGE);
    vector a = {0}, b = {0}, c = {0}, d = {0};
    for (; at < end; at += 4) a |= at[0], b |= at[1], c |= at[2], d |= at[3];
    a |= b | c | d;
    return !(a[0] | a[1] | a[2] | a[3]);
}

/* How many of the pages weren't as they should be. */
static uint32_t restore_changed(const tw_slot *slot, size_t start, size_t end)
{
    uint32_t changed = 0;
    for (size_t at = start; at < end; at += PAGE) {
        const uint8_t *page = slot->base + at, *wanted = tw_image_page(slot->image, at);
        if (wanted ? !memcmp(page, wanted, PAGE) : is_zero(page)) continue;
        restore_page(slot, at);
        changed++;
    }
    return changed;
}

/* What lies between extents, then the extents. */
static bool copy(const tw_slot *slot)
{
    const tw_image *image = slot->image;
    size_t at = 0;
    for (uint32_t i = 0; i < image->extent_count; i++) {
        const tw_extent *e = &image->extents[i];
        memset(slot->base + at, 0, e->at - at);
        memcpy(slot->base + e->at, image->files[e->file].view + e->in_file, e->size);
        at = e->at + e->size;
    }
    memset(slot->base + at, 0, image->size - at);
    return true;
}

typedef void region_visit(tw_slot *slot, size_t start, size_t end);

static void restore_region(tw_slot *slot, size_t start, size_t end) { restore_range(slot, start, end); }

/* The kernel stops when the vector is full: on from where it came to, until all is walked. */
static bool scan(tw_slot *slot, region_visit *visit)
{
    enum { REGIONS = 64 };
    page_region regions[REGIONS];
    uintptr_t base = (uintptr_t)slot->base, at = base, end = base + slot->image->size;
    while (at < end) {
        uintptr_t reached;
        int count = scan_once(at, end, regions, REGIONS, &reached);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 || reached <= at) return false;
        for (int i = 0; i < count; i++) visit(slot, regions[i].start - base, regions[i].end - base);
        at = reached;
    }
    return true;
}

/* ---- recall ---- */

/* NULL: there is no memory for it. */
static tw_known_pages *known_of(tw_slot *slot)
{
    if (slot->known) return slot->known;
    if (madvise(slot->base, slot->reserved + slot->guard, MADV_NOHUGEPAGE) && errno != EINVAL) return NULL;
    return slot->known = calloc(1, sizeof *slot->known); /* EINVAL: the system has no huge pages */
}

static void note_region(tw_slot *slot, size_t start, size_t end)
{
    tw_known_pages *known = slot->known;
    known->valid &= known->count < TW_KNOWN_RUNS;
    if (!known->valid) return;
    uint32_t pages = (uint32_t)((end - start) / PAGE);
    known->runs[known->count].first = (uint32_t)(start / PAGE);
    known->runs[known->count++].pages = pages;
    known->pages += pages;
}

/* All pages are as the image again, and none is private but those of an image that isn't mapped. */
static bool give_back_pages(const tw_slot *slot)
{
    if (madvise(slot->base, slot->image->size, MADV_DONTNEED)) return false;
    for (uint32_t i = 0; i < slot->image->extent_count && !slot->image_mapped; i++)
        restore_range(slot, slot->image->extents[i].at, slot->image->extents[i].at + slot->image->extents[i].size);
    return true;
}

/* Whether more than a quarter of the pages had been changed. */
static bool restore_known(const tw_slot *slot)
{
    const tw_known_pages *known = slot->known;
    uint32_t changed = 0;
    bool counts = known->pages > KEPT;
    for (uint32_t i = 0; i < known->count; i++) {
        size_t start = known->runs[i].first * PAGE, end = start + known->runs[i].pages * PAGE;
        if (counts) changed += restore_changed(slot, start, end);
        else restore_range(slot, start, end);
    }
    return !counts || changed > known->pages / 4;
}

/* Faults are counted before the look: one that comes during it, or while pages are restored, makes the next reset look again. */
static bool recall(tw_slot *slot)
{
    tw_known_pages *known = known_of(slot);
    if (!known) return scan(slot, restore_region);
    uint64_t faults = count_faults();
    if (!known->valid || known->faults != faults) {
        *known = (tw_known_pages){.valid = true, .faults = faults};
        if (!scan(slot, note_region)) return known->valid = false;
    }
    if (known->valid && restore_known(slot)) return true;
    *known = (tw_known_pages){.valid = true, .faults = faults};
    return give_back_pages(slot);
}

static bool walk(const tw_slot *slot)
{
    enum { ENTRIES = 512 };
    uint64_t entries[ENTRIES];
    size_t pages = slot->image->size / PAGE, first = (uintptr_t)slot->base / PAGE;
    for (size_t page = 0; page < pages;) {
        size_t wanted = pages - page < ENTRIES ? pages - page : ENTRIES;
        ssize_t got = pread(pagemap, entries, wanted * sizeof *entries, (off_t)((first + page) * sizeof *entries));
        if (got < 0 && errno == EINTR) continue;
        if (got < (ssize_t)sizeof *entries) return false;
        size_t count = (size_t)got / sizeof *entries;
        for (size_t i = 0; i < count; i++)
            if (entries[i] & (ENTRY_PRESENT | ENTRY_SWAPPED) && !(entries[i] & ENTRY_FILE)) restore_page(slot, (page + i) * PAGE);
        page += count;
    }
    return true;
}

static bool compare(const tw_slot *slot)
{
    restore_changed(slot, 0, slot->image->size);
    return true;
}

/* ---- all ---- */

static bool reset_by(tw_slot *slot, tw_reset_way way)
{
    switch (way) {
    case TW_RESET_COPY: return copy(slot);
    case TW_RESET_SCAN: return scan(slot, restore_region);
    case TW_RESET_RECALL: return recall(slot);
    case TW_RESET_PAGEMAP: return walk(slot);
    case TW_RESET_COMPARE: return compare(slot);
    case TW_RESET_REMAP: return tw_slot_map_image(slot);
    default: return false;
    }
}

/* What a file that became shorter has left of an image isn't the image. */
bool tw_reset(tw_slot *slot, tw_reset_way way)
{
    if (way == TW_RESET_CHEAPEST) way = tw_reset_choose(slot->image->size);
    if (!tw_reset_can(way) || !tw_slot_shrink(slot, slot->image->size) || !reset_by(slot, way)) return false;
    return !atomic_load(&slot->lost) && !atomic_load(&slot->image->lost);
}
