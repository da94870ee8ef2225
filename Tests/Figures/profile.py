#!/usr/bin/env python3
"""Holds the figures of `gqlrun profile` against what others measure of the same work.

    Tests/Figures/profile.py PROGRAM [--posts N] [--rounds N] [--store memory] [--bench BENCH SCRATCH]
                             [--slow-disk]

`gqlrun profile` runs with a library in LD_PRELOAD (made with cc) that notes what the kernel says of the processes
it starts, as /usr/bin/time does: when they began and ended, their processor time and their peak. Ends with 1
when the total differs by more than 3 %, processor time or peak by more than 5 %, when the stages and the
profiler's own work do not add up to the total, or when that work is 3 % or more of it.

With --bench, gqlrun-bench measures the same response, and the ratio to bare yajl must be the same
within the spread of both. With --slow-disk, every write and sync of a SQLite file waits for 40 ms (a library
in LD_PRELOAD, made with cc), and the store must be named as the bottleneck. Run it on a machine that does
nothing else.
"""
import argparse, json, os, shutil, statistics, subprocess, sys, tempfile

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


# Notes what the kernel says of every process that a program starts: what /usr/bin/time does, for each.
WATCH = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
static double start;
static int is_job;
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec / 1e9;
}
int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                const posix_spawnattr_t *attributes, char *const words[], char *const environment[]) {
  int (*next)() = (int (*)())dlsym(RTLD_NEXT, "posix_spawn");
  is_job = 0;
  for (int i = 0; words[i]; i++) is_job |= strcmp(words[i], "job") == 0;
  start = now();
  return next(pid, path, actions, attributes, words, environment);
}
pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage) {
  pid_t (*next)() = (pid_t (*)())dlsym(RTLD_NEXT, "wait4");
  pid_t result = next(pid, status, options, usage);
  const char *path = getenv("GQLRUN_WATCHED");
  FILE *file = path && is_job && result > 0 ? fopen(path, "a") : NULL;
  if (file) {
    fprintf(file, "%.9f %.6f %ld\\n", now() - start,
            usage->ru_utime.tv_sec + usage->ru_stime.tv_sec +
                (usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1e6,
            usage->ru_maxrss << 10);
    fclose(file);
  }
  return result;
}
"""


def library(folder, name, text):
    with open(f"{folder}/{name}.c", "w") as file:
        file.write(text)
    subprocess.run([shutil.which("cc") or "clang", "-shared", "-fPIC", "-w", "-o",
                    f"{folder}/{name}.so", f"{folder}/{name}.c", "-ldl"], check=True)
    return f"{folder}/{name}.so"


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
    os.environ["LD_PRELOAD"] = library(folder, "watch", WATCH)
    os.environ["GQLRUN_WATCHED"] = f"{folder}/watched-{store}"
    inside = []
    for _ in range(options.rounds):
        inside.append(profile(
            ["--file", file, "--document", document, "--var", f"first={options.posts}", "--store",
             store, "--runs", "1", "--warmup", "0", "--no-baselines", "--no-shape"],
            f"{folder}/report.json")["jobs"][0])
    del os.environ["LD_PRELOAD"]
    with open(os.environ["GQLRUN_WATCHED"]) as lines:
        watched = [[float(word) for word in line.split()] for line in lines]
    print(f"{store}, {os.path.getsize(file) / 1e6:.1f} MB, {options.rounds} rounds")
    compare("total", [j["seconds"]["median"] for j in inside], [w[0] for w in watched], 0.03)
    compare("processor", [j["cpuSeconds"]["median"] for j in inside], [w[1] for w in watched], 0.05)
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
    words = ["--generate", f"feed:{options.posts}", "--store", "sqlite", "--runs", "1", "--warmup",
             "0", "--no-baselines", "--no-shape"]
    fast = profile(words, f"{folder}/fast.json")["jobs"][0]
    os.environ["LD_PRELOAD"] = library(folder, "slow", SLOW)
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
