#!/usr/bin/env python3
"""Holds the figures of `gqlrun profile` against what others measure of the same work.

    Tests/Figures/profile.py PROGRAM [--posts N] [--rounds N] [--store memory] [--bench BENCH SCRATCH]
                             [--slow-disk]

In turn, round after round: `gqlrun profile` with one run, and the same measured run started from here and
watched from outside (wait4, as /usr/bin/time does, with a finer clock). Ends with 1 when the median of the
total differs by more than 3 % or the peak of the memory by more than 5 %, when the stages and the
profiler's own work do not add up to the total, or when that work is 3 % or more of it.

With --bench, gqlrun-bench measures the same response, and the ratio to bare yajl must be the same
within the spread of both. With --slow-disk, every write and sync of a SQLite file waits for 40 ms (a library
in LD_PRELOAD, made with cc), and the store must be named as the bottleneck. Run it on a machine that does
nothing else.
"""
import argparse, json, os, shutil, statistics, subprocess, sys, tempfile, time

parser = argparse.ArgumentParser()
parser.add_argument("program")
parser.add_argument("--posts", type=int, default=2500)
parser.add_argument("--rounds", type=int, default=10)
parser.add_argument("--store", action="append")
parser.add_argument("--bench", nargs=2, metavar=("BENCH", "SCRATCH"))
parser.add_argument("--slow-disk", action="store_true")
options = parser.parse_args()
program = os.path.abspath(options.program)
stores = options.store or ["memory", "sqlite"]
failures = []


def outside(words):
    """What a process takes from its start to its end: seconds, processor seconds, peak in bytes."""
    null = os.open("/dev/null", os.O_RDWR)
    start = time.monotonic()
    pid = os.posix_spawn(words[0], words, os.environ, file_actions=[
        (os.POSIX_SPAWN_DUP2, null, 0), (os.POSIX_SPAWN_DUP2, null, 1)])
    _, status, usage = os.wait4(pid, 0)
    seconds = time.monotonic() - start
    os.close(null)
    if status != 0:
        sys.exit(f"{' '.join(words)} ended with status {status}")
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss << 10


def profile(words, report):
    subprocess.run([program, "profile", *words, "--json", report], check=True,
                   stdout=subprocess.DEVNULL)
    with open(report) as file:
        return json.load(file)


def compare(what, ours, theirs, limit):
    off = statistics.median(ours) / statistics.median(theirs) - 1
    unit = (lambda x: f"{x * 1000:.1f} ms") if what != "peak" else (lambda x: f"{x / 2**20:.1f} MiB")
    ok = abs(off) <= limit
    print(f"  {what:9} {unit(statistics.median(ours)):>11} here, "
          f"{unit(statistics.median(theirs)):>11} outside: {off:+.1%} {'' if ok else 'TOO FAR'}")
    if not ok:
        failures.append(what)


def against_outside(store, file, document, folder):
    inside, watched = [], []

    def measure_inside():
        job = profile([*words, "--store", store, "--runs", "1", "--warmup", "0", "--no-baselines",
                       "--no-shape"], f"{folder}/report.json")["jobs"][0]
        inside.append(job)

    def measure_outside():
        watched.append(outside([program, "profile-run", "--kind", "job", *words, "--store", store]))

    words = ["--file", file, "--document", document, "--var", f"first={options.posts}"]
    for number in range(options.rounds):
        # Whoever comes second finds the file in faster memory.
        both = [measure_inside, measure_outside]
        for measure in both if number % 2 == 0 else reversed(both):
            measure()
    print(f"{store}, {os.path.getsize(file) / 1e6:.1f} MB, {options.rounds} rounds")
    compare("total", [j["seconds"]["median"] for j in inside], [w[0] for w in watched], 0.03)
    # Processor time depends on what the other cores do; it is shown only.
    compare("processor", [j["cpuSeconds"]["median"] for j in inside], [w[1] for w in watched], 1)
    compare("peak", [j["peakBytes"]["median"] for j in inside], [w[2] for w in watched], 0.05)
    own = statistics.median(j["timerShare"] for j in inside)
    sums = [sum(s["seconds"]["median"] for s in j["stages"]) / j["seconds"]["median"] for j in inside]
    rest = statistics.median(1 - s for s in sums)
    print(f"  the profiler's own work {own:.2%}; the stages are {1 - rest:.2%} of the total")
    if own >= 0.03:
        failures.append("the profiler's own work")
    if not -0.002 <= rest <= own + 0.005:
        failures.append("the sum of the stages")


