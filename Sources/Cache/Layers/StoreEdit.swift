import GQLRunJSON

/// A record or one of its fields that is to be removed.
public struct RecordRemoval: Sendable, Hashable {
  /// The key of the record: `User:1`, or `QUERY_ROOT` together with a field.
  public var recordKey: String
  /// The stored name of the field: `name`, `feed({"first":10})`. `nil` removes the record.
  public var field: String?

  /// Creates a removal of a record, or of one of its fields.
  public init(record recordKey: String, field: String? = nil) {
    self.recordKey = recordKey
    self.field = field
  }

  /// The key of the stored record, and the quoted key of its field.
  ///
  /// - Throws: ``CacheError`` for the root without a field, and for keys that are not those of
  ///   records.
  func target() throws(CacheError) -> (key: [UInt8], field: [UInt8]?) {
    let isRoot = recordKey.utf8.elementsEqual(RootRecord.queryKey.utf8)
    guard let field else {
      guard !isRoot else {
        throw CacheError(
          .invalidOperation,
          "cannot remove the whole record QUERY_ROOT; name the field, or clear the store")
      }
      return (Array(recordKey.utf8), nil)
    }
    // Every field of the root is a separate record.
    if isRoot { return (Array("\(RootRecord.queryKey).\(field)".utf8), nil) }
    return (Array(recordKey.utf8), Array(RecordText.quoted(field).utf8))
  }
}

/// A change above records: of a transaction in memory, or of an optimistic layer.
enum StoreEdit: Sendable {
  /// Records to merge with those below. The table is no longer changed.
  case records(RecordTable)
  case removals([(key: [UInt8], field: [UInt8]?)])
  /// Changes of values inside records, by a later part of a response.
  case deltas([RecordDelta])

  /// The record `key` after the edit; `text` is its text before.
  func apply(to key: Bytes, _ text: [UInt8]?, access: any SegmentAccess) -> [UInt8]? {
    switch self {
    case .records(let table):
      guard let index = table.find(key) else { return text }
      let new = table.text(at: index)
      guard let text, !Segments.isSegment(key: key) else { return new.array }
      return Merge.merged(text, new, access: access) ?? text
    case .removals(let removals):
      var text = text
      for removal in removals where key.equals(removal.key) {
        text = removal.field.flatMap { field in
          text.flatMap { RecordText.removing(field, from: $0) }
        }
      }
      return text
    case .deltas(let deltas):
      var text = text
      for delta in deltas where key.equals(delta.owner) {
        text = text.flatMap { delta.apply(to: $0, access) } ?? text
      }
      return text
    }
  }

  /// The times of the record `key` after the edit, which changed `below` to `text`.
  func times(
    of key: Bytes, _ times: RecordTimes, below: [UInt8]?, _ text: [UInt8]
  ) -> RecordTimes {
    guard case .records(let table) = self, let index = table.find(key) else { return times }
    let received = table.times(at: index).received
    guard let below else { return RecordTimes(received: received) }
    return below.withBytes { below in
      text.withBytes { text in
        TimeMerge(received: received, granularity: 0).times(
          old: below, times, new: table.text(at: index), merged: text, differs: true) ?? times
      }
    }
  }

  /// Calls `body` with the keys of the changed records.
  func forEachKey(_ body: (Bytes) -> Void) {
    switch self {
    case .records(let table): for index in table.live { body(table.key(at: index)) }
    case .removals(let removals): for removal in removals { removal.key.withBytes(body) }
    case .deltas(let deltas): for delta in deltas { delta.owner.withBytes(body) }
    }
  }
}

extension RecordText {
  /// `text` as a JSON string in canonical form.
  static func quoted(_ text: String) -> String { JSONValue.string(text).canonicalText }

  /// The record without the field with that quoted key, if it has one.
  static func removing(_ field: [UInt8], from text: [UInt8]) -> [UInt8] {
    var object = ObjectText(text)
    object[field] = nil
    return object.text
  }
}
