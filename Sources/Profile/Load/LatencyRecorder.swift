import Foundation
import GQLRunCache
import GQLRunPipeline
import GQLRunSupport
import Histogram

/// Collects the latencies of concurrent requests.
actor LatencyRecorder {
  /// Latencies from the scheduled start, if the requests have one.
  private var total = RequestFigures()
  private var isScheduled = false
  private var uncorrected = LatencyDistribution()
  private var phases: [Phase: LatencyDistribution] = [:]
  private var errors = ErrorTally()
  private var errorCodes = ErrorTally()
  private var receivedBytes = 0
  /// A request belongs to the step of its scheduled start, as do its latency and its failure: a server that stalls is
  /// visible in the steps of the requests that it delays, not in the one in which it answers. Only
  /// ``LoadReport/Step/completed`` counts the requests that end in a step.
  private var steps: TimeSteps<(figures: RequestFigures, completed: Int)>
  private var operations: [(name: String, figures: RequestFigures)]
  /// The number of requests that started more than ``Self/lateness`` seconds after their scheduled
  /// time.
  private(set) var lateStarts = 0
  static let lateness = 0.01

  /// - Parameters:
  ///   - start: The start of the run.
  ///   - seconds: The time during which requests start.
  ///   - operations: The names of the operations, which are reported one by one; empty for one operation.
  init(start: Double, seconds: Double, operations: [String] = []) {
    let empty = RequestFigures(latencies: LatencyDistribution(digits: .two))
    steps = TimeSteps(start: start, seconds: seconds, of: (empty, 0))
    self.operations = operations.map { ($0, RequestFigures()) }
  }

  func add(_ outcome: RequestOutcome, intended: Double?, started: Double, ended: Double) {
    let begun = intended ?? started
    isScheduled = intended != nil
    if started - begun > Self.lateness { lateStarts += 1 }
    uncorrected.add(ended - started)
    total.add(outcome, seconds: ended - begun)
    steps.change(at: begun) { $0.figures.add(outcome, seconds: ended - begun) }
    steps.change(at: ended) { $0.completed += 1 }
    if operations.indices.contains(outcome.operation) {
      operations[outcome.operation].figures.add(outcome, seconds: ended - begun)
    }
    receivedBytes += outcome.receivedBytes
    for (phase, seconds) in outcome.phases {
      phases[phase, default: LatencyDistribution()].add(seconds)
    }
    for code in outcome.errorCodes { errorCodes.add(code) }
    if let failure = outcome.failure { errors.add(failure) }
  }

  /// The report of all requests.
  ///
  /// - Parameter isInterrupted: Whether the run ended early, so that the steps after its time show nothing.
  func report(
    _ model: LoadReport.Model, seconds: Double, clientLoad: Double, isInterrupted: Bool = false
  ) -> LoadReport {
    var report = LoadReport(
      model: model, seconds: seconds, requests: total.requests, failures: total.failures,
      errors: errors.list, achievedRate: Double(total.requests) / seconds,
      corrected: isScheduled ? total.latencies.latencies : nil,
      uncorrected: uncorrected.latencies,
      phases: Phase.allCases.compactMap { phase in
        phases[phase].map { .init(name: phase, latencies: $0.latencies) }
      },
      receivedBytes: receivedBytes, clientLoad: clientLoad, warnings: [])
    report.graphQLErrors = total.graphQLErrors
    report.errorCodes = errorCodes.list
    // All steps; of a run that ended early, those that have begun.
    report.steps = steps.list(until: isInterrupted ? seconds : nil).map { start, step in
      let times = step.figures.latencies.known
      return LoadReport.Step(
        start: start, requests: step.figures.requests, completed: step.completed,
        failures: step.figures.failures, graphQLErrors: step.figures.graphQLErrors, p50: times?.p50,
        p90: times?.p90, p99: times?.p99, highest: times?.highest)
    }
    if isInterrupted { report.isInterrupted = true }
    report.stepSeconds = steps.width
    if operations.count > 1 {
      report.operations = operations.map { name, figures in
        .init(
          name: name, requests: figures.requests, failures: figures.failures,
          latencies: figures.latencies.known)
      }
    }
    return report
  }
}

/// The figures of the requests of a run, an operation or a step.
private struct RequestFigures {
  var requests = 0
  var failures = 0
  var graphQLErrors = 0
  var latencies = LatencyDistribution()

  mutating func add(_ outcome: RequestOutcome, seconds: Double) {
    requests += 1
    latencies.add(seconds)
    if outcome.failure != nil { failures += 1 }
    if !outcome.errorCodes.isEmpty { graphQLErrors += 1 }
  }
}

/// Counts errors by their message or code; those beyond a number of texts together.
struct ErrorTally {
  private var counts: [String: Int] = [:]
  private static let maxMessages = 100
  /// In scalars; a message may have megabytes.
  private static let maxMessageLength = 500
  private static let others = "other errors"

  /// Counts an error. The text of a server must not look like further lines of the report.
  mutating func add(_ error: String) {
    let text = Printable.line(Printable.shortened(error, to: Self.maxMessageLength))
    let isCounted = counts[text] != nil || counts.count < Self.maxMessages
    counts[isCounted ? text : Self.others, default: 0] += 1
  }

  /// The most frequent errors; at most ten.
  var list: [LoadReport.ErrorCount] {
    Array(
      counts.map { LoadReport.ErrorCount(message: $0.key, count: $0.value) }
        .sorted { ($0.count, $1.message) > ($1.count, $0.message) }.prefix(10))
  }
}

