/// What came of many requests.
package struct LoadReport: Codable, Sendable {
  /// How requests are started.
  package enum Model: Codable, Sendable, Hashable {
    /// At a fixed rate per second, whatever the answers do; at most so many at a time.
    case open(rate: Double, inFlight: Int)
    /// So many at a time, each beginning when one has ended.
    case closed(concurrency: Int)
  }

  package var model: Model
  /// From the first start to the last end.
  package var seconds: Double
  package var requests: Int
  package var failures: Int
  /// How often each error came, the most frequent first; at most ten.
  package var errors: [ErrorCount]
  /// Answers per second.
  package var achievedRate: Double
  /// From the intended start, so that a stalled server is not left out: the figure to quote of an open
  /// model. `nil` in a closed one, which has no intended starts.
  package var corrected: Latencies?
  /// From the actual start.
  package var uncorrected: Latencies
  package var phases: [PhaseReport]
  package var receivedBytes: Int
  /// How many connections the requests needed beside the one that was open before; `nil` in reports
  /// without a network.
  package var connections: Int?
  /// Processor time of this program per second; 2 is two cores.
  package var clientLoad: Double
  /// The share of the time in which the processors of the machine were busy, with whatever.
  package var machineLoad: Double?
  /// Why the figures may be the client's rather than the server's.
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

/// What a request spends its time on.
package enum Phase: String, Codable, Sendable, Hashable, CaseIterable {
  /// Waiting for a new connection, with TLS; only for requests that needed one.
  case connect
  /// From then until the head of the answer was there.
  case firstByte = "first byte"
  /// Waiting for the rest of the body.
  case download
  /// Parsing and normalizing what came, and the plugins.
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
