import Foundation
import GQLRun
import GQLRunDemoServer
import GQLRunJSON
import GQLRunTestSupport
import Testing

@testable import gqlrun

@Suite("gqlrun format, plugins and pipeline", .timeLimit(.minutes(10)))
struct FileCommandTests {
  private func run(_ line: String, _ folder: Folder, input: String = "") async throws -> RunResult {
    try await Program.run(
      line.split(separator: " ").map { String($0) }, in: folder, input: input)
  }

  @Test("format prints the canonical document, and its output again unchanged")
  func format() async throws {
    let folder = try Folder()
    let result = try await run(
      "format -", folder, input: "query Q($a:Int=1){b(c:$a)@x{...F}}fragment F on T{d,e}")
    let canonical = """
      query Q($a: Int = 1) {
        b(c: $a) @x {
          ...F
        }
      }

      fragment F on T {
        d
        e
      }

      """
    #expect(result.output == canonical)
    #expect(result.status == 0 && result.errors == "")
    #expect(try await run("format -", folder, input: canonical).output == canonical)
    #expect(try await run("format fragment.graphql", folder).status == 0)
    #expect(try await run("format schema.graphql", folder).output == "type Query {\n  a: Int\n}\n")
  }

  @Test("plugins lists every plugin, and explains each with its options and examples")
  func plugins() async throws {
    let folder = try Folder()
    let list = try await run("plugins", folder)
    let names = list.output.split(separator: "\n").map { String($0.prefix { $0 != " " }) }
    for name in ["cache-read", "cache-write", "fetch", "headers", "logging", "max-retry", "parse"] {
      #expect(names.contains(name))
    }
    for name in names {
      let one = try await run("plugins \(name)", folder)
      #expect(one.status == 0 && one.output.hasPrefix("\(name) — "), "\(one)")
      #expect(one.output.contains(/\nexamples?:\n/), "\(one)")
    }
    let wrong = try await run("plugins max-retires", folder)
    #expect(wrong.status == 1 && wrong.output == "")
    #expect(wrong.errors.contains("did you mean max-retry?"), "\(wrong)")
  }

  @Test("docs/plugins.md is what the program says: gqlrun plugins --markdown > docs/plugins.md")
  func book() async throws {
    let result = try await run("plugins --markdown", try Folder())
    let book = try String(contentsOfFile: Repository.root + "/docs/plugins.md", encoding: .utf8)
    #expect(result.output == book)
  }

