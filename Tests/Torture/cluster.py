#!/usr/bin/env python3
"""cluster.py PROGRAM [KILLS] [TASKS]: four workers share a queue, and are killed, stopped beyond their leases and
continued, while the database crashes now and then.

Each round has TASKS queries, and a third as many mutations. Ends with 1 when a result is missing or doubled in a file or
table, when a mutation reached the server twice, or when a task has no result and no reason. SEED=N repeats the choices
of a run.
"""
import collections, csv, json, os, random, shutil, signal, subprocess, sys, tempfile, time

from cluster_rig import CountingServer, Postgres
from common import expect, main

MANIFEST = """
version: 1
name: torture
run: {{ concurrency: 8, journal: "{journal}" }}
sinks:
  - ndjson: {{ path: "{{{{op}}}}.ndjson" }}
  - csv: {{ path: "out_{{{{op}}}}.csv" }}
  - postgres: {{ table: "{{{{op}}}}_keyed", key: [id] }}
  - postgres: {{ table: "{{{{op}}}}_plain" }}
operations:
  - id: users
    query: "query User($id: ID!) {{ user(id: $id) {{ id }} }}"
    foreach: {{ csv: users.csv, key: "{{{{row.id}}}}" }}
    variables: {{ id: "{{{{row.id}}}}" }}
    emit: user
  - id: likes
    query: "mutation Like($id: ID!) {{ user: like(id: $id) {{ id }} }}"
    foreach: {{ csv: likes.csv, key: "{{{{row.id}}}}" }}
    variables: {{ id: "{{{{row.id}}}}" }}
    emit: user
"""


