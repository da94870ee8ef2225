/// The body of a response as it arrives: read once, chunk by chunk, at the reader's pace.
public struct HTTPBody: AsyncSequence, Sendable {
  /// A chunk of the body.
  public typealias Element = any BodyChunk

  private let pull: @Sendable () async throws -> (any BodyChunk)?

  /// Creates a body that calls `pull` for each chunk.
  ///
  /// - Parameter pull: Returns the next chunk, or `nil` at the end. Not called again after it has
  ///   returned `nil` or thrown, and not called concurrently.
  public init(pull: @escaping @Sendable () async throws -> (any BodyChunk)?) {
    self.pull = pull
  }

  /// Creates a body of the chunks of another sequence.
  ///
  /// - Parameter base: The sequence; it is iterated once.
  public init<Base: AsyncSequence & Sendable>(_ base: Base) where Base.Element: BodyChunk {
    let source = IteratorOwner(base)
    self.init { try await source.next() }
  }

  /// Creates a body of existing chunks.
  ///
  /// - Parameter chunks: The chunks in their order.
  public init(_ chunks: [any BodyChunk]) {
    let queue = ElementQueue(chunks)
    self.init { queue.next() }
  }

  /// Creates an iterator; all iterators of a body share its position.
  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(pull: pull)
  }

  /// Iterates over the chunks of a body.
  public struct AsyncIterator: AsyncIteratorProtocol {
    let pull: @Sendable () async throws -> (any BodyChunk)?

    /// Returns the next chunk, or `nil` at the end.
    public mutating func next() async throws -> (any BodyChunk)? {
      try await pull()
    }
  }

  /// The same body with `transform` applied to each chunk.
  public func map(
    _ transform: @escaping @Sendable (any BodyChunk) async throws -> any BodyChunk
  ) -> HTTPBody {
    HTTPBody { [pull] in
      guard let chunk = try await pull() else { return nil }
      return try await transform(chunk)
    }
  }

  /// Reads up to `limit` bytes of the body; the rest stays unread.
  public func prefix(_ limit: Int) async throws -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < limit, let chunk = try await pull() {
      chunk.withUnsafeBytes { bytes.append(contentsOf: $0.prefix(limit - bytes.count)) }
    }
    return bytes
  }
}

/// Owns the iterator of a sequence, for readers in any isolation.
private actor IteratorOwner<Base: AsyncSequence & Sendable> {
  private var iterator: Base.AsyncIterator?

  init(_ base: Base) {
    iterator = base.makeAsyncIterator()
  }

  /// The iterator is taken out while it runs, so a concurrent reader gets `nil` instead of a data
  /// race.
  func next() async throws -> Base.Element? {
    guard var iterator = iterator.take() else { return nil }
    guard let element = try await iterator.next(isolation: self) else { return nil }
    self.iterator = iterator
    return element
  }
}
