#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check.sh PROGRAM: guests behave the same without the large reservation.
set -eu
program=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/guest.wat" <<'END'
(module (memory 1)
 (func (export "load") (param i32) (result i32) (i32.load (local.get 0)))
 (func (export "far") (param i32) (result i32) (i32.load offset=0x7fffffff (local.get 0)))
 (func (export "grow") (param i32) (result i32) (memory.grow (local.get 0)))
 (func (export "spin") (loop $l (br $l)))
 (func (export "sum") (param i32) (result i32) (local i32)
  (loop $l (i32.store (local.get 1) (local.get 1))
   (br_if $l (i32.lt_u (local.tee 1 (i32.add (local.get 1) (i32.const 4))) (local.get 0))))
  (i32.load (i32.const 1000))))
END
ulimit -v 3000000
failures=0
expect() { # WHAT EXPECTED ARGUMENTS…
    what=$1 expected=$2
    shift 2
    actual=$("$program" run --no-cache "$@" 2>&1) || true
    case $actual in
        $expected) ;;
        *) echo "$what: expected $expected, have $actual"; failures=$((failures + 1)) ;;
    esac
}
"$program" doctor | grep -q "with bounds checks" || { echo "the doctor doesn't tell"; failures=1; }
expect "saying so" "*256 MiB a memory, and guests carry bounds checks*" -v --invoke load "$folder/guest.wat" 0
expect "the last word" 0 --invoke load "$folder/guest.wat" 65532
for at in 65533 65536 2147483647 -1; do
    expect "an access at $at" "*out of bounds memory access*" --invoke load "$folder/guest.wat" "$at"
    expect "an access far beyond $at" "*out of bounds memory access*" --invoke far "$folder/guest.wat" "$at"
done
expect "growing" 1 --invoke grow "$folder/guest.wat" 100
expect "growing too far" -1 --invoke grow "$folder/guest.wat" 60000
expect "stopping" "*time limit*" --timeout 100ms --invoke spin "$folder/guest.wat"
expect "a kernel" 1000 --offload force --invoke sum "$folder/guest.wat" 65536
exit $failures
