#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a transcript and compares.

  transcript.py --program BIN --guests FOLDER FILE.t
  transcript.py --self-test

A transcript is prose with indented blocks:

    $ a command for sh, run in a scratch folder of the file
    > more lines of it
    a line that it prints on stdout
    ! a line that it prints on stderr
    [2]                              its exit code, when that isn't 0

A line that ends in " (re)" is a regular expression for the whole line; "..." stands for any number of lines; "~" is an
empty line. The scratch folder is also $HOME, so that nothing outside is read or left. $GUESTS is where the test's
programs lie, $DATA is tests/data. A command is given 60 seconds.
"""
import argparse
import difflib
import os
import re
import subprocess
import sys
import tempfile

INDENT = "  "


class Step:
    def __init__(self, line, number):
        self.command, self.number = line, number
        self.out, self.err, self.code = [], [], 0


def read_steps(text):
    steps, step = [], None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith(INDENT):
            step = None
            continue
        line = line[len(INDENT):]
        if line.startswith("$ "):
            step = Step(line[2:], number)
            steps.append(step)
        elif step is None:
            raise ValueError(f"line {number}: an indented line without a command before it")
        elif line.startswith("> ") or line == ">":
            step.command += "\n" + line[2:]
        elif re.fullmatch(r"\[\d+\]", line):
            step.code = int(line[1:-1])
        elif line.startswith("! "):
            step.err.append(line[2:])
        else:
            step.out.append("" if line == "~" else line)
    return steps


def line_matches(expected, actual):
    if expected.endswith(" (re)"):
        return re.fullmatch(expected[:-5], actual) is not None
    return expected == actual


def matches(expected, actual):
    """Whether lines are as expected, "..." being any number of them."""
    if not expected:
        return not actual
    if expected[0] == "...":
        return any(matches(expected[1:], actual[skip:]) for skip in range(len(actual) + 1))
    return bool(actual) and line_matches(expected[0], actual[0]) and matches(expected[1:], actual[1:])


def run_step(step, folder, environment):
    try:
        done = subprocess.run(["sh", "-c", step.command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=240, check=False)
    except subprocess.TimeoutExpired:
        return ["it didn't end in 240 seconds"]
    out, err = (stream.decode("utf-8", "replace").splitlines() for stream in (done.stdout, done.stderr))
    problems = []
    for name, expected, actual in (("stdout", step.out, out), ("stderr", step.err, err)):
        if not matches(expected, actual):
            problems.append(f"{name} differs:")
            problems += difflib.unified_diff(expected, actual, "expected", "actual", lineterm="", n=1)
    code = done.returncode if done.returncode >= 0 else 128 - done.returncode
    if code != step.code:
        problems.append(f"exit code {code}, expected {step.code}")
    return problems


def run_text(text, environment):
    """The problems of a transcript, and how many commands it has."""
    steps, found = read_steps(text), []
    with tempfile.TemporaryDirectory(prefix="tw-transcript-") as folder:
        environment = dict(environment, HOME=folder)
        for step in steps:
            problems = run_step(step, folder, environment)
            if problems:
                found += [f"line {step.number}: $ {step.command}"] + ["    " + line for line in problems]
    return found, len(steps)


SELF = [
    ("  $ echo a; echo b >&2; exit 3\n  a\n  ! b\n  [3]\n", True),
    ("  $ echo a\n  b\n", False),
    ("  $ echo a\n", False),
    ("  $ echo a >&2\n  a\n", False),
    ("  $ exit 1\n", False),
    ("  $ printf '1\\n2\\n3\\n4\\n'\n  1\n  ...\n  4\n", True),
    ("  $ printf '1\\n2\\n3\\n4\\n'\n  1\n  ...\n  5\n", False),
    ("  $ echo abc\n  a.* (re)\n", True),
    ("  $ echo abc\n  a.*d (re)\n", False),
    ("  $ cat <<X\n  > in\n  > X\n  in\n", True),
    ("  $ echo; echo x\n  ~\n  x\n", True),
    ("  $ kill -SEGV $$\n  [139]\n", True),
]


def self_test():
    wrong = 0
    for text, good in SELF:
        problems, _ = run_text(text, os.environ)
        if bool(problems) == good:
            wrong += 1
            print(f"{text!r}: expected {'no problem' if good else 'a problem'}, got {problems}")
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--program", help="the folder with tensor-wasm in it")
    parser.add_argument("--guests")
    parser.add_argument("file", nargs="?")
    args = parser.parse_args()
    if args.self_test:
        return 1 if self_test() else 0
    here = os.path.dirname(os.path.abspath(__file__))
    environment = {name: value for name, value in os.environ.items() if name.startswith(("ASAN_", "UBSAN_", "TSAN_"))}
    environment.update(PATH=os.pathsep.join([os.path.abspath(args.program), os.path.join(here, "bin"), os.environ["PATH"]]),
                       GUESTS=os.path.abspath(args.guests), DATA=os.path.join(os.path.dirname(here), "data"), LC_ALL="C.UTF-8")
    with open(args.file, encoding="utf-8") as file:
        problems, count = run_text(file.read(), environment)
    print("\n".join(problems))
    print(f"{os.path.basename(args.file)}: {count} commands, {'differences above' if problems else 'all as written'}")
    return 1 if problems or not count else 0


if __name__ == "__main__":
    sys.exit(main())
