import Foundation

/// What a run measured, as it is kept in a file.
struct Results: Codable {
  static let currentFormat = "gqlrun-bench/1"

  var format = Results.currentFormat
  var date: String
  var commit: String
  var machine: String
  var rounds: Int
  var workloads: [WorkloadResult] = []

  static func read(_ path: String) throws -> Results {
    guard let data = FileManager.default.contents(atPath: path) else {
      throw BenchError("cannot read \(path)")
    }
    struct Format: Decodable { var format: String }
    guard let format = try? JSONDecoder().decode(Format.self, from: data) else {
      throw BenchError("\(path) is not a result file of gqlrun-bench")
    }
    guard format.format == currentFormat else {
      throw BenchError(
        "\(path) has the format \(format.format); this program reads \(currentFormat)")
    }
    do {
      return try JSONDecoder().decode(Results.self, from: data)
    } catch {
      throw BenchError("\(path) is damaged: \(error)")
    }
  }

  func write(_ path: String) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    let url = URL(fileURLWithPath: path)
    try FileManager.default.createDirectory(
      at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try encoder.encode(self).write(to: url, options: .atomic)
  }
}

/// The figures of one response.
struct WorkloadResult: Codable {
  var name: String
  var bytes: Int
  /// `json_verify` on the response, whole process, in seconds.
  var verify: Spread
  var rows: [RowResult] = []
}

/// The figures of one row of the table.
struct RowResult: Codable {
  var id: String
  var title: String
  /// Time over that of `json_verify` in the same round.
  var ratio: Spread?
  /// Time over that of bare yajl in its process, in the same round.
  var yajlRatio: Spread?
  /// User and system time over that of `json_verify`.
  var cpuRatio: Spread?
  var seconds: Spread?
  var peakMiB: Spread
  var allocations: Int?
  var latency: LatencyResult?
  var goals = Goals()
}

/// What `engine` promises for a row; the largest values allowed.
struct Goals: Codable {
  var ratio: Double?
  var peakMiB: Double?
  var allocations: Int?
}

/// Operations one after the other, in microseconds.
struct LatencyResult: Codable {
  var operationsPerSecond: Spread
  var p50: Spread
  var p90: Spread
  var p99: Spread
  var p999: Spread
  /// Missing in results of before 2026-12.
  var cpu: Spread?
}

/// A median, and where the middle half of the values lies.
struct Spread: Codable {
  var median: Double
  var low: Double
  var high: Double

  init(_ values: [Double]) {
    let sorted = values.sorted()
    func quantile(_ part: Double) -> Double {
      guard let last = sorted.last else { return .nan }
      let position = part * Double(sorted.count - 1)
      let index = Int(position)
      guard index + 1 < sorted.count else { return last }
      return sorted[index] + (sorted[index + 1] - sorted[index]) * (position - Double(index))
    }
    median = quantile(0.5)
    low = quantile(0.25)
    high = quantile(0.75)
  }
}
