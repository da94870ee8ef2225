import GQLRunLanguage

/// A removal of records. A file makes it in several transactions if it is large, the other stores in one.
package enum HousekeepingTask: Sendable {
  /// Removes records, or fields of records.
  case remove(RecordSelection)
  /// Removes the records that neither root fields nor redirects reach.
  ///
  /// - Parameters:
  ///   - date: Root fields and records of redirects that were received before it reach nothing.
  ///   - prefixes: The prefixes of records that redirects reach.
  case collectGarbage(rootsBefore: Int?, keeping: Set<String>)
  /// Removes the records of the lowest rank until at most this number of bytes remains.
  case trim(to: Int)

  /// The action, for error messages.
  var action: String {
    switch self {
    case .remove: "remove records of the cache"
    case .collectGarbage: "collect the garbage of the cache"
    case .trim: "trim the cache"
    }
  }

  /// Whether it may remove records to which others refer, so that their references dangle at its end.
  var leavesDanglingReferences: Bool {
    if case .collectGarbage = self { false } else { true }
  }

  func run(on records: some HousekeepingRecords, _ log: RemovalLog) throws {
    let housekeeping = Housekeeping(records: records, log: log)
    switch self {
    case .remove(let selection): try housekeeping.remove(selection)
    case .collectGarbage(let date, let prefixes):
      try housekeeping.collectGarbage(rootsBefore: date, keeping: prefixes)
    case .trim(let size): try housekeeping.trim(to: size)
    }
  }
}

/// The records of a store, as housekeeping reads and removes them.
protocol HousekeepingRecords {
  /// Whether there are segments of long lists.
  var hasSegments: Bool { get throws }
  /// Whether ``edit(prefix:needsTexts:removed:body:)`` reads the records in the order of their keys.
  var isSorted: Bool { get }

  /// Calls `body` with each record whose key begins with `prefix`, in the order of the store, and makes the change that
  /// it returns.
  ///
  /// - Parameters:
  ///   - needsTexts: Whether `body` reads the texts of the records. They are empty otherwise, if that costs less.
  ///   - removed: Called with key and text of each removed record.
  func edit(
    prefix: [UInt8], needsTexts: Bool, removed: (Bytes, Bytes) -> Void,
    body: (HousekeepingRecord) throws -> RecordChange
  ) throws

  /// Calls `body` with key and text of those of the records that exist and are undamaged.
  func forEach(_ keys: [[UInt8]], _ body: (Bytes, Bytes) throws -> Void) throws
}

/// A stored record or segment, as housekeeping sees it.
struct HousekeepingRecord {
  let key: Bytes
  /// The text; empty if the record is damaged.
  let text: Bytes
  /// The bytes of key and text.
  let size: Int
  let times: RecordTimes
  /// The number of the last use, or the time at which the record was received. Trimming removes the records with the
  /// lowest rank first.
  let rank: UInt32

  var isSegment: Bool { Segments.isSegment(key: key) }
}

/// What housekeeping does with a record.
enum RecordChange {
  case keep
  case remove
  case replace([UInt8], RecordTimes)
}

/// Removes records, with the same rules in every store.
///
/// It reads the records in sequence. Each change leaves records that are read correctly, with misses for what was removed,
/// so that a store may commit after any of them: errors are removed before their records, segments after their lists.
struct Housekeeping<Records: HousekeepingRecords> {
  let records: Records
  let log: RemovalLog

  /// The maximum number of records that are requested by key at a time.
  private static var maxRequested: Int { 500 }
  /// The maximum number of keys that wait to be requested.
  private static var maxPending: Int { 100_000 }

  // MARK: Selected records

