/// A stored field that the answer to an operation depends on.
public struct FieldDependency: Sendable, Hashable {
  public var recordKey: String
  /// The stored field name, or `nil` when the record was not there: then any field of it counts.
  public var field: String?

  public init(recordKey: String, field: String?) {
    self.recordKey = recordKey
    self.field = field
  }
}

/// What the answer to an operation depends on: the fields that were read, the type names that decided
/// which ones, and the fields and records that were missing.
public struct Dependencies: Sendable {
  /// The fields by name. Collected when asked for by ``ReadOptions/Tracking/names``.
  public private(set) var fields: Set<FieldDependency> = []
  /// A hash for each field: 8 bytes instead of two names, so that a large answer can be watched. Two
  /// fields of one hash wake a watcher once too often, and it finds that nothing has changed.
  private(set) var fingerprints: Set<UInt64> = []
  private let wantsNames: Bool

  init(_ tracking: ReadOptions.Tracking) { wantsNames = tracking == .names }

  mutating func add(record: Bytes, field: Bytes) {
    fingerprints.insert(Self.fingerprint(record: record, field: field))
    guard wantsNames else { return }
    fields.insert(FieldDependency(recordKey: record.string, field: field.string))
  }

  /// Adds a record that was not there.
  mutating func add(missing record: Bytes) {
    fingerprints.insert(Self.fingerprint(record: record))
    guard wantsNames else { return }
    fields.insert(FieldDependency(recordKey: record.string, field: nil))
  }

  /// Whether one of the changes is of a field in here.
  func isTouched(by changes: Fingerprints) -> Bool {
    changes.values.count < fingerprints.count
      ? changes.values.contains { fingerprints.contains($0) }
      : fingerprints.contains { changes.values.contains($0) }
  }

  static func fingerprint(record: Bytes) -> UInt64 {
    hashBytes(record.start, record.count, seed: processSeed)
  }

  static func fingerprint(record: Bytes, field: Bytes) -> UInt64 {
    hashBytes(field.start, field.count, seed: ~fingerprint(record: record))
  }
}

/// Changed fields as watchers compare them with what they depend on: each field, and each record as
/// a whole for those who wait for it.
struct Fingerprints: Sendable {
  private(set) var values: Set<UInt64> = []

  init() {}

  init(_ changes: Set<FieldChange>) {
    values.reserveCapacity(changes.count * 2)
    for change in changes {
      var (key, field) = (change.recordKey, change.field)
      key.withUTF8 { key in
        field.withUTF8 { field in add(record: Bytes(key), field: Bytes(field)) }
      }
    }
  }

  mutating func add(record: Bytes, field: Bytes) {
    values.insert(Dependencies.fingerprint(record: record))
    values.insert(Dependencies.fingerprint(record: record, field: field))
  }

  /// Adds all fields of a record.
  mutating func add(record key: Bytes, text: Bytes) {
    var cursor = FieldCursor(text)
    while let field = cursor.next() { add(key: key, quotedField: text[field.key]) }
  }

  /// Adds a field by its stored key as record text has it, and root records by their parts.
  mutating func add(key: Bytes, quotedField: Bytes) {
    var scratch = ByteStack(capacity: 64)
    RecordText.withUnescaped(quotedField, &scratch) { field in
      guard key.hasPrefix("QUERY_ROOT.") else { return add(record: key, field: field) }
      add(record: key[0..<10], field: field)
    }
  }
}
