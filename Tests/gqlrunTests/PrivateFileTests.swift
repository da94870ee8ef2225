import Foundation
import GQLRunDemoServer
import Testing

/// Permissions of files that hold responses or secrets.
@Suite("Files that the program keeps", .timeLimit(.minutes(10)))
struct PrivateFileTests {
  private static let pipeline = """
    version: 1
    endpoint: { url: "${env:GQL_URL}" }
    store: { kind: sqlite, path: cache.db }
    chain:
      - audit: { file: audit.ndjson }
      - cache-read: { policy: network-only }
      - record-replay: { file: recording.ndjson, mode: record }
      - fetch
      - response-code
      - parse
      - cache-write

    """

  private static let manifest = """
    version: 1
    name: private
    pipeline: p.pipeline.yaml
    sinks: [{ ndjson: { path: out.ndjson } }]
    operations: [{ id: one, query: "{ country(code: \\"DE\\") { name } }" }]

    """

  private func mode(_ file: String, _ folder: Folder) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: folder.file(file))[.posixPermissions] as? Int
  }

  @Test(
    "are created for their owner only, and results as the user's mask says",
    arguments: [0o000, 0o022, 0o077])
  func created(mask: Int) async throws {
    let folder = try Folder()
    try folder.write(Self.pipeline, to: "p.pipeline.yaml")
    try folder.write(Self.manifest, to: "m.batch.yaml")
    try await DemoServer.withServer { server in
      let line = """
        umask \(String(mask, radix: 8))
        export GQL_URL=\(server.url)
        "$GQLRUN" run germany.graphql -p p.pipeline.yaml --har run.har -o result.json &&
        "$GQLRUN" cache export dump.ndjson --store sqlite:cache.db &&
        "$GQLRUN" cache export copy.db --store sqlite:cache.db &&
        "$GQLRUN" batch run m.batch.yaml
        """
      let result = try await Program.shell(line, in: folder)
      #expect(result.status == 0, "\(result)")
    }
    let names = try #require(FileManager.default.enumerator(atPath: folder.path))
      .compactMap { $0 as? String }
    let kept = names.filter { name in
      ["run.har", "dump.ndjson", "copy.db", "audit.ndjson", "recording.ndjson"].contains(name)
        || name.hasPrefix("cache.db")
        || name.contains("journal")
          && !((try? FileManager.default.contentsOfDirectory(atPath: folder.file(name))) != nil)
    }
    #expect(kept.count >= 7, "\(names)")
    for name in kept { #expect(try mode(name, folder) == 0o600, "\(name)") }
    for name in ["result.json", "out.ndjson"] {
      #expect(try mode(name, folder) == 0o666 & ~mask, "\(name)")
    }
  }

  @Test("keep their permissions when they exist, with a warning when everyone can read them")
  func existing() async throws {
    let folder = try Folder()
    try await DemoServer.withServer { server in
      let command = [
        "run", "germany.graphql", "-e", server.url, "--har", "run.har", "--store",
        "sqlite:cache.db",
      ]
      #expect(try await Program.run(command, in: folder).status == 0)
      for (permissions, warns) in [(0o644, true), (0o640, false), (0o600, false)] {
        for name in ["run.har", "cache.db"] {
          try FileManager.default.setAttributes(
            [.posixPermissions: permissions], ofItemAtPath: folder.file(name))
        }
        let result = try await Program.run(command, in: folder)
        #expect(result.status == 0)
        for name in ["run.har", "cache.db"] {
          #expect(try mode(name, folder) == permissions)
          #expect(result.errors.contains("chmod o-rwx \(name)") == warns, "\(result)")
        }
      }
    }
  }
}

/// What a server can make a terminal do.
@Suite("Text of a server on a terminal", .needsPython, .timeLimit(.minutes(10)))
struct TerminalOutputTests {
  /// CSI as one character, a right-to-left override, a line separator, an isolate, a mark.
  private static let hostile = "a\u{9b}31mb\u{202e}c\u{2028}d\u{2066}e\u{200f}f\u{85}g\u{e9}"

  /// Answers one request with the hostile text.
  private static let server = #"""
    import http.server, sys
    class H(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            body = open("body.json", "rb").read()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        def log_message(self, *a): pass
    s = http.server.HTTPServer(("127.0.0.1", 0), H)
    open("port", "w").write(str(s.server_port))
    """#

  /// Runs commands with a terminal as standard output, against the server; writes what came to `terminal`.
  private static let driver =
    server + "\n"
      + #"""
      import os, pty, subprocess, threading
      threading.Thread(target=s.serve_forever, daemon=True).start()
      url = "http://127.0.0.1:%d/" % s.server_port
      def run(words, terminal):
          words = [os.environ["GQLRUN"]] + [w.replace("URL", url) for w in words]
          if not terminal:
              return subprocess.run(words, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL).stdout
          master, slave = pty.openpty()
          p = subprocess.Popen(words, stdout=slave, stdin=subprocess.DEVNULL)
          os.close(slave)
          out = b""
          while True:
              try:
                  piece = os.read(master, 65536)
              except OSError:
                  break
              if not piece: break
              out += piece
          p.wait()
          return out
      for n, line in enumerate(open("lines").read().splitlines()):
          for terminal in (True, False):
              with open("%d.%s" % (n, "terminal" if terminal else "pipe"), "wb") as f:
                  f.write(run(line.split(" "), terminal))
      """#

  private static let lines = [
    "run q.graphql -e URL --store sqlite:cache.db", "run q.graphql -e URL --compact",
    "batch run m.batch.yaml -e URL", "batch run csv.batch.yaml -e URL",
    "cache read q.graphql --store sqlite:cache.db", "cache dump --store sqlite:cache.db",
  ]

  @Test("is escaped there, and unchanged everywhere else")
  func escaped() async throws {
    let folder = try Folder()
    try folder.write(#"{"data":{"name":"\#(Self.hostile)"}}"#, to: "body.json")
    try folder.write("query Q { name }", to: "q.graphql")
    let head = "version: 1\nname: t\noperations: [{ id: one, query: \"{ name }\" }]\n"
    try folder.write(head, to: "m.batch.yaml")
    try folder.write(
      head + "sinks: [{ csv: { path: \"-\", columns: [name] } }]\n", to: "csv.batch.yaml")
    try folder.write(Self.driver, to: "driver.py")
    try folder.write(Self.lines.joined(separator: "\n"), to: "lines")
    let result = try await Program.shell("timeout 300 python3 driver.py", in: folder)
    #expect(result.status == 0, "\(result)")
    for (number, line) in Self.lines.enumerated() {
      let piped = try folder.text("\(number).pipe")
      let shown = try folder.text("\(number).terminal")
      #expect(piped.contains(Self.hostile), "\(line): \(piped)")
      #expect(
        shown.contains(#"a\u009b31mb\u202ec\u2028d\u2066e\u200ff\u0085g"# + "\u{e9}"),
        "\(line): \(shown)")
      #expect(
        !shown.unicodeScalars.contains {
          (0x7F...0x9F).contains($0.value) || (0x2028...0x202E).contains($0.value)
            || (0x2066...0x2069).contains($0.value) || $0 == "\u{200f}"
        }, "\(line)")
    }
  }
}
