#!/usr/bin/env python3
"""Measures `gqlrun batch run` beside a bare load generator and a Python script, over the same requests.

    Benchmarks/Batch/bench.py PROGRAM [--tasks N] [--rounds N] [--server demo|delayed|delayed-MS|fixed|URL] [--million]
                             [--library gqlrun-bench-chain] [--output FILE]

Needs `wrk` in PATH, the packages of requirements.txt for the Python script, and `cc` for the fixed server. The server
runs in a process of its own:

    demo      the demo server of PROGRAM, which executes every query
    delayed   the same, with 10 ms before every answer, or as many as the name says: a server across a network
    fixed     a few lines of C that give one answer to everything: what the client itself costs
    URL       one that runs already, and has `user(id:)` or whatever --query asks for

With --library the HTTP library by itself, without gqlrun, is measured, too: no batch over it can be faster.

Prints requests per second of each round, medians, ratios, processor time per request, the share of the journal, and
peak memory. `--million` runs a million rows: start-up to the first request, and memory. --output keeps the rates for
Benchmarks/pictures.py.
"""
import argparse, os, socket, statistics, subprocess, sys, tempfile, threading, time

parser = argparse.ArgumentParser()
parser.add_argument("program")
parser.add_argument("--tasks", type=int, default=20000)
parser.add_argument("--rounds", type=int, default=3)
parser.add_argument("--server", default="demo")
parser.add_argument("--query", default="query User($id: ID!) { user(id: $id) { id login name followers role } }")
parser.add_argument("--million", action="store_true")
parser.add_argument("--rows", type=int, default=1_000_000, help="of --million")
parser.add_argument("--no-python", action="store_true")
parser.add_argument("--library", help="gqlrun-bench-chain, for what the HTTP library alone reaches")
parser.add_argument("--output", help="JSON file for the rates")
given = parser.parse_args()
program = os.path.abspath(given.program)
tasks, query = given.tasks, given.query
here = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.dirname(here))
from measuring import keep, measured, spread
concurrency = 64
scratch = tempfile.TemporaryDirectory(prefix="batch-bench-")
folder = scratch.name
server, delay = None, None


def start(command):
    global server
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    return server.stdout.readline().strip()


if given.server == "fixed":
    subprocess.run(["cc", "-O2", "-o", f"{folder}/fixed_server", f"{here}/fixed_server.c"], check=True)
    url = start([f"{folder}/fixed_server"])
elif given.server == "demo" or given.server.split("-")[0] == "delayed":
    delay = 0 if given.server == "demo" else int(given.server.partition("-")[2] or 10)
    url = start([program, "serve", "--port", "0"]) + (f"?delay={delay}" if delay else "")
else:
    url = given.server


def manifest(count, name):
    with open(f"{folder}/{name}.batch.yaml", "w") as f:
        f.write(f"""
version: 1
name: {name}
run: {{ concurrency: {concurrency} }}
sinks: [{{ ndjson: {{ path: "{name}.ndjson" }} }}]
operations:
  - id: users
    query: "{query}"
    foreach: {{ csv: {name}.csv, key: "{{{{row.id}}}}" }}
    variables: {{ id: "{{{{row.id}}}}" }}
""")
    with open(f"{folder}/{name}.csv", "w") as f:
        f.write("id\n")
        for n in range(count):
            f.write(f"U_{n + 1}\n")


def batch(name):
    text, seconds, memory, cpu = measured([program, "batch", "run", f"{name}.batch.yaml", "-v", "--endpoint", url], folder)
    journal = float(text.split("journal ")[1].split(" s")[0])
    with open(f"{folder}/{name}.ndjson") as f:
        count = sum('"ok":true' in line for line in f)
    return seconds, memory, cpu, journal, count


def wrk(seconds):
    lua = f"{folder}/post.lua"
    # The same bodies, with the fields that the program adds to the document.
    shown = measured([program, "batch", "run", "rate.batch.yaml", "--dry-run", "--endpoint", url], folder)[0]
    body = next(line for line in shown.splitlines() if line.startswith("  POST ")).split(" ", 4)[4]
    body = body.replace('"U_1"', '"ID"')
    with open(lua, "w") as f:
        f.write(f"""
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Accept"] = "application/graphql-response+json, application/json;q=0.9"
local body = [==[{body}]==]
local n = 0
request = function()
  n = n + 1
  return wrk.format(nil, nil, nil, (body:gsub("ID\\"", "U_" .. (n % {tasks} + 1) .. "\\"", 1)))
end
""")
    text, _, _, cpu = measured(["wrk", "-t1", f"-c{concurrency}", f"-d{max(2, round(seconds))}s", "--timeout", "30s", "-s", lua, url],
                            folder)
    if "Non-2xx" in text or "Socket errors" in text:
        sys.exit(text)
    return float(text.split("Requests/sec:")[1].split()[0]), cpu / float(text.split(" requests in")[0].split()[-1])


