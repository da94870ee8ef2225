import GQLRunSupport
import Synchronization

/// The results of an operation, read once and at the reader's pace.
///
/// One result normally, several for `cache-and-network` and subscriptions. Mapping composes
/// closures that run when a result is read; it starts no task. After an error the stream has ended.
public struct ResponseStream: AsyncSequence, Sendable {
  public typealias Element = GraphQLResponse

  private let pull: @Sendable () async throws -> GraphQLResponse?

  /// A stream whose next result is what `pull` returns, and that ends with `nil` or an error.
  ///
  /// - Parameter pull: Not called again after it returned `nil` or threw.
  public init(pull: @escaping @Sendable () async throws -> GraphQLResponse?) {
    let end = StreamEnd()
    self.init(unguarded: {
      guard !end.isReached else { return nil }
      do {
        let response = try await pull()
        if response == nil { end.reach() }
        return response
      } catch {
        end.reach()
        throw error
      }
    })
  }

  private init(unguarded pull: @escaping @Sendable () async throws -> GraphQLResponse?) {
    self.pull = pull
  }

  /// A stream of results that are there already.
  public init(_ responses: GraphQLResponse...) {
    let queue = ElementQueue(responses)
    self.init(unguarded: { queue.next() })
  }

  /// A stream that fails at once.
  public init(failing error: any Error) {
    self.init(pull: { throw error })
  }

  /// The next result, or `nil` at the end.
  public func next() async throws -> GraphQLResponse? {
    try await pull()
  }

  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(stream: self)
  }

  public struct AsyncIterator: AsyncIteratorProtocol {
    let stream: ResponseStream

    public mutating func next() async throws -> GraphQLResponse? {
      try await stream.next()
    }
  }
}

extension ResponseStream {
  /// The same stream with each result passed through `transform`.
  public func map(
    _ transform: @escaping @Sendable (GraphQLResponse) async throws -> GraphQLResponse
  ) -> ResponseStream {
    ResponseStream(pull: { [pull] in
      guard let response = try await pull() else { return nil }
      return try await transform(response)
    })
  }

  /// The same stream with an error of any later step passed through `transform`, which has four
  /// ways out: throw the same error, throw another, return a result in its place, or return `nil`
  /// to end the stream without an error.
  ///
  /// A ``ChainRetry`` is on its way to the chain's start and passes by.
  public func mapErrors(
    _ transform: @escaping @Sendable (any Error) async throws -> GraphQLResponse?
  ) -> ResponseStream {
    // The stream below has ended with its error, so reading on after a recovery finds the end.
    ResponseStream(pull: { [pull] in
      do {
        return try await pull()
      } catch let retry as ChainRetry {
        throw retry
      } catch {
        return try await transform(error)
      }
    })
  }

  /// The same stream, with a task-local value set whenever a result is read.
  ///
  /// `$value.withValue(…) { await next(request) }` covers the way down and the first result; this
  /// covers all of them.
  public func binding<Value: Sendable>(
    _ local: TaskLocal<Value>, to value: Value
  ) -> ResponseStream {
    ResponseStream(unguarded: { [pull] in
      try await local.withValue(value) { try await pull() }
    })
  }

  /// The same stream with its first result, or error, already read.
  ///
  /// Interceptors below have then run within whatever surrounds this call, task-local values above
  /// all.
  func withFirstResultRead() async -> ResponseStream {
    let first: Result<GraphQLResponse?, any Error>
    do {
      first = .success(try await pull())
    } catch {
      first = .failure(error)
    }
    let unread = Unread(first)
    return ResponseStream(unguarded: { [pull] in
      if let first = unread.take() { return try first.get() }
      return try await pull()
    })
  }
}

/// Remembers that a stream has ended.
private final class StreamEnd: Sendable {
  private let hasEnded = Atomic(false)

  var isReached: Bool { hasEnded.load(ordering: .acquiring) }

  func reach() { hasEnded.store(true, ordering: .releasing) }
}

/// A result that was read, for the one who reads it next.
private final class Unread: Sendable {
  private let result: Locked<Result<GraphQLResponse?, any Error>?>

  init(_ result: Result<GraphQLResponse?, any Error>) { self.result = Locked(result) }

  func take() -> Result<GraphQLResponse?, any Error>? { result.withLock { $0.take() } }
}
