/// Records as they are with edits above them.
struct LayeredSource<Base: RecordSource>: RecordSource {
  private let lookup: LayeredLookup<Base>

  init(_ base: Base, edits: [StoreEdit], seed: UInt64) {
    lookup = LayeredLookup(base, edits: edits, seed: seed)
  }

  var failure: CacheError? { lookup.base.failure }

  mutating func text(key: Bytes, depth: Int) -> Bytes? { lookup.text(key: key, depth: depth) }
}

/// The state of a ``LayeredSource``, which its merges need, too.
private final class LayeredLookup<Base: RecordSource>: SegmentAccess {
  fileprivate var base: Base
  private let edits: [StoreEdit]
  /// The records that an edit concerns, by key; their texts are empty.
  private let concerned = RecordTable()
  /// The segments of lists that were merged here.
  private let merged = RecordTable()
  private let segments: StagedSegments
  /// The texts made last, by depth.
  private var texts: [TextBuffer] = []
  private var depth = 0

  init(_ base: Base, edits: [StoreEdit], seed: UInt64) {
    self.base = base
    self.edits = edits
    segments = StagedSegments(table: merged, seed: seed)
    for edit in edits {
      edit.forEachKey { key in
        let hash = RecordTable.hash(key)
        if concerned.find(key, hash: hash) == nil {
          concerned.insert(key, hash: hash, text: .empty)
        }
      }
    }
  }

  func text(key: Bytes, depth: Int) -> Bytes? {
    guard concerned.find(key) != nil else {
      return base.text(key: key, depth: depth)
        ?? merged.find(key).map { merged.text(at: $0) }
    }
    self.depth = depth
    var text = base.text(key: key, depth: depth)?.array
    for edit in edits { text = edit.apply(to: key, text, access: self) }
    guard let text else { return nil }
    while texts.count <= depth { texts.append(TextBuffer()) }
    return texts[depth].hold(text)
  }

  func segment(key: [UInt8]) -> [UInt8]? {
    key.withUnsafeBufferPointer { key in
      if let index = merged.find(Bytes(key)) { return merged.text(at: index).array }
      for case .records(let table) in edits {
        if let index = table.find(Bytes(key)) { return table.text(at: index).array }
      }
      return base.text(key: Bytes(key), depth: depth)?.array
    }
  }

  func addSegment(elements: Bytes) -> UInt64 { segments.addSegment(elements: elements) }

  /// Nothing is removed: the records below still refer to it.
  func removeSegment(key: [UInt8]) {}
}

/// Keeps one text where it does not move.
private final class TextBuffer {
  private var bytes = ByteStack(capacity: 1024)

  func hold(_ text: [UInt8]) -> Bytes {
    bytes.truncate(to: 0)
    text.withUnsafeBufferPointer { bytes.append($0) }
    return bytes.all
  }
}
