/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_WASM_DEAD_END_H
#define TW_WASM_DEAD_END_H

/* Code from which no way leads on: instructions in a row, the last of them `unreachable`. What a compiler puts there reports a
 * failure, by calls. It takes nothing from the operand stack but what it has put there, so it does the same wherever in its
 * function it stands, as long as the locals have their values. */

#include "wasm/module.h"

typedef struct tw_dead_end {
    uint64_t offset, end; /* of its first instruction, and behind its `unreachable` */
    bool needs_function;  /* it calls, grows the memory, or has to do with tables: nothing that a nest may hold */
} tw_dead_end;

/* Whether what begins at the reader's place is one. The reader is that of a checked body. O(instructions in a row). */
bool tw_dead_end_at(const tw_wasm *module, tw_reader reader, tw_dead_end *out);

#endif
