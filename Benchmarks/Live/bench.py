#!/usr/bin/env python3
"""Measures the events of subscriptions in gqlrun beside other clients, over the same bytes.

    Benchmarks/Live/bench.py PROGRAM [--events N] [--subscriptions N] [--clients N] [--rounds N] [--no-python]
                            [--parts events time memory spread]

Needs `cc`, and the packages of requirements.txt for the clients in Python. The server is part of this script, and sends
bytes that it has made before:

    events    one subscription over WebSocket, as fast as the client reads: `gqlrun profile --subscribe`, which parses,
              normalizes into a memory store and delivers each event; the Python library `gql`; a client of the Python
              library `websockets` that reads no message; a client in C that only finds the frames
    time      from the write of the server to the line that `gqlrun run` prints, at 100 events a second
    memory    subscriptions that wait for events, over one WebSocket connection of one process
    spread    connections of server-sent events that are closed at once, and when new ones are accepted

Prints each round, medians, and the goals.
"""
import argparse, asyncio, base64, hashlib, json, os, re, statistics, struct, subprocess, sys, tempfile, threading, time

parser = argparse.ArgumentParser()
parser.add_argument("program")
parser.add_argument("--events", type=int, default=300_000)
parser.add_argument("--subscriptions", type=int, default=10_000)
parser.add_argument("--clients", type=int, default=1_000, help="connections that the server closes at once")
parser.add_argument("--rounds", type=int, default=3)
parser.add_argument("--no-python", action="store_true")
parser.add_argument("--parts", nargs="+", choices=["events", "time", "memory", "spread"],
                    default=["events", "time", "memory", "spread"])
given = parser.parse_args()
program = os.path.abspath(given.program)
here = os.path.dirname(os.path.abspath(__file__))
DOCUMENT = "subscription Likes { likesChanged { __typename id title likeCount } }"


def payload(likes):
    post = {"__typename": "Post", "id": f"P_{likes % 100}", "title": "A post of the feed", "likeCount": likes}
    return json.dumps({"data": {"likesChanged": post}}, separators=(",", ":"))


def frame(text):
    data = text.encode()
    size = bytes([len(data)]) if len(data) < 126 else b"\x7e" + struct.pack(">H", len(data))
    return b"\x81" + size + data


def message(identifier, likes):
    return frame(f'{{"id":"{identifier}","type":"next","payload":{payload(likes)}}}')


