import ArgumentParser
import Foundation
import GQLRunJSON
import GQLRunPipeline
import GQLRunSupport
import GQLRunTestSupport
import HTTPTypes
import Testing
import Tracing

@testable import gqlrun

/// A collector that answers as a test wants.
private final class Collector: HTTPTransport {
  enum Answer: Sendable {
    case status(Int, String = "{}")
    case refused
    /// No answer until the request is cancelled.
    case never
    /// Accepted when there is a request with metrics, the first of which is sent at the end of the command.
    case acceptedAtEnd
  }

  private let answers: Locked<[Answer]>
  private let received = Locked<[HTTPRequestMessage]>([])

  /// - Parameter answers: One for each request; the last one for all further requests.
  init(_ answers: Answer...) { self.answers = Locked(answers) }

  var requests: [HTTPRequestMessage] { received.withLock { $0 } }

  /// The names of the spans of each request to `v1/traces`.
  var spans: [[String]] {
    requests.filter { $0.head.path == "/v1/traces" }.map { request in
      let json = try? JSONValue(parsing: request.body ?? [])
      let spans = json?["resourceSpans"]?[0]?["scopeSpans"]?[0]?["spans"]?.arrayValue ?? []
      return spans.compactMap { $0["name"]?.stringValue }
    }
  }

  func send(
    _ request: HTTPRequestMessage, limits: HTTPLimits
  ) async throws -> HTTPResponseMessage {
    received.withLock { $0.append(request) }
    let answer = answers.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
    switch answer {
    case .status(let code, let body):
      return HTTPResponseMessage(
        head: HTTPResponse(status: .init(code: code)), body: HTTPBody([Array(body.utf8)]))
    case .refused:
      throw ChainError(.transport, code: .connectionFailed, message: "connection refused")
    case .never:
      let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
      defer { continuation.finish() }
      for await _ in stream {}
      throw CancellationError()
    case .acceptedAtEnd:
      while !requests.contains(where: { $0.head.path == "/v1/metrics" }) {
        try Task.checkCancellation()
        await Task.yield()
      }
      return HTTPResponseMessage(
        head: HTTPResponse(status: .ok), body: HTTPBody([Array("{}".utf8)]))
    }
  }
}

@Suite("Telemetry: the export", .timeLimit(.minutes(10)))
struct TelemetryExportTests {
  private struct Bench {
    var variables = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:4318/v1/traces"]
    let clock = TestClock()
    let warnings = Warned()

    final class Warned: Sendable {
      private let texts = Locked<[String]>([])
      var all: [String] { texts.withLock { $0 } }
      func add(_ text: String) { texts.withLock { $0.append(text) } }
    }

    /// Runs a command whose work is `body`.
    func run(
      _ collector: Collector, with arguments: [String] = [],
      _ body: (ProgramTelemetry?) async throws -> Void
    ) async throws {
      let variables = variables
      var services = Services(transport: collector, clock: ServiceClock(clock))
      services.variable = { variables[$0] }
      let command = try RunCommand.parse(["query.graphql"] + arguments)
      try await ProgramTelemetry.run(command, services: services, warn: warnings.add) {
        try await body(ProgramTelemetry.current)
      }
    }

    func end(_ count: Int, _ telemetry: ProgramTelemetry?) {
      for number in 0..<count {
        let span = telemetry?.tracer?.startSpan("span \(number)")
        span?.end()
      }
    }
  }

