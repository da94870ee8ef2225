import GQLRunLive

/// Reads the messages of a response that arrives in parts, while their bytes arrive.
///
/// The data of the first message is parsed as it arrives. A later message is held until it ends, because the path of
/// its values may follow them.
package final class IncrementalReader {
  private let response: IncrementalResponse
  private let limit: Int
  private var envelope: EnvelopeSplitter?
  private var normalizer: ResponseNormalizer?
  private var hasFirst = false

  /// - Parameters:
  ///   - response: The response that takes the parts.
  ///   - limit: The most bytes of a message, without the data of the first one.
  package init(_ response: IncrementalResponse, limit: Int) {
    self.response = response
    self.limit = limit
  }

  /// Begins a message.
  package func begin() {
    envelope = EnvelopeSplitter(member: hasFirst ? nil : "data", limit: limit)
  }

  /// What follows after bytes were read.
  package enum Step: Sendable {
    /// ``flush()`` should be called.
    case flush
    /// The message is complete, although the next boundary may not have arrived: ``results()`` should be called.
    case message
  }

  /// Reads the next bytes of a message.
  ///
  /// - Parameters:
  ///   - bytes: The bytes; the same ones until `nil` is returned.
  ///   - offset: The position in the bytes; 0 for new ones.
  /// - Returns: What follows, or `nil` if the bytes are used up.
  /// - Throws: `StreamError`, and ``CacheError``.
  package func read(_ bytes: UnsafeRawBufferPointer, from offset: inout Int) throws -> Step? {
    while let piece = try envelope?.next(bytes, from: &offset) {
      switch piece {
      case .begin:
        try feed(Array(#"{"data":"#.utf8))
      case .bytes(let range):
        try normalizer?.feed(UnsafeRawBufferPointer(rebasing: bytes[range]))
        response.note(firstData: UnsafeRawBufferPointer(rebasing: bytes[range]))
        if normalizer?.needsFlush == true { return .flush }
      case .end: return .message
      case .held, .complete: break
      }
    }
    return nil
  }

  /// Writes the staged records of the first message to the store, inside its transaction.
  package func flush() async throws(CacheError) { try await normalizer?.flush() }

  /// Ends a message.
  ///
  /// - Throws: `StreamError` if it is not complete. A part without a message is none.
  package func end() throws {
    if let open = envelope, open.hasBegun, !open.hasEnded { try envelope?.finish() }
    envelope = nil
  }

  /// Discards an open first message; the store is unchanged.
  package func abandon() async {
    await normalizer?.abandon()
    normalizer = nil
  }

  /// Passes text to the normalizer of the first message.
  private func feed(_ text: [UInt8]) throws {
    let normalizer = try self.normalizer ?? response.firstPart()
    self.normalizer = normalizer
    try text.withUnsafeBytes { try normalizer.feed($0) }
  }

  /// The results of the complete message: of the first message up to two, of every other one at most one.
  package func results() async throws -> [IncrementalResult] {
    guard let message = envelope else { return [] }
    let members = message.others
    if hasFirst { return try await response.result(of: members).map { [$0] } ?? [] }
    // A message without members keeps the connection alive.
    guard message.hasPayload || !members.isEmpty else { return [] }
    if !message.hasPayload { try feed(Array((message.isNull ? #"{"data":null"# : "{").utf8)) }
    var needsComma = message.hasPayload || message.isNull
    for name in ["errors", "extensions"] {
      guard let member = members.first(where: { $0.key.elementsEqual(name.utf8) }),
        !member.value.elementsEqual("null".utf8)
      else { continue }
      try feed(Array("\(needsComma ? "," : "")\"\(name)\":".utf8) + member.value)
      needsComma = true
    }
    try feed(Array("}".utf8))
    guard let normalizer = normalizer.take() else { return [] }
    hasFirst = true
    return try await response.result(of: normalizer, members)
  }
}
