/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_VALUE_H
#define TW_CLI_VALUE_H

/* WebAssembly values as text. What is printed parses back to the same bits.
 *
 *   i32, i64   -7, 42, 0xff, -0x8; unsigned numbers up to 2^32-1 and 2^64-1 too; printed signed
 *   f32, f64   1.5, -0, 1e-3, 0x1.8p1, inf, -inf, nan, -nan, nan:0x… with the payload; printed with as few digits as
 *              give the same bits again
 *   v128       lanes by shape: i8x16:… i16x8:… i32x4:1,2,3,4 i64x2:… f32x4:… f64x2:1.5,nan; or the whole as one
 *              number, 0x and 32 hex digits, the last digit being the lowest; printed as i32x4 */

#include <stdbool.h>
#include <stdio.h>

#include "tensorwasm/tensorwasm.h"

/* "i32", …; static. */
const char *cli_val_kind_name(tw_val_kind kind);
/* False when text isn't a value of the kind; *out is then as it was. Thread-safe. */
bool cli_val_parse(tw_val_kind kind, const char *text, tw_val *out);
/* How a value of the kind is written, for error messages; static. */
const char *cli_val_shape(tw_val_kind kind);
/* Without a line end. */
void cli_val_print(FILE *out, const tw_val *value);

#endif
