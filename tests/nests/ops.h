/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NESTS_OPS_H
#define NESTS_OPS_H

/* Arithmetic that nests are made of, by the numbers of WebAssembly's specification. */

#include "emit.h"

typedef enum op_flag {
    OP_TRAPS = 1,     /* for some operands */
    OP_SHOWS_NAN = 2, /* the bits of a NaN become visible in an integer or in a sign */
} op_flag;

typedef struct op_info {
    unsigned first, last; /* a run of opcodes of one type */
    wtype result;
    wtype arg;
    int args;
    int flags;
} op_info;

static const op_info op_table[] = {
    {0x45, 0x45, T_I32, T_I32, 1, 0},
    {0x46, 0x4F, T_I32, T_I32, 2, 0},
    {0x50, 0x50, T_I32, T_I64, 1, 0},
    {0x51, 0x5A, T_I32, T_I64, 2, 0},
    {0x5B, 0x60, T_I32, T_F32, 2, 0},
    {0x61, 0x66, T_I32, T_F64, 2, 0},
    {0x67, 0x69, T_I32, T_I32, 1, 0},
    {0x6A, 0x6C, T_I32, T_I32, 2, 0},
    {0x6D, 0x70, T_I32, T_I32, 2, OP_TRAPS},
    {0x71, 0x78, T_I32, T_I32, 2, 0},
    {0x79, 0x7B, T_I64, T_I64, 1, 0},
    {0x7C, 0x7E, T_I64, T_I64, 2, 0},
    {0x7F, 0x82, T_I64, T_I64, 2, OP_TRAPS},
    {0x83, 0x8A, T_I64, T_I64, 2, 0},
    {0x8B, 0x91, T_F32, T_F32, 1, 0},
    {0x92, 0x97, T_F32, T_F32, 2, 0},
    {0x98, 0x98, T_F32, T_F32, 2, OP_SHOWS_NAN},
    {0x99, 0x9F, T_F64, T_F64, 1, 0},
    {0xA0, 0xA5, T_F64, T_F64, 2, 0},
    {0xA6, 0xA6, T_F64, T_F64, 2, OP_SHOWS_NAN},
    {0xA7, 0xA7, T_I32, T_I64, 1, 0},
    {0xA8, 0xA9, T_I32, T_F32, 1, OP_TRAPS},
    {0xAA, 0xAB, T_I32, T_F64, 1, OP_TRAPS},
    {0xAC, 0xAD, T_I64, T_I32, 1, 0},
    {0xAE, 0xAF, T_I64, T_F32, 1, OP_TRAPS},
    {0xB0, 0xB1, T_I64, T_F64, 1, OP_TRAPS},
    {0xB2, 0xB3, T_F32, T_I32, 1, 0},
    {0xB4, 0xB5, T_F32, T_I64, 1, 0},
    {0xB6, 0xB6, T_F32, T_F64, 1, 0},
    {0xB7, 0xB8, T_F64, T_I32, 1, 0},
    {0xB9, 0xBA, T_F64, T_I64, 1, 0},
    {0xBB, 0xBB, T_F64, T_F32, 1, 0},
    {0xBC, 0xBC, T_I32, T_F32, 1, OP_SHOWS_NAN},
    {0xBD, 0xBD, T_I64, T_F64, 1, OP_SHOWS_NAN},
    {0xBE, 0xBE, T_F32, T_I32, 1, OP_SHOWS_NAN},
    {0xBF, 0xBF, T_F64, T_I64, 1, OP_SHOWS_NAN},
    {0xC0, 0xC1, T_I32, T_I32, 1, 0},
    {0xC2, 0xC4, T_I64, T_I64, 1, 0},
    {0xFC00, 0xFC01, T_I32, T_F32, 1, 0},
    {0xFC02, 0xFC03, T_I32, T_F64, 1, 0},
    {0xFC04, 0xFC05, T_I64, T_F32, 1, 0},
    {0xFC06, 0xFC07, T_I64, T_F64, 1, 0},
};
enum { OP_ROWS = sizeof op_table / sizeof *op_table, OP_SELECT = 0x1B };

#endif
