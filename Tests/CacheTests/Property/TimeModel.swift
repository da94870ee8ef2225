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
  try await store.records.scan(reportsDamage: false) { try times(of: $0) }
}

private func times(
  of records: some RecordScan
) throws -> [ReferenceCache.Text: [String: UInt32]] {
  var result: [ReferenceCache.Text: [String: UInt32]] = [:]
  var source = records.source
  try records.forEachRecord { key, text in
    if Segments.isSegment(key: key) { return }
    let name = key.hasPrefix("QUERY_ROOT.") ? "QUERY_ROOT" : key.string
    _ = source.text(key: key, depth: 0)
    let times = source.times(depth: 0)
    var scratch = ByteStack(capacity: 64)
    var cursor = FieldCursor(text)
    while let field = cursor.next() {
      let stored = RecordText.withUnescaped(text[field.key], scratch: &scratch) { $0.string }
      result[ReferenceCache.Text(name), default: [:]][stored] = times.time(of: text[field.key])
    }
  }
  return result
}
