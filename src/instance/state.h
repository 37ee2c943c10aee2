/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_INSTANCE_STATE_H
#define TW_INSTANCE_STATE_H

/* An instance's state between two calls, written down and put back.
 *
 *   capture   memory, buffers and registers (snapshot/registers.h) as a snapshot's state. Only of instances that were spawned to be
 *             capturable: their modules export all of it
 *   restore   a spawn of the same module whose instance gets the state in place of tw:init
 *
 * The stub table is no part of it, nor what is known of regions: a restored instance asks its stubs anew. */

#include "instance/runtime.h"
#include "snapshot/registers.h"
#include "tensorwasm/snapshot.h"

/* What a new instance is to begin with; lives during the spawn. */
struct tw_put_back {
    const tw_registers *registers;
    tw_span memory;      /* data may be NULL where there is an image */
    tw_image *image;     /* to be mapped; NULL: the memory is copied */
    const uint8_t *present; /* which blocks of it may be other than zero: tw_snap_present_of */
    tw_span buffers;
    const tw_buffer_restoring *where; /* buffers are made */
};

/* A snapshot that fits a module, and how instances of it are spawned. Keeps `image`; all else lies in the arena or is the
 * snapshot's or the options'. */
typedef struct tw_restoring {
    tw_registers registers;
    tw_wasi_options wasi;
    tw_spawn_options options;
    tw_put_back from;
} tw_restoring;
/* Everything that can be looked at before an instance is made. Let go with tw_runtime_stop_restoring, after a failure too. */
tw_status tw_runtime_prepare_restoring(tw_module *module, const tw_snapshot *snapshot, const tw_spawn_options *options, tw_arena *arena,
                                       tw_restoring *out, tw_error *error);
void tw_runtime_stop_restoring(tw_restoring *restoring);

/* Keeps a copy of what the guest is told by WASI, for captures. */
tw_status tw_runtime_keep_wasi(tw_instance *instance, const tw_wasi_options *options, tw_error *error);
/* The file into `out`, which is empty; or, where path isn't NULL, to that path, all or nothing. TW_BUSY in a call, TW_TERMINATED,
 * TW_UNSUPPORTED for what can't be written down. */
tw_status tw_runtime_capture(tw_instance *instance, const tw_snapshot_writer_options *writer, const tw_capture_options *options,
                             tw_bytes *out, const char *path, tw_error *error);
/* options->buffers isn't NULL. */
tw_status tw_runtime_restore(tw_module *module, const tw_snapshot *snapshot, const tw_spawn_options *options,
                             tw_instance **out, tw_error *error);
#define TW_AFTER_RESTORE "tw_after_restore"
/* Whether the state can be one of this module's: before anything is made of it. */
tw_status tw_runtime_check_state(tw_module *module, const tw_snapshot *snapshot, const tw_registers *r, tw_error *error);
/* Appends a module that begins with the state. */
tw_status tw_runtime_bake(tw_module *module, const tw_snapshot *snapshot, bool wasi_from_host, tw_bytes *out, tw_error *error);
/* Memories, globals and tables of a new instance of this module, before any guest code runs. During the run of a spawn. */
tw_status tw_runtime_put_back(tw_instance *instance, const tw_put_back *from, tw_error *error);
/* BLAKE3 of the module in binary form. */
void tw_runtime_module_hash(tw_module *module, uint8_t hash[TW_REGISTERS_HASH]);

#endif
