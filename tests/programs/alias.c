/* SPDX-License-Identifier: Apache-2.0 */
/* Loops whose arrays overlap, and loops that overwrite what steers them. */
#include "check.h"

enum { N = 400 };
static int32_t a[4 * N];
static uint8_t bytes[8192];

KERNEL void add_at(int32_t *to, const int32_t *from, int n) { for (int i = 0; i < n; i++) to[i] = from[i] + 1; }
KERNEL void add_down(int32_t *to, const int32_t *from, int n) { for (int i = n - 1; i >= 0; i--) to[i] = from[i] * 3; }
KERNEL void add_step(int32_t *to, const int32_t *from, int n, int s) { for (int i = 0; i < n; i++) to[i * s] += from[i]; }
KERNEL void three(int32_t *x, int32_t *y, int32_t *z, int n) { for (int i = 0; i < n; i++) { x[i] = y[i] + z[i]; y[i] = x[i] ^ z[n - 1 - i]; } }
KERNEL void move_bytes(uint8_t *to, const uint8_t *from, size_t n) { while (n--) *to++ = *from++; }
KERNEL void move_down(uint8_t *to, const uint8_t *from, size_t n) { to += n; from += n; while (n--) *--to = *--from; }
KERNEL void views(uint8_t *base, int n)
{
    for (int i = 0; i < n; i++) { uint32_t w; memcpy(&w, base + i, 4); w = w * 3 + 1; memcpy(base + i, &w, 4); }
}
KERNEL void views16(uint8_t *base, int n, int by)
{
    for (int i = 0; i < n; i++) { uint16_t w; memcpy(&w, base + 2 * i, 2); w = (uint16_t)(w + 7); memcpy(base + 2 * i + by, &w, 2); }
}
/* the bound lies among what the loop writes */
struct vector { int32_t *data; int32_t length; int32_t step; };
KERNEL void fill_struct(struct vector *v, int32_t value) { for (int32_t i = 0; i < v->length; i++) v->data[i] = value + i; }
KERNEL void fill_struct_step(struct vector *v) { for (int32_t i = 0; i < v->length; i += v->step) v->data[i] = i ^ 5; }
KERNEL void add_struct(struct vector *to, struct vector *x, struct vector *y)
{
    for (int32_t i = 0; i < to->length; i++) to->data[i] = x->data[i] + y->data[i];
}
/* bytes may be anything: the width is loaded again for each of them */
struct picture { uint8_t *pixels; int32_t width, height; };
KERNEL void paint(struct picture *p, uint8_t value) { for (int32_t x = 0; x < p->width; x++) p->pixels[x] = value; }
KERNEL void paint_rows(struct picture *p, int32_t stride)
{
    for (int32_t y = 0; y < p->height; y++) for (int32_t x = 0; x < p->width; x++) p->pixels[y * stride + x] ^= (uint8_t)(x + y);
}
KERNEL void rows(int32_t **row, int n, int m) { for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) row[i][j] += i * j; }
KERNEL void nested_bound(int32_t *n, int32_t *m, int32_t *x) { for (int i = 0; i < *n; i++) for (int j = 0; j < *m; j++) x[i * 20 + j] += 1 + i; }

static void reset(void) { random_state = 99; fill_bytes(a, sizeof a); fill_bytes(bytes, sizeof bytes); }

static void shifts(void)
{
    static const int by[] = {-N, -N + 1, -33, -8, -4, -3, -2, -1, 0, 1, 2, 3, 4, 7, 8, 16, 31, N - 1, N};
    for (size_t k = 0; k < COUNT(by); k++) {
        reset(); add_at(a + N + by[k], a + N, N); SHOW("add_at", a);
        reset(); add_down(a + N + by[k], a + N, N); SHOW("add_down", a);
        reset(); add_step(a + N + by[k], a + N, N / 4, 2); add_step(a + 2 * N + by[k], a + N, N / 4, -2); SHOW("add_step", a);
        reset(); add_step(a + N + by[k], a + N, N / 4, 0); SHOW("add_zero", a);
        reset(); three(a + N, a + N + by[k], a + 2 * N + by[k] / 2, N / 2); SHOW("three", a);
        reset(); three(a + N + by[k], a + N, a + N, N / 2); SHOW("three2", a);
        reset(); move_bytes(bytes + 2000 + by[k], bytes + 2000, 1500); SHOW("move", bytes);
        reset(); move_down(bytes + 2000 + by[k], bytes + 2000, 1500); SHOW("move_down", bytes);
        reset(); views16(bytes + 2000, 1000, by[k]); SHOW("views16", bytes);
    }
    reset(); views(bytes, 3000); SHOW("views", bytes);
}