def against_bench(bench, scratch, folder):
    results = f"{folder}/bench.json"
    subprocess.run([bench, "run", "--posts", str(options.posts), "--shapes", "none", "--rounds",
                    str(options.rounds), "--rows", "yajl,memory,sqlite", "--scratch", scratch,
                    "--output", results], check=True, stdout=subprocess.DEVNULL)
    with open(results) as file:
        workload = json.load(file)["workloads"][0]
    place = f"{scratch}/{workload['name']}"
    report = profile(["--file", f"{place}/response.json", "--document", f"{place}/document.graphql",
                      "--var", "first=1", "--runs", str(options.rounds), "--no-shape", "--no-baselines",
                      *[word for store in ("memory", "sqlite") for word in ("--store", store)]],
                     f"{folder}/report.json")
    for store, job in zip(("memory", "sqlite"), report["jobs"]):
        ratio = next(row["yajlRatio"] for row in workload["rows"] if row["id"] == store)
        ours = job["toFloor"]
        ok = ours["low"] <= ratio["high"] and ratio["low"] <= ours["high"]
        print(f"{store}, {workload['bytes'] / 1e6:.1f} MB, to bare yajl: {ours['value']:.2f} "
              f"({ours['low']:.2f} to {ours['high']:.2f}) here, {ratio['median']:.2f} "
              f"({ratio['low']:.2f} to {ratio['high']:.2f}) by gqlrun-bench "
              f"{'' if ok else 'TOO FAR'}")
        if not ok:
            failures.append(f"the ratio to bare yajl, {store}")


SLOW = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
#include <unistd.h>
static void pause_(void) { struct timespec t = {0, 40000000}; nanosleep(&t, NULL); }
#define SLOW(type, name, parameters, arguments) \\
  type name parameters { \\
    static type (*next) parameters; \\
    if (!next) next = (type (*) parameters)dlsym(RTLD_NEXT, #name); \\
    pause_(); \\
    return next arguments; \\
  }
SLOW(int, fdatasync, (int file), (file))
SLOW(int, fsync, (int file), (file))
SLOW(ssize_t, pwrite64, (int file, const void *from, size_t size, off64_t at), (file, from, size, at))
"""


def slow_disk(folder):
    with open(f"{folder}/slow.c", "w") as file:
        file.write(SLOW)
    subprocess.run([shutil.which("cc") or "clang", "-shared", "-fPIC", "-o", f"{folder}/slow.so", f"{folder}/slow.c", "-ldl"],
                   check=True)
    words = ["--generate", f"feed:{options.posts}", "--store", "sqlite", "--runs", "1", "--warmup",
             "0", "--no-baselines", "--no-shape"]
    fast = profile(words, f"{folder}/fast.json")["jobs"][0]
    os.environ["LD_PRELOAD"] = f"{folder}/slow.so"
    slow = profile(words, f"{folder}/slow.json")["jobs"][0]
    del os.environ["LD_PRELOAD"]
    for name, job in ("as it is", fast), ("slow", slow):
        print(f"disk {name}: {job['seconds']['median']:.2f} s, {job['bottleneck']}")
    if not slow["bottleneck"].startswith(("store write takes", "sync takes")):
        failures.append("a slow disk is not the bottleneck")


with tempfile.TemporaryDirectory() as folder:
    if options.slow_disk:
        slow_disk(folder)
    elif options.bench:
        against_bench(*options.bench, folder)
    else:
        # A response like that of --generate, kept so that both sides read the same file.
        document = f"{folder}/feed.graphql"
        file = f"{folder}/response.json"
        subprocess.run([program, "profile", "--generate", f"feed:{options.posts}", "--runs", "1",
                        "--warmup", "0", "--no-baselines", "--no-shape", "--keep", folder],
                       check=True, stdout=subprocess.DEVNULL)
        for store in stores:
            against_outside(store, file, document, folder)
if failures:
    sys.exit("too far off: " + ", ".join(failures))
