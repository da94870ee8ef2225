#!/usr/bin/env python3
"""Measures `gqlrun batch run` beside a bare load generator and a Python script, over the same requests.

    Benchmarks/Batch/bench.py PROGRAM [TASKS] [ROUNDS]

Needs `wrk` in PATH, and the packages of requirements.txt for the Python script. Starts the demo server of PROGRAM
in a process of its own. Prints requests per second of each round, medians, ratios, the share of the journal,
and the peak memory. `MILLION=1` adds a run of a million rows for start-up and memory.
"""
import json, os, resource, statistics, subprocess, sys, tempfile, time

program = os.path.abspath(sys.argv[1])
tasks = int(sys.argv[2]) if len(sys.argv) > 2 else 20000
rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
here = os.path.dirname(os.path.abspath(__file__))
concurrency = 64
query = "query User($id: ID!) { user(id: $id) { id login name followers role } }"

server = subprocess.Popen([program, "serve", "--port", "0"], stdout=subprocess.PIPE, text=True)
url = server.stdout.readline().strip()
folder = tempfile.mkdtemp(prefix="batch-bench-")


def manifest(count, name):
    open(f"{folder}/{name}.batch.yaml", "w").write(f"""
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
            f.write(f"U_{n}\n")


def measured(arguments):
    """Runs a program; returns its standard error, seconds, and peak memory in MiB."""
    start = time.monotonic()
    process = subprocess.Popen(arguments, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    text = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - start
    if status != 0:
        sys.exit(f"{arguments}: status {status}\n{text}")
    return text, seconds, usage.ru_maxrss / 1024, usage.ru_utime + usage.ru_stime


def batch():
    text, seconds, memory, cpu = measured(
        [program, "batch", "run", "rate.batch.yaml", "-v", "--endpoint", url])
    journal = float(text.split("journal ")[1].split(" s")[0])
    return tasks / seconds, seconds, memory, journal


def wrk(seconds):
    lua = f"{folder}/post.lua"
    body = json.dumps({"query": query, "variables": {"id": "ID"}, "operationName": "User"})
    open(lua, "w").write(f"""
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Accept"] = "application/graphql-response+json, application/json;q=0.9"
local body = [==[{body}]==]
local n = 0
request = function()
  n = n + 1
  return wrk.format(nil, nil, nil, (body:gsub("ID\\"", "U_" .. (n % {tasks}) .. "\\"", 1)))
end
""")
    text, _, _, _ = measured(["wrk", "-t1", f"-c{concurrency}", f"-d{max(2, round(seconds))}s", "-s", lua, url])
    return float(text.split("Requests/sec:")[1].split()[0])


def python(count):
    text, seconds, memory, _ = measured(
        [sys.executable, f"{here}/gql_script.py", url, f"{folder}/python.csv", f"{folder}/python.ndjson"])
    return count / seconds, memory


try:
    manifest(tasks, "rate")
    few = max(500, tasks // 10)
    manifest(few, "python")
    results = {"batch": [], "wrk": [], "python": []}
    shares, memories, python_memories = [], [], []
    # One round of each in turn, so that what else the machine does meets all of them.
    for number in range(rounds):
        rate, seconds, memory, journal = batch()
        results["batch"].append(rate)
        shares.append(journal / seconds)
        memories.append(memory)
        results["wrk"].append(wrk(min(seconds, 10)))
        rate, memory = python(few)
        results["python"].append(rate)
        python_memories.append(memory)
        print(f"round {number + 1}: " + ", ".join(f"{k} {v[-1]:.0f}/s" for k, v in results.items()), flush=True)
    median = {k: statistics.median(v) for k, v in results.items()}
    print(f"medians, {concurrency} at a time, {tasks} tasks: " + ", ".join(f"{k} {v:.0f}/s" for k, v in median.items()))
    print(f"batch / wrk {median['batch'] / median['wrk']:.2f} (goal 0.85), "
          f"batch / python {median['batch'] / median['python']:.1f} (goal 8)")
    print(f"journal {statistics.median(shares) * 100:.1f} % of the run (goal 10 %), "
          f"peak memory {max(memories):.0f} MiB, python {max(python_memories):.0f} MiB")
    if os.environ.get("MILLION"):
        manifest(1_000_000, "million")
        text, seconds, memory, _ = measured(
            [program, "batch", "run", "million.batch.yaml", "--endpoint", url])
        print(f"a million tasks: {seconds:.0f} s, {1e6 / seconds:.0f}/s, peak memory {memory:.0f} MiB (goal 100)")
finally:
    server.terminate()