def library():
    """What async-http-client reaches as a program without gqlrun would use it."""
    text = measured([os.path.abspath(given.library), url, str(tasks), "1", "bare", str(concurrency)], folder)[0]
    line = next(line for line in text.splitlines() if "requests/s" in line)
    return float(line.split()[0]), float(line.split("cpu")[1].split()[0]) / 1e6


def python(count):
    _, seconds, memory, cpu = measured(
        [sys.executable, f"{here}/gql_script.py", url, f"{folder}/python.csv", f"{folder}/python.ndjson", query], folder)
    return count / seconds, memory, cpu / count


def compare():
    manifest(tasks, "rate")
    few = max(500, tasks // 10)
    manifest(few, "python")
    rates = {"batch": [], "wrk": []} | ({} if given.no_python else {"python": []})
    costs = {name: [] for name in rates}
    if given.library:
        rates["library"], costs["library"] = [], []
    shares, memories = [], []
    # One round of each in turn, so that what else the machine does meets all of them.
    for number in range(given.rounds):
        seconds, memory, cpu, journal, count = batch("rate")
        if count != tasks:
            sys.exit(f"{count} results of {tasks}")
        rates["batch"].append(tasks / seconds)
        costs["batch"].append(cpu / tasks)
        shares.append(journal / seconds)
        memories.append(memory)
        rate, cost = wrk(min(seconds, 10))
        rates["wrk"].append(rate)
        costs["wrk"].append(cost)
        if not given.no_python:
            rate, memory, cost = python(few)
            rates["python"].append(rate)
            costs["python"].append(cost)
        if given.library:
            rate, cost = library()
            rates["library"].append(rate)
            costs["library"].append(cost)
        print(f"round {number + 1}: " + ", ".join(f"{k} {v[-1]:.0f}/s" for k, v in rates.items()), flush=True)
    rate = {k: statistics.median(v) for k, v in rates.items()}
    cost = {k: statistics.median(v) * 1e6 for k, v in costs.items()}
    print(f"server {given.server}, {concurrency} at a time, {tasks} tasks, medians of {given.rounds}: "
          + ", ".join(f"{k} {rate[k]:.0f}/s ({cost[k]:.0f} us of processor time per request)" for k in rate))
    print(f"batch / wrk {rate['batch'] / rate['wrk']:.2f} (goal 0.85)")
    if not given.no_python:
        print(f"batch / python {rate['batch'] / rate['python']:.1f} (goal 8)")
    if given.library:
        print(f"batch / library {rate['batch'] / rate['library']:.2f}, library / wrk {rate['library'] / rate['wrk']:.2f}")
    print(f"journal {statistics.median(shares) * 100:.1f} % of the run (goal 10 %), "
          f"peak memory {max(memories):.0f} MiB")
    if given.output:
        keep(given.output, "bench-batch", rounds=given.rounds, tasks=tasks, concurrency=concurrency, server=given.server,
             delay_ms=delay, rates={name: spread(values) for name, values in rates.items()},
             cpu_us={name: spread([value * 1e6 for value in values]) for name, values in costs.items()})


def first_request():
    """Seconds from the start of the program to its first request, which is never answered."""
    listener = socket.create_server(("127.0.0.1", 0))
    begin = time.monotonic()
    process = subprocess.Popen(
        [program, "batch", "run", "million.batch.yaml", "-q", "--endpoint",
         f"http://127.0.0.1:{listener.getsockname()[1]}/graphql"],
        cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    connection, _ = listener.accept()
    connection.recv(1)
    seconds = time.monotonic() - begin
    process.kill()
    process.wait()
    return seconds


def million():
    manifest(given.rows, "million")
    starts = [first_request() for _ in range(5)]
    print(f"{given.rows} rows: {statistics.median(starts):.2f} s to the first request "
          f"(goal 2 s; {min(starts):.2f} to {max(starts):.2f})", flush=True)
    seconds, memory, cpu, journal, count = batch("million")
    print(f"{given.rows} tasks: {seconds:.0f} s, {count} results, {given.rows / seconds:.0f}/s, "
          f"{cpu / given.rows * 1e6:.0f} us of processor time per task, peak memory {memory:.0f} MiB (goal 100), "
          f"journal {journal / seconds * 100:.1f} % of the run (goal 10 %)")


try:
    if given.million:
        million()
    else:
        compare()
finally:
    if server:
        server.terminate()
