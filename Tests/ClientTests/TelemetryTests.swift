import Foundation
import GQLRun
import GQLRunDemoServer
import InMemoryTracing
import MetricsTestKit
import Testing
import Tracing

@Suite("PipelineClient: metrics and traces", .timeLimit(.minutes(10)))
struct TelemetryTests {
  private static let canary = "canary-5be1c2"

  private struct Receivers {
    let metrics = TestMetrics()
    let tracer = InMemoryTracer()

    func configuration() -> PipelineClient.Configuration {
      var configuration = PipelineClient.Configuration()
      configuration.metrics = metrics
      configuration.tracer = tracer
      return configuration
    }

    /// The sum of a counter over all its attributes that include these.
    func total(_ label: String, _ attributes: (String, String)...) -> Int {
      metrics.counters.filter { counter in
        counter.label == label
          && attributes.allSatisfy { wanted in counter.dimensions.contains { $0 == wanted } }
      }.reduce(0) { $0 + Int($1.totalValue) }
    }

    /// Everything that was recorded, as text.
    var text: String {
      var text = ""
      for span in tracer.finishedSpans {
        text += "\(span.operationName) \(String(describing: span.status)) \(span.errors) "
        text += "\(span.events)"
        let add: (String, SpanAttribute) -> Void = { text += " \($0)=\($1)" }
        span.attributes.forEach(add)
      }
      text += metrics.counters.map { "\($0.label) \($0.dimensions)" }.joined()
      text += metrics.timers.map { "\($0.label) \($0.dimensions)" }.joined()
      return text + metrics.recorders.map { "\($0.label) \($0.dimensions)" }.joined()
    }
  }

  private func value(_ span: FinishedInMemorySpan, _ name: String) -> String? {
    span.attributes.get(name).map { attribute in
      switch attribute {
      case .string(let text): text
      case .int32(let number): "\(number)"
      case .int64(let number): "\(number)"
      default: "\(attribute)"
      }
    }
  }

  /// The paths of all spans below another one.
  private func tree(of spans: [FinishedInMemorySpan], below root: FinishedInMemorySpan) -> [String]
  {
    spans.filter { $0.parentSpanID == root.spanID }.flatMap { child in
      [child.operationName] + tree(of: spans, below: child).map { "\(child.operationName)/\($0)" }
    }.sorted()
  }

