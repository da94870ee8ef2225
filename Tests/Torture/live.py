#!/usr/bin/env python3
"""live.py PROGRAM [CUTS] [SUBSCRIPTIONS]: connections of subscriptions that are cut at random bytes.

SUBSCRIPTIONS runs of `gqlrun run` follow a countdown of the demo server each: over server-sent events, with a response
for each subscription and on a shared event stream, multipart responses, and both WebSocket protocols. A proxy between them and the server cuts CUTS connections, each after a random
number of bytes of the response, half of them with a reset. Then it cuts all at once, as a restart of the server does.
The script ends with 1 at the first difference from this:

1. Within a connection, each event is delivered once and in order: the numbers go down by one, from the first on.
2. Between the events of two connections, a gap is announced.
3. Memory and open files of each run do not grow: the end is compared with the state after a quarter of the cuts.
SEED=N repeats the choice of the bytes.
"""
import asyncio, json, os, random, re, signal, socket, struct, subprocess, sys, tempfile, time

from common import Failed, expect

FIRST = 1_000_000
TRANSPORTS = {
    "sse": "transport: sse",
    "sse-single": "transport: sse, single_connection: true",
    "multipart": "transport: multipart",
    "graphql-transport-ws": "transport: graphql-transport-ws",
    "graphql-ws": "transport: graphql-ws",
}
GAP = "the connection was lost and is open again"
PIPELINE = """\
version: 1
endpoint: {{ url: "${{env:GQL_URL}}", subscriptions: {{ {subscriptions} }} }}
store: {{ kind: memory }}
chain:
  - max-retry: {{ max_retries: 20, backoff: {{ base: 50ms, max: 2s, jitter: full }} }}
  - cache-read
  - fetch
  - response-code
  - parse
  - cache-write
"""


class Proxy:
    """Passes connections on, and cuts them until there were enough cuts."""

    def __init__(self, port, cuts, chance):
        self.port, self.left, self.chance = port, cuts, chance
        self.open = set()
        # The connections that have carried events, with the times at which they were accepted. A shared event stream has
        # others beside it.
        self.live = {}

    async def serve(self, reader, writer):
        accepted = time.monotonic()
        try:
            upstream, downstream = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError:
            return writer.close()
        self.open.add(writer)
        request = asyncio.create_task(self.copy(reader, downstream, None))
        request.add_done_callback(lambda _: downstream.close())
        limit = int(self.chance.expovariate(1 / 3000)) + 1 if self.left > 0 else None
        try:
            isCut = await self.copy(upstream, writer, limit, lambda: self.live.setdefault(writer, accepted))
        finally:
            request.cancel()
            self.open.discard(writer)
            self.live.pop(writer, None)
        if isCut and self.left > 0:
            self.left -= 1
            if self.chance.random() < 0.5:
                self.reset(writer)
        writer.close()

    @staticmethod
    def reset(writer):
        """Makes the end of the connection a reset."""
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def cut_all(self):
        for writer in self.open:
            self.reset(writer)
            writer.close()

    async def copy(self, reader, writer, limit, on_event=None):
        """Copies until the end; returns whether the limit was reached."""
        try:
            while data := await reader.read(4096 if limit is None else min(limit, 4096)):
                writer.write(data)
                if on_event and b'"countdown"' in data:
                    on_event()
                await writer.drain()
                if limit is not None:
                    limit -= len(data)
                    if limit <= 0:
                        return True
        except OSError:
            pass
        return False