class Server:
    """Speaks graphql-transport-ws and server-sent events, on a thread of its own.

    The paths: /flood sends all events at once, /clock one every 10 ms with the time, /hold none.
    """

    def __init__(self):
        self.held = 0
        self.accepted = []
        self.streams = set()
        self.loop = asyncio.new_event_loop()
        self.ready = threading.Event()
        threading.Thread(target=self.run, daemon=True).start()
        self.ready.wait()

    def run(self):
        asyncio.set_event_loop(self.loop)
        listener = self.loop.run_until_complete(
            asyncio.start_server(self.serve, "127.0.0.1", 0, limit=1 << 20, backlog=4096))
        self.port = listener.sockets[0].getsockname()[1]
        # A thousand different events, again and again: every write changes a record.
        self.block = [message(1, likes) for likes in range(1000)]
        self.ready.set()
        self.loop.run_forever()

    async def serve(self, reader, writer):
        self.accepted.append(time.monotonic())
        self.streams.add(writer)
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            path = head.split()[1]
            key = re.search(r"(?i)sec-websocket-key: *(\S+)", head)
            if key:
                await self.socket(reader, writer, path, key[1])
            else:
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n:\n\n")
                await reader.read()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            self.streams.discard(writer)
            writer.close()

    async def socket(self, reader, writer, path, key):
        accept = base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest())
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                     b"Sec-WebSocket-Protocol: graphql-transport-ws\r\nSec-WebSocket-Accept: " + accept + b"\r\n\r\n")
        while True:
            opcode, text = await self.received(reader)
            if opcode == 8:
                return
            if opcode != 1:
                continue
            content = json.loads(text)
            if content["type"] == "connection_init":
                writer.write(frame('{"type":"connection_ack"}'))
            elif content["type"] == "ping":
                writer.write(frame('{"type":"pong"}'))
            elif content["type"] == "subscribe":
                if path == "/flood":
                    await self.flood(writer)
                elif path == "/clock":
                    asyncio.ensure_future(self.tick(writer))
                else:
                    self.held += 1

    async def flood(self, writer):
        block = b"".join(self.block)
        for _ in range(given.events // 1000):
            writer.write(block)
            await writer.drain()
        writer.write(frame('{"id":"1","type":"complete"}'))

    async def tick(self, writer):
        while not writer.is_closing():
            writer.write(message(1, time.monotonic_ns() // 1000))
            await asyncio.sleep(0.01)

    @staticmethod
    async def received(reader):
        first, second = await reader.readexactly(2)
        size = second & 127
        if size > 125:
            size = int.from_bytes(await reader.readexactly(2 if size == 126 else 8), "big")
        mask = int.from_bytes((await reader.readexactly(4)) * (size // 4 + 1), "big")
        data = await reader.readexactly(size)
        padded = int.from_bytes(data + bytes(-size % 4 + (4 if size % 4 == 0 else 0)), "big")
        return first & 15, (padded ^ mask).to_bytes(4 * (size // 4 + 1), "big")[:size]

    def close_all(self):
        def close():
            for writer in list(self.streams):
                writer.transport.abort()
        self.accepted = []
        self.loop.call_soon_threadsafe(close)


def printed(arguments):
    """What a program prints."""
    process = subprocess.run(arguments, stdout=subprocess.PIPE, text=True)
    if process.returncode != 0:
        sys.exit(f"{arguments}: status {process.returncode}\n{process.stdout}")
    return process.stdout


def profile(path, folder, *others):
    return [program, "profile", "--subscribe", "-d", f"{folder}/likes.graphql", "--duration", "1h", *others, "--endpoint",
            path]


def events(server, folder):
    url = f"ws://127.0.0.1:{server.port}/flood"
    count = given.events // 1000 * 1000

    def gqlrun():
        printed(profile(url, folder, "--json", f"{folder}/report.json"))
        with open(f"{folder}/report.json") as file:
            report = json.load(file)["subscription"]
        return report["events"], report["seconds"], report["processorSecondsPerEvent"] * report["events"]

    def other(command):
        # The processor time is that of the events, without the start of the program and its imports.
        number, seconds, cpu = printed(command).split()
        return int(number), float(seconds), float(cpu)

    subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-o", f"{folder}/frames", f"{here}/frames.c"], check=True)
    clients = {"gqlrun": gqlrun,
               "frames": lambda: other([f"{folder}/frames", str(server.port), "/flood", DOCUMENT])}
    if not given.no_python:
        for name in ("gql", "websockets"):
            clients[name] = lambda name=name: other([sys.executable, f"{here}/{name}_script.py", url, DOCUMENT])
    rates, costs = ({name: [] for name in clients} for _ in range(2))
    # One round of each in turn, so that what else the machine does meets all of them.
    for number in range(given.rounds):
        for name, run in clients.items():
            received, seconds, cpu = run()
            if received != count:
                sys.exit(f"{name} received {received} events of {count}")
            rates[name].append(received / seconds)
            costs[name].append(cpu / received * 1e6)
        print(f"round {number + 1}: " + ", ".join(f"{k} {v[-1]:.0f}/s" for k, v in rates.items()), flush=True)
    rate = {name: statistics.median(values) for name, values in rates.items()}
    print(f"{count} events of {len(server.block[500])} bytes, medians of {given.rounds}: " + ", ".join(
        f"{name} {rate[name]:.0f}/s ({statistics.median(costs[name]):.1f} us of processor time per event)"
        for name in rate))
    cost = {name: statistics.median(values) for name, values in costs.items()}
    for name, goal in (("gql", " (goal 10)"), ("websockets", " (goal 0.5)"), ("frames", "")):
        if name in rate:
            print(f"gqlrun / {name}: {rate['gqlrun'] / rate[name]:.2f}{goal}, by processor time "
                  f"{cost[name] / cost['gqlrun']:.2f}")


def times(server, folder):
    process = subprocess.Popen(
        [program, "run", DOCUMENT, "-e", f"ws://127.0.0.1:{server.port}/clock", "--first", "1000"],
        stdout=subprocess.PIPE)
    found = []
    for line in process.stdout:
        now = time.monotonic_ns() // 1000
        found.append(now - json.loads(line)["data"]["likesChanged"]["likeCount"])
    if process.wait() != 0 or len(found) != 1000:
        sys.exit(f"{len(found)} events of 1000, exit code {process.returncode}")
    found.sort()
    print(f"from the server's write to the printed line: {found[500] / 1000:.2f} ms at the median (goal 1 ms), "
          f"{found[990] / 1000:.2f} ms at the 99th percentile")


def resident(process):
    with open(f"/proc/{process.pid}/status") as file:
        return int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1))


def until(process, condition):
    deadline = time.monotonic() + 120
    while not condition():
        if process.poll() is not None or time.monotonic() > deadline:
            sys.exit(f"the program has ended ({process.poll()}), or makes no progress")
        time.sleep(0.05)


def memory(server, folder):
    sizes = {}
    for count in (given.subscriptions // 10, given.subscriptions):
        server.held = 0
        process = subprocess.Popen(
            profile(f"ws://127.0.0.1:{server.port}/hold", folder, "--concurrency", str(count)),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(process, lambda: server.held == count)
        # Without a second in which memory is the same, something is still under way.
        sizes[count] = -1
        while sizes[count] != resident(process):
            sizes[count] = resident(process)
            time.sleep(1)
        process.kill()
        process.wait()
    (few, small), (many, large) = sizes.items()
    print(f"{many} subscriptions: {large / 1024:.1f} MiB, {(large - small) / (many - few):.2f} KiB each (goal 8 KiB)")


def spread(server, folder):
    with open(f"{folder}/spread.pipeline.yaml", "w") as file:
        # The delays of the ready-made pipeline `live`.
        file.write("version: 1\nendpoint: { url: \"http://127.0.0.1:%d/hold\", subscriptions: { transport: sse } }\n"
                   "chain:\n  - max-retry: { max_retries: 10, backoff: { base: 500ms, factor: 2, max: 30s, "
                   "jitter: full } }\n  - fetch: { max_connections: %d }\n  - response-code\n  - parse\n"
                   % (server.port, given.clients))
    server.accepted = []
    process = subprocess.Popen(
        [program, "profile", "--subscribe", "-d", f"{folder}/likes.graphql", "--duration", "1h", "--concurrency",
         str(given.clients), "--pipeline", f"{folder}/spread.pipeline.yaml"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until(process, lambda: len(server.streams) == given.clients)
    time.sleep(1)
    begin = time.monotonic()
    server.close_all()
    until(process, lambda: len(server.accepted) == given.clients)
    found = sorted((when - begin) * 1000 for when in server.accepted)
    counts = [0] * (int(found[-1] // 100) + 1)
    for when in found:
        counts[int(when // 100)] += 1
    process.kill()
    process.wait()
    print(f"{given.clients} connections closed at once: the first new one after {found[0]:.0f} ms, the median after "
          f"{found[len(found) // 2]:.0f} ms, the last after {found[-1]:.0f} ms; in each 100 ms: {counts}")


with tempfile.TemporaryDirectory(prefix="live-bench-") as scratch:
    with open(f"{scratch}/likes.graphql", "w") as document:
        document.write(DOCUMENT + "\n")
    feed = Server()
    parts = {"events": events, "time": times, "memory": memory, "spread": spread}
    for part in given.parts:
        parts[part](feed, scratch)
