#!/usr/bin/env python3
"""What twice the size costs, in counted instructions.

    scaling.py PROGRAM [NAME…]    all laws, or those whose names contain a NAME

Each law runs PROGRAM with inputs of the sizes 1, n, 2n and 4n, and counts its instructions: with the processor's counters
(perf), or with valgrind where a virtual machine has none. What the size 1 costs is subtracted. Twice the size may cost
2.3 times as much; exit code 1 if a law is broken.
"""
import http.server, json, os, re, shutil, subprocess, sys, tempfile, threading

MOST = 2.3
LAWS = []

def law(name, size):
    """Adds a law. The function makes the inputs in the working directory, and returns the arguments of the program."""
    return lambda make: LAWS.append((name, size, make))

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

for command in (["read", "d.graphql"], ["gc"], ["dump"], ["evict", "Post:*"], ["trim", "--to", "1KiB"], ["stats"]):
    @law(f"records: cache {command[0]}", 20_000)
    def _(n, command=command):
        native(imported(FEED, records(n), "sqlite:cache.db"))
        return ["cache", *command, "--store", "sqlite:cache.db"]

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

@law("types: fragments on all of an interface, imported", 300)
def _(n):
    document = "{ a { a " + lines(n, "... on T{0} {{ b {{ a }} }} ") + "} }"
    objects = ",".join(f'{{"__typename":"T{i}","a":1,"b":{{"__typename":"T{i}","a":1}}}}' for i in range(n))
    return imported(document, f'{{"data":{{"a":[{objects}]}}}}')

@law("types: compared", 1_500)
def _(n): return ["schema", "diff", write("a.graphql", union(n)), write("b.graphql", union(n).replace("a: Int", "a: Int b: Int"))]

@law("types: operations generated", 100)
def _(n):
    write("s.graphql", interfaces(n))
    write("d.graphql", lines(n, "query Q{0} {{ a {{ ... on T{0} {{ b {{ a }} }} }} }}\n") + "query E { a { a } }")
    return ["generate", "--schema", "s.graphql", "--documents", "d.graphql", "--output", "out"]

@law("types: enum cases and input fields generated", 1_000)
def _(n):
    write("s.graphql", "type Query { e(i: I): E } enum E { A " + lines(n, "V{0} ") + "} input I { a: E " + lines(n, "f{0}: E ") + "}")
    write("d.graphql", "query Q($i: I) { e(i: $i) }")
    return ["generate", "--schema", "s.graphql", "--documents", "d.graphql", "--output", "out"]

# MARK: Requests

def run(document, *options): return ["run", write("d.graphql", document), "-e", Server.url, "--quiet", *options]

def stream(count, part):
    yield {"data": {"feed": []}, "pending": [{"id": "0", "path": ["feed"]}], "hasNext": True}
    for start in range(0, count, part):
        items = [post(i) for i in range(start, min(start + part, count))]
        yield {"incremental": [{"id": "0", "items": items}], "hasNext": True}
    yield {"completed": [{"id": "0"}], "hasNext": False}

def deferred(count):
    feed = [{"__typename": "Post", "id": str(i)} for i in range(count)]
    pending = [{"id": str(i), "path": ["feed", i]} for i in range(count)]
    yield {"data": {"feed": feed}, "pending": pending, "hasNext": True}
    for i in range(count):
        yield {"incremental": [{"id": str(i), "data": {"text": f"text {i}"}}], "completed": [{"id": str(i)}], "hasNext": True}
    yield {"hasNext": False}

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

    @law(f"parts: deferred fragments, {kind}", 1_000)
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

def pipeline():
    return write("p.pipeline.yaml", f"""\
version: 1
endpoint: {{ url: "{Server.url}", subscriptions: {{ transport: sse }} }}
store: {{ kind: none }}
chain: [fetch, response-code, parse]
""")

def batch(operations, run="", sinks="ndjson: { path: o.ndjson }"):
    pipeline()
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

@law("subscriptions: at a time", 50)
def _(n):
    Server.answer = lambda request: ({"data": {"post": post(i)}} for i in range(3))
    operations = rows(n).replace("query: \"query", "query: \"subscription") + "    until: { events: 3 }\n"
    return [*batch(operations), "--concurrency", str(n)]

@law("tables: of a nested connection, extracted", 200)
def _(n):
    Server.answer = lambda request: page(request, n)
    schema = """type Query { feed(after: String, first: Int): Feed }
type Feed { nodes: [Post] pageInfo: PageInfo! }
type PageInfo { hasNextPage: Boolean! endCursor: String }
type Post { id: ID! text: String }"""
    return ["extract", "--query", PAGES, "-e", Server.url, "--schema", write("s.graphql", schema), "--to", "sqlite:o.db"]

# MARK: Counting

def native(arguments):
    """Runs the program without counting."""
    finish(subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=600), arguments)

def finish(result, arguments):
    # 4: the response has errors, which is what one of the laws is about.
    if result.returncode not in (0, 4):
        sys.exit(f"{' '.join(arguments)} ended with {result.returncode}:\n{result.stderr[-2000:]}")

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
        else:
            counting = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", f"--log-file={TOOLS}/count"]
            environment = {**os.environ, "LD_PRELOAD": f"{TOOLS}/sigsuspend.so"}
        result = subprocess.run([*counting, PROGRAM, *arguments], capture_output=True, text=True, env=environment, timeout=1800)
        os.chdir("/")
    with open(f"{TOOLS}/count") as file:
        text = file.read()
    finish(result, arguments)
    found = re.search(r"^(\d+),,instructions" if HAS_COUNTERS else r"Collected : (\d+)", text, re.M)
    if not found: sys.exit(f"no instructions were counted:\n{text[-2000:]}")
    return int(found[1])

def main():
    broken = 0
    print(f"{'law':52} {'n':>9} {'millions':>9} {'2n / n':>7} {'4n / 2n':>7}", flush=True)
    for name, size, make in LAWS:
        if NAMES and not any(part in name for part in NAMES): continue
        start, *costs = [count(make, size) for size in (1, size, 2 * size, 4 * size)]
        one, two, four = [max(cost - start, 1) for cost in costs]
        ratios = two / one, four / two
        isBroken = max(ratios) > MOST
        broken += isBroken
        print(f"{name:52} {size:9,} {one / 1e6:9.1f} {ratios[0]:7.2f} {ratios[1]:7.2f}{'  broken' if isBroken else ''}", flush=True)
    sys.exit(f"{broken} laws are broken" if broken else 0)

PROGRAM, NAMES = os.path.abspath(sys.argv[1]), sys.argv[2:]
HAS_COUNTERS = hasCounters()
with tempfile.TemporaryDirectory() as TOOLS:
    if not HAS_COUNTERS:
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sigsuspend.c")
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", f"{TOOLS}/sigsuspend.so", source], check=True)
        # Valgrind cannot read the debug information of a linker of LLVM.
        PROGRAM = shutil.copy(PROGRAM, f"{TOOLS}/gqlrun")
        subprocess.run(["strip", PROGRAM], check=True)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    server.daemon_threads = True
    Server.url = f"http://127.0.0.1:{server.server_port}/graphql"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    main()
