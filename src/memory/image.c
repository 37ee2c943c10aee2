/* SPDX-License-Identifier: Apache-2.0 */
#include "memory/image.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "memory/budget.h"
#include "memory/faults.h"
#include "os/whole.h"

/* ---- extents ---- */

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
        if (tw_is_zero(memory + at, TW_IMAGE_PAGE)) continue;
        tw_extent *last = image->extent_count ? &image->extents[image->extent_count - 1] : NULL;
        if (last && last->at + last->size == at) {
            last->size += TW_IMAGE_PAGE;
            continue;
        }
        if (image->extent_count == TW_IMAGE_EXTENTS) join_closest(image);
        image->extents[image->extent_count++] = (tw_extent){at, TW_IMAGE_PAGE, 0, 0};
    }
    for (uint32_t i = 0; i < image->extent_count; i++) {
        image->extents[i].in_file = image->bytes;
        image->bytes += image->extents[i].size;
    }
}

/* ---- the file ---- */

static tw_status fill(tw_image *image, const uint8_t *memory, tw_error *error)
{
    tw_image_file *f = &image->files[0];
    f->file = memfd_create("tensorwasm-image", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (f->file < 0) return tw_fail(error, TW_IO, "no file for a memory's image: %s", strerror(errno));
    for (uint32_t i = 0; i < image->extent_count; i++)
        if (!tw_write_whole(f->file, memory + image->extents[i].at, image->extents[i].size))
            return tw_fail(error, TW_IO, "can't write a memory's image: %s", strerror(errno));
    image->file_count = 1;
    f->bytes = image->bytes;
    if (fcntl(f->file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL))
        return tw_fail(error, TW_IO, "can't seal a memory's image: %s", strerror(errno));
    if (!image->bytes) return TW_OK;
    void *view = mmap(NULL, f->bytes, PROT_READ, MAP_PRIVATE, f->file, 0);
    if (view == MAP_FAILED) return tw_fail(error, TW_LIMIT, "can't map a memory's image of %zu bytes", image->bytes);
    f->view = view;
    return TW_OK;
}

static void destroy(tw_image *image)
{
    for (uint32_t i = 0; i < TW_IMAGE_FILES; i++) {
        tw_image_file *f = &image->files[i];
        if (f->view && image->foreign) tw_faults_remove(f->view);
        if (f->view) munmap((void *)f->view, f->bytes);
        if (f->file >= 0) close(f->file);
    }
    tw_budget_give(TW_BUDGET_COMMITTED, image->charged);
    tw_account_give(image->account, TW_ACCOUNT_IMAGES, image->charged);
    tw_account_drop(image->account);
    free(image->extents);
    free(image);
}

static tw_image *create(size_t size, uint32_t most_extents)
{
    tw_image *image = calloc(1, sizeof *image);
    tw_extent *extents = calloc((size_t)most_extents + 1, sizeof *extents);
    if (!image || !extents) {
        free(image);
        free(extents);
        return NULL;
    }
    atomic_init(&image->references, 1);
    for (uint32_t i = 0; i < TW_IMAGE_FILES; i++) image->files[i].file = -1;
    image->size = size;
    image->extents = extents;
    return image;
}

tw_status tw_image_new(const uint8_t *memory, size_t size, tw_image **out, tw_error *error)
{
    tw_image *image = create(size, TW_IMAGE_EXTENTS);
    TW_TRY_ALLOC(image, error);
    find_extents(image, memory);
    tw_status status = tw_budget_take(TW_BUDGET_COMMITTED, image->bytes, error);
    if (status == TW_OK) {
        image->charged = image->bytes;
        status = fill(image, memory, error);
    }
    if (status == TW_OK) *out = image;
    else destroy(image);
    return status;
}

tw_status tw_image_charge(tw_image *image, tw_account *account, tw_error *error)
{
    TW_TRY(tw_account_take(account, TW_ACCOUNT_IMAGES, image->charged, error));
    image->account = tw_account_hold(account);
    return TW_OK;
}

/* ---- of files that others have, too ---- */

static bool keep_file(tw_image *image, int file)
{
    struct stat about;
    tw_image_file *f = &image->files[image->file_count++];
    f->file = fcntl(file, F_DUPFD_CLOEXEC, 0);
    if (f->file < 0 || fstat(f->file, &about)) return false;
    f->bytes = (size_t)about.st_size;
    image->bytes += f->bytes;
    return true;
}

tw_status tw_image_of_files(const int *files, uint32_t file_count, size_t size, const tw_extent *extents, uint32_t count, tw_image **out,
                            tw_error *error)
{
    if (file_count > TW_IMAGE_FILES) return tw_fail(error, TW_INTERNAL, "a memory's image of %" PRIu32 " files", file_count);
    tw_image *image = create(size, count);
    TW_TRY_ALLOC(image, error);
    image->foreign = true;
    if (count) memcpy(image->extents, extents, count * sizeof *extents);
    image->extent_count = count;
    for (uint32_t i = 0; i < file_count; i++) {
        if (keep_file(image, files[i])) continue;
        int failed = errno;
        destroy(image);
        return tw_fail(error, TW_IO, "can't keep a memory's image open: %s", strerror(failed));
    }
    *out = image;
    return TW_OK;
}

/* Pages are looked at first: those that nobody has touched needn't become real. */
static void make_zero(uint8_t *memory, size_t from, size_t to)
{
    for (size_t at = from; at < to; at += TW_IMAGE_PAGE)
        if (!tw_is_zero(memory + at, TW_IMAGE_PAGE)) memset(memory + at, 0, TW_IMAGE_PAGE);
}

static bool read_at(int file, uint8_t *to, size_t size, size_t at)
{
    errno = 0;
    while (size) {
        ssize_t got = pread(file, to, size, (off_t)at);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        to += got, at += (size_t)got, size -= (size_t)got;
    }
    return true;
}

tw_status tw_image_copy(const tw_image *image, uint8_t *memory, tw_error *error)
{
    size_t at = 0;
    for (uint32_t i = 0; i < image->extent_count; i++) {
        const tw_extent *e = &image->extents[i];
        make_zero(memory, at, e->at);
        at = e->at + e->size;
        if (!read_at(image->files[e->file].file, memory + e->at, e->size, e->in_file))
            return tw_fail(error, TW_IO, "a file of a memory's image can't be read, or has become shorter: %s", errno ? strerror(errno) : "end of file");
    }
    make_zero(memory, at, image->size);
    return TW_OK;
}

/* In a signal handler. */
static tw_fault_verdict on_lost_view(void *context, const tw_fault *fault)
{
    tw_image *image = context;
    void *page = (void *)((uintptr_t)fault->address & ~(uintptr_t)(TW_IMAGE_PAGE - 1));
    if (!fault->is_bus) return TW_FAULT_PASS;
    atomic_store(&image->lost, true);
    bool mapped = mmap(page, TW_IMAGE_PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
    return mapped ? TW_FAULT_SERVED : TW_FAULT_PASS;
}

static tw_status view_file(tw_image *image, tw_image_file *f, tw_error *error)
{
    if (f->view || !f->bytes) return TW_OK;
    void *view = mmap(NULL, f->bytes, PROT_READ, MAP_PRIVATE, f->file, 0);
    if (view == MAP_FAILED) return tw_fail(error, TW_LIMIT, "can't map a memory's image of %zu bytes", f->bytes);
    if (!tw_faults_add(view, f->bytes, on_lost_view, image)) {
        munmap(view, f->bytes);
        return tw_fail_memory(error);
    }
    f->view = view;
    return TW_OK;
}

/* A file that has become shorter since its extents were found has no pages to be viewed behind its end. */
static bool holds_extents(const tw_image *image)
{
    for (uint32_t i = 0; i < image->extent_count; i++) {
        const tw_extent *e = &image->extents[i];
        if (image->files[e->file].bytes < e->in_file + e->size) return false;
    }
    return true;
}

tw_status tw_image_make_readable(tw_image *image, tw_error *error)
{
    if (!image->extent_count) return TW_OK;
    if (!holds_extents(image)) return tw_fail(error, TW_IO, "a file that a memory is mapped from has become shorter");
    for (uint32_t i = 0; i < image->file_count; i++) TW_TRY(view_file(image, &image->files[i], error));
    return TW_OK;
}

void tw_image_retain(tw_image *image) { atomic_fetch_add(&image->references, 1); }

void tw_image_release(tw_image *image)
{
    if (image && atomic_fetch_sub(&image->references, 1) == 1) destroy(image);
}

const uint8_t *tw_image_page(const tw_image *image, size_t at)
{
    uint32_t low = 0, high = image->extent_count; /* the first extent that begins behind it */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (image->extents[middle].at <= at) low = middle + 1;
        else high = middle;
    }
    if (!low) return NULL;
    const tw_extent *e = &image->extents[low - 1];
    return at - e->at < e->size ? image->files[e->file].view + e->in_file + (at - e->at) : NULL;
}
