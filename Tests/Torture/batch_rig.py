"""What the torture of batch runs shares: a manifest with every kind of sink, and what must be in them afterwards."""

import collections, csv, gzip, json, os, sqlite3, subprocess

from common import expect

# The demo server has a user for every five posts.
posts, page = 10_400, 400

# The order of the results: with `output`, that of the rows.
order = os.environ.get("ORDER", "interleaved")

PIPELINE = """
version: 1
endpoint: { url: "${env:GQL_URL}" }
store: { kind: sqlite, path: cache.db }
chain: [timeout: { total: 30s }, max-retry: { max_retries: 2 }, fetch, response-code, parse, cache-write]
"""

MANIFEST = f"""
version: 1
name: kill
pipeline: p.pipeline.yaml
run: {{ concurrency: 8, order: {order} }}
sinks:
  - ndjson: {{ path: "{{{{op}}}}.ndjson" }}
  - ndjson: {{ path: results.ndjson, lines: results }}
  - ndjson: {{ path: "{{{{op}}}}.ndjson.gz" }}
  - csv: {{ path: "{{{{op}}}}.csv" }}
  - json: {{ path: "{{{{op}}}}.json" }}
  - sqlite: {{ path: o.db, table: "{{{{op}}}}_keyed", key: [id] }}
  - sqlite: {{ path: o.db, table: "{{{{op}}}}_plain" }}
  - cache
operations:
  - id: users
    query: "query User($id: ID!) {{ user(id: $id) {{ id login }} }}"
    foreach: {{ csv: ids.csv, key: "{{{{row.id}}}}" }}
    variables: {{ id: "{{{{row.id}}}}" }}
    emit: user
    policy: network-only
  - id: posts
    query: "query Posts($first: Int!, $after: String) {{ feed(first: $first, after: $after) {{ edges {{ node {{ id title }} }} pageInfo {{ hasNextPage endCursor }} }} }}"
    paginate: {{ connection: feed, page_size: {{ variable: first, start: {page} }} }}
    emit: feed.edges[*].node
    policy: network-only
"""


class Server:
    """The demo server of a program, on a free port."""

    def __init__(self, program, posts=posts):
        self.process = subprocess.Popen(
            [program, "serve", "--port", "0", "--posts", str(posts)], stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


class Run:
    """A folder with the manifest, and a row per task."""

    def __init__(self, program, folder, url, tasks):
        self.program, self.folder, self.url, self.tasks = os.path.abspath(program), folder, url, tasks
        self.write("m.batch.yaml", MANIFEST)
        self.write("p.pipeline.yaml", PIPELINE)
        self.write("ids.csv", "id\n" + "".join(f"U_{n}\n" for n in range(1, tasks + 1)))
        self.ended = {}

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w") as file:
            file.write(text)

    @property
    def command(self):
        return [self.program, "batch", "run", "m.batch.yaml", "--resume", "-q"]

    def start(self, before=(), **more):
        return subprocess.Popen(
            list(before) + self.command, cwd=self.folder, env=dict(os.environ, GQL_URL=self.url),
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **more)

    def database(self, path, query, *values):
        """The rows of a query over a database that nobody writes."""
        db = sqlite3.connect(f"file:{self.folder}/{path}?mode=ro", uri=True)
        try:
            return db.execute(query, values).fetchall()
        finally:
            db.close()

    def done(self):
        """When the tasks ended that the journal has as done."""
        folder = f"{self.folder}/runs"
        names = sorted(n for n in os.listdir(folder) if n.endswith(".journal")) if os.path.isdir(folder) else []
        if not names:
            return {}
        try:
            return dict(self.database(f"runs/{names[-1]}", "select id, ended from tasks where state = 2"))
        except sqlite3.OperationalError:
            # Killed before its tables were there.
            return {}

    def expect_no_repeats(self):
        """No task that the journal had as done has ended again."""
        after = self.done()
        again = [k for k, ended in self.ended.items() if after.get(k) != ended]
        expect(not again, f"{len(again)} tasks that were done were run again, such as {again[:1]}; see {self.folder}")
        self.ended = after

    def finish(self, after):
        """Continues to the end: no task that was done is run again, and every result is there once."""
        process = self.start()
        _, errors = process.communicate(timeout=120)
        expect(process.returncode == 0, f"after {after}: exit {process.returncode}: {errors}")
        self.expect_no_repeats()
        self.expect_all()

    def expect_all(self):
        """Every result once, in every sink."""
        folder, tasks = self.folder, self.tasks
        if order == "output":
            rows = [f"U_{n}" for n in range(1, tasks + 1)]
            for name, ids in (
                ("users.ndjson", [json.loads(l)["id"] for l in open(f"{folder}/users.ndjson")]),
                ("results.ndjson", [l["key"] for l in map(json.loads, open(f"{folder}/results.ndjson")) if l["key"]]),
                ("users_plain", [r[0] for r in self.database("o.db", "select id from users_plain order by rowid")]),
            ):
                expect(ids == rows, f"{name} is not in the order of the rows; see {folder}")
        for op, count in (("users", tasks), ("posts", posts)):
            self.once(f"{op}.ndjson", [json.loads(l)["id"] for l in open(f"{folder}/{op}.ndjson")], count)
            self.once(
                f"{op}.ndjson.gz", [json.loads(l)["id"] for l in gzip.open(f"{folder}/{op}.ndjson.gz", "rt")], count)
            with open(f"{folder}/{op}.csv", newline="") as file:
                self.once(f"{op}.csv", [r["id"] for r in csv.DictReader(file)], count)
            self.once(f"{op}.json", [r["id"] for r in json.load(open(f"{folder}/{op}.json"))], count)
            for table in (f"{op}_keyed", f"{op}_plain"):
                self.once(table, [r[0] for r in self.database("o.db", f"select id from {table}")], count)
        lines = [json.loads(l) for l in open(f"{folder}/results.ndjson")]
        self.once("results.ndjson", [(l["op"], l["key"], l["page"]) for l in lines], tasks + posts // page)
        self.expect_cached("User", tasks)
        self.expect_cached("Post", posts)
        left = [n for n in os.listdir(folder) if n.endswith(".part")]
        expect(not left, f"left behind: {left}; see {folder}")

    def expect_cached(self, kind, count):
        keys = [r[0] for r in self.database("cache.db", "select key from records where key like ?", f"{kind}:%")]
        self.once(f"cache: {kind}", keys, count)

    def once(self, name, ids, count):
        doubled = [i for i, n in collections.Counter(ids).items() if n > 1]
        expect(
            len(ids) == count and not doubled,
            f"{name}: {len(ids)} records of {count}, {len(doubled)} doubled, such as {doubled[:3]}; see {self.folder}")
