/// The records of parts of one response that are committed together, in as few batches as possible.
///
/// Batches are joined if the result is that of writing one after the other: none has pages to join with stored lists, or
/// errors to store, and a later one has no record in which an earlier one changes a value.
struct JoinedParts {
  /// The batches, to be committed in this order.
  private(set) var batches: [RecordBatch] = []
  private let segmentSeed: UInt64
  /// Adds records to those of the last batch; `nil` before the first ones.
  private var editor: TableEditor?
  /// The keys of the records in which the last batch changes values; `nil` if nothing can be joined with it.
  private var owners: RecordTable?

  init(_ parts: [RecordBatch], segmentSeed: UInt64) {
    self.segmentSeed = segmentSeed
    for part in parts { add(part) }
    for index in batches.indices { batches[index].deltas = Self.joined(batches[index].deltas) }
  }

  private mutating func add(_ part: RecordBatch) {
    let isJoinable = part.paging == nil && part.table.errorCount == 0 && part.nullsAreFacts
    if isJoinable, let last = batches.indices.last, accepts(part, at: last) {
      join(part, at: last)
    } else {
      batches.append(part)
      editor = nil
      owners = isJoinable ? RecordTable() : nil
    }
    for delta in part.deltas { delta.owner.withBytes { owners?.insertMissing($0) } }
  }

  private func accepts(_ part: RecordBatch, at index: Int) -> Bool {
    guard let owners, part.received == batches[index].received else { return false }
    let table = part.table
    return owners.isEmpty
      || !table.live.contains { owners.find(table.key(at: $0), hash: table.hash(at: $0)) != nil }
  }

  private mutating func join(_ part: RecordBatch, at index: Int) {
    if !part.table.isEmpty {
      // In a table of its own, because the records of later parts are added.
      var editor = self.editor
      if batches[index].table.isEmpty {
        editor = TableEditor(table: part.table.compacted(), seed: segmentSeed)
      } else {
        editor =
          editor ?? TableEditor(table: batches[index].table.compacted(), seed: segmentSeed)
        _ = editor?.apply([.records(part.table)], [], collects: .none)
      }
      if let editor { batches[index].table = editor.table }
      self.editor = editor
    }
    batches[index].deltas += part.deltas
    for new in part.types where !batches[index].types.contains(where: { $0.number == new.number }) {
      batches[index].types.append(new)
    }
  }

  /// The same changes, with neighbors that append to the same list as one.
  private static func joined(_ deltas: [RecordDelta]) -> [RecordDelta] {
    var joined: [RecordDelta] = []
    var start = 0
    while start < deltas.count {
      var end = start + 1
      while end < deltas.count, deltas[end].continues(deltas[end - 1]) { end += 1 }
      joined.append(RecordDelta(joining: deltas[start..<end]))
      start = end
    }
    return joined
  }
}

extension RecordDelta {
  /// Whether the change appends the elements behind those of `other` to the same list.
  fileprivate func continues(_ other: RecordDelta) -> Bool {
    guard case .elements(let text, let indices) = change,
      case .elements(let before, let earlier) = other.change
    else { return false }
    // Lists of objects and of leaf values, which are not split into segments.
    let isPlain = text.first == UInt8(ascii: "[") || text.first == UInt8(ascii: " ")
    return isPlain && text.first == before.first && !indices.isEmpty && !earlier.isEmpty
      && indices.lowerBound == earlier.upperBound && owner == other.owner && steps == other.steps
  }

  /// - Parameter deltas: Each continues the one before. Not empty.
  fileprivate init(joining deltas: ArraySlice<RecordDelta>) {
    self = deltas[deltas.startIndex]
    guard deltas.count > 1, case .elements(_, let first) = change else { return }
    var text: [UInt8] = []
    text.reserveCapacity(deltas.reduce(0) { $0 + $1.addedSize })
    var end = first.upperBound
    for case .elements(let elements, let indices) in deltas.map(\.change) {
      var added = elements[...]
      if !text.isEmpty {
        text[text.count - 1] = UInt8(ascii: ",")
        added = elements.dropFirst(elements.first == UInt8(ascii: " ") ? 2 : 1)
      }
      text += added
      end = indices.upperBound
    }
    change = .elements(text, first.lowerBound..<end)
  }
}
