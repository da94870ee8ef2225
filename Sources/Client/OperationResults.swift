public import GQLRunCache
import GQLRunPipeline

/// The results of an operation: two with `cache-and-network` on a cache hit, otherwise one.
///
/// The operation starts when the first result is read. Use only one iterator.
public struct OperationResults<Value: Sendable>: AsyncSequence, Sendable {
  /// A result of the operation.
  public typealias Element = OperationResult<Value>

  let begin: @Sendable () throws -> ResponseStream
  let convert: @Sendable (GraphQLResponse) throws -> OperationResult<Value>

  /// Creates an iterator.
  public func makeAsyncIterator() -> Iterator { Iterator(results: self) }

  /// Iterates over the results of an operation.
  public struct Iterator: AsyncIteratorProtocol {
    let results: OperationResults
    var stream: ResponseStream?

    /// Returns the next result, or `nil` at the end.
    ///
    /// - Throws: The errors of
    ///   ``PipelineClient/fetch(_:variables:uploads:operationName:cachePolicy:onErrors:as:)``.
    public mutating func next() async throws -> OperationResult<Value>? {
      let stream = try self.stream ?? results.begin()
      self.stream = stream
      return try await stream.next().map(results.convert)
    }
  }
}

/// An element of a watched query.
public enum OperationUpdate<Value: Sendable>: Sendable {
  /// A result: of the pipeline, or of the cache after a change.
  case result(OperationResult<Value>)
  /// The cache no longer has all the data.
  case missing(CacheMiss)
  /// The pipeline failed, or a result could not be decoded. The watch continues.
  case failure(any Error)

  /// The result; `nil` for another element.
  public var result: OperationResult<Value>? {
    if case .result(let result) = self { result } else { nil }
  }
}

/// The results of a query: its first result, and a new one after every change of the cache.
///
/// The sequence ends when its task is cancelled, the client is shut down, or the iterator is
/// released.
public struct OperationUpdates<Value: Sendable>: AsyncSequence, Sendable {
  /// A result, a cache miss, or an error.
  public typealias Element = OperationUpdate<Value>

  let begin: @Sendable () throws -> OperationWatch
  let convert: @Sendable (GraphQLResponse) throws -> OperationResult<Value>
  let operations: OperationRegister

  /// Starts a watch; each iterator has its own request.
  public func makeAsyncIterator() -> Iterator { Iterator(updates: self) }

  /// Iterates over the updates of a query.
  public struct Iterator: AsyncIteratorProtocol {
    let updates: OperationUpdates
    var watch: OperationWatch.Iterator?

    /// Returns the next update, or `nil` at the end.
    ///
    /// - Throws: Only before the first update: if the document is not a query, its variables are
    ///   invalid, or the client has no store.
    public mutating func next() async throws -> OperationUpdate<Value>? {
      let watch = try self.watch ?? updates.begin().makeAsyncIterator()
      self.watch = watch
      let event: WatchEvent?
      do {
        event = try await updates.operations.run {
          var watch = watch
          return await watch.next()
        }
      } catch let error as ChainError where error.code == .clientShutDown {
        return nil
      }
      switch event {
      case .response(let response):
        do { return .result(try updates.convert(response)) } catch { return .failure(error) }
      case .missing(let miss): return .missing(miss)
      case .failure(let error): return .failure(error)
      case nil: return nil
      }
    }
  }
}
