#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Documents and program agree.

  documents.py ROOT TENSOR-WASM CC [LIBRARY-FOLDER]   prints what doesn't; LIBRARY-FOLDER: the README's C is run, too
  documents.py --self-test                            plants one offender of each kind and expects to see it

links      a link between documents, or a path in `backquotes`, leads to something that is there
options    the commands and options of tensor-wasm that a document names exist in --help
refusals   inspect --explain all lists src/region/refusals.def, and docs/offload.md names each
rooms      docs/architecture.md has the table of tests/layers/layers.py, and a row for each folder of tests/
example    the C in the README compiles, and prints 12
"""
import glob
import importlib.util
import os
import re
import subprocess
import sys
import tempfile

PATH = re.compile(r"[A-Za-z0-9_.<>*/-]+")
FILE_LIKE = re.compile(r"\.(c|h|def|py|sh|md|t|ir|txt|toml|pc|in|cmake|json)$")
# Not paths of ours, or made by a build.
ELSEWHERE = re.compile(r"^(build/|~|/|bin/|lib/|libexec/|include/$)")
# Options of other programs that stand alone in backquotes.
OTHERS = {"--locked", "--gc-sections"}


def documents(root):
    for pattern in ("*.md", "docs/*.md", "docs/*/*.md"):
        yield from sorted(glob.glob(os.path.join(root, pattern)))


def code_of(text):
    """(line number, code) of each line of a block and each span in backquotes."""
    in_block = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            in_block = not in_block
        elif in_block or line.startswith("    "):
            yield number, line.strip()
        else:
            for span in re.findall(r"`([^`]+)`", line):
                yield number, span


# ---- links ----

def is_there(root, document, target):
    wanted = re.sub(r"<[^>]*>", "*", target)
    places = [os.path.dirname(document), root, os.path.join(root, "src"), os.path.join(root, "tests")]
    return any(glob.glob(os.path.join(place, wanted)) for place in places)


def check_links(root, document, text):
    for number, line in enumerate(text.splitlines(), 1):
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", line):
            if "://" not in target and not is_there(root, document, target):
                yield number, f"the link to {target} leads nowhere"
    for number, code in code_of(text):
        looks = PATH.fullmatch(code) and "/" in code and (code.endswith("/") or FILE_LIKE.search(code))
        if looks and not ELSEWHERE.match(code) and not is_there(root, document, code):
            yield number, f"{code} isn't there"


# ---- options ----

class Program:
    def __init__(self, path):
        self.path, self.known = path, {}
        overview = self.ask("--help")
        commands = re.search(r"^Commands:\n((?:  .*\n)+)", overview, re.M)
        names = re.findall(r"^  ([a-z]+(?: [a-z]+)?)  ", commands.group(1), re.M) if commands else []
        self.commands = {name: set(re.findall(r"--[a-z][a-z0-9-]*", self.ask(*name.split(), "--help"))) for name in names}
        self.general = set(re.findall(r"--[a-z][a-z0-9-]*", overview))

    def ask(self, *words):
        return subprocess.run([self.path, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False).stdout.decode()

    def all_options(self):
        return self.general.union(*self.commands.values())


def check_command(words, program):
    """words: behind `tensor-wasm`. Stops at what is the guest's."""
    groups = {name.split()[0] for name in program.commands if " " in name}
    name = " ".join(words[:2]) if words and words[0] in groups else words[0] if words else ""
    command = name if name in program.commands else "run"
    if re.fullmatch(r"[a-z]{3,}( [a-z]{3,})?", name) and name not in (*program.commands, *groups, "generate"):
        yield f"there is no command {name}"
    known = program.commands.get(command, set()) | program.general
    for word in words:
        if command == "run" and re.search(r"\.(wasm|wat)$|^MODULE$", word):
            return
        option = re.match(r"--[a-z][a-z0-9-]*", word)
        if option and option.group() not in known:
            yield f"tensor-wasm {command} has no option {option.group()}"


def check_options(text, program):
    for number, code in code_of(text):
        call = re.match(r"(?:\$ )?(?:build/\S+/)?tensor-wasm (.*)", code)
        if call:
            for problem in check_command(call.group(1).split(), program):
                yield number, problem
        bare = re.match(r"--[a-z][a-z0-9-]*", code)
        if bare and bare.group() not in program.all_options() | OTHERS:
            yield number, f"no command has an option {bare.group()}"


# ---- refusals, rooms ----

def check_refusals(root, program):
    with open(os.path.join(root, "src/region/refusals.def"), encoding="utf-8") as file:
        names = re.findall(r'^TW_REFUSAL\([A-Z_]+, "([a-z-]+)"', file.read(), re.M)
    listed = re.findall(r"^([a-z-]+)$", program.ask("inspect", "--explain", "all"), re.M)
    if not names or names != listed:
        yield f"inspect --explain all lists {set(listed) ^ set(names) or 'another order'}"
    with open(os.path.join(root, "docs/offload.md"), encoding="utf-8") as file:
        text = file.read()
    for name in names:
        if f"`{name}`" not in text:
            yield f"docs/offload.md doesn't name the refusal {name}"