  func remove(_ selection: RecordSelection) throws {
    // The errors of the records' fields, and of fields whose record has nothing else.
    let prefix = ErrorRecord.prefix + selection.commonPrefix
    try edit(prefix: prefix, needsTexts: true) { record in
      guard let owner = ErrorRecord.owner(of: record.key), selection.matches(key: owner) else {
        return .keep
      }
      let errors = StoredErrors(record.text)
      guard let rest = selection.remainder(of: errors) else { return .remove }
      if rest.count == record.text.count { return .keep }
      log.noteRemoved(
        errors.positions.map { StoredErrors.quotedName(of: $0.steps) }, of: record.key,
        bytes: record.text.count - rest.count)
      return .replace(rest, record.times.replacing([], in: rest))
    }
    try edit(prefix: selection.commonPrefix, needsTexts: !selection.isOfRecords) { record in
      guard selection.matches(key: record.key) else { return .keep }
      guard let (rest, removed) = selection.remainder(of: record.text) else { return .remove }
      if removed.isEmpty { return .keep }
      log.noteRemoved(removed, of: record.key, bytes: record.text.count - rest.count)
      return .replace(rest, record.times.replacing([], in: rest))
    }
  }

  // MARK: Garbage

  func collectGarbage(rootsBefore date: Int?, keeping prefixes: Set<String>) throws {
    var reached = KeySet()
    let roots = RootRecord.prefix(of: .query)
    try edit(prefix: Array(roots.utf8), needsTexts: true) { record in
      if let date, record.times.received < date { return .remove }
      reached.insert(record.key)
      // All of it, because it follows most records that it refers to.
      RecordLinks.forEach(in: record.text, of: record.key) { reached.insert($0) }
      return .keep
    }
    for prefix in prefixes {
      try edit(prefix: Array("\(prefix):".utf8)) { record in
        if date.map({ record.times.received >= $0 }) ?? true { reached.insert(record.key) }
        return .keep
      }
    }
    var failed = KeySet()
    try edit(prefix: ErrorRecord.prefix) { record in
      guard let owner = ErrorRecord.owner(of: record.key) else { return .keep }
      failed.insert(owner)
      // A root field that failed may have no record.
      if owner.hasPrefix("QUERY_ROOT."), date.map({ record.times.received >= $0 }) ?? true {
        reached.insert(owner)
        reached.insert(record.key)
      }
      return .keep
    }
    try reach(&reached, failed: failed)
    try edit { record in
      let owner = ErrorRecord.owner(of: record.key)
      let isReached = reached.contains(record.key) || owner.map { reached.contains($0) } ?? false
      return isReached ? .keep : .remove
    }
  }

  /// Adds the keys of the records and segments that those of a set reach.
  ///
  /// A record that follows the one that refers to it is found by reading all in sequence; the others are requested by
  /// key. If these are too many, all records are read again. What root fields refer to is in the set.
  ///
  /// - Parameter failed: The keys of records with errors, which reach what their errors refer to.
  private func reach(_ reached: inout KeySet, failed: KeySet) throws {
    let maxPending = records.isSorted ? Self.maxPending : .max
    var isComplete = false
    while !isComplete {
      isComplete = true
      var pending: [[UInt8]] = []
      func note(_ key: Bytes) {
        guard reached.insert(key) else { return }
        if pending.count < maxPending { pending.append(key.array) } else { isComplete = false }
      }
      func follow(_ key: Bytes, _ text: Bytes, noting note: (Bytes) -> Void) {
        RecordLinks.forEach(in: text, of: key, note)
        if failed.contains(key) { ErrorRecord.key(of: key).withBytes(note) }
      }
      try edit(needsTexts: true) { record in
        guard reached.contains(record.key) else { return .keep }
        let isRoot = record.key.hasPrefix("QUERY_ROOT.")
        follow(record.key, isRoot ? .empty : record.text) { key in
          if records.isSorted, compareKeys(record.key, key) {
            reached.insert(key)
          } else {
            note(key)
          }
        }
        return .keep
      }
      while !pending.isEmpty {
        let keys = Array(pending.suffix(Self.maxRequested))
        pending.removeLast(keys.count)
        try records.forEach(keys) { key, text in
          try log.noteRead()
          follow(key, text, noting: note)
        }
      }
    }
  }

