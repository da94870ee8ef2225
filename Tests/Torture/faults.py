#!/usr/bin/env python3
"""faults.py PROGRAM [COUNT] [NAME…]: lets one system call after another fail, in every command that writes.

A case is a folder with earlier outputs, and a command that replaces them. failing.c makes the n-th call on a file of the
folder fail, for n up to COUNT and each kind of call and error. After each failure:

1. the program has ended by itself; with an exit code that is not 0, it has named the cause and a file;
2. each file is the old one or the new one; all are the new ones if the exit code is 0;
3. the same command without a fault succeeds, and leaves what it leaves in a folder without faults, and nothing else.

Then, as a control, commands that do not keep these rules must be found.
"""

import collections, errno, gzip, http.server, json, os, re, shlex, shutil, sqlite3, subprocess, sys, tempfile, threading, xml.etree.ElementTree

from batch_rig import MANIFEST, PIPELINE, Server
from common import Fault, Rig, expect, failing, main

# The kinds of calls, and the errors of each. "half" transfers half of the bytes, which is no error.
CALLS = {
    "write": ["ENOSPC", "EIO", "EDQUOT", "half"], "sync": ["EIO", "ENOSPC"], "truncate": ["EIO", "ENOSPC"],
    "rename": ["EACCES", "ENOSPC"], "open": ["EACCES", "EMFILE", "ENOSPC"], "mkdir": ["EACCES", "ENOSPC"],
    "unlink": ["EACCES"], "link": ["EIO"], "close": ["EIO"], "chmod": ["EPERM"], "lock": ["ENOLCK"],
    "read": ["EIO", "half"], "sqlite-malloc": ["ENOMEM"],
}
# What names a cause, besides the text of the error number: the texts of SQLite.
CAUSES = [
    "disk I/O error", "disk is full", "unable to open database", "out of memory", "has locked the database", "readonly database",
    "malformed", "not writable"]
# The end of the name of a file that belongs to another one, or becomes it.
TEMPORARY = r"(\.\d+-\d+)?(\.part|-incomplete|-wal|-shm|-journal|[-.]lock)*( \(deleted\))?$"
# Allocations that fail, of some thousand: more of them would be the same lines of SQLite.
ALLOCATION_STEP = 29

FILES = {
    "c.graphql": "query C($code: ID!) { country(code: $code) { code name capital } }\n",
    "feed.graphql": "query Feed($first: Int!, $after: String) { feed(first: $first, after: $after) { edges { node { id title } }"
        " pageInfo { hasNextPage endCursor } } }\n",
    "tables.graphql": "query T { customers(first: 100) { nodes { id name orders(first: 3) { nodes { id total } } } } }\n",
    "d.graphql": "query D { countries { name } }\n",
    "old.json": '{"data":{"country":{"__typename":"Country","code":"DE","name":"old","capital":"old"}}}',
    "new.json": '{"data":{"country":{"__typename":"Country","code":"DE","name":"new","capital":"new"}}}',
    "record.yaml": 'version: 1\nendpoint: { url: "${env:GQL_URL}" }\nstore: { kind: none }\n'
        'chain: [record-replay: { file: recording.ndjson, mode: "${env:MODE:-auto}" }, fetch, response-code, parse]\n',
    "audit.yaml": 'version: 1\nendpoint: { url: "${env:GQL_URL}" }\nstore: { kind: none }\n'
        'chain: [audit: { file: audit.ndjson }, fetch, response-code, parse]\n',
    "token.yaml": 'version: 1\nname: token\nendpoint: { url: "${env:GQL_URL}" }\nstore: { kind: sqlite, path: cache.db }\n'
        'chain: [max-retry, token-refresh: { oauth2: { token_url: "${env:TOKEN_URL}", client_id: c, grant: refresh-token, '
        'refresh_token: "${env:FIRST}", store: token.json } }, fetch, response-code, parse, cache-write]\n',
    "exec.yaml": 'version: 1\nendpoint: { url: "${exec:echo http://127.0.0.1:1/}" }\nchain: [fetch, parse]\n',
    "p.pipeline.yaml": PIPELINE,
    "m.batch.yaml": MANIFEST.replace("order: interleaved", "order: output"),
    "ids.csv": "id\n" + "".join(f"U_{n}\n" for n in range(1, 21)),
    "s.batch.yaml": """
version: 1
name: small
run: { concurrency: 1 }
sinks: [{ ndjson: { path: "{{op}}.ndjson" } }]
report: { junit: j.xml, html: h.html, json: j.json }
state: { file: state.json }
operations:
  - id: users
    query: "query User($id: ID!) { user(id: $id) { id login } }"
    foreach: { csv: rows.csv, key: "{{row.id}}" }
    variables: { id: "{{row.id}}" }
    emit: user
    bookmark: { last: max(id) }
    snapshot: "snapshots/{{row.id}}.json"
    expect: ['data.user.id != "U_2"']
""",
    "rows.csv": "id\nU_1\nU_2\nU_3\n",
}
SCHEMA = "gqlrun schema fetch -o schema.graphql"
IMPORT = "gqlrun cache import c.graphql old.json --var code=DE --keys Country=code --store sqlite:cache.db"
FILL = IMPORT + "; gqlrun run c.graphql --var code=PT --keys Country=code --store sqlite:cache.db >/dev/null"
NO_EXPECT = "sed -i /expect/d s.batch.yaml"
BATCH = "gqlrun batch run s.batch.yaml -q || true"


