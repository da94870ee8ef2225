#!/usr/bin/env python3
"""extract.py PROGRAM [KILLS]: kills `gqlrun extract` at every page and at random moments, continues it, and compares its
tables with those of a run without a kill, byte for byte.

1. At every page of one case of tree_rig.py: before the answer or after it, with SQLite once each.
2. KILLS times at random moments of a run over the demo server's shop, whose tables have 14,529 rows.
Each with tables in SQLite, CSV, NDJSON, and PostgreSQL with its queue. SEED=N repeats a run of this script.
"""
import asyncio, os, random, shutil, signal, sqlite3, subprocess, sys, tempfile, time

from cluster_rig import Postgres
from common import expect, main
from graphql_rig import HTTPServer
from tree_rig import Case

SHOP = """
query Shop {
  customers(first: 10) {
    nodes {
      id name tags updatedAt address { city country { code } }
      orders(first: 5) { totalCount nodes { id status total note lines(first: 3) { nodes { id quantity price product { name } } } } }
    }
  }
}
"""
SHOP_ROWS = {"customers": 120, "customers_orders": 1780, "customers_orders_lines": 12_629}
CONCURRENCY, PACK = 4, 3
# The time until the server answers, in seconds. The program makes rows durable every 150 ms.
DELAY = 0.05


