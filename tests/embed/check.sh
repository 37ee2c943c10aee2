#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check.sh PROGRAM EXPECTED: the example prints what is expected, wherever the assembler put the division.
set -eu
"$1" | sed 's/ at 0x[0-9a-f]*$/ at 0xOFFSET/' | diff "$2" -
