#!/usr/bin/env python3
"""Checks the figures and exit codes of `gqlrun profile` with servers whose stalls and outages are at known times.

    stalls.py GQLRUN [SECONDS]    prints a line for each check; exit code 1 if one fails

SECONDS is how much longer than exact a latency may be, 0.1 by default: the servers and the program share a machine. It
must be idle otherwise, so continuous integration does not run this test.

The times of each server are relative to the first request of the load, so the exact latency of every request from its
scheduled start is known, as wrk2 would find it: a request that is to start while the server stalls takes until the end
of the stall. The first request of a program only opens a connection, and is answered at once.
"""
import asyncio, json, os, sys, tempfile, time

PROGRAM = os.path.abspath(sys.argv[1]) if len(sys.argv) in (2, 3) else sys.exit(__doc__)
TOLERANCE = float(sys.argv[2]) if len(sys.argv) == 3 else 0.1
failures = []

def check(what, is_true, found=""):
    print(f"{'ok  ' if is_true else 'FAIL'}  {what}" + (f": {found}" if found != "" else ""), flush=True)
    if not is_true: failures.append(what)

def is_close(found, expected): return expected - 0.02 <= found <= expected + TOLERANCE

class Server:
    """A GraphQL server over HTTP/1.1, with server-sent events.

    `stall` is a pair of times between which nothing is answered; from `death` on, connections are closed and refused.
    Each second request fails with a code if `errors` is 2, every one if it is 1. Events are sent each 100 ms, with their
    time; all event streams are closed at `cut`, and new ones are refused until 1.5 seconds later: the program opens them again
    after one second, and after another one.
    """
    def __init__(self, stall=None, death=None, errors=0, cut=None):
        self.stall, self.death, self.errors, self.cut = stall, death, errors, cut
        self.requests, self.start, self.writers, self.streams = 0, None, set(), set()

    async def __aenter__(self):
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}/graphql"
        return self

    async def __aexit__(self, *_): self.close()

    def close(self):
        self.server.close()
        for writer in list(self.writers): writer.transport.abort()

    @property
    def time(self): return asyncio.get_running_loop().time() - self.start if self.start else -1.0

    async def serve(self, reader, writer):
        self.writers.add(writer)
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
                query = json.loads(await reader.readexactly(length))["query"]
                if "subscription" in query: return await self.events(writer)
                await self.answer(writer)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self.writers.discard(writer)
            writer.close()

    async def answer(self, writer):
        self.requests += 1
        if self.requests == 2:
            loop = asyncio.get_running_loop()
            self.start = loop.time()
            if self.death: loop.call_later(self.death, self.close)
            if self.cut: loop.call_later(self.cut, lambda: [w.transport.abort() for w in list(self.streams)])
        if self.stall and self.stall[0] <= self.time < self.stall[1]:
            await asyncio.sleep(self.stall[1] - self.time)
        body = {"data": {"n": 1}}
        if self.errors and self.requests % self.errors == 0:
            body = {"data": {"n": None}, "errors": [{"message": "no", "extensions": {"code": "BUSY"}}]}
        text = json.dumps(body).encode()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(text), text))
        await writer.drain()

    async def events(self, writer):
        if self.cut and self.cut <= self.time < self.cut + 1.5:
            writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
            return await writer.drain()
        self.streams.add(writer)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
        try:
            while True:
                await writer.drain()
                await asyncio.sleep(0.1)
                data = json.dumps({"data": {"n": {"at": time.time() * 1000}}})
                writer.write(b"event: next\ndata: %b\n\n" % data.encode())
        finally:
            self.streams.discard(writer)

MANIFEST = """version: 1
endpoint: URL
operations:
  - { id: Query, query: "{ n }" }
  - id: Events
    query: "subscription { n { at } }"
    foreach: { inline: [{}, {}, {}] }
    until: { for: 1h }
"""

async def profile(folder, *options, url=None, manifest=None):
    """The exit code, the JSON report (None if there is none), and standard error."""
    for name in ("r.json", "r.xml"):
        if os.path.exists(f"{folder}/{name}"): os.remove(f"{folder}/{name}")
    with open(f"{folder}/q.graphql", "w") as file: file.write("{ n }")
    with open(f"{folder}/m.batch.yaml", "w") as file: file.write((manifest or "").replace("URL", url))
    source = ["--manifest", "m.batch.yaml"] if manifest else ["-d", "q.graphql", "-e", url]
    process = await asyncio.create_subprocess_exec(
        PROGRAM, "profile", *source, *options, "--json", "r.json", "--junit", "r.xml", cwd=folder,
        stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE)
    _, errors = await process.communicate()
    report = json.load(open(f"{folder}/r.json")) if os.path.exists(f"{folder}/r.json") else None
    return process.returncode, report, errors.decode()

def exact(stall, rate, seconds):
    """The latency of each request from its scheduled start."""
    starts = [number / rate for number in range(int(rate * seconds))]
    return sorted(stall[1] - start if stall[0] <= start < stall[1] else 0 for start in starts)

