/// One response fetched through a pipeline, some times over.
package struct NetworkReport: Codable, Sendable {
  /// The pipeline's name or file.
  package var label: String
  package var seconds: Spread
  package var firstByte: Spread
  /// Waiting for the body.
  package var download: Spread
  /// Parsing, normalizing, plugins: what the client did while bytes were there.
  package var parse: Spread
  package var write: Spread
  /// Bytes after decompression.
  package var bytes: Int
  /// Bytes as the server counted them, when it did: `Content-Length` of a compressed body.
  package var wireBytes: Int?
  package var megabytesPerSecond: Double
  package var toFirst: Ratio?
  package var bottleneck: String
  package var times: [Double]
}

/// One fetch, measured.
package struct FetchMeasurement: Codable, Sendable {
  package var seconds: Double
  package var firstByte: Double
  package var download: Double
  package var parse: Double
  package var write: Double
  package var bytes: Int
  package var wireBytes: Int?
}

extension NetworkReport {
  /// - Parameter fetches: At least one.
  package init?(_ fetches: [FetchMeasurement], label: String, first: [FetchMeasurement]?) {
    guard let last = fetches.last, let seconds = Spread(fetches.map(\.seconds)),
      let firstByte = Spread(fetches.map(\.firstByte)),
      let download = Spread(fetches.map(\.download)), let parse = Spread(fetches.map(\.parse)),
      let write = Spread(fetches.map(\.write))
    else { return nil }
    self.label = label
    self.seconds = seconds
    self.firstByte = firstByte
    self.download = download
    self.parse = parse
    self.write = write
    bytes = last.bytes
    wireBytes = last.wireBytes
    megabytesPerSecond = Double(last.bytes) / 1e6 / seconds.median
    toFirst = first.flatMap { Ratio(fetches.map(\.seconds), to: $0.map(\.seconds)) }
    times = fetches.map(\.seconds)
    let phases: [(String, Double)] = [
      ("the server's thinking, before its first byte", firstByte.median),
      ("waiting for the body, the server or the network", download.median),
      ("this program's parsing", parse.median), ("this program's store", write.median),
    ]
    let slowest = phases.max { $0.1 < $1.1 }
    bottleneck =
      slowest.map { "\(Int(($0.1 / seconds.median * 100).rounded())) % of the time is \($0.0)" }
      ?? "nothing was measured"
  }
}