/// The values of a run in steps of equal time.
struct TimeSteps<Value> {
  let start: Double
  /// The time of a step, in whole seconds: 1, and more for runs of which a page cannot show every second.
  let width: Double
  private let empty: Value
  private var values: [Value]

  /// The number of steps of a run; twice as many are possible.
  static var maxSteps: Int { 600 }

  /// - Parameters:
  ///   - start: The start of the run.
  ///   - seconds: Its time.
  ///   - empty: The value of a step in which nothing happens.
  init(start: Double, seconds: Double, of empty: Value) {
    self.start = start
    self.empty = empty
    width = max((seconds / Double(Self.maxSteps)).rounded(.up), 1)
    values = Array(repeating: empty, count: Int((min(seconds, 1e6) / width).rounded(.up)))
  }

  /// Changes the step of a time. Those after the run's time are added; the last possible one also has what comes later.
  mutating func change(at time: Double, _ change: (inout Value) -> Void) {
    let position = (time - start) / width
    let index = position > 0 ? Int(min(position, Double(2 * Self.maxSteps))) : 0
    while values.count <= index { values.append(empty) }
    change(&values[index])
  }

  /// The steps with their starts, in seconds since that of the run.
  ///
  /// - Parameter seconds: The time after which steps are left out; at least one is in the list. `nil` is all steps.
  func list(until seconds: Double? = nil) -> [(start: Double, value: Value)] {
    let last = min(max((seconds ?? .infinity) / width, 0), Double(2 * Self.maxSteps))
    return values.prefix(Int(last) + 1).enumerated().map { (Double($0) * width, $1) }
  }
}

/// A histogram of latencies.
struct LatencyDistribution {
  private var histogram: Histogram<UInt64>

  /// - Parameter digits: The precision: three digits need some hundred kilobytes, two a few of them.
  init(digits: SignificantDigits = .three) {
    histogram = Histogram(numberOfSignificantValueDigits: digits)
  }

  var latencies: Latencies { Latencies(histogram) }
  /// The latencies; `nil` if there are none.
  var known: Latencies? { histogram.totalCount == 0 ? nil : latencies }

  mutating func add(_ seconds: Double) {
    histogram.record(UInt64(min(max(seconds, 0), 1e6) * 1e9))
  }
}

extension Latencies {
  fileprivate init(_ histogram: Histogram<UInt64>) {
    func at(_ percentile: Double) -> Double {
      Double(histogram.valueAtPercentile(percentile)) / 1e9
    }
    mean = histogram.mean / 1e9
    p50 = at(50)
    p75 = at(75)
    p90 = at(90)
    p99 = at(99)
    p999 = at(99.9)
    p9999 = at(99.99)
    highest = Double(histogram.max) / 1e9
    count = Int(histogram.totalCount)
    curve = [0, 10, 25, 50, 75, 90, 95, 97.5, 99, 99.5, 99.9, 99.95, 99.99, 100].map {
      Point(percentile: $0, seconds: at($0))
    }
  }
}

/// The outcome of one request.
package struct RequestOutcome: Sendable {
  package var phases: [Phase: Double] = [:]
  package var receivedBytes = 0
  /// A short description of the failure; `nil` if the request succeeded.
  package var failure: String?
  /// The code (`extensions.code`) of each GraphQL error of the response.
  package var errorCodes: [String] = []
  /// The index of the operation among those of the load.
  package var operation = 0
  /// The thrown error, if any.
  package var error: (any Error)?
  /// When the parts of a response with `@defer` or `@stream` were complete, in seconds since the start, in their order.
  package var parts: [DeliveryTime] = []
  /// The whole response, if it arrived in parts.
  var merged: GraphQLResponse?
}

/// When the first part of a response, or a deferred fragment or streamed list of it, was complete.
package struct DeliveryTime: Codable, Sendable {
  /// `first part`, the label of the fragment or list, or its path without indices.
  package var name: String
  /// Since the start of the request, in seconds.
  package var seconds: Double
}

extension [DeliveryTime] {
  /// Adds what a part delivers. A fragment in several objects, or a list, is complete with its last delivery.
  mutating func add(_ part: ResponsePart, at seconds: Double) {
    for delivered in part.delivered {
      let path = delivered.path.filter { if case .field = $0 { true } else { false } }
      let name =
        part.index == 0 && delivered.path.isEmpty
        ? "first part" : delivered.label ?? PathStep.text(path)
      if let known = firstIndex(where: { $0.name == name }) {
        self[known].seconds = seconds
      } else {
        append(DeliveryTime(name: name, seconds: seconds))
      }
    }
  }
}

/// The time that the machine's processors have spent since boot.
package struct MachineTime: Sendable {
  package var busy: Double
  package var all: Double

  /// The current time; `nil` without `/proc`.
  ///
  /// https://man7.org/linux/man-pages/man5/proc_stat.5.html
  package static func current() -> MachineTime? {
    guard let text = try? String(contentsOfFile: "/proc/stat", encoding: .utf8) else { return nil }
    let line = text.prefix { $0 != "\n" }
    // cpu user nice system idle iowait irq softirq steal …; guest time is in user already.
    let times = line.split(separator: " ").dropFirst().prefix(8).compactMap { Double($0) }
    guard line.hasPrefix("cpu "), times.count == 8 else { return nil }
    let all = times.reduce(0, +)
    return MachineTime(busy: all - times[3] - times[4], all: all)
  }

  /// The share of the time since `earlier` in which processors were busy.
  func load(since earlier: MachineTime) -> Double? {
    all > earlier.all ? (busy - earlier.busy) / (all - earlier.all) : nil
  }
}
