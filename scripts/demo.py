#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs example programs with offload off and on, and prints a table.

usage: demo.py TENSOR-WASM FOLDER NAME...

Each program runs three times as a user would run it, from the command line, start and compilation included: with
offload off; with offload on and an empty kernel cache; and with the kernels that the run before left in it. "equal" compares
the output, which is a hash of every byte of the result.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time


def run(tool, program, *options):
    start = time.monotonic()
    done = subprocess.run([tool, "run", *options, program], stdout=subprocess.PIPE)
    seconds = time.monotonic() - start
    if done.returncode != 0:
        sys.exit(f"demo: {program} {' '.join(options)} ended with {done.returncode}")
    return seconds, done.stdout


def read_json(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return {}


# Functions in which the programs spend their time; the rest prepares the data and prints.
HOT = {"gemm", "centre", "covariance", "saxpy", "blend", "blur", "jacobi", "transpose", "running_sum"}


def is_hot(loop):
    return loop.split("#")[0] in HOT


def fate_of_region(region):
    kernel, original = region.get("kernel_iterations", 0), region.get("original_iterations", 0)
    refusals = ", ".join(f"{name} {count}" for name, count in region.get("refusals", {}).items() if count)
    if region.get("dispatches"):
        share = 100 * kernel / max(1, kernel + original)
        text = f"{region['dispatches']} dispatches, {share:.1f} % of the iterations in kernels"
        if region.get("schedule"):
            text += f"; {region['schedule']}"
        return text + (f"; not: {refusals}" if refusals else "")
    return f"original ({refusals or 'never reached'})"


def fates(tool, program, report):
    """One line for each hot loop: the regions of the report, then the loops that were refused at load time."""
    lines = [(r["name"], fate_of_region(r)) for r in report.get("regions", []) if is_hot(r["name"]) and r["arrivals"]]
    done = subprocess.run([tool, "inspect", "--json", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    loops = json.loads(done.stdout).get("loops", []) if done.returncode == 0 else []
    for loop in loops:
        refusal = loop.get("refusal")
        if is_hot(loop["name"]) and refusal and refusal not in ("none", "inner"):
            lines.append((loop["name"], f"original: {refusal}" + (f" ({loop['detail']})" if loop.get("detail") else "")))
    return lines


def main():
    tool, folder, names = sys.argv[1], sys.argv[2], sys.argv[3:]
    cache = tempfile.mkdtemp(prefix="tensorwasm-demo-")
    report_path = os.path.join(cache, "report.json")
    on = ["--offload", "auto", "--cache-dir", os.path.join(cache, "kernels")]
    everything = {}
    print(f"\n{'program':<12} {'off':>9} {'on, first':>10} {'on':>9} {'speed-up':>9}  equal")
    try:
        for name in names:
            program = os.path.join(folder, f"{name}.wasm")
            off, expected = run(tool, program, "--offload", "off")
            first, cold = run(tool, program, *on)
            again, warm = run(tool, program, *on, "--report-format", "json", "--report-file", report_path)
            everything[name] = fates(tool, program, read_json(report_path))
            equal = "yes" if expected == cold == warm else "NO"
            print(f"{name:<12} {off:>7.2f} s {first:>8.2f} s {again:>7.2f} s {off / again:>8.2f}x  {equal}", flush=True)
            if equal == "NO":
                sys.exit(1)
    finally:
        shutil.rmtree(cache)
    print("\nWhat became of the hot loops (third run):")
    for name in names:
        for loop, fate in everything[name]:
            print(f"  {name + ': ' + loop:<34} {fate}")


main()
