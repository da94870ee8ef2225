import GQLRunCache
import GQLRunLive
import GQLRunPipeline

/// Reads a response that arrives in parts, as with `@defer` and `@stream`: one result for each part.
///
/// Nothing is read ahead but the next part of a chunk that has arrived: a slow caller slows the connection.
actor PartReader {
  private let body: HTTPBody
  private let results: ResultReader
  private let response: IncrementalResponse
  private let reader: IncrementalReader
  private var splitter: MultipartSplitter
  private var chunk: any BodyChunk = []
  private var offset = 0
  /// The rest of the current piece of a part, as positions in the chunk or as separate bytes.
  private var piece: (bytes: any BodyChunk, range: Range<Int>)?
  /// The next parts; usually at most two.
  private var waiting: [IncrementalResult] = []
  /// The error that follows ``waiting``.
  private var failure: (any Error)?
  private var count = 0
  private var bytes = 0
  private var isComplete = false
  private var isInPart = false
  private var traffic = EmptyTraffic()

  init(
    _ body: HTTPBody, boundary: String, results: ResultReader, maxPartBytes: Int
  ) {
    self.body = body
    self.results = results
    response = results.incrementalResponse()
    reader = IncrementalReader(response, limit: maxPartBytes)
    splitter = MultipartSplitter(boundary: boundary)
  }

  /// The next result, or `nil` after the last one.
  func next() async throws -> GraphQLResponse? {
    // The first part is delivered before others are read: its transaction may be open.
    while waiting.isEmpty || waiting.count == 1 && count > 0 && hasUnread {
      if let failure {
        if !waiting.isEmpty { break }
        self.failure = nil
        throw failure
      }
      do {
        guard try await read() || !waiting.isEmpty else { return nil }
      } catch {
        isComplete = true
        await reader.abandon()
        failure = results.describe(error)
      }
    }
    let part = waiting.removeFirst()
    bytes += part.bytes
    count += 1
    var result = results.result(part, index: count - 1, bytes: bytes)
    result.part?.isFollowed = count > 1 && !waiting.isEmpty
    return result
  }

  /// Whether the current chunk has bytes that were not read.
  private var hasUnread: Bool { !isComplete && (piece != nil || offset < chunk.count) }

  /// Reads the next piece; returns `false` at the end.
  private func read() async throws -> Bool {
    if isComplete { return false }
    if try await readPiece() { return true }
    let found = try chunk.withUnsafeBytes { bytes throws(StreamError) in
      try splitter.next(bytes, from: &offset)
    }
    switch found {
    case nil:
      // What has been read is delivered before more is waited for.
      if waiting.isEmpty { try await readChunk() }
    case .begin:
      isInPart = true
      reader.begin()
    case .bytes(let range): piece = (chunk, range)
    case .held(let bytes): piece = (bytes, bytes.indices)
    case .end:
      isInPart = false
      try reader.end()
    case .complete:
      isComplete = true
      try response.finish()
    }
    return true
  }

  /// Passes the current piece to the reader; returns whether there was one.
  private func readPiece() async throws -> Bool {
    guard let (bytes, range) = piece else { return false }
    var position = 0
    let step = try bytes.withUnsafeBytes { bytes in
      try reader.read(UnsafeRawBufferPointer(rebasing: bytes[range]), from: &position)
    }
    piece = step == nil ? nil : (bytes, range.lowerBound + position..<range.upperBound)
    switch step {
    case .flush: try await reader.flush()
    case .message:
      traffic.reset()
      waiting += try await reader.results()
    case nil: break
    }
    return true
  }

  private func readChunk() async throws {
    // What follows the announced end is not waited for.
    if response.hasEnded {
      isComplete = true
      return
    }
    guard let next = try await body.next() else {
      isComplete = true
      try splitter.finish()
      return
    }
    if !isInPart { try traffic.add(next.count, at: results.context.services.clock.now()) }
    chunk = next
    offset = 0
  }
}
