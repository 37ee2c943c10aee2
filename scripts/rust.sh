#!/bin/sh
# Prints the folder of a rustc and cargo that are new enough for Wasmtime's crates (1.95), or fails silently. rustup's
# come first, then the PATH's, then Debian's own (rustc-web, cargo-web).
set -eu

new_enough() {
    [ -x "$1/cargo" ] && "$1/rustc" --version 2>/dev/null |
        awk '{ split($2, v, "."); found = v[1] > 1 || (v[1] == 1 && v[2] >= 95) } END { exit !found }'
}

on_path=$(command -v rustc || true)
for folder in "${CARGO_HOME:-${HOME:-/nonexistent}/.cargo}/bin" "${on_path%/rustc}" /usr/bin; do
    if [ -n "$folder" ] && new_enough "$folder"; then
        echo "$folder"
        exit 0
    fi
done
exit 1
