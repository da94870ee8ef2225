"""What the torture and the benchmark of queues share: a PostgreSQL server, and a GraphQL server that counts."""

import asyncio, collections, glob, json, os, shutil, socket, subprocess, tempfile, threading, time

from common import expect


class Postgres:
    """A server in a folder of its own, which listens on a Unix socket, and on an address if asked to."""

    def __init__(self, *options):
        found = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda p: int(p.split("/")[4]))
        expect(found, "PostgreSQL is not installed: apt-get install postgresql")
        self.programs = found[-1]
        self.folder, self.port = tempfile.mkdtemp(prefix="gqlrun-pg-"), 5432
        # The server refuses to run as root.
        self.user = []
        if os.geteuid() == 0:
            self.user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
            shutil.chown(self.folder, "postgres")
        self.options = " ".join([f"-k {self.folder} -c listen_addresses= -c max_connections=200", *options])
        self.run("initdb", "-U", "test", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
        self.start()

    def listen(self, address):
        """Also listens on an address; returns the port."""
        self.stop()
        with socket.socket() as probe:
            probe.bind((address, 0))
            port = probe.getsockname()[1]
        with open(f"{self.folder}/data/pg_hba.conf", "a") as rules:
            rules.write("host all all 0.0.0.0/0 trust\n")
        self.options = self.options.replace("listen_addresses=", f"listen_addresses={address}", 1) + f" -c port={port}"
        self.port = port
        self.start()
        return port

    def run(self, program, *arguments):
        subprocess.run(
            self.user + [f"{self.programs}/{program}", "-D", f"{self.folder}/data", *arguments], check=True,
            cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def start(self):
        self.run("pg_ctl", "-s", "-w", "-l", f"{self.folder}/log", "-o", self.options, "start")

    def stop(self):
        """As a crash would."""
        self.run("pg_ctl", "-s", "-w", "-m", "immediate", "stop")

    def url(self, schema, address=None, port=None):
        """The URL of a schema: through the Unix socket, or through an address."""
        return (
            f"postgres:///postgres?host={address or self.folder}&port={port or self.port}&user=test"
            f"&options=-csearch_path%3D{schema}")

    def sql(self, text):
        """The rows of a statement."""
        found = subprocess.run(
            [f"{self.programs}/psql", "-XqAt", "-h", self.folder, "-p", str(self.port), "-U", "test", "postgres", "-c", text],
            capture_output=True, text=True)
        expect(found.returncode == 0, f"psql: {found.stderr}")
        return [line.split("|") for line in found.stdout.splitlines()]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        subprocess.run(
            self.user + [f"{self.programs}/pg_ctl", "-s", "-D", f"{self.folder}/data", "-m", "immediate", "stop"],
            cwd="/", stdin=subprocess.DEVNULL)
        shutil.rmtree(self.folder, ignore_errors=True)


class CountingServer:
    """Answers each request after a delay with the id of its variables, and counts the ids of mutations.

    The path `/slow` has a delay of its own, and the times of its requests are kept.
    """

    SLOW = 8

    def __init__(self, delay):
        self.delay = delay
        self.queries, self.mutations = collections.Counter(), collections.Counter()
        self.slow_times = []
        self.loop = asyncio.new_event_loop()
        self.url = None
        ready = threading.Event()
        threading.Thread(target=self._serve, args=(ready,), daemon=True).start()
        ready.wait()

    def _serve(self, ready):
        asyncio.set_event_loop(self.loop)
        server = self.loop.run_until_complete(asyncio.start_server(self._answer, "0.0.0.0", 0, backlog=1024))
        self.port = server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/graphql"
        ready.set()
        self.loop.run_forever()

    async def _answer(self, reader, writer):
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(
                    int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length"))
                request = json.loads(await reader.readexactly(length))
                identity = request["variables"]["id"]
                # The effect comes before the answer.
                counts = self.mutations if request["query"].lstrip().startswith("mutation") else self.queries
                counts[identity] += 1
                is_slow = head.startswith(b"POST /slow ")
                if is_slow:
                    self.slow_times.append(time.monotonic())
                await asyncio.sleep(self.SLOW if is_slow else self.delay)
                body = json.dumps({"data": {"user": {"__typename": "User", "id": identity}}}).encode()
                writer.write(
                    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
