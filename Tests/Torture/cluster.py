#!/usr/bin/env python3
"""cluster.py PROGRAM [KILLS] [TASKS]: four workers share a queue, and are killed, stopped beyond their leases and
continued, cut off from the database and connected again, while clocks jump and the database crashes now and then.

One of the workers reaches the database through a link that can be cut (see cluster_link.py), another one has a clock that
jumps (jumping_clock.c). Each round has TASKS queries, and a third as many mutations. Ends with 1 when a result is missing or
doubled in a file or table, when a mutation reached the server twice, when a task has no result and no reason, or when a
worker that was cut off sends requests after 20 seconds. SEED=N repeats the choices of a run.
"""
import collections, contextlib, csv, json, os, random, shutil, signal, subprocess, sys, tempfile, time

from cluster_link import open_link
from cluster_rig import CountingServer, Postgres
from common import expect, main

MANIFEST = """
version: 1
name: torture
run: { concurrency: 8, journal: "${env:QUEUE}" }
sinks:
  - ndjson: { path: "{{op}}.ndjson" }
  - csv: { path: "out_{{op}}.csv" }
  - postgres: { table: "{{op}}_keyed", key: [id] }
  - postgres: { table: "{{op}}_plain" }
operations:
  - id: users
    query: "query User($id: ID!) { user(id: $id) { id } }"
    foreach: { csv: users.csv, key: "{{row.id}}" }
    variables: { id: "{{row.id}}" }
    emit: user
  - id: likes
    query: "mutation Like($id: ID!) { user: like(id: $id) { id } }"
    foreach: { csv: likes.csv, key: "{{row.id}}" }
    variables: { id: "{{row.id}}" }
    emit: user
"""


class Worker(subprocess.Popen):
    """A process of `batch worker`."""

    # One of each runs at least, if there are enough workers.
    KINDS = ("cut off", "clock", "plain", "plain")
    # All that were started.
    started = []
    # The library that makes clocks jump.
    jumping_clock = None

    def __init__(self, kind, run, path="graphql"):
        self.kind = kind
        link = run.link if kind == "cut off" else None
        environment = dict(os.environ, QUEUE=run.queue(link))
        if kind == "clock":
            environment |= {"LD_PRELOAD": self.jumping_clock, "CLOCK_OFFSET": run.clock}
        url = f"http://{link.server if link else '127.0.0.1'}:{run.server.port}/{path}"
        with open(f"{run.folder}/workers.log", "a") as log:
            super().__init__(
                (link.prefix if link else []) + run.command("worker", url) + ["-q"], cwd=run.folder, stdout=log,
                stderr=log, env=environment)
        self.started.append(self)


