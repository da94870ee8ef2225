import Foundation
import GQLRunDemoServer
import GQLRunJSON
import GQLRunTestSupport
import Testing

/// The program, and a collector that checks what it receives: `Tests/Telemetry/collector.py`.
@Suite("Telemetry of the program", .needsPython, .timeLimit(.minutes(10)))
struct ProgramTelemetryTests {
  private static let canary = "canary-81f3ab"

  /// What the collector has received, and the result of the program.
  private struct Report {
    var result: RunResult
    var json: JSONValue

    /// The paths of the spans, in order.
    var paths: [String] { spans.compactMap { $0["path"]?.stringValue } }
    var spans: [JSONValue] { json["spans"]?.arrayValue ?? [] }

    func attribute(_ path: String, _ name: String) -> JSONValue? {
      spans.first { $0["path"]?.stringValue == path }?["attributes"]?[name]
    }
  }

  /// Runs the program with a collector.
  ///
  /// - Parameters:
  ///   - options: The options of the collector.
  ///   - settings: Assignments of variables, as in a shell.
  private func run(
    _ command: String, in folder: Folder, options: String = "", settings: String = ""
  ) async throws -> Report {
    let result = try await Program.shell(
      #"\#(settings) python3 "\#(Repository.root)/Tests/Telemetry/collector.py" \#(options) received.json "#
        + #""$GQLRUN" \#(command)"#, in: folder)
    let json = try JSONValue(parsing: try folder.text("received.json"))
    #expect(json["problems"]?.jsonText() == "[]", "\(result)")
    return Report(result: result, json: json)
  }

  private static let pipeline = """
    version: 1
    endpoint: { url: "${env:GQL_URL}" }
    store: { kind: memory }
    chain:
      - max-retry: { backoff: { base: 0s } }
      - cache-read
      - fetch
      - response-code
      - parse
      - cache-write
    """

  @Test("a run with a retry and a write of the cache is one trace, and its context is sent")
  func retry() async throws {
    try await DemoServer.withServer { server in
      let folder = try Folder()
      try folder.write(Self.pipeline, to: "p.pipeline.yaml")
      var failing = Misbehaviour()
      failing.status = 503
      failing.times = 1
      server.misbehave(failing)
      let report = try await run(
        "run country.graphql --var code=DE -e '\(server.url)?key=\(Self.canary)' --pipeline p.pipeline.yaml",
        in: folder,
        settings:
          "TRACEPARENT=00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01 TRACESTATE=a=1 "
          + "OTEL_SERVICE_NAME=nightly OTEL_RESOURCE_ATTRIBUTES=team=a%20b "
          + "OTEL_EXPORTER_OTLP_HEADERS=api-key=\(Self.canary)")
      #expect(report.result.status == 0, "\(report.result)")
      let (query, attempt) = ("gqlrun run/query", "gqlrun run/query/plugin max-retry")
      #expect(
        report.paths == [
          "gqlrun run", query, "\(query)/cache write", "\(query)/cache write/commit",
          attempt, attempt, "\(attempt)/cache read", "\(attempt)/cache read",
          "\(attempt)/parse",
          "\(attempt)/plugin response-code", "\(attempt)/plugin response-code",
          "\(attempt)/plugin response-code/POST", "\(attempt)/plugin response-code/POST",
        ])
      #expect(
        report.spans.allSatisfy { $0["traceId"]?.stringValue == "4bf92f3577b34da6a3ce929d0e0e4736" }
      )
      #expect(report.spans.first?["parentSpanId"]?.stringValue == "00f067aa0ba902b7")
      #expect(report.attribute(query, "graphql.operation.type")?.stringValue == "query")
      #expect(report.attribute(query, "graphql.operation.name")?.stringValue == "C")
      #expect(report.attribute(query, "graphql.document") == nil)
      let requests = report.spans.filter { $0["name"]?.stringValue == "POST" }
      #expect(requests.allSatisfy { $0["kind"]?.intValue == 3 })
      #expect(
        Set(requests.map { $0["attributes"]?["http.response.status_code"]?.intValue }) == [
          503, 200,
        ]
      )
      // The server has received the context of each request.
      let sent = server.log.requests.map { $0.header("traceparent") }
      let spans = requests.compactMap { $0["spanId"]?.stringValue }
      #expect(
        Set(sent) == Set(spans.map { "00-4bf92f3577b34da6a3ce929d0e0e4736-\($0)-01" }))
      #expect(server.log.requests.allSatisfy { $0.header("tracestate") == "a=1" })
      #expect(report.json["resource"]?["service.name"]?.stringValue == "nightly")
      #expect(report.json["resource"]?["team"]?.stringValue == "a b")
      let metrics = try #require(report.json["metrics"]?.objectValue)
      #expect(metrics["graphql.client.attempts"]?["points"]?[0]?["asInt"]?.stringValue == "2")
      #expect(metrics["http.client.request.duration"]?["points"]?.arrayValue?.count == 2)
      #expect(metrics["graphql.client.operation.duration"]?["kind"]?.stringValue == "histogram")
      // The collector's header field has the canary, and nothing else.
      let received = try #require(report.json["requests"]?.arrayValue)
      #expect(received.allSatisfy { $0["fields"]?["api-key"]?.stringValue == Self.canary })
      let rest = [report.json["spans"], report.json["metrics"], report.json["resource"]]
      #expect(!rest.contains { $0?.jsonText().contains(Self.canary) ?? false })
      #expect(!report.result.errors.contains(Self.canary))
    }
  }

  @Test("the document is exported on request")
  func document() async throws {
    try await DemoServer.withServer { server in
      let report = try await run(
        "run country.graphql --var code=DE -e \(server.url)", in: Folder(),
        settings: "GQLRUN_OTEL_DOCUMENT=1")
      let document = report.attribute("gqlrun run/query", "graphql.document")?.stringValue
      #expect(document?.contains("country(code: $code)") == true, "\(report.result)")
    }
  }

  @Test("the upgrade to WebSocket has the context of its span, and events are counted")
  func webSocket() async throws {
    try await DemoServer.withServer { server in
      let url = server.url.replacing("http://", with: "ws://")
      let report = try await run(
        "run 'subscription { countdown(from: 2, delay: 1) }' -e \(url)", in: Folder())
      #expect(report.result.status == 0, "\(report.result)")
      let upgrade = try #require(report.spans.first { $0["kind"]?.intValue == 3 })
      let context = try #require(server.log.last?.header("traceparent"))
      let (trace, span) = (upgrade["traceId"]?.stringValue, upgrade["spanId"]?.stringValue)
      #expect(context == "00-\(trace ?? "")-\(span ?? "")-01")
      let events = report.json["metrics"]?["graphql.client.subscription.events"]
      #expect(events?["points"]?[0]?["asInt"]?.stringValue == "3")
      #expect(report.paths.contains("gqlrun run/subscription"))
    }
  }

  @Test("the tasks of a batch are children of the run, and its metrics have their states")
  func batch() async throws {
    try await DemoServer.withServer { server in
      let folder = try BatchTests.folder(3)
      let report = try await run(
        "batch run m.batch.yaml -q --endpoint \(server.url) --metrics-file run.prom", in: folder)
      #expect(report.result.status == 0 && report.result.errors == "", "\(report.result)")
      let task = "gqlrun batch run/task"
      #expect(report.paths.filter { $0 == task }.count == 3)
      #expect(report.paths.filter { $0 == "\(task)/query" }.count == 3)
      #expect(report.spans.count { $0["name"]?.stringValue == "POST" } == 3)
      #expect(Set(report.spans.map { $0["traceId"] }).count == 1)
      #expect(report.attribute(task, "gqlrun.batch.operation")?.stringValue == "users")
      let points = report.json["metrics"]?["gqlrun.batch.tasks"]?["points"]?.arrayValue ?? []
      let done = points.first {
        $0["attributes"]?["gqlrun.batch.task.state"]?.stringValue == "done"
      }
      #expect(done?["asInt"]?.stringValue == "3")
      let text = try folder.text("run.prom")
      #expect(text.contains(#"gqlrun_batch_tasks{gqlrun_batch_task_state="done"} 3.0"#), "\(text)")
      #expect(text.contains("# TYPE http_client_request_duration_seconds histogram"))
    }
  }

  @Test("a ratio selects tasks, each with all its spans, and the run itself")
  func sampled() async throws {
    try await DemoServer.withServer { server in
      let folder = try BatchTests.folder(200)
      let report = try await run(
        "batch run m.batch.yaml -q --endpoint \(server.url)", in: folder,
        settings: "OTEL_TRACES_SAMPLER=parentbased_traceidratio OTEL_TRACES_SAMPLER_ARG=0.25")
      let tasks = report.paths.count { $0 == "gqlrun batch run/task" }
      #expect((10...110).contains(tasks), "\(tasks)")
      #expect(report.paths.contains("gqlrun batch run"))
      #expect(report.spans.count { $0["name"]?.stringValue == "POST" } == tasks)
      let sent = server.log.requests.compactMap { $0.header("traceparent") }
      #expect(sent.count == 200 && sent.count { $0.hasSuffix("-01") } == tasks)
    }
  }

  @Test("a collector that hangs delays the end by two seconds at most, and fails nothing")
  func hanging() async throws {
    try await DemoServer.withServer { server in
      let report = try await run(
        "run country.graphql --var code=DE -e \(server.url)", in: Folder(), options: "--hang")
      #expect(report.result.status == 0, "\(report.result)")
      #expect(report.result.output.contains("Germany"))
      #expect(report.result.errors.contains("did not answer within 2 s at the end"))
    }
  }

  @Test("a dead collector is one warning, and fails nothing")
  func dead() async throws {
    try await DemoServer.withServer { server in
      let port = try HeldPort()
      let result = try await Program.run(
        ["run", "country.graphql", "--var", "code=DE", "-e", server.url], in: Folder(),
        environment: ["OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:\(port.number)"])
      #expect(result.status == 0 && result.output.contains("Germany"), "\(result)")
      #expect(
        result.errors.components(separatedBy: "cannot export").count == 2, "\(result)")
      #expect(result.errors.contains("spans not exported"), "\(result)")
    }
  }

  @Test("a subscription serves its metrics while it runs")
  func metricsPort() async throws {
    try await DemoServer.withServer { server in
      let folder = try Folder()
      try folder.write(
        """
        import re, socket, subprocess, sys, urllib.error, urllib.request
        program = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        url = re.search("http://127.0.0.1:[0-9]+/metrics", program.stderr.readline())[0]
        program.stdout.readline()
        text = urllib.request.urlopen(url).read().decode()
        try: urllib.request.urlopen(url + "/other")
        except urllib.error.HTTPError as error: print(error.code)
        with socket.create_connection(("127.0.0.1", int(url.split(":")[2].split("/")[0]))) as s:
            s.sendall(b"nonsense\\r\\n\\r\\n")
            print(s.recv(100).split(b" ")[1:2])
        again = urllib.request.urlopen(url).read().decode()
        for line in again.splitlines():
            if line.startswith("graphql_client_subscription_events_total"): print(line.split("{")[0])
        # Connections that stay open do not delay the end.
        silent = socket.create_connection(("127.0.0.1", int(url.split(":")[2].split("/")[0])))
        silent.sendall(b"GET /metrics HTTP/1.1\\r\\n")
        program.terminate()
        print(program.wait())
        """, to: "driver.py")
      let result = try await Program.shell(
        #"timeout 300 python3 driver.py "$GQLRUN" run 'subscription { countdown(from: 100000) }' "#
          + "-e \(server.url) --metrics-port 0", in: folder)
      #expect(
        result.output == "404\n[b'400']\ngraphql_client_subscription_events_total\n130\n",
        "\(result)")
    }
  }
}
