#!/bin/sh
# Builds the engine crate (Wasmtime's C API as one static library) once, into a cache outside the
# checkout, and prints the folder that then holds libtw_engine.a and include/.
#   TW_ENGINE_DIR    a ready-made folder of that form: used as it is
#   TW_CACHE_DIR     where builds are kept; default $XDG_CACHE_HOME/tensorwasm or ~/.cache/tensorwasm
set -eu

if [ -n "${TW_ENGINE_DIR:-}" ]; then
    [ -f "$TW_ENGINE_DIR/libtw_engine.a" ] && [ -d "$TW_ENGINE_DIR/include" ] ||
        { echo "engine: TW_ENGINE_DIR=$TW_ENGINE_DIR lacks libtw_engine.a or include/" >&2; exit 1; }
    echo "$TW_ENGINE_DIR"
    exit 0
fi

crate=$(cd "$(dirname "$0")/../src/engine/crate" && pwd)
rust=$(sh "$(dirname "$0")/rust.sh") ||
    { echo "engine: no rustc 1.95 or newer: run make deps, or install one with rustup" >&2; exit 1; }
PATH="$rust:$PATH"
cache=${TW_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/tensorwasm}
key=$( { rustc --version; uname -m; cd "$crate"; cat Cargo.toml Cargo.lock build.rs src/*.rs; } |
    sha256sum | cut -c1-16)
out="$cache/engine-$key"
if [ ! -f "$out/libtw_engine.a" ]; then
    echo "engine: building Wasmtime into $out (about 7 minutes on 2 cores, once)" >&2
    mkdir -p "$cache"
    work=$(mktemp -d "$cache/engine-build.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    # The crates' own objects are shared between keys: only what changed is built again.
    (cd "$crate" && TW_INCLUDE_DIR="$work/include" CARGO_TARGET_DIR="$cache/engine-target" \
        cargo build --release --locked >&2)
    cp "$cache/engine-target/release/libtw_engine.a" "$work/"
    mv -T "$work" "$out" 2>/dev/null || [ -f "$out/libtw_engine.a" ]
fi
echo "$out"
