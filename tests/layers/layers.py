#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Includes point downward only, and each foreign library has one home.

  layers.py ROOT         checks every C file under ROOT/src; prints offenders
  layers.py --self-test  plants one offender of each kind in a scratch tree and expects to see it

The table below is the rule. A new arrow is a decision: it must keep the table free of cycles, which is checked too.
"""
import os
import re
import sys
import tempfile

# room: what it may include besides itself, base and the public headers' types
ROOMS = {
    "base": "",
    "os": "",
    "json": "",
    "wasm": "",
    "ir": "wasm",
    "lift": "wasm ir",
    "analysis": "ir",
    "region": "analysis ir lift wasm json",
    "rewrite": "region analysis ir wasm",
    "schedule": "region json",
    "codegen": "schedule region ir",
    "compile": "region json os",
    "compile/worker": "compile codegen schedule region json os",
    "memory": "os",
    "engine": "memory os",
    "kcache": "os",
    "device": "memory os",
    "device/cuda": "device memory os",
    "device/opencl": "device memory os",
    "dispatch": "region kcache device compile memory os",
    "host": "engine device memory os",
    "tenant": "os",
    "blake3": "",
    "snapshot": "blake3 os",
    # puts a module's way together, from bytes to calls
    "instance": "engine host dispatch snapshot tenant rewrite region wasm kcache compile device memory os",
    # implements the public API: everything below
    "api": "instance host tenant snapshot dispatch compile kcache device/cuda device/opencl device engine memory "
           "rewrite region analysis lift ir wasm json os",
    # the first users of the public API: never the inside
    "cli": "json os",
    "server": "json os",
    "store": "json os",
}
EVERYONE = {"base"}
PUBLIC = "tensorwasm/"
# These show that a program of an embedder could be written: not even base.
OUTSIDE = {"cli", "server", "store"}

# what an include begins with: the rooms it may stand in
FOREIGN = {
    "wasmtime": "engine",
    "wasm.h": "engine",
    "wasi.h": "engine",
    "isl/": "schedule",
    "llvm-c/": "codegen",
    "llvm/": "",
    # found at run time, by declarations of our own
    "cuda": "",
    "CL/": "",
    "sodium": "kcache snapshot",
    "zstd": "snapshot",
    "jansson": "json cli server store region compile compile/worker api instance",
    "event2/": "server",
    "libwebsockets": "server",
    "curl/": "server",
    "sqlite3": "store",
    "libpq": "store",
    "cmocka": "",
}

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^">]+)[">]')


def room_of(path):
    """The longest known room that a path under src/ lies in; None for a folder without a row."""
    parts = path.split("/")[:-1]
    for size in range(len(parts), 0, -1):
        if "/".join(parts[:size]) in ROOMS:
            return "/".join(parts[:size])
    return None


def may_include(room, other):
    if room == other or other in ROOMS[room].split():
        return True
    return other in EVERYONE and room not in OUTSIDE


def check_quoted(room, name):
    if name.startswith(PUBLIC):
        return None
    other = room_of(name)
    if other is None:
        return f'"{name}": write the path from src/, and give its room a row in tests/layers/layers.py'
    if not may_include(room, other):
        allowed = " ".join(sorted(arrows(room)))
        return f'"{name}": {room}/ may include only itself and {allowed}'
    return None


def check_foreign(room, name):
    for prefix, homes in FOREIGN.items():
        if name.startswith(prefix) and room not in homes.split():
            return f"<{name}>: belongs to {homes or 'no room of src/'}, not to {room}/"
    return None


def check_file(path, text):
    """The offences of one file; path is relative to src/."""
    room = room_of(path)
    if room is None:
        return [(1, "its folder has no row in tests/layers/layers.py")]
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        kind, name = match.groups()
        problem = check_foreign(room, name)
        if problem is None and kind == '"':
            problem = check_quoted(room, name)
        if problem:
            found.append((number, problem))
    return found


def check_tree(root):
    offences, files = [], 0
    source = os.path.join(root, "src")
    for folder, _, names in os.walk(source):
        for name in sorted(names):
            if not name.endswith((".c", ".h", ".def")):
                continue
            full = os.path.join(folder, name)
            path = os.path.relpath(full, source)
            with open(full, encoding="utf-8") as file:
                text = file.read()
            files += 1
            offences += [f"src/{path}:{line}: {problem}" for line, problem in check_file(path, text)]
    return files, offences


def arrows(room):
    return ROOMS[room].split() + [other for other in EVERYONE if other != room and room not in OUTSIDE]


def find_cycle():
    """A room that can reach itself through others, or None: the table must be layers."""
    for start in ROOMS:
        seen, queue = set(), arrows(start)
        while queue:
            room = queue.pop()
            if room == start:
                return start
            if room not in seen:
                seen.add(room)
                queue += arrows(room)
    return None


PLANTED = [
    ("wasm/a.c", '#include "ir/ir.h"', True),
    ("base/a.c", '#include "os/clock.h"', True),
    ("cli/a.c", '#include "api/inside.h"', True),
    ("cli/a.c", '#include "base/bytes.h"', True),
    ("region/a.c", "#include <wasmtime.h>", True),
    ("dispatch/a.h", "#  include <isl/set.h>", True),
    ("compile/a.c", '#include "compile/worker/job.h"', True),
    ("region/a.c", "#include <llvm-c/Core.h>", True),
    ("wasm/a.c", '#include "decode.h"', True),
    ("nowhere/a.c", '#include "base/bytes.h"', True),
    ("api/a.c", '#include "instance/spawn.h"', False),
    ("engine/a.c", "#include <wasmtime.h>", False),
    ("cli/a.c", '#include "tensorwasm/tensorwasm.h"\n#include <jansson.h>\n#include "cli/parse.h"', False),
    ("compile/worker/a.c", '#include "compile/compile.h"\n#include "codegen/emit.h"', False),
    ("snapshot/a.c", '#include <zstd.h>\n#include "blake3/blake3.h"', False),
    ("kcache/a.c", "#include <zstd.h>", True),
    ("snapshot/a.c", '#include "engine/engine.h"', True),
    ("device/cuda/a.c", "#include <cuda.h>", True),
    ("device/cuda/a.c", '#include "device/opencl/cl.h"', True),
    ("device/a.c", '#include "device/cuda/cuda.h"', True),
    ("api/a.c", '#include "device/cuda/cuda.h"', False),
    ("wasm/a.c", "// no include: \"ir/ir.h\"", False),
]


def self_test():
    failures = []
    for path, text, offends in PLANTED:
        with tempfile.TemporaryDirectory() as root:
            full = os.path.join(root, "src", path)
            os.makedirs(os.path.dirname(full))
            with open(full, "w", encoding="utf-8") as file:
                file.write(text + "\n")
            files, offences = check_tree(root)
        if files != 1 or bool(offences) != offends:
            failures.append(f"{path}: {text!r}: expected {'an offence' if offends else 'none'}, got {offences}")
    ROOMS["base"] = "api"
    if find_cycle() is None:
        failures.append("a cycle in the table isn't seen")
    return failures


def main():
    if sys.argv[1:] == ["--self-test"]:
        problems = self_test()
        count = len(PLANTED) + 1
    else:
        count, problems = check_tree(sys.argv[1])
        cycle = find_cycle()
        if cycle:
            problems.append(f"tests/layers/layers.py: the row of {cycle} makes a cycle")
        if count == 0:
            problems.append("no files were found: is the path right?")
    for problem in problems:
        print(problem)
    print(f"layers: {count} looked at, {len(problems)} wrong")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
