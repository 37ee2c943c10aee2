#!/bin/sh
# A suite that finds nothing proves nothing: each known bug, planted behind -DTW_PLANT=…, must be found.
# usage: planted.sh SOURCE-FOLDER BUILD-FOLDER LOOK [BUG[:START]...]
# LOOK: options of the random nests, which say how far they look for each bug: "--seconds 300", or "--count 8000 --start 1", which looks
# at the same nests on any machine. Bugs default to all nine. One build folder serves them all: only the files that mention a bug are
# compiled again. START: where a look at the same nests begins for a bug that few of them meet.
set -eu
source=$1 build=$2 look=$3
shift 3
mkdir -p "$build"
[ $# -gt 0 ] || set -- DROP_DEPENDENCE SHIFT_FOOTPRINT SKIP_WRAP SWAP_MIN POINT_INTERVAL NEAR_DISTANCE:0x400 LIMIT_BY_ONE POINT_INDEX ASK_STALE
missed=

for bug in "$@"; do
    from=
    case $bug/$look in *:*/*--start*) from="--start ${bug#*:}" ;; esac
    bug=${bug%:*}
    grep -rqs "TW_PLANT_$bug" "$source/src" || { echo "$bug: nothing is planted under that name"; missed="$missed $bug"; continue; }
    cmake -S "$source" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=None -DCMAKE_C_FLAGS=-O1 -DTW_PLANT="$bug" >"$build.log" 2>&1 &&
        cmake --build "$build" --target nests guests_suite guests_wrap tensor-wasm-compile >>"$build.log" 2>&1 ||
        { cat "$build.log"; exit 2; }
    if ! "$build/tests/guests/guests_wrap" "$build/tests/guests/O2" >"$build.out" 2>&1; then
        echo "$bug: found at the top of the memory: $(grep -m 1 'not ok' "$build.out" | cut -c 1-200)"
    elif ! "$build/tests/nests/nests" $look $from --stop 1 >"$build.out" 2>&1; then # split into words: options
        echo "$bug: found by the random nests: $(grep -m 1 -E 'different|crashed' "$build.out" | cut -c 1-200)"
    elif ! "$build/tests/guests/guests_suite" "$build/tests/guests" O2 >"$build.out" 2>&1; then
        echo "$bug: found by the guests: $(grep -m 1 'not ok' "$build.out" | cut -c 1-200)"
    else
        echo "$bug: NOT FOUND"
        missed="$missed $bug"
    fi
done

[ -z "$missed" ] || { echo "not found:$missed"; exit 1; }
