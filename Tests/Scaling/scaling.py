#!/usr/bin/env python3
"""What twice the size costs, in counted instructions.

Each law runs PROGRAM with inputs of the sizes 1, n, 2n and 4n, and counts its instructions: with the processor's counters
(perf), or with valgrind where a virtual machine has none. What the size 1 costs is subtracted. Twice the size may cost
2.3 times as much, or the bound of the law in EXCEPTIONS; exit code 1 if a law is broken.
"""
import argparse, atexit, functools, http.server, json, os, re, shutil, subprocess, sys, tempfile, threading, time

MOST = 2.3
LAWS = []
# Laws whose growth is inherent: the bound of their ratios, and the reason.
EXCEPTIONS = {
    "depth: objects, 100 times": (4.2, "the keys of objects without identity are their paths, whose text grows with the depth"),
    "types: fragments on all of an interface, imported": (
        4.6, "without a schema, each fragment may apply to each object until its type condition is known to be an object type"),
    "parts: deferred fragments, all pending, printed": (4.2, "each line of --incremental lists all that is pending"),
    "rules: entries of a chain": (4.2, "each entry is checked against the others; a chain has at most 1000"),
}

def law(name, size):
    """Adds a law. The function makes the inputs in the working directory, and returns the arguments of the program."""
    return lambda make: LAWS.append({"name": name, "n": size, "make": make})

def write(name, text):
    with open(name, "w") as file:
        file.write(text)
    return name

def lines(count, line):
    return "".join(line.format(i, i + 1) for i in range(count))

# MARK: The server

class Server(http.server.BaseHTTPRequestHandler):
    """Answers each request with `answer(request)`: an object, or the messages of a response in parts or of events."""
    protocol_version = "HTTP/1.1"
    answer = staticmethod(lambda request: {})
    disable_nagle_algorithm = True
    url = ""

    def log_message(self, *_): pass

    def chunk(self, text):
        self.wfile.write(b"%x\r\n%b\r\n" % (len(text), text))

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = Server.answer(request)
        self.send_response(200)
        if isinstance(answer, dict):
            body = json.dumps(answer).encode()
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            return
        isEvents = "subscription" in request["query"]
        self.send_header("Content-Type", "text/event-stream" if isEvents else 'multipart/mixed; boundary="-"')
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            if isEvents:
                for message in answer:
                    self.chunk(b"event: next\ndata: %b\n\n" % json.dumps(message).encode())
                self.chunk(b"event: complete\ndata:\n\n")
            else:
                self.chunk(b"---")
                # Not a chunk for each part: the pieces of a body are the network's.
                text = b""
                for message in answer:
                    text += b"\r\nContent-Type: application/json\r\n\r\n%b\r\n---" % json.dumps(message).encode()
                    if len(text) > 1 << 16:
                        self.chunk(text)
                        text = b""
                self.chunk(text + b"--")
            self.wfile.write(b"0\r\n\r\n")
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

def startServer():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    server.daemon_threads = True
    Server.url = f"http://127.0.0.1:{server.server_port}/graphql"
    threading.Thread(target=server.serve_forever, daemon=True).start()

@functools.cache
def demo():
    """The URL of the program's demo server, for connections that several subscriptions share."""
    process = subprocess.Popen([PROGRAM, "serve", "--port", "0"], stdout=subprocess.PIPE, text=True)
    atexit.register(process.kill)
    return re.search(r"http://\S+", process.stdout.readline())[0]

@functools.cache
def postgres():
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Torture"))
    from cluster_rig import Postgres
    server = Postgres()
    atexit.register(server.close)
    return server

def newSchema():
    """The URL of an empty schema of PostgreSQL."""
    name = f"s{time.monotonic_ns()}"
    postgres().sql(f"create schema {name}")
    return postgres().url(name)

def post(i):
    return {"__typename": "Post", "id": str(i), "text": f"text number {i}"}

# MARK: Responses

def imported(document, response, store="memory"):
    return ["cache", "import", write("d.graphql", document), write("r.json", response), "--store", store]

@law("strings: one string", 4_000_000)
def _(n): return imported("{ a }", '{"data":{"a":"' + "x" * n + '"}}')

@law("strings: one string of escapes", 1_000_000)
def _(n): return imported("{ a }", '{"data":{"a":"' + "\\u00e9\\n" * n + '"}}')

