/// The results of many requests.
package struct LoadReport: Codable, Sendable {
  /// How requests are started.
  package enum Model: Codable, Sendable, Hashable {
    /// At a fixed rate per second, independent of responses; at most `inFlight` at a time.
    case open(rate: Double, inFlight: Int)
    /// A fixed number at a time; each starts when another one completes.
    case closed(concurrency: Int)
    /// At the rates of the stages, independent of responses; at most `inFlight` at a time.
    case stages(stages: [LoadStage], inFlight: Int)

    /// When requests start, and how many may be in flight; `nil` if they start when others complete.
    ///
    /// - Parameter seconds: The time during which requests start at a fixed rate.
    func schedule(over seconds: Double) -> (starts: LoadSchedule, inFlight: Int)? {
      switch self {
      case .open(let rate, let inFlight): (LoadSchedule(rate: rate, seconds: seconds), inFlight)
      case .stages(let stages, let inFlight): (LoadSchedule(stages), inFlight)
      case .closed: nil
      }
    }
  }

  package var model: Model
  /// From the first start to the last end, and at least the time during which requests start, in seconds.
  package var seconds: Double
  package var requests: Int
  package var failures: Int
  /// The number of occurrences of each error, the most frequent first; at most ten.
  package var errors: [ErrorCount]
  /// Completed requests per second, including failed ones.
  package var achievedRate: Double
  /// Latency from the scheduled start, which includes the delays of a stalled server: the figure to
  /// quote for open-loop load. `nil` for closed-loop load.
  package var corrected: Latencies?
  /// Latency from the actual start.
  package var uncorrected: Latencies
  /// The number of responses with GraphQL errors, which are failures unless a condition judges them; `nil` in reports
  /// of older versions, as for the following figures.
  package var graphQLErrors: Int?
  /// The number of GraphQL errors with each `extensions.code`, the most frequent first; at most ten.
  package var errorCodes: [ErrorCount]?
  /// The requests over time.
  package var steps: [Step]?
  /// The time of each step, in seconds: 1 for runs of up to ten minutes.
  package var stepSeconds: Double?
  /// The operations of the load; `nil` if there is one.
  package var operations: [OperationReport]?
  /// The delay after each response before the next request, in closed-loop load; `nil` without one.
  package var thinkSeconds: Double?
  /// How the pipeline was used: with or without its retries and its cache.
  package var notes: [String]?
  package var phases: [PhaseReport]
  package var receivedBytes: Int
  /// The number of HTTP requests; `nil` in reports without a network.
  package var httpRequests: Int?
  /// The number of new connections; `nil` in reports without a network.
  package var connections: Int?
  /// Processor time of this program per second until the last response; 2 means two cores.
  package var clientLoad: Double
  /// The share of the time in which the machine's processors were busy, with any process.
  package var machineLoad: Double?
  /// Whether the run ended before its time; `nil` if it did not.
  package var isInterrupted: Bool?
  /// Reasons why the figures may be limited by the client instead of the server.
  package var warnings: [String]

  package struct ErrorCount: Codable, Sendable, Hashable {
    package var message: String
    package var count: Int
  }

  /// The requests that were to start in one stretch of time.
  package struct Step: Codable, Sendable, Hashable {
    /// Since the start of the run, in seconds.
    package var start: Double
    package var requests: Int
    /// The number of requests that ended in this time, whenever they started.
    package var completed: Int
    package var failures: Int
    /// The number of responses with GraphQL errors.
    package var graphQLErrors: Int
    /// The latencies of the requests, from the scheduled start in open-loop load; `nil` without requests.
    package var p50: Double?
    package var p90: Double?
    package var p99: Double?
    package var highest: Double?
  }

  /// The requests of one of several operations.
  package struct OperationReport: Codable, Sendable, Hashable {
    package var name: String
    package var requests: Int
    package var failures: Int
    /// From the scheduled start in open-loop load; `nil` without requests.
    package var latencies: Latencies?
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

extension LoadReport {
  /// Warnings that the program or the machine may limit the measured figures instead of the server.
  ///
  /// - Parameters:
  ///   - lateStarts: The number of requests that started late although a slot was free.
  ///   - waits: The number of requests that waited for a slot.
  ///   - plan: When requests were to start, and how many could be in flight; `nil` for closed-loop load.
  func warnings(
    lateStarts: Int, waits: Int, plan: (starts: LoadSchedule, inFlight: Int)?
  ) -> [String] {
    var lines: [String] = []
    let cores = Double(Machine.current().cores)
    let share = Int((clientLoad * 100).rounded())
    if clientLoad > 0.8 * cores {
      lines.append(
        "this program used \(share) % of a core on a machine with \(Int(cores)): the client may limit "
          + "the figures; use a lower rate or another machine")
    } else if let load = machineLoad, load > 0.9 {
      lines.append(
        "the processors of this machine were busy \(Int((load * 100).rounded())) % of the time, this "
          + "program used \(share) % of a core: the client may limit the figures; use a lower rate or "
          + "another machine")
    }
    let isInterrupted = self.isInterrupted ?? false
    if isInterrupted {
      lines.insert("interrupted: the figures are those of the requests until then", at: 0)
    }
    guard let (starts, inFlight) = plan else { return lines }
    let rate = Double(starts.count) / max(starts.seconds, 1e-9)
    if !isInterrupted, achievedRate < 0.95 * rate {
      lines.append(
        "\(Int(achievedRate)) of \(Int(rate)) requests per second were answered: the rate is too "
          + "high, so the latencies grow with the duration of the run")
    }
    if waits > 0 {
      lines.append(
        "\(waits) requests waited because \(inFlight) were in flight; raise the maximum with "
          + "--concurrency")
    } else if lateStarts * 100 > requests {
      lines.append(
        "\(lateStarts) of \(requests) requests started more than "
          + "\(Int(LatencyRecorder.lateness * 1e3)) ms late, because this program or the machine "
          + "was busy")
    }
    return lines
  }
}

/// A response that is fetched repeatedly through a pipeline.
package struct NetworkReport: Codable, Sendable {
  /// The pipeline's name or file.
  package var label: String
  package var seconds: Spread
  /// Opening the connection, including TLS.
  package var connect: Spread
  package var firstByte: Spread
  /// Waiting for the body.
  package var download: Spread
  /// Parsing, normalizing and plugins.
  package var parse: Spread
  package var write: Spread
  /// Bytes after decompression.
  package var bytes: Int
  /// Bytes on the network: with headers, compressed and encrypted.
  package var wireBytes: Int?
  package var megabytesPerSecond: Double
  package var wireMegabytesPerSecond: Double?
  package var toFirst: Ratio?
  package var bottleneck: String
  package var times: [Double]
  /// When the parts of a response were complete: medians. `nil` for a response in one piece.
  package var parts: [DeliveryTime]?
}

/// The measurements of one fetch.
package struct FetchMeasurement: Sendable {
  package var seconds: Double
  /// The duration of each phase, in seconds.
  package var phases: [Phase: Double]
  package var bytes: Int
  package var wireBytes: Int?
  /// When the parts of the response were complete.
  package var parts: [DeliveryTime] = []
}

extension NetworkReport {
  /// - Parameter fetches: At least one; otherwise the result is nil.
  package init?(_ fetches: [FetchMeasurement], label: String, first: [FetchMeasurement]?) {
    func spread(_ phase: Phase) -> Spread? { Spread(fetches.map { $0.phases[phase] ?? 0 }) }
    guard let last = fetches.last, let seconds = Spread(fetches.map(\.seconds)),
      let connect = spread(.connect), let firstByte = spread(.firstByte),
      let download = spread(.download), let parse = spread(.parse), let write = spread(.write)
    else { return nil }
    self.label = label
    self.seconds = seconds
    self.connect = connect
    self.firstByte = firstByte
    self.download = download
    self.parse = parse
    self.write = write
    bytes = last.bytes
    wireBytes = last.wireBytes
    megabytesPerSecond = Double(last.bytes) / 1e6 / seconds.median
    wireMegabytesPerSecond = last.wireBytes.map { Double($0) / 1e6 / seconds.median }
    toFirst = first.flatMap { Ratio(fetches.map(\.seconds), to: $0.map(\.seconds)) }
    times = fetches.map(\.seconds)
    let parts = last.parts.compactMap { part in
      Spread(
        fetches.compactMap { fetch in fetch.parts.first { $0.name == part.name }?.seconds }
      ).map { DeliveryTime(name: part.name, seconds: $0.median) }
    }
    self.parts = parts.isEmpty ? nil : parts
    bottleneck = "nothing was measured"
    guard let slowest = phases.max(by: { $0.time.median < $1.time.median }) else { return }
    let share = Int((slowest.time.median / seconds.median * 100).rounded())
    bottleneck = "\(share) % of the time is \(Self.name(slowest.phase))"
  }

  /// The phases in their order.
  package var phases: [(phase: Phase, time: Spread)] {
    [
      (.connect, connect), (.firstByte, firstByte), (.download, download), (.parse, parse),
      (.write, write),
    ]
  }

  private static func name(_ phase: Phase) -> String {
    switch phase {
    case .connect: "connecting"
    case .firstByte: "waiting for the server's first byte"
    case .download: "waiting for the body"
    case .parse: "parsing"
    case .write: "writing to the store"
    }
  }
}
