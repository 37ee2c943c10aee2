/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_REWRITE_PARTS_H
#define TW_REWRITE_PARTS_H

/* Between this room's files: the rewriter at work, and a region on its way. */

#include "rewrite/emit.h"

typedef struct tw_part { /* an accepted region */
    const tw_rewrite_region *region;
    tw_rewrite_site *site;
    uint32_t number;
    tw_nest nest;
    uint32_t *passed;        /* the stub's parameters as locals: live-ins, then headers */
    uint32_t passed_count;
    uint32_t *extras;        /* locals that only L needs to be given; the last `private_count` it gives back, too */
    uint32_t extra_count, private_count;
    uint32_t stub_type, outlined_type;
} tw_part;

typedef struct tw_drops { /* passive segments that the user's code drops: a bit each, in globals */
    uint32_t *elems, *datas; /* by segment: its bit, or UINT32_MAX */
    bool *funcs;             /* by function: drops one of them */
    uint32_t count, first_global;
} tw_drops;

typedef struct tw_rewriter {
    const tw_wasm *module;
    const tw_rewrite_options *options;
    tw_rewrite *out;
    tw_edit *edit;
    tw_arena arena;          /* for the rewrite only */
    tw_probes *probes;       /* by function; NULL when none are wanted */
    uint32_t probe_memory;
    uint32_t generic_type;   /* (i32) -> () */
    uint32_t depth;          /* global; UINT32_MAX until a recursive function wants it */
    tw_drops drops;          /* count 0 unless capturable */
    tw_part *parts;
    uint32_t part_count;
    tw_error *error;
} tw_rewriter;

static inline bool tw_wants_loop_probe(const tw_rewriter *r, uint32_t func, uint64_t loop_offset)
{
    return r->probes && tw_probes_has(&r->probes[func], loop_offset);
}
static inline bool tw_has_loop_probes(const tw_rewriter *r, uint32_t func)
{
    return r->probes && r->probes[func].loop_count;
}

/* Needs probes: unknown, and taken not to be, where nothing has to be stoppable. */
static inline bool tw_is_recursive(const tw_rewriter *r, uint32_t func)
{
    return r->probes && r->probes[func].recursive;
}

/* part.c: looks the region over. TW_REFUSED (in the site, not an error) when it can't be rewritten. */
tw_status tw_part_make(tw_rewriter *r, tw_part *part);
/* outline.c: L. */
tw_status tw_outline(tw_rewriter *r, const tw_part *part);
/* twin.c: parts of one function, ascending in the code. */
tw_status tw_twin(tw_rewriter *r, const tw_part *const *parts, uint32_t count);
/* The user's function again: behind a guard that leaves for the twin if it has regions, with its probes if it needs some. */
tw_status tw_guarded(tw_rewriter *r, uint32_t func, const tw_part *const *parts, uint32_t count);
/* trampoline.c: a whole function as a region; the check refuses it in the site where that can't be. */
void tw_trampoline_check(const tw_rewriter *r, tw_rewrite_site *site);
tw_status tw_trampoline(tw_rewriter *r, tw_rewrite_site *site, uint32_t number);
/* captures.c: what user's code drops, before anything is copied; and in the end the initialiser and the exports. */
tw_status tw_drops_find(tw_rewriter *r);
/* Which bit is which segment's: in the order of the first drops in the code. */
tw_status tw_drops_number(const tw_wasm *m, tw_arena *arena, tw_drops *out, tw_error *error);
tw_status tw_capture_exports(tw_rewriter *r);
/* An instruction of the user's, with a note of what it drops. */
void tw_emit_user(const tw_rewriter *r, tw_emit *e, const tw_instr *instr);
/* Exports as tw:WHAT:NUMBER. */
void tw_export_index(tw_rewriter *r, const char *what, uint32_t number, tw_extern_kind kind, uint32_t index);
/* call_indirect of slot 0 with the site's number, unless it is installed. */
void tw_emit_install(tw_rewriter *r, tw_emit *e, const tw_rewrite_site *site, uint32_t number);

#endif
