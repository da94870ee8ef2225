#!/usr/bin/env python3
"""Reads a list with @stream in parts with `gqlrun run --incremental`, and compares what longer ones cost.

    stream.py GQLRUN SHORT… LONG    prints memory and processor time for each list; exit code 1 if memory grows
                                    by 16 MiB

A server in this process sends the elements in parts of 100, in the format with ids. Memory is the peak of
gqlrun, without a cache and with one in a file. `merged` prints the whole result instead of its parts, so
its memory is that of the result; it must not exceed 1 KiB for each element.
"""
import http.server, json, os, sys, tempfile, threading

PART = 100
MOST_GROWTH = 16 << 20
MOST_OF_ELEMENT = 1 << 10
QUERY = "{ feed @stream { id text } }"

class Stream(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    count = 0

    def log_message(self, *_): pass

    def part(self, message, end=b"--"):
        text = b"\r\nContent-Type: application/json\r\n\r\n" + json.dumps(message).encode() + b"\r\n---" + end
        self.wfile.write(b"%x\r\n%b\r\n" % (len(text), text))

    def do_POST(self):
        assert b"@stream" in self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", 'multipart/mixed; boundary="-"; incrementalSpec=v0.2')
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.write(b"3\r\n---\r\n")
        self.part({"data": {"feed": []}, "pending": [{"id": "0", "path": ["feed"]}], "hasNext": True}, b"")
        for start in range(0, self.count, PART):
            items = [
                {"__typename": "Post", "id": str(number), "text": f"text number {number}"}
                for number in range(start, min(start + PART, self.count))
            ]
            self.part({"incremental": [{"id": "0", "items": items}], "hasNext": True}, b"")
        self.part({"completed": [{"id": "0"}], "hasNext": False})
        self.wfile.write(b"0\r\n\r\n")

def run(program, url, folder, count, options):
    """The peak of memory in bytes, and the seconds of processor time."""
    Stream.count = count
    child = os.fork()
    if child == 0:
        os.chdir(folder)
        os.dup2(os.open("out.json", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
        os.execv(program, [program, "run", QUERY, "-e", url, "--quiet", *options])
    _, status, usage = os.wait4(child, 0)
    assert status == 0, f"{options} ended with status {status}"
    with open(f"{folder}/out.json") as file:
        found = sum(line.count('"id":') for line in file)
    # The announcements and the end have ids, too; a result in parts has them once in each line.
    assert found >= count, f"{found} of {count} elements were printed"
    return usage.ru_maxrss << 10, usage.ru_utime + usage.ru_stime

def main():
    program, counts = os.path.abspath(sys.argv[1]), [int(count) for count in sys.argv[2:]]
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Stream)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/graphql"
    failed = False
    for name, options in [
        ("without a cache", ["--incremental", "--policy", "no-cache"]),
        ("with a cache in a file", ["--incremental", "--store", "cache.db"]),
        ("merged", ["--policy", "no-cache"]),
    ]:
        peaks = []
        for count in counts:
            with tempfile.TemporaryDirectory() as folder:
                peak, seconds = run(program, url, folder, count, options)
            peaks.append(peak)
            print(f"{name}: {count} elements, {peak >> 20} MiB, {seconds:.1f} s", flush=True)
        most = MOST_OF_ELEMENT * counts[-1] if name == "merged" else MOST_GROWTH
        failed = failed or peaks[-1] - peaks[0] >= most
    sys.exit(failed)

main()
