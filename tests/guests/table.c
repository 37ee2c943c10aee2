/* SPDX-License-Identifier: Apache-2.0 */
#include "table.h"

#include <string.h>

#include "random.h"

static const size_t elem_sizes[] = {
    [GUEST_U8] = 1, [GUEST_I32] = 4, [GUEST_F32] = 4, [GUEST_F64] = 8, [GUEST_JOB] = 16};

size_t guest_elem_size(guest_elem elem)
{
    return elem_sizes[elem];
}

/* ---- laying out a call ---- */

static void i32(guest_call *call, uint32_t value)
{
    call->args[call->arg_count++] = (tw_val){.kind = TW_VAL_I32, .of.i32 = (int32_t)value};
}

static void f32(guest_call *call, float value)
{
    call->args[call->arg_count++] = (tw_val){.kind = TW_VAL_F32, .of.f32 = value};
}

static void f64(guest_call *call, double value)
{
    call->args[call->arg_count++] = (tw_val){.kind = TW_VAL_F64, .of.f64 = value};
}

/* Each array starts on a cache line of its own, one line after the last one's end. */
static uint32_t place(guest_call *call, guest_elem elem, uint64_t count)
{
    uint32_t address = (uint32_t)((call->end + 127) / 64 * 64);
    call->arrays[call->array_count++] = (guest_array){address, count, elem};
    call->end = address + count * elem_sizes[elem];
    return address;
}

static void array(guest_call *call, guest_elem elem, uint64_t count)
{
    i32(call, place(call, elem, count));
}

static void saxpy(guest_call *call, uint32_t n)
{
    i32(call, n);
    f32(call, 1.7f);
    array(call, GUEST_F32, n);
    array(call, GUEST_F32, n);
    call->iterations = n;
}

/* guest_fill finds the numbers of the structure in the arrays before it. */
static void saxpy_job(guest_call *call, uint32_t n)
{
    place(call, GUEST_F32, n);
    place(call, GUEST_F32, n);
    array(call, GUEST_JOB, 1);
    call->iterations = n;
}

static void blend(guest_call *call, uint32_t n)
{
    i32(call, n);
    array(call, GUEST_U8, n);
    array(call, GUEST_U8, n);
    i32(call, 77);
    call->iterations = n;
}

static void blend_rgba(guest_call *call, uint32_t n)
{
    i32(call, n);
    array(call, GUEST_U8, 4 * (uint64_t)n);
    array(call, GUEST_U8, 4 * (uint64_t)n);
    call->iterations = n;
}

static void colours(guest_call *call, uint32_t n)
{
    i32(call, n);
    array(call, GUEST_I32, n);
    array(call, GUEST_U8, n);
    array(call, GUEST_I32, 256);
    call->iterations = n;
}

static void to_bytes(guest_call *call, uint32_t n)
{
    i32(call, n);
    array(call, GUEST_U8, n);
    array(call, GUEST_F32, n);
    call->iterations = n;
}

static void blur(guest_call *call, uint32_t n)
{
    uint32_t w = n > 130 ? n / 3 + 7 : n, h = n > 130 ? n / 4 : n;
    i32(call, w);
    i32(call, h);
    array(call, GUEST_U8, (uint64_t)w * h);
    array(call, GUEST_U8, (uint64_t)w * h);
    call->iterations = w > 2 && h > 2 ? (uint64_t)(w - 2) * (h - 2) : 0;
}

static uint32_t other(uint32_t n)
{
    return n > 3 ? n + 3 : n;
}

static void transpose(guest_call *call, uint32_t n)
{
    uint32_t m = other(n);
    i32(call, n);
    i32(call, m);
    array(call, GUEST_F32, (uint64_t)n * m);
    array(call, GUEST_F32, (uint64_t)n * m);
    call->iterations = (uint64_t)n * m;
}

static void matvec(guest_call *call, uint32_t n)
{
    uint32_t m = other(n);
    i32(call, n);
    i32(call, m);
    array(call, GUEST_F64, (uint64_t)n * m);
    array(call, GUEST_F64, m);
    array(call, GUEST_F64, n);
    call->iterations = (uint64_t)n * m;
}

static void gemm_arrays(guest_call *call, guest_elem elem, uint32_t n, uint32_t m, uint32_t k)
{
    array(call, elem, (uint64_t)n * k);
    array(call, elem, (uint64_t)k * m);
    array(call, elem, (uint64_t)n * m);
    call->iterations = (uint64_t)n * m * k + (uint64_t)n * m;
}

static void gemm_sizes(guest_call *call, uint32_t n, uint32_t *m, uint32_t *k)
{
    *m = other(n);
    *k = n > 8 ? n - 5 : n;
    i32(call, n);
    i32(call, *m);
    i32(call, *k);
}

static void gemm_f64(guest_call *call, uint32_t n)
{
    uint32_t m, k;
    gemm_sizes(call, n, &m, &k);
    f64(call, 1.5);
    f64(call, 1.2);
    gemm_arrays(call, GUEST_F64, n, m, k);
}

