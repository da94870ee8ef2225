import Foundation

/// The watchers of a store and the optimistic layers above its records.
///
/// The stores of one process on the same file share it, so that each one's writes reach the
/// watchers of all.
///
/// `@unchecked Sendable`: the mutable state is guarded by the lock.
public final class StoreActivity: @unchecked Sendable {
  private let lock = NSLock()
  private var signals: [ObjectIdentifier: WatchSignal] = [:]
  private var layers: [OptimisticLayer.Content] = []
  private var clearings = 0
  private var tier: MemoryTier?
  /// Held while a commit becomes visible together with the removal of layers, and while a reader
  /// takes a snapshot of both.
  private let visibility = NSLock()
  /// The concrete types that the records of the store have met, for operations without a schema.
  let concreteTypes = ConcreteTypes()

  init() {}

  /// The maximum number of changed fields that are collected for watchers. A larger write makes all
  /// watchers read again.
  static let changeLimit = 100_000

  // MARK: Types

  private var learned: Set<UInt64> = []

  /// Takes over which concrete types a response had.
  func learn(_ shapes: TypeShapes) {
    let isNew = lock.withLock {
      if learned.count > 1024 { learned = [] }
      return learned.insert(shapes.number).inserted
    }
    if isNew { concreteTypes.add(shapes.concreteTypes) }
  }

  // MARK: Watchers

  /// The watcher that is not notified of this task's commits.
  @TaskLocal static var silenced: WatchSignal?

  /// Whether there are watchers.
  var isWatched: Bool { lock.withLock { !signals.isEmpty } }

  /// The number of watchers.
  var watchCount: Int { lock.withLock { signals.count } }

  func add(_ signal: WatchSignal) { lock.withLock { signals[ObjectIdentifier(signal)] = signal } }

  func remove(_ signal: WatchSignal) { lock.withLock { signals[ObjectIdentifier(signal)] = nil } }

  /// Notifies the watchers of a commit's changes, after they are visible.
  func post(_ summary: WriteSummary) {
    guard isWatched else { return }
    if !summary.changesAreKnown { return postUnknown() }
    if !summary.changes.isEmpty { post(Fingerprints(summary.changes)) }
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
    for signal in lock.withLock({ Array(signals.values) }) where signal !== silenced {
      signal.post(changes)
    }
  }

  // MARK: Layers

  /// The edits of all layers, in the order in which they were added; usually empty.
  var edits: [StoreEdit] { lock.withLock { layers.flatMap(\.edits) } }

  var hasLayers: Bool { lock.withLock { !layers.isEmpty } }

  func add(_ layer: OptimisticLayer.Content) {
    lock.withLock { layers.append(layer) }
    post(layer.fingerprints)
  }

  /// Removes a layer, and notifies watchers. Does nothing if it is already removed.
  func remove(_ layer: OptimisticLayer) { post([take(layer)]) }

  /// Removes a layer without notification; the caller posts the result when the whole change is
  /// visible.
  func take(_ layer: OptimisticLayer) -> OptimisticLayer.Content? {
    lock.withLock {
      layers.firstIndex { $0.layer == layer }.map { layers.remove(at: $0) }
    }
  }

  func post(_ removed: [OptimisticLayer.Content?]) {
    for case let layer? in removed { post(layer.fingerprints) }
  }

  /// Runs `body` so that callers of ``reading(_:)`` see all of its changes or none.
  func changing<R>(_ body: () throws -> R) rethrows -> R {
    try visibility.withLock(body)
  }

  /// Calls `body` with the edits of all layers, while no commit becomes visible.
  func reading<R>(_ body: ([StoreEdit]) throws -> R) rethrows -> R {
    try visibility.withLock { try body(edits) }
  }

  // MARK: Memory tier

  /// The memory tier of the file, if one of its stores has one.
  var memoryTier: MemoryTier? { lock.withLock { tier } }

  /// Sets the size of the memory tier; the largest of all stores applies.
  func keepInMemory(_ size: Int) {
    lock.withLock {
      if tier.map({ $0.maxSize < size }) ?? true { tier = MemoryTier(maxSize: size) }
    }
  }

  /// Invalidates the memory tier and notifies watchers, because records may have changed in an
  /// unknown way.
  func noteUnknownChanges() {
    changing { tier?.clear() }
    postUnknown()
  }

  // MARK: Clearing

  /// The number of times the store was cleared. A response that was requested before is not
  /// written.
  var epoch: Int { lock.withLock { clearings } }

  /// Counts a clearing, and removes the layers.
  func noteCleared() {
    lock.withLock {
      clearings += 1
      layers = []
      learned = []
    }
    concreteTypes.removeAll()
    noteUnknownChanges()
  }
}
