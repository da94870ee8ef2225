public import GQLRunCache
import GQLRunPipeline

/// The results of one operation: two under `cache-and-network` when the cache has an answer, else one.
///
/// The operation begins when the first result is read. Read it with one iterator.
public struct OperationResults<Value: Decodable & Sendable>: AsyncSequence, Sendable {
  /// A result of the operation.
  public typealias Element = OperationResult<Value>

  let begin: @Sendable () throws -> ResponseStream
  let convert: @Sendable (GraphQLResponse) throws -> OperationResult<Value>

  /// Reads the results, from the first.
  public func makeAsyncIterator() -> Iterator { Iterator(results: self) }

  /// Reads results one after the other.
  public struct Iterator: AsyncIteratorProtocol {
    let results: OperationResults
    var stream: ResponseStream?

    /// The next result, or `nil` at the end.
    ///
    /// - Throws: What prevented the operation or the result, see ``PipelineClient/fetch(_:variables:operationName:cachePolicy:onErrors:as:)``.
    public mutating func next() async throws -> OperationResult<Value>? {
      let stream = try self.stream ?? results.begin()
      self.stream = stream
      return try await stream.next().map(results.convert)
    }
  }
}

/// What a watched query reports.
public enum OperationUpdate<Value: Sendable>: Sendable {
  /// A result: of the pipeline, or of the cache after a change.
  case result(OperationResult<Value>)
  /// The cache no longer has all of the data.
  case missing(CacheMiss)
  /// The pipeline delivered no result, or one that could not be decoded. The watch continues.
  case failure(any Error)

  /// The result, if this is one.
  public var result: OperationResult<Value>? {
    if case .result(let result) = self { result } else { nil }
  }
}

/// The results of a query, now and whenever the cache changes.
///
/// Ends when its task is cancelled or the client is shut down. Dropping the iterator ends it, too.
public struct OperationUpdates<Value: Decodable & Sendable>: AsyncSequence, Sendable {
  /// What the query reports.
  public typealias Element = OperationUpdate<Value>

  let begin: @Sendable () throws -> OperationWatch
  let convert: @Sendable (GraphQLResponse) throws -> OperationResult<Value>
  let operations: OperationRegister

  /// Starts a watch of its own.
  public func makeAsyncIterator() -> Iterator { Iterator(updates: self) }

  /// Reads updates one after the other.
  public struct Iterator: AsyncIteratorProtocol {
    let updates: OperationUpdates
    var watch: OperationWatch.Iterator?

    /// The next update, or `nil` at the end.
    ///
    /// - Throws: Before the first update only: when the document is no query, its variables are wrong, or
    ///   the client has no store.
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
