import Foundation
import GQLRun
import GQLRunPipeline
import GQLRunTestSupport
import Testing

@testable import gqlrun

@Suite("gqlrun format, plugins and pipeline", .timeLimit(.minutes(10)))
struct FileCommandTests {
  private func run(_ line: String, _ folder: Folder, input: String = "") async throws -> RunResult {
    try await Program.run(
      line.split(separator: " ").map { String($0) }, in: folder, input: input)
  }

  @Test("plugins lists every plugin, and explains each with its options and examples")
  func plugins() async throws {
    let folder = try Folder()
    let list = try await run("plugins", folder)
    let names = list.output.split(separator: "\n").map { String($0.prefix { $0 != " " }) }
    #expect(names == PluginRegistry.builtIn.descriptions.map(\.name))
    for plugin in PluginRegistry.builtIn.descriptions {
      #expect(plugin.text.contains(/\nexamples?:\n/), "\(plugin.name)")
    }
    let one = try await run("plugins max-retry", folder)
    #expect(one.status == 0 && one.output.hasPrefix("max-retry — "), "\(one)")
  }

  @Test("docs/plugins.md is what the program says: gqlrun plugins --markdown > docs/plugins.md")
  func book() async throws {
    let result = try await run("plugins --markdown", try Folder())
    #expect(result.output == Repository.text("docs/plugins.md"))
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

  @Test("an interrupted command does not wait for its input")
  func interruptedInput() async throws {
    let folder = try Folder()
    let pipe = folder.file("input")
    #expect(mkfifo(pipe, 0o600) == 0)
    // Open for writing, too: nothing comes, and the input does not end.
    let descriptor = open(pipe, O_RDWR | O_CLOEXEC)
    defer { close(descriptor) }
    let reading = Task { try Input.bytes(pipe, "the response") }
    reading.cancel()
    await #expect(throws: CancellationError.self) { try await reading.value }
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
}
