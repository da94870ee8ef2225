import CBenchAllocations
import Foundation
import GQLRunCache
import Histogram

/// The stages that treat many small responses, one after the other.
struct SmallWork {
  private let operation: PreparedOperation
  /// The same 20 objects; in every response other numbers.
  private let responses: [[UInt8]]
  /// How long each of the two phases, warming up and measuring, goes on.
  private static let seconds = 1.0

  init(_ operation: PreparedOperation) {
    self.operation = operation
    responses = (0..<64).map { round in
      var text = "{\"data\":{\"items\":["
      for number in 0..<20 {
        text += number > 0 ? "," : ""
        text +=
          "{\"__typename\":\"Item\",\"id\":\"\(number)\",\"title\":\"Item number \(number)\","
          + "\"count\":\(round * 20 + number),\"ratio\":0.\(number)5,\"isPinned\":false}"
      }
      return Array((text + "]}}").utf8)
    }
  }

  func write(_ store: CacheStore) async throws -> StageReport {
    try await measure { try await write(number: $0, store) }
  }

  func read(_ store: CacheStore) async throws -> StageReport {
    try await write(number: 0, store)
    return try await measure { _ in
      guard case .hit(let body) = try await store.read(operation), body.count > 0 else {
        throw BenchError("the small response is not in the cache")
      }
    }
  }

  private func write(number: Int, _ store: CacheStore) async throws {
    let normalizer = try ResponseNormalizer(operation, store: store)
    try responses[number % responses.count].withUnsafeBytes { try normalizer.feed($0) }
    let response = try await normalizer.finish()
    _ = try await response.write?.commit()
  }

  private func measure(_ operation: (Int) async throws -> Void) async throws -> StageReport {
    let clock = ContinuousClock()
    let warm = clock.now + .seconds(Self.seconds / 2)
    var number = 0
    while clock.now < warm {
      try await operation(number)
      number += 1
    }
    var histogram = Histogram<UInt64>(
      highestTrackableValue: 10_000_000_000, numberOfSignificantValueDigits: .three)
    let start = clock.now
    let end = start + .seconds(Self.seconds)
    var last = start
    let first = number
    let allocations = gqlrun_allocation_count()
    while last < end {
      try await operation(number)
      number += 1
      let now = clock.now
      histogram.record(UInt64((now - last).seconds * 1e9))
      last = now
    }
    let seconds = (last - start).seconds
    let count = number - first
    func microseconds(_ percentile: Double) -> Double {
      Double(histogram.valueAtPercentile(percentile)) / 1e3
    }
    return StageReport(
      seconds: seconds, allocations: (gqlrun_allocation_count() - allocations) / max(count, 1),
      count: count,
      latency: StageReport.Latency(
        operationsPerSecond: Double(count) / seconds, p50: microseconds(50), p90: microseconds(90),
        p99: microseconds(99), p999: microseconds(99.9)))
  }
}
