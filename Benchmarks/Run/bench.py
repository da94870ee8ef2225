#!/usr/bin/env python3
"""Measures `gqlrun run` from a server that sends a file, beside the import of the same file.

    Benchmarks/Run/bench.py PROGRAM [--posts N] [--rounds N] [--feed FOLDER]

The server is a process of its own, which answers each request with the response by sendfile. In each round: `json_verify`, the
import into a new SQLite file, and `run` into a new SQLite file and an output file at once. Prints the medians with the smallest and
the largest value, and the ratio of `run` to the import in each round. Needs `json_verify` in PATH (yajl-tools).
"""
import argparse, multiprocessing, os, socket, statistics, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.dirname(HERE))
from measuring import make_feed, measured


def serve(listener, path):
    """Answers each connection's only request with the file."""
    while True:
        connection, _ = listener.accept()
        with connection, connection.makefile("rb") as request, open(path, "rb") as file:
            length = 0
            while (line := request.readline()).strip():
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            request.read(length)
            size = os.path.getsize(path)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/graphql-response+json\r\nConnection: close\r\n"
                               b"Content-Length: %d\r\n\r\n" % size)
            connection.sendfile(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("--posts", type=int, default=25000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--feed", type=os.path.abspath, help="folder with gen.py and feed.graphql")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        response, document = make_feed(options.program, options.posts, options.feed, folder)
        listener = socket.create_server(("127.0.0.1", 0))
        server = multiprocessing.Process(target=serve, args=(listener, response), daemon=True)
        server.start()
        url, first = f"http://127.0.0.1:{listener.getsockname()[1]}/", f"first={options.posts}"
        rows = {
            "json_verify": ["sh", "-c", "exec json_verify -q < response.json"],
            "import": [options.program, "cache", "import", document, response, "--var", first, "--store", "sqlite:import.db"],
            "run": [options.program, "run", document, "--quiet", "--endpoint", url, "--var", first, "--store", "sqlite:run.db",
                    "--policy", "network-only", "--output", "run.json"],
        }
        figures = {name: [] for name in rows}
        for _ in range(options.rounds):
            for name in ("import.db", "run.db", "run.json"):
                for suffix in ("", "-wal", "-shm", "-lock"):
                    if os.path.exists(f"{folder}/{name}{suffix}"):
                        os.remove(f"{folder}/{name}{suffix}")
            for name, arguments in rows.items():
                _, seconds, peak, cpu = measured(arguments, folder)
                figures[name].append((seconds, cpu, peak))
        server.terminate()
        print(f"{os.path.getsize(response):,} bytes, {options.rounds} rounds")

    def shown(values):
        return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"

    for name, measures in figures.items():
        seconds, cpu, peak = zip(*measures)
        print(f"{name:12} {shown(seconds)} s, processor {shown(cpu)} s, peak {max(peak):.0f} MiB")
    for index, what in enumerate(("time", "processor time")):
        ratios = [run[index] / other[index] for run, other in zip(figures["run"], figures["import"])]
        print(f"run / import, {what}: {shown(ratios)}")


main()