@law("strings: a list of strings", 200_000)
def _(n): return imported("{ a }", '{"data":{"a":[' + ",".join(f'"text {i}"' for i in range(n)) + "]}}")

@law("keys: an object of a custom scalar", 100_000)
def _(n): return imported("{ a }", '{"data":{"a":{' + ",".join(f'"k{i}":{i}' for i in range(n)) + "}}}")

@law("depth: lists in a custom scalar, 500 times", 60)
def _(n):
    return imported("{ a }", '{"data":{"a":[' + ",".join(["[" * n + "1" + "]" * n] * 500) + "]}}")

@law("depth: objects, 100 times", 30)
def _(n):
    def nested(i): return "{ a " + (f"o {nested(i - 1)}" if i else "") + " }"
    def value(i): return '{"__typename":"T","a":1' + (f',"o":{value(i - 1)}' if i else "") + "}"
    return imported(f"{{ l {nested(n)} }}", '{"data":{"l":[' + ",".join([value(n)] * 100) + "]}}")

@law("fields: of an object without key", 8_000)
def _(n):
    return imported(
        "{ o { " + lines(n, "f{0} ") + "} }",
        '{"data":{"o":{"__typename":"T",' + ",".join(f'"f{i}":{i}' for i in range(n)) + "}}}")

@law("fields: of the query root", 4_000)
def _(n): return imported("{ " + lines(n, "f{0} ") + "}", '{"data":{' + ",".join(f'"f{i}":{i}' for i in range(n)) + "}}")

def records(n): return '{"data":{"feed":[' + ",".join(json.dumps(post(i)) for i in range(n)) + "]}}"

FEED = "{ feed { id text } }"

@law("records: into memory", 40_000)
def _(n): return imported(FEED, records(n))

@law("records: into a file", 20_000)
def _(n): return imported(FEED, records(n), "sqlite:cache.db")

@law("records: the same again", 20_000)
def _(n):
    arguments = imported(FEED, records(n), "sqlite:cache.db")
    native(arguments)
    return arguments

@law("records: one with all keys of the others", 8_000)
def _(n):
    return imported(
        "{ o { id l { id } } }", '{"data":{"o":{"__typename":"T","id":"x","l":['
        + ",".join(f'{{"__typename":"T","id":"{i}"}}' for i in range(n)) + "]}}}", "sqlite:cache.db")

def errors(n):
    value = {
        "data": {"feed": [{"__typename": "Post", "id": str(i), "text": None} for i in range(n)]},
        "errors": [{"message": "no", "path": ["feed", i, "text"]} for i in range(n)],
    }
    return imported(FEED, json.dumps(value), "sqlite:cache.db")

# Up to 10,000 errors of a response are stored. A response of more than about 1 MiB is written in batches, where an error
# costs several times as much: each law is on one side of both limits.
law("records: errors of fields", 2_000)(errors)
law("records: more errors of fields than are stored", 20_000)(errors)

@law("records: errors of fields of one object", 2_000)
def _(n):
    value = {
        "data": {"o": {"__typename": "T", **{f"f{i}": None for i in range(n)}}},
        "errors": [{"message": "no", "path": ["o", f"f{i}"]} for i in range(n)],
    }
    return imported("{ o { " + lines(n, "f{0} ") + "} }", json.dumps(value), "sqlite:cache.db")

for command in (
    ["read", "d.graphql"], ["gc"], ["dump"], ["evict", "Post:*"], ["trim", "--to", "1KiB"], ["stats"], ["explain", "d.graphql"],
    ["export", "e.ndjson"], ["update", "d.graphql", "--jq", ".feed |= map(.text |= ascii_upcase)"],
):
    @law(f"records: cache {command[0]}", 20_000)
    def _(n, command=command):
        native(imported(FEED, records(n), "sqlite:cache.db"))
        return ["cache", *command, "--store", "sqlite:cache.db"]

@law("records: into PostgreSQL", 4_000)
def _(n): return imported(FEED, records(n), newSchema())

@law("records: from PostgreSQL", 4_000)
def _(n):
    store = newSchema()
    native(imported(FEED, records(n), store))
    return ["cache", "read", "d.graphql", "--store", store]