static void gemm_f32(guest_call *call, uint32_t n)
{
    uint32_t m, k;
    gemm_sizes(call, n, &m, &k);
    f32(call, 1.5f);
    f32(call, 1.2f);
    gemm_arrays(call, GUEST_F32, n, m, k);
}

static void gemm_i32(guest_call *call, uint32_t n)
{
    uint32_t m, k;
    gemm_sizes(call, n, &m, &k);
    i32(call, 3);
    i32(call, (uint32_t)-5);
    gemm_arrays(call, GUEST_I32, n, m, k);
}

static void jacobi_2d(guest_call *call, uint32_t n)
{
    uint32_t steps = n > 3 ? 4 : n;
    i32(call, steps);
    i32(call, n);
    array(call, GUEST_F64, (uint64_t)n * n);
    array(call, GUEST_F64, (uint64_t)n * n);
    call->iterations = n > 2 ? 2 * (uint64_t)steps * (n - 2) * (n - 2) : 0;
}

static void seidel_2d(guest_call *call, uint32_t n)
{
    uint32_t steps = n > 3 ? 3 : n;
    i32(call, steps);
    i32(call, n);
    array(call, GUEST_F64, (uint64_t)n * n);
    call->iterations = n > 2 ? (uint64_t)steps * (n - 2) * (n - 2) : 0;
}

static void gauss_seidel(guest_call *call, uint32_t n)
{
    uint32_t m = other(n);
    i32(call, n);
    i32(call, m);
    array(call, GUEST_F32, (uint64_t)n * m);
    call->iterations = n > 2 && m > 2 ? (uint64_t)(n - 2) * (m - 2) : 0;
}

static void edit_distance(guest_call *call, uint32_t n)
{
    uint32_t m = other(n);
    i32(call, n);
    i32(call, m);
    array(call, GUEST_U8, n);
    array(call, GUEST_U8, m);
    array(call, GUEST_I32, (uint64_t)(n + 1) * (m + 1));
    call->iterations = (uint64_t)n * m;
}

static void syrk(guest_call *call, uint32_t n)
{
    uint32_t m = other(n);
    i32(call, n);
    i32(call, m);
    f64(call, 1.5);
    f64(call, 1.2);
    array(call, GUEST_F64, (uint64_t)n * m);
    array(call, GUEST_F64, (uint64_t)n * n);
    call->iterations = ((uint64_t)n + 1) * n / 2 * (m + 1);
}

static void covariance(guest_call *call, uint32_t n)
{
    uint32_t rows = other(n);
    i32(call, rows);
    i32(call, n);
    array(call, GUEST_F64, (uint64_t)n * rows);
    array(call, GUEST_F64, (uint64_t)n * n);
    call->iterations = ((uint64_t)n + 1) * n / 2 * rows;
}

static void two_f64(guest_call *call, uint32_t n)
{
    i32(call, n);
    array(call, GUEST_F64, n);
    array(call, GUEST_F64, n);
    call->iterations = n;
}

static void histogram(guest_call *call, uint32_t n)
{
    i32(call, n);
    array(call, GUEST_U8, n);
    array(call, GUEST_I32, 256);
    call->iterations = n;
}

static void recurrence(guest_call *call, uint32_t n)
{
    i32(call, n);
    f64(call, 0.75);
    array(call, GUEST_F64, n);
    call->iterations = n ? n - 1 : 0;
}

/* Three times n elements; the loop starts at the second third, so that k may be anything from -n to n. */
static void shift_copy(guest_call *call, uint32_t n, uint32_t k)
{
    i32(call, n);
    i32(call, k);
    i32(call, place(call, GUEST_F32, 3 * (uint64_t)n + 2) + 4 * (n + 1));
    call->iterations = n;
}

static void shift_up(guest_call *call, uint32_t n)
{
    shift_copy(call, n, 1);
}

static void shift_down(guest_call *call, uint32_t n)
{
    shift_copy(call, n, (uint32_t)-1);
}

static void shift_half(guest_call *call, uint32_t n)
{
    shift_copy(call, n, n / 2);
}

static void shift_apart(guest_call *call, uint32_t n)
{
    shift_copy(call, n, n);
}

static void shift_none(guest_call *call, uint32_t n)
{
    shift_copy(call, n, 0);
}

static void views(guest_call *call, uint32_t n)
{
    i32(call, n);
    f64(call, 0.75);
    uint32_t x = place(call, GUEST_F64, (uint64_t)n + 1);
    i32(call, x);
    i32(call, x + 4);
    call->iterations = n;
}

