import Foundation
import Testing

/// What a misbehaving server can cost: time, memory and requests of the whole program.
@Suite("Bounds under fault", .serialized, .timeLimit(.minutes(10)), .needsPython)
struct FaultBoundsTests {
  /// Serves one kind of answer to all connections, runs the command, and writes what it took into
  /// `cost`: exit code, peak memory in KiB, connections.
  private static let harness = #"""
    import os, resource, socket, subprocess, sys, threading, zlib
    kind, connections = sys.argv[1], [0]
    HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"

    def flood(client, piece):
        while True: client.sendall(piece)

    def answer(client):
        try:
            client.recv(65536)
            if kind == "endless body":
                client.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n")
                flood(client, b"10000\r\n" + b" " * 65536 + b"\r\n")
            elif kind == "endless text":
                client.sendall(HEAD + b"Connection: close\r\n\r\n" + b'{"data":{"country":{"name":"')
                flood(client, b"a" * 65536)
            elif kind == "bomb":
                client.sendall(HEAD + b"Content-Encoding: gzip\r\nConnection: close\r\n\r\n")
                pack = zlib.compressobj(1, zlib.DEFLATED, 31)
                while True: client.sendall(pack.compress(b" " * (1 << 20)))
            elif kind == "endless fields":
                client.sendall(HEAD)
                flood(client, b"X-More: " + b"a" * 65536 + b"\r\n")
            elif kind == "endless field":
                client.sendall(HEAD + b"X-More: ")
                flood(client, b"a" * 65536)
            elif kind == "interim":
                flood(client, b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" * 1000)
            elif kind == "drip":
                client.sendall(HEAD + b"Content-Length: 100000\r\n\r\n")
                while True:
                    client.sendall(b" ")
                    stopped.wait(0.05)
        except OSError: pass
        finally: client.close()

    def serve():
        while True:
            client, _ = listener.accept()
            connections[0] += 1
            threading.Thread(target=answer, args=(client,), daemon=True).start()

    stopped = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=serve, daemon=True).start()
    url = "http://127.0.0.1:%d/graphql" % listener.getsockname()[1]
    code = subprocess.call(sys.argv[2:], env=dict(os.environ, GQL_URL=url))
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    with open("cost", "w") as file: file.write("%d %d %d" % (code, peak, connections[0]))
    """#

  private static let pipeline = """
    version: 1
    endpoint: { url: "${env:GQL_URL}" }
    store: { kind: sqlite, path: cache.db }
    chain:
      - max-retry: { max_retries: 1 }
      - cache-read: { policy: network-only }
      - fetch: { timeout: "${env:LIMIT}", max_body: 16MiB }
      - response-code
      - parse: { max_string: 32MiB }
      - cache-write

    """

  /// A kind, what its error says, and the exit code.
  static let kinds: [(kind: String, says: String, code: Int)] = [
    ("endless body", "larger than 16MiB", 1), ("endless text", "larger than 16MiB", 1),
    ("bomb", "larger than 16MiB", 1), ("endless fields", "header fields", 1),
    ("endless field", "header fields", 1), ("interim", "did not answer within LIMIT", 75),
    ("drip", "took longer than LIMIT", 75),
  ]

  @Test(
    "faults 8, 12, 13 and 16: a server without end costs bounded time and memory, and one request",
    arguments: kinds)
  func bounds(_ kind: String, _ says: String, _ code: Int) async throws {
    let folder = try Folder()
    try folder.write(Self.harness, to: "harness.py")
    try folder.write(Self.pipeline, to: "f.pipeline.yaml")
    try folder.write(
      #"{"data":{"country":{"name":"Old","capital":"Bonn"}}}"#, to: "old.json")
    // The answer has to begin within a limit that is reached.
    let (limit, result) = try await Program.withGrowingLimit(
      fromMilliseconds: code == 75 ? 2_000 : 100_000,
      until: { $0.errors.contains(says.prefix { $0 != "L" }) }
    ) { limit in
      try await Program.shell(
        """
        "$GQLRUN" cache import germany.graphql old.json --store sqlite:cache.db
        "$GQLRUN" cache dump --store sqlite:cache.db > before
        export LIMIT=\(limit)
        timeout 300 python3 harness.py '\(kind)' "$GQLRUN" run germany.graphql -p f.pipeline.yaml
        "$GQLRUN" cache dump --store sqlite:cache.db > after
        """, in: folder)
    }
    let cost = try folder.text("cost").split(separator: " ").compactMap { Int($0) }
    try #require(cost.count == 3, "\(result)")
    #expect(
      cost[0] == code && result.errors.contains(says.replacing("LIMIT", with: limit)),
      "\(cost) \(result)")
    #expect(cost[1] < 192 << 10, "KiB at the peak: \(cost[1])")
    let before = try folder.text("before")
    #expect(before.contains("Bonn"))
    #expect(try folder.text("after") == before)
    // Only what did not come in time is asked for again.
    #expect(cost[2] <= (code == 75 ? 2 : 1), "connections: \(cost[2])")
  }
}
