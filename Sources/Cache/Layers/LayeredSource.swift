/// A source of records with edits applied to them. Its merges find the segments of lists in it as well.
final class LayeredSource<Base: RecordSource>: RecordSource, SegmentAccess {
  private var base: Base
  private let edits: [StoreEdit]
  /// The records that an edit changes, by key; their texts are empty.
  private let concerned = RecordTable()
  /// The segments of lists that were merged here.
  private let merged = RecordTable()
  private let segments: StagedRecords
  private let texts = HeldTexts()
  private var depth = 0
  /// The times of the latest record, if an edit changes it: the content of a layer has the layer's
  /// time.
  private var latest: RecordTimes?

  init(_ base: Base, edits: [StoreEdit], seed: UInt64) {
    self.base = base
    self.edits = edits
    segments = StagedRecords(table: merged, seed: seed)
    for edit in edits { edit.forEachKey { concerned.insertMissing($0) } }
  }

  var failure: CacheError? { base.failure }
  static var hasTimes: Bool { Base.hasTimes }
  func times(depth: Int) -> RecordTimes { latest ?? base.times(depth: depth) }
  var hasErrors: Bool { base.hasErrors }

  func text(key: Bytes, depth: Int) -> Bytes? {
    latest = nil
    if let owner = ErrorRecord.owner(of: key), concerned.find(owner) != nil {
      return errors(key, of: owner, depth: depth)
    }
    guard concerned.find(key) != nil else {
      return base.text(key: key, depth: depth)
        ?? merged.find(key).map { merged.text(at: $0) }
    }
    self.depth = depth
    var text = base.text(key: key, depth: depth)?.array
    var times = RecordTimes(received: 0)
    if Base.hasTimes, text != nil { times = base.times(depth: depth) }
    for edit in edits {
      let below = text
      text = edit.apply(to: key, below, access: self)
      if Base.hasTimes, let text { times = edit.times(of: key, times, below: below, text) }
    }
    latest = times
    return text.map { texts.hold($0, depth: depth) }
  }

  /// The errors below the edits, without those for which the edits have values.
  private func errors(_ key: Bytes, of owner: Bytes, depth: Int) -> Bytes? {
    guard let stored = base.text(key: key, depth: depth) else { return nil }
    var errors = StoredErrors(stored)
    if Base.hasTimes { latest = base.times(depth: depth) }
    self.depth = depth
    var text = base.text(key: owner, depth: depth)?.array
    for edit in edits {
      switch edit {
      case .records(let table):
        if let new = table.text(of: owner.array) {
          errors.positions = errors.remaining(after: new, over: text, access: self)
        }
      case .removals(let removals):
        for removal in removals where owner.equals(removal.key) {
          errors.positions = errors.remaining(without: removal.field)
        }
      case .deltas: break
      }
      text = edit.apply(to: owner, text, access: self)
    }
    return errors.positions.isEmpty ? nil : texts.hold(errors.text, depth: depth)
  }

  func text(of key: [UInt8]) -> [UInt8]? {
    if let text = merged.text(of: key) { return text }
    for case .records(let table) in edits {
      if let text = table.text(of: key) { return text }
    }
    return base.text(key: key, depth: depth)?.array
  }

  var segmentSeed: UInt64 { segments.segmentSeed }
  func storeSegment(_ key: Bytes, _ text: Bytes) -> Bool { segments.storeSegment(key, text) }

  /// Does nothing: the records below the edits still refer to the segment.
  func removeSegment(_ key: [UInt8]) {}
}

/// Keeps the latest text of each depth at a stable address.
final class HeldTexts {
  private final class Buffer {
    var bytes = ByteStack(capacity: 1024)
  }

  private var buffers: [Buffer] = []

  func hold(_ text: [UInt8], depth: Int) -> Bytes {
    while buffers.count <= depth { buffers.append(Buffer()) }
    let buffer = buffers[depth]
    buffer.bytes.truncate(to: 0)
    buffer.bytes.append(text)
    return buffer.bytes.all
  }
}
