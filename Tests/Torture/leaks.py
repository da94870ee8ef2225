#!/usr/bin/env python3
"""leaks.py PROGRAM [COUNT] [NAME…]: a million small operations in one process, whose memory and open files do not grow.

COUNT requests of a batch, without a cache and with one in SQLite; loads that write each response to a cache, and loads that
a cache answers, in memory and in SQLite, for as long as COUNT requests take at 10,000 a second; and COUNT subscriptions over
WebSocket, which are opened and closed. The server is the fixed one of Benchmarks/Batch. Much fewer than a million operations
are over before the memory of the allocator has its final size.

The median of resident memory in the last quarter of the time is at most 2 % and 1 MiB above that in the second quarter; a
batch may also have the filter of its tasks, five bytes for each, and a load the histograms of its seconds. That of open
files is not higher at all. As a control, a batch that keeps every record in memory, and samples that grow by 4 %, must be found.
"""
import json, os, re, statistics, subprocess, sys, tempfile, time

from batch_rig import Server
from common import expect, main

here = os.path.dirname(os.path.abspath(__file__))
# The demo server has no `followers` and `role`.
USER = "query User($id: ID!) { user(id: $id) { id login name followers role } }"
PIPELINE = """\
version: 1
endpoint: {{ url: "${{env:GQL_URL}}", subscriptions: {{ transport: graphql-transport-ws }} }}
store: {store}
chain: [max-retry, cache-read: {{ policy: {policy} }}, fetch, response-code, parse, cache-write]
"""
MANIFEST = """\
version: 1
name: leaks
pipeline: p.pipeline.yaml
run: {{ concurrency: 16 }}
sinks: [{{ ndjson: {{ path: out.ndjson }} }}]
operations:
  - id: all
    query: "{query}"
    foreach: {{ csv: ids.csv, key: "{{{{row.id}}}}" }}{until}
    variables: {{ {variables} }}
"""
MEMORY, SQLITE = "{ kind: memory }", "{ kind: sqlite, path: cache.db }"
SUBSCRIPTION = "subscription S($n: Int!) { countdown(from: $n, delay: 0) }"


def samples(command, folder, url):
    """Resident memory in bytes and open files of a process over time, and how long it took."""
    found, start = [], time.monotonic()
    with open(f"{folder}/errors", "w") as errors:
        process = subprocess.Popen(
            command, cwd=folder, env=dict(os.environ, GQL_URL=url), stdout=subprocess.DEVNULL, stderr=errors)
        while process.poll() is None:
            try:
                with open(f"/proc/{process.pid}/statm") as file:
                    memory = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
                if memory:
                    found.append((memory, len(os.listdir(f"/proc/{process.pid}/fd"))))
            except (OSError, IndexError):
                pass
            time.sleep(0.1)
    with open(f"{folder}/errors") as file:
        expect(process.returncode == 0, f"{command[1:3]}: exit {process.returncode}: {file.read()[-500:]}")
    return found, time.monotonic() - start


def growth(found, known=0):
    """The medians of the second and of the last quarter, and what grows by more than `known` bytes beyond the rule."""
    expect(len(found) >= 40, f"{len(found)} samples are too few; take a larger COUNT")
    quarter = len(found) // 4
    memory, files = ([statistics.median_low(s[n] for s in part) for part in (found[quarter:2 * quarter], found[-quarter:])] for n in (0, 1))
    grown = [] if memory[1] <= memory[0] * 1.02 + (1 << 20) + known else ["memory"]
    return memory, files, grown + ([] if files[1] <= files[0] else ["open files"])


def requests(folder, seconds):
    """The number of rows of a batch, or of requests of a load."""
    if os.path.exists(f"{folder}/load.json"):
        with open(f"{folder}/load.json") as file:
            return round(json.load(file)["load"]["achievedRate"] * seconds)
    with open(f"{folder}/ids.csv") as file:
        return sum(1 for _ in file) - 1


def batch(folder, program, count, query, variables, store, policy="network-only", until=""):
    for name, text in (
        ("p.pipeline.yaml", PIPELINE.format(store=store, policy=policy)),
        ("m.batch.yaml", MANIFEST.format(query=query, variables=variables, until=until)),
        ("ids.csv", "id\n" + "".join(f"U_{n}\n" for n in range(1, count + 1)))):
        with open(f"{folder}/{name}", "w") as file:
            file.write(text)
    return [program, "batch", "run", "m.batch.yaml", "-q"]


