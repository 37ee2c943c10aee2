#!/bin/sh
# Builds the example programs with clang and runs each with offload off and on. usage: demo.sh BUILD-FOLDER
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "$1" && pwd)
guests="$build/demo"
mkdir -p "$guests"
echo "Building the example programs: clang-19 --target=wasm32-wasi -O2 examples/guests/*.c"
for source in "$here"/examples/guests/*.c; do
    name=$(basename "$source" .c)
    clang-19 --target=wasm32-wasi -O2 -Wall -Wextra "$source" -o "$guests/$name.wasm"
done
exec python3 "$here/scripts/demo.py" "$build/bin/tensor-wasm" "$guests" \
    gemm covariance saxpy blend blur jacobi transpose running_sum