class Round:
    """A run with a queue and a folder of its own."""

    def __init__(self, program, postgres, server, link, number, tasks):
        self.program, self.postgres, self.server, self.link = program, postgres, server, link
        self.schema = f"r{number}"
        self.folder = tempfile.mkdtemp(prefix="cluster-")
        self.counts = {"users": tasks, "likes": tasks // 3}
        # Those that run, and those that were asked to end.
        self.workers, self.leaving = [], []
        server.queries.clear()
        server.mutations.clear()
        postgres.sql(f"create schema {self.schema}")
        self.clock = f"{self.folder}/clock"
        self.jump(0)
        with open(f"{self.folder}/m.batch.yaml", "w") as file:
            file.write(MANIFEST)
        for op, count in self.counts.items():
            with open(f"{self.folder}/{op}.csv", "w") as file:
                file.write("id\n" + "".join(f"{op}{n}\n" for n in range(count)))
        self.batch("init")
        self.batch("enqueue")

    def queue(self, link=None):
        return self.postgres.url(self.schema, link.database if link else None, link.port if link else None)

    def jump(self, offset):
        """Sets the clock of some workers to an offset from now, in seconds."""
        with open(f"{self.clock}.new", "w") as file:
            file.write(str(offset))
        os.replace(f"{self.clock}.new", self.clock)

    def command(self, verb, url=None):
        return [self.program, "batch", verb, "m.batch.yaml", "--endpoint", url or self.server.url]

    def batch(self, verb):
        done = subprocess.run(
            self.command(verb), cwd=self.folder, capture_output=True, text=True, env=dict(os.environ, QUEUE=self.queue()))
        expect(done.returncode == 0, f"batch {verb}: exit {done.returncode}: {done.stderr}; see {self.folder}")
        return done.stdout

    def sql(self, text):
        return self.postgres.sql(f"set search_path = {self.schema}; {text}")

    def start(self, kind="plain"):
        self.workers.append(Worker(kind, self))
        return self.workers[-1]

    def keep(self, count):
        """Starts workers until there are so many; those that ended had nothing left to do."""
        for worker in self.workers:
            expect(worker.poll() in (None, 0), f"a worker: exit {worker.returncode}; see {self.folder}")
        ended = [w for w in self.workers if w.returncode is not None]
        expect(not ended or not self.open_tasks(), f"a worker ended, and tasks are left; see {self.folder}")
        self.workers = [w for w in self.workers if w.returncode is None]
        missing = collections.Counter(Worker.KINDS) - collections.Counter(w.kind for w in self.workers)
        for kind in missing.elements():
            if len(self.workers) < count:
                self.start(kind)

    def expire(self, worker):
        """The database's clock passes the age at which a worker counts as lost."""
        self.sql(f"update gq_worker set seen_at = seen_at - interval '31 s' where host like '%:{worker.pid}'")

    def open_tasks(self):
        return int(self.sql("select count(*) from gq_task where state in ('queued', 'leased', 'sent')")[0][0])

    def finish(self):
        """Runs the rest, and looks whether every result is there once; counts tasks that are unknown, and tasks whose time
        is that of a clock that had jumped."""
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
        jumped = int(self.sql("select count(*) from gq_task where abs(ended - extract(epoch from now())) > 3600")[0][0])
        return collections.Counter(unknown=unknown, jumped=jumped)

    def once(self, op, sink, ids, done):
        extra = collections.Counter(ids) - collections.Counter(done)
        missing = collections.Counter(done) - collections.Counter(ids)
        expect(
            not extra and not missing,
            f"{op} in {sink}: {sum(missing.values())} missing, {sum(extra.values())} doubled or foreign; "
            f"see {self.folder}")


class Torture:
    """What happens to the workers of a round."""

    # The deeds, and how often they are chosen.
    DEEDS = {"kills": 16, "stops": 3, "terms": 2, "cuts": 2, "jumps": 2, "reapers": 1, "crashes": 1}

    def __init__(self, chance):
        self.chance, self.totals = chance, collections.Counter()

    def step(self, run):
        run.keep(4)
        time.sleep(self.chance.uniform(0.1, 0.6))
        deed = self.chance.choices(list(self.DEEDS), list(self.DEEDS.values()))[0]
        self.totals[deed] += 1
        getattr(self, deed)(run, self.chance.choice(run.workers))

    def kills(self, run, victim):
        victim.send_signal(signal.SIGKILL)
        victim.wait()
        run.workers.remove(victim)
        run.expire(victim)

    def stops(self, run, victim):
        victim.send_signal(signal.SIGSTOP)
        run.expire(victim)
        # Others take its tasks meanwhile: they look for lost workers when they start.
        run.start()
        time.sleep(self.chance.uniform(0.3, 1.0))
        victim.send_signal(signal.SIGCONT)

    def terms(self, run, victim):
        victim.send_signal(signal.SIGTERM)
        run.workers.remove(victim)
        run.leaving.append(victim)

    def cuts(self, run, _):
        """A worker reaches the server, and not the database, until others have its tasks."""
        run.link.cut()
        for victim in run.workers:
            if victim.kind == "cut off":
                run.expire(victim)
        run.start()
        time.sleep(self.chance.uniform(0.5, 2.0))
        run.link.mend()

    def jumps(self, run, _):
        run.jump(self.chance.choice([0, 45, 7_200, -7_200, 400 * 86_400, -400 * 86_400]))

    def reapers(self, run, victim):
        """Two workers look for the tasks of a lost one at the same moment."""
        self.kills(run, victim)
        self.totals["kills"] += 1
        run.start()
        run.start()

    def crashes(self, run, _):
        run.postgres.stop()
        run.postgres.start()


def silence(program, postgres, server, link):
    """A worker that cannot beat for 20 seconds sends nothing, although it has tasks."""
    run = Round(program, postgres, server, link, "silence", 60)
    # Claims 32 tasks, of which 8 take 8 seconds each time: without the rule, the last ones were sent after 24 seconds.
    worker = Worker("cut off", run, "slow")
    while not server.slow_times:
        expect(worker.poll() is None, f"a worker: exit {worker.returncode}; see {run.folder}")
        time.sleep(0.05)
    link.cut()
    start = time.monotonic()
    time.sleep(3.5 * server.SLOW)
    late = [t - start for t in server.slow_times if t > start + 20]
    early = [t - start for t in server.slow_times if t > start]
    expect(early, f"the worker that was cut off sent nothing at all; see {run.folder}")
    expect(not late, f"a worker without a heartbeat sent a request after {late[:1]} s; see {run.folder}")
    run.expire(worker)
    run.keep(2)
    link.mend()
    run.leaving.append(worker)
    run.finish()
    print(f"cut off for {3.5 * server.SLOW:.0f} s: {len(early)} requests, the last one after {max(early):.1f} s", flush=True)


def torture():
    program = os.path.abspath(sys.argv[1])
    kills = int(sys.argv[2]) if len(sys.argv) > 2 else 500
    tasks = int(sys.argv[3]) if len(sys.argv) > 3 else 6000
    seed = int(os.environ.get("SEED", random.randrange(1 << 30)))
    print(f"seed {seed}")
    torture = Torture(random.Random(seed))
    totals = torture.totals
    server = CountingServer(0.02)
    # Ends the programs that were started, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with contextlib.ExitStack() as stack:
        scratch = stack.enter_context(tempfile.TemporaryDirectory())
        Worker.jumping_clock = f"{scratch}/jumping_clock.so"
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "jumping_clock.c")
        subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", Worker.jumping_clock, source], check=True)
        postgres = stack.enter_context(Postgres())
        link = stack.enter_context(open_link(postgres))
        stack.callback(lambda: [worker.kill() for worker in Worker.started])
        print(f"the link: {type(link).__name__}", flush=True)
        silence(program, postgres, server, link)
        number = 0
        while totals["kills"] < kills:
            number += 1
            run = Round(program, postgres, server, link, number, tasks)
            while totals["kills"] < kills and run.open_tasks():
                torture.step(run)
            found = run.finish()
            totals.update(found)
            print(
                f"round {number}: every result once, {found['unknown']} mutations unknown, {found['jumped']} tasks done by a "
                f"clock that had jumped; so far {dict(totals)}", flush=True)


main(torture)
