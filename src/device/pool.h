/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_DEVICE_POOL_H
#define TW_DEVICE_POOL_H

/* A few threads that are quick to wake: after a job they spin for some microseconds before they sleep.
 *
 * One job at a time. The thread that brings a job works on it as worker 0; the pool's threads *join* through a gate while it
 * is open, and the job ends when the gate is closed and all who joined have left. So nobody ever waits for a thread that the
 * scheduler hasn't got round to: work is claimed piecewise, and who comes too late finds the gate closed. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

typedef struct tw_pool tw_pool;

/* worker: 0 for the caller. team: how many work together, for tw_pool_gather; 0 for tw_pool_share. */
typedef void (*tw_pool_body)(void *context, uint32_t worker, uint32_t team);

/* threads: 1 … 256, the caller of a job included. Starts none of them. */
tw_status tw_pool_new(uint32_t threads, tw_pool **out, tw_error *error);
void tw_pool_free(tw_pool *pool); /* no job may be running */
uint32_t tw_pool_width(const tw_pool *pool);

/* Runs body here and on up to threads - 1 others that join before it returns here. Returns how many took part; when the
 * pool has a job already, or threads can't be had, just 1: any number must do. */
uint32_t tw_pool_share(tw_pool *pool, uint32_t threads, tw_pool_body body, void *context);
/* Waits at most patience_ns for others, then runs body on all who came, with their number. Everyone starts. */
uint32_t tw_pool_gather(tw_pool *pool, uint32_t threads, uint64_t patience_ns, tw_pool_body body, void *context);

/* Spins a while, then sleeps, until *word != value. */
void tw_pool_await(atomic_uint *word, unsigned value, atomic_uint *sleepers);
/* Wakes up to `count` of those after *word was changed. */
void tw_pool_wake(atomic_uint *word, unsigned count, atomic_uint *sleepers);

#endif
