/// A stored field that the result of an operation depends on.
public struct FieldDependency: Sendable, Hashable {
  /// The key of the record: `User:1`, `QUERY_ROOT`.
  public var recordKey: String
  /// The stored field name; `nil` if the record was missing, so that every field of it counts.
  public var field: String?

  /// Creates a dependency.
  public init(recordKey: String, field: String?) {
    self.recordKey = recordKey
    self.field = field
  }
}

/// What the result of an operation depends on: the read fields, the type names that determine them,
/// and the missing fields and records.
public struct Dependencies: Sendable {
  /// The fields by name; only collected with ``ReadOptions/Tracking/names``.
  public private(set) var fields: Set<FieldDependency> = []
  /// A hash per field: 8 bytes instead of two names, so that a large result can be watched. If the
  /// hashes of two fields collide, a watcher reads once without need.
  private(set) var fingerprints: Set<UInt64> = []
  private let wantsNames: Bool

  init(_ tracking: ReadOptions.Tracking) { wantsNames = tracking == .names }

  mutating func add(record: Bytes, field: Bytes) {
    fingerprints.insert(Self.fingerprint(record: record, field: field))
    guard wantsNames else { return }
    fields.insert(FieldDependency(recordKey: record.string, field: field.string))
  }

  /// Adds a missing record.
  mutating func add(missing record: Bytes) {
    fingerprints.insert(Self.fingerprint(record: record))
    guard wantsNames else { return }
    fields.insert(FieldDependency(recordKey: record.string, field: nil))
  }

  /// Whether one of the changes affects a field in this set.
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

/// The hashes of changed fields, and of their records for watchers that wait for a missing record.
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

  mutating func add(key: [UInt8], quotedField: [UInt8]) {
    key.withBytes { key in quotedField.withBytes { add(key: key, quotedField: $0) } }
  }

  /// Adds a field by its quoted stored key; root records are split into record and field.
  mutating func add(key: Bytes, quotedField: Bytes) {
    var scratch = ByteStack(capacity: 64)
    RecordText.withUnescaped(quotedField, scratch: &scratch) { field in
      guard key.hasPrefix("QUERY_ROOT.") else { return add(record: key, field: field) }
      add(record: key[0..<10], field: field)
    }
  }
}
