public import GQLRunCache
public import GQLRunJSON
import GQLRunLanguage
import GQLRunSupport

/// An element of a watched operation.
public enum WatchEvent: Sendable {
  /// A result: of the chain, or of the cache after a change.
  case response(GraphQLResponse)
  /// The cache no longer has all the data, because records were evicted or removed.
  case missing(CacheMiss)
  /// The chain failed. The watch continues.
  case failure(any Error)
}

/// The results of a query: first as its cache policy defines, then after every change of the cache.
///
/// A new element follows when a field that the result depends on has changed, and the result with
/// it; see `StoreWatch`. Results after a change are read from the cache and do not pass the
/// interceptors. The request of the watch itself delivers one element per result, with source,
/// errors and extensions. A slow reader gets the newest state of the cache. Cancelling the reading
/// task, or releasing the iterator, ends the sequence and cancels the request in flight.
public struct OperationWatch: AsyncSequence, Sendable {
  /// A result, a cache miss, or an error.
  public typealias Element = WatchEvent

  let runner: PipelineRunner
  let request: GraphQLRequest
  let operation: PreparedOperation
  let store: CacheStore
  let refetches: Bool
  /// Creates an object that each iterator retains, such as one that keeps the store up to date.
  package var companion: (@Sendable () -> any AnyObject & Sendable)?
  /// Knows the watch while it is iterated.
  package var register: WatchRegister?

  /// Starts a watch; each iterator has its own request.
  public func makeAsyncIterator() -> Iterator { Iterator(ActiveWatch(self)) }

  /// Iterates over the results of a watch.
  public struct Iterator: AsyncIteratorProtocol, Sendable {
    private let watch: ActiveWatch

    init(_ watch: ActiveWatch) { self.watch = watch }

    /// Returns the next element; `nil` after the task was cancelled.
    public mutating func next() async -> WatchEvent? { await watch.next() }
  }
}

extension PipelineRunner {
  /// Watches a query.
  ///
  /// - Parameters:
  ///   - request: A query with its ``GraphQLRequest/operation``. Its policy decides about the first
  ///     element; `cache-only` never uses the network, and begins with ``WatchEvent/missing(_:)``
  ///     on a cache miss.
  ///   - refetches: Whether the network is used when the cache no longer has all the data. `false`
  ///     by default.
  /// - Returns: The sequence of results; it starts when it is iterated.
  /// - Throws: ``ChainError`` with code `invalidRequest` if the request is not a prepared query or
  ///   there is no store.
  public func watch(
    _ request: GraphQLRequest, refetches: Bool = false
  ) throws -> OperationWatch {
    guard let operation = request.operation, request.operationType == .query else {
      throw ChainError(
        notSent: .invalidRequest,
        "only a prepared query can be watched; \(request.label) is not one")
    }
    return OperationWatch(
      runner: self, request: request, operation: operation, store: try store(to: "watch"),
      refetches: refetches)
  }

  /// The store, or an error with what needs one.
  package func store(to action: String) throws -> CacheStore {
    guard let store = services.store else {
      throw ChainError(
        notSent: .invalidRequest,
        "cannot \(action) without a store; give the pipeline one: `store: { kind: memory }`")
    }
    return store
  }
}

/// The watch of one iterator: the watch of the cache, and the request in flight.
final class ActiveWatch: Sendable {
  private let watch: OperationWatch
  private let cache: WatchedOperation
  private let inbox = Inbox()
  private let companion: (any AnyObject & Sendable)?

  init(_ watch: OperationWatch) {
    self.watch = watch
    companion = watch.companion?()
    cache = WatchedOperation(
      store: watch.store, operation: watch.operation, errors: watch.runner.pipeline.readErrors)
    if watch.request.cachePolicy == .cacheOnly {
      inbox.hasBegun = true
    } else {
      // The first result of the chain is the first element.
      cache.skip()
      fetch(watch.request)
    }
    watch.register?.add(self, name: watch.operation.name)
  }