@law("records: a chain of references, cache gc", 10_000)
def _(n):
    links = [{"__typename": "T", "id": str(i), "next": {"__typename": "T", "id": str(i + 1)}} for i in range(n)]
    native(imported("{ l { id next { id } } }", json.dumps({"data": {"l": links}}), "sqlite:cache.db"))
    native(imported("{ l { id } }", '{"data":{"l":[{"__typename":"T","id":"0"}]}}', "sqlite:cache.db"))
    return ["cache", "gc", "--store", "sqlite:cache.db"]

# MARK: Documents and schemas

SCHEMA = """
type Query { f(a: Int, l: [Int], s: String): Query i: I a: Int b: Int }
interface I { f: I a: Int }
type A implements I { f: I a: Int }
type B implements I { f: I a: Int }
"""

def validated(document, schema=SCHEMA):
    return ["validate", "--no-warnings", "--schema", write("s.graphql", schema), write("d.graphql", document)]

def chain(count, body, name="F"):
    return lines(count, f"fragment {name}{{0}} on Query {{{{ {body} }}}} ") + f"fragment {name}{count} on Query {{ a }} "

def exclusive(depth):
    if not depth: return "a"
    inner = exclusive(depth - 1)
    return f"f {{ {inner} }} ... on A {{ f {{ ... on B {{ f {{ a }} }} {'a' if depth % 2 == 0 else ''} }} }}"

for name, size, document in [
    ("fields: different ones", 4_000, lambda n: "{ " + lines(n, "f{0}: f {{ a }} ") + "}"),
    ("fields: the same one", 4_000, lambda n: "{ a " + "f { a } " * n + "}"),
    ("fields: the same object, other fields", 4_000, lambda n: "{ a " + lines(n, "f {{ x{0}: a }} ") + "}"),
    ("fields: comments and blanks", 50_000, lambda n: "{ a " + "# nothing\n,,,   " * n + "}"),
    ("fields: arguments", 4_000, lambda n: "{ a " + lines(n, "f{0}: f(a: {0}, l: [1, 2, 3]) {{ a }} ") + "}"),
    ("strings: lines of a block string", 20_000,
     lambda n: '{ f(s: """\n' + "   a line\n" * n + '""") { a } }'),
    ("depth: of selections, 20 times", 40,
     lambda n: "{ " + lines(20, "x{0}: f {{ " + "f {{ " * n + "a" + " }}" * n + " }} ") + "}"),
    ("depth: objects that exclude each other", 15, lambda n: "{ i { " + exclusive(n) + " } }"),
    ("fragments: each spreads the next", 1_000, lambda n: "{ ...F0 } " + chain(n, "...F{1}")),
    ("fragments: each spreads the next twice", 250, lambda n: "{ ...F0 } " + chain(n, "f {{ ...F{1} }} f {{ ...F{1} b }}")),
    ("fragments: beside and inside", 250, lambda n: "{ ...F0 } " + chain(n, "...F{1} f {{ a ...F{1} }}")),
    ("fragments: of one selection", 1_000, lambda n: "{ a " + lines(n, "...F{0} ") + "...F" + str(n) + " } " + chain(n, "x{0}: a")),
    ("fragments: of objects of one field", 500,
     lambda n: "{ a " + lines(n, "...F{0} ") + "...F" + str(n) + " } " + chain(n, "f {{ a x{0}: a }}")),
    ("operations: with variables and a fragment", 500,
     lambda n: lines(n, "query Q{0}($v: Int) {{ f(a: $v) {{ a ...F }} }} ") + "fragment F on Query { a b }" + " query E { ...F }"),
    ("operations: variables of one", 2_000,
     lambda n: "query Q(" + lines(n, "$v{0}: Int ") + "$w: Int) { f(a: $w) { a } " + lines(n, "f{0}: f(a: $v{0}) {{ a }} ") + "}"),
    ("values: one list", 30_000, lambda n: "{ f(l: [" + "1 " * n + "]) { a } }"),
]:
    @law(f"{name}, validated", size)
    def _(n, document=document):
        return validated(document(n))

def interfaces(n):
    return "type Query { a: I } interface I { a: Int } " + lines(n, "type T{0} implements I {{ a: Int b: T{0} }} ")

