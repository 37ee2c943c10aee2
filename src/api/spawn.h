/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_API_SPAWN_H
#define TW_API_SPAWN_H

#include "base/error.h"
#include "tensorwasm/buffer.h"
#include "tensorwasm/tensorwasm.h"

/* Reads and checks; own->wasi is NULL or `wasi` afterwards. Both hold the defaults before. */
tw_status tw_api_read_spawn(const tw_spawn_options *given, tw_spawn_options *own, tw_wasi_options *wasi, tw_error *error);
/* How buffers come back. own holds the defaults before. */
tw_status tw_api_read_restoring(const tw_buffer_restoring *given, tw_buffer_restoring *own, tw_error *error);

#endif
