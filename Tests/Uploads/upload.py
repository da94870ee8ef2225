#!/usr/bin/env python3
"""Uploads a file without contents (sparse) with `gqlrun run`, and compares what arrives and what it costs.

    upload.py GQLRUN BYTES    prints one line; exit code 1 if the contents differ or memory grows by 16 MiB

A server in this process takes the request as the multipart request specification says, hashes the file as
it arrives, and answers with its SHA-256. Memory is the peak of gqlrun, compared with that for a file of
one byte.
"""
import hashlib, http.server, json, os, re, sys, tempfile, threading

PIECE = 1 << 20
MOST_GROWTH = 16 << 20

class Form(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_): pass

    def line(self):
        line = self.rfile.readline(1 << 16)
        self.rest -= len(line)
        return line

    def fields(self, boundary):
        """The header fields of a part, behind its delimiter."""
        assert self.line() == b"--" + boundary + b"\r\n"
        text = b""
        while (line := self.line()) != b"\r\n": text += line
        return text

    def do_POST(self):
        self.rest = int(self.headers["Content-Length"])
        assert self.headers["GraphQL-Require-Preflight"] and self.headers["Apollo-Require-Preflight"]
        boundary = re.fullmatch("multipart/form-data; boundary=(.+)", self.headers["Content-Type"])[1].encode()
        assert b'name="operations"' in self.fields(boundary)
        operations = json.loads(self.line())
        assert b'name="map"' in self.fields(boundary)
        assert json.loads(self.line()) == {"0": ["variables.file"]} and operations["variables"] == {"file": None}
        assert b'name="0"; filename="big.bin"' in self.fields(boundary)
        end = b"\r\n--" + boundary + b"--\r\n"
        hashed, left = hashlib.sha256(), self.rest - len(end)
        while left:
            piece = self.rfile.read(min(PIECE, left))
            hashed.update(piece)
            left -= len(piece)
        assert self.rfile.read(len(end)) == end
        answer = json.dumps({"data": {"attach": {"__typename": "File", "sha256": hashed.hexdigest()}}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

def run(program, port, folder, size):
    """The SHA-256 that the server saw, and the peak of memory in bytes."""
    with open(f"{folder}/big.bin", "wb") as file: file.truncate(size)
    child = os.fork()
    if child == 0:
        os.chdir(folder)
        os.dup2(os.open("out.json", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
        os.execv(program, [
            program, "run", "mutation Attach($file: Upload!) { attach(file: $file) { sha256 } }",
            "-e", f"http://127.0.0.1:{port}/graphql", "--upload", "file=@big.bin", "--timeout", "1h"])
    _, status, usage = os.wait4(child, 0)
    assert status == 0, f"gqlrun ended with {status}"
    with open(f"{folder}/out.json") as file:
        return json.load(file)["data"]["attach"]["sha256"], usage.ru_maxrss << 10

def sha256_of_zeros(size):
    hashed, zeros = hashlib.sha256(), bytes(PIECE)
    for _ in range(size // PIECE): hashed.update(zeros)
    hashed.update(bytes(size % PIECE))
    return hashed.hexdigest()

def main():
    program, size = os.path.abspath(sys.argv[1]), int(sys.argv[2])
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Form)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        small_hash, small = run(program, server.server_port, folder, 1)
        assert small_hash == sha256_of_zeros(1)
        large_hash, large = run(program, server.server_port, folder, size)
    same = large_hash == sha256_of_zeros(size)
    growth = large - small
    print(f"{size} bytes: {'the same' if same else 'ANOTHER'} SHA-256, growth {growth >> 10} KiB")
    sys.exit(0 if same and growth < MOST_GROWTH else 1)

main()