def table_rows(text, heading):
    part = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    lines = part.group(1).splitlines() if part else []
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| `")]


def check_rooms(root, rooms, text):
    rows = {row[0].strip("`"): row[2].replace(",", " ").split() for row in table_rows(text, "Rooms")}
    there = {room for room in rooms if glob.glob(os.path.join(root, "src", room, "*.[ch]"))}
    for room in sorted(there | set(rows)):
        if room not in rows:
            yield f"docs/architecture.md has no row for {room}/"
        elif room not in there:
            yield f"docs/architecture.md has a row for {room}/, which isn't there"
        elif sorted(rows[room]) != sorted(rooms[room].split()):
            yield f"docs/architecture.md says {rows[room]} for {room}/, layers.py says {rooms[room].split()}"
    named = " ".join(row[0] for row in table_rows(text, "Tests"))
    for folder in sorted(os.path.basename(os.path.dirname(path)) for path in glob.glob(os.path.join(root, "tests/*/"))):
        if not re.search(rf"`{folder}[`/]", named) and not folder.startswith("__"):
            yield f"docs/architecture.md doesn't say what tests/{folder} is"


def load_rooms(root):
    spec = importlib.util.spec_from_file_location("layers", os.path.join(root, "tests/layers/layers.py"))
    layers = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode = True
    spec.loader.exec_module(layers)
    return layers.ROOMS


# ---- the README's C ----

def check_example(root, compiler, library):
    with open(os.path.join(root, "README.md"), encoding="utf-8") as file:
        blocks = re.findall(r"^```c\n(.*?)^```", file.read(), re.M | re.S)
    if not blocks:
        yield "README.md has no example in C"
    for block in blocks:
        with tempfile.TemporaryDirectory() as folder:
            source, out = os.path.join(folder, "example.c"), os.path.join(folder, "example")
            with open(source, "w", encoding="utf-8") as file:
                file.write(block)
            command = [compiler, "-std=c17", "-Wall", "-Wextra", "-Werror", "-I" + os.path.join(root, "include"), source]
            end = ["-L" + library, "-ltensorwasm", "-Wl,-rpath," + library, "-o", out] if library else ["-fsyntax-only"]
            if subprocess.run(command + end, check=False).returncode:
                yield "README.md: the example in C doesn't compile"
            elif library and subprocess.run([out], stdout=subprocess.PIPE, check=False).stdout != b"12\n":
                yield "README.md: the example in C doesn't print 12"


def check_all(root, program, compiler, library):
    rooms = load_rooms(root)
    for document in documents(root):
        with open(document, encoding="utf-8") as file:
            text = file.read()
        for number, problem in [*check_links(root, document, text), *check_options(text, program)]:
            yield f"{os.path.relpath(document, root)}:{number}: {problem}"
        if document.endswith("docs/architecture.md"):
            yield from check_rooms(root, rooms, text)
    yield from check_refusals(root, program)
    yield from check_example(root, compiler, library)


class Played(Program):
    """Stands in for the program in the self-test."""

    def __init__(self):  # pylint: disable=super-init-not-called
        self.commands = {"run": {"--report"}, "inspect": {"--dump", "--json"}, "shot save": {"--to"}}
        self.general = {"--help"}


PLANTED = [
    ("see [that](missing.md)", True),
    ("see [that](there.md)", False),
    ("see [that](https://example.org/x)", False),
    ("in `src/missing.c`", True),
    ("in `there.md`, of `build/x.c` and `a / b`", False),
    ("`--dumb` prints", True),
    ("`--dump=model` prints, `--locked`", False),
    ("    $ tensor-wasm run --reprot x.wasm", True),
    ("    $ tensor-wasm run --report x.wasm --whatever", False),
    ("`tensor-wasm inspct x.wasm`", True),
    ("`tensor-wasm shot save --to v2 x.wasm`", False),
    ("`tensor-wasm shot save --report x.wasm`", True),
    ("`tensor-wasm shot sav x.wasm`", True),
    ("```\ntensor-wasm inspect --report x.wasm\n```", True),
    ("```\ntensor-wasm x.wasm --anything\n```", False),
]


def self_test():
    with tempfile.TemporaryDirectory() as root:
        document = os.path.join(root, "there.md")
        with open(document, "w", encoding="utf-8") as file:
            file.write("x\n")
        for text, offends in PLANTED:
            found = [*check_links(root, document, text), *check_options(text, Played())]
            if bool(found) != offends:
                yield f"{text!r}: expected {'an offence' if offends else 'none'}, got {found}"
        os.makedirs(os.path.join(root, "src/a"))
        os.makedirs(os.path.join(root, "tests/b"))
        with open(os.path.join(root, "src/a/a.c"), "w", encoding="utf-8") as file:
            file.write("\n")
        good = "## Rooms\n| `a` | what | c, d |\n## Tests\n| `b` | x | |\n"
        for text, count in ((good, 0), (good.replace("d |", "e |"), 1), (good.replace("`b`", "`c`"), 1), ("", 2)):
            if len([*check_rooms(root, {"a": "d c"}, text)]) != count:
                yield f"{text!r}: expected {count} offences"


def main():
    if sys.argv[1:] == ["--self-test"]:
        problems = list(self_test())
    else:
        root, path, compiler = sys.argv[1:4]
        problems = list(check_all(root, Program(path), compiler, sys.argv[4] if len(sys.argv) > 4 else None))
    for problem in problems:
        print(problem)
    print(f"documents: {len(problems)} wrong")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
