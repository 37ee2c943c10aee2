#!/bin/sh
# Prints the figures of docs/performance.md. usage: bench.sh BUILD-FOLDER [--quick]
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "$1" && pwd)
shift
mkdir -p "$build/demo"
for name in gemm covariance jacobi transpose blur; do
    clang-19 --target=wasm32-wasi -O2 "$here/examples/guests/$name.c" -o "$build/demo/$name.wasm"
done
exec python3 "$here/scripts/bench.py" "$build" "$@"
