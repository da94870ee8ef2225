"""Links between a worker and the database of its queue that can be cut without closing a connection."""

import os, shutil, socket, subprocess, threading

from common import expect


def open_link(postgres):
    """A link through network namespaces for root, and through a proxy otherwise. LINK=proxy is always a proxy."""
    if os.geteuid() == 0 and shutil.which("ip") and os.environ.get("LINK") != "proxy":
        return NamespaceLink(postgres)
    return ProxyLink(postgres)


class Link:
    """What a `with` statement closes."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class NamespaceLink(Link):
    """A network namespace with two cables: one to the database, which can be cut, and one to the GraphQL server."""

    # Of RFC 2544, for tests between networks.
    NETWORK = "198.18"

    def __init__(self, postgres):
        # The namespace exists as long as this process.
        self.holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        self.names = [f"gq{os.getpid() % 100_000}{kind}" for kind in "dw"]
        try:
            self._await_namespace()
            for number, name in enumerate(self.names):
                self._run("ip", "link", "add", name, "type", "veth", "peer", "name", f"{name}p", "netns", self.holder.pid)
                self._run("ip", "address", "add", f"{self.NETWORK}.{number}.1/30", "dev", name)
                self._run("ip", "link", "set", name, "up")
                self._run(*self.prefix, "ip", "address", "add", f"{self.NETWORK}.{number}.2/30", "dev", f"{name}p")
                self._run(*self.prefix, "ip", "link", "set", f"{name}p", "up")
        except BaseException:
            self.close()
            raise
        self.database = f"{self.NETWORK}.0.1"
        self.server = f"{self.NETWORK}.1.1"
        self.port = postgres.listen(self.database)

    def _await_namespace(self):
        own = os.readlink("/proc/self/ns/net")
        while os.readlink(f"/proc/{self.holder.pid}/ns/net") == own:
            expect(self.holder.poll() is None, "cannot make a network namespace")

    @property
    def prefix(self):
        """What starts a program behind the link."""
        return ["nsenter", f"--net=/proc/{self.holder.pid}/ns/net"]

    @staticmethod
    def _run(*command):
        subprocess.run([str(word) for word in command], check=True)

    def cut(self):
        self._run("ip", "link", "set", self.names[0], "down")

    def mend(self):
        self._run("ip", "link", "set", self.names[0], "up")

    def close(self):
        for name in self.names:
            subprocess.run(["ip", "link", "delete", name], stderr=subprocess.DEVNULL)
        self.holder.kill()
        self.holder.wait()


class ProxyLink(Link):
    """A proxy in front of the database. While it is cut, it forwards nothing and closes nothing."""

    prefix = []

    def __init__(self, postgres):
        self.target = ("127.0.0.1", postgres.listen("127.0.0.1"))
        self.database = self.server = "127.0.0.1"
        self.is_whole = threading.Event()
        self.is_whole.set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._connect, args=(near,), daemon=True).start()

    def _connect(self, near):
        self.is_whole.wait()
        try:
            far = socket.create_connection(self.target)
        except OSError:
            near.close()
            return
        for pair in ((near, far), (far, near)):
            threading.Thread(target=self._forward, args=pair, daemon=True).start()

    def _forward(self, source, target):
        try:
            while data := source.recv(1 << 16):
                self.is_whole.wait()
                target.sendall(data)
        except OSError:
            pass
        # An end behind a cut link is not noticed either.
        self.is_whole.wait()
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def cut(self):
        self.is_whole.clear()

    def mend(self):
        self.is_whole.set()

    def close(self):
        self.mend()
        self.listener.close()
