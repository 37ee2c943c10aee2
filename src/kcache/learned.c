/* SPDX-License-Identifier: Apache-2.0
 * A sorted array: a few thousand rows at most, looked up when a region meets a size class for the first time. On disk a row is
 * 8 bytes tenant, 32 region, 4 size class, 3 × 4 floats' bits, 2 threads, 2 samples, little-endian. */
#include "kcache/learned.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LESSONS = 8192, ROW = 60 };
#define FILE_NAME "learned"

static int compare(const tw_lesson *a, uint64_t tenant, const tw_region_id *region, uint32_t size_class)
{
    int order = memcmp(&a->region, region, sizeof *region);
    if (order) return order;
    if (a->tenant != tenant) return a->tenant < tenant ? -1 : 1;
    return (a->size_class > size_class) - (a->size_class < size_class);
}

/* Where it is, or would be. */
static uint32_t find(const tw_lessons *lessons, uint64_t tenant, const tw_region_id *region, uint32_t size_class, bool *found)
{
    uint32_t low = 0, high = lessons->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (compare(&lessons->items[middle], tenant, region, size_class) < 0) low = middle + 1;
        else high = middle;
    }
    *found = low < lessons->count && !compare(&lessons->items[low], tenant, region, size_class);
    return low;
}

bool tw_lessons_get(const tw_lessons *lessons, uint64_t tenant, const tw_region_id *region, uint32_t size_class, tw_learned *out)
{
    bool found;
    uint32_t at = find(lessons, tenant, region, size_class, &found);
    if (found) *out = lessons->items[at].learned;
    return found;
}

static void forget_oldest(tw_lessons *lessons)
{
    uint32_t oldest = 0;
    for (uint32_t i = 1; i < lessons->count; i++)
        if (lessons->items[i].age < lessons->items[oldest].age) oldest = i;
    lessons->count--;
    memmove(&lessons->items[oldest], &lessons->items[oldest + 1], (lessons->count - oldest) * sizeof *lessons->items);
}

static bool have_room(tw_lessons *lessons)
{
    if (lessons->count == MAX_LESSONS) forget_oldest(lessons);
    if (lessons->count < lessons->capacity) return true;
    uint32_t capacity = lessons->capacity ? lessons->capacity * 2 : 32;
    tw_lesson *more = realloc(lessons->items, capacity * sizeof *more);
    if (!more) return false;
    lessons->items = more, lessons->capacity = capacity;
    return true;
}

void tw_lessons_put(tw_lessons *lessons, uint64_t tenant, const tw_region_id *region, uint32_t size_class,
                    const tw_learned *learned)
{
    bool found;
    uint32_t at = find(lessons, tenant, region, size_class, &found);
    if (!found) {
        if (!have_room(lessons)) return;
        at = find(lessons, tenant, region, size_class, &found);
        memmove(&lessons->items[at + 1], &lessons->items[at], (lessons->count - at) * sizeof *lessons->items);
        lessons->count++;
        lessons->items[at] = (tw_lesson){.tenant = tenant, .region = *region, .size_class = size_class};
    }
    lessons->items[at].learned = *learned;
    lessons->items[at].age = ++lessons->clock;
    lessons->changed = true;
}

static void put(uint8_t **to, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) *(*to)++ = (uint8_t)(value >> 8 * i);
}

static uint64_t get(const uint8_t **from, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++) value |= (uint64_t)*(*from)++ << 8 * i;
    return value;
}

static void put_float(uint8_t **to, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, 4);
    put(to, bits, 4);
}

static float get_float(const uint8_t **from)
{
    uint32_t bits = (uint32_t)get(from, 4);
    float value;
    memcpy(&value, &bits, 4);
    return isfinite(value) && value > 0 ? value : 0;
}

static void write_row(uint8_t *to, const tw_lesson *lesson)
{
    put(&to, lesson->tenant, 8);
    memcpy(to, &lesson->region, 32), to += 32;
    put(&to, lesson->size_class, 4);
    put_float(&to, lesson->learned.original);
    put_float(&to, lesson->learned.one);
    put_float(&to, lesson->learned.many);
    put(&to, lesson->learned.threads, 2);
    put(&to, lesson->learned.samples, 2);
}

static void read_row(const uint8_t *from, tw_lesson *out)
{
    out->tenant = get(&from, 8);
    memcpy(&out->region, from, 32), from += 32;
    out->size_class = (uint32_t)get(&from, 4);
    out->learned.original = get_float(&from);
    out->learned.one = get_float(&from);
    out->learned.many = get_float(&from);
    out->learned.threads = (uint16_t)get(&from, 2);
    out->learned.samples = (uint16_t)get(&from, 2);
}

void tw_lessons_load(tw_lessons *lessons, tw_disk *disk)
{
    uint8_t *payload;
    size_t size;
    if (tw_disk_read(disk, FILE_NAME, &payload, &size) != TW_DISK_FOUND) return;
    bool changed = lessons->changed;
    for (size_t at = 0; at + ROW <= size && at / ROW < MAX_LESSONS; at += ROW) {
        tw_lesson row;
        tw_learned known;
        read_row(payload + at, &row);
        if (row.size_class < 64 && !tw_lessons_get(lessons, row.tenant, &row.region, row.size_class, &known))
            tw_lessons_put(lessons, row.tenant, &row.region, row.size_class, &row.learned);
    }
    lessons->changed = changed;
    free(payload);
}

void tw_lessons_save(tw_lessons *lessons, tw_disk *disk)
{
    tw_lessons_load(lessons, disk); /* what other processes have learned meanwhile */
    uint8_t *payload = malloc((size_t)lessons->count * ROW + 1);
    if (!payload) return;
    for (uint32_t i = 0; i < lessons->count; i++) write_row(payload + (size_t)i * ROW, &lessons->items[i]);
    tw_disk_write(disk, FILE_NAME, payload, (size_t)lessons->count * ROW);
    lessons->changed = false;
    free(payload);
}

void tw_lessons_free(tw_lessons *lessons)
{
    free(lessons->items);
    *lessons = (tw_lessons){0};
}
