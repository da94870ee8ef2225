#!/usr/bin/env python3
"""batch-outputs.py PROGRAM [COUNT]: outputs of batch runs that are damaged, that are inputs, and that fail.

1. A run is killed, one of its outputs or sinks is changed, and the run is resumed: it must be refused before anything is
   sent, and must complete when the output is restored. COUNT changes of each kind.
2. Every kind of output is aimed at every kind of input: the program must refuse, and leave the input as it is.
3. A run with many tasks, and one with many pages, whose output fails or that is stopped: it must end by itself, with the
   right exit code, and --resume must complete what can be completed.
Ends with 1 at the first difference. SEED=N repeats a run of this script.
"""
import json, os, random, re, shutil, signal, sqlite3, subprocess, sys, tempfile, time

from batch_rig import MANIFEST, Run, Server
from common import expect, main

# The files of the manifest that have the results of users.
FILES = [
    path.replace("{{op}}", "users")
    for kind, path in re.findall(r'^  - (\w+): \{ path: "?([^" ,]+)', MANIFEST, re.MULTILINE) if kind != "sqlite"]


def sinks_with_path(program):
    """The kinds of sinks that write to a path."""
    result = subprocess.run([program, "batch", "sinks", "--json"], capture_output=True, text=True, check=True)
    kinds = json.loads(result.stdout)["sinks"]
    return [kind["name"] for kind in kinds if any(option["name"] == "path" for option in kind["options"])]


def sql(path, text):
    db = sqlite3.connect(path)
    db.execute(text)
    db.commit()
    db.close()


def changes(run, chance):
    """Every change: its name, and a function that makes it."""

    def path(name):
        return os.path.join(run.folder, name)

    def each(name, change):
        return [(f"{name} {file}", lambda file=file: change(path(file + ".part"))) for file in FILES]

    def replace(file):
        size = os.path.getsize(file)
        os.unlink(file)
        with open(file, "wb") as other:
            other.write(b"x" * (size + chance.randrange(1000)))

    def shorten(file):
        os.truncate(file, 1)

    def drop(name):
        for suffix in ("", "-wal", "-shm"):
            if os.path.exists(path(name + suffix)):
                os.unlink(path(name + suffix))

    def manifest(old, new):
        assert old in MANIFEST, old
        run.write("m.batch.yaml", MANIFEST.replace(old, new))

    result = each("remove", os.unlink) + each("replace", replace) + each("shorten", shorten)
    result += [
        ("remove o.db", lambda: drop("o.db")),
        ("remove cache.db", lambda: drop("cache.db")),
        ("empty a table", lambda: sql(path("o.db"), "delete from users_plain")),
        ("drop a table", lambda: sql(path("o.db"), "drop table users_keyed")),
        ("rename a sink", lambda: manifest("results.ndjson", "other.ndjson")),
        ("rename a table", lambda: manifest("_plain", "_other")),
        ("remove a sink", lambda: manifest("  - ndjson: { path: results.ndjson, lines: results }\n", "")),
        ("remove the cache", lambda: manifest("  - cache\n", "")),
        ("add a sink", lambda: manifest("  - cache\n", "  - cache\n  - csv: { path: more.csv, operations: [users] }\n")),
        ("change the records", lambda: manifest("lines: results", "lines: records")),
    ]
    return result


def killed(program, server, tasks, chance, length):
    """A run that was killed after results were recorded."""
    while True:
        run = Run(program, tempfile.mkdtemp(prefix="batch-outputs-"), server.url, tasks)
        process = run.start()
        time.sleep(chance.uniform(0.3, 1) * length)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        run.ended = run.done()
        if process.returncode == -signal.SIGKILL and run.ended and all(recorded(run)):
            return run
        shutil.rmtree(run.folder)