class Case:
    """A command, and the shell commands that make what it replaces.

    Patterns of paths: `varies` are files in which digits differ from run to run, `ignored` are not compared, `tells` also
    has something to tell of a failed run, `grows` while the command is run, and has everything in the end. `then` is run
    instead of the command after a failure; `appends` is a log, to which failed runs may add lines. A command that `is_once`
    refuses to replace its output.
    """

    def __init__(self, name, command, before="", varies="$^", ignored="$^", tells="$^", grows="$^", then=None, appends=None,
                 is_once=False):
        self.name, self.command, self.before, self.varies, self.ignored = name, command, before, varies, ignored
        self.tells, self.grows, self.then, self.appends, self.is_once = tells, grows, then or command, appends, is_once


RUN = "gqlrun run c.graphql --var code="
CASES = [
    Case("run -o", RUN + "PT -o out.json", RUN + "DE -o out.json"),
    Case("run -o, a new file", RUN + "PT -o out.json"),
    Case("run -o --paginate", "gqlrun run feed.graphql --var first=40 --paginate -o out.json", RUN + "DE -o out.json"),
    Case("run --har", RUN + "PT -o out.json --har out.har", RUN + "DE -o out.json --har out.har", varies="out.har", tells="out.har"),
    Case("run --junit", RUN + "PT -o out.json --expect 'errors == null' --junit j.xml", varies="j.xml", tells="j.xml"),
    Case("run --metrics-file", RUN + "PT -o out.json --metrics-file m.prom", RUN + "DE -o out.json", varies="m.prom", tells="m.prom"),
    Case("run --store", RUN + "PT -o out.json --keys Country=code --store sqlite:cache.db", FILL.replace("PT", "FR")),
    Case("run --store, a new file", RUN + "PT -o out.json --keys Country=code --store sqlite:cache.db"),
    Case("run, recording", RUN + "PT -o out.json -p record.yaml", RUN + "DE -o out.json -p record.yaml", varies="recording.ndjson"),
    Case("run, a new recording", "env MODE=record " + RUN + "PT -o out.json -p record.yaml", RUN + "DE -o out.json -p record.yaml",
         varies="recording.ndjson"),
    Case("run, audit log", RUN + "PT -o out.json -p audit.yaml", RUN + "DE -o out.json -p audit.yaml", appends="audit.ndjson"),
    Case("run, token store", RUN + "PT -o out.json -p token.yaml",
         RUN + "DE -o out.json -p token.yaml; sed -i 's/\"issued_at\": [0-9.]*/\"issued_at\": 1/' token.json",
         varies="token.json"),
    Case("logout", "gqlrun logout -p token.yaml", RUN + "DE -o out.json -p token.yaml", varies="token.json"),
    Case("cache import", IMPORT.replace("old", "new"), FILL),
    Case("cache import, a new file", IMPORT.replace("old", "new")),
    Case("cache import, large", "gqlrun cache import q.graphql big2.json --store sqlite:cache.db",
         "gqlrun cache import q.graphql big1.json --store sqlite:cache.db"),
    Case("cache import, large, a new file", "gqlrun cache import q.graphql big2.json --store sqlite:cache.db"),
    Case("cache write", "gqlrun cache write c.graphql data.json --var code=DE --keys Country=code --store sqlite:cache.db",
         FILL + "; echo '{\"country\":{\"__typename\":\"Country\",\"code\":\"DE\",\"name\":\"new\",\"capital\":\"new\"}}' > data.json"),
    Case("cache update", "gqlrun cache update c.graphql --var code=DE --keys Country=code --store sqlite:cache.db --jq '.country.name = \"new\"'",
         FILL),
    Case("cache evict", "gqlrun cache evict Country:DE --store sqlite:cache.db", FILL),
    Case("cache gc", "gqlrun cache gc --store sqlite:cache.db", FILL + "; gqlrun cache evict QUERY_ROOT --store sqlite:cache.db"),
    Case("cache trim", "gqlrun cache trim --to 60B --store sqlite:cache.db", FILL),
    Case("cache clear", "gqlrun cache clear --store sqlite:cache.db", FILL),
    Case("cache export", "gqlrun cache export dump.ndjson --store sqlite:cache.db", FILL, is_once=True),
    Case("cache export, a database", "gqlrun cache export copy.db --store sqlite:cache.db", FILL, is_once=True),
    Case("schema fetch", SCHEMA, "echo 'type Query { old: Int }' > schema.graphql"),
    Case("schema fetch, introspection", "gqlrun schema fetch -o schema.json"),
    Case("operations manifest", "gqlrun operations manifest c.graphql feed.graphql -o manifest.json",
         "gqlrun operations manifest c.graphql -o manifest.json"),
    Case("generate", "gqlrun generate --schema schema.graphql --documents c.graphql --documents feed.graphql --output G --manifest manifest.json",
         SCHEMA + "; gqlrun generate --schema schema.graphql --documents c.graphql --documents d.graphql --output G --manifest manifest.json"),
    Case("doctor --write", "gqlrun doctor --write d.pipeline.yaml", is_once=True, varies="d.pipeline.yaml"),
    Case("doctor --audit --junit", "gqlrun doctor --audit --junit audit.xml", varies="audit.xml"),
    Case("manual", "gqlrun manual man", varies=r"man/.*"),
    Case("profile", "gqlrun profile --file big1.json -d q.graphql --runs 1 --warmup 0 --no-baselines --store sqlite:p.db --json p.json"
         " --html p.html --folded p.folded --trace p.trace --prometheus p.prom --junit p.xml --budget 'total<=100s'",
         ignored=r"p\..*"),
    Case("profile --keep", "gqlrun profile --generate feed:20 --runs 1 --warmup 0 --no-baselines --keep kept --json p.json",
         ignored=r"p\.json"),
    Case("pipeline new", "gqlrun pipeline new own.pipeline.yaml", is_once=True),
    Case("pipeline trust", "gqlrun pipeline trust exec.yaml"),
    Case("pipeline trust --revoke", "gqlrun pipeline trust --revoke exec.yaml", "gqlrun pipeline trust exec.yaml record.yaml"),
    Case("batch new", "gqlrun batch new n.batch.yaml --document c.graphql --rows ids.csv", SCHEMA, is_once=True),
    Case("batch run, every sink", "gqlrun batch run m.batch.yaml -q --resume", ignored=r"runs/.*\.journal.*|runs/.*outputs\.json", grows=r".*\.db|results\.ndjson",
         varies=r"results\.ndjson"),
    Case("batch run, reports and state", "gqlrun batch run s.batch.yaml -q", NO_EXPECT + "; gqlrun batch run s.batch.yaml -q; echo U_4 >> rows.csv",
         ignored=r"runs/.*\.journal.*|runs/.*outputs\.json|[jh]\..*"),
    Case("batch run --only failed", "gqlrun batch run s.batch.yaml -q --only failed", BATCH + "; " + NO_EXPECT,
         ignored=r"runs/.*\.journal.*|runs/.*outputs\.json|[jh]\..*"),
    Case("batch retry", "gqlrun batch retry s.batch.yaml --failed", BATCH, ignored=r"runs/.*\.journal.*|runs/.*outputs\.json"),
    Case("batch report", "gqlrun batch report s.batch.yaml", BATCH + "; echo > j.json; rm j.json", varies=r"[jh]\..*", ignored=r"runs/.*\.journal.*|runs/.*outputs\.json"),
    Case("batch merge", "gqlrun batch merge s.batch.yaml",
         NO_EXPECT + "; gqlrun batch run s.batch.yaml -q --shard 1/2; gqlrun batch run s.batch.yaml -q --shard 2/2",
         ignored=r"runs/.*\.journal.*|runs/.*outputs\.json|[jh]\..*", is_once=True),
    Case("batch prune", "gqlrun batch prune s.batch.yaml", BATCH + "; " + BATCH + "; touch users.ndjson.1-2.part", ignored=r"[jh]\..*"),
    Case("extract, SQLite", "gqlrun extract tables.graphql -q --to sqlite:out.db --resume", ignored=r"runs/.*\.journal.*|runs/.*outputs\.json", grows="out.db"),
    Case("extract, CSV", "gqlrun extract tables.graphql -q --to out/ --format csv --concurrency 1 --resume", ignored=r"runs/.*\.journal.*|runs/.*outputs\.json"),
    Case("extract, NDJSON", "gqlrun extract tables.graphql -q --to out/ --format ndjson --concurrency 1 --resume", ignored=r"runs/.*\.journal.*|runs/.*outputs\.json"),
]
# Commands that break a rule each, and what must be found.
CONTROLS = [
    (Case("writes in place", "sh -c 'echo one > out.txt; gqlrun run c.graphql --var code=PT --jq .data >> out.txt'"), "neither the old"),
    (Case("hides its failure", "sh -c 'gqlrun run c.graphql --var code=PT -o out.json || true'"), "exit 0"),
    (Case("leaves a file", "sh -c 'gqlrun run c.graphql --var code=PT -o out.json || { e=$?; touch $$.part; exit $e; }'"), "left"),
]


