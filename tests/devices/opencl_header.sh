#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# opencl_header.sh CC SOURCE: compiles opencl_header.c against Khronos's CL/cl.h (Debian opencl-c-headers). Without it: 77, skipped.
set -eu
cc=$1 source=$2
if ! echo '#include <CL/cl.h>' | "$cc" -DCL_TARGET_OPENCL_VERSION=300 -fsyntax-only -x c - 2>/dev/null; then
    echo "skipped: no CL/cl.h: opencl-c-headers isn't installed"
    exit 77
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
compile() {
    "$cc" -std=c17 -D_GNU_SOURCE -Wall -fsyntax-only "-I$source/src" "-I$source/include" "$@"
}
compile "$source/tests/devices/opencl_header.c"
# The check can fail: a call with a parameter of another type.
sed 's/size_t pattern_size, size_t size, TW_CL_WAIT/size_t pattern_size, int size, TW_CL_WAIT/' \
    "$source/src/device/opencl/cl.h" >"$scratch/cl.h"
sed "s|\"device/opencl/cl.h\"|\"$scratch/cl.h\"|" "$source/tests/devices/opencl_header.c" >"$scratch/planted.c"
if compile "$scratch/planted.c" 2>"$scratch/errors"; then
    echo "opencl_header: a wrong parameter isn't noticed"
    exit 1
fi
grep -q 'clEnqueueSVMMemFill has other parameters' "$scratch/errors"
echo "opencl_header: the declarations are those of CL/cl.h"
