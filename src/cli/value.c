/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/value.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *shape;
} kinds[] = {
    [TW_VAL_I32] = {"i32", "an integer of 32 bits, like 42, -7 or 0xff"},
    [TW_VAL_I64] = {"i64", "an integer of 64 bits, like 42, -7 or 0xff"},
    [TW_VAL_F32] = {"f32", "a number, like 1.5, -1e3, 0x1.8p1, inf, nan or nan:0x200000"},
    [TW_VAL_F64] = {"f64", "a number, like 1.5, -1e3, 0x1.8p1, inf, nan or nan:0x4000000000000"},
    [TW_VAL_V128] = {"v128", "a vector, like i32x4:1,2,3,4 or f64x2:0.5,nan or 0x followed by 32 hex digits"},
    [TW_VAL_FUNCREF] = {"funcref", "a function, which can't be written on a command line"},
};

const char *cli_val_kind_name(tw_val_kind kind)
{
    return kinds[kind].name;
}

const char *cli_val_shape(tw_val_kind kind)
{
    return kinds[kind].shape;
}

/* ---- integers ---- */

static int digit_of(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return 16;
}

/* Digits of a base up to the end of the text: at least one, and no more than 64 bits of them. */
static bool parse_digits(const char *text, int base, uint64_t *out)
{
    uint64_t number = 0;
    if (!*text) return false;
    for (; *text; text++) {
        int digit = digit_of(*text);
        if (digit >= base || __builtin_mul_overflow(number, (uint64_t)base, &number) ||
            __builtin_add_overflow(number, (uint64_t)digit, &number))
            return false;
    }
    *out = number;
    return true;
}

static bool starts_hex(const char *text)
{
    return text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
}

/* From -2^(bits-1) to 2^bits - 1, modulo 2^bits. */
static bool parse_integer(const char *text, unsigned bits, uint64_t *out)
{
    bool minus = *text == '-';
    if (*text == '-' || *text == '+') text++;
    uint64_t magnitude, most = minus ? UINT64_C(1) << (bits - 1) : UINT64_MAX >> (64 - bits);
    bool read = starts_hex(text) ? parse_digits(text + 2, 16, &magnitude) : parse_digits(text, 10, &magnitude);
    if (!read || magnitude > most) return false;
    *out = (minus ? -magnitude : magnitude) & (UINT64_MAX >> (64 - bits));
    return true;
}

/* ---- floats, as bits: a signalling NaN must not pass through arithmetic ---- */

typedef struct layout {
    unsigned bits, fraction; /* width, and bits of the fraction field */
} layout;

static const layout f32_layout = {32, 23}, f64_layout = {64, 52};

static uint64_t exponent_mask(layout l)
{
    return ((UINT64_C(1) << (l.bits - 1 - l.fraction)) - 1) << l.fraction;
}

static bool parse_nan(const char *text, layout l, uint64_t *out)
{
    uint64_t payload = UINT64_C(1) << (l.fraction - 1);
    if (text[3] == ':') {
        if (!starts_hex(text + 4) || !parse_digits(text + 6, 16, &payload)) return false;
        if (!payload || payload >> l.fraction) return false;
    } else if (text[3]) {
        return false;
    }
    *out = exponent_mask(l) | payload;
    return true;
}

/* strtod takes more than we do (spaces, "infinity", "nan(…)"): only digits and a point may begin a number. */
static bool parse_finite(const char *text, layout l, uint64_t *out)
{
    if (!isdigit((unsigned char)*text) && *text != '.') return false;
    char *end;
    errno = 0;
    if (l.bits == 32) {
        float f = strtof(text, &end);
        uint32_t bits;
        memcpy(&bits, &f, sizeof bits);
        *out = bits;
        if (isinf(f)) return false;
    } else {
        double d = strtod(text, &end);
        memcpy(out, &d, sizeof d);
        if (isinf(d)) return false;
    }
    return end != text && !*end;
}

static bool parse_float(const char *text, layout l, uint64_t *out)
{
    bool minus = *text == '-';
    if (*text == '-' || *text == '+') text++;
    uint64_t bits = 0;
    if (!strcmp(text, "inf")) bits = exponent_mask(l);
    else if (!strncmp(text, "nan", 3) ? !parse_nan(text, l, &bits) : !parse_finite(text, l, &bits)) return false;
    *out = bits | (uint64_t)minus << (l.bits - 1);
    return true;
}

/* ---- vectors ---- */

static const struct {
    const char *name;
    unsigned lanes;
    bool floats;
} shapes[] = {
    {"i8x16", 16, false}, {"i16x8", 8, false}, {"i32x4", 4, false},
    {"i64x2", 2, false},  {"f32x4", 4, true},  {"f64x2", 2, true},
};

static void put_little_endian(uint8_t *to, uint64_t bits, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++) to[i] = (uint8_t)(bits >> (8 * i));
}

