/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_WASM_DECODE_H
#define TW_WASM_DECODE_H

/* Between the decoder's files: decode.c walks the sections, section_*.c read one kind of section each. */

#include "wasm/read.h"

typedef struct tw_decoder {
    tw_wasm *module;
    const tw_wasm_limits *limits;
    tw_reader reader; /* of the section being read */
    tw_error *error;
    uint32_t declared_funcs; /* by the function section */
    uint32_t declared_datas; /* by the data count section */
    uint32_t func_capacity, table_capacity, memory_capacity, global_capacity, section_capacity;
} tw_decoder;

tw_status tw_decode_types(tw_decoder *d);
tw_status tw_decode_imports(tw_decoder *d);
tw_status tw_decode_functions(tw_decoder *d);
tw_status tw_decode_tables(tw_decoder *d);
tw_status tw_decode_memories(tw_decoder *d);
tw_status tw_decode_globals(tw_decoder *d);
tw_status tw_decode_exports(tw_decoder *d);
tw_status tw_decode_start(tw_decoder *d);
tw_status tw_decode_elems(tw_decoder *d);
tw_status tw_decode_code(tw_decoder *d);
tw_status tw_decode_datas(tw_decoder *d);
tw_status tw_decode_data_count(tw_decoder *d);

/* The name section: what is malformed in it is left out, never an error (it is only for people). Fails
 * only for want of memory. */
tw_status tw_decode_names(tw_decoder *d, const tw_section *section);

/* Reads a constant expression that gives `wanted`; *out is without its end. */
tw_status tw_decode_const(tw_decoder *d, tw_type wanted, tw_span *out);

tw_status tw_decode_table_type(tw_decoder *d, tw_table_type *out);
tw_status tw_decode_memory_type(tw_decoder *d, tw_limits *out);
tw_status tw_decode_global_type(tw_decoder *d, tw_global_type *out);

#define TW_DECODE_FAIL(d, status, ...) TW_READ_FAIL(&(d)->reader, (d)->error, (status), __VA_ARGS__)

#endif