def union(n):
    return ("type Query { u: U e: E c(i: I0): Int } " + lines(n, "type T{0} {{ a: Int }} input I{0} {{ n: I{1} }} ")
            + f"input I{n} {{ a: Int }} union U = T0" + "".join(f" | T{i}" for i in range(1, n)) + " enum E { " + lines(n, "V{0} ") + "}")

for kind, schema in ("objects of an interface", interfaces), ("a union, an enum, a chain of inputs", union):
    @law(f"types: {kind}, checked", 1_500)
    def _(n, schema=schema): return ["schema", "check", write("s.graphql", schema(n))]

@law("types: fragments on all of an interface, validated", 500)
def _(n): return validated("{ a { a " + lines(n, "... on T{0} {{ b {{ a }} }} ") + "} }", interfaces(n))

def fragments(n):
    """The arguments that import an object of each of n types, by a document with a fragment on each."""
    document = "{ l { a " + lines(n, "... on T{0} {{ b {{ a }} }} ") + "} }"
    objects = ",".join(f'{{"__typename":"T{i}","a":1,"b":{{"__typename":"T{i}","a":1}}}}' for i in range(n))
    return imported(document, f'{{"data":{{"l":[{objects}]}}}}')

@law("types: fragments on all of an interface, imported", 100)
def _(n): return fragments(n)

@law("types: fragments on all of an interface, imported with a schema", 300)
def _(n):
    schema = interfaces(n).replace("{ a: I }", "{ a: I l: [I] }")
    return [*fragments(n), "--schema", write("s.graphql", schema)]

@law("types: compared", 1_500)
def _(n): return ["schema", "diff", write("a.graphql", union(n)), write("b.graphql", union(n).replace("a: Int", "a: Int b: Int"))]

@law("types: operations generated", 100)
def _(n):
    write("s.graphql", interfaces(n))
    write("d.graphql", lines(n, "query Q{0} {{ a {{ ... on T{0} {{ b {{ a }} }} }} }}\n") + "query E { a { a } }")
    return ["generate", "--schema", "s.graphql", "--documents", "d.graphql", "--output", "out"]

@law("types: operations generated, of many fields", 500)
def _(n):
    write("s.graphql", "type Query { " + lines(n, "f{0}(a: Int): Query ") + "a: Int }")
    write("d.graphql", "query Q($a: Int) { " + lines(n, "f{0}(a: $a) {{ a }} ") + "a }")
    return ["generate", "--schema", "s.graphql", "--documents", "d.graphql", "--output", "out"]

@law("fragments: each spreads the next, generated", 100)
def _(n):
    write("s.graphql", SCHEMA)
    write("d.graphql", "query Q { ...F0 } " + chain(n, "f {{ a }} ...F{1}"))
    return ["generate", "--schema", "s.graphql", "--documents", "d.graphql", "--output", "out"]

@law("depth: of selections, generated", 25)
def _(n):
    write("s.graphql", SCHEMA)
    write("d.graphql", "query Q { " + "f { " * n + "a" + " }" * n + " }")
    return ["generate", "--schema", "s.graphql", "--documents", "d.graphql", "--output", "out"]

@law("fields: of a document, formatted", 20_000)
def _(n): return ["format", write("d.graphql", "{ " + lines(n, "f{0}(a: {0}) {{ a }} ") + "a }")]

@law("operations: of an operation manifest", 500)
def _(n):
    write("s.graphql", SCHEMA)
    write("d.graphql", lines(n, "query Q{0} {{ a ...F }} ") + "fragment F on Query { b } query E { a ...F }")
    return ["operations", "manifest", "d.graphql", "--schema", "s.graphql", "--output", "o.json"]

@law("types: a schema, printed", 3_000)
def _(n): return ["schema", "print", write("s.graphql", union(n))]

@law("types: enum cases and input fields generated", 1_000)
def _(n):
    write("s.graphql", "type Query { e(i: I): E } enum E { A " + lines(n, "V{0} ") + "} input I { a: E " + lines(n, "f{0}: E ") + "}")
    write("d.graphql", "query Q($i: I) { e(i: $i) }")
    return ["generate", "--schema", "s.graphql", "--documents", "d.graphql", "--output", "out"]

# MARK: Pipeline files

def checked(*parts):
    text = "version: 1\nendpoint: { url: \"http://127.0.0.1:1/\" }\n" + "".join(parts)
    return ["pipeline", "check", write("p.pipeline.yaml", text)]