static bool parse_lanes(const char *text, unsigned lanes, bool floats, uint8_t out[16])
{
    unsigned width = 128 / lanes;
    for (unsigned lane = 0; lane < lanes; lane++) {
        char word[64];
        size_t size = strcspn(text, ",");
        if (size >= sizeof word || (text[size] == ',') != (lane + 1 < lanes)) return false;
        memcpy(word, text, size);
        word[size] = 0;
        uint64_t bits;
        bool read = floats ? parse_float(word, width == 32 ? f32_layout : f64_layout, &bits)
                           : parse_integer(word, width, &bits);
        if (!read) return false;
        put_little_endian(out + lane * width / 8, bits, width / 8);
        text += size + 1;
    }
    return true;
}

static bool parse_v128(const char *text, uint8_t out[16])
{
    if (starts_hex(text) && strlen(text) == 2 + 32) {
        for (int i = 0; i < 16; i++) {
            int high = digit_of(text[2 + 2 * i]), low = digit_of(text[3 + 2 * i]);
            if (high > 15 || low > 15) return false;
            out[15 - i] = (uint8_t)(high << 4 | low);
        }
        return true;
    }
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        size_t size = strlen(shapes[i].name);
        if (!strncmp(text, shapes[i].name, size) && text[size] == ':')
            return parse_lanes(text + size + 1, shapes[i].lanes, shapes[i].floats, out);
    }
    return false;
}

bool cli_val_parse(tw_val_kind kind, const char *text, tw_val *out)
{
    tw_val value = {.kind = kind};
    uint64_t bits = 0;
    bool read = false;
    switch (kind) {
    case TW_VAL_I32: read = parse_integer(text, 32, &bits); break;
    case TW_VAL_I64: read = parse_integer(text, 64, &bits); break;
    case TW_VAL_F32: read = parse_float(text, f32_layout, &bits); break;
    case TW_VAL_F64: read = parse_float(text, f64_layout, &bits); break;
    case TW_VAL_V128:
        if (!parse_v128(text, value.of.v128)) return false;
        *out = value;
        return true;
    case TW_VAL_FUNCREF: break;
    }
    if (!read) return false;
    put_little_endian(value.of.v128, bits, 8);
    *out = value;
    return true;
}

/* ---- printing ---- */

static void print_nan(FILE *out, uint64_t bits, layout l)
{
    uint64_t payload = bits & ((UINT64_C(1) << l.fraction) - 1);
    fputs(bits >> (l.bits - 1) & 1 ? "-nan" : "nan", out);
    if (payload != UINT64_C(1) << (l.fraction - 1)) fprintf(out, ":0x%" PRIx64, payload);
}

static bool same_bits(const char *text, layout l, uint64_t bits)
{
    uint64_t again;
    return parse_float(text, l, &again) && again == bits;
}

/* The fewest significant digits that read back as the same bits; 17 always do. Plain notation where the number isn't
 * longer for it. */
static void print_finite(FILE *out, double number, uint64_t bits, layout l)
{
    char text[64];
    int digits = 1;
    for (; digits < 17; digits++) {
        snprintf(text, sizeof text, "%.*e", digits - 1, number);
        if (same_bits(text, l, bits)) break;
    }
    snprintf(text, sizeof text, "%.*e", digits - 1, number);
    int exponent = atoi(strchr(text, 'e') + 1);
    if (exponent >= -5 && exponent < 17)
        fprintf(out, "%.*f", exponent + 1 < digits ? digits - 1 - exponent : 0, number);
    else fputs(text, out);
}

static void print_float(FILE *out, uint64_t bits, layout l)
{
    uint64_t magnitude = bits & ~(UINT64_C(1) << (l.bits - 1));
    double number;
    if (magnitude > exponent_mask(l)) {
        print_nan(out, bits, l);
    } else if (magnitude == exponent_mask(l)) {
        fputs(bits == magnitude ? "inf" : "-inf", out);
    } else {
        if (l.bits == 32) {
            float narrow;
            uint32_t low = (uint32_t)bits;
            memcpy(&narrow, &low, sizeof narrow);
            number = (double)narrow;
        } else {
            memcpy(&number, &bits, sizeof number);
        }
        print_finite(out, number, bits, l);
    }
}

static uint64_t little_endian(const uint8_t *from, unsigned bytes)
{
    uint64_t bits = 0;
    for (unsigned i = 0; i < bytes; i++) bits |= (uint64_t)from[i] << (8 * i);
    return bits;
}

void cli_val_print(FILE *out, const tw_val *value)
{
    const uint8_t *bytes = value->of.v128;
    switch (value->kind) {
    case TW_VAL_I32: fprintf(out, "%" PRId32, value->of.i32); return;
    case TW_VAL_I64: fprintf(out, "%" PRId64, value->of.i64); return;
    case TW_VAL_F32: print_float(out, little_endian(bytes, 4), f32_layout); return;
    case TW_VAL_F64: print_float(out, little_endian(bytes, 8), f64_layout); return;
    case TW_VAL_V128:
        fputs("i32x4:", out);
        for (unsigned i = 0; i < 4; i++)
            fprintf(out, "%s%" PRId32, i ? "," : "", (int32_t)(uint32_t)little_endian(bytes + 4 * i, 4));
        return;
    case TW_VAL_FUNCREF: fputs("funcref", out); return;
    }
}
