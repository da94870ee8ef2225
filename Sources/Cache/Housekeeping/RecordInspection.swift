/// A record as `gqlrun inspect` shows it: bounded, whatever the record has.
package struct InspectedRecord: Sendable {
  /// A field of a record.
  package struct Field: Sendable {
    /// The stored name, with the arguments.
    package var name: String
    /// The beginning of the stored text of the value.
    package var text: String
    /// The size of the text in bytes.
    package var bytes: Int
    /// The keys of the first records that the value refers to, also in segments of lists.
    package var references: [String] = []
    /// The number of all references of the value.
    package var referenceCount = 0
  }

  /// The cache key.
  package var key: String
  /// The size of key and text in bytes.
  package var bytes: Int
  /// When the oldest field was received, in seconds since 1970.
  package var received: Int
  /// The first fields; at most ``maxFields``.
  package var fields: [Field] = []
  /// The number of all fields.
  package var fieldCount = 0

  package static let maxFields = 500
  package static let maxReferences = 100
  package static let maxTextBytes = 2_048
}

extension InspectedRecord {
  /// Adds the fields of a stored record.
  fileprivate mutating func add(
    _ text: Bytes, of key: Bytes, in source: inout any RecordSource
  ) throws {
    bytes += key.count + text.count
    var scratch = ByteStack(capacity: 256)
    var cursor = FieldCursor(text)
    while let field = cursor.next() {
      fieldCount += 1
      guard fields.count < Self.maxFields else { continue }
      let value = text[field.value]
      var shown = Field(
        name: RecordText.withUnescaped(text[field.key], scratch: &scratch) { $0.string },
        text: value[0..<min(value.count, Self.maxTextBytes)].string, bytes: value.count)
      var seen: Set<[UInt8]> = []
      RecordLinks.forEachRecord(in: value, of: &source, seen: &seen) { key in
        shown.referenceCount += 1
        if shown.references.count < Self.maxReferences { shown.references.append(key.string) }
      }
      fields.append(shown)
    }
    if cursor.isMalformed { throw CacheError.damagedRecord(key) }
  }
}

/// Keys of records in their order, from a search.
package struct RecordPage: Sendable {
  /// The key, the type and the size in bytes of each record.
  package var records: [(key: String, type: String, bytes: Int)] = []
  /// The last key that was compared, if there may be more records after it.
  package var next: String?
}

/// The records that refer to one.
package struct RecordReferrers: Sendable {
  /// The key of each record, with the stored name of the field that refers.
  package var all: [(key: String, field: String)] = []
  /// Whether there may be more.
  package var hasMore = false
}

/// Ends a scan.
private struct EndOfScan: Error {}

extension CacheStore {
  /// The maximum number of records that a search compares; it continues after the last one.
  private static let maxCompared = 500_000

  /// The record with this key; `nil` if there is none. `QUERY_ROOT` has the fields of the query root.
  package func inspect(_ key: String) async throws(CacheError) -> InspectedRecord? {
    try await records.scanned(reportsDamage: false) { records in
      var source: any RecordSource = records.source
      guard key != RootRecord.queryKey else {
        var root = InspectedRecord(key: key, bytes: 0, received: 0)
        do {
          try records.forEachRecord { key, text in
            guard key.hasPrefix("QUERY_ROOT.") else {
              if root.fieldCount > 0 { throw EndOfScan() }
              return
            }
            try root.add(text, of: key, in: &source)
          }
        } catch is EndOfScan {}
        return root.fieldCount > 0 ? root : nil
      }
      guard let text = source.text(key: Array(key.utf8), depth: 1)?.array else {
        if let failure = source.failure { throw failure }
        return nil
      }
      var record = InspectedRecord(
        key: key, bytes: 0, received: Int(source.times(depth: 1).received))
      try text.withBytes { text in
        try Array(key.utf8).withBytes { try record.add(text, of: $0, in: &source) }
      }
      return record
    }
  }

