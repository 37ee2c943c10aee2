/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_WASM_ENCODE_H
#define TW_WASM_ENCODE_H

/* Rewriting by appending: a module's bytes with new types, imports-free functions, globals, tables, exports
 * and replaced bodies. No existing index ever shifts. Sections that don't change are copied byte for byte. */

#include "wasm/module.h"

typedef struct tw_edit tw_edit;

/* Borrows module and its bytes until tw_edit_free. NULL when out of memory. */
tw_edit *tw_edit_new(const tw_wasm *module);
void tw_edit_free(tw_edit *edit);

/* Each returns the index the new entity will have; UINT32_MAX when out of memory or over a limit of the
 * format. Types are reused when an equal one exists. */
uint32_t tw_edit_type(tw_edit *edit, const uint8_t *params, uint32_t param_count, const uint8_t *results,
                      uint32_t result_count);
/* body: locals and code with the final end, without the size; copied. origin: the function of the user's
 * module that it stands for, or TW_NO_FUNCTION. */
uint32_t tw_edit_func(tw_edit *edit, uint32_t type, tw_span body, uint32_t origin);
/* Reserves the index of a function whose body comes later (they call each other). */
uint32_t tw_edit_func_declare(tw_edit *edit, uint32_t type, uint32_t origin);
void tw_edit_func_define(tw_edit *edit, uint32_t func, tw_span body);
uint32_t tw_edit_global(tw_edit *edit, tw_type type, bool is_mutable, uint64_t init_bits);
uint32_t tw_edit_table(tw_edit *edit, uint32_t minimum, uint32_t maximum);
uint32_t tw_edit_memory(tw_edit *edit, uint32_t minimum, uint32_t maximum);
void tw_edit_export(tw_edit *edit, const char *name, tw_extern_kind kind, uint32_t index);
/* Active element and data segments become passive, so that somebody else copies them; indices stay. Adds the count of data
 * segments where that is missing. */
void tw_edit_make_segments_passive(tw_edit *edit);
/* Memories that were imported become the module's own, first among them and of the same type: indices stay. */
void tw_edit_own_memories(tw_edit *edit);
/* Leaves the start section out. */
void tw_edit_drop_start(tw_edit *edit);
/* An existing function's new body. */
void tw_edit_replace_body(tw_edit *edit, uint32_t func, tw_span body);

/* Where rewritten code came from. Entries of one function ascend by `at`: the instruction at body-relative
 * byte `at` of (new) function `func` stands for module offset `original` of the user's module; it holds
 * until the next entry. Bodies that were not replaced need none. */
void tw_edit_map(tw_edit *edit, uint32_t func, uint32_t at, uint64_t original);

/* Writes the module to `out`, which is empty. With no edits made the output is the input, byte for byte. Once. */
tw_status tw_edit_encode(tw_edit *edit, tw_bytes *out, tw_error *error);

/* After encode: translates (function index, module offset) of the rewritten module to the user's. False
 * when the place is ours alone; *func is then the function it serves, or TW_NO_FUNCTION. A place that stands for one outside
 * of the user's functions has TW_NO_FUNCTION and an offset. */
typedef struct tw_offset_map tw_offset_map;
/* Independent of the edit afterwards; free() with tw_offset_map_free. NULL when out of memory. */
tw_offset_map *tw_edit_take_map(tw_edit *edit);
bool tw_offset_map_original(const tw_offset_map *map, uint32_t func, uint64_t offset, uint32_t *original_func,
                            uint64_t *original_offset);
void tw_offset_map_free(tw_offset_map *map);

/* Sections for tw_wasm_replace_sections, by id; 0 stands for the custom section "name". */
enum { TW_SECTION_IDS = 13 };
typedef struct tw_section_change {
    enum { TW_SECTION_AS_IT_IS, TW_SECTION_REPLACED, TW_SECTION_LEFT_OUT } what;
    tw_bytes payload; /* the whole new payload, without its size; the caller's */
} tw_section_change;
/* The module with other sections in place of some, in the order of the format; all others byte for byte. */
tw_status tw_wasm_replace_sections(const tw_wasm *module, const tw_section_change changes[TW_SECTION_IDS], tw_bytes *out,
                                   tw_error *error);

/* Re-encodes every section from the decoded form (nothing copied raw except bodies' instructions, re-read and
 * re-written one by one). Byte-identical for canonical input, equal in meaning for any. For tests and tools. */
tw_status tw_wasm_encode(const tw_wasm *module, tw_bytes *out, tw_error *error);

#endif
