import Foundation
import GQLRunDemoServer
import GQLRunTestSupport
import Testing

/// What a batch does when something outside of it fails: signals, files, descriptors, credentials.
@Suite("gqlrun batch and what can go wrong", .timeLimit(.minutes(10)))
struct BatchFaultTests {
  private func expectAll(_ count: Int, in folder: Folder, _ server: LiveDemoServer) async throws {
    let rest = try await Program.run(
      ["batch", "run", "m.batch.yaml", "--resume", "--endpoint", server.url], in: folder)
    #expect(rest.status == 0, "\(rest)")
    let records = try folder.text("out/users.ndjson").split(separator: "\n")
    #expect(records.count == count && Set(records).count == count)
  }

  /// Returns when `text` was written into a pipe.
  private static func read(_ descriptor: Int32, until text: String) async {
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        var seen: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 4096)
        while !String(decoding: seen, as: UTF8.self).contains(text) {
          let count = Foundation.read(descriptor, &block, block.count)
          guard count > 0 else { break }
          seen += block.prefix(count)
        }
        continuation.resume()
      }
    }
  }

  @Test("a second interrupt ends at once, and --resume finds everything that was written")
  func secondInterrupt() async throws {
    // What is in flight is not answered, and not given up, however late the second signal is sent.
    try await Hold.withServer(after: 0) { _, server in
      let folder = try BatchTests.folder(200)
      let pipe = folder.file("errors")
      #expect(mkfifo(pipe, 0o600) == 0)
      // Open for both, so that neither side waits for the other.
      let descriptor = open(pipe, O_RDWR | O_CLOEXEC)
      defer { close(descriptor) }
      var program = ChildProcess(
        Program.path,
        [
          "batch", "run", "m.batch.yaml", "--endpoint", server.url + "?delay=20", "--timeout", "1h",
        ],
        in: folder.path)
      program.errors = pipe
      let status = try await program.run { id in
        await server.log.requests(4)
        kill(id, SIGINT)
        // Signals of one number that wait are one signal: the second is sent when the first was heard.
        await Self.read(descriptor, until: "interrupt again to end at once")
        kill(id, SIGINT)
      }
      #expect(status == 130)
      // What was waited for would be recorded, answered or failed.
      let standing = try await Program.run(
        ["batch", "status", "m.batch.yaml", "--json", "--endpoint", server.url], in: folder)
      #expect(standing.output.contains(#""done":0,"failed":0,"unknown":0,"#), "\(standing)")
      try await expectAll(200, in: folder, server)
    }
  }

  @Test("a second interrupt ends at once, although no program reads standard error")
  func unreadErrors() async throws {
    try await Hold.withServer(after: 0) { _, server in
      let folder = try BatchTests.folder(20)
      let pipe = folder.file("errors")
      #expect(mkfifo(pipe, 0o600) == 0)
      let descriptor = open(pipe, O_RDWR | O_CLOEXEC | O_NONBLOCK)
      defer { close(descriptor) }
      // Until the pipe is full.
      let block = [UInt8](repeating: 0, count: 4096)
      while write(descriptor, block, block.count) > 0 {}
      var program = ChildProcess(
        Program.path,
        [
          "batch", "run", "m.batch.yaml", "-q", "--endpoint", server.url + "?delay=20", "--timeout",
          "1h",
        ],
        in: folder.path)
      program.errors = pipe
      let status = try await program.run { id in
        await server.log.requests(4)
        // Two numbers, because signals of one number that wait are one signal.
        kill(id, SIGINT)
        kill(id, SIGTERM)
      }
      #expect(status == 130)
    }
  }

  @Test("a termination is an interrupt: what is in flight ends, and --resume does the rest")
  func termination() async throws {
    try await Hold.withServer(after: 20) { hold, server in
      let folder = try BatchTests.folder(300)
      // Requests that are held are not given up, however late they are released.
      let first = try await Program.run(
        [
          "batch", "run", "m.batch.yaml", "--endpoint", server.url + "?delay=20", "--timeout", "5m",
        ],
        in: folder
      ) { id in
        await server.log.requests(21)
        kill(id, SIGTERM)
        try await Program.says("interrupt again", in: folder)
        await hold.open()
      }
      #expect(first.status == 130 && first.errors.contains("--resume continues"), "\(first)")
      try await expectAll(300, in: folder, server)
      #expect(server.requestCount == 300)
    }
  }

  @Test("with fewer descriptors than requests at a time, there are fewer requests at a time")
  func descriptors() async throws {
    try await DemoServer.withServer { server in
      let folder = try BatchTests.folder(100)
      // Three for each event loop, one of which there is for each processor.
      let result = try await Program.shell(
        "ulimit -n $((48 + 3 * $(nproc))); "
          + "\"$GQLRUN\" batch run m.batch.yaml --concurrency 64 --endpoint \(server.url)",
        in: folder)
      #expect(result.status == 0, "\(result)")
      #expect(result.errors.contains("of 64 requests at a time"), "\(result)")
      #expect(server.requestCount == 100)
      try await expectAll(100, in: folder, server)
    }
  }

  @Test("without descriptors for the files of a run, nothing is sent, and what lacks is named")
  func noDescriptors() async throws {
    try await DemoServer.withServer { server in
      let folder = try BatchTests.folder(5)
      let result = try await Program.shell(
        "ulimit -n 16; \"$GQLRUN\" batch run m.batch.yaml --endpoint \(server.url)", in: folder)
      #expect(result.status == 1 && result.errors.contains("ulimit -n 256"), "\(result)")
      #expect(server.requestCount == 0)
      let inherited = try await Program.shell(
        "exec 7</dev/null 8<&7 9<&7; ulimit -n 4; \"$GQLRUN\" format m.batch.yaml", in: folder)
      #expect(inherited.errors.contains("no more than 0 files"), "\(inherited)")
    }
  }

  @Test("a server that is restarted in the middle of a run is waited for")
  func restart() async throws {
    let folder = try BatchTests.folder(400)
    // The first server stops after some requests, the second one starts on the same port, which no other
    // process gets in between.
    let port = try HeldPort()
    let settings = DemoServer.Configuration(port: port.number)
    let hold = Hold(after: 50)
    var first = settings
    first.sleep = { _ in await hold.pass() }
    let run = try await DemoServer.withServer(first) { server in
      let run = Task {
        try await Program.run(
          ["batch", "run", "m.batch.yaml", "--endpoint", server.url + "?delay=5"], in: folder)
      }
      await server.log.requests(50)
      return run
    }
    let result = try await DemoServer.withServer(settings) { server in
      let result = try await run.value
      #expect(server.requestCount > 0)
      return result
    }
    withExtendedLifetime(port) {}
    #expect(result.status == 0, "\(result)")
    let records = try folder.text("out/users.ndjson").split(separator: "\n")
    #expect(records.count == 400 && Set(records).count == 400)
  }

  @Test("a token that expires during a run is renewed once, and no task fails")
  func expiry() async throws {
    try await Hold.withServer(after: 60) { hold, server in
      let folder = try BatchTests.folder(200)
      // The program that makes tokens counts how often it was asked.
      try folder.write(
        """
        #!/bin/sh
        echo asked >> asked
        if [ -e expired ]; then echo '{"access_token":"second","expires_in":3600}'
        else echo '{"access_token":"first","expires_in":3600}'; fi
        """, to: "token.sh")
      try folder.write(
        """
        version: 1
        endpoint: { url: "${env:GQL_URL}" }
        store: { kind: none }
        chain:
          - max-retry: { max_retries: 2 }
          - token-refresh: { command: "sh token.sh" }
          - fetch
          - response-code
          - parse
        """, to: "p.pipeline.yaml")
      try folder.write(
        BatchTests.users.replacingOccurrences(
          of: "name: users\n", with: "name: users\npipeline: p.pipeline.yaml\n"),
        to: "m.batch.yaml")
      @Sendable func accept(_ token: String) {
        var misbehaviour = Misbehaviour()
        misbehaviour.auth = token
        misbehaviour.delay = .milliseconds(5)
        server.misbehave(misbehaviour)
      }
      accept("first")
      let result = try await Program.run(
        ["batch", "run", "m.batch.yaml", "--allow-exec", "--timeout", "5m"], in: folder,
        environment: ["GQL_URL": server.url]
      ) { _ in
        await server.log.requests(61)
        try folder.write("", to: "expired")
        accept("second")
        await hold.open()
      }
      #expect(result.status == 0 && result.errors.contains("200 done"), "\(result)")
      #expect(try folder.text("asked") == "asked\nasked\n")
      #expect(!result.errors.contains("second"))
    }
  }
}