  @Test("an operation and its requests are spans of one trace, with the conventional attributes")
  func spans() async throws {
    let receivers = Receivers()
    try await DemoServer.withServer { server in
      let folder = try Folder()
      var failing = Misbehaviour()
      failing.status = 503
      failing.times = 1
      server.misbehave(failing)
      let file = try folder.pipeline(
        server.url,
        chain:
          "[max-retry: { backoff: { base: 0s } }, cache-read, fetch, response-code, parse, cache-write]"
      )
      try await PipelineClient(file: file, configuration: receivers.configuration()).shutdown {
        for _ in 0..<2 { _ = try await $0.fetch(Documents.country, variables: ["code": "FR"]) }
      }
      let sent = server.log.requests.compactMap { $0.header(InMemoryTracer.spanIDKey) }
      let spans = receivers.tracer.finishedSpans
      let requests = spans.filter { $0.kind == .client }
      let operations = spans.filter { $0.operationName == "query" }
      #expect(operations.count == 2)
      #expect(requests.map(\.operationName) == ["POST", "POST"])
      #expect(requests.map(\.spanID) == sent)
      #expect(
        tree(of: spans, below: operations[0])
          == [
            "plugin max-retry", "plugin max-retry/cache read",
            "plugin max-retry/plugin response-code",
            "plugin max-retry/plugin response-code/POST",
            "plugin max-retry", "plugin max-retry/cache read",
            "plugin max-retry/plugin response-code",
            "plugin max-retry/plugin response-code/POST", "plugin max-retry/parse", "cache write",
            "cache write/commit",
          ].sorted())
      #expect(
        tree(of: spans, below: operations[1]) == [
          "plugin max-retry", "plugin max-retry/cache read",
        ])
      let calls = spans.filter { $0.operationName == "plugin max-retry" }
      #expect(calls.compactMap { value($0, "gqlrun.retry") } == ["true"])
      #expect(value(operations[0], "graphql.operation.name") == "C")
      #expect(value(operations[0], "graphql.operation.type") == "query")
      #expect(requests.map { value($0, "http.response.status_code") } == ["503", "200"])
      #expect(requests.map { value($0, "error.type") } == ["503", nil])
      #expect(requests.map { value($0, "http.request.resend_count") } == [nil, "1"])
      #expect(value(requests[1], "http.request.method") == "POST")
      #expect(value(requests[1], "server.address") == "127.0.0.1")
      #expect(value(requests[1], "server.port") == "\(server.port)")
      #expect(value(requests[1], "url.full") == server.url)
      #expect(value(requests[1], "network.protocol.version") == "1.1")
    }
  }

  @Test("operations, attempts, cache answers, records, bytes and durations are counted")
  func metrics() async throws {
    let receivers = Receivers()
    let bytes = try await DemoServer.withServer { server in
      let folder = try Folder()
      let file = try folder.pipeline(server.url)
      try await PipelineClient(file: file, configuration: receivers.configuration()).shutdown {
        client in
        for _ in 0..<3 { _ = try await client.fetch(Documents.country, variables: ["code": "FR"]) }
        await #expect(throws: ChainError.self) {
          try await client.fetch(
            Documents.country, variables: ["code": "DE"], cachePolicy: .cacheOnly)
        }
      }
      return server.log.bytesWritten
    }
    let type = ("graphql.operation.type", "query")
    #expect(
      receivers.total("graphql.client.operations", type, ("graphql.operation.name", "C")) == 4)
    #expect(receivers.total("graphql.client.operations", ("error.type", "cache_miss")) == 1)
    #expect(receivers.total("graphql.client.attempts", type) == 4)
    let answer = "graphql.cache.answer"
    #expect(receivers.total("graphql.client.cache.answers", (answer, "hit")) == 2)
    #expect(receivers.total("graphql.client.cache.answers", (answer, "miss")) == 2)
    #expect(
      receivers.total("graphql.client.cache.records", ("graphql.cache.change", "new")) == 1)
    let sizes = receivers.metrics.recorders(label: "graphql.client.response.size")
    #expect(sizes.flatMap(\.values).map(Int.init) == [bytes])
    #expect(
      receivers.metrics.timers(label: "graphql.client.operation.duration").flatMap(\.values).count
        == 4)
    let durations = receivers.metrics.timers(label: "http.client.request.duration")
    #expect(durations.flatMap(\.values).count == 1)
    #expect(
      durations.first?.dimensions.contains { $0 == ("http.response.status_code", "200") } == true)
    let bodies = receivers.metrics.recorders(label: "http.client.request.body.size")
    #expect(bodies.flatMap(\.values).allSatisfy { $0 > 50 } && !bodies.isEmpty)
  }

  @Test("the attempts of a subscription are those of all its connections")
  func subscriptionAttempts() async throws {
    let receivers = Receivers()
    try await DemoServer.withServer { server in
      let folder = try Folder()
      let file = try folder.pipeline(
        server.url + "?close-after=2&times=1",
        chain: "[max-retry: { backoff: { base: 0s } }, fetch, response-code, parse]")
      try await PipelineClient(file: file, configuration: receivers.configuration()).shutdown {
        let operation = try $0.prepare("subscription { countdown(from: 3, delay: 0) }")
        for try await _ in $0.execute(GraphQLRequest(operation)) {}
      }
    }
    #expect(receivers.total("graphql.client.subscription.gaps") == 1)
    #expect(receivers.total("graphql.client.attempts") == 2)
  }

  @Test(
    "documents, variables, bodies, header fields and query strings are in no metric and no span",
    arguments: [
      (
        200,
        #"{"data":{"country":null},"errors":[{"message":"CANARY","extensions":{"code":"CANARY"}}]}"#
      ),
      (200, #"{"data":{"country":{"__typename":"Country","code":"CANARY","name":"CANARY"}}}"#),
      (200, "CANARY is no JSON"), (500, "CANARY"),
    ])
  func secrets(status: Int, body: String) async throws {
    let receivers = Receivers()
    let folder = try Folder()
    var configuration = receivers.configuration()
    configuration.transport = FixedAnswer(
      body: body.replacing("CANARY", with: Self.canary), status: status)
    let file = try folder.pipeline(
      "http://localhost/graphql?key=\(Self.canary)",
      chain:
        "[cache-read, headers: { set: { X-Lang: \(Self.canary) } }, fetch, response-code, parse, cache-write]"
    )
    try await PipelineClient(file: file, configuration: configuration).shutdown { client in
      var request = GraphQLRequest(
        try client.prepare(
          "query C($code: ID!) { country(code: $code) { name x: native(lang: \"\(Self.canary)\") } }",
          variables: ["code": .string(Self.canary)]))
      request.method = .get
      _ = try? await client.execute(request).first { _ in true }
      _ = try? await client.fetch(
        "query C { country(code: \"\(Self.canary)-2\") { name } }", as: CountryData.self)
    }
    #expect(receivers.tracer.finishedSpans.count { $0.operationName == "query" } == 2)
    #expect(receivers.tracer.finishedSpans.count { $0.kind == .client } == 2)
    #expect(receivers.text.contains("query") && receivers.text.contains("url.full"))
    #expect(!receivers.text.contains(Self.canary))
    #expect(receivers.tracer.activeSpans.isEmpty)
  }
}