@law("rules: keys, fields and types of a pipeline file", 1_000)
def _(n):
    return checked(
        "keys:\n  types:\n", lines(n, "    T{0}: [a, b]\n"), "fields:\n", lines(n, "  T{0}.f: {{ max_age: 5m }}\n"),
        "types:\n", lines(n, "  T{0}: {{ max_age: 1m }}\n"),
        "store: { kind: memory }\nchain: [cache-read, fetch, parse, cache-write]\n")

@law("rules: comments of a pipeline file", 20_000)
def _(n): return checked("# nothing\n" * n, "store: { kind: none }\nchain: [fetch, parse]\n")

@law("rules: entries of a chain", 200)
def _(n):
    return checked(
        "store: { kind: none }\nchain:\n", "  - headers: { set: { X-A: b } }\n" * n, "  - fetch\n  - parse\n")

# MARK: Requests

def run(document, *options): return ["run", write("d.graphql", document), "-e", Server.url, "--quiet", *options]

def stream(count, part):
    yield {"data": {"feed": []}, "pending": [{"id": "0", "path": ["feed"]}], "hasNext": True}
    for start in range(0, count, part):
        items = [post(i) for i in range(start, min(start + part, count))]
        yield {"incremental": [{"id": "0", "items": items}], "hasNext": True}
    yield {"completed": [{"id": "0"}], "hasNext": False}

def fragment(i): return {"incremental": [{"id": str(i), "data": {"text": f"text {i}"}}], "completed": [{"id": str(i)}]}

def deferred(count):
    """A list of objects, then the deferred fragment of each."""
    feed = [{"__typename": "Post", "id": str(i)} for i in range(count)]
    yield {"data": {"feed": feed}, "pending": [{"id": str(i), "path": ["feed", i]} for i in range(count)], "hasNext": True}
    for i in range(count): yield {**fragment(i), "hasNext": True}
    yield {"hasNext": False}

def streamed(count, pending):
    """A list whose elements arrive one by one, and the deferred fragment of each after `pending` more."""
    yield {"data": {"feed": []}, "pending": [{"id": "s", "path": ["feed"]}], "hasNext": True}
    for i in range(count):
        items = [{"id": "s", "items": [{"__typename": "Post", "id": str(i)}]}]
        yield {"pending": [{"id": str(i), "path": ["feed", i]}], "incremental": items, "hasNext": True}
        if i >= pending: yield {**fragment(i - pending), "hasNext": True}
    for i in range(max(count - pending, 0), count): yield {**fragment(i), "hasNext": True}
    yield {"completed": [{"id": "s"}], "hasNext": False}

for kind, options in [
    ("without a cache", ["--incremental", "--policy", "no-cache"]), ("into memory", ["--incremental"]),
    ("into a file", ["--incremental", "--store", "cache.db"]), ("merged", ["--policy", "no-cache"]),
]:
    @law(f"parts: of one element, {kind}", 4_000 if "file" in kind else 10_000)
    def _(n, options=options):
        Server.answer = lambda request: stream(n, 1)
        return run("{ feed @stream { id text } }", *options)

    @law(f"parts: of 50 elements, {kind}", 20_000)
    def _(n, options=options):
        Server.answer = lambda request: stream(n, 50)
        return run("{ feed @stream { id text } }", *options)

    @law(f"parts: deferred fragments, 10 pending, {kind}", 1_000)
    def _(n, options=options):
        Server.answer = lambda request: streamed(n, 10)
        return run("{ feed @stream { id ... @defer { text } } }", *options)

for kind, options in [
    ("merged", ["--policy", "no-cache"]), ("merged into memory", []), ("merged into a file", ["--store", "cache.db"]),
    ("printed", ["--incremental", "--policy", "no-cache"]),
]:
    @law(f"parts: deferred fragments, all pending, {kind}", 1_000 if kind != "printed" else 250)
    def _(n, options=options):
        Server.answer = lambda request: deferred(n)
        return run("{ feed { id ... @defer { text } } }", *options)

