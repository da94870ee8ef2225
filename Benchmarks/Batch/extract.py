#!/usr/bin/env python3
"""Measures `gqlrun extract` into SQLite beside a bare load generator over the same requests.

    Benchmarks/Batch/extract.py PROGRAM [--rows N...] [--rounds N] [--server fixed|demo...] [--to TARGET]

Needs `wrk` in PATH, and `cc` for the fixed server. The server runs in a process of its own:

    fixed     a few lines of C: one list in pages of 1,000 rows, each of which needs the cursor of the one before
    demo      the demo server's shop: customers, orders and lines, in packed pages of 50, 50 and 20

Prints rows per second, ratios to what the server gives to wrk, processor time and peak memory. The sizes of --rows show how
memory grows.
"""
import argparse, http.client, os, re, statistics, subprocess, sys, tempfile, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

parser = argparse.ArgumentParser()
parser.add_argument("program")
parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
parser.add_argument("--rounds", type=int, default=3)
parser.add_argument("--server", nargs="+", default=["fixed", "demo"])
parser.add_argument("--to", default="sqlite:out.db")
given = parser.parse_args()
program = os.path.abspath(given.program)
here = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.dirname(here))
from measuring import measured
scratch = tempfile.TemporaryDirectory(prefix="extract-bench-")
folder = scratch.name

# The schema of the fixed server, which has no introspection, and the documents.
SCHEMA = """
type Query { rows(first: Int, after: String): RowConnection! }
type RowConnection { nodes: [Row!]! pageInfo: PageInfo! }
type Row { id: ID! name: String! count: Int! ratio: Float! isOpen: Boolean! note: String }
type PageInfo { hasNextPage: Boolean! endCursor: String }
"""
DOCUMENTS = {
    "fixed": "query Rows { rows(first: 1000) { nodes { id name count ratio isOpen note } } }",
    "demo": """query Shop { customers(first: 50) { nodes { id name updatedAt address { city }
      orders(first: 50) { nodes { id status total lines(first: 20) { nodes { id quantity price product { name } } } } } } } }""",
}
# Rows of the shop for each customer.
per_customer = (120 + 1780 + 12_629) / 120


class Server:
    """A server with about that many rows."""

    def __init__(self, kind, rows):
        if kind == "fixed":
            command = [f"{folder}/fixed_server", str(rows), "1000"]
        else:
            command = [program, "serve", "--port", "0", "--customers", str(round(rows / per_customer))]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


class Recorder(ThreadingHTTPServer):
    """Passes requests on, and keeps their bodies."""

    daemon_threads = True

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            if b"__schema" not in body:
                self.server.bodies.append(body)
            host, path = re.fullmatch(r"http://([^/]*)(.*)", self.server.target).groups()
            upstream = http.client.HTTPConnection(host)
            upstream.request("POST", path, body, {"content-type": "application/json", "accept": self.headers["accept"]})
            answer = upstream.getresponse()
            content = answer.read()
            upstream.close()
            self.send_response(answer.status)
            self.send_header("content-type", answer.getheader("content-type"))
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    def __init__(self, target):
        super().__init__(("127.0.0.1", 0), self.Handler)
        self.target, self.bodies = target, []
        self.url = f"http://127.0.0.1:{self.server_port}/graphql"
        threading.Thread(target=self.serve_forever, daemon=True).start()


def extract(kind, url):
    """One extraction: the numbers of rows and requests, seconds, peak memory, and seconds of processor time."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        with open(f"{place}/q.graphql", "w") as file:
            file.write(DOCUMENTS[kind])
        schema = []
        if kind == "fixed":
            schema = ["--schema", f"{folder}/schema.graphql"]
        to = ["--to", given.to] + (["--format", "ndjson"] if given.to.endswith("/") else [])
        text, seconds, memory, cpu = measured([program, "extract", "q.graphql", "-e", url, *schema, *to], place)
    requests, rows = re.search(r"([\d,]+) requests?.*?, ([\d,]+) rows?", text).groups()
    return int(rows.replace(",", "")), int(requests.replace(",", "")), seconds, memory, cpu


def wrk(kind, rows):
    """The rows per second that the server gives, to as many connections as gqlrun may use."""
    with Server(kind, rows) as server:
        recorder = Recorder(server.url)
        count, *_ = extract(kind, recorder.url)
        recorder.shutdown()
        with open(f"{folder}/bodies", "wb") as file:
            file.write(b"\n".join(recorder.bodies))
        with open(f"{folder}/post.lua", "w") as file:
            file.write(f"""
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Accept"] = "application/graphql-response+json, application/json;q=0.9"
local bodies = {{}}
for line in io.lines("{folder}/bodies") do bodies[#bodies + 1] = line end
local n = 0
request = function()
  n = n % #bodies + 1
  return wrk.format(nil, nil, nil, bodies[n])
end
""")
        # The pages of one list come one after the other.
        connections = 1 if kind == "fixed" else 16
        text, *_ = measured(
            ["wrk", "-t1", f"-c{connections}", "-d5s", "--timeout", "30s", "-s", f"{folder}/post.lua", server.url], folder)
        if "Non-2xx" in text or "Socket errors" in text:
            sys.exit(text)
        return float(text.split("Requests/sec:")[1].split()[0]) * count / len(recorder.bodies)


subprocess.run(["cc", "-O2", "-o", f"{folder}/fixed_server", f"{here}/fixed_server.c"], check=True)
with open(f"{folder}/schema.graphql", "w") as file:
    file.write(SCHEMA)
for kind in given.server:
    rates = {"extract": [], "wrk": []}
    # One round of each in turn, so that what else the machine does meets both.
    for number in range(given.rounds):
        with Server(kind, 100_000) as server:
            rows, requests, seconds, _, _ = extract(kind, server.url)
        rates["extract"].append(rows / seconds)
        rates["wrk"].append(wrk(kind, 20_000))
        print(f"{kind}, round {number + 1}: extract {rates['extract'][-1]:,.0f} rows/s ({requests} requests), "
              f"wrk {rates['wrk'][-1]:,.0f} rows/s", flush=True)
    rate = {name: statistics.median(values) for name, values in rates.items()}
    print(f"{kind}: extract {rate['extract']:,.0f} rows/s, {rate['extract'] / rate['wrk']:.2f} of what the server gives "
          "(goal: 100,000 rows/s, or 0.8)")
    for size in given.rows:
        with Server(kind, size) as server:
            rows, requests, seconds, memory, cpu = extract(kind, server.url)
        print(f"{kind}: {rows:,} rows in {seconds:.1f} s, {rows / seconds:,.0f} rows/s, {cpu / rows * 1e6:.1f} us of processor "
              f"time per row, peak memory {memory:.0f} MiB", flush=True)