  deinit {
    watch.register?.remove(ObjectIdentifier(self))
    end()
  }

  /// Requests the result from the server again, in place of a request in flight. A watch with `cache-only` never does.
  func refetch() {
    guard watch.request.cachePolicy != .cacheOnly else { return }
    var request = watch.request
    request.cachePolicy = .networkOnly
    fetch(request)
  }

  private func end() {
    inbox.cancel()
    cache.end()
  }

  /// Executes a request and puts its results into the inbox.
  private func fetch(_ request: GraphQLRequest) {
    let stream = watch.runner.execute(request)
    inbox.run { [cache, inbox] number in
      do {
        // The request's own commits are not changes in addition to its results.
        while true {
          let changes = cache.changes
          let response = try await cache.silently { try await stream.next() }
          guard let response else { return }
          inbox.put(.response(response), changes, of: number)
          cache.wake()
        }
      } catch {
        guard !Task.isCancelled else { return }
        inbox.put(.failure(error), cache.changes, of: number)
        cache.wake()
      }
    }
  }

  func next() async -> WatchEvent? {
    while await cache.wait() {
      if let (event, changes, number) = inbox.take() {
        let newer = try? await newerAnswer(than: event, changes)
        if let newer, !inbox.hasMore {
          inbox.put(self.event(of: newer), cache.changes, of: number)
        }
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

  /// Reads the state of the cache that belongs to an element of the request. Returns it if the cache has changed since
  /// the request read or wrote it.
  ///
  /// - Parameter changes: The changes of the cache before the element was read.
  private func newerAnswer(
    than event: WatchEvent, _ changes: Int
  ) async throws -> StoreAnswer? {
    guard case .response(let response) = event, response.isComplete,
      let data = response.data.unlessNull
    else {
      _ = try await cache.look()
      return nil
    }
    try await cache.note(count: data.count, errors: response.errors.map(\.json)) {
      try data.forEachChunk($0)
    }
    let answer = try await cache.look()
    return cache.changes == changes ? nil : answer
  }

  private func event(of answer: StoreAnswer) -> WatchEvent {
    switch answer.result {
    case .hit(let data):
      var response = GraphQLResponse(source: .cache, data: data)
      response.errors = answer.errors.map { GraphQLError($0) }
      return .response(response)
    case .miss(let miss):
      if watch.refetches, !inbox.isRunning { refetch() }
      return .missing(miss)
    }
  }
}

/// The results of a watch's requests that have not been read yet: those of the latest one that has any.
final class Inbox: Sendable {
  /// An element, with the number of changes of the cache before it was read, and that of its request.
  typealias Element = (event: WatchEvent, changes: Int, request: Int)

  private struct State {
    var events: [Element] = []
    /// The latest request that has a result.
    var latest = 0
    /// The request in flight.
    var task: Task<Void, Never>?
    /// The number of the latest request.
    var requests = 0
    var hasBegun = false
  }

  private let state = Locked(State())

  /// Whether the first element has arrived.
  var hasBegun: Bool {
    get { state.withLock { $0.hasBegun } }
    set { state.withLock { $0.hasBegun = newValue } }
  }

  var hasMore: Bool { state.withLock { !$0.events.isEmpty } }

  /// Whether a request is in flight.
  var isRunning: Bool { state.withLock { $0.task != nil } }

  /// Adds an element of a request. A result replaces what earlier requests had, and a failure, or a response without data,
  /// their failures: a reader that is slow, or paused, gets the newest state, whatever number of requests there are meanwhile.
  func put(_ event: WatchEvent, _ changes: Int, of request: Int) {
    // What is replaced is released outside of the lock, which its deinitializers may need.
    _ = state.withLock { state -> [Element] in
      state.hasBegun = true
      let before = state.events
      // One that was cancelled may have had its result already. If it was also the last to write the cache, the cache has
      // its result, and the reader that of the later request.
      guard request >= state.latest else { return before }
      let isFailure = event.isFailure
      state.events.removeAll { $0.request < request && (!isFailure || $0.event.isFailure) }
      if !isFailure { state.latest = request }
      state.events.append((event, changes, request))
      return before
    }
  }

  func take() -> Element? {
    state.withLock { $0.events.isEmpty ? nil : $0.events.removeFirst() }
  }

  /// Runs a request, which gets its number, and cancels the one before.
  func run(_ body: @escaping @Sendable (_ number: Int) async -> Void) {
    state.withLock { state in
      state.task?.cancel()
      state.requests += 1
      let number = state.requests
      state.task = Task {
        await body(number)
        self.state.withLock { if $0.requests == number { $0.task = nil } }
      }
    }
  }

  func cancel() { state.withLock { $0.task }?.cancel() }
}

extension WatchEvent {
  /// Whether it has no data of the operation.
  fileprivate var isFailure: Bool {
    switch self {
    case .failure: true
    case .missing: false
    case .response(let response): response.data.unlessNull == nil
    }
  }
}

/// The watches of a client that are iterated, by the names of their operations.
package final class WatchRegister: Sendable {
  private struct Entry {
    weak var watch: ActiveWatch?
    var name: String?
  }

  private let entries = Locked<[ObjectIdentifier: Entry]>([:])

  /// Creates an empty register.
  package init() {}

  func add(_ watch: ActiveWatch, name: String?) {
    entries.withLock { $0[ObjectIdentifier(watch)] = Entry(watch: watch, name: name) }
  }

  func remove(_ id: ObjectIdentifier) {
    entries.withLock { $0[id] = nil }
  }

  /// Requests the watched operations with these names from the server again. Does not wait for the results, which
  /// the watches deliver.
  package func refetch(_ names: [String]) {
    guard !names.isEmpty else { return }
    let watches = entries.withLock { entries in
      entries.values.compactMap { entry in
        entry.name.map(names.contains) == true ? entry.watch : nil
      }
    }
    for watch in watches { watch.refetch() }
  }
}

/// The optimistic layer that the response to a request replaces.
enum OptimisticLayerKey: RequestContextKey {
  typealias Value = OptimisticLayer
}

extension PipelineRunner {
  /// Executes a mutation and shows its expected result until the server has answered.
  ///
  /// When this returns, `data` is an optimistic layer above the cache. It is removed in the same
  /// step in which the response is written. It is also removed if the mutation fails, if the
  /// response has no data, or if the caller stops reading.
  ///
  /// - Parameters:
  ///   - request: A mutation with its ``GraphQLRequest/operation``.
  ///   - data: The expected `data`: complete for the mutation's selection set, with `__typename`
  ///     and key fields.
  /// - Returns: The results of the mutation.
  /// - Throws: `CacheError` with code `invalidData` that names the first missing field;
  ///   ``ChainError`` if there is no store or no operation.
  public func execute(
    _ request: GraphQLRequest, optimistic data: JSONValue
  ) throws -> ResponseStream {
    try request.checkPolicy(request.cachePolicy)
    guard let operation = request.operation else {
      throw ChainError(
        notSent: .invalidRequest,
        "\(request.label) was not prepared, so what it may answer cannot be put into the cache")
    }
    let store = try store(to: "show a result before it is known")
    // Removed at the latest when the last reader of the response is gone.
    let layer = try Owned(store.addOptimistic(data, for: operation)) { store.removeOptimistic($0) }
    var request = request
    request.context[OptimisticLayerKey.self] = layer.value
    let stream = execute(request)
    return ResponseStream(pull: {
      do {
        let response = try await stream.next()
        if response?.source != .cache { store.removeOptimistic(layer.value) }
        return response
      } catch {
        store.removeOptimistic(layer.value)
        throw error
      }
    })
  }
}
