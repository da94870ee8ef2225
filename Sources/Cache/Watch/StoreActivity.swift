import GQLRunSupport

/// The watchers of a store and the optimistic layers above its records.
///
/// The stores of one process on the same file share it, so that each one's writes reach the
/// watchers of all.
package final class StoreActivity: Sendable {
  private struct State {
    var signals: [ObjectIdentifier: WatchSignal] = [:]
    var layers: [OptimisticLayer.Content] = []
    var clearings = 0
    var tier: MemoryTier?
    /// The numbers of the ``ResponseTypes`` that are known.
    var learned: Set<UInt64> = []
  }

  private let state = Locked(State())
  /// Held while a commit becomes visible together with the removal of layers, and while a reader
  /// takes a snapshot of both.
  private let visibility = Locked(())
  /// The concrete types that the records of the store have met, for operations without a schema.
  let concreteTypes = ConcreteTypes()

  /// The maximum number of changed fields that are collected for watchers. A larger write makes all
  /// watchers read again.
  static let changeLimit = 100_000

  // MARK: Types

  /// Takes over which concrete types a response had.
  func learn(_ types: ResponseTypes) {
    let isNew = state.withLock { state in
      if state.learned.count > 1024 { state.learned = [] }
      return state.learned.insert(types.number).inserted
    }
    if isNew { concreteTypes.add(types.concreteTypes) }
  }

  // MARK: Watchers

  /// The watcher that is not notified of this task's commits.
  @TaskLocal static var silenced: WatchSignal?

  /// Whether there are watchers.
  var isWatched: Bool { state.withLock { !$0.signals.isEmpty } }

  /// Which changed fields a transaction collects.
  ///
  /// - Parameter all: Whether the store collects all of them, with or without watchers.
  func collection(all: Bool) -> ChangeCollection { all ? .all : isWatched ? .bounded : .none }

  /// The number of watchers.
  var watchCount: Int { state.withLock { $0.signals.count } }

  func add(_ signal: WatchSignal) {
    state.withLock { $0.signals[ObjectIdentifier(signal)] = signal }
  }

  func remove(_ signal: WatchSignal) {
    state.withLock { $0.signals[ObjectIdentifier(signal)] = nil }
  }

  /// Notifies the watchers of a commit's changes, after they are visible.
  func post(_ summary: WriteSummary) {
    guard isWatched else { return }
    if !summary.changesAreKnown { return postUnknown() }
    // A result that is read with errors depends on them like on the value of the field.
    let changes = summary.errors.isEmpty ? summary.changes : summary.changes.union(summary.errors)
    if !changes.isEmpty { post(Fingerprints(changes)) }
  }

  /// Notifies the watchers of removed records.
  func post(_ summary: RemovalSummary) {
    guard isWatched, !summary.isEmpty else { return }
    if summary.changes.count > Self.changeLimit || summary.changes.isEmpty { return postUnknown() }
    post(Fingerprints(summary.changes))
  }

  /// Notifies the watchers that anything may have changed.
  func postUnknown() { post(nil) }

  func post(_ changes: Fingerprints?) {
    let silenced = Self.silenced
    for signal in state.withLock({ Array($0.signals.values) }) where signal !== silenced {
      signal.post(changes)
    }
  }

  // MARK: Layers

  /// The edits of all layers, in the order in which they were added; usually empty.
  var edits: [StoreEdit] { state.withLock { $0.layers.flatMap(\.edits) } }

  var hasLayers: Bool { state.withLock { !$0.layers.isEmpty } }

  func add(_ layer: OptimisticLayer.Content) {
    state.withLock { $0.layers.append(layer) }
    post(layer.fingerprints)
  }

  /// Removes a layer, and notifies watchers. Does nothing if it is already removed.
  func remove(_ layer: OptimisticLayer) { post([take(layer)]) }

  /// Removes a layer without notification; the caller posts the result when the whole change is
  /// visible.
  func take(_ layer: OptimisticLayer) -> OptimisticLayer.Content? {
    state.withLock { state in
      state.layers.firstIndex { $0.layer == layer }.map { state.layers.remove(at: $0) }
    }
  }

  func post(_ removed: [OptimisticLayer.Content?]) {
    for case let layer? in removed { post(layer.fingerprints) }
  }

  /// Runs `body` so that callers of ``reading(_:)`` see all of its changes or none.
  func changing<Result: Sendable, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try visibility.withLock { _ throws(Failure) in try body() }
  }

  /// Calls `body` with the edits of all layers, while no commit becomes visible.
  func reading<Result: Sendable, Failure: Error>(
    _ body: ([StoreEdit]) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try visibility.withLock { _ throws(Failure) in try body(edits) }
  }

  // MARK: Memory tier

  /// The memory tier of the file, if one of its stores has one.
  var memoryTier: MemoryTier? { state.withLock { $0.tier } }

  /// Sets the size of the memory tier; the largest of all stores applies.
  func keepInMemory(_ size: Int) {
    state.withLock { state in
      if state.tier.map({ $0.maxSize < size }) ?? true { state.tier = MemoryTier(maxSize: size) }
    }
  }

  /// Invalidates the memory tier and notifies watchers, because records may have changed in an
  /// unknown way.
  func noteUnknownChanges() {
    changing { memoryTier?.clear() }
    postUnknown()
  }

  // MARK: Clearing

  /// The number of times the store was cleared. A response that was requested before is not
  /// written.
  var epoch: Int { state.withLock { $0.clearings } }

  /// Counts a clearing, and removes the layers.
  func noteCleared() {
    state.withLock { state in
      state.clearings += 1
      state.layers = []
      state.learned = []
    }
    concreteTypes.removeAll()
    noteUnknownChanges()
  }
}