def page(request, count):
    # The variable of a cursor has any name.
    variables = (request.get("variables") or {}).values()
    after = next((int(value) for value in variables if isinstance(value, str)), 0)
    nodes = [post(after * 10 + i) for i in range(10)]
    return {"data": {"feed": {"__typename": "Feed", "nodes": nodes, "pageInfo": {
        "__typename": "PageInfo", "hasNextPage": after + 1 < count, "endCursor": str(after + 1)}}}}

PAGES = "query($after: String) { feed(after: $after) { nodes { id text } pageInfo { hasNextPage endCursor } } }"

@law("values: a list of a variable", 20_000)
def _(n):
    Server.answer = lambda request: {"data": {"a": 1}}
    write("v.json", json.dumps({"l": [{"a": i, "b": str(i)} for i in range(n)]}))
    return run("query($l: [I]) { a(l: $l) }", "--variables", "v.json", "--policy", "no-cache")

@law("records: a result through --jq", 2_000)
def _(n):
    Server.answer = lambda request: {"data": {"feed": [post(i) for i in range(n)]}}
    return run(FEED, "--policy", "no-cache", "--jq", ".data.feed[].text")

@law("watchers: a result of many records", 10_000)
def _(n):
    # The first result is that of the cache, the second one that of the server.
    native(imported(FEED, records(n), "sqlite:cache.db"))
    Server.answer = lambda request: {"data": {"feed": [{**post(i), "text": "other"} for i in range(n)]}}
    return run(FEED, "--policy", "cache-and-network", "--store", "cache.db", "--watch", "--first", "2")

for kind, options in ("into memory", []), ("into a file", ["--store", "cache.db"]):
    @law(f"pages: {kind}", 100)
    def _(n, options=options):
        Server.answer = lambda request: page(request, n)
        return run(PAGES, "--paginate", *options)

@law("events: of one subscription", 4_000)
def _(n):
    Server.answer = lambda request: ({"data": {"post": post(i)}} for i in range(n))
    return run("subscription { post { id text } }", "-p", pipeline(), "--first", str(n))

# MARK: Batches

def pipeline(url="", subscriptions="transport: sse", chain="fetch, response-code, parse"):
    return write("p.pipeline.yaml", f"""\
version: 1
endpoint: {{ url: "{url or Server.url}", subscriptions: {{ {subscriptions} }} }}
store: {{ kind: none }}
chain: [{chain}]
""")

def batch(operations, run="", sinks="ndjson: { path: o.ndjson }", **options):
    pipeline(**options)
    write("m.batch.yaml", f"""\
version: 1
pipeline: p.pipeline.yaml
run: {{ concurrency: 4{run} }}
sinks:
  - {sinks}
operations:
{operations}""")
    return ["batch", "run", "m.batch.yaml", "--quiet"]

def rows(count):
    write("ids.csv", "id\n" + lines(max(count, 1), "{0}\n"))
    return """\
  - id: post
    query: "query($id: ID!) { post(id: $id) { id text } }"
    foreach: { csv: ids.csv, key: "{{row.id}}" }
    variables: { id: "{{row.id}}" }
"""

def answer(request): return {"data": {"post": post(request["variables"]["id"])}}

@law("rows: of one operation", 400)
def _(n):
    Server.answer = answer
    return batch(rows(n))

@law("rows: in the order of the rows", 400)
def _(n):
    Server.answer = answer
    return batch(rows(n), ", order: output")

@law("rows: into a table", 400)
def _(n):
    Server.answer = answer
    return batch(rows(n) + "    emit: post\n", sinks="sqlite: { path: o.db, table: posts, key: [id] }")

@law("rows: done already", 2_000)
def _(n):
    Server.answer = answer
    arguments = [*batch(rows(n)), "--resume"]
    native(arguments)
    return arguments

@law("rows: checked", 20_000)
def _(n):
    Server.answer = answer
    return [*batch(rows(n)), "--dry-run", "--check-all"]

@law("tasks: operations of a manifest", 200)
def _(n):
    Server.answer = answer
    return batch(lines(max(n, 1), '  - id: t{0}\n    query: "query($id: ID!) {{ post(id: $id) {{ id text }} }}"\n    variables: {{ id: "{0}" }}\n'))

@law("pages: of one task", 100)
def _(n):
    Server.answer = lambda request: page(request, n)
    return batch(f"""\
  - id: feed
    query: "{PAGES}"
    paginate: {{ connection: feed }}
    emit: feed.nodes[*]
""")