  @Test("the ready-made files are right, and are shown with their defaults")
  func readyMade() async throws {
    let folder = try Folder()
    for name in ["default", "offline", "fresh", "plain"] {
      let path = Repository.root + "/pipelines/\(name).pipeline.yaml"
      let check = try await Program.run(["pipeline", "check", path], in: folder)
      #expect(
        check.status == 0 && check.output == "" && check.errors == "\(path): ok\n", "\(check)")
      let show = try await Program.run(["pipeline", "show", path], in: folder)
      #expect(show.status == 0 && show.output.hasPrefix("pipeline \(name) "), "\(show)")
      #expect(show.output.contains("connect_timeout: "), "\(show)")
    }
  }

  @Test("without --pipeline the default file runs")
  func defaultPipeline() async throws {
    let folder = try Folder()
    let explained = try await run("pipeline explain germany.graphql", folder)
    #expect(explained.output.contains("pipeline  default (default pipeline)"), "\(explained)")
  }

  @Test("check reports every file in one go, for people and for programs")
  func check() async throws {
    let folder = try Folder()
    let files = "typo.pipeline.yaml absent.yaml folder plugin.pipeline.yaml"
    let human = try await run("pipeline check \(files)", folder)
    #expect(human.status == 78 && human.output == "")
    for text in [
      "typo.pipeline.yaml:4:1", "did you mean `chain`?", "absent.yaml:1:1", "it does not exist",
      "it is a directory", "plugin.pipeline.yaml:5:5", "max-retry",
    ] {
      #expect(human.errors.contains(text), "no \(text) in \(human)")
    }
    let json = try await run("pipeline check \(files) --format json", folder)
    #expect(json.status == 78 && json.errors == "")
    let findings = try JSONValue(parsing: json.output).arrayValue ?? []
    #expect(findings.count >= 4)
    #expect(Set(findings.compactMap { $0["file"]?.stringValue }).count == 4)
    let github = try await run("pipeline check \(files) --format github", folder)
    #expect(github.output.hasPrefix("::error file=typo.pipeline.yaml,line=4,col=1"), "\(github)")
    let good = Repository.root + "/pipelines/plain.pipeline.yaml"
    let none = try await run("pipeline check \(good) --format json", folder)
    #expect(none.output == "[]\n" && none.status == 0)
  }

  @Test("check names the entries that pass or refuse requests with files")
  func checkUploads() async throws {
    let folder = try Folder()
    for (url, entries, remark) in [
      ("http://x/", ["max-retry", "fetch"], ""),
      (
        "http://x/", ["deduplicate", "max-retry", "apq", "http-batch", "fetch"],
        "p.pipeline.yaml: requests with files pass `deduplicate`, `apq` and `http-batch` without effect\n"
      ),
      (
        "http://x/", ["deduplicate", "apq: { persisted_only: true }", "fetch"],
        "p.pipeline.yaml: requests with files are refused by `apq`\n"
      ),
      (
        "ws://x/", ["fetch"],
        "p.pipeline.yaml: requests with files are refused: the endpoint's URL is one of WebSocket\n"
      ),
    ] {
      let chain = (entries + ["response-code", "parse"]).map { "  - \($0)\n" }.joined()
      try folder.write(
        "version: 1\nendpoint: { url: \"\(url)\" }\nstore: { kind: none }\nchain:\n\(chain)",
        to: "p.pipeline.yaml")
      let result = try await run("pipeline check p.pipeline.yaml", folder)
      #expect(result.status == 0 && result.errors == "p.pipeline.yaml: ok\n" + remark, "\(result)")
    }
  }

  @Test("serve prints its address when it is ready, and answers there")
  func serve() async throws {
    let folder = try Folder()
    let result = try await Program.shell(
      """
      mkfifo address; "$GQLRUN" serve --port 0 > address & server=$!
      exec 3< address; read -r url <&3
      "$GQLRUN" run germany.graphql -e "$url"; code=$?
      kill -INT $server; wait $server; exit $code
      """, in: folder)
    #expect(result.status == 0 && result.output == RunTests.germany, "\(result)")
  }

  @Test("serve can be ended while connections come")
  func endsUnderConnections() async throws {
    // What goes wrong does so once in a few times.
    for _ in 0..<6 {
      let folder = try Folder()
      let pipe = folder.file("address")
      #expect(mkfifo(pipe, 0o600) == 0)
      let descriptor = open(pipe, O_RDWR | O_CLOEXEC)
      defer { close(descriptor) }
      var program = ChildProcess(Program.path, ["serve", "--port", "0"], in: folder.path)
      program.output = pipe
      let status = try await program.run { id in
        let address = await Self.line(descriptor)
        let port = try #require(address.split(separator: ":").last?.split(separator: "/").first)
        let number = try #require(UInt16(port))
        await withDiscardingTaskGroup { group in
          for client in 0..<4 {
            group.addTask {
              await Self.connect(to: number, of: id) { count in
                if client == 0, count == 20 { kill(id, SIGINT) }
              }
            }
          }
        }
      }
      #expect(status == 0)
    }
  }

  /// What is in a pipe, up to the end of a line.
  private static func line(_ descriptor: Int32) async -> String {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        var text = ""
        var byte: UInt8 = 0
        while read(descriptor, &byte, 1) == 1, byte != 0x0A {
          text.unicodeScalars.append(Unicode.Scalar(byte))
        }
        continuation.resume(returning: text)
      }
    }
  }

  /// Connects repeatedly until the server no longer listens or has ended: the server of another test may listen
  /// on the same port then.
  private static func connect(
    to port: UInt16, of server: pid_t, _ note: @escaping @Sendable (Int) -> Void
  ) async {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        var count = 0
        while isListening(port), !hasEnded(server) {
          count += 1
          note(count)
        }
        continuation.resume()
      }
    }
  }

  /// Whether a child process has ended; its status stays to be collected.
  private static func hasEnded(_ id: pid_t) -> Bool {
    var info = siginfo_t()
    let result = waitid(P_PID, id_t(id), &info, WEXITED | WNOHANG | WNOWAIT)
    return result != 0 || info.si_signo == SIGCHLD
  }

  private static func isListening(_ port: UInt16) -> Bool {
    let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(client) }
    // No connection stays behind to keep its port.
    var linger = linger(l_onoff: 1, l_linger: 0)
    setsockopt(
      client, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let size = socklen_t(MemoryLayout.size(ofValue: address))
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Foundation.connect(client, $0, size) == 0
      }
    }
  }

  @Test("serve says which port is taken")
  func portTaken() async throws {
    try await DemoServer.withServer { server in
      let result = try await run("serve --port \(server.port)", Folder())
      #expect(result.status == 1 && result.output == "")
      #expect(result.errors.contains("port \(server.port) is in use already"), "\(result)")
    }
  }

  @Test("demo tells the whole way on standard error")
  func demo() async throws {
    let result = try await run("demo --posts 50", Folder())
    #expect(result.status == 0 && result.output == "", "\(result)")
    for text in [
      "from the server, 1 request", "from the cache, 0 requests", "3 requests", "Country:DE",
    ] {
      #expect(result.errors.contains(text), "no \(text) in \(result)")
    }
  }
}
