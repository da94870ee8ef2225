import Foundation

/// The memory tier of a SQLite store: the most recently used records of the file, kept in memory.
///
/// Its records are equal to those of the file, so a result that needs no other record is read
/// without the file. A response is merged in the file; the commit then updates the memory tier. A
/// record that is missing here is read from the file and added, unless a commit occurred in
/// between.
///
/// `@unchecked Sendable`: every call except ``maxSize`` is made while ``StoreActivity`` blocks
/// commits from becoming visible, which admits one call at a time.
final class MemoryTier: @unchecked Sendable {
  /// The maximum size of keys and record texts, in bytes.
  let maxSize: Int
  private var table = RecordTable()
  private var use: UInt32 = 0
  /// Increases with every change of the file.
  private(set) var version = 0

  init(maxSize: Int) { self.maxSize = maxSize }

  /// A source of the records in memory, for one read.
  func source() -> MemoryTierSource {
    use &+= 1
    return MemoryTierSource(MemorySource(table: table, use: use))
  }

  /// Adds records that were read from the file at `version`.
  func promote(_ records: RecordTable, version: Int) {
    guard version == self.version else { return }
    for index in records.live where table.find(records.key(at: index)) == nil {
      put(records.key(at: index), records.text(at: index))
    }
    evict()
  }

  /// Replaces the records that a commit changed; `nil` removes a record, which is then read again.
  func replace(_ records: [(key: [UInt8], text: [UInt8]?)]) {
    version += 1
    use &+= 1
    for (key, text) in records {
      if let text {
        key.withBytes { key in text.withBytes { put(key, $0) } }
      } else if let index = table.find(key) {
        table.remove(at: index)
      }
    }
    evict()
  }

  /// Removes everything, because the file has changed in an unknown way.
  func clear() {
    version += 1
    table = RecordTable()
  }

  private func put(_ key: Bytes, _ text: Bytes) {
    if let index = table.find(key) {
      table.replace(at: index, text: text)
      table.touch(at: index, use: use)
    } else {
      table.insert(key, hash: RecordTable.hash(key), text: text, lastUse: use)
    }
  }

  private func evict() {
    guard table.liveBytes > maxSize else {
      if table.deadBytes > 1 << 20, table.deadBytes > table.liveBytes { table = table.compacted() }
      return
    }
    let oldestFirst = table.live.sorted { table.lastUse(at: $0) < table.lastUse(at: $1) }
    for index in oldestFirst {
      if table.liveBytes <= maxSize / 10 * 9 { break }
      table.remove(at: index)
    }
    table = table.compacted()
  }
}

/// A source of the records in memory, which remembers whether a requested record was missing.
struct MemoryTierSource: RecordSource {
  private final class Gap {
    var isFound = false
  }

  private var base: MemorySource
  private let gap = Gap()

  init(_ base: MemorySource) { self.base = base }

  var failure: CacheError? { nil }
  /// Whether a requested record was not in memory.
  var isIncomplete: Bool { gap.isFound }

  mutating func text(key: Bytes, depth: Int) -> Bytes? {
    if let text = base.text(key: key, depth: depth) { return text }
    gap.isFound = true
    return nil
  }
}

/// A source of the records of a file, which remembers the records it reads.
struct RememberingSource<Base: RecordSource>: RecordSource {
  /// The source of the file.
  private(set) var base: Base
  /// The table that remembers the records.
  let records: RecordTable
  /// The maximum size of remembered records, in bytes.
  let limit: Int

  var failure: CacheError? { base.failure }

  mutating func text(key: Bytes, depth: Int) -> Bytes? {
    guard let text = base.text(key: key, depth: depth) else { return nil }
    if records.liveBytes < limit { records.insertMissing(key, text: text) }
    return text
  }
}

/// The keys of the records that a transaction has written, to update the memory tier.
struct WrittenKeys: Sendable {
  private let keys = RecordTable()
  private let limit: Int
  /// Whether there are too many keys, so that the memory tier is cleared instead.
  private(set) var areTooMany = false

  /// - Parameter limit: The maximum size of the keys, in bytes.
  init(limit: Int) { self.limit = limit }

  mutating func add(_ key: Bytes) {
    if areTooMany { return }
    keys.insertMissing(key)
    areTooMany = keys.liveBytes > limit
  }

  /// Calls `text` for each key; omits texts beyond `size` bytes, which are read again.
  func records(
    size: Int, _ text: (Bytes) throws -> [UInt8]?
  ) rethrows -> [(key: [UInt8], text: [UInt8]?)] {
    var total = 0
    var records: [(key: [UInt8], text: [UInt8]?)] = []
    for index in keys.live {
      let key = keys.key(at: index)
      let found = total < size ? try text(key) : nil
      total += key.count + (found?.count ?? 0)
      records.append((key.array, found))
    }
    return records
  }
}