  @Test("a command without the variables runs as it is, and opens nothing")
  func nothing() async throws {
    var bench = Bench()
    bench.variables = [:]
    let collector = Collector(.refused)
    try await bench.run(collector) { #expect($0 == nil) }
    #expect(collector.requests.isEmpty && bench.warnings.all == [])
  }

  @Test("spans are exported at the end, with the span of the command and the header fields")
  func end() async throws {
    var bench = Bench()
    bench.variables["OTEL_EXPORTER_OTLP_HEADERS"] = "api-key=a%20b"
    bench.variables["TRACEPARENT"] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    let collector = Collector(.status(200))
    try await bench.run(collector) { bench.end(2, $0) }
    #expect(collector.spans == [["span 0", "span 1", "gqlrun run"]])
    let request = try #require(collector.requests.first)
    #expect(request.head.headerFields[.contentType] == "application/json")
    #expect(request.head.headerFields[try #require(HTTPField.Name("api-key"))] == "a b")
    let body = String(decoding: try #require(request.body), as: UTF8.self)
    #expect(body.contains(#""parentSpanId":"00f067aa0ba902b7""#))
    #expect(body.components(separatedBy: "4bf92f3577b34da6a3ce929d0e0e4736").count == 4)
    #expect(bench.warnings.all == [])
  }

  @Test("a batch is exported when it is complete, and the others after the delay")
  func batches() async throws {
    var bench = Bench()
    bench.variables["OTEL_BSP_MAX_EXPORT_BATCH_SIZE"] = "2"
    let collector = Collector(.status(200))
    try await bench.run(collector) { telemetry in
      bench.end(2, telemetry)
      while collector.spans.count < 1 { await Task.yield() }
      bench.end(1, telemetry)
      await bench.clock.sleepers(1)
      bench.clock.advance(by: .seconds(5))
      while collector.spans.count < 2 { await Task.yield() }
    }
    #expect(collector.spans == [["span 0", "span 1"], ["span 0"], ["gqlrun run"]])
  }

  @Test("a request that the end of the command meets is waited for, and its spans are sent once")
  func requestAtEnd() async throws {
    var bench = Bench()
    bench.variables["OTEL_BSP_MAX_EXPORT_BATCH_SIZE"] = "2"
    bench.variables["OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"] = "http://127.0.0.1:4318/v1/metrics"
    let collector = Collector(.acceptedAtEnd, .status(200))
    try await bench.run(collector) { telemetry in
      telemetry?.registry?.set("gqlrun.batch.requests.active", 1)
      bench.end(2, telemetry)
      while collector.spans.isEmpty { await Task.yield() }
    }
    #expect(collector.spans == [["span 0", "span 1"], ["gqlrun run"]])
    #expect(bench.warnings.all == [])
  }

  @Test("spans beyond the queue are dropped, and their number is a warning at the end")
  func queue() async throws {
    var bench = Bench()
    bench.variables["OTEL_BSP_MAX_QUEUE_SIZE"] = "3"
    let collector = Collector(.refused)
    try await bench.run(collector) { bench.end(10, $0) }
    #expect(
      bench.warnings.all == [
        "cannot export traces to http://127.0.0.1:4318/v1/traces: connection refused",
        "11 spans not exported",
      ])
  }

  @Test("spans that a collector postpones are sent again; the failure is one warning")
  func postponed() async throws {
    let bench = Bench()
    let collector = Collector(.status(503), .refused, .status(200))
    try await bench.run(collector) { telemetry in
      bench.end(1, telemetry)
      for requests in 1...2 {
        await bench.clock.sleepers(1)
        bench.clock.advance(by: .seconds(5))
        while collector.spans.count < requests { await Task.yield() }
      }
    }
    #expect(collector.spans == [["span 0"], ["span 0"], ["span 0", "gqlrun run"]])
    #expect(
      bench.warnings.all == [
        "cannot export traces to http://127.0.0.1:4318/v1/traces: it answered 503"
      ])
  }

  @Test(
    "spans that a collector refuses are not sent again",
    arguments: [
      (Collector.Answer.status(400), ["it answered 400", "2 spans not exported"]),
      (
        .status(200, #"{"partialSuccess":{"rejectedSpans":"1","errorMessage":"no"}}"#),
        [
          "cannot export all traces to http://127.0.0.1:4318/v1/traces: it rejected 1: no",
          "1 span not exported",
        ]
      ),
    ])
  private func refused(answer: Collector.Answer, warnings: [String]) async throws {
    let bench = Bench()
    let collector = Collector(answer)
    try await bench.run(collector) { bench.end(1, $0) }
    #expect(collector.spans.count == 1)
    #expect(bench.warnings.all.count == warnings.count)
    for (found, expected) in zip(bench.warnings.all, warnings) {
      #expect(found.hasSuffix(expected), "\(found)")
    }
  }

  @Test(
    "a collector that hangs delays the end by two seconds, and the error of the command stays",
    arguments: [(nil, 2), ("2500", 2.5)] as [(String?, Double)])
  func hanging(variable: String?, seconds: Double) async throws {
    var bench = Bench()
    bench.variables["OTEL_BSP_EXPORT_TIMEOUT"] = variable
    let collector = Collector(.never)
    let run = Task { [bench] in
      try await bench.run(collector) {
        bench.end(1, $0)
        throw ExitCode(4)
      }
    }
    while collector.requests.isEmpty { await Task.yield() }
    await bench.clock.sleepers(1)
    bench.clock.advance(by: .seconds(seconds))
    await #expect(throws: ExitCode(4)) { try await run.value }
    #expect(
      bench.warnings.all == [
        "the collector did not answer within \(variable == nil ? "2" : "2.5") s at the end",
        "2 spans not exported",
      ])
  }