def recorded(run):
    """Whether the journal has results in every file and table of the users."""
    name = sorted(n for n in os.listdir(f"{run.folder}/runs") if n.endswith(".journal"))[-1]
    files = dict(run.database(f"runs/{name}", "select path, records from sinks"))
    tables = dict(run.database(f"runs/{name}", "select name, records from outputs where name <> ''"))
    for file in FILES:
        yield files.get(file, 0) > 2
    for table in ("users_keyed", "users_plain"):
        yield tables.get(table, 0) > 0


def damaged(program, server, count, chance):
    # The demo server has no more users.
    tasks = 2000
    run = Run(program, tempfile.mkdtemp(prefix="batch-outputs-"), server.url, tasks)
    start = time.monotonic()
    run.finish("nothing")
    length = (time.monotonic() - start) * 0.8
    shutil.rmtree(run.folder)
    number = len(changes(run, chance))
    refused = 0
    for _ in range(count):
        for index in range(number):
            run = killed(program, server, tasks, chance, length)
            copy = run.folder + ".copy"
            shutil.copytree(run.folder, copy)
            name, change = changes(run, chance)[index]
            change()
            process = run.start()
            _, errors = process.communicate(timeout=120)
            expect(process.returncode == 65, f"{name}: exit {process.returncode}: {errors}; see {run.folder}")
            expect("without --resume" in errors, f"{name}: {errors}")
            expect(run.done() == run.ended, f"{name}: something was sent; see {run.folder}")
            # Restored, the run goes on.
            shutil.rmtree(run.folder)
            os.rename(copy, run.folder)
            run.finish(name)
            shutil.rmtree(run.folder)
            refused += 1
    print(f"changed outputs: {refused} of {number} kinds; all refused, and completed when they were restored", flush=True)


def inputs(program, server):
    """Every output on every input."""
    outputs = {kind: f"sinks: [{{{{ {kind}: {{{{ path: {{}} }}}} }}}}]" for kind in sinks_with_path(program)}
    outputs |= {
        "gzip": "sinks: [{{ ndjson: {{ path: {}, gzip: true }} }}]", "junit": "report: {{ junit: {} }}",
        "html": "report: {{ html: {} }}", "report": "report: {{ json: {} }}", "state": "state: {{ file: {} }}",
    }
    files = ["m.batch.yaml", "p.pipeline.yaml", "q.graphql", "ids.csv", "hard.csv", "soft.csv", "foreign.txt", ".git/config"]
    refused = 0
    with tempfile.TemporaryDirectory(prefix="batch-outputs-") as folder:
        run = Run(program, folder, server.url, 5)
        run.write("q.graphql", "query User($id: ID!) { user(id: $id) { id login } }")
        run.write("foreign.txt", "mine")
        os.mkdir(f"{folder}/.git")
        run.write(".git/config", "[core]\n")
        os.link(f"{folder}/ids.csv", f"{folder}/hard.csv")
        os.symlink("ids.csv", f"{folder}/soft.csv")
        for kind, output in outputs.items():
            for file in files:
                run.write(
                    "m.batch.yaml",
                    f"version: 1\npipeline: p.pipeline.yaml\n{output.format(file)}\noperations:\n"
                    "  - { id: users, document: q.graphql, foreach: { csv: ids.csv }, variables: { id: \"{{row.id}}\" }, emit: user }\n")
                before = {name: open(f"{folder}/{name}", "rb").read() for name in files}
                for command in (["check", "m.batch.yaml"], ["run", "m.batch.yaml", "-q"]):
                    result = subprocess.run(
                        [run.program, "batch"] + command, cwd=folder, env=dict(os.environ, GQL_URL=server.url),
                        capture_output=True, text=True, timeout=60)
                    expect(result.returncode == 65, f"{kind} on {file}: {command[0]} exits {result.returncode}: {result.stderr}")
                after = {name: open(f"{folder}/{name}", "rb").read() for name in files}
                expect(before == after, f"{kind} on {file}: an input was changed")
                refused += 1
    print(f"outputs on inputs: {refused}; all refused, no input was changed", flush=True)


