import GQLRunSupport
import Synchronization

/// The results of an operation, read once and at the reader's pace.
///
/// Usually one result; several for `cache-and-network` and subscriptions. `map` and `mapErrors` run
/// when a result is read and start no task. After an error the stream has ended.
public struct ResponseStream: AsyncSequence, Sendable {
  /// A result of the operation.
  public typealias Element = GraphQLResponse

  private let pull: @Sendable () async throws -> GraphQLResponse?
  /// `nil` for a source that may be called after its end.
  private let end: StreamEnd?

  /// Creates a stream that calls `pull` for each result.
  ///
  /// - Parameter pull: Returns the next result, or `nil` at the end. Not called again after it has
  ///   returned `nil` or thrown.
  public init(pull: @escaping @Sendable () async throws -> GraphQLResponse?) {
    self.pull = pull
    end = StreamEnd()
  }

  private init(unguarded pull: @escaping @Sendable () async throws -> GraphQLResponse?) {
    self.pull = pull
    end = nil
  }

  /// Creates a stream of existing results.
  public init(_ responses: GraphQLResponse...) {
    let queue = ElementQueue(responses)
    self.init(unguarded: { queue.next() })
  }

  /// Creates a stream whose first read throws an error.
  public init(failing error: any Error) {
    self.init(pull: { throw error })
  }

  /// Returns the next result, or `nil` at the end.
  public func next() async throws -> GraphQLResponse? {
    // Here and not in a closure around `pull`: a result passes a dozen streams, and each closure has a frame.
    guard let end else { return try await pull() }
    guard !end.isReached else { return nil }
    do {
      let response = try await pull()
      if response == nil { end.reach() }
      return response
    } catch {
      end.reach()
      throw error
    }
  }

  /// Creates an iterator; all iterators of a stream share its position.
  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(stream: self)
  }

  /// Iterates over the results of a stream.
  public struct AsyncIterator: AsyncIteratorProtocol {
    let stream: ResponseStream

    /// Returns the next result, or `nil` at the end.
    public mutating func next() async throws -> GraphQLResponse? {
      try await stream.next()
    }
  }
}

extension ResponseStream {
  /// The same stream with `transform` applied to each result.
  public func map(
    _ transform: @escaping @Sendable (GraphQLResponse) async throws -> GraphQLResponse
  ) -> ResponseStream {
    ResponseStream(pull: {
      guard let response = try await next() else { return nil }
      return try await transform(response)
    })
  }

  /// The same stream with `transform` applied to an error of any later step.
  ///
  /// `transform` may throw the same or another error, return a result in its place, or return `nil`
  /// to end the stream without an error. It does not receive ``ChainRetry``.
  public func mapErrors(
    _ transform: @escaping @Sendable (any Error) async throws -> GraphQLResponse?
  ) -> ResponseStream {
    // The stream below has ended with its error, so a read after a recovery returns `nil`.
    ResponseStream(pull: {
      do {
        return try await next()
      } catch let retry as ChainRetry {
        throw retry
      } catch {
        return try await transform(error)
      }
    })
  }

  /// The same stream, with a task-local value set during every read.
  ///
  /// `$value.withValue(…) { await next(request) }` covers the request and the first result; this
  /// covers all results.
  public func binding<Value: Sendable>(
    _ local: TaskLocal<Value>, to value: Value
  ) -> ResponseStream {
    ResponseStream(unguarded: {
      try await local.withValue(value) { try await next() }
    })
  }

  /// The same stream, with its first result or error already read.
  ///
  /// The interceptors below have then run in the caller's context, such as its task-local values.
  func withFirstResultRead() async -> ResponseStream {
    let first: Result<GraphQLResponse?, any Error>
    do {
      first = .success(try await next())
    } catch {
      first = .failure(error)
    }
    let unread = Locked(Optional(first))
    return ResponseStream(unguarded: {
      if let first = unread.withLock({ $0.take() }) { return try first.get() }
      return try await next()
    })
  }
}

/// Records that a stream has ended.
private final class StreamEnd: Sendable {
  private let hasEnded = Atomic(false)

  var isReached: Bool { hasEnded.load(ordering: .acquiring) }

  func reach() { hasEnded.store(true, ordering: .releasing) }
}
