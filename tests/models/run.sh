#!/bin/sh
# run.sh CLANG SURVEY SOURCE LEVEL: compiles SOURCE for wasm, surveys it, compares with SOURCE's golden for LEVEL. Level simd: -O3 with vectors.
set -eu
clang=$1 survey=$2 source=$3 level=$4
golden="${source%.c}.$level.txt"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
flags="-$level"
[ "$level" = simd ] && flags="-O3 -msimd128"
# shellcheck disable=SC2086
"$clang" --target=wasm32 $flags -nostdlib -fno-builtin -Wl,--no-entry -o "$work/module.wasm" "$source"
# Offsets move with the linker's version; what counts is names and models.
"$survey" "$work/module.wasm" describe | sed -E 's/ at 0x[0-9a-f]+//g' > "$work/have.txt"
if [ "${TW_ACCEPT:-}" = 1 ]; then
    cp "$work/have.txt" "$golden"
fi
diff -u "$golden" "$work/have.txt"
