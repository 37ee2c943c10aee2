/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_DEVICE_CUDA_CUDA_H
#define TW_DEVICE_CUDA_CUDA_H

/* CUDA as a platform: `cuda-managed` and `cuda-pinned`.
 *
 * The driver is loaded and asked for its devices when the platform is opened; a device's primary context, which takes some
 * tenths of a second and of a gigabyte, is retained when the first block is taken on it, and released when the platform is closed.
 * Each device has one stream of ours. Every call pushes the context, queues its work, waits for the stream, pops the context: the
 * caller's own current context stays what it was. */

#include "device/backend.h"

tw_status tw_cuda_platform_open(const char *library, tw_platform **out, tw_error *error);

#endif
