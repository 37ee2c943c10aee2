#!/bin/sh
# Prints the figures of docs/performance.md. usage: bench.sh BUILD-FOLDER [--quick]
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "$1" && pwd)
shift
mkdir -p "$build/demo"
clang-19 --target=wasm32-wasi -O2 "$here/examples/guests/gemm.c" -o "$build/demo/gemm.wasm"
exec python3 "$here/scripts/bench.py" "$build" "$@"
