#!/bin/sh
# Looks what the build, the demo and the tests need. As root installs what is missing with apt;
# otherwise prints the one line that would, and stops.
set -eu

packages="cmake ninja-build gcc g++ make pkg-config git ca-certificates
clang-19 lld-19 llvm-19-dev libclang-rt-19-dev wasi-libc libclang-rt-19-dev-wasm32 wabt
libisl-dev libsodium-dev libjansson-dev libcmocka-dev zlib1g-dev libzstd-dev python3"

# Rust: rustup's if it is there and new enough, else Debian's. A ready-made engine needs none.
[ -n "${TW_ENGINE_DIR:-}" ] || sh "$(dirname "$0")/rust.sh" >/dev/null || packages="$packages rustc-web cargo-web"

# What some tests want, and are skipped without: a real OpenCL, and its headers.
wanted="pocl-opencl-icd ocl-icd-libopencl1 opencl-c-headers"

missing_of() {
    for package in "$@"; do
        state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
        [ "$state" = installed ] || printf ' %s' "$package"
    done
}

install() {
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -q && apt-get install -q -y --no-install-recommends "$@"
}

# shellcheck disable=SC2086
missing=$(missing_of $packages)
if [ -n "$missing" ] && [ "$(id -u)" != 0 ]; then
    echo "These packages are missing. Install them and run make again:" >&2
    echo "  sudo apt-get install -y --no-install-recommends$missing" >&2
    exit 1
elif [ -n "$missing" ]; then
    echo "deps: installing$missing"
    # shellcheck disable=SC2086
    install $missing
fi

# shellcheck disable=SC2086
unmet=$(missing_of $wanted)
[ -n "$unmet" ] || exit 0
if [ "$(id -u)" = 0 ]; then
    echo "deps: installing for tests$unmet"
    # shellcheck disable=SC2086
    install $unmet && exit 0
fi
echo "deps: some tests are skipped without$unmet"