  /// The records whose keys contain a text, whatever its case, in the order of the keys.
  ///
  /// - Parameters:
  ///   - text: The text; empty for all records.
  ///   - type: The type of the records, as in ``StoreStatistics/types``; `nil` for all.
  ///   - last: The key after which the search begins; `nil` for the first.
  ///   - limit: The maximum number of records.
  package func search(
    _ text: String, type: String?, after last: String?, max limit: Int
  ) async throws(CacheError) -> RecordPage {
    let needle = Array(text.lowercased().utf8)
    let last = last.map { Array($0.utf8) }
    return try await records.scanned(reportsDamage: false) { records in
      var page = RecordPage()
      var compared = 0
      do {
        try records.forEachRecord { key, text in
          if let last, !last.lexicographicallyPrecedes(key.buffer) { return }
          if Segments.isSegment(key: key) || ErrorRecord.isErrors(key: key) { return }
          compared += 1
          if key.contains(lowercased: needle) {
            let name = StoreStatistics.type(ofKey: key, text: text)
            if type == nil || type == name {
              page.records.append((key.string, name, key.count + text.count))
            }
          }
          guard page.records.count < limit, compared < Self.maxCompared else {
            page.next = key.string
            throw EndOfScan()
          }
        }
      } catch is EndOfScan {}
      return page
    }
  }

  /// The records that refer to the one with this key, directly or through segments of a list. Reads all records.
  ///
  /// - Parameter limit: The maximum number of records.
  package func referrers(to key: String, max limit: Int) async throws(CacheError) -> RecordReferrers
  {
    try await records.scanned(reportsDamage: false) { records in
      var found = RecordReferrers()
      var wanted = [Array(key.utf8)]
      var scratch = ByteStack(capacity: 256)
      // A segment is referred to by the record with the list, or by another segment; a damaged file may have a cycle.
      for _ in 0...RecordLinks.maxSegmentDepth where !wanted.isEmpty && !found.hasMore {
        var segments: [[UInt8]] = []
        do {
          try records.forEachRecord { owner, text in
            if Segments.isSegment(key: owner) {
              if RecordLinks.refer(text, to: wanted), segments.count < limit {
                segments.append(owner.array)
              }
              return
            }
            guard !ErrorRecord.isErrors(key: owner) else { return }
            var cursor = FieldCursor(text)
            while let field = cursor.next() {
              guard RecordLinks.refer(text[field.value], to: wanted) else { continue }
              guard found.all.count < limit else {
                found.hasMore = true
                throw EndOfScan()
              }
              let name = RecordText.withUnescaped(text[field.key], scratch: &scratch) { $0.string }
              found.all.append((owner.string, name))
            }
          }
        } catch is EndOfScan {}
        wanted = segments
      }
      return found
    }
  }
}

extension RecordLinks {
  /// The maximum depth at which segments are followed; those of segments are one level deep.
  fileprivate static let maxSegmentDepth = 4

  /// Calls `body` with the keys of the records that a value refers to, also in segments.
  fileprivate static func forEachRecord(
    in value: Bytes, of source: inout any RecordSource, seen: inout Set<[UInt8]>, depth: Int = 0,
    _ body: (Bytes) -> Void
  ) {
    var segments: [[UInt8]] = []
    _ = forEach(in: value) { key in
      if Segments.isSegment(key: key) { segments.append(key.array) } else { body(key) }
    }
    // A damaged file may have a cycle, or many references to one segment.
    guard depth < maxSegmentDepth else { return }
    for segment in segments where seen.insert(segment).inserted {
      guard let text = source.text(key: segment, depth: 0)?.array else { continue }
      text.withBytes { forEachRecord(in: $0, of: &source, seen: &seen, depth: depth + 1, body) }
    }
  }

  /// Whether a value refers to a record or segment with one of these keys.
  fileprivate static func refer(_ value: Bytes, to keys: [[UInt8]]) -> Bool {
    var refers = false
    _ = forEach(in: value) { key in
      if !refers { refers = keys.contains { key.equals($0) } }
    }
    return refers
  }
}

extension Bytes {
  /// Whether the bytes contain a text, with ASCII letters of any case.
  fileprivate func contains(lowercased needle: [UInt8]) -> Bool {
    guard count >= needle.count else { return false }
    return (0...(count - needle.count)).contains { start in
      needle.indices.allSatisfy { index in
        let byte = self[start + index]
        return needle[index] == (UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte ? byte | 0x20 : byte)
      }
    }
  }
}