@law("workers: tasks in flight, 10 for each", 40)
def _(n):
    Server.answer = answer
    return [*batch(rows(10 * n)), "--concurrency", str(n)]

def queue(n):
    """The arguments that add n tasks to a new queue."""
    Server.answer = answer
    manifest = batch(rows(n), f', journal: "{newSchema()}"')[2]
    native(["batch", "init", manifest])
    return ["batch", "enqueue", manifest]

@law("workers: tasks added to a queue", 2_000)
def _(n): return queue(n)

@law("workers: tasks of a queue", 200)
def _(n):
    arguments = queue(n)
    native(arguments)
    return ["batch", "worker", arguments[2], "--quiet"]

@law("subscriptions: at a time", 50)
def _(n):
    Server.answer = lambda request: ({"data": {"post": post(i)}} for i in range(3))
    operations = rows(n).replace("query: \"query", "query: \"subscription") + "    until: { events: 3 }\n"
    return [*batch(operations), "--concurrency", str(n)]

for name, transport in ("WebSocket", "graphql-transport-ws"), ("event stream", "sse, single_connection: true"):
    @law(f"subscriptions: on one {name}", 50)
    def _(n, transport=transport):
        operations = rows(n).replace("query($id: ID!) { post(id: $id) { id text } }", "subscription { countdown(from: 3, delay: 20) }")
        operations = operations.replace("""    variables: { id: "{{row.id}}" }\n""", "    until: { events: 100 }\n")
        return [*batch(operations, url=demo(), subscriptions=f"transport: {transport}"), "--concurrency", str(n)]

def failing(n):
    Server.answer = lambda request: {"errors": [{"message": "no " + "x" * (int(request["variables"]["id"]) % 100)}]}
    return batch(rows(n))

@law("rows: failing", 400)
def _(n): return failing(n)

for command in "errors", "report":
    @law(f"rows: failed, batch {command}", 400)
    def _(n, command=command):
        native(failing(n))
        return ["batch", command, "m.batch.yaml"]

@law("fields: columns of a CSV file", 200)
def _(n):
    Server.answer = lambda request: {"data": {"post": {f"f{i}": i for i in range(n)}}}
    operations = rows(10).replace("{ id text }", "{ " + lines(n, "f{0} ") + "}") + "    emit: post\n"
    return batch(operations, sinks="csv: { path: o.csv }")

@law("rows: replayed from a recording", 200)
def _(n):
    Server.answer = answer
    def arguments(mode): return batch(rows(n), chain=f"record-replay: {{ file: r.ndjson, mode: {mode} }}, fetch, response-code, parse")
    native(arguments("record"))
    return [*arguments("replay"), "--overwrite"]

@law("tables: of a nested connection, extracted", 200)
def _(n):
    Server.answer = lambda request: page(request, n)
    schema = """type Query { feed(after: String, first: Int): Feed }
type Feed { nodes: [Post] pageInfo: PageInfo! }
type PageInfo { hasNextPage: Boolean! endCursor: String }
type Post { id: ID! text: String }"""
    return ["extract", "--query", PAGES, "-e", Server.url, "--schema", write("s.graphql", schema), "--to", "sqlite:o.db"]

# MARK: Counting

class Unmeasured(Exception):
    """The program failed, or cannot be counted."""

def native(arguments):
    """Runs the program without counting."""
    finish(subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=600), arguments)

def finish(result, arguments):
    # Laws are about errors, too. 4: the response has errors; 1: tasks of a batch have failed.
    if result.returncode not in (0, 4) and (result.returncode, arguments[0]) != (1, "batch"):
        raise Unmeasured(f"{' '.join(arguments)} ended with {result.returncode}:\n{result.stderr[-2000:]}")

def hasCounters():
    if not shutil.which("perf"): return False
    result = subprocess.run(["perf", "stat", "-x,", "-e", "instructions:u", "true"], capture_output=True, text=True)
    return result.returncode == 0 and result.stderr[:1].isdigit()

