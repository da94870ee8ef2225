@testable import GQLRunCache

/// When the fields of records were received, the obvious way: a time per field.
struct TimeModel {
  typealias Text = ReferenceCache.Text
  typealias Records = [Text: [String: ReferenceCache.Value]]

  /// How near the times of unchanged fields may be without being renewed.
  let granularity: UInt32
  private(set) var times: [Text: [String: UInt32]] = [:]

  init(granularity: UInt32) { self.granularity = granularity }

  /// One response, received at `now`: what it said, and the records before and after it.
  mutating func write(_ said: Records, before: Records, after: Records, at now: UInt32) {
    for (key, fields) in said {
      // Every field of the root is a record of its own.
      let parts =
        key == Text("QUERY_ROOT") ? fields.map { [$0.key: $0.value] } : [fields]
      for part in parts { write(part, before[key] ?? [:], after[key] ?? [:], key, at: now) }
    }
  }

  private mutating func write(
    _ said: [String: ReferenceCache.Value], _ before: [String: ReferenceCache.Value],
    _ after: [String: ReferenceCache.Value], _ key: Text, at now: UInt32
  ) {
    // What is stored now and was said as a whole; of the others an older part is still there.
    let told = said.filter { before[$0.key] == nil || after[$0.key] == $0.value }
    let isChanged = said.contains { before[$0.key] != after[$0.key] }
    let isFar = told.contains { field in
      guard let time = times[key]?[field.key] else { return true }
      return max(time, now) - min(time, now) >= granularity
    }
    guard isChanged || isFar else { return }
    for field in told.keys { times[key, default: [:]][field] = now }
  }
}

/// What a store knows of the times of its fields.
func times(of store: CacheStore) async throws -> [ReferenceCache.Text: [String: UInt32]] {
  var result: [ReferenceCache.Text: [String: UInt32]] = [:]
  func note(_ key: Bytes, _ text: Bytes, _ times: RecordTimes) {
    if Segments.isSegment(key: key) { return }
    let name = key.hasPrefix("QUERY_ROOT.") ? "QUERY_ROOT" : key.string
    var scratch = ByteStack(capacity: 64)
    var cursor = FieldCursor(text)
    while let field = cursor.next() {
      let stored = RecordText.withUnescaped(text[field.key], scratch: &scratch) { $0.string }
      result[ReferenceCache.Text(name), default: [:]][stored] = times.time(of: text[field.key])
    }
  }
  func note(_ table: RecordTable) {
    for index in table.live {
      note(table.key(at: index), table.text(at: index), table.times(at: index))
    }
  }
  if let store = store.records as? MemoryStore {
    note(await store.table)
  } else if let store = store.records as? PostgresStore {
    note(try await store.connections.read { try PostgresChange(everythingOf: $0).after })
  } else if let store = store.records as? SQLiteStore {
    let rows = try await store.recordsWithTimes()
    for (key, text, times) in rows {
      key.withUnsafeBufferPointer { key in
        text.withUnsafeBufferPointer { note(Bytes(key), Bytes($0), times) }
      }
    }
  }
  return result
}