class Tokens(http.server.BaseHTTPRequestHandler):
    """An OAuth 2 server, which gives every client a token."""

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        body = b'{"access_token":"t","token_type":"Bearer","expires_in":3600,"refresh_token":"next"}'
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Bench:
    """A folder in which the command of a case is run from the same beginning each time."""

    def __init__(self, case, program, urls, scratch, library):
        self.case, self.program, self.library = case, program, library
        self.folder, self.template = os.path.join(scratch, "case"), os.path.join(scratch, "template")
        self.report = os.path.join(scratch, "report")
        self.environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("GQL", "XDG", "OTEL"))}, **urls, "NO_COLOR": "1", "FIRST": "first",
            "HOME": f"{self.folder}/home", "TMPDIR": f"{self.folder}/tmp", "PATH": f"{scratch}/bin:{os.environ['PATH']}"}
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(f"{self.folder}/home")
        os.makedirs(f"{self.folder}/tmp")
        for name, text in FILES.items():
            with open(f"{self.folder}/{name}", "w") as file:
                file.write(text)
        if "big" in case.command:
            rig = Rig(self.folder, program)
            for version in (1, 2):
                os.rename(rig.response(version), rig.path(f"big{version}.json"))
        result = self.run(f"bash -ec {shlex.quote(case.before or 'true')}")
        expect(result.returncode == 0, f"{case.name}: its preparation failed: {result.stderr}")
        shutil.rmtree(self.template, ignore_errors=True)
        shutil.copytree(self.folder, self.template, symlinks=True)
        self.old = self.files()
        self.clean = self.run(case.command)
        self.new = self.files()
        expect(0 <= self.clean.returncode < 64, f"{case.name}: failed without a fault: {self.clean.stderr}")
        expect(self.old != self.new or case.ignored != "$^" or case.varies != "$^", f"{case.name}: changes nothing")

    def run(self, command, more={}):
        try:
            return subprocess.run(
                shlex.split(command), cwd=self.folder, env={**self.environment, **more}, capture_output=True, text=True,
                errors="replace", timeout=60, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired as late:
            return subprocess.CompletedProcess(command, 999, "", f"did not end: {late.stderr}")

    def files(self):
        """What each file says, by its path."""
        found = {}
        for folder, _, names in os.walk(self.folder):
            for name in names:
                path = os.path.relpath(f"{folder}/{name}", self.folder)
                if not re.fullmatch(self.case.ignored, path) and not re.search("(-wal|-shm|[-.]lock)$", path):
                    contents = self.contents(path)
                    # A cache without records is like none.
                    if contents or path != "cache.db":
                        found[path] = contents
        return found

    def contents(self, path):
        with open(f"{self.folder}/{path}", "rb") as file:
            data = file.read()
        if data.startswith(b"SQLite format 3"):
            if path == "cache.db":
                return self.run(f"gqlrun cache dump --store sqlite:{path}").stdout
            db = sqlite3.connect(f"file:{self.folder}/{path}?mode=ro", uri=True)
            try:
                sound = db.execute("pragma integrity_check").fetchall()
                return sound == [("ok",)] and sorted(l for l in db.iterdump() if "gqlrun_" not in l)
            except sqlite3.Error as failure:
                return str(failure)
            finally:
                db.close()
        if path.endswith(".gz"):
            try:
                return gzip.decompress(data)
            except (OSError, EOFError) as failure:
                return str(failure)
        if path == self.case.appends:
            return "complete lines" if data.endswith(b"}\n") and b"}{" not in data else data
        return re.sub(rb"\d+(\.\d+)?", b"#", data) if re.fullmatch(self.case.varies, path) else data

    def inject(self, fault):
        """Runs the command with a fault: path, result and violations of the rules; `None` if there are not so many calls."""
        shutil.rmtree(self.folder)
        shutil.copytree(self.template, self.folder, symlinks=True)
        if os.path.exists(self.report):
            os.unlink(self.report)
        result = self.run(self.case.command, fault.environment(self.library, self.folder, self.report))
        if not os.path.exists(self.report):
            return None
        with open(self.report) as file:
            paths = [line.split(" ", 1)[1].strip() for line in file]
        return paths[0], result, list(self.violations(fault, paths, result))

    def violations(self, fault, paths, result):
        code, errors, path = result.returncode, result.stderr, paths[0]
        # GRDB ends the program if SQLite has no memory for a function.
        is_trap = fault.call == "sqlite-malloc" and "GRDB/Utils.swift" in errors
        if not 0 <= code < 128 and not is_trap:
            yield f"ended by a signal or not at all: {code}"
        succeeded = code == self.clean.returncode
        now = self.files()
        causes = [os.strerror(getattr(errno, fault.name, 0))] + CAUSES
        if not succeeded and 0 <= code < 128 and not is_trap:
            names = [re.sub(TEMPORARY, "", os.path.basename(path)) for path in paths]
            if fault.name == "half":
                yield "half of the bytes are no error"
            if not any(text in errors for text in causes):
                yield "no cause"
            # On a full disk, the error may be that of a later failure; that of a folder is one of a file in it.
            if not fault.forever and fault.call not in ("sqlite-malloc", "sync") and not any(name in errors for name in names):
                yield f"does not name {names[0]}"
        has_warned = "warning: " in errors and any(text in errors for text in causes)
        for name in sorted(self.old.keys() | self.new.keys()):
            if now.get(name) not in (self.old.get(name), self.new.get(name)):
                if not re.fullmatch(self.case.grows, name) and (succeeded or not self.tells(name)):
                    yield f"{name} is neither the old nor the new one"
            elif succeeded and now.get(name) != self.new.get(name) and not has_warned:
                yield f"exit {code}, and {name} is not the new one"
        if now in (self.old, self.new) and self.case.ignored == "$^" and "cache.db" not in now:
            # The folder is as before the command, or as after it: the run that follows was made already.
            return
        again = self.run(self.case.then)
        after = self.files()
        is_done = all(now.get(name) == contents for name, contents in self.new.items())
        if again.returncode != self.clean.returncode and not (self.case.is_once and is_done):
            yield f"afterwards: exit {again.returncode}: {again.stderr.strip()[-300:]}"
        else:
            for name in sorted(after.keys() | self.new.keys()):
                if name not in self.new and not is_trap and not (fault.call == "unlink" and path.endswith(name)):
                    yield f"left: {re.sub('[0-9]+', '#', name)}"
                elif name in self.new and after.get(name) != self.new[name]:
                    yield f"afterwards {name} is not the new one"


    def tells(self, name):
        """Whether a file that tells of a failed run is complete."""
        path = f"{self.folder}/{name}"
        if not re.fullmatch(self.case.tells, name) or not os.path.exists(path):
            return False
        with open(path) as file:
            text = file.read()
        if name.endswith(".prom"):
            # A run that ends before its first request has no metrics.
            return not text or text.startswith("# HELP") and text.endswith("\n")
        return json.loads(text) is not None if name.endswith(".har") else xml.etree.ElementTree.fromstring(text) is not None


def search(bench, count):
    """Lets every call of a case fail. Returns the number of faults, of failed runs, and the violations."""
    made = failed = 0
    found = collections.defaultdict(list)
    for call, errors in CALLS.items():
        last = count
        for error, forever in [(error, False) for error in errors] + [("ENOSPC", True)] * (call == "write"):
            for number in range(1, last + 1):
                step = ALLOCATION_STEP if call == "sqlite-malloc" else 1
                fault = Fault(call, error, (number - 1) * step + 1, forever)
                outcome = bench.inject(fault)
                if outcome is None:
                    last = number - 1
                    break
                path, result, violations = outcome
                made += 1
                failed += result.returncode != bench.clean.returncode
                for violation in violations:
                    name = re.sub(r"\.\d+-\d+\.part", ".N.part", os.path.relpath(path, bench.folder) if path.startswith("/") else path)
                    found[violation].append((str(fault), name, result.stderr.strip()[-400:]))
    return made, failed, found


def torture():
    program, count = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 12
    names = sys.argv[3:]
    tokens = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Tokens)
    threading.Thread(target=tokens.serve_forever, daemon=True).start()
    with Server(program) as server, tempfile.TemporaryDirectory(prefix="gqlrun-faults-") as scratch:
        scratch = os.path.realpath(scratch)
        os.mkdir(f"{scratch}/bin")
        os.symlink(program, f"{scratch}/bin/gqlrun")
        urls = {"GQL_URL": server.url, "TOKEN_URL": f"http://127.0.0.1:{tokens.server_port}/"}
        library = failing(scratch)
        if library is None:
            return print("failing calls: skipped, there is no gcc")
        total = violated = 0
        for case in CASES:
            if names and not any(name in case.name for name in names):
                continue
            made, failed, found = search(Bench(case, program, urls, scratch, library), count)
            total += made
            violated += len(found)
            print(f"{case.name:35} {made:5} faults, {failed:5} failed, {made - failed:5} went through", flush=True)
            for violation, examples in found.items():
                print(f"  FOUND {violation}: {len(examples)} times, such as", flush=True)
                for fault, path, errors in examples[:None if "VERBOSE" in os.environ else 1]:
                    print(f"    {fault} of {path}: {errors}", flush=True)
        for case, expected in CONTROLS:
            _, _, found = search(Bench(case, program, urls, scratch, library), 4)
            expect(any(expected in violation for violation in found), f"control: a command that {case.name} was not found: {list(found)}")
            print(f"control: a command that {case.name} is found")
        expect(violated == 0, f"{violated} rules were violated")
        print(f"failing calls: {total}; each command named the cause or succeeded, every file was the old or the new one")


main(torture)
