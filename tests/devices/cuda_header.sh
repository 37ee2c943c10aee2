#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# cuda_header.sh CC SOURCE CACHE: compiles cuda_header.c against NVIDIA's cuda.h, from PyPI's nvidia-cuda-runtime, which is fetched
# once into CACHE. TW_CUDA_HEADERS names a folder with a cuda.h instead. Without one and without a network: 77, skipped.
set -eu
cc=$1 source=$2 cache=$3
package=nvidia-cuda-runtime version=13.0.96
headers=${TW_CUDA_HEADERS:-}

fetch() {
    kept=$cache/cuda-headers-$version
    if [ ! -f "$kept/cuda.h" ]; then
        scratch=$(mktemp -d)
        trap 'rm -rf "$scratch"' EXIT
        python3 -m pip --disable-pip-version-check download -q --no-deps --only-binary :all: --timeout 15 --retries 0 \
            -d "$scratch" "$package==$version" >"$scratch/log" 2>&1 || return 1
        python3 -m zipfile -e "$scratch"/*.whl "$scratch/wheel" || return 1
        found=$(find "$scratch/wheel" -name cuda.h | head -1)
        [ -n "$found" ] || return 1
        mkdir -p "$cache" && rm -rf "$kept" && cp -r "$(dirname "$found")" "$kept.$$" && mv "$kept.$$" "$kept"
    fi
    headers=$kept
}

if [ -z "$headers" ] && ! fetch; then
    echo "skipped: no cuda.h: $package $version can't be had from PyPI, and TW_CUDA_HEADERS is not set"
    exit 77
fi
compile() {
    "$cc" -std=c17 -D_GNU_SOURCE -Wall -fsyntax-only "-I$source/src" "-I$source/include" -isystem "$headers" "$@"
}
compile "$source/tests/devices/cuda_header.c"
# The check can fail: a call with a parameter of another type.
sed 's/(tw_cu_context \* context, tw_cu_device device))/(tw_cu_context * context, size_t device))/' \
    "$source/src/device/cuda/driver.h" >"${scratch:=$(mktemp -d)}/driver.h"
trap 'rm -rf "$scratch"' EXIT
sed "s|\"device/cuda/driver.h\"|\"$scratch/driver.h\"|" "$source/tests/devices/cuda_header.c" >"$scratch/planted.c"
if compile "$scratch/planted.c" 2>"$scratch/errors"; then
    echo "cuda_header: a wrong parameter isn't noticed"
    exit 1
fi
grep -q 'cuDevicePrimaryCtxRetain has other parameters' "$scratch/errors"
echo "cuda_header: the declarations are those of $package $version"