PAGES = """
  - id: posts
    query: "query Posts($first: Int!, $after: String) { feed(first: $first, after: $after) { edges { node { id title body } } pageInfo { hasNextPage endCursor } } }"
    paginate: { connection: feed, page_size: { variable: first, start: 2 } }
    emit: feed.edges[*].node
"""
TASKS = """
  - id: users
    query: "query User($id: ID!) { user(id: $id) { id login } }"
    foreach: { csv: ids.csv, key: "{{row.id}}" }
    variables: { id: "{{row.id}}" }
    emit: user
"""


def ends(program, server, count):
    """Runs that must end by themselves."""
    sinks = {kind: f"{kind}: {{ path: o }}" for kind in sinks_with_path(program)}
    sinks |= {"stdout": "ndjson: {}", "gzip": "ndjson: { path: o.gz }"}
    # What ends the run: a shell line, and the exit codes that are right.
    ways = {
        "head": ('"$GQLRUN" batch run m.batch.yaml -q | head -2 > /dev/null; exit ${PIPESTATUS[0]}', (141,)),
        "full": ('"$GQLRUN" batch run m.batch.yaml -q > /dev/full', (75,)),
        "limit": ('ulimit -f 64; "$GQLRUN" batch run m.batch.yaml -q', (75, 65)),
        "interrupt": ('"$GQLRUN" batch run m.batch.yaml -q > out & sleep 1; kill -INT $!; wait $!', (130, 0)),
        "deadline": ('"$GQLRUN" batch run m.batch.yaml -q > out', (75, 0)),
        "failures": ('"$GQLRUN" batch run m.batch.yaml -q > out', (1,)),
    }
    ended = 0
    for _ in range(count):
        for operation in (PAGES, TASKS):
            for kind, sink in sinks.items():
                for way, (line, codes) in ways.items():
                    if way in ("head", "full") and kind != "stdout" or way == "limit" and kind == "stdout":
                        continue
                    with tempfile.TemporaryDirectory(prefix="batch-outputs-") as folder:
                        run = Run(program, folder, server.url, 20_000)
                        settings = "concurrency: 8" + {"deadline": ", deadline: 1s", "failures": ", fail_fast: true"}.get(way, "")
                        expectation = "    expect: [\"page < 3\", \"data.user.id != \\\"U_9\\\"\"]\n" if way == "failures" else ""
                        if way == "failures" and operation is PAGES:
                            expectation = "    expect: [\"page < 3\"]\n"
                        run.write(
                            "m.batch.yaml",
                            f"version: 1\nendpoint: \"${{env:GQL_URL}}\"\nrun: {{ {settings} }}\nsinks: [{{ {sink} }}]\noperations:{operation}{expectation}")
                        place = f"{'pages' if operation is PAGES else 'tasks'}, {kind}, {way}"
                        environment = dict(os.environ, GQL_URL=server.url, GQLRUN=run.program)
                        process = subprocess.Popen(
                            ["bash", "-c", line], cwd=folder, env=environment, stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, text=True, start_new_session=True)
                        try:
                            _, errors = process.communicate(timeout=60)
                        except subprocess.TimeoutExpired:
                            os.killpg(process.pid, signal.SIGKILL)
                            process.communicate()
                            expect(False, f"{place}: did not end within a minute")
                        expect(process.returncode in codes, f"{place}: exit {process.returncode}: {errors}")
                        ended += 1
    print(f"ends: {ended} runs with pages or tasks, every output; all ended by themselves", flush=True)


def torture():
    program, count = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 2
    seed = int(os.environ.get("SEED", random.randrange(1 << 30)))
    print(f"seed {seed}")
    with Server(program) as server:
        inputs(program, server)
        ends(program, server, count)
        damaged(program, server, count, random.Random(seed))


main(torture)