class Round:
    """A run with a queue and a folder of its own."""

    def __init__(self, program, postgres, server, number, tasks):
        self.program, self.postgres, self.server, self.schema = program, postgres, server, f"r{number}"
        self.folder = tempfile.mkdtemp(prefix="cluster-")
        self.counts = {"users": tasks, "likes": tasks // 3}
        # Those that run, and those that were asked to end.
        self.workers, self.leaving = [], []
        server.queries.clear()
        server.mutations.clear()
        postgres.sql(f"create schema {self.schema}")
        with open(f"{self.folder}/m.batch.yaml", "w") as file:
            file.write(MANIFEST.format(journal=postgres.url(self.schema)))
        for op, count in self.counts.items():
            with open(f"{self.folder}/{op}.csv", "w") as file:
                file.write("id\n" + "".join(f"{op}{n}\n" for n in range(count)))
        self.batch("init")
        self.batch("enqueue")

    def command(self, verb):
        return [self.program, "batch", verb, "m.batch.yaml", "--endpoint", self.server.url]

    def batch(self, verb):
        done = subprocess.run(self.command(verb), cwd=self.folder, capture_output=True, text=True)
        expect(done.returncode == 0, f"batch {verb}: exit {done.returncode}: {done.stderr}; see {self.folder}")
        return done.stdout

    def sql(self, text):
        return self.postgres.sql(f"set search_path = {self.schema}; {text}")

    def start(self):
        log = open(f"{self.folder}/workers.log", "a")
        self.workers.append(
            subprocess.Popen(self.command("worker") + ["-q"], cwd=self.folder, stdout=log, stderr=log))

    def keep(self, count):
        """Starts workers until there are so many; those that ended had nothing left to do."""
        for worker in self.workers:
            expect(worker.poll() in (None, 0), f"a worker: exit {worker.returncode}; see {self.folder}")
        self.workers = [w for w in self.workers if w.returncode is None]
        while len(self.workers) < count:
            self.start()

    def expire(self, worker):
        """The database's clock passes the age at which a worker counts as lost."""
        self.sql(f"update gq_worker set seen_at = seen_at - interval '31 s' where host like '%:{worker.pid}'")

    def open_tasks(self):
        return int(self.sql("select count(*) from gq_task where state in ('queued', 'leased', 'sent')")[0][0])

    def finish(self):
        """Runs the rest, and looks whether every result is there once."""
        while self.open_tasks():
            self.keep(2)
            time.sleep(0.2)
        for worker in self.workers + self.leaving:
            code = worker.wait(timeout=60)
            # A signal before the program handles it ends it at once.
            expected = (0, 130, -signal.SIGTERM) if worker in self.leaving else (0,)
            expect(code in expected, f"a worker: exit {code}; see {self.folder}")
        self.batch("merge")
        states = self.sql("select op, state, count(*), count(error) from gq_task group by 1, 2")
        found = collections.Counter()
        unknown = 0
        for op, state, count, errors in states:
            found[op, state] = int(count)
            if state != "done":
                expect((op, state) == ("likes", "unknown"), f"{count} tasks of {op} are {state}; see {self.folder}")
                expect(count == errors, f"{count} tasks are unknown, and {errors} have a reason; see {self.folder}")
                unknown += int(count)
        doubled = [k for k, n in self.server.mutations.items() if n > 1]
        expect(not doubled, f"{len(doubled)} mutations were sent twice, such as {doubled[:3]}; see {self.folder}")
        for op, count in self.counts.items():
            done = [r[0] for r in self.sql(f"select key from gq_task where op = '{op}' and state = 'done'")]
            expect(len(done) + found[op, "unknown"] == count, f"{op}: tasks are missing; see {self.folder}")
            self.once(op, "file", [json.loads(l)["id"] for l in open(f"{self.folder}/{op}.ndjson")], done)
            with open(f"{self.folder}/out_{op}.csv", newline="") as file:
                self.once(op, "csv", [r["id"] for r in csv.DictReader(file)], done)
            for table in (f"{op}_keyed", f"{op}_plain"):
                self.once(op, table, [r[0] for r in self.sql(f"select id from {table}")], done)
        shutil.rmtree(self.folder)
        return unknown

    def once(self, op, sink, ids, done):
        extra = collections.Counter(ids) - collections.Counter(done)
        missing = collections.Counter(done) - collections.Counter(ids)
        expect(
            not extra and not missing,
            f"{op} in {sink}: {sum(missing.values())} missing, {sum(extra.values())} doubled or foreign; "
            f"see {self.folder}")


def torture():
    program = os.path.abspath(sys.argv[1])
    kills = int(sys.argv[2]) if len(sys.argv) > 2 else 500
    tasks = int(sys.argv[3]) if len(sys.argv) > 3 else 6000
    seed = int(os.environ.get("SEED", random.randrange(1 << 30)))
    chance = random.Random(seed)
    print(f"seed {seed}")
    totals = collections.Counter()
    server = CountingServer(0.02)
    with Postgres() as postgres:
        number = 0
        while totals["kills"] < kills:
            number += 1
            run = Round(program, postgres, server, number, tasks)
            while totals["kills"] < kills and run.open_tasks():
                run.keep(4)
                time.sleep(chance.uniform(0.1, 0.6))
                victim = chance.choice(run.workers)
                deed = chance.choices(["kills", "stops", "crashes", "terms"], [16, 3, 1, 2])[0]
                totals[deed] += 1
                if deed == "kills":
                    victim.send_signal(signal.SIGKILL)
                    victim.wait()
                    run.workers.remove(victim)
                    run.expire(victim)
                elif deed == "stops":
                    victim.send_signal(signal.SIGSTOP)
                    run.expire(victim)
                    # Others take its tasks meanwhile: they look for lost workers when they start.
                    run.start()
                    time.sleep(chance.uniform(0.3, 1.0))
                    victim.send_signal(signal.SIGCONT)
                elif deed == "terms":
                    victim.send_signal(signal.SIGTERM)
                    run.workers.remove(victim)
                    run.leaving.append(victim)
                else:
                    postgres.stop()
                    postgres.start()
            unknown = run.finish()
            totals["unknown"] += unknown
            print(f"round {number}: every result once, {unknown} mutations unknown; so far {dict(totals)}", flush=True)


main(torture)
