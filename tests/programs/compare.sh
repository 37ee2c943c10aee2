#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# compare.sh TENSOR-WASM MODULE: the program must print the same and leave with the same code, with kernels and without.
set -u
tool=$1 module=$2 failed=0
folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT

run() { # NAME OPTION…
    name=$1
    shift
    "$tool" run "$@" "$module" >"$folder/$name" 2>&1 </dev/null
    echo "left with $?" >>"$folder/$name"
}

check() { # ORIGINAL NAME OPTION…
    original=$1
    shift
    run "$@"
    cmp -s "$folder/$original" "$folder/$1" && return
    failed=1
    echo "$*:"
    diff "$folder/$original" "$folder/$1" | head -20
}

run off --offload off
tail -1 "$folder/off" | grep -qx "left with 0" || { tail -5 "$folder/off"; exit 1; }
[ "$(wc -l <"$folder/off")" -gt 20 ] || { echo "the program says too little"; exit 1; }
# Compiling is what takes long: the first run's kernels, which are the same for any number of threads, are the next ones' from disk.
check off one --offload force --threads 1 --cache-dir "$folder/cache"
check off four --offload force --threads 4 --cache-dir "$folder/cache"
check off learned --offload auto --cache-dir "$folder/cache"
check off auto --offload auto --no-cache
run canonical --offload off --canonical-nan
check canonical kernels --offload force --threads 2 --canonical-nan --no-cache
exit $failed
