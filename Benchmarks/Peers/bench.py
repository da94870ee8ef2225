#!/usr/bin/env python3
"""Measures `gqlrun cache import` beside other programs that read the same JSON response.

    Benchmarks/Peers/bench.py PROGRAM [--posts N...] [--rounds N] [--feed FOLDER] [--output FILE]

Needs `json_verify` in PATH (yajl-tools), and the packages of requirements.txt. Each of them runs as a process of its own, in
turn, in each round; its time and processor time are divided by those of `json_verify` in the same round. The response is that of
--feed, a folder with gen.py and feed.graphql, or is made by PROGRAM. Prints medians with the smallest and the largest value.

What the programs in Python do is the functions below: each prints how many rows or records it has, and ends.
"""
import argparse, importlib.metadata, json, os, platform, re, sqlite3, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.dirname(HERE))
from measuring import keep, make_feed, measured, spread

PACKAGES = ["gql", "sqlite-utils", "duckdb"]
# Rows of a transaction of sqlite-utils: a hundred, its default, take a quarter longer.
BATCH = 10_000


def posts(response):
    with open(response, "rb") as file:
        return [edge["node"] for edge in json.load(file)["data"]["feed"]["edges"]]


def gql(response, document, database):
    """The client of gql, with a transport that reads the file, and a dictionary of records by type and id."""
    import gql
    from gql.transport import Transport
    from graphql import ExecutionResult

    class File(Transport):
        def execute(self, request, *_, **__):
            with open(response, "rb") as file:
                return ExecutionResult(**json.load(file))

    records = {}

    def stored(value):
        if isinstance(value, list):
            return [stored(element) for element in value]
        if not isinstance(value, dict):
            return value
        fields = {name: stored(member) for name, member in value.items()}
        if "id" not in fields:
            return fields
        key = f'{fields["__typename"]}:{fields["id"]}'
        records.setdefault(key, {}).update(fields)
        return {"$ref": key}

    with open(document) as file:
        request = gql.gql(file.read())
    request.variable_values = {"first": 1}
    records["QUERY_ROOT"] = stored(gql.Client(transport=File()).execute(request))
    print(len(records))


def sqlite_utils(response, document, database):
    """A table of posts, with nested objects and lists as columns of JSON text."""
    import sqlite_utils
    table = sqlite_utils.Database(database)["posts"]
    table.insert_all(posts(response), pk="id", batch_size=BATCH)
    print(table.count)


def sqlite_utils_tables(response, document, database):
    """A table for each type: a row for each id, which is replaced when the id comes again."""
    import sqlite_utils
    tables = {"users": [], "tags": [], "comments": [], "posts": []}
    for post in posts(response):
        tables["users"].append(post["author"])
        tables["tags"] += post["tags"]
        comments = [edge["node"] for edge in post["comments"]["edges"]]
        for comment in comments:
            tables["users"].append(comment["author"])
            tables["comments"].append(comment | {"author": comment["author"]["id"], "post": post["id"]})
        tables["posts"].append(post | {"author": post["author"]["id"], "tags": [tag["id"] for tag in post["tags"]],
                                       "comments": [comment["id"] for comment in comments]})
    store = sqlite_utils.Database(database)
    for name, rows in tables.items():
        store[name].insert_all(rows, pk="id", replace=True, batch_size=BATCH)
    print(sum(store[name].count for name in tables))


def duckdb(response, document, database):
    """A table of posts whose columns have the types that DuckDB finds: structures and lists."""
    import duckdb
    connection = duckdb.connect(database)
    connection.execute(f"""
        CREATE TABLE posts AS SELECT unnest(edge.node) FROM (
          SELECT unnest(data.feed.edges) AS edge
          FROM read_json('{response}', maximum_object_size = {os.path.getsize(response) + 1}))""")
    print(connection.execute("SELECT count(*) FROM posts").fetchone()[0])
    connection.close()


PEERS = {"gql": gql, "sqlite-utils": sqlite_utils, "sqlite-utils-tables": sqlite_utils_tables, "duckdb": duckdb}


def main(given):
    program = os.path.abspath(given.program)
    version = subprocess.run([program, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()[-1]
    versions = {"gqlrun": version, "Python": platform.python_version(), "SQLite of Python": sqlite3.sqlite_version} | {
        name: importlib.metadata.version(name) for name in PACKAGES}
    print(", ".join(f"{name} {value}" for name, value in versions.items()))
    with tempfile.TemporaryDirectory(prefix="peers-bench-") as folder:
        responses = []
        for count in given.posts:
            responses.append(measure(program, count, given, folder))
            if given.output:
                keep(given.output, "bench-peers", rounds=given.rounds, versions=versions, responses=responses)


def measure(program, count, given, folder):
    """The figures of one response."""
    response, document = make_feed(program, count, given.feed, folder)
    database = f"{folder}/out.db"
    importing = [program, "cache", "import", document, response, "--var", "first=1", "--store"]
    commands = {"gqlrun-memory": [*importing, "memory"], "gqlrun-sqlite": [*importing, f"sqlite:{database}"]}
    for name in PEERS:
        commands[name] = [sys.executable, os.path.abspath(__file__), "--peer", name, response, document, database]
    samples = {name: [] for name in commands}
    verified = []
    for _ in range(given.rounds):
        with open(response, "rb") as file:
            _, verify, _, verify_cpu = measured(["json_verify", "-q"], folder, stdin=file)
        verified.append(verify)
        for name, command in commands.items():
            text, seconds, peak, cpu = measured(command, folder)
            made = [f"{folder}/{file}" for file in os.listdir(folder) if file.startswith("out.db")]
            samples[name].append({"seconds": seconds, "ratio": seconds / verify, "cpu_seconds": cpu, "cpu_ratio": cpu / verify_cpu,
                                  "peak_mib": peak})
            stored = int((re.search(r"\((\d+) new", text) or re.search(r"(\d+)", text))[1])
            if stored < count:
                sys.exit(f"{name} has stored {stored} of {count} posts:\n{text}")
            samples[name][-1] |= {"stored": stored, "file_mb": sum(map(os.path.getsize, made)) / 1e6}
            for file in made:
                os.remove(file)
    rows = {name: {figure: spread([sample[figure] for sample in taken]) for figure in taken[0]}
            for name, taken in samples.items()}
    result = {"posts": count, "bytes": os.path.getsize(response), "verify_seconds": spread(verified), "rows": rows}
    print(f"\n{result['bytes'] / 1e6:.1f} MB, json_verify {result['verify_seconds']['median'] * 1000:.1f} ms\n")
    print("| | x verify | cpu | seconds | cpu, s | peak, MiB | file, MB | rows |\n|---|---|---|---|---|---|---|---|")
    digits = {"ratio": 1, "cpu_ratio": 1, "seconds": 2, "cpu_seconds": 2, "peak_mib": 0}
    for name, row in rows.items():
        cells = ["{median:.{0}f} ({minimum:.{0}f}…{maximum:.{0}f})".format(count, **row[figure]) for figure, count in digits.items()]
        print(f"| {name} | {' | '.join(cells)} | {row['file_mb']['median']:.1f} | {row['stored']['median']:,} |", flush=True)
    return result


if sys.argv[1:2] == ["--peer"]:
    PEERS[sys.argv[2]](*sys.argv[3:])
else:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--posts", type=int, nargs="+", default=[250, 2500, 25000], help="1.1, 11 and 112 MB")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--feed", type=os.path.abspath, help="folder with gen.py and feed.graphql")
    parser.add_argument("--output", help="JSON file for the figures")
    main(parser.parse_args())
