/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_DEVICE_OPENCL_OPENCL_H
#define TW_DEVICE_OPENCL_OPENCL_H

/* OpenCL as a platform: `opencl-svm`. All devices of all OpenCL platforms, in the loader's order.
 *
 * A device has the backend when it has shared virtual memory of some kind, and does OpenCL 2.0 or newer: only then may the
 * functions that came with 2.0 be called. Memory is fine-grained where the device has that: host and device then see it without
 * more ado. Coarse-grained memory is the host's or the device's in turn; a block of it is mapped for the host all the time, but
 * while a call of ours works on it:
 *
 *     take ─ map ──► host's ── unmap ─ fill, copy ─ map ──► host's ── unmap ─ free
 *
 * A device's context and queue are made when the first block is taken on it, and live until the platform is closed. */

#include "device/backend.h"

tw_status tw_opencl_platform_open(const char *library, tw_platform **out, tw_error *error);

#endif
