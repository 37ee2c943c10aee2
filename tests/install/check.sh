#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check.sh CMAKE BUILD SOURCE CC: what is installed is complete, can be moved, and exports what the headers declare.
set -eu
cmake=$1 build=$2 source=$3 cc=$4
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0

wrong() {
    echo "install: $*"
    failed=1
}

"$cmake" --install "$build" --prefix "$scratch/first" >/dev/null
mv "$scratch/first" "$scratch/moved"
prefix=$scratch/moved
pc=$(dirname "$(find "$prefix" -name tensorwasm.pc)")
lib=$(dirname "$pc")
export PKG_CONFIG_PATH="$pc"

worker=libexec/tensorwasm/tensor-wasm-compile
[ -x "$build/$worker" ] || worker=
for file in bin/tensor-wasm $worker include/tensorwasm/tensorwasm.h \
    include/tensorwasm/status.h include/tensorwasm/snapshot.h include/tensorwasm/buffer.h share/man/man1/tensor-wasm.1 share/bash-completion/completions/tensor-wasm \
    share/zsh/site-functions/_tensor-wasm share/fish/vendor_completions.d/tensor-wasm.fish; do
    [ -s "$prefix/$file" ] || wrong "$file is missing"
done

# The symbols are those that the headers declare: no fewer, and none of what is inside.
nm -D --defined-only "$lib/libtensorwasm.so" | awk '{ print $3 }' | sort >"$scratch/exported"
printf '#include <tensorwasm/snapshot.h>\n#include <tensorwasm/buffer.h>\n' | "$cc" -E -P -I"$prefix/include" - | # they include the others
    grep -o '^[A-Za-z_][A-Za-z0-9_ ]*[ *]tw_[a-z0-9_]*(' | grep -o 'tw_[a-z0-9_]*($' | tr -d '(' | sort -u >"$scratch/declared"
[ "$(wc -l <"$scratch/declared")" -ge 30 ] || wrong "the headers' functions weren't found"
diff "$scratch/declared" "$scratch/exported" || wrong "declared (<) and exported (>) differ"

# An embedder needs nothing but pkg-config.
programs=$source/tests/install/smallest.c
[ ! -f "$source/examples/embed.c" ] || programs="$programs $source/examples/embed.c"
for program in $programs; do
    name=$(basename "$program" .c)
    # shellcheck disable=SC2046
    "$cc" -std=c17 -Wall -Wextra -Werror -o "$scratch/$name" "$program" $(pkg-config --cflags --libs tensorwasm) ||
        wrong "$name can't be built"
    LD_LIBRARY_PATH=$lib "$scratch/$name" >"$scratch/out" || wrong "$name fails"
    echo "install: $name prints $(head -1 "$scratch/out")"
done
LD_LIBRARY_PATH=$lib "$scratch/smallest" | grep -qx 12 || wrong "smallest doesn't print 12"

# Header and program in C++ as well.
echo '#include <tensorwasm/snapshot.h>
#include <tensorwasm/buffer.h>
int main() { return tw_abi_version() == TW_ABI_VERSION ? 0 : 1; }' >"$scratch/plus.cc"
# shellcheck disable=SC2046
g++ -std=c++17 -Wall -Wextra -o "$scratch/plus" "$scratch/plus.cc" $(pkg-config --cflags --libs tensorwasm) &&
    LD_LIBRARY_PATH=$lib "$scratch/plus" || wrong "the header is no C++"

# The program finds its library without help, and the library the worker.
"$prefix/bin/tensor-wasm" --version | grep -q '^tensor-wasm ' || wrong "the moved program doesn't start"
"$prefix/bin/tensor-wasm" doctor >"$scratch/doctor" || wrong "the moved doctor fails"
if [ -n "$worker" ]; then
    grep -q "^compile worker  *$prefix/.*/tensor-wasm-compile\$" "$scratch/doctor" || wrong "the moved library doesn't find the worker"

    # Without its worker it offloads nothing, says so, and runs everything. Another installation on this machine may stand in.
    rm "$prefix/$worker"
    cat >"$scratch/fill.wat" <<'END'
(module (memory 1) (func (export "fill") (param i32) (result i32) (local i32)
 (loop $l (i32.store (i32.shl (local.get 1) (i32.const 2)) (i32.const 7))
  (br_if $l (i32.lt_u (local.tee 1 (i32.add (local.get 1) (i32.const 1))) (local.get 0)))) (i32.load (i32.const 400))))
END
    "$prefix/bin/tensor-wasm" run --no-cache --report --invoke fill "$scratch/fill.wat" 1000 >"$scratch/out" 2>"$scratch/report" ||
        wrong "without its worker nothing runs: $(cat "$scratch/report")"
    grep -qx 7 "$scratch/out" || wrong "without its worker the result is wrong"
    "$prefix/bin/tensor-wasm" doctor >"$scratch/doctor"
    ! grep -q "^compile worker .*$prefix" "$scratch/doctor" || wrong "doctor doesn't miss the worker"
    ! grep -q '^compile worker *not installed' "$scratch/doctor" || grep -q '^offload: .*compile worker' "$scratch/report" ||
        wrong "without its worker the report doesn't say so"
fi
exit $failed
