import Foundation
import Testing

@testable import gqlrun

@Suite("Colors and progress", .timeLimit(.minutes(10)))
struct ColorTests {
  private static let text = #"{"a":[1,"x\"y\\",null,true,{}],"b c":{"null":"null"},"d":[null]}"#
  /// `«k`, `«s`, `«n` and `«b` begin a key, a string, null and a bracket, `»` ends them.
  private static let colored =
    #"«b{»«k"a"»:«b[»1,«s"x\"y\\"»,«nnull»,true,«b{»«b}»«b]»,«k"b c"»:«b{»«k"null"»:«s"null"»«b}»,"#
    + #"«k"d"»:«b[»«nnull»«b]»«b}»"#

  private static func marked(_ output: [UInt8]) -> String {
    var text = String(decoding: output, as: UTF8.self)
    for (mark, code) in [
      ("«k", "34;1"), ("«s", "0;32"), ("«n", "1;30"), ("«b", "1;39"), ("»", "0"),
    ] { text = text.replacing("\u{1b}[\(code)m", with: mark) }
    return text
  }

  @Test("keys, strings, null and brackets have colors, wherever the text is cut")
  func colors() {
    let bytes = Array(Self.text.utf8)
    for cut in 0...bytes.count {
      var (colors, output) = (JSONColors(), [UInt8]())
      bytes[..<cut].withUnsafeBytes { colors.append($0, to: &output) }
      bytes[cut...].withUnsafeBytes { colors.append($0, to: &output) }
      #expect(Self.marked(output) == Self.colored, "cut at \(cut)")
    }
  }

  @Test(
    "--color and the environment decide, then the terminal",
    arguments: [
      (Terminal.Coloring.auto, true, [:], true), (.auto, false, [:], false),
      (.auto, true, ["NO_COLOR": "1"], false), (.auto, true, ["NO_COLOR": ""], true),
      (.auto, false, ["FORCE_COLOR": "1"], true), (.auto, false, ["FORCE_COLOR": "0"], false),
      (.auto, false, ["CLICOLOR_FORCE": "1"], true),
      (.auto, false, ["NO_COLOR": "1", "FORCE_COLOR": "1"], false),
      (.auto, true, ["TERM": "dumb"], false), (.always, false, ["NO_COLOR": "1"], true),
      (.never, true, ["FORCE_COLOR": "1"], false),
    ])
  func decision(
    _ coloring: Terminal.Coloring, _ isTerminal: Bool, _ environment: [String: String],
    _ isColored: Bool
  ) {
    #expect(coloring.applies(onTerminal: isTerminal, environment) == isColored)
  }

  @Test("progress is shown from the first second of a download on")
  func progress() {
    var progress = TransferProgress()
    #expect(progress.line(received: 0, now: .seconds(5)) == nil)
    #expect(progress.line(received: 1_000, now: .seconds(6)) == nil)
    #expect(progress.line(received: 2_000_000, now: .milliseconds(6_999)) == nil)
    #expect(
      progress.line(received: 4_001_000, now: .seconds(8)) == "received 4.0 MB, 2.0 MB/s")
  }

  /// A server that sends the second half of a response when the program has shown progress, and the program
  /// with a terminal as standard error.
  private static let driver = #"""
    import http.server, os, pty, subprocess, sys, threading
    seen = threading.Event()
    body = b'{"data":{"country":{"name":"Germany","capital":"Berlin"}}}'
    class H(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[:30])
            self.wfile.flush()
            seen.wait(240)
            self.wfile.write(body[30:])
        def log_message(self, *a): pass
    s = http.server.HTTPServer(("127.0.0.1", 0), H)
    threading.Thread(target=s.serve_forever, daemon=True).start()
    master, slave = pty.openpty()
    p = subprocess.Popen(
        [os.environ["GQLRUN"], "run", "germany.graphql", "-e", "127.0.0.1:%d/" % s.server_port] + sys.argv[1:],
        stdout=open("result", "wb"), stderr=slave, stdin=subprocess.DEVNULL)
    os.close(slave)
    shown = b""
    while True:
        try: piece = os.read(master, 65536)
        except OSError: break
        if not piece: break
        shown += piece
        if b"received " in shown: seen.set()
    open("shown", "wb").write(shown)
    sys.exit(p.wait())
    """#

  @Test("progress is on standard error, and goes away at the end", .needsPython)
  func terminal() async throws {
    let folder = try Folder()
    try folder.write(Self.driver, to: "driver.py")
    let result = try await Program.shell("timeout 300 python3 driver.py", in: folder)
    #expect(result.status == 0, "\(result)")
    #expect(try folder.text("result") == RunTests.germany)
    let shown = try folder.text("shown")
    #expect(shown.contains(" bytes, 0.0 MB/s"), "\(shown)")
    #expect(shown.hasSuffix("\r\u{1b}[K"), "\(shown)")
  }
}
