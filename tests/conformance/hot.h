/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONFORMANCE_HOT_H
#define CONFORMANCE_HOT_H

/* The hot module: the function's result is a + b; before that it doubles a vector eight times in a "loop" that has no way back. */

#include <string.h>

static const char hot_head[] = "(module (memory (export \"memory\") 1)\n"
                               " (func (export \"add\") (param i32 i32) (result i32) (local v128)\n"
                               "  loop\n";
static const char hot_step[] = "   local.get 2 local.get 2 i32x4.add local.set 2\n";
static const char hot_tail[] = "  end\n  local.get 0 local.get 1 i32.add))\n";
enum { HOT_STEPS = 8 };

static const char *hot_add(void)
{
    static char text[sizeof hot_head + HOT_STEPS * sizeof hot_step + sizeof hot_tail];
    char *at = stpcpy(text, hot_head);
    for (int i = 0; i < HOT_STEPS; i++) at = stpcpy(at, hot_step);
    strcpy(at, hot_tail);
    return text;
}

#endif