def count(make, size):
    """The instructions of the program with an input of a size."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        arguments = make(size)
        if HAS_COUNTERS:
            counting = ["perf", "stat", "-x,", "-o", f"{TOOLS}/count", "-e", "instructions:u"]
            environment = os.environ
        elif "--jq" in arguments:
            raise Unmeasured("valgrind cannot count the second process of --jq; processors with counters can")
        else:
            counting = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", f"--log-file={TOOLS}/count"]
            # Valgrind counts each byte of a `rep movsb` as an instruction.
            tunables = ":".join(f"glibc.cpu.x86_rep_{name}_threshold={1 << 40}" for name in ("movsb", "stosb"))
            environment = {**os.environ, "LD_PRELOAD": f"{TOOLS}/sigsuspend.so", "GLIBC_TUNABLES": tunables}
        result = subprocess.run([*counting, PROGRAM, *arguments], capture_output=True, text=True, env=environment, timeout=1800)
        os.chdir("/")
    with open(f"{TOOLS}/count") as file:
        text = file.read()
    finish(result, arguments)
    found = re.search(r"^(\d+),,instructions" if HAS_COUNTERS else r"Collected : (\d+)", text, re.M)
    if not found: raise Unmeasured(f"no instructions were counted:\n{text[-2000:]}")
    return int(found[1])

def measure(law):
    """The figures of a law, as `--json` has them: `instructions` are those for n, 2n and 4n, without those for 1."""
    n = max(round(law["n"] * ARGUMENTS.share), 2)
    start, *costs = [count(law["make"], size) for size in (1, n, 2 * n, 4 * n)]
    costs = [max(cost - start, 1) for cost in costs]
    ratios = [round(costs[1] / costs[0], 3), round(costs[2] / costs[1], 3)]
    most = EXCEPTIONS.get(law["name"], (MOST, None))
    verdict = "broken" if max(ratios) > most[0] else "holds" if max(ratios) <= MOST else "exception"
    return {
        "name": law["name"], "dimension": law["name"].split(":")[0], "n": n, "instructions": costs, "ratios": ratios,
        "maxRatio": most[0], "verdict": verdict, **({"reason": most[1]} if most[1] else {})}

def main():
    results, unmeasured = [], []
    print(f"{'law':62} {'n':>9} {'millions':>9} {'2n / n':>7} {'4n / 2n':>7}", flush=True)
    for law in LAWS:
        if ARGUMENTS.names and not any(part in law["name"] for part in ARGUMENTS.names): continue
        try:
            result = measure(law)
        except Unmeasured as reason:
            os.chdir("/")
            unmeasured.append(law["name"])
            print(f"{law['name']}: not measured: {reason}", flush=True)
            continue
        results.append(result)
        print(f"{result['name']:62} {result['n']:9,} {result['instructions'][0] / 1e6:9.1f} {result['ratios'][0]:7.2f}"
              f" {result['ratios'][1]:7.2f}{'' if result['verdict'] == 'holds' else '  ' + result['verdict']}", flush=True)
        # After each law: an interrupted run leaves those that it has measured.
        if ARGUMENTS.json:
            with open(ARGUMENTS.json, "w") as file:
                json.dump({"counter": "perf" if HAS_COUNTERS else "callgrind", "laws": results}, file, indent=1)
    broken = [result["name"] for result in results if result["verdict"] == "broken"]
    problems = [f"{len(names)} laws {what}: {', '.join(names)}" for names, what in ((broken, "are broken"), (unmeasured, "were not measured")) if names]
    sys.exit("\n".join(problems) or 0)

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("names", nargs="*", metavar="NAME", help="parts of the names of laws; all without one")
    parser.add_argument("--share", type=float, default=1, metavar="X", help="multiply each n by X, for a slow counter")
    parser.add_argument("--json", type=os.path.abspath, metavar="FILE", help="also write the figures of each law to FILE")
    ARGUMENTS = parser.parse_intermixed_args()
    PROGRAM = ARGUMENTS.program
    HAS_COUNTERS = hasCounters()
    with tempfile.TemporaryDirectory() as TOOLS:
        if not HAS_COUNTERS:
            source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sigsuspend.c")
            subprocess.run(["gcc", "-shared", "-fPIC", "-o", f"{TOOLS}/sigsuspend.so", source], check=True)
            # Valgrind cannot read the debug information of a linker of LLVM.
            PROGRAM = shutil.copy(PROGRAM, f"{TOOLS}/gqlrun")
            subprocess.run(["strip", PROGRAM], check=True)
        startServer()
        main()