async def errors(folder):
    async with Server(errors=1) as server:
        code, report, text = await profile(folder, "--rate", "100", "--duration", "1s", url=server.url)
        load = report["load"]
        check("100 of 100 with GraphQL errors: exit 1 without a budget", code == 1, code)
        check("  each is counted", [load["requests"], load["failures"], load["graphQLErrors"]] == [100] * 3)
        check("  by its code", load["errorCodes"] == [{"message": "BUSY", "count": 100}], load["errorCodes"])
        check("  the message names them", "at least one request succeeds" in text and "100 x" in text)
    async with Server(errors=2) as server:
        options = ["--rate", "100", "--duration", "1s", "--budget", "graphql_errors<=0"]
        code, report, text = await profile(folder, *options, url=server.url)
        check("50 of 100 with GraphQL errors and a budget: exit 1", code == 1, code)
        check("  the budget has what was found", "graphql_errors<=0 is not met: 50" in text, text.strip())
        junit = open(f"{folder}/r.xml").read()
        check("  JUnit has both cases", 'tests="2" failures="1"' in junit)
    async with Server(errors=2) as server:
        code, *_ = await profile(folder, "--rate", "100", "--duration", "1s", url=server.url)
        check("50 of 100 with GraphQL errors without a budget: exit 0", code == 0, code)

async def death(folder):
    async with Server() as server: pass
    code, report, _ = await profile(folder, "--rate", "100", "--duration", "1s", url=server.url)
    check("a server that is not there: exit 69, and nothing is measured", code == 69 and report is None, code)
    async with Server(death=1.22) as server:
        options = ["--rate", "100", "--duration", "5s", "--budget", "failed<=1%"]
        code, report, text = await profile(folder, *options, url=server.url)
        load = report["load"]
        succeeded = load["requests"] - load["failures"]
        check("a server that dies after 122 of 500: exit 1", code == 1 and load["requests"] == 500, code)
        check("  the others fail", abs(succeeded - 122) <= 6, succeeded)
        steps = [step["failures"] for step in load["steps"]]
        check("  in the steps after its death", steps[0] == 0 and steps[2:5] == [100] * 3, steps)

async def stalls(folder):
    for stall, rate, seconds in [((0.5, 2.5), 100, 3), ((3.0, 5.0), 50, 8)]:
        async with Server(stall=stall) as server:
            name = f"a stall from {stall[0]} s to {stall[1]} s of {seconds} s"
            code, report, _ = await profile(
                folder, "--rate", str(rate), "--duration", f"{seconds}s", "--concurrency", "1000", url=server.url)
            load, truth = report["load"], exact(stall, rate, seconds)
            check(f"{name}: exit 0", code == 0, code)
            for percentile in (50, 75, 90, 99):
                key = f"p{percentile}"
                expected = truth[min(int(len(truth) * percentile / 100), len(truth) - 1)]
                found = load["corrected"][key]
                check(f"  {key} is {expected:.2f} s", is_close(found, expected), f"{found:.3f} s")
            for step in load["steps"]:
                begin, end = step["start"], step["start"] + 1
                expected = stall[1] - max(begin, stall[0]) if begin < stall[1] and end > stall[0] else 0
                found = step.get("highest") or 0
                check(f"  highest of the step at {begin:.0f} s is {expected:.2f} s",
                      is_close(found, expected), f"{found:.3f} s")
                if stall[0] + TOLERANCE <= begin and end <= stall[1] - TOLERANCE or (begin, end) == stall:
                    check("    and none is completed in it", step["completed"] <= 1, step["completed"])

async def subscriptions(folder):
    async with Server(cut=2.5) as server:
        options = ["--rate", "50", "--duration", "6s", "--event-time", "data.n.at", "--subscriptions", "10",
                   "--budget", "lost<=0", "--budget", "events>=1/s", "--budget", "delay<=250ms"]
        code, report, text = await profile(folder, *options, url=server.url, manifest=MANIFEST)
        events, load = report["subscription"], report["load"]
        check("10 subscriptions beside requests, cut at 2.5 s: exit 1", code == 1, code)
        check("  only the budget of lost connections is not met", text.count("is not met") == 1 and "lost<=0" in text, text.strip())
        check("  each loss is counted", events["lost"] == 10, events["lost"])
        check("  in its step", [step["lost"] for step in events["steps"]][:6] == [0, 0, 10, 0, 0, 0])
        check("  those that are refused are counted, and opened again",
              events["failed"] == 10 and events["opened"] == 20 and events["reconnects"] == 10,
              [events["failed"], events["opened"], events["reconnects"]])
        check("  the gaps are in the step of the second opening", sum(s["gaps"] for s in events["steps"][3:6]) == 10)
        rates = [step["events"] for step in events["steps"]]
        check("  about 100 events arrive in whole seconds", all(80 <= rates[i] <= 105 for i in (1, 5)), rates)
        check("  none while they are closed", rates[3] <= 5, rates[3])
        check("  the delay of events is known", 0 <= events["delay"]["p99"] <= 0.25, events["delay"]["p99"])
        check("  the requests are not affected", load["requests"] == 300 and load["failures"] == 0)
    async with Server() as server:
        code, report, _ = await profile(
            folder, "--rate", "50", "--duration", "1s", url=server.url, manifest=MANIFEST)
        check("a subscription for each row, and no loss: exit 0",
              code == 0 and report["subscription"]["subscriptions"] == 3, code)

async def main():
    with tempfile.TemporaryDirectory() as folder:
        for case in (errors, death, stalls, subscriptions): await case(folder)
    print(f"{len(failures)} checks failed" if failures else "all checks passed")
    sys.exit(1 if failures else 0)

asyncio.run(main())
