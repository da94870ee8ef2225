import GQLRunCache
import GQLRunJSON
import GQLRunLive
import GQLRunPipeline

/// Reads the events of a subscription: each one into records and into the caller's data, while it arrives.
///
/// Nothing is read ahead: a slow caller slows the connection.
actor EventReader {
  /// An event that has begun and not ended.
  private struct OpenEvent {
    let normalizer: ResponseNormalizer
    var bytes = 0
  }

  private let body: HTTPBody
  private let results: ResultReader
  private let maxEventBytes: Int
  /// Finds the events in the body; `nil` if each chunk is one.
  private var splitter: (any StreamSplitter)?
  /// Finds the payload in each part; `nil` if events are payloads themselves.
  private var envelope: EnvelopeSplitter?
  private let hasEnvelopes: Bool
  private var chunk: any BodyChunk = []
  private var offset = 0
  /// The rest of the current piece of a part, as positions in the chunk or as separate bytes.
  private var part: (bytes: any BodyChunk, range: Range<Int>)?
  private var event: OpenEvent?
  /// The errors beside the payload that was returned last: the next result is the last one.
  private var errorsBesidePayload: [UInt8]?
  private var isComplete = false
  private var traffic = EmptyTraffic()
  /// Whether the chunk has bytes of an event.
  private var hasContent = false

  init(
    _ body: HTTPBody, framing: EventFraming, results: ResultReader, maxEventBytes: Int
  ) {
    self.body = body
    self.results = results
    self.maxEventBytes = maxEventBytes
    switch framing {
    case .eventStream:
      splitter = EventStreamSplitter()
      hasEnvelopes = false
    case .multipart(let boundary), .parts(let boundary):
      splitter = MultipartSplitter(boundary: boundary)
      hasEnvelopes = true
    case .results:
      splitter = nil
      hasEnvelopes = false
    }
  }

  /// The next event, or `nil` after the last one.
  func next() async throws -> GraphQLResponse? {
    do {
      return try await splitter == nil ? readResult() : read()
    } catch {
      throw await failure(error)
    }
  }

  /// Reads a chunk that is an event.
  private func readResult() async throws -> GraphQLResponse? {
    if try !takeResult(isComplete ? nil : body.takeReady()), !isComplete {
      isComplete = try await !takeResult(body.next())
    }
    return try await end()
  }

  /// Returns whether there is a chunk.
  @inline(never)
  private func takeResult(_ result: (any BodyChunk)?) throws -> Bool {
    guard let result else { return false }
    try begin()
    try take(result, 0..<result.count, isLast: true)
    return true
  }

  @inline(never)
  private func failure(_ error: any Error) async -> any Error {
    isComplete = true
    await event?.normalizer.abandon()
    event = nil
    return results.describe(error)
  }

  private func read() async throws -> GraphQLResponse? {
    if !isComplete, let errors = errorsBesidePayload { return try end(withErrors: errors) }
    while !isComplete {
      if part != nil, let result = try await readPart() { return result }
      switch try nextPiece() {
      case nil:
        try await readChunk()
      case .begin:
        if hasEnvelopes { envelope = EnvelopeSplitter(member: "payload") } else { try begin() }
      case .bytes(let range):
        if hasEnvelopes { part = (chunk, range) } else { try await feed(chunk, range) }
      case .held(let bytes):
        if hasEnvelopes {
          part = (bytes, bytes.indices)
        } else {
          try await feed(bytes, bytes.indices)
        }
      case .end:
        guard hasEnvelopes else { return try await end() }
        // A part without a message keeps the connection alive.
        if let open = envelope, open.hasBegun, !open.hasEnded { try envelope?.finish() }
        envelope = nil
      case .complete:
        isComplete = true
      }
    }
    return nil
  }

  // The following functions are not inlined: their variables would be in the frame of every subscription that waits, and
  // the optimizer of Swift 6.3.1 crashes where it splits the coroutine of all of them together.

  @inline(never)
  private func nextPiece() throws -> StreamPiece? {
    try chunk.withUnsafeBytes { bytes throws(StreamError) in
      try splitter?.next(bytes, from: &offset)
    }
  }

  @inline(never)
  private func nextPiece(
    of bytes: any BodyChunk, _ range: Range<Int>, from position: inout Int
  ) throws -> StreamPiece? {
    try bytes.withUnsafeBytes { bytes throws(StreamError) in
      try envelope?.next(UnsafeRawBufferPointer(rebasing: bytes[range]), from: &position)
    }
  }

  @inline(never)
  private func begin() throws {
    event = OpenEvent(normalizer: try results.normalizer())
  }

  @inline(never)
  private func readChunk() async throws {
    // Comments and other ignored fields may be within an event, too.
    if event != nil, !hasContent { try countEmpty(chunk) }
    guard let next = try await body.next() else {
      try splitter?.finish()
      isComplete = true
      return
    }
    if event == nil { try countEmpty(next) }
    chunk = next
    offset = 0
    hasContent = false
  }

  private func countEmpty(_ chunk: any BodyChunk) throws {
    try traffic.add(chunk.count, at: results.context.services.clock.now())
  }

  /// Reads the message in a part, which is `{}`, `{"payload": …}` or `{"payload": null, "errors": […]}`.
  ///
  /// Errors also count beside a payload, and without the member `payload`.
  @inline(never)
  private func readPart() async throws -> GraphQLResponse? {
    while let (bytes, range) = part, envelope != nil {
      var position = 0
      let piece = try nextPiece(of: bytes, range, from: &position)
      let rest = range.lowerBound + position..<range.upperBound
      part = rest.isEmpty && piece == nil ? nil : (bytes, rest)
      switch piece {
      case .begin: try begin()
      case .bytes(let found):
        try await feed(
          bytes, range.lowerBound + found.lowerBound..<range.lowerBound + found.upperBound)
      case .end:
        // The event is complete, although the next boundary may not have arrived.
        if let result = try await endMessage() { return result }
      case .held, .complete, nil: break
      }
    }
    return nil
  }

  @inline(never)
  private func endMessage() async throws -> GraphQLResponse? {
    let errors = envelope?.others.first { $0.key.elementsEqual("errors".utf8) }?.value
    if event != nil {
      if let errors, !Self.isEmpty(errors) { errorsBesidePayload = errors }
      return try await end()
    }
    if let errors, envelope?.isNull == true || !Self.isEmpty(errors) {
      return try end(withErrors: errors)
    }
    guard let message = envelope, !message.isNull,
      message.others.contains(where: { $0.key.elementsEqual("data".utf8) })
    else { return nil }
    throw StreamError(
      .malformed, "a part of the subscription has the member `data`, but no member `payload`")
  }

  /// The last result: the subscription has failed as a whole.
  @inline(never)
  private func end(withErrors errors: [UInt8]) throws -> GraphQLResponse {
    isComplete = true
    errorsBesidePayload = nil
    return try results.result(ofErrors: errors)
  }

  /// Whether the text of `errors` is null or an empty list.
  private static func isEmpty(_ errors: [UInt8]) -> Bool {
    guard let value = try? JSONValue(parsing: errors) else { return false }
    return value == .null || value.arrayValue?.isEmpty == true
  }

  @inline(never)
  private func feed(_ bytes: any BodyChunk, _ range: Range<Int>) async throws {
    try take(bytes, range, isLast: false)
    if let normalizer = event?.normalizer, normalizer.needsFlush { try await normalizer.flush() }
  }

  /// Reads a piece of the current event.
  private func take(_ bytes: any BodyChunk, _ range: Range<Int>, isLast: Bool) throws {
    guard var open = event else { return }
    open.bytes += range.count
    hasContent = true
    event = open
    guard open.bytes <= maxEventBytes else {
      throw StreamError(
        .tooLarge,
        "an event of the subscription is longer than \(maxEventBytes) bytes; raise `max_event` of "
          + "the plugin `parse`")
    }
    let normalizer = open.normalizer
    try bytes.withUnsafeBytes {
      try normalizer.feed(UnsafeRawBufferPointer(rebasing: $0[range]), isLast: isLast)
    }
  }

  @inline(never)
  private func end() async throws -> GraphQLResponse? {
    if let normalizer = event?.normalizer, normalizer.needsFlush { try await normalizer.flush() }
    guard let open = event.take() else { return nil }
    traffic.reset()
    do throws(CacheError) {
      // In two steps: `results` would be copied before the call.
      let parsed = try await open.normalizer.finish()
      return results.result(parsed)
    } catch {
      guard error.code == .truncatedResponse else { throw error }
      // The connection is intact, so a retry would not help.
      throw StreamError(
        .malformed, "an event of the subscription is not complete: its JSON text ends too early")
    }
  }
}
