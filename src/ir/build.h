/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_IR_BUILD_H
#define TW_IR_BUILD_H

/* Inside src/ir only. */

#include "ir/ir.h"

/* After the values were renumbered: makes the table of constants anew. False when out of memory. */
bool tw_ir_rehash_constants(tw_ir_func *func);

#endif