class Target:
    """Where the tables of one run go. `rows` are the sorted lines of each table, by its name."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="extract-kill-")

    def lost(self):
        """Is called after a kill."""

    def remove(self):
        shutil.rmtree(self.folder)


class SQLite(Target):
    arguments = ["sqlite:out.db"]

    def rows(self):
        db = sqlite3.connect(f"file:{self.folder}/out.db?mode=ro", uri=True)
        names = [row[0] for row in db.execute("select name from sqlite_master where type = 'table'")]
        found = {
            name: sorted(repr(row) for row in db.execute(f'select * from "{name}"'))
            for name in names if not name.startswith(("gqlrun", "sqlite"))}
        expect(not db.execute("pragma foreign_key_check").fetchall(), f"foreign keys are violated; see {self.folder}")
        db.close()
        return found


class CSV(Target):
    form = "csv"

    @property
    def arguments(self):
        return ["out/", "--format", self.form]

    def rows(self):
        found = {}
        for name in os.listdir(f"{self.folder}/out"):
            if not name.startswith("."):
                expect(name.endswith(f".{self.form}"), f"left behind: {name}; see {self.folder}")
                with open(f"{self.folder}/out/{name}", "rb") as file:
                    found[name.removesuffix(f".{self.form}")] = sorted(file.read().splitlines())
        return found


class NDJSON(CSV):
    form = "ndjson"


class Queue(Target):
    # A task fails after 20 lost workers.
    most_kills = 15
    postgres, number = None, 0

    def __init__(self):
        super().__init__()
        Queue.number += 1
        self.schema = f"extract{Queue.number}"
        self.postgres.sql(f"create schema {self.schema}")
        self.arguments = [self.postgres.url(self.schema)]

    def lost(self):
        # A worker counts as lost half a minute after its last sign of life.
        self.postgres.sql(f"""
            do $$ begin
              if to_regclass('{self.schema}.gq_worker') is not null then
                update {self.schema}.gq_worker set seen_at = now() - interval '1 hour';
              end if;
            end $$""")

    def rows(self):
        names = self.postgres.sql(f"select tablename from pg_tables where schemaname = '{self.schema}'")
        return {
            name: sorted(self.postgres.sql(f'copy {self.schema}."{name}" to stdout'))
            for [name] in names if not name.startswith(("gq_", "gqlrun"))}

    def remove(self):
        super().remove()
        self.postgres.sql(f"drop schema {self.schema} cascade")


class Run:
    """The extraction of a document, which can be killed and continued."""

    def __init__(self, program, target, url, document, *more):
        self.target = target
        with open(f"{target.folder}/q.graphql", "w") as file:
            file.write(document)
        self.command = [
            program, "extract", "q.graphql", "-q", "-e", url, "--to", *target.arguments, "--concurrency", str(CONCURRENCY), *more]
        self.process = None

    def start(self, is_first):
        self.process = subprocess.Popen(
            self.command + ["--resume"] * (not is_first), cwd=self.target.folder, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True)

    def kill(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)

    def end(self, timeout=None):
        """Whether it has ended by itself; otherwise it was killed, also after `timeout` seconds."""
        try:
            _, errors = self.process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            _, errors = self.process.communicate()
        if self.process.returncode == -signal.SIGKILL:
            self.target.lost()
            return False
        expect(self.process.returncode == 0, f"exit {self.process.returncode}: {errors}; see {self.target.folder}")
        return True

    def compare(self, wanted):
        found = self.target.rows()
        expect(found.keys() == wanted.keys(), f"the tables are {sorted(found)}; see {self.target.folder}")
        for name, rows in wanted.items():
            if found[name] != rows:
                less, more = set(rows) - set(found[name]), set(found[name]) - set(rows)
                expect(False, f"{name} has {len(found[name])} rows, not {len(rows)}: missing {list(less)[:2]}, "
                              f"too many {list(more)[:2]}; see {self.target.folder}")


class Pages:
    """A server of one case, which can kill a run at a request."""

    def __init__(self, seed):
        # A case with enough pages, on several levels.
        numbers = (n for n in range(100_000) if self.is_long(Case(seed, n, end="well", weather="clear", mode="node", rows=150)))
        self.seed, self.number = seed, next(numbers)
        self.url = HTTPServer(self.answer).url + "/graphql"
        self.case = self.run = None
        self.kill_at = self.is_before = None

    @staticmethod
    def is_long(case):
        lists = [e.list for e in case.elements if e.list.size and len(case.pages(e)) > 1]
        case.pack = PACK
        return 30 <= case.least <= 40 and len(set(lists)) >= 3 and not case.shared

    def reset(self):
        self.case = Case(self.seed, self.number, end="well", weather="clear", mode="node", rows=150)
        self.kill_at = None

    def start(self, program, target):
        self.reset()
        case = self.case
        more = [part for name, value in case.variables.items() for part in ("--var", f"{name}={value}")]
        self.run = Run(program, target, self.url, case.document, "--pack", str(PACK), *more)

    async def answer(self, _, request):
        await asyncio.sleep(DELAY)
        before = self.case.requests
        answer = await self.case.answer(request)
        if self.kill_at is not None and before < self.kill_at <= self.case.requests:
            if self.is_before:
                self.run.kill()
                raise ConnectionError
            asyncio.get_running_loop().call_later(random.uniform(0, 0.02), self.run.kill)
        return answer


def at_every_page(program, kind, seed):
    pages = Pages(seed)
    pages.start(program, kind())
    pages.run.start(True)
    pages.run.end()
    wanted, count = pages.run.target.rows(), pages.case.requests
    expect(sum(map(len, wanted.values())) > 50, "the case is too small")
    pages.run.target.remove()
    most = 0
    for page in range(1, count + 1):
        for is_before in (True, False) if kind is SQLite else (page % 2 == 0,):
            pages.start(program, kind())
            pages.kill_at, pages.is_before = page, is_before
            pages.run.start(True)
            if not pages.run.end():
                pages.kill_at = None
                pages.run.start(False)
                expect(pages.run.end(), "a run was killed without being asked")
            pages.run.compare(wanted)
            again = pages.case.requests - count
            most = max(most, again)
            # Those in flight, and those whose rows were not durable yet.
            expect(again <= count * 2 / 3, f"{again} more requests after a kill at {page} of {count}; see {pages.run.target.folder}")
            pages.run.target.remove()
    print(f"{kind.__name__}: killed at each of {count} pages; the same rows, at most {most} more requests", flush=True)


def at_random_moments(program, kind, url, kills, chance):
    run = Run(program, kind(), url, SHOP, "--pack", "5")
    start = time.monotonic()
    run.start(True)
    run.end()
    length = time.monotonic() - start
    wanted = run.target.rows()
    counts = {name: len(rows) for name, rows in wanted.items()}
    # In CSV, a note of an order may have several lines.
    expect(kind is CSV or counts == SHOP_ROWS, f"the tables have {counts} rows")
    run.target.remove()
    killed = runs = 0
    while killed < kills:
        run, here = Run(program, kind(), url, SHOP, "--pack", "5"), 0
        run.start(True)
        while not run.end(None if killed + here >= kills or here >= getattr(kind, "most_kills", kills) else chance.uniform(0, length)):
            here += 1
            run.start(False)
        run.compare(wanted)
        run.target.remove()
        killed, runs = killed + here, runs + 1
    print(f"{kind.__name__}: {killed} kills in {runs} runs of {length:.1f} s; the same rows", flush=True)


def torture():
    program = os.path.abspath(sys.argv[1])
    kills = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    seed = int(os.environ.get("SEED", random.randrange(1 << 30)))
    print(f"seed {seed}")
    kinds = [SQLite, CSV, NDJSON, Queue]
    server = subprocess.Popen([program, "serve", "--port", "0"], stdout=subprocess.PIPE, text=True)
    try:
        url = server.stdout.readline().strip()
        with Postgres() as Queue.postgres:
            for kind in kinds:
                at_every_page(program, kind, seed)
                at_random_moments(program, kind, url, -(-kills // len(kinds)), random.Random(seed))
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main(torture)
