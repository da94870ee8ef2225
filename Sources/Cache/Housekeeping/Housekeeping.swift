import GQLRunLanguage

/// A removal of records, in one transaction of a store.
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

  /// Whether it may remove records to which others refer, so that their references dangle.
  var leavesDanglingReferences: Bool {
    if case .collectGarbage = self { false } else { true }
  }

  /// - Parameter collectsChanges: Whether the removed fields are reported.
  func run(
    on records: some HousekeepingRecords, collectsChanges: Bool
  ) throws -> RemovalSummary {
    var housekeeping = Housekeeping(records, collectsChanges: collectsChanges)
    switch self {
    case .remove(let selection): try housekeeping.remove(selection)
    case .collectGarbage(let date, let prefixes):
      try housekeeping.collectGarbage(rootsBefore: date, keeping: prefixes)
    case .trim(let size): try housekeeping.trim(to: size)
    }
    return housekeeping.summary
  }
}

/// The records of a store in one transaction, as housekeeping reads and removes them.
protocol HousekeepingRecords {
  /// Whether there are segments of long lists.
  var hasSegments: Bool { get throws }

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
/// Its memory does not grow with the store: it reads the records in sequence, and remembers keys in a ``KeySet``.
struct Housekeeping<Records: HousekeepingRecords> {
  private let records: Records
  private let collectsChanges: Bool
  private(set) var summary = RemovalSummary()

  /// The maximum number of records that are requested by key at a time.
  private static var maxRequested: Int { 500 }

  init(_ records: Records, collectsChanges: Bool) {
    self.records = records
    self.collectsChanges = collectsChanges
  }

  // MARK: Selected records

  mutating func remove(_ selection: RecordSelection) throws {
    var changed = RemovalSummary()
    try edit(prefix: selection.commonPrefix, needsTexts: true) { [collectsChanges] record in
      guard selection.matches(key: record.key) else { return .keep }
      let (rest, removed) = selection.remainder(of: record.text)
      guard let rest else { return .remove }
      if removed.isEmpty { return .keep }
      changed.note(
        key: record.key, removed: removed, bytes: record.text.count - rest.count,
        collectsChanges: collectsChanges)
      return .replace(rest, record.times.replacing([], in: rest))
    }
    // The errors of the records' fields, and of fields whose record has nothing else.
    let prefix = ErrorRecord.prefix + selection.commonPrefix
    try edit(prefix: prefix, needsTexts: true) { [collectsChanges] record in
      guard let owner = ErrorRecord.owner(of: record.key), selection.matches(key: owner) else {
        return .keep
      }
      let errors = StoredErrors(record.text)
      guard let rest = selection.remainder(of: errors) else { return .remove }
      if rest.count == record.text.count { return .keep }
      changed.note(
        key: record.key, removed: errors.positions.map { StoredErrors.quotedName(of: $0.steps) },
        bytes: record.text.count - rest.count, collectsChanges: collectsChanges)
      return .replace(rest, record.times.replacing([], in: rest))
    }
    summary.add(changed)
  }

  // MARK: Garbage

  mutating func collectGarbage(rootsBefore date: Int?, keeping prefixes: Set<String>) throws {
    let reached = try KeySet()
    let roots = RootRecord.prefix(of: .query)
    for prefix in [roots] + prefixes.map({ $0 + ":" }) {
      try edit(prefix: Array(prefix.utf8)) { record in
        if let date, record.times.received < date { return prefix == roots ? .remove : .keep }
        try reached.insert(record.key)
        return .keep
      }
    }
    // A root field that failed may have no record.
    var hasErrors = false
    try edit(prefix: ErrorRecord.prefix) { record in
      hasErrors = true
      let isRecent = date.map { record.times.received >= $0 } ?? true
      if isRecent, ErrorRecord.owner(of: record.key)?.hasPrefix("QUERY_ROOT.") == true {
        try reached.insert(record.key)
      }
      return .keep
    }
    try reach(reached, withErrors: hasErrors)
    try edit { record in
      let isReached =
        try reached.contains(record.key)
        || ErrorRecord.owner(of: record.key).map { try reached.contains($0) } ?? false
      return isReached ? .keep : .remove
    }
  }

