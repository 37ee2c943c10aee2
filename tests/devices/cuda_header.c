/* SPDX-License-Identifier: Apache-2.0 */
/* Our declarations of CUDA's driver API are NVIDIA's: compiled, never run, with the folder of a real cuda.h in the search path.
 * The macro makes cuda.h declare the old forms of calls beside the new ones, each under its name in the library. */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include "device/cuda/driver.h"

#define SAME_SIZE(ours, theirs)                                                                                        \
    _Static_assert(sizeof(ours) == sizeof(theirs) && _Alignof(ours) == _Alignof(theirs), #ours " isn't " #theirs)
SAME_SIZE(tw_cu_result, CUresult);
SAME_SIZE(tw_cu_device, CUdevice);
SAME_SIZE(tw_cu_ptr, CUdeviceptr);
SAME_SIZE(tw_cu_context, CUcontext);
SAME_SIZE(tw_cu_stream, CUstream);
SAME_SIZE(tw_cu_attribute, CUdevice_attribute);
SAME_SIZE(tw_cu_advice, CUmem_advise);
SAME_SIZE(tw_cu_location, CUmemLocation);
_Static_assert(offsetof(tw_cu_location, type) == offsetof(CUmemLocation, type), "type");
_Static_assert(offsetof(tw_cu_location, id) == offsetof(CUmemLocation, id), "id");

#define SAME_VALUE(name, value) _Static_assert((long long)(name) == (value), #name " has another value");
TW_CUDA_CONSTANTS(SAME_VALUE)

/* The parameters once more, with their types in the place of ours. */
#define tw_cu_result    CUresult
#define tw_cu_device    CUdevice
#define tw_cu_ptr       CUdeviceptr
#define tw_cu_context   CUcontext
#define tw_cu_stream    CUstream
#define tw_cu_attribute CUdevice_attribute
#define tw_cu_advice    CUmem_advise
#define tw_cu_location  CUmemLocation
#define SAME_CALL(field, symbol, optional, parameters)                                                                 \
    _Static_assert(__builtin_types_compatible_p(__typeof__(symbol), CUresult parameters), #symbol " has other parameters");
TW_CUDA_CALLS(SAME_CALL)
