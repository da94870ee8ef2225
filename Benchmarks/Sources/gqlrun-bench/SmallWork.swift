import CBenchAllocations
import Foundation
import GQLRunCache
import Histogram

/// The stages that treat many small responses, one after the other or several at a time.
struct SmallWork {
  private let operation: PreparedOperation
  /// The responses of each writer: the same 20 objects of its own; in every response other numbers.
  private let responses: [[[UInt8]]]
  private let writers: Int
  private let readers: Int
  /// How long the measured phase is; the phase before it, which warms up, is half as long.
  private static let seconds = 1.0

  /// - Parameters:
  ///   - writers: The number of tasks that write at the same time.
  ///   - readers: The number of tasks that read at the same time.
  init(_ operation: PreparedOperation, writers: Int = 1, readers: Int = 0) {
    self.operation = operation
    self.writers = writers
    self.readers = readers
    responses = (0..<writers).map { writer in
      (0..<max(64 / writers, 4)).map { round in
        var text = "{\"data\":{\"items\":["
        for number in 0..<20 {
          text += number > 0 ? "," : ""
          text +=
            "{\"__typename\":\"Item\",\"id\":\"\(writer * 20 + number)\",\"title\":\"Item number \(number)\","
            + "\"count\":\(round * 20 + number),\"ratio\":0.\(number)5,\"isPinned\":false}"
        }
        return Array((text + "]}}").utf8)
      }
    }
  }

  /// Measures the writers, with the readers beside them.
  func write(_ store: CacheStore) async throws -> StageReport {
    try await measure(store, 0..<writers)
  }

  /// Measures the readers, with the writers beside them.
  func read(_ store: CacheStore) async throws -> StageReport {
    try await measure(store, writers..<(writers + readers))
  }

  /// Measures a reader without writers.
  func readAlone(_ store: CacheStore) async throws -> StageReport {
    try await write(store, writer: 0, number: 0)
    return try await Self.measure(0..<1, of: 1) { _, _ in try await read(from: store) }
  }

  private func measure(_ store: CacheStore, _ measured: Range<Int>) async throws -> StageReport {
    for writer in 0..<writers { try await write(store, writer: writer, number: 0) }
    return try await Self.measure(measured, of: writers + readers) { task, number in
      if task < writers {
        try await write(store, writer: task, number: number)
      } else {
        try await read(from: store)
      }
    }
  }

  private func read(from store: CacheStore) async throws {
    guard case .hit(let body) = try await store.read(operation), body.count > 0 else {
      throw BenchError("the small response is not in the cache")
    }
  }

  private func write(_ store: CacheStore, writer: Int, number: Int) async throws {
    let normalizer = try ResponseNormalizer(operation, store: store)
    let own = responses[writer]
    try own[number % own.count].withUnsafeBytes { try normalizer.feed($0) }
    let response = try await normalizer.finish()
    _ = try await response.write?.commit()
  }

  /// Repeats an operation in several tasks at the same time.
  ///
  /// - Parameters:
  ///   - measured: The tasks whose operations count.
  ///   - tasks: The number of tasks.
  private static func measure(
    _ measured: Range<Int>, of tasks: Int,
    _ operation: @escaping @Sendable (_ task: Int, _ number: Int) async throws -> Void
  ) async throws -> StageReport {
    _ = try await repeated(for: seconds / 2, tasks, operation)
    let allocations = gqlrun_allocation_count()
    let cpuSeconds = Measurement.ownCPUSeconds()
    let clock = ContinuousClock()
    let start = clock.now
    let all = try await repeated(for: seconds, tasks, operation)
    let seconds = (clock.now - start).seconds
    let made = gqlrun_allocation_count() - allocations
    let cpu = Measurement.ownCPUSeconds() - cpuSeconds
    let times = all[measured].joined()
    let operations = max(all.joined().count, 1)
    var histogram = Histogram<UInt64>(
      highestTrackableValue: 10_000_000_000, numberOfSignificantValueDigits: .three)
    for time in times { histogram.record(time) }
    let count = times.count
    func microseconds(_ percentile: Double) -> Double {
      Double(histogram.valueAtPercentile(percentile)) / 1e3
    }
    return StageReport(
      seconds: seconds, cpuSeconds: cpu, allocations: made / operations, count: count,
      latency: StageReport.Latency(
        operationsPerSecond: Double(count) / seconds, p50: microseconds(50), p90: microseconds(90),
        p99: microseconds(99), p999: microseconds(99.9), cpu: cpu * 1e6 / Double(operations)))
  }

  /// The times of the operations of each task, in nanoseconds.
  private static func repeated(
    for seconds: Double, _ tasks: Int,
    _ operation: @escaping @Sendable (_ task: Int, _ number: Int) async throws -> Void
  ) async throws -> [[UInt64]] {
    try await withThrowingTaskGroup(of: (Int, [UInt64]).self) { group in
      for task in 0..<tasks {
        group.addTask {
          let clock = ContinuousClock()
          var times: [UInt64] = []
          times.reserveCapacity(1 << 12)
          var last = clock.now
          let end = last + .seconds(seconds)
          while last < end {
            try await operation(task, times.count)
            let now = clock.now
            times.append(UInt64((now - last).seconds * 1e9))
            last = now
          }
          return (task, times)
        }
      }
      var all = [[UInt64]](repeating: [], count: tasks)
      for try await (task, times) in group { all[task] = times }
      return all
    }
  }
}
