#!/usr/bin/env python3
"""Kills a batch run at random moments, continues it, and looks whether every result is there once.

    Tests/Torture/batch-kill.py PROGRAM [KILLS] [TASKS]

Starts the demo server of PROGRAM (gqlrun) on a free port. Prints a line per run, and ends with 1 when a record
is missing or doubled in any sink, or when a task that was recorded as done was asked for again.
"""
import json, os, random, shutil, signal, sqlite3, subprocess, sys, tempfile, time

program = os.path.abspath(sys.argv[1])
kills = int(sys.argv[2]) if len(sys.argv) > 2 else 100
tasks = int(sys.argv[3]) if len(sys.argv) > 3 else 2000
seed = int(os.environ.get("SEED", random.randrange(1 << 30)))
random.seed(seed)
print(f"seed {seed}")

MANIFEST = """
version: 1
name: kill
run: { concurrency: 8 }
sinks:
  - ndjson: { path: o.ndjson }
  - ndjson: { path: o.ndjson.gz }
  - csv: { path: o.csv }
  - json: { path: o.json }
  - sqlite: { path: o.db, table: keyed, key: [id] }
  - sqlite: { path: o.db, table: plain }
operations:
  - id: users
    query: "query User($id: ID!) { user(id: $id) { id login } }"
    foreach: { csv: ids.csv, key: "{{row.id}}" }
    variables: { id: "{{row.id}}" }
    emit: user
"""


def check(folder):
    import gzip
    def once(name, ids):
        if len(ids) != tasks or len(set(ids)) != tasks:
            print(f"{name}: {len(ids)} records, {len(set(ids))} different ones, {tasks} expected")
            sys.exit(1)
    once("ndjson", [json.loads(l)["id"] for l in open(f"{folder}/o.ndjson")])
    once("gzip", [json.loads(l)["id"] for l in gzip.open(f"{folder}/o.ndjson.gz", "rt")])
    once("csv", [l.split(",")[0] for l in open(f"{folder}/o.csv").read().splitlines()[1:]])
    once("json", [r["id"] for r in json.load(open(f"{folder}/o.json"))])
    db = sqlite3.connect(f"{folder}/o.db")
    for table in ("keyed", "plain"):
        once(table, [r[0] for r in db.execute(f"select id from {table}")])
    db.close()


def done(folder):
    """The keys that the journal has as done."""
    names = sorted(n for n in os.listdir(f"{folder}/runs") if n.endswith(".journal")) \
        if os.path.isdir(f"{folder}/runs") else []
    if not names:
        return {}
    db = sqlite3.connect(f"file:{folder}/runs/{names[-1]}?mode=ro", uri=True)
    try:
        return dict(db.execute("select key, ended from tasks where state = 2"))
    except sqlite3.OperationalError:
        return {}
    finally:
        db.close()


server = subprocess.Popen([program, "serve", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
url = None
for line in server.stdout:
    words = [w.rstrip(".,") for w in line.split() if w.startswith("http")]
    if words:
        url = words[0]
        break
if not url.endswith("/graphql"):
    url = url.rstrip("/") + "/graphql"
os.set_blocking(server.stdout.fileno(), False)

killed = runs = 0
try:
    # How long one run takes without a kill, to spread the kills over it.
    length = float(os.environ.get("SPAN", "1.5"))
    while killed < kills:
        folder = tempfile.mkdtemp(prefix="batch-kill-")
        open(f"{folder}/m.batch.yaml", "w").write(MANIFEST)
        with open(f"{folder}/ids.csv", "w") as f:
            f.write("id\n" + "".join(f"U_{n}\n" for n in range(1, tasks + 1)))
        kills_here = 0
        before = {}
        while True:
            run = subprocess.Popen(
                [program, "batch", "run", "m.batch.yaml", "--resume", "-q", "--endpoint", url], cwd=folder,
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            try:
                _, errors = run.communicate(timeout=random.uniform(0, length) if killed < kills else None)
            except subprocess.TimeoutExpired:
                run.send_signal(signal.SIGKILL)
                run.communicate()
                killed += 1
                kills_here += 1
            else:
                if run.returncode != 0:
                    print(f"exit {run.returncode}: {errors.decode()}")
                    sys.exit(1)
            after = done(folder)
            again = [k for k, ended in before.items() if after.get(k) != ended]
            if again:
                print(f"{len(again)} tasks that were done were run again, such as {again[0]}")
                sys.exit(1)
            before = after
            if run.returncode == 0:
                break
        check(folder)
        runs += 1
        print(f"run {runs}: {kills_here} kills, every result once ({killed}/{kills})", flush=True)
        shutil.rmtree(folder)
finally:
    server.terminate()
