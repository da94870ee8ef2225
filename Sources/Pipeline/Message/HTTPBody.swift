/// The body of a response as it arrives: read once, chunk by chunk, at the reader's pace.
public struct HTTPBody: AsyncSequence, Sendable {
  public typealias Element = any BodyChunk

  private let pull: @Sendable () async throws -> (any BodyChunk)?

  /// A body whose next chunk is what `pull` returns, and that ends with `nil`.
  ///
  /// - Parameter pull: Not called again after it returned `nil` or threw, and not called twice at a
  ///   time.
  public init(pull: @escaping @Sendable () async throws -> (any BodyChunk)?) {
    self.pull = pull
  }

  /// A body of the chunks of another sequence.
  public init<Base: AsyncSequence & Sendable>(_ base: Base) where Base.Element: BodyChunk {
    let source = IteratorOwner(base)
    self.init { try await source.next() }
  }

  /// A body that is there already.
  public init(_ chunks: [any BodyChunk]) {
    let queue = ElementQueue(chunks)
    self.init { queue.next() }
  }

  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(pull: pull)
  }

  public struct AsyncIterator: AsyncIteratorProtocol {
    let pull: @Sendable () async throws -> (any BodyChunk)?

    public mutating func next() async throws -> (any BodyChunk)? {
      try await pull()
    }
  }

  /// The same body with each chunk passed through `transform`.
  public func map(
    _ transform: @escaping @Sendable (any BodyChunk) async throws -> any BodyChunk
  ) -> HTTPBody {
    HTTPBody { [pull] in
      guard let chunk = try await pull() else { return nil }
      return try await transform(chunk)
    }
  }

  /// The bytes of the body up to `limit`; the rest is left unread.
  public func prefix(_ limit: Int) async throws -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < limit, let chunk = try await pull() {
      chunk.withUnsafeBytes { bytes.append(contentsOf: $0.prefix(limit - bytes.count)) }
    }
    return bytes
  }
}

/// Keeps the iterator of a sequence for readers in any isolation.
private actor IteratorOwner<Base: AsyncSequence & Sendable> {
  private var iterator: Base.AsyncIterator?

  init(_ base: Base) {
    iterator = base.makeAsyncIterator()
  }

  /// The iterator is out while it runs, so a second reader finds the end instead of disturbing the
  /// first.
  func next() async throws -> Base.Element? {
    guard var iterator = iterator.take() else { return nil }
    guard let element = try await iterator.next(isolation: self) else { return nil }
    self.iterator = iterator
    return element
  }
}