class Subscriber:
    """A run of the program."""

    def __init__(self, program, folder, number, url):
        self.transport = list(TRANSPORTS)[number % len(TRANSPORTS)]
        # Both outputs, in the order in which they are written.
        self.output = os.path.join(folder, f"{number}.output")
        document = f"subscription {{ countdown(from: {FIRST}, delay: 20) }}"
        with open(self.output, "w") as output:
            self.process = subprocess.Popen(
                [program, "run", document, "--pipeline", os.path.join(folder, f"{self.transport}.pipeline.yaml")],
                stdout=output, stderr=output, env=dict(os.environ, GQL_URL=url, NO_COLOR="1"))

    def size(self):
        """Memory in KiB and the number of open files."""
        with open(f"/proc/{self.process.pid}/status") as file:
            memory = int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1))
        return memory, len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        expect(self.process.wait(60) == 130, f"{self.transport}: exit code {self.process.returncode}: {self.tail()}")

    def tail(self):
        with open(self.output) as file:
            return file.read()[-800:]

    def check(self):
        """Compares what was printed with what each connection may deliver; returns events and gaps."""
        events, gaps, last, has_gap = 0, 0, None, False
        with open(self.output) as file:
            for line in file:
                if not line.startswith("{"):
                    has_gap = has_gap or GAP in line
                    gaps += GAP in line
                    continue
                number = json.loads(line)["data"]["countdown"]
                if last is None or has_gap:
                    expect(number == FIRST, f"{self.transport}: {number} is the first event of a connection")
                else:
                    expect(number == last - 1, f"{self.transport}: {number} after {last} without a gap")
                last, has_gap = number, False
                events += 1
        return events, gaps


async def run(program, cuts, count, seed):
    chance = random.Random(seed)
    server = subprocess.Popen([program, "serve", "--port", "0"], stdout=subprocess.PIPE, text=True)
    subscribers = []
    try:
        port = int(server.stdout.readline().rsplit(":", 1)[1].split("/")[0])
        proxy = Proxy(port, cuts, chance)
        listener = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/graphql"
        with tempfile.TemporaryDirectory() as folder:
            for transport, subscriptions in TRANSPORTS.items():
                with open(os.path.join(folder, f"{transport}.pipeline.yaml"), "w") as file:
                    file.write(PIPELINE.format(subscriptions=subscriptions))
            subscribers = [Subscriber(program, folder, number, url) for number in range(count)]
            await reach(subscribers, lambda: proxy.left <= cuts - cuts // 4)
            early = [subscriber.size() for subscriber in subscribers]
            await reach(subscribers, lambda: proxy.left <= 0)
            await reach(subscribers, lambda: len(proxy.live) == count)
            late = [subscriber.size() for subscriber in subscribers]
            begin = time.monotonic()
            proxy.cut_all()
            await reach(subscribers, lambda: sum(when > begin for when in proxy.live.values()) == count)
            spread = sorted((when - begin) * 1000 for when in proxy.live.values() if when > begin)
            for subscriber in subscribers:
                subscriber.stop()
            await reach([], lambda: not proxy.open)
            totals = [subscriber.check() for subscriber in subscribers]
            for subscriber, (memory, files), (memory_late, files_late) in zip(subscribers, early, late):
                expect(memory_late <= memory * 1.25 + 4096,
                       f"{subscriber.transport}: memory grew from {memory} to {memory_late} KiB")
                expect(files_late <= files + 2, f"{subscriber.transport}: open files grew from {files} to {files_late}")
        listener.close()
    finally:
        for subscriber in subscribers:
            subscriber.process.kill()
        server.terminate()
    events, gaps = (sum(column) for column in zip(*totals))
    growth = max(after[0] - before[0] for before, after in zip(early, late))
    print(f"{cuts} cuts, {count} subscriptions: {events} events, {gaps} gaps announced, no event twice (seed {seed})")
    print(f"memory of a run: at most {max(memory for memory, _ in late) / 1024:.1f} MiB, growth at most {growth} KiB; "
          f"open files: at most {max(files for _, files in late)}")
    print(f"all connections cut at once: {count} new ones, the first after {spread[0]:.0f} ms, the median after "
          f"{spread[len(spread) // 2]:.0f} ms, the last after {spread[-1]:.0f} ms")


async def reach(subscribers, condition):
    """Waits for a condition. Fails if a run ends."""
    deadline = time.monotonic() + 1200
    while not condition():
        await asyncio.sleep(0.02)
        expect(time.monotonic() < deadline, "the runs do not connect again")
        for subscriber in subscribers:
            expect(subscriber.process.poll() is None, f"{subscriber.transport}: a run ended: {subscriber.tail()}")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    seed = int(os.environ.get("SEED", random.randrange(1 << 32)))
    cuts, count = ([int(argument) for argument in sys.argv[2:]] + [1000, 50][len(sys.argv) - 2:])[:2]
    try:
        asyncio.run(run(os.path.abspath(sys.argv[1]), cuts, count, seed))
    except Failed as failure:
        sys.exit(f"FAILED (seed {seed}): {failure}")
