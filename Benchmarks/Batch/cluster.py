#!/usr/bin/env python3
"""cluster.py PROGRAM [--tasks N] [--rows N]: the rate of one and of four workers against a server of 50 ms, the cost of
the queue per task, and the time to add a million tasks; beside a run with a SQLite journal.
"""
import argparse, os, pathlib, shutil, subprocess, sys, tempfile, time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "Tests" / "Torture"))
from cluster_rig import CountingServer, Postgres  # noqa: E402

MANIFEST = """
version: 1
name: bench
run: {{ concurrency: {concurrency}, journal: "{journal}" }}
sinks: [{{ ndjson: {{ path: "{{{{op}}}}.ndjson" }} }}]
operations:
  - id: users
    query: "query User($id: ID!) {{ user(id: $id) {{ id }} }}"
    foreach: {{ csv: ids.csv, key: "{{{{row.id}}}}" }}
    variables: {{ id: "{{{{row.id}}}}" }}
"""


class Folder:
    """A folder with a manifest and its rows."""

    def __init__(self, program, journal, url, rows, concurrency=64):
        self.path, self.program, self.url = tempfile.mkdtemp(prefix="bench-cluster-"), program, url
        with open(f"{self.path}/m.batch.yaml", "w") as file:
            file.write(MANIFEST.format(concurrency=concurrency, journal=journal))
        with open(f"{self.path}/ids.csv", "w") as file:
            file.write("id\n" + "".join(f"U_{n}\n" for n in range(rows)))

    def start(self, *verb):
        return subprocess.Popen(
            [self.program, "batch", *verb, "m.batch.yaml", "--endpoint", self.url], cwd=self.path,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def timed(self, *verb, count=1):
        """The seconds until all processes have ended, and the seconds of processor time that they used."""
        before, start = os.times(), time.monotonic()
        for process in [self.start(*verb) for _ in range(count)]:
            _, errors = process.communicate()
            if process.returncode != 0:
                sys.exit(f"{verb}: exit {process.returncode}: {errors.decode()}")
        after = os.times()
        used = after.children_user + after.children_system - before.children_user - before.children_system
        return time.monotonic() - start, used


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--tasks", type=int, default=4000)
    parser.add_argument("--rows", type=int, default=1_000_000)
    options = parser.parse_args()
    program = os.path.abspath(options.program)
    server = CountingServer(0.05)
    with Postgres() as postgres:
        rates = {}
        for workers in (1, 4):
            schema = f"workers{workers}"
            postgres.sql(f"create schema {schema}")
            folder = Folder(program, postgres.url(schema), server.url, options.tasks, concurrency=16)
            for verb in ("init", "enqueue"):
                folder.timed(verb)
            seconds, used = folder.timed("worker", "-q", count=workers)
            rates[workers] = options.tasks / seconds
            print(f"{workers} workers, 16 at a time, 50 ms: {rates[workers]:.0f} tasks/s, {used:.1f} s of CPU")
            shutil.rmtree(folder.path)
        print(f"four workers are {rates[4] / rates[1]:.2f} times as fast as one (gate: 3)")
        folder = Folder(program, "runs", server.url, options.tasks, concurrency=16)
        seconds, used = folder.timed("run", "-q")
        print(f"journal in SQLite, 16 at a time, 50 ms: {options.tasks / seconds:.0f} tasks/s, {used:.1f} s of CPU")
        shutil.rmtree(folder.path)

        # Without a delay, the difference between the journals is the cost of the queue.
        fast = CountingServer(0)
        costs = {}
        for name in ("sqlite", "queue"):
            postgres.sql(f"create schema fast{name}")
            journal = "runs" if name == "sqlite" else postgres.url(f"fast{name}")
            folder = Folder(program, journal, fast.url, options.tasks * 5)
            if name == "sqlite":
                seconds, _ = folder.timed("run", "-q")
            else:
                for verb in ("init", "enqueue"):
                    folder.timed(verb)
                seconds, _ = folder.timed("worker", "-q")
            costs[name] = seconds / (options.tasks * 5) * 1000
            print(f"{name}, 64 at a time, no delay: {costs[name]:.3f} ms per task")
            shutil.rmtree(folder.path)
        print(f"the queue costs {costs['queue'] - costs['sqlite']:.3f} ms more per task (gate: 0.2)")

        if options.rows:
            postgres.sql("create schema rows")
            folder = Folder(program, postgres.url("rows"), server.url, options.rows)
            folder.timed("init")
            seconds, used = folder.timed("enqueue")
            print(f"{options.rows} tasks added in {seconds:.1f} s, {used:.1f} s of CPU (gate: a million in 30 s)")
            shutil.rmtree(folder.path)


main()
