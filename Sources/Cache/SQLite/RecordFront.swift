import Foundation

/// Records of a database file that are kept in memory, too: those that were written or read last.
///
/// What is here is what the file holds, so an answer that needs no other record is the file's answer,
/// without asking it. Responses are merged once, in the file; what came of it is put here when it is
/// committed. What is not here is read from the file and kept, unless something was committed in
/// between.
///
/// `@unchecked Sendable`: every call but ``maxSize`` is made while ``StoreActivity`` keeps commits from
/// becoming visible, which lets one through at a time.
final class RecordFront: @unchecked Sendable {
  /// The most bytes of keys and record text.
  let maxSize: Int
  private var table = RecordTable()
  private var use: UInt32 = 0
  /// Goes up with every change of the file.
  private(set) var version = 0

  init(maxSize: Int) { self.maxSize = maxSize }

  /// The answer to an operation; `nil` when a record is needed that is not here.
  func read(
    _ operation: PreparedOperation, under edits: [StoreEdit], _ options: ReadOptions, seed: UInt64,
    types: ConcreteTypes
  ) throws(CacheError) -> StoreAnswer? {
    use &+= 1
    let source = FrontSource(MemorySource(table: table, use: use))
    let answer =
      edits.isEmpty
      ? try RecordReader(operation.plan, source: source, types: types, options: options).read()
      : try RecordReader(
        operation.plan, source: LayeredSource(source, edits: edits, seed: seed), types: types,
        options: options
      ).read()
    return source.isIncomplete ? nil : answer
  }

  /// Keeps what was read from the file when it was at `version`.
  func promote(_ records: RecordTable, version: Int) {
    guard version == self.version else { return }
    for index in records.live where table.find(records.key(at: index)) == nil {
      put(records.key(at: index), records.text(at: index))
    }
    evict()
  }

  /// Takes over what a commit has made of records; `nil` texts are those that are gone, or better read
  /// again.
  func replace(_ records: [(key: [UInt8], text: [UInt8]?)]) {
    version += 1
    use &+= 1
    for (key, text) in records {
      key.withUnsafeBufferPointer { key in
        guard let text else {
          if let index = table.find(Bytes(key)) { table.remove(at: index) }
          return
        }
        text.withUnsafeBufferPointer { put(Bytes(key), Bytes($0)) }
      }
    }
    evict()
  }

  /// Forgets everything: the file has changed in ways that are not known here.
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

/// Records in memory, and whether one was asked for that is not among them.
private struct FrontSource: RecordSource {
  private final class Gap {
    var isFound = false
  }

  private var base: MemorySource
  private let gap = Gap()

  init(_ base: MemorySource) { self.base = base }

  var failure: CacheError? { nil }
  var isIncomplete: Bool { gap.isFound }

  mutating func text(key: Bytes, depth: Int) -> Bytes? {
    if let text = base.text(key: key, depth: depth) { return text }
    gap.isFound = true
    return nil
  }
}

/// Records of a file, remembered as they are read.
struct PromotingSource<Base: RecordSource>: RecordSource {
  private var base: Base
  private let records: RecordTable
  private let limit: Int

  /// - Parameters:
  ///   - records: Where they are remembered.
  ///   - limit: How many bytes of them.
  init(_ base: Base, into records: RecordTable, limit: Int) {
    self.base = base
    self.records = records
    self.limit = limit
  }

  var failure: CacheError? { base.failure }

  mutating func text(key: Bytes, depth: Int) -> Bytes? {
    guard let text = base.text(key: key, depth: depth) else { return nil }
    let hash = RecordTable.hash(key)
    if records.liveBytes < limit, records.find(key, hash: hash) == nil {
      records.insert(key, hash: hash, text: text)
    }
    return text
  }
}

/// The keys of the records that a transaction has written, for the ``RecordFront``.
struct WrittenKeys: Sendable {
  private let keys = RecordTable()
  private let limit: Int
  /// There are so many that it is better to forget what is in memory.
  private(set) var areTooMany = false

  /// - Parameter limit: The most bytes of keys.
  init(limit: Int) { self.limit = limit }

  mutating func add(_ key: Bytes) {
    if areTooMany { return }
    let hash = RecordTable.hash(key)
    if keys.find(key, hash: hash) == nil { keys.insert(key, hash: hash, text: .empty) }
    areTooMany = keys.liveBytes > limit
  }

  /// Calls `text` for each key; what is beyond `size` bytes is left out, to be read again.
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
