public import GQLRunJSON
import GQLRunSupport

/// The expected result of a mutation, shown above the records of a store until the response
/// arrives.
///
/// Readers and watchers see a layer immediately; dumps, statistics and transactions do not contain
/// it. Layers are stacked in the order in which they were added. Each can be removed at any time,
/// which leaves the records and the other layers. Layers end with the process, and when the store
/// is cleared.
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
  /// The number of the layer, unique in its process.
  public let id: UInt64

  private static let lastID = Locked<UInt64>(0)

  init() {
    id = Self.lastID.withLock {
      $0 += 1
      return $0
    }
  }

  /// The content of a layer.
  struct Content: Sendable {
    let layer: OptimisticLayer
    let edits: [StoreEdit]
    /// The fields it covers; `nil` if they are unknown.
    let fingerprints: Fingerprints?
  }
}

/// The content of a new optimistic layer.
public struct OptimisticDraft: Sendable {
  private let segmentSeed: UInt64
  private var edits: [StoreEdit] = []

  init(segmentSeed: UInt64) { self.segmentSeed = segmentSeed }

  /// Adds the data of an operation.
  ///
  /// - Parameters:
  ///   - data: Complete for the operation's selection set, with `__typename` and key fields.
  ///   - operation: Usually a mutation.
  /// - Throws: ``CacheError`` with code `invalidData` and the first field that is missing or not
  ///   selected.
  public mutating func write(
    _ data: JSONValue, for operation: PreparedOperation
  ) throws(CacheError) {
    edits.append(
      .records(try operation.records(ofData: data, segmentSeed: segmentSeed).table))
  }

  /// Hides a record, or a field of it.
  ///
  /// - Throws: ``CacheError`` if the removal names the whole query root, or not a record.
  public mutating func remove(_ removal: RecordRemoval) throws(CacheError) {
    edits.append(.removals([try removal.target()]))
  }

  func finish() -> OptimisticLayer.Content {
    OptimisticLayer.Content(
      layer: OptimisticLayer(), edits: edits, fingerprints: StoreEdit.fingerprints(of: edits))
  }
}

extension CacheStore {
  /// Adds an optimistic layer with the data of an operation. Readers and watchers see it
  /// immediately.
  ///
  /// Does not wait, even if a response is being written.
  ///
  /// - Parameters:
  ///   - data: Complete for the operation's selection set, with `__typename` and key fields.
  ///   - operation: Usually a mutation.
  /// - Throws: ``CacheError`` with code `invalidData` and the first field that is missing or not
  ///   selected.
  public func addOptimistic(
    _ data: JSONValue, for operation: PreparedOperation
  ) throws(CacheError) -> OptimisticLayer {
    try addOptimistic { draft throws(CacheError) in try draft.write(data, for: operation) }
  }

  /// Adds an optimistic layer with the data and removals of a draft.
  public func addOptimistic(
    _ edit: (inout OptimisticDraft) throws(CacheError) -> Void
  ) throws(CacheError) -> OptimisticLayer {
    var draft = OptimisticDraft(segmentSeed: records.segmentSeed)
    try edit(&draft)
    let content = draft.finish()
    records.activity.add(content)
    return content.layer
  }

  /// Removes a layer, wherever it is in the stack. Does nothing if it is already removed.
  public func removeOptimistic(_ layer: OptimisticLayer) { records.activity.remove(layer) }
}

extension StoreEdit {
  /// The fields that edits change; `nil` if they remove a record, whose fields are unknown.
  static func fingerprints(of edits: [StoreEdit]) -> Fingerprints? {
    var fingerprints = Fingerprints()
    for edit in edits {
      switch edit {
      case .records(let table):
        for index in table.live where !Segments.isSegment(key: table.key(at: index)) {
          fingerprints.add(record: table.key(at: index), text: table.text(at: index))
        }
      case .removals(let removals):
        for (key, field) in removals {
          guard let field else { return nil }
          fingerprints.add(key: key, quotedField: field)
        }
      case .deltas(let deltas):
        for delta in deltas {
          guard case .field(let field)? = delta.steps.first else { continue }
          fingerprints.add(key: delta.owner, quotedField: field)
        }
      }
    }
    return fingerprints
  }
}
