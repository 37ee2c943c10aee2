/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_WASM_SECTION_WRITE_H
#define TW_WASM_SECTION_WRITE_H

/* Writing the entries of sections; shared by the two encoders. */

#include "wasm/module.h"

void tw_write_name(tw_bytes *out, tw_name name);
void tw_write_functype(tw_bytes *out, const tw_functype *type);
void tw_write_limits(tw_bytes *out, const tw_limits *limits);
void tw_write_table_type(tw_bytes *out, const tw_table_type *table);
void tw_write_global_type(tw_bytes *out, const tw_global_type *type);
void tw_write_export(tw_bytes *out, const tw_export *export);
/* id, size, payload; `payload`'s failure becomes `out`'s. */
void tw_write_section(tw_bytes *out, uint8_t id, const tw_bytes *payload);

#endif