const guest guests[] = {
    {"saxpy", "saxpy", "saxpy", saxpy, NULL, 16384},
    {"saxpy through memory", "saxpy", "saxpy_job", saxpy_job, NULL, 16384},
    {"alpha blend", "blend", "blend", blend, NULL, 65536},
    {"alpha blend by pixel", "blend", "blend_rgba", blend_rgba, NULL, 16384},
    {"colours by table", "pixels", "colours", colours, NULL, 65536},
    {"floats to bytes", "pixels", "to_bytes", to_bytes, NULL, 65536},
    {"box blur", "blur", "blur", blur, NULL, 800},
    {"transpose", "transpose", "transpose", transpose, NULL, 200},
    {"matvec", "matvec", "matvec", matvec, NULL, 180},
    {"gemm f64", "gemm", "gemm_f64", gemm_f64, NULL, 1000},
    {"gemm f32", "gemm", "gemm_f32", gemm_f32, NULL, 500},
    {"gemm i32", "gemm", "gemm_i32", gemm_i32, NULL, 500},
    {"jacobi-2d", "jacobi", "jacobi_2d", jacobi_2d, NULL, 160},
    {"syrk", "syrk", "syrk", syrk, NULL, 300},
    {"covariance", "covariance", "covariance", covariance, NULL, 200},
    {"seidel-2d", "smooth", "seidel_2d", seidel_2d, NULL, 300},
    {"gauss-seidel f32", "smooth", "gauss_seidel", gauss_seidel, NULL, 500},
    {"edit distance", "smooth", "edit_distance", edit_distance, NULL, 500},
    {"copy apart", "serial", "shift_copy", shift_apart, NULL, 16384},
    {"copy onto itself", "serial", "shift_copy", shift_none, NULL, 16384},
    {"prefix sum", "serial", "prefix_sum", two_f64, "carried-scalar", 16384},
    {"dot product", "serial", "dot", two_f64, "carried-scalar", 16384},
    {"histogram", "serial", "histogram", histogram, "address", 65536},
    {"recurrence", "serial", "recurrence", recurrence, "carried-scalar", 16384},
    {"copy up by 1", "serial", "shift_copy", shift_up, "dependence", 16384},
    {"copy down by 1", "serial", "shift_copy", shift_down, "dependence", 16384},
    {"copy up by half", "serial", "shift_copy", shift_half, "dependence", 16384},
    {"views 4 bytes apart", "serial", "views", views, "dependence", 16384},
};
const size_t guest_count = sizeof guests / sizeof *guests;

void guest_lay_out(const guest *which, uint32_t n, guest_call *out)
{
    *out = (guest_call){.end = GUEST_FIRST_ADDRESS};
    which->lay_out(out, n);
}

/* ---- filling it ---- */

static double plain(random_state *random)
{
    return 0.25 + (double)(random_next(random) >> 40) / (1 << 24);
}

static uint64_t f64_bits(random_state *random, guest_data data)
{
    static const uint64_t corners[] = {0x8000000000000000, 0,
                                       0x0000000000000001, 0x800FFFFFFFFFFFFF,
                                       0x0010000000000000, 0x7FEFFFFFFFFFFFFF,
                                       0xFFEFFFFFFFFFFFFF, 0x7FF0000000000000,
                                       0xFFF0000000000000, 0x7FF8000000000000,
                                       0xFFF8000000000000, 0x7FF0000000000001,
                                       0xFFF0DEAD0000BEEF, 0x7FF8123456789ABC};
    enum { FINITE = 7, ALL = sizeof corners / sizeof *corners };
    if (data != GUEST_PLAIN && random_below(random, 32) == 0)
        return corners[random_below(random, data == GUEST_SPECIAL ? ALL : FINITE)];
    double value = plain(random);
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint32_t f32_bits(random_state *random, guest_data data)
{
    static const uint32_t corners[] = {0x80000000, 0,          0x00000001, 0x807FFFFF, 0x00800000,
                                       0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000,
                                       0xFFC00000, 0x7F800001, 0xFF80BEEF, 0x7FC12345};
    enum { FINITE = 7, ALL = sizeof corners / sizeof *corners };
    if (data != GUEST_PLAIN && random_below(random, 32) == 0)
        return corners[random_below(random, data == GUEST_SPECIAL ? ALL : FINITE)];
    float value = (float)plain(random);
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void fill_job(const guest_call *call, uint8_t *at)
{
    float a = 1.7f;
    uint32_t n = (uint32_t)call->arrays[0].count;
    memcpy(at, &n, 4);
    memcpy(at + 4, &a, 4);
    memcpy(at + 8, &call->arrays[0].address, 4);
    memcpy(at + 12, &call->arrays[1].address, 4);
}

static void fill_element(const guest_call *call, guest_elem elem, guest_data data, random_state *random, uint8_t *at)
{
    switch (elem) {
    case GUEST_U8: *at = (uint8_t)random_next(random); break;
    case GUEST_I32: memcpy(at, &(uint32_t){(uint32_t)random_next(random)}, 4); break;
    case GUEST_F32: memcpy(at, &(uint32_t){f32_bits(random, data)}, 4); break;
    case GUEST_F64: memcpy(at, &(uint64_t){f64_bits(random, data)}, 8); break;
    case GUEST_JOB: fill_job(call, at); break;
    }
}

void guest_fill(const guest_call *call, guest_data data, uint64_t seed, uint8_t *memory)
{
    random_state random = random_seeded(seed);
    for (size_t a = 0; a < call->array_count; a++) {
        const guest_array *it = &call->arrays[a];
        for (uint64_t i = 0; i < it->count; i++)
            fill_element(call, it->elem, data, &random, memory + it->address + i * elem_sizes[it->elem]);
    }
}
