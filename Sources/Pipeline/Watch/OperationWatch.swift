import Foundation
public import GQLRunCache
import GQLRunLanguage

/// What a watched operation says.
public enum WatchEvent: Sendable {
  /// A result: of the chain, or of the cache after a change.
  case response(GraphQLResponse)
  /// The cache does not have all the data any more: it was removed, or cleared away.
  case missing(CacheMiss)
  /// The chain did not bring a result. The watch goes on.
  case failure(any Error)
}

/// The results of a query, now as its cache policy says, and from then on whenever the cache changes.
///
/// An element follows when a field that the answer depends on has changed, and with it the answer; see
/// ``StoreWatch``, which reads the cache here: what changes in it does not pass the interceptors. What
/// the watch's own request brings is one element, with its source, errors and extensions. A
/// slow reader sees the newest state of the cache. Cancelling the task that reads ends the sequence and
/// the request under way, and so does dropping the iterator.
public struct OperationWatch: AsyncSequence, Sendable {
  public typealias Element = WatchEvent

  let runner: PipelineRunner
  let request: GraphQLRequest
  let operation: PreparedOperation
  let store: any RecordStore
  let refetches: Bool

  public func makeAsyncIterator() -> Iterator { Iterator(ActiveWatch(self)) }

  public struct Iterator: AsyncIteratorProtocol, Sendable {
    private let watch: ActiveWatch

    init(_ watch: ActiveWatch) { self.watch = watch }

    public mutating func next() async -> WatchEvent? { await watch.next() }
  }
}

extension PipelineRunner {
  /// Watches a query.
  ///
  /// - Parameters:
  ///   - request: A query with its ``GraphQLRequest/operation``. Its policy decides what comes first;
  ///     `cache-only` asks nobody else, and begins with what is missing when something is.
  ///   - refetches: Whether the network is asked when the data is not all there any more. `false` by
  ///     default.
  /// - Throws: ``ChainError`` when the request is no such query, or there is no store.
  public func watch(
    _ request: GraphQLRequest, refetches: Bool = false
  ) throws -> OperationWatch {
    guard let operation = request.operation, request.operationType == .query else {
      throw ChainError(
        .request, .invalidRequest,
        "only a prepared query can be watched; \(request.label) is not one")
    }
    return OperationWatch(
      runner: self, request: request, operation: operation, store: try store(to: "watch"),
      refetches: refetches)
  }

  func store(to action: String) throws -> any RecordStore {
    guard let store = services.store else {
      throw ChainError(
        .request, .invalidRequest,
        "cannot \(action) without a store; give the pipeline one: `store: { kind: memory }`")
    }
    return store
  }
}

/// One reader's watch: the cache's, and the request under way.
final class ActiveWatch: Sendable {
  private let watch: OperationWatch
  private let cache: WatchedOperation
  private let inbox = Inbox()

  init(_ watch: OperationWatch) {
    self.watch = watch
    cache = WatchedOperation(store: watch.store, operation: watch.operation)
    if watch.request.cachePolicy == .cacheOnly {
      inbox.hasBegun = true
    } else {
      // The chain's first result is the first element.
      cache.skip()
      fetch(watch.request)
    }
  }

  deinit { end() }

  private func end() {
    inbox.cancel()
    cache.end()
  }

  /// Runs a request whose results go to the inbox.
  private func fetch(_ request: GraphQLRequest) {
    let stream = watch.runner.execute(request)
    inbox.run { [cache, inbox] in
      do {
        // Its own commits are no news beside its results.
        while let response = try await cache.silently({ try await stream.next() }) {
          inbox.put(.response(response))
          cache.wake()
        }
      } catch {
        guard !Task.isCancelled else { return }
        inbox.put(.failure(error))
        cache.wake()
      }
    }
  }

  func next() async -> WatchEvent? {
    while await cache.wait() {
      if let event = inbox.take() {
        // What is in the cache by now belongs to this element.
        _ = try? await cache.look()
        if inbox.hasMore { cache.wake() }
        return event
      }
      guard inbox.hasBegun else {
        cache.skip()
        continue
      }
      do {
        guard let answer = try await cache.look() else { continue }
        return event(of: answer)
      } catch {
        if Task.isCancelled { break }
        cache.skip()
        return .failure(error)
      }
    }
    end()
    return nil
  }

  private func event(of answer: CacheReadResult) -> WatchEvent {
    switch answer {
    case .hit(let data):
      return .response(GraphQLResponse(source: .cache, data: data))
    case .miss(let miss):
      if watch.refetches, watch.request.cachePolicy != .cacheOnly, !inbox.isRunning {
        var request = watch.request
        request.cachePolicy = .networkOnly
        fetch(request)
      }
      return .missing(miss)
    }
  }
}

/// What the request of a watch has brought and nobody has taken yet.
///
/// `@unchecked Sendable`: everything that changes is read and written under the lock.
private final class Inbox: @unchecked Sendable {
  private let lock = NSLock()
  private var events: [WatchEvent] = []
  private var task: Task<Void, Never>?
  private var running = false
  private var begun = false

  /// Whether the first element was there.
  var hasBegun: Bool {
    get { lock.withLock { begun } }
    set { lock.withLock { begun = newValue } }
  }

  var hasMore: Bool { lock.withLock { !events.isEmpty } }

  /// Whether a request is under way.
  var isRunning: Bool { lock.withLock { running } }

  func put(_ event: WatchEvent) {
    lock.withLock {
      events.append(event)
      begun = true
    }
  }

  func take() -> WatchEvent? {
    lock.withLock { events.isEmpty ? nil : events.removeFirst() }
  }

  func run(_ body: @escaping @Sendable () async -> Void) {
    lock.withLock {
      running = true
      task = Task {
        await body()
        lock.withLock { running = false }
      }
    }
  }

  func cancel() { lock.withLock { task }?.cancel() }
}