  @Test("the exit code is an attribute of the command's span")
  func exitCode() async throws {
    let bench = Bench()
    let collector = Collector(.status(200))
    await #expect(throws: ExitCode(4)) {
      try await bench.run(collector) { _ in throw ExitCode(4) }
    }
    let body = try #require(collector.requests.first?.body)
    let text = String(decoding: body, as: UTF8.self)
    #expect(text.contains(#"{"key":"process.exit.code","value":{"intValue":"4"}}"#), "\(text)")
    #expect(text.contains(#""status":{"code":2}"#))
  }

  @Test("metrics are exported at their interval and at the end, with the sums since the start")
  func metrics() async throws {
    var bench = Bench()
    bench.variables = ["OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://c:1/v1/metrics"]
    let collector = Collector(.refused, .status(200))
    try await bench.run(collector) { telemetry in
      let registry = try #require(telemetry?.registry)
      #expect(telemetry?.tracer == nil)
      registry.set("gqlrun.batch.requests.limit", 7)
      await bench.clock.sleepers(1)
      bench.clock.advance(by: .seconds(60))
      // The end of the command would end a request whose failure is not reported yet.
      while bench.warnings.all.isEmpty { await Task.yield() }
      registry.set("gqlrun.batch.requests.limit", 8)
    }
    let texts = collector.requests.map { String(decoding: $0.body ?? [], as: UTF8.self) }
    #expect(texts.count == 2)
    #expect(texts[0].contains(#""asInt":"7""#) && texts[1].contains(#""asInt":"8""#))
    #expect(
      bench.warnings.all == [
        "cannot export metrics to http://c:1/v1/metrics: connection refused"
      ])
  }

  @Test("the metrics file is replaced every 15 seconds and at the end")
  func file() async throws {
    var bench = Bench()
    bench.variables = [:]
    let folder = try Folder()
    let path = folder.file("gqlrun.prom")
    let collector = Collector(.refused)
    try await bench.run(collector, with: ["--metrics-file", path]) { telemetry in
      let registry = try #require(telemetry?.registry)
      registry.set("gqlrun.batch.requests.limit", 7)
      await bench.clock.sleepers(1)
      bench.clock.advance(by: .seconds(15))
      while !folder.exists("gqlrun.prom") { await Task.yield() }
      #expect(try folder.text("gqlrun.prom").hasSuffix("gqlrun_batch_requests_limit 7.0\n"))
      registry.set("gqlrun.batch.requests.limit", 8)
    }
    #expect(try folder.text("gqlrun.prom").hasSuffix("gqlrun_batch_requests_limit 8.0\n"))
    #expect(collector.requests.isEmpty && folder.partialFiles.isEmpty)
  }

  @Test("metrics are written into a pipe, and into the file that a link leads to")
  func otherDestinations() async throws {
    let folder = try Folder()
    #expect(mkfifo(folder.file("pipe"), 0o600) == 0)
    let reader = open(folder.file("pipe"), O_RDWR | O_NONBLOCK)
    defer { close(reader) }
    #expect(symlink("target", folder.file("link")) == 0)
    for name in ["pipe", "link"] {
      let bench = Bench()
      try await bench.run(
        Collector(.status(200)), with: ["--metrics-file", folder.file(name)]
      ) { telemetry in
        let registry = try #require(telemetry?.registry)
        registry.set("gqlrun.batch.requests.limit", 7)
      }
      #expect(bench.warnings.all == [])
    }
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let count = read(reader, &bytes, bytes.count)
    let end = "gqlrun_batch_requests_limit 7.0\n"
    #expect(String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self).hasSuffix(end))
    #expect(try folder.text("target").hasSuffix(end))
    #expect(try folder.text("link") == folder.text("target"))
  }

  @Test("a pipe that is not read delays nothing, and is one warning")
  func unreadPipe() async throws {
    let folder = try Folder()
    let path = folder.file("pipe")
    #expect(mkfifo(path, 0o600) == 0)
    for reason in ["that no program reads", "whose reader is too slow"] {
      let reader = reason.hasPrefix("whose") ? open(path, O_RDWR | O_NONBLOCK) : -1
      let filling = [UInt8](repeating: 0, count: 4096)
      while reader >= 0, write(reader, filling, filling.count) > 0 {}
      var bench = Bench()
      bench.variables = [:]
      try await bench.run(Collector(.status(200)), with: ["--metrics-file", path]) { telemetry in
        let registry = try #require(telemetry?.registry)
        registry.set("gqlrun.batch.requests.limit", 7)
        await bench.clock.sleepers(1)
        bench.clock.advance(by: .seconds(15))
      }
      #expect(
        bench.warnings.all == ["the metrics are not written: \(path) is a pipe \(reason)"])
      if reader >= 0 { close(reader) }
    }
  }

  @Test("a file of another kind is not replaced")
  func otherFile() async throws {
    let bench = Bench()
    let folder = try Folder()
    let error = await #expect(throws: Failure.self) {
      try await bench.run(
        Collector(.refused), with: ["--metrics-file", folder.file("country.graphql")]
      ) { _ in }
    }
    #expect(error?.message.contains("is not metrics of gqlrun") == true)
  }

  @Test("a port that is in use is an error before the command begins")
  func port() async throws {
    let bench = Bench()
    let held = try HeldPort()
    #expect(listen(held.descriptor, 1) == 0)
    let error = await #expect(throws: Failure.self) {
      try await bench.run(Collector(.refused), with: ["--metrics-port", "\(held.number)"]) { _ in
        Issue.record("the command ran")
      }
    }
    #expect(error?.message.contains("port \(held.number) is in use already") == true)
  }
}
