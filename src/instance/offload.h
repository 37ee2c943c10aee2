/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_INSTANCE_OFFLOAD_H
#define TW_INSTANCE_OFFLOAD_H

/* Puts the way of a loop together: survey and rewrite make a module with stubs; here the stubs are filled in and answered.
 *
 *   module     tw_offload_plan: which regions, what the rewrite made of them, the program for dispatch
 *   instance   tw_stubs: slot 0 of the stub table installs a region's typed stub at its first arrival; a typed stub hands
 *              its values to dispatch, gives the region's next countdown, and lets the function rest when none of its regions
 *              pays: so many calls run the original body. Those many are what takes about as long as dispatch said, found
 *              out by trying; and a call from the host ends all rests every now and then, in case calls have become longer
 *
 * Everything of an instance's share happens on the thread that runs the guest. */

#include "dispatch/dispatch.h"
#include "engine/engine.h"
#include "instance/stop.h"
#include "kcache/kcache.h"
#include "region/region.h"
#include "rewrite/rewrite.h"

/* ---- a module's share; immutable ---- */

typedef struct tw_offload_plan {
    tw_rewrite *rewrite;
    tw_program *program;       /* of the regions that the rewrite took */
    uint32_t *site_of_region;  /* by region of the survey; TW_NONE for one left out */
    uint32_t *entry_of_site;   /* index in the program, or TW_NONE for a site that the rewrite refused */
    uint32_t *region_of_site;
    const char **why_left;     /* by region of the survey: why it was left alone, or NULL */
    uint32_t entry_count;
} tw_offload_plan;

#define TW_OFFLOAD_ALL_REGIONS UINT32_MAX

typedef struct tw_offload_choice {
    uint32_t most;   /* regions at most, and none that promises nothing: each makes two functions more to compile, whether it is
                        ever reached or not; nests of many loops go first. TW_OFFLOAD_ALL_REGIONS: all, whatever they promise */
    bool capturable; /* as tw_rewrite_options has it */
} tw_offload_choice;

/* survey outlives the plan. *out is NULL (and TW_OK) when there is no region to offload. */
tw_status tw_offload_plan_new(const tw_wasm *wasm, const tw_survey *survey, const tw_offload_choice *choice,
                              tw_offload_plan **out, tw_error *error);
void tw_offload_plan_free(tw_offload_plan *plan);

/* ---- an instance's share ---- */

typedef struct tw_stubs tw_stubs;

typedef struct tw_stub {
    tw_stubs *stubs;
    uint32_t entry;    /* in the program */
    const tw_rewrite_site *site;
    bool has_stub;
    uint64_t rest;     /* the last answer's */
    tw_handle calls_left, countdown; /* the rewrite's globals; there when has_stub, but for a whole function */
    /* of a function's first site, for all of its sites: */
    uint32_t calls;    /* of its last rest; 0: none since one of them paid */
    uint64_t since;    /* clock when that began */
} tw_stub;

struct tw_stubs {
    const tw_offload_plan *plan;
    tw_dispatch *dispatch;
    tw_stopper *stopper;
    tw_handle table;   /* tw:stubs */
    tw_stub *sites;    /* as many as the rewrite has; those of one function are neighbours */
    uint32_t calls;    /* from the host while a function rests */
    bool resting;      /* some function has been sent to rest … */
    uint64_t since;    /* … after this time */
};

tw_status tw_stubs_new(const tw_offload_plan *plan, const tw_dispatch_options *options, tw_stopper *stopper,
                         tw_stubs **out, tw_error *error);
void tw_stubs_free(tw_stubs *stubs);
/* Puts the generic stub in; before any guest code runs. */
tw_status tw_stubs_attach(tw_stubs *stubs, tw_store *store, tw_error *error);
/* The host is about to call the guest. */
void tw_stubs_call(tw_stubs *stubs, tw_store *store);
/* Of a site of the rewrite; all zero where the rewrite refused it. */
void tw_stubs_stats(const tw_stubs *stubs, tw_store *store, uint32_t site, tw_region_stats *out);
/* Such a call ended in the middle of guest code. */
void tw_stubs_broken_off(tw_store *store);

/* What the rewrite exports as tw:WHAT:NUMBER; false where there is no such thing of that kind. */
bool tw_own_export(tw_store *store, const char *what, uint32_t number, tw_handle_kind kind, tw_handle *out);

#endif
