import Foundation
import GQLRunDemoServer
import Testing

/// Tokens that several processes share, and that end while a batch runs.
@Suite("Tokens and processes", .timeLimit(.minutes(10)), .needsPython)
struct TokenProcessTests {
  /// A server that gives tokens, and takes each refresh token once only. It writes its port into the
  /// pipe that it is given, and a line for each request on standard output.
  private static let server = #"""
    import http.server, json, sys, threading, urllib.parse
    lock, state = threading.Lock(), {"count": 0, "refresh": "refresh-canary-0"}

    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_): pass
        def do_POST(self):
            length = int(self.headers["Content-Length"])
            form = urllib.parse.parse_qs(self.rfile.read(length).decode())
            with lock:
                good = form.get("refresh_token") == [state["refresh"]]
                print("renewed" if good else "replayed", flush=True)
                if good:
                    state["count"] += 1
                    state["refresh"] = "refresh-canary-%d" % state["count"]
                body = {"error": "invalid_grant"}
                if good:
                    body = {"access_token": "access-canary-%d" % state["count"], "expires_in": 3600,
                            "token_type": "bearer", "refresh_token": state["refresh"]}
            text = json.dumps(body).encode()
            self.send_response(200 if good else 400)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    with open(sys.argv[1], "w") as pipe: pipe.write("%d\n" % server.server_port)
    server.serve_forever()
    """#

  private static let pipeline = """
    version: 1
    endpoint: { url: "${env:GQL_URL}" }
    store: { kind: memory }
    chain:
      - max-retry: { max_retries: 0 }
      - cache-read: { policy: network-only }
      - token-refresh:
          oauth2:
            token_url: "http://127.0.0.1:${env:PORT}/token"
            client_id: c
            grant: refresh-token
            refresh_token: refresh-${env:FIRST}-0
            store: token.json
      - fetch
      - response-code
      - parse
      - cache-write

    """

  /// Runs a shell line with the server of tokens beside it, whose lines are in the file `tokens`.
  private func run(_ line: String, _ server: LiveDemoServer, _ folder: Folder) async throws
    -> RunResult
  {
    try folder.write(Self.server, to: "server.py")
    try folder.write(Self.pipeline, to: "t.pipeline.yaml")
    return try await Program.shell(
      """
      mkfifo pipe; python3 server.py pipe > tokens 2> trouble & server=$!
      trap 'kill $server' EXIT
      read -r PORT < pipe
      export PORT FIRST=canary GQL_URL='\(server.url)'
      \(line)
      """, in: folder)
  }

  private func expectNoSecrets(_ result: RunResult, _ folder: Folder, _ files: String...) throws {
    #expect(!"\(result)".contains("canary-"))
    for file in files { #expect(try !folder.text(file).contains("canary-"), "\(file)") }
  }

  @Test("fault 61: several processes renew once, and the others take what the first brought")
  func processes() async throws {
    try await DemoServer.withServer { server in
      var wish = Misbehaviour()
      wish.auth = "access-canary-2"
      server.misbehave(wish)
      let folder = try Folder()
      let result = try await run(
        """
        for i in 1 2 3 4; do
          "$GQLRUN" run germany.graphql -p t.pipeline.yaml > out$i 2> err$i & all="$all $!"
        done
        code=0; for one in $all; do wait $one || code=$?; done; cat out? err?; exit $code
        """, server, folder)
      #expect(result.status == 0, "\(result)")
      #expect(result.output == String(repeating: RunTests.germany, count: 4), "\(result)")
      // One to begin with, and one when the first token was refused.
      #expect(try folder.text("tokens") == "renewed\nrenewed\n")
      try expectNoSecrets(result, folder)
      let mode = try FileManager.default.attributesOfItem(atPath: folder.file("token.json"))
      #expect((mode[.posixPermissions] as? NSNumber)?.intValue == 0o600)
    }
  }

  @Test("fault 59: what a killed process brought is there for the next one")
  func killed() async throws {
    try await Hold.withServer(after: 0) { _, server in
      var wish = Misbehaviour()
      wish.auth = "access-canary-1"
      server.misbehave(wish)
      let folder = try Folder()
      // Killed while it waits for its answer: the refresh token was used up before that.
      async let running = run(
        """
        export GQL_URL="$GQL_URL?delay=20"
        # The file is there before the program begins.
        sh -c 'echo $$ > first; exec "$GQLRUN" run germany.graphql -p t.pipeline.yaml --timeout 1h' &
        wait $! 2>/dev/null
        export GQL_URL="${GQL_URL%%\\?*}"
        "$GQLRUN" run germany.graphql -p t.pipeline.yaml
        """, server, folder)
      await server.log.requests(1)
      let id = try folder.text("first").trimmingCharacters(in: .whitespacesAndNewlines)
      kill(try #require(Int32(id)), SIGKILL)
      let result = try await running
      #expect(result.status == 0 && result.output == RunTests.germany, "\(result)")
      #expect(try folder.text("tokens") == "renewed\n")
      try expectNoSecrets(result, folder)
    }
  }

  @Test("fault 62: a token that ends during a batch is renewed once, and no task fails")
  func batch() async throws {
    try await Hold.withServer(after: 50) { hold, server in
      var wish = Misbehaviour()
      wish.auth = "access-canary-1"
      wish.delay = .milliseconds(1)
      server.misbehave(wish)
      let folder = try BatchTests.folder(200)
      try folder.write(
        BatchTests.users.replacing(
          "name: users\n", with: "name: users\npipeline: t.pipeline.yaml\n", maxReplacements: 1),
        to: "m.batch.yaml")
      async let running = run(
        "\"$GQLRUN\" batch run m.batch.yaml --concurrency 8 --timeout 5m", server, folder)
      await server.log.requests(51)
      wish.auth = "access-canary-2"
      server.misbehave(wish)
      await hold.open()
      let result = try await running
      #expect(result.status == 0 && result.errors.contains("200 done"), "\(result)")
      #expect(try folder.text("tokens") == "renewed\nrenewed\n")
      // At most those in flight were sent twice.
      #expect((200...208).contains(server.requestCount), "\(server.requestCount)")
      try expectNoSecrets(
        result, folder, "out/users.ndjson", "out/j.xml", "out/r.html", "out/r.json")
    }
  }
}