static void steering(void)
{
    static int32_t room[600];
    for (int at = 0; at < 290; at += 29) {
        struct vector *v = (struct vector *)(room + at);
        memset(room, 0, sizeof room);
        *v = (struct vector){.data = room + 5, .length = 200, .step = 1};
        fill_struct(v, 100);
        hash_bytes(room, 20 * 4); hash_bytes(room + 25, 100);
        show("fill_struct");
        /* offsets only: data addresses differ with the program's layout, not between runs */
        memset(room, 0, sizeof room);
        *v = (struct vector){.data = room + 3, .length = 150, .step = 1};
        fill_struct_step(v);
        SHOW("fill_struct_step", room);
    }
    /* a vector whose elements are its own pointer */
    struct vector v = {.data = &v.length, .length = 1, .step = 1}, x = {.data = room, .length = 9}, y = {.data = room + 9, .length = 9};
    fill_struct(&v, 1);
    printf("own %d\n", (int)v.length);
    v = (struct vector){.data = room + 100, .length = 100};
    add_struct(&v, &x, &y);
    x.data = room + 99; y.data = room + 101;
    add_struct(&v, &x, &y);
    SHOW("add_struct", room);
    static int32_t *row[20], grid[20][20];
    for (int i = 0; i < 20; i++) row[i] = grid[i];
    rows(row, 20, 20);
    row[3] = row[4] = grid[5];
    rows(row, 20, 20);
    row[19] = grid[18] + 1;
    rows(row, 20, 19);
    SHOW("rows", grid);
    int32_t *table[24];
    for (int i = 0; i < 24; i++) table[i] = grid[i % 20];
    table[7] = (int32_t *)&table[20];
    rows(table, 8, 3);
    hash_bytes(grid, sizeof grid); show("rows2");
    for (int at = 0; at < 100; at += 7) {
        for (int i = 0; i < 300; i++) room[i] = 2;
        room[at] = 5; room[at + 1] = 6;
        nested_bound(room + at, room + at + 1, room);
        SHOW("nested_bound", room);
    }
}

/* Pixels that end before the picture's own width, in it, or behind it, which then grows shorter half-way; or not at all. */
static void painting(void)
{
    for (int over = -2; over <= 6; over++)
        for (uint8_t value = 0; value < 2; value++) {
            memset(bytes, 7, sizeof bytes);
            struct picture *p = (struct picture *)(bytes + 400);
            *p = (struct picture){.width = 300 + over, .height = 1};
            uint8_t *width = (uint8_t *)&p->width;
            p->pixels = width - 300;
            if (over > 0) p->pixels += 4; /* the pointer isn't painted over */
            paint(p, value);
            printf("width %d ", (int)p->width);
            p->pixels = NULL;
            SHOW("paint", bytes);
        }
    for (int at = 600; at < 1400; at += 133) {
        memset(bytes, 9, sizeof bytes);
        struct picture *p = (struct picture *)(bytes + at);
        *p = (struct picture){.pixels = (uint8_t *)&p->width - 517, .width = 100, .height = 3};
        paint_rows(p, 130);
        p->pixels = (uint8_t *)&p->width - 516;
        paint_rows(p, 130);
        p->pixels = NULL;
        SHOW("paint_rows", bytes);
    }
}

int main(void) { painting(); shifts(); steering(); return 0; }