  // MARK: Size

  func trim(to limit: Int) throws {
    while true {
      var segments = SegmentUses()
      if try records.hasSegments {
        try edit(prefix: Segments.prefix, needsTexts: true) { record in
          segments.add(record)
          return .keep
        }
      }
      let hasSegments = !segments.isEmpty
      var total = segments.bytes
      var sizes: [UInt32: Int] = [:]
      try edit(needsTexts: hasSegments) { record in
        if record.isSegment { return .keep }
        total += record.size
        let lists = hasSegments ? segments.add(ownedBy: record) : 0
        sizes[record.rank, default: 0] += record.size + lists
        return .keep
      }
      total -= try removeUnused(&segments)
      guard total > limit, !sizes.isEmpty else { return }
      // Removes the lowest ranks completely, and of the last one only as much as required.
      var left = total - limit
      var last = UInt32(0)
      for (rank, size) in sizes.sorted(by: { $0.key < $1.key }) {
        last = rank
        if size >= left { break }
        left -= size
      }
      try edit(needsTexts: hasSegments) { record in
        if record.isSegment || record.rank > last { return .keep }
        if record.rank == last, left <= 0 { return .keep }
        let lists = hasSegments ? segments.remove(ownedBy: record) : 0
        if record.rank == last { left -= record.size + lists }
        total -= record.size
        return .remove
      }
      total -= try removeUnused(&segments)
      // Segments that several lists share were counted for each of them.
      if total <= limit { return }
    }
  }

  /// Removes segments that belong to no list; returns their size in bytes.
  private func removeUnused(_ segments: inout SegmentUses) throws -> Int {
    let unused = segments.takeUnused()
    if unused.isEmpty { return 0 }
    var bytes = 0
    try edit(prefix: Segments.prefix) { record in
      guard unused.contains(record.key.array) else { return .keep }
      bytes += record.size
      return .remove
    }
    return bytes
  }

  // MARK: Records

  private func edit(
    prefix: [UInt8] = [], needsTexts: Bool = false,
    _ body: (HousekeepingRecord) throws -> RecordChange
  ) throws {
    try records.edit(prefix: prefix, needsTexts: needsTexts, removed: log.noteRemoved) { record in
      try log.noteRead()
      return try body(record)
    }
  }
}

/// The segments of a store, and how many records have lists in them.
private struct SegmentUses {
  private struct Segment {
    let bytes: Int
    /// The segments of lists in its elements.
    let parts: [[UInt8]]
    var owners = 0
  }

  private var segments: [[UInt8]: Segment] = [:]
  /// The bytes of all segments.
  private(set) var bytes = 0

  var isEmpty: Bool { segments.isEmpty }

  mutating func add(_ record: HousekeepingRecord) {
    bytes += record.size
    segments[record.key.array] = Segment(
      bytes: record.size, parts: RecordLinks.segments(of: record.text, key: record.key))
  }

  /// Counts the segments of a record's lists; returns their size in bytes.
  mutating func add(ownedBy record: HousekeepingRecord) -> Int { count(record, 1) }

  /// Stops counting the segments of a record's lists; returns their size in bytes.
  mutating func remove(ownedBy record: HousekeepingRecord) -> Int { count(record, -1) }

  private mutating func count(_ record: HousekeepingRecord, _ number: Int) -> Int {
    var bytes = 0
    for key in RecordLinks.segments(of: record.text, key: record.key) {
      segments[key]?.owners += number
      bytes += segments[key]?.bytes ?? 0
    }
    return bytes
  }

  /// Removes the segments that belong to no list of a record, directly or in another segment; returns their keys.
  mutating func takeUnused() -> Set<[UInt8]> {
    var unused = Set(segments.keys)
    var used = segments.filter { $0.value.owners > 0 }.map(\.key)
    while let key = used.popLast() {
      if unused.remove(key) != nil { used += segments[key]?.parts ?? [] }
    }
    for key in unused { segments[key] = nil }
    return unused
  }
}
