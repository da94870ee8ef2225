public import GQLRunJSON

/// Data that a mutation will probably bring, above the records of a store until its answer is there.
///
/// Readers and watchers see a layer at once; what is dumped, counted and written by others does not
/// contain it. Layers lie above each other in the order in which they came, and each can go at any
/// time: what is left is the records and the remaining layers, in their order. They are gone with the
/// process, and when the store is cleared.
///
/// ```swift
/// let layer = try store.addOptimistic(guess, for: mutation)
/// do {
///   // … send the mutation, normalize its answer
///   try await response.write?.commit(settling: layer)
/// } catch {
///   store.removeOptimistic(layer)
///   throw error
/// }
/// ```
public struct OptimisticLayer: Sendable, Hashable {
  /// The number of the layer in its process.
  public let id: UInt64

  private static let counter = Counter()

  init() { id = Self.counter.next() }

  /// What a layer consists of.
  struct Content: Sendable {
    let layer: OptimisticLayer
    let edits: [StoreEdit]
    /// The fields it covers; `nil` when they are not known.
    let fingerprints: Fingerprints?
  }
}

/// What an optimistic layer is to contain.
public struct OptimisticDraft: Sendable {
  private let segmentSeed: UInt64
  private var edits: [StoreEdit] = []
  private var removesRecords = false

  init(segmentSeed: UInt64) { self.segmentSeed = segmentSeed }

  /// Adds the data of an operation, complete for its selection with `__typename` and key fields.
  ///
  /// - Throws: ``CacheError`` with code `invalidData` that names the first field that is missing or
  ///   not part of the operation.
  public mutating func write(
    _ data: JSONValue, for operation: PreparedOperation
  ) throws(CacheError) {
    edits.append(
      .records(try operation.records(ofData: data, segmentSeed: segmentSeed).table))
  }

  /// Hides a record, or a field of it.
  public mutating func remove(_ removal: RecordRemoval) throws(CacheError) {
    edits.append(.removals([try removal.target()]))
    if removal.field == nil { removesRecords = true }
  }

  func finish() -> OptimisticLayer.Content {
    OptimisticLayer.Content(
      layer: OptimisticLayer(), edits: edits,
      fingerprints: removesRecords ? nil : StoreEdit.fingerprints(of: edits))
  }
}

extension RecordStore {
  /// Puts `data` above the records of the store, where readers and watchers see it at once.
  ///
  /// Waits for nobody, not even for a response that is being written.
  ///
  /// - Parameters:
  ///   - data: Complete for the operation's selection, with `__typename` and key fields.
  ///   - operation: Usually a mutation.
  /// - Throws: ``CacheError`` with code `invalidData` that names the first field that is missing or
  ///   not part of the operation.
  public func addOptimistic(
    _ data: JSONValue, for operation: PreparedOperation
  ) throws(CacheError) -> OptimisticLayer {
    try addOptimistic { draft throws(CacheError) in try draft.write(data, for: operation) }
  }

  /// Puts the data and the removals of a draft above the records of the store.
  public func addOptimistic(
    _ edit: (inout OptimisticDraft) throws(CacheError) -> Void
  ) throws(CacheError) -> OptimisticLayer {
    var draft = OptimisticDraft(segmentSeed: segmentSeed)
    try edit(&draft)
    let content = draft.finish()
    activity.add(content)
    return content.layer
  }

  /// Takes a layer away, whatever lies above and below it. Nothing happens when it is gone already.
  public func removeOptimistic(_ layer: OptimisticLayer) { activity.remove(layer) }
}

extension StoreEdit {
  /// The fields that edits concern; those of removed records are not among them.
  static func fingerprints(of edits: [StoreEdit]) -> Fingerprints {
    var fingerprints = Fingerprints()
    for edit in edits {
      switch edit {
      case .records(let table):
        for index in table.live where !Segments.isSegment(key: table.key(at: index)) {
          fingerprints.add(record: table.key(at: index), text: table.text(at: index))
        }
      case .removals(let removals):
        for (key, field) in removals {
          key.withUnsafeBufferPointer { key in
            field?.withUnsafeBufferPointer {
              fingerprints.add(key: Bytes(key), quotedField: Bytes($0))
            }
          }
        }
      }
    }
    return fingerprints
  }
}