  /// Adds the keys of the records and segments that those of a set reach.
  ///
  /// - Parameter withErrors: Whether what the errors of a record refer to is reached, too.
  private func reach(
    _ reached: KeySet, onlySegments: Bool = false, withErrors: Bool = false
  ) throws {
    while true {
      var keys = try reached.next(Self.maxRequested)
      if keys.isEmpty { return }
      if withErrors { keys += keys.map { $0.withBytes { ErrorRecord.key(of: $0) } } }
      try records.forEach(keys) { key, text in
        try RecordLinks.forEach(in: text, of: key) { key in
          if !onlySegments || Segments.isSegment(key: key) { try reached.insert(key) }
        }
      }
    }
  }

  // MARK: Size

  mutating func trim(to limit: Int) throws {
    try removeLostSegments()
    while true {
      let (total, sizes) = try sizes()
      guard total > limit, !sizes.isEmpty else { return }
      // Removes the lowest ranks completely, and of the last one only as much as required.
      var left = total - limit
      var last = UInt32(0)
      for (rank, size) in sizes.sorted(by: { $0.key < $1.key }) {
        last = rank
        if size >= left { break }
        left -= size
      }
      let (records, hasSegments) = (records, try records.hasSegments)
      try edit(needsTexts: hasSegments) { record in
        if record.isSegment || record.rank > last { return .keep }
        guard record.rank == last else { return .remove }
        guard left > 0 else { return .keep }
        left -= record.size
        if hasSegments { left -= try Self.segmentBytes(of: record, in: records) }
        return .remove
      }
      try removeLostSegments()
    }
  }

  /// The total size in bytes, and that of the records of each rank with the segments of their lists.
  private mutating func sizes() throws -> (total: Int, byRank: [UInt32: Int]) {
    var total = 0
    var byRank: [UInt32: Int] = [:]
    let (records, hasSegments) = (records, try records.hasSegments)
    try edit(needsTexts: hasSegments) { record in
      total += record.size
      if record.isSegment { return .keep }
      var size = record.size
      if hasSegments { size += try Self.segmentBytes(of: record, in: records) }
      byRank[record.rank, default: 0] += size
      return .keep
    }
    return (total, byRank)
  }

  private static func segmentBytes(
    of record: HousekeepingRecord, in records: Records
  ) throws -> Int {
    let keys = RecordLinks.segments(of: record.text, key: record.key)
    var bytes = 0
    if !keys.isEmpty { try records.forEach(keys) { bytes += $0.count + $1.count } }
    return bytes
  }

  /// Removes segments that belong to no list.
  private mutating func removeLostSegments() throws {
    guard try records.hasSegments else { return }
    let owned = try KeySet()
    try edit(needsTexts: true) { record in
      if record.isSegment { return .keep }
      for key in RecordLinks.segments(of: record.text, key: record.key) {
        try key.withBytes { try owned.insert($0) }
      }
      return .keep
    }
    try reach(owned, onlySegments: true)
    try edit(prefix: Segments.prefix) {
      try owned.contains($0.key) ? .keep : .remove
    }
  }

  // MARK: Records

  private mutating func edit(
    prefix: [UInt8] = [], needsTexts: Bool = false,
    _ body: (HousekeepingRecord) throws -> RecordChange
  ) throws {
    var removed = RemovalSummary()
    try records.edit(prefix: prefix, needsTexts: needsTexts) { [collectsChanges] key, text in
      removed.note(key: key, text: text, collectsChanges: collectsChanges)
    } body: {
      try body($0)
    }
    summary.add(removed)
  }
}