def load(folder, program, seconds, store, policy):
    with open(f"{folder}/p.pipeline.yaml", "w") as file:
        file.write(PIPELINE.format(store=store, policy=policy))
    with open(f"{folder}/q.graphql", "w") as file:
        file.write(USER)
    return [
        program, "profile", "-d", "q.graphql", "--var", "id=U_1", "-p", "p.pipeline.yaml", "--cache", "--concurrency", "16",
        "--duration", f"{seconds}s", "--json", "load.json"]


def torture():
    program, count = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
    steady = [(100 << 20, 30)] * 100
    expect(growth(steady)[2] == [], "control: samples that do not grow were found")
    expect(growth([((100 << 20) + n * (4 << 20) // 50, 30 + n // 80) for n in range(100)])[2] == ["memory", "open files"],
           "control: samples that grow were not found")
    with tempfile.TemporaryDirectory(prefix="gqlrun-leaks-") as scratch, Server(program, 1_000_000) as demo:
        subprocess.run(["cc", "-O2", "-o", f"{scratch}/fixed", f"{here}/../../Benchmarks/Batch/fixed_server.c"], check=True)
        fixed = subprocess.Popen([f"{scratch}/fixed"], stdout=subprocess.PIPE, text=True)
        url = fixed.stdout.readline().strip()
        # A batch knows its tasks: SeenTasks has a table of 1 MiB for each 196,608. A load has a histogram for each of its
        # seconds, or of at most 600 steps: TimeSteps.
        known = {"batch": (count // 2 // 196_608 + 1) << 20, "load": min(count // 10_000, 600) // 2 * 30_000}
        known["subscriptions"] = known["batch"]
        run = lambda folder, **more: batch(folder, program, count, USER, 'id: "{{row.id}}"', **more)
        cases = [
            ("batch", url, lambda folder: run(folder, store=MEMORY, policy="no-cache")),
            ("batch, cache in SQLite", url, lambda folder: run(folder, store=SQLITE)),
        ] + [
            (f"load, {policy}, {name}", url, lambda folder, store=store, policy=policy: load(folder, program, count // 10_000, store, policy))
            for policy in ("network-only", "cache-first") for name, store in (("memory", MEMORY), ("SQLite", SQLITE))
        ] + [
            ("subscriptions over WebSocket", demo.url,
             lambda folder: batch(folder, program, count, SUBSCRIPTION, "n: 1", MEMORY, "no-cache", "\n    until: { events: 1 }")),
            ("control: every record in memory", demo.url,
             lambda folder: batch(folder, program, 100_000, USER.replace("followers role", ""), 'id: "{{row.id}}"', MEMORY)),
        ]
        leaks = []
        print(f"{'':34} {'requests':>9} {'time':>6} {'MiB, 2nd quarter':>17} {'last':>8} {'files':>7} {'last':>5}", flush=True)
        try:
            for number, (name, endpoint, command) in enumerate(cases):
                if len(sys.argv) > 3 and not any(part in name for part in sys.argv[3:]):
                    continue
                folder = f"{scratch}/{number}"
                os.mkdir(folder)
                found, seconds = samples(command(folder), folder, endpoint)
                if "VERBOSE" in os.environ:
                    print([f"{memory / (1 << 20):.1f}" for memory, _ in found[::max(1, len(found) // 32)]], flush=True)
                memory, files, grown = growth(found, known.get(re.split("[ ,]", name)[0], 0))
                print(f"{name:34} {requests(folder, seconds):9} {seconds:5.0f}s {memory[0] / (1 << 20):17.1f} {memory[1] / (1 << 20):8.1f} {files[0]:7} {files[1]:5}"
                      f" {' and '.join(grown)}", flush=True)
                if name.startswith("control"):
                    expect("memory" in grown, f"{name}: was not found")
                elif grown:
                    leaks.append(name)
        finally:
            fixed.terminate()
            fixed.wait()
        expect(not leaks, f"what grows: {', '.join(leaks)}")


main(torture)
