import Foundation

/// Who watches a store, and what lies above its records for the time being.
///
/// All stores of one process that use one file share it, so that what one of them writes is seen by the
/// watchers of all.
///
/// `@unchecked Sendable`: everything that changes is read and written under the lock.
public final class StoreActivity: @unchecked Sendable {
  private let lock = NSLock()
  private var signals: [ObjectIdentifier: WatchSignal] = [:]
  private var layers: [OptimisticLayer.Content] = []
  private var clearings = 0
  private var memory: RecordFront?
  /// Held while a commit becomes visible together with what goes away above it, and while a reader
  /// takes both.
  private let visibility = NSLock()
  /// The concrete types that the records of the store have met, for operations without a schema.
  let concreteTypes = ConcreteTypes()

  init() {}

  /// The most changed fields that are collected for watchers. A write that changes more makes them all
  /// look again, rather than fill the memory.
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

  /// Who is not told of the commits of this task.
  @TaskLocal static var silenced: WatchSignal?

  /// Whether anybody wants to know what changes.
  var isWatched: Bool { lock.withLock { !signals.isEmpty } }

  /// How many watches there are.
  var watchCount: Int { lock.withLock { signals.count } }

  func add(_ signal: WatchSignal) { lock.withLock { signals[ObjectIdentifier(signal)] = signal } }

  func remove(_ signal: WatchSignal) { lock.withLock { signals[ObjectIdentifier(signal)] = nil } }

  /// Tells the watchers what a commit has changed, when others can see it.
  func post(_ summary: WriteSummary) {
    guard isWatched else { return }
    if !summary.changesAreKnown { return postUnknown() }
    if !summary.changes.isEmpty { post(Fingerprints(summary.changes)) }
  }

  /// Tells the watchers what housekeeping has taken away.
  func post(_ summary: RemovalSummary) {
    guard isWatched, !summary.isEmpty else { return }
    if summary.changes.count > Self.changeLimit || summary.changes.isEmpty { return postUnknown() }
    post(Fingerprints(summary.changes))
  }

  /// Tells the watchers that anything may have changed.
  func postUnknown() { post(nil) }

  func post(_ changes: Fingerprints?) {
    let silenced = Self.silenced
    for signal in lock.withLock({ Array(signals.values) }) where signal !== silenced {
      signal.post(changes)
    }
  }

  // MARK: Layers

  /// The edits above the records, in the order in which they were added; empty most of the time.
  var edits: [StoreEdit] { lock.withLock { layers.flatMap(\.edits) } }

  var hasLayers: Bool { lock.withLock { !layers.isEmpty } }

  func add(_ layer: OptimisticLayer.Content) {
    lock.withLock { layers.append(layer) }
    post(layer.fingerprints)
  }

  /// Takes a layer away; nothing happens when it is gone already.
  func remove(_ layer: OptimisticLayer) { post([take(layer)]) }

  /// Takes a layer away without telling; the caller posts what is returned when the rest of its
  /// change is visible.
  func take(_ layer: OptimisticLayer) -> OptimisticLayer.Content? {
    lock.withLock {
      layers.firstIndex { $0.layer == layer }.map { layers.remove(at: $0) }
    }
  }

  func post(_ removed: [OptimisticLayer.Content?]) {
    for case let layer? in removed { post(layer.fingerprints) }
  }

  /// Runs `body` so that readers who take the layers with ``reading(_:)`` see all it does, or nothing.
  func changing<R>(_ body: () throws -> R) rethrows -> R {
    try visibility.withLock(body)
  }

  /// Calls `body` with the layers, while no commit becomes visible.
  func reading<R>(_ body: ([StoreEdit]) throws -> R) rethrows -> R {
    try visibility.withLock { try body(edits) }
  }

  // MARK: Memory in front of a file

  /// The records of the file that are kept in memory, too, when one of its stores wants that.
  var front: RecordFront? { lock.withLock { memory } }

  /// Keeps records of the file in memory, too: as many as the store that wants most.
  func keepInMemory(_ size: Int) {
    lock.withLock {
      if memory.map({ $0.maxSize < size }) ?? true { memory = RecordFront(maxSize: size) }
    }
  }

  /// Notes that records may have changed in ways that are not known here.
  func noteUnknownChanges() {
    changing { front?.clear() }
    postUnknown()
  }

  // MARK: Clearing

  /// How often the store was cleared. What was asked for before a clearing is not written after it.
  var epoch: Int { lock.withLock { clearings } }

  /// Notes that every record is gone: the layers go, too.
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
