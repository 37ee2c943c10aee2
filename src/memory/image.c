/* SPDX-License-Identifier: Apache-2.0 */
#include "memory/image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "memory/budget.h"
#include "os/whole.h"

/* ---- extents ---- */

static bool is_zero(const uint8_t *page)
{
    static const uint8_t zero[TW_IMAGE_PAGE];
    return memcmp(page, zero, sizeof zero) == 0;
}

/* Room for one more: the two that lie closest together become one. */
static void join_closest(tw_image *image)
{
    uint32_t best = 0;
    size_t least = SIZE_MAX;
    tw_extent *e = image->extents;
    for (uint32_t i = 0; i + 1 < image->extent_count; i++) {
        size_t gap = e[i + 1].at - e[i].at - e[i].size;
        if (gap < least) least = gap, best = i;
    }
    e[best].size = e[best + 1].at + e[best + 1].size - e[best].at;
    memmove(e + best + 1, e + best + 2, (image->extent_count - best - 2) * sizeof *e);
    image->extent_count--;
}

static void find_extents(tw_image *image, const uint8_t *memory)
{
    for (size_t at = 0; at < image->size; at += TW_IMAGE_PAGE) {
        if (is_zero(memory + at)) continue;
        tw_extent *last = image->extent_count ? &image->extents[image->extent_count - 1] : NULL;
        if (last && last->at + last->size == at) {
            last->size += TW_IMAGE_PAGE;
            continue;
        }
        if (image->extent_count == TW_IMAGE_EXTENTS) join_closest(image);
        image->extents[image->extent_count++] = (tw_extent){at, TW_IMAGE_PAGE, 0};
    }
    for (uint32_t i = 0; i < image->extent_count; i++) {
        image->extents[i].in_file = image->bytes;
        image->bytes += image->extents[i].size;
    }
}

/* ---- the file ---- */

static tw_status fill(tw_image *image, const uint8_t *memory, tw_error *error)
{
    image->file = memfd_create("tensorwasm-image", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (image->file < 0) return tw_fail(error, TW_IO, "no file for a memory's image: %s", strerror(errno));
    for (uint32_t i = 0; i < image->extent_count; i++)
        if (!tw_write_whole(image->file, memory + image->extents[i].at, image->extents[i].size))
            return tw_fail(error, TW_IO, "can't write a memory's image: %s", strerror(errno));
    if (fcntl(image->file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL))
        return tw_fail(error, TW_IO, "can't seal a memory's image: %s", strerror(errno));
    if (!image->bytes) return TW_OK;
    void *view = mmap(NULL, image->bytes, PROT_READ, MAP_PRIVATE, image->file, 0);
    if (view == MAP_FAILED) return tw_fail(error, TW_LIMIT, "can't map a memory's image of %zu bytes", image->bytes);
    image->view = view;
    return TW_OK;
}

static void destroy(tw_image *image)
{
    if (image->view) munmap((void *)image->view, image->bytes);
    if (image->file >= 0) close(image->file);
    tw_budget_give(TW_BUDGET_COMMITTED, image->bytes);
    tw_account_give(image->account, TW_ACCOUNT_IMAGES, image->bytes);
    tw_account_drop(image->account);
    free(image);
}

tw_status tw_image_new(const uint8_t *memory, size_t size, tw_image **out, tw_error *error)
{
    if (size % TW_IMAGE_PAGE) return tw_fail(error, TW_INTERNAL, "an image of %zu bytes, which are no whole pages", size);
    tw_image *image = calloc(1, sizeof *image);
    TW_TRY_ALLOC(image, error);
    atomic_init(&image->references, 1);
    image->file = -1;
    image->size = size;
    find_extents(image, memory);
    tw_status status = tw_budget_take(TW_BUDGET_COMMITTED, image->bytes, error);
    if (status != TW_OK) {
        free(image);
        return status;
    }
    status = fill(image, memory, error);
    if (status == TW_OK) *out = image;
    else destroy(image);
    return status;
}

tw_status tw_image_charge(tw_image *image, tw_account *account, tw_error *error)
{
    TW_TRY(tw_account_take(account, TW_ACCOUNT_IMAGES, image->bytes, error));
    image->account = tw_account_hold(account);
    return TW_OK;
}

void tw_image_retain(tw_image *image) { atomic_fetch_add(&image->references, 1); }

void tw_image_release(tw_image *image)
{
    if (image && atomic_fetch_sub(&image->references, 1) == 1) destroy(image);
}

const uint8_t *tw_image_page(const tw_image *image, size_t at)
{
    for (uint32_t i = 0; i < image->extent_count; i++) {
        const tw_extent *e = &image->extents[i];
        if (at >= e->at && at - e->at < e->size) return image->view + e->in_file + (at - e->at);
    }
    return NULL;
}
