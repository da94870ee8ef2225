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
package struct FetchMeasurement: Codable, Sendable {
  package var seconds: Double
  package var connect: Double
  package var firstByte: Double
  package var download: Double
  package var parse: Double
  package var write: Double
  package var bytes: Int
  package var wireBytes: Int?
  /// When the parts of the response were complete.
  package var parts: [DeliveryTime] = []
}

extension NetworkReport {
  /// - Parameter fetches: At least one; otherwise the result is nil.
  package init?(_ fetches: [FetchMeasurement], label: String, first: [FetchMeasurement]?) {
    guard let last = fetches.last, let seconds = Spread(fetches.map(\.seconds)),
      let connect = Spread(fetches.map(\.connect)),
      let firstByte = Spread(fetches.map(\.firstByte)),
      let download = Spread(fetches.map(\.download)), let parse = Spread(fetches.map(\.parse)),
      let write = Spread(fetches.map(\.write))
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
