/* SPDX-License-Identifier: Apache-2.0 */
/* Our declarations of OpenCL are Khronos's: compiled, never run, where a real CL/cl.h is. */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include "device/opencl/cl.h"

#define SAME_TYPE(ours, theirs)                                                                                        \
    _Static_assert(sizeof(ours) == sizeof(theirs) && _Alignof(ours) == _Alignof(theirs) &&                             \
                       ((ours)-1 < (ours)0) == ((theirs)-1 < (theirs)0), #ours " isn't " #theirs)
SAME_TYPE(tw_cl_int, cl_int);
SAME_TYPE(tw_cl_uint, cl_uint);
SAME_TYPE(tw_cl_bool, cl_bool);
SAME_TYPE(tw_cl_flags, cl_bitfield);
SAME_TYPE(tw_cl_context_property, cl_context_properties);
SAME_TYPE(tw_cl_queue_property, cl_queue_properties);

#define SAME_VALUE(name, value) _Static_assert((long long)(name) == (value), #name " has another value");
TW_OPENCL_CONSTANTS(SAME_VALUE)

/* The parameters once more, with their types in the place of ours. */
#define tw_cl_int              cl_int
#define tw_cl_uint             cl_uint
#define tw_cl_bool             cl_bool
#define tw_cl_flags            cl_bitfield
#define tw_cl_context_property cl_context_properties
#define tw_cl_queue_property   cl_queue_properties
#define tw_cl_platform         cl_platform_id
#define tw_cl_device           cl_device_id
#define tw_cl_context          cl_context
#define tw_cl_queue            cl_command_queue
#define tw_cl_event            cl_event
#define SAME_CALL(field, symbol, optional, result, parameters)                                                         \
    _Static_assert(__builtin_types_compatible_p(__typeof__(symbol), result parameters), #symbol " has other parameters");
TW_OPENCL_CALLS(SAME_CALL)
