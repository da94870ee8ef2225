import Foundation
import GQLRunJSON
import Testing

@testable import GQLRunProfile
@testable import GQLRunReport

@Suite("Profile output")
struct OutputTests {
  private func report() throws -> ProfileReport {
    var report = ProfileReport(
      program: "gqlrun 1", madeAt: 1_700_000_000,
      machine: Machine(processor: "<P>", cores: 2, memoryBytes: 1 << 30, system: "Linux"),
      workload: .init(
        source: "</title><script>alert(1)</script>", operation: "query Q", bytes: 1000),
      runs: 1, warmUps: 0)
    var run = RunMeasurement(kind: .job, label: "sqlite:a \"b\"\\c.db")
    run.seconds = 1
    run.parts = [
      .input: PartTime(wall: 0.1, cpu: 0.1), .feed: PartTime(wall: 0.5, cpu: 0.5),
      .commit: PartTime(wall: 0.4),
    ]
    run.counts.bytes = 1000
    run.memory = [
      MemorySample(seconds: 0, bytesRead: 0, resident: 1 << 20),
      MemorySample(seconds: 1, bytesRead: 1000, resident: 2 << 20),
    ]
    report.jobs = [try #require(JobReport(jobs: [run], stages: [], floor: [], lapCost: 0))]
    return report
  }

  @Test("the page escapes external text and loads nothing")
  func page() throws {
    let html = try report().html
    let scripts = html.split(separator: "<script").dropFirst()
    #expect(scripts.count == 1)
    let start = " type=\"application/json\" id=\"gqlrun-data\">"
    let block = try #require(scripts.first)
    #expect(block.hasPrefix(start))
    let json = block.dropFirst(start.count).prefix { $0 != "<" }
    #expect(!json.contains("&"))
    let copy = try JSONDecoder().decode(ProfileReport.self, from: Data(json.utf8))
    #expect(copy.workload.source == "</title><script>alert(1)</script>")
    #expect(try copy.json() == report().json())
    #expect(html.contains("&lt;/title&gt;"))
    for reference in ["http://", "https://", "src=", "href=", "@import", "url("] {
      #expect(!html.contains(reference), "\(reference) in the page")
    }
    #expect(html.contains("default-src 'none'"))
    #expect(html.contains("<svg"))
  }

  @Test("metric labels are escaped as Prometheus requires")
  func prometheus() throws {
    let text = try report().prometheus
    #expect(
      text.contains(#"gqlrun_profile_job_seconds{store="sqlite:a \"b\"\\c.db"} 1.0"#))
    #expect(text.contains("# TYPE gqlrun_profile_stage_seconds gauge\n"))
    #expect(text.hasSuffix("\n"))
  }

  @Test("latencies are a Prometheus summary")
  func prometheusSummary() async throws {
    var report = try report()
    let latencies = Latencies(
      mean: 0.5, p50: 0.5, p75: 0.5, p90: 0.5, p99: 0.5, p999: 0.5, p9999: 0.5, highest: 0.5,
      count: 4, curve: [.init(percentile: 50, seconds: 0.5)])
    report.load = LoadReport(
      model: .closed(concurrency: 1), seconds: 2, requests: 4, failures: 1, errors: [],
      achievedRate: 2, corrected: nil, uncorrected: latencies,
      phases: [.init(name: .firstByte, latencies: latencies)], receivedBytes: 10, clientLoad: 0,
      warnings: [])
    let text = report.prometheus
    #expect(
      text.contains(
        """
        # TYPE gqlrun_profile_request_seconds summary
        gqlrun_profile_request_seconds{quantile="0.5"} 0.5
        gqlrun_profile_request_seconds_sum 2.0
        gqlrun_profile_request_seconds_count 4

        """))
    #expect(text.contains(#"gqlrun_profile_request_phase_seconds{phase="first byte"} 0.5"#))
    let load = try #require(report.load)
    for (sent, line) in [
      (0, "  HTTP requests: none"), (2, "  HTTP requests: 2, with 2.0 operations on average"),
      (4, nil),
      (5, "  HTTP requests: 5, with retries"),
    ] {
      var counted = load
      counted.httpRequests = sent
      #expect(counted.section.lines.first { $0.contains("HTTP") } == line)
    }
  }

  @Test("folded stacks have one line per stage, in microseconds")
  func folded() throws {
    let lines = try report().foldedStacks.split(separator: "\n")
    #expect(lines.first == #"gqlrun;sqlite:a_"b"\c.db;input 100000"#)
    #expect(lines.count == 3)
  }

  @Test("the trace is JSON with an event per stage and memory mark")
  func trace() throws {
    let json = try JSONValue(parsing: Array(report().chromeTrace()))
    let events = try #require(json["traceEvents"]?.arrayValue)
    #expect(events.count(where: { $0["ph"]?.stringValue == "X" }) == 3)
    #expect(events.count(where: { $0["ph"]?.stringValue == "C" }) == 2)
  }

  @Test("areas of a treemap fill the whole in proportion, and none overlap")
  func treemap() {
    let sizes: [Double] = [6, 6, 4, 3, 2, 2, 1, 0]
    let areas = Treemap.areas(sizes, in: .init(x: 0, y: 0, width: 600, height: 400))
    let unit = 600.0 * 400 / 24
    for (size, area) in zip(sizes, areas) {
      #expect(abs(area.width * area.height - size * unit) < 1e-6)
    }
    for (index, one) in areas.enumerated() {
      #expect(one.x >= -1e-9 && one.x + one.width <= 600 + 1e-9)
      #expect(one.y >= -1e-9 && one.y + one.height <= 400 + 1e-9)
      for other in areas[(index + 1)...] where other.width > 0 {
        let apart =
          one.x + one.width <= other.x + 1e-9 || other.x + other.width <= one.x + 1e-9
          || one.y + one.height <= other.y + 1e-9 || other.y + other.height <= one.y + 1e-9
        #expect(apart)
      }
    }
    #expect(Treemap.areas([], in: .init(x: 0, y: 0, width: 1, height: 1)).isEmpty)
  }

  @Test("the text has the bottleneck and the shares")
  func text() throws {
    let text = try report().text
    #expect(text.contains("bottleneck: normalize takes 50 % of the time"))
    #expect(text.contains("total 1.00 s"))
  }
}

@Suite("Prometheus text")
struct PrometheusTextTests {
  @Test("a metric has one HELP and one TYPE line, before all its samples")
  func order() {
    var text = PrometheusText(prefix: "a_")
    text.add("x.y", help: "First\nline \\", labels: [("l", "\"\\\r\n")], value: 1)
    text.add("z", help: "Z.", type: .counter, count: .max)
    text.add("x.y", help: "First\nline \\", value: -.infinity)
    text.add("n", help: "N.", value: .nan)
    #expect(
      text.text == """
        # HELP a_x_y First\\nline \\\\
        # TYPE a_x_y gauge
        a_x_y{l="\\"\\\\\r\\n"} 1.0
        a_x_y -Inf
        # HELP a_z Z.
        # TYPE a_z counter
        a_z 18446744073709551615
        # HELP a_n N.
        # TYPE a_n gauge
        a_n NaN

        """)
  }

  @Test("the buckets of a histogram count all values below their bounds")
  func histogram() {
    var text = PrometheusText()
    text.add(
      "h", help: "H.", labels: [("a", "1")], bounds: [0.5, 1], counts: [2, 0, 3], sum: 7.5)
    #expect(
      text.text == """
        # HELP h H.
        # TYPE h histogram
        h_bucket{a="1",le="0.5"} 2
        h_bucket{a="1",le="1.0"} 2
        h_bucket{a="1",le="+Inf"} 5
        h_sum{a="1"} 7.5
        h_count{a="1"} 5

        """)
  }
}
