/// The results of many requests.
package struct LoadReport: Codable, Sendable {
  /// How requests are started.
  package enum Model: Codable, Sendable, Hashable {
    /// At a fixed rate per second, independent of responses; at most `inFlight` at a time.
    case open(rate: Double, inFlight: Int)
    /// A fixed number at a time; each starts when another one completes.
    case closed(concurrency: Int)
  }

  package var model: Model
  /// From the first start to the last end, in seconds.
  package var seconds: Double
  package var requests: Int
  package var failures: Int
  /// The number of occurrences of each error, the most frequent first; at most ten.
  package var errors: [ErrorCount]
  /// Responses per second.
  package var achievedRate: Double
  /// Latency from the scheduled start, which includes the delays of a stalled server: the figure to
  /// quote for open-loop load. `nil` for closed-loop load.
  package var corrected: Latencies?
  /// Latency from the actual start.
  package var uncorrected: Latencies
  package var phases: [PhaseReport]
  package var receivedBytes: Int
  /// The number of HTTP requests; `nil` in reports without a network.
  package var httpRequests: Int?
  /// The number of new connections; `nil` in reports without a network.
  package var connections: Int?
  /// Processor time of this program per second; 2 means two cores.
  package var clientLoad: Double
  /// The share of the time in which the machine's processors were busy, with any process.
  package var machineLoad: Double?
  /// Reasons why the figures may be limited by the client instead of the server.
  package var warnings: [String]

  package struct ErrorCount: Codable, Sendable, Hashable {
    package var message: String
    package var count: Int
  }

  package struct PhaseReport: Codable, Sendable, Hashable {
    package var name: Phase
    package var latencies: Latencies
  }
}

/// A phase of a request.
package enum Phase: String, Codable, Sendable, Hashable, CaseIterable {
  /// Opening a connection, including TLS; only for requests that needed a new one.
  case connect
  /// From then until the head of the response.
  case firstByte = "first byte"
  /// Waiting for the rest of the body.
  case download
  /// Parsing, normalizing and plugins.
  case parse
  /// Committing to the store.
  case write
}

/// Percentiles of latencies, in seconds (HDR histogram, three digits).
package struct Latencies: Codable, Sendable, Hashable {
  package var mean: Double
  package var p50: Double
  package var p75: Double
  package var p90: Double
  package var p99: Double
  package var p999: Double
  package var p9999: Double
  package var highest: Double
  package var count: Int
  /// Points of the curve: percentile and seconds.
  package var curve: [Point]

  package struct Point: Codable, Sendable, Hashable {
    package var percentile: Double
    package var seconds: Double
  }
}
