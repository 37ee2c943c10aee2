/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_INSTANCE_BUFFERS_H
#define TW_INSTANCE_BUFFERS_H

/* The buffers that belong to an instance, by name, in the order in which they came. They are freed with it. One thread at a time. */

#include "snapshot/registers.h"
#include "tensorwasm/buffer.h"

typedef struct tw_own_buffer {
    char *name;
    tw_buffer *buffer;
    tw_backend captured; /* that it was restored from; its own where it wasn't */
    char *note;          /* why it is on another; or NULL */
} tw_own_buffer;

typedef struct tw_own_buffers {
    tw_own_buffer *items;
    uint32_t count, capacity;
} tw_own_buffers;

/* Takes the buffer over when it succeeds. TW_INVALID_ARGUMENT for a name that is empty, too long or taken; TW_LIMIT. */
tw_status tw_own_buffers_add(tw_own_buffers *own, const char *name, tw_buffer *buffer, tw_error *error);
/* NULL when there is none. */
tw_own_buffer *tw_own_buffers_find(const tw_own_buffers *own, const char *name);
/* The caller's again. TW_NOT_FOUND. */
tw_status tw_own_buffers_remove(tw_own_buffers *own, const char *name, tw_buffer **out, tw_error *error);
/* Frees all: as an instance has none that begins. */
void tw_own_buffers_free(tw_own_buffers *own);

/* What a capture writes: a list from `arena`, and the bytes of all one behind the other. *storage is malloc'd and may be NULL:
 * *bytes lies there, or in the only buffer. */
tw_status tw_own_buffers_take(const tw_own_buffers *own, tw_arena *arena, tw_registers *out, uint8_t **storage, tw_span *bytes,
                              tw_error *error);
/* Whether list and bytes go together. TW_MALFORMED. */
tw_status tw_own_buffers_check(const tw_registers *from, tw_span bytes, tw_error *error);
/* Makes them anew, the tenant's. What has been made is in `own` after a failure, too. */
tw_status tw_own_buffers_put(tw_own_buffers *own, const tw_buffer_restoring *how, tw_tenant_id tenant, const tw_registers *from,
                             tw_span bytes, tw_error *error);

#endif
