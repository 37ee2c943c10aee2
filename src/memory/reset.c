/* SPDX-License-Identifier: Apache-2.0 */
#include "memory/reset.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE ((size_t)TW_IMAGE_PAGE)
#define SMALL ((size_t)256 << 10)      /* up to here all pages are copied in the time that asking takes */
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
static bool can_scan, can_read;

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
}

bool tw_reset_can(tw_reset_way way)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, probe);
    return way == TW_RESET_SCAN ? can_scan : way == TW_RESET_PAGEMAP ? can_read : way < TW_RESET_WAYS;
}

tw_reset_way tw_reset_choose(size_t size)
{
    if (size <= SMALL) return TW_RESET_COPY;
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

/* What lies between extents, then the extents. */
static bool copy(const tw_slot *slot)
{
    const tw_image *image = slot->image;
    size_t at = 0;
    for (uint32_t i = 0; i < image->extent_count; i++) {
        const tw_extent *e = &image->extents[i];
        memset(slot->base + at, 0, e->at - at);
        memcpy(slot->base + e->at, image->view + e->in_file, e->size);
        at = e->at + e->size;
    }
    memset(slot->base + at, 0, image->size - at);
    return true;
}

/* The kernel stops when the vector is full: on from where it came to, until all is walked. */
static bool scan(const tw_slot *slot)
{
    enum { REGIONS = 64 };
    page_region regions[REGIONS];
    uintptr_t base = (uintptr_t)slot->base, at = base, end = base + slot->image->size;
    while (at < end) {
        uintptr_t reached;
        int count = scan_once(at, end, regions, REGIONS, &reached);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 || reached <= at) return false;
        for (int i = 0; i < count; i++) restore_range(slot, regions[i].start - base, regions[i].end - base);
        at = reached;
    }
    return true;
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
    static const uint8_t zero[TW_IMAGE_PAGE];
    for (size_t at = 0; at < slot->image->size; at += PAGE) {
        const uint8_t *wanted = tw_image_page(slot->image, at);
        if (memcmp(slot->base + at, wanted ? wanted : zero, PAGE)) restore_page(slot, at);
    }
    return true;
}

/* ---- all ---- */

bool tw_reset(tw_slot *slot, tw_reset_way way)
{
    if (way == TW_RESET_CHEAPEST) way = tw_reset_choose(slot->image->size);
    if (!tw_reset_can(way) || !tw_slot_shrink(slot, slot->image->size)) return false;
    switch (way) {
    case TW_RESET_COPY: return copy(slot);
    case TW_RESET_SCAN: return scan(slot);
    case TW_RESET_PAGEMAP: return walk(slot);
    case TW_RESET_COMPARE: return compare(slot);
    case TW_RESET_REMAP: return tw_slot_map_image(slot);
    default: return false;
    }
}
