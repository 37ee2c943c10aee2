#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The figures: starts the programs in bench/, pairs their samples, and prints tables and JSON.

usage: bench.py BUILD-FOLDER [--quick]

Everything is measured in interleaved pairs (A, B, A, B, or B, A, …). A figure is the median of the pairs' ratios; the
interval beside it is its 95 % bootstrap interval (2,000 resamples, fixed seed). --quick takes few pairs and small sizes: good
for seeing that it all runs, not for quoting.
"""

import json
import math
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile

BUILD = sys.argv[1]
QUICK = "--quick" in sys.argv
PAIRS = 5 if QUICK else 31
STARTS = 2 if QUICK else 5
TOOL = os.path.join(BUILD, "bin", "tensor-wasm")
BENCH = os.path.join(BUILD, "bench", "tw_bench")
MINIMAL = os.path.join(BUILD, "bench", "tw_bench_minimal")
SNAPSHOTS = os.path.join(BUILD, "bench", "tw_bench_snapshots")
IMAGES = os.path.join(BUILD, "bench", "tw_bench_images")
POOLS = os.path.join(BUILD, "bench", "tw_bench_pools")
LOOPS = os.path.join(BUILD, "bench", "loops.wasm")
GUESTS = os.path.join(BUILD, "tests", "guests")
PROGRAMS = ["gemm", "covariance", "jacobi", "transpose", "blur"]
RESULT = {}


def output(*command):
    return subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, check=True).stdout.decode()


def interval(values):
    """(median, low, high)"""
    draw = random.Random(1)
    medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(2000))
    return statistics.median(values), medians[49], medians[1949]


def ratio(pairs):
    return interval([a / b for a, b in pairs])


def geometric_mean(values):
    return math.exp(sum(math.log(v) for v in values) / len(values)) if values else float("nan")


def show(value):
    return f"{value[0]:.2f} [{value[1]:.2f}, {value[2]:.2f}]"


def duration(ns):
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.0f} ns"


def goal(holds):
    return "reached" if holds else "MISSED"


# ---- guests ----

def summarize_guest(entry):
    samples = entry["samples"]
    total = entry["kernel_iterations"] + entry["original_iterations"]
    return {
        "guest": entry["guest"], "serial": entry["serial"],
        "off_ns": statistics.median(s[0] for s in samples), "on_ns": statistics.median(s[1] for s in samples),
        "native_ns": statistics.median(s[2] for s in samples),
        "speedup": ratio([(s[0], s[1]) for s in samples]), "of_native": ratio([(s[2], s[1]) for s in samples]),
        "in_kernels": entry["kernel_iterations"] / total if total else 0.0, "refusals": entry["refusals"],
    }


def print_guests(rows):
    print("\n| guest | off | auto | native | auto is faster than off by | than native by | in kernels |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for row in rows:
        print(f"| {row['guest']}{' (serial)' if row['serial'] else ''} | {duration(row['off_ns'])} | {duration(row['on_ns'])} | "
              f"{duration(row['native_ns'])} | {show(row['speedup'])} | {show(row['of_native'])} | {100 * row['in_kernels']:.1f} % |")


def bench_guests(cache):
    most = 20_000_000
    output(BENCH, "kernels", GUESTS, cache, 1, "", most)  # fills the cache
    starts = []
    for start in range(STARTS):
        whole = start == 0 and not QUICK
        rows = json.loads(output(BENCH, "kernels", GUESTS, cache, PAIRS, "", 0 if whole else most))
        starts.append([summarize_guest(row) for row in rows])
    RESULT["guests"] = starts
    print_guests(starts[0])
    serial = [geometric_mean([r["speedup"][0] for r in rows if r["serial"]]) for rows in starts]
    worst = min((r["speedup"][0], r["guest"]) for rows in starts for r in rows)
    named = {r["guest"]: r["speedup"][0] for r in starts[0]}
    few = ["saxpy", "box blur", "alpha blend", "jacobi-2d", "transpose"]
    print(f"\ngemm f64: {named.get('gemm f64', 0):.2f} (5 to reach: {goal(named.get('gemm f64', 0) >= 5)})")
    for name in few:
        print(f"{name}: {named.get(name, 0):.2f} (3 to reach: {goal(named.get(name, 0) >= 3)})")
    print(f"serial guests, geometric mean of {STARTS} starts, worst start: {min(serial):.3f} "
          f"(0.99 to reach: {goal(min(serial) >= 0.99)})")
    print(f"worst guest of all starts: {worst[0]:.3f}, {worst[1]} (0.90 to reach: {goal(worst[0] >= 0.9)})")


# ---- the rest ----

def bench_dispatch():
    data = json.loads(output(BENCH, "dispatch", os.path.join(BUILD, "bench", "dispatch.wasm"), PAIRS))
    cost = interval([(on - off) / data["calls"] for off, on in data["samples"]])
    RESULT["dispatch_ns"] = cost
    print(f"\nrepeated dispatch, one thread, n = 8: {show(cost)} ns more than the original; {data['dispatches']} dispatches "
          f"(150 to reach: {goal(data['dispatches'] > 0 and cost[0] <= 150)})")


def spawn_pairs(a, b, pairs=None):
    return json.loads(output(BENCH, "spawn", pairs or PAIRS, *a, "--", *b))


def bench_start(folder):
    tiny = os.path.join(folder, "tiny.wasm")
    with open(tiny, "wb") as file:  # (module (func (export "_start")))
        file.write(bytes.fromhex("0061736d0100000001040160000003020100070a01065f737461727400000a040102000b"))
    for name, options in (("offload off", ["--offload", "off"]), ("auto, its default", ["--cache-dir", folder + "/start"])):
        pairs = spawn_pairs([TOOL, "run", *options, tiny], [MINIMAL, "run", tiny], 4 * PAIRS)
        figure = ratio(pairs)
        RESULT[f"start, {name}"] = figure
        print(f"start of a tiny module, {name}: {duration(statistics.median(a for a, _ in pairs))} against "
              f"{duration(statistics.median(b for _, b in pairs))}, {show(figure)} (1.3 to reach: {goal(figure[0] <= 1.3)})")


def time_export(program, export, rounds):
    return statistics.median(int(line) for line in output(program, "time", LOOPS, export, rounds, 5).split())


def bench_stopping():
    loops = {"float_loop": 4000, "vector_loop": 20000, "integer_loop": 2000, "strlen_loop": 4000, "mandelbrot_loop": 1000}
    figures = {}
    print("\n| loop | stoppable against plain |\n| --- | --- |")
    for export, rounds in loops.items():
        pairs = [(time_export(BENCH, export, rounds), time_export(MINIMAL, export, rounds)) for _ in range(PAIRS)]
        figures[export] = ratio(pairs)
        print(f"| {export} | {show(figures[export])} |")
    RESULT["stopping"] = figures
    mean = geometric_mean([f[0] for f in figures.values()])
    print(f"geometric mean: {mean:.3f} (1.03 to reach: {goal(mean <= 1.03)})")


def calibrate(program):
    """The size at which the program takes about 100 ms, offload off."""
    size = 40
    while True:
        pairs = spawn_pairs([TOOL, "run", "--offload", "off", program, size], [TOOL, "--version"], 3)
        if statistics.median(a for a, _ in pairs) >= 1e8:
            return size
        size += size // 10


def first_and_second(program, folder):
    size, rest = calibrate(program), f"{PAIRS}:300"
    off = [TOOL, "run", "--offload", "off", program, size]
    first = ratio(spawn_pairs([TOOL, "run", "--cache-dir", folder + "-{}", program, size], off, rest))
    second = ratio(spawn_pairs([TOOL, "run", "--cache-dir", folder + "-0", program, size], off, rest))
    return size, first, second


def bench_first_run(folder):
    print("\n| a program of 100 ms | nothing cached, against off | with the kernels that this left |\n| --- | --- | --- |")
    rows = {}
    for name in PROGRAMS:
        size, first, second = first_and_second(os.path.join(BUILD, "demo", name + ".wasm"), f"{folder}/{name}")
        rows[name] = (first, second)
        print(f"| {name} {size} | {show(first)} | {show(second)} |", flush=True)
    RESULT["first and second run"] = rows
    first, second = (geometric_mean([row[i][0] for row in rows.values()]) for i in (0, 1))
    print(f"first run, geometric mean: {first:.3f} (1.10 to reach: {goal(first <= 1.1)}); second: {second:.3f}")


def bench_snapshots():
    size = 16 if QUICK else 256
    data = json.loads(output(SNAPSHOTS, PAIRS, size))
    print(f"\nsigned archive of {size} MiB, half random and half zero, one thread, against zstd level 3 and a pass of HMAC-SHA256:")
    for name, pairs in data.items():
        figure = ratio(pairs)
        RESULT[f"snapshot, {name}"] = figure
        print(f"{name}: {duration(statistics.median(a for a, _ in pairs))} against {duration(statistics.median(b for _, b in pairs))} "
              f"of CPU time, {show(figure)} (1.1 to reach: {goal(figure[0] <= 1.1)})")


def bench_images(folder):
    """Restores from trusted images by size, each against the smallest of the same round, and full verification."""
    sizes = [16, 1, 64] if QUICK else [256, 1, 1024, 3072]
    store = os.path.join(folder, "images")
    os.mkdir(store, 0o700)
    data = json.loads(output(IMAGES, PAIRS, store, *sizes))
    print("\nrestore from a trusted image in the page cache, then a call that reads 1 MiB:")
    print("\n| memory | all | of it: open | restore | call | against 1 MiB |\n| --- | --- | --- | --- | --- | --- |")
    smallest, ratios = data["restore"]["1"], {}
    for mib in sorted(sizes):
        samples = data["restore"][str(mib)]
        ratios[mib] = ratio([(a[0], b[0]) for a, b in zip(samples, smallest)])
        parts = [duration(statistics.median(sample[i] for sample in samples)) for i in range(4)]
        RESULT[f"image, restore {mib} MiB"] = {"ns": statistics.median(sample[0] for sample in samples), "over 1 MiB": ratios[mib]}
        print(f"| {mib} MiB | {' | '.join(parts)} | {show(ratios[mib])} |")
    middle = 64 if QUICK else 1024
    taken = statistics.median(sample[0] for sample in data["restore"][str(middle)])
    print(f"\n{middle} MiB: {duration(taken)} (1 ms to reach: {goal(taken < 1e6)})")
    print(f"{max(sizes)} MiB against 1 MiB: {ratios[max(sizes)][0]:.2f} (1.5 to reach: {goal(ratios[max(sizes)][0] <= 1.5)})")
    samples = data["increment"][str(middle)]
    parts = [duration(statistics.median(sample[i] for sample in samples)) for i in range(4)]
    taken = statistics.median(sample[0] for sample in samples)
    RESULT[f"image, restore {middle} MiB on a base"] = {"ns": taken}
    print(f"{middle} MiB, eight pages of it in an image that stands on the other: {parts[0]}, of it open {parts[1]}, restore {parts[2]}, "
          f"call {parts[3]} (1 ms to reach: {goal(taken < 1e6)})")
    for i, name in enumerate(("verified in full", "and copied")):
        speed = data["verify"]["bytes"] / 2**30 / (statistics.median(sample[i] for sample in data["verify"]["ns"]) / 1e9)
        RESULT[f"image, {name}"] = speed
        print(f"{name}, one thread: {speed:.2f} GiB a second of CPU time" + (f" (1 to reach: {goal(speed >= 1)})" if i == 0 else ""))


POOL_KINDS = {"small": "64 KiB of memory, 8 KiB of data", "wasi": "the same with WASI: two arguments, a variable", "folder": "and with a folder",
              "large": "16 MiB, 1 MiB of data, 8 dirty pages", "scattered": "the same, other pages each time"}


def bench_pool_cycles():
    print("\nCPU time of a start from a pool, a trivial call and a full reset, beside the engine's own pool:")
    print("\n| guest | ours | engine, defaults | engine, at its best | ours is faster than the defaults by | than the best by |")
    print("| --- | --- | --- | --- | --- | --- |")
    goals = []
    for kind, words in POOL_KINDS.items():
        data = json.loads(output(POOLS, "cycles", kind, PAIRS))
        cpu = {name: [sample[0] for sample in samples] for name, samples in data.items()}
        best = min((name for name in cpu if name not in ("ours", "engine, defaults")), key=lambda name: statistics.median(cpu[name]))
        over = {name: ratio(list(zip(cpu[name], cpu["ours"]))) for name in ("engine, defaults", best)}
        RESULT[f"pool, {kind}"] = {"over defaults": over["engine, defaults"], "over best": over[best], "best": best,
                                   "ns": {name: statistics.median(values) for name, values in cpu.items()},
                                   "wall ns": {name: statistics.median(sample[1] for sample in samples) for name, samples in data.items()}}
        print(f"| {words} | {duration(statistics.median(cpu['ours']))} | {duration(statistics.median(cpu['engine, defaults']))} | "
              f"{duration(statistics.median(cpu[best]))} ({best.removeprefix('engine, ')}) | {show(over['engine, defaults'])} | {show(over[best])} |")
        if kind in ("small", "wasi"):
            goals.append((f"{words}, over the defaults", over["engine, defaults"][0], 5))
        if kind in ("small", "wasi", "large"):
            goals.append((f"{words}, over the best", over[best][0], 2))
    print()
    for name, value, least in goals:
        print(f"{name}: {value:.2f} ({least} to reach: {goal(value >= least)})")


def bench_pool_threads():
    data = json.loads(output(POOLS, "threads", "small", PAIRS))
    figures = {name: ratio(samples) for name, samples in data.items()}
    RESULT["pool, threads"] = figures
    print("\ntwo threads against one, cycles in the same time:")
    for name, figure in figures.items():
        print(f"{name}: {show(figure)}" + (f" (1.8 to reach: {goal(figure[0] >= 1.8)})" if name == "ours" else ""))


def bench_idle():
    data = json.loads(output(POOLS, "idle", 500 if QUICK else 10000))
    RESULT["idle"] = data
    print(f"\n{data['count']} idle instances of a small module, each:")
    for name in ("after a call", "in the pool"):
        each = data[name]
        total = each["pss"] + each["page tables"] + 256 * each["mappings"]
        print(f"{name}: {total / 1024:.1f} KiB: {each['pss'] / 1024:.1f} of memory (share of shared pages included), {each['page tables'] / 1024:.1f} of page "
              f"tables, {each['mappings']:.1f} mappings at 256 bytes (100 to reach: {goal(total < 100 * 1024)})")


def main():
    folder = tempfile.mkdtemp(prefix="tensorwasm-bench-")
    print(output(TOOL, "doctor"))
    print(f"{PAIRS} pairs a figure{', quick: not for quoting' if QUICK else ''}")
    try:
        for step in (lambda: bench_start(folder), bench_stopping, bench_dispatch, bench_snapshots, lambda: bench_images(folder),
                     bench_pool_cycles, bench_pool_threads, bench_idle, lambda: bench_first_run(folder),
                     lambda: bench_guests(folder + "/kernels")):
            step()
            sys.stdout.flush()
    finally:
        shutil.rmtree(folder)
        with open(os.path.join(BUILD, "bench.json"), "w", encoding="utf-8") as file:
            json.dump(RESULT, file, indent=1)
    print(f"\nas JSON: {os.path.join(BUILD, 'bench.json')}")


main()
