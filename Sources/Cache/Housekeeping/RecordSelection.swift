import GQLRunSupport

/// Selects records, or fields of records, by patterns.
///
/// In a pattern, `*` matches any text, `?` one byte, and `\` escapes the next character.
///
/// | pattern | records |
/// |---|---|
/// | `User:1` | this one |
/// | `Post:*` | all of a type |
/// | `Query.feed` | the root field `feed`, whatever its arguments |
/// | `Query.feed({"first":10*` | the root field `feed` with some arguments |
/// | `Query` | all root fields |
/// | `*` | everything |
///
/// `QUERY_ROOT` is a synonym of `Query`.
public struct RecordSelection: Sendable, Hashable {
  let keys: [BytePattern]
  /// The fields of the records by stored name; `nil` for whole records.
  let fields: [BytePattern]?
  let includesRoot: Bool

  /// Creates a selection.
  ///
  /// - Parameters:
  ///   - pattern: A pattern for record keys.
  ///   - fields: A pattern for field names, to select these instead of whole records. A name
  ///     without parentheses selects the field with all arguments.
  /// - Throws: ``CacheError`` with code `invalidPattern` for a pattern that cannot match.
  public init(_ pattern: String, fields: String? = nil) throws(CacheError) {
    guard !pattern.isEmpty else {
      throw CacheError(.invalidPattern, "an empty pattern names no record; write Type:* or Type:id")
    }
    if let fields, fields.isEmpty {
      throw CacheError(.invalidPattern, "an empty pattern names no field; write name or name(*)")
    }
    self.fields = fields.map { Self.fieldPatterns($0, prefix: "") }
    for root in ["Query", RootRecord.queryKey] {
      if pattern == root {
        keys = [BytePattern(RootRecord.queryKey + ".*")]
        includesRoot = true
        return
      }
      if pattern.hasPrefix(root + ".") {
        let name = String(pattern.dropFirst(root.count + 1))
        keys = Self.fieldPatterns(name, prefix: RootRecord.queryKey + ".")
        includesRoot = true
        return
      }
    }
    guard pattern.contains(":") || pattern.contains("*") || pattern.contains("?") else {
      throw CacheError(
        .invalidPattern,
        "the pattern \(pattern) names no record; write \(pattern):* for all records of a type, "
          + "\(pattern):1 for one, or Query.\(pattern) for a field of the query root")
    }
    keys = [BytePattern(pattern)]
    includesRoot = pattern == "*"
  }

  private static func fieldPatterns(_ name: String, prefix: String) -> [BytePattern] {
    let whole = BytePattern(prefix + name)
    return name.contains("(") ? [whole] : [whole, BytePattern(prefix + name + "(*")]
  }

  /// Whether a record is selected; always false for segments and for records with errors.
  func matches(key: Bytes) -> Bool {
    if Segments.isSegment(key: key) || ErrorRecord.isErrors(key: key) { return false }
    if key.hasPrefix("QUERY_ROOT.") && !includesRoot { return false }
    return keys.contains { $0.matches(key) }
  }

  /// The common prefix of all keys that may match.
  var commonPrefix: [UInt8] {
    keys.map(\.literalPrefix).min { $0.count < $1.count } ?? []
  }

  /// Whether a field with this quoted stored key is selected.
  private func selects(_ key: Bytes, _ scratch: inout ByteStack) -> Bool {
    RecordText.withUnescaped(key, scratch: &scratch) { name in
      fields?.contains { $0.matches(name) } ?? true
    }
  }

  /// The errors of a record without those of the selected fields; `nil` if none remain.
  func remainder(of errors: StoredErrors) -> [UInt8]? {
    guard fields != nil else { return nil }
    var scratch = ByteStack(capacity: 64)
    var rest = errors
    rest.positions.removeAll { position in
      guard case .field(let key)? = position.steps.first else { return true }
      return key.withBytes { selects($0, &scratch) }
    }
    return rest.positions.isEmpty ? nil : rest.text
  }

  /// Whether whole records are selected.
  var isOfRecords: Bool { fields == nil }

  /// The record without the selected fields, and these; `nil` if no field remains. Without a match, the text is
  /// unchanged.
  func remainder(of text: Bytes) -> (text: [UInt8], removed: [[UInt8]])? {
    guard fields != nil else { return nil }
    var removed: [[UInt8]] = []
    var scratch = ByteStack(capacity: 64)
    var cursor = FieldCursor(text)
    while let field = cursor.next() {
      if selects(text[field.key], &scratch) { removed.append(text[field.key].array) }
    }
    // Most records have none of the fields; splitting them would allocate memory for each field.
    if removed.isEmpty, !text.equals("{}") { return (text.array, removed) }
    var rest = ObjectText(text)
    rest.entries.removeAll { removed.contains($0.key) }
    return rest.entries.isEmpty ? nil : (rest.text, removed)
  }
}

/// What housekeeping removed from a store.
public struct RemovalSummary: Sendable, Hashable {
  /// Removed records; each field of the root is one.
  public var records = 0
  /// Records from which fields were removed.
  public var changedRecords = 0
  /// Removed segments of long lists.
  public var segments = 0
  /// Removed bytes of keys and texts.
  public var bytes = 0
  /// The removed fields, as record key and stored field name; only if the store collects changes.
  public var changes: Set<FieldChange> = []

  /// Creates an empty summary.
  public init() {}

  /// Whether nothing was removed.
  public var isEmpty: Bool { records == 0 && changedRecords == 0 && segments == 0 && bytes == 0 }

  mutating func add(_ other: RemovalSummary) {
    records += other.records
    changedRecords += other.changedRecords
    segments += other.segments
    bytes += other.bytes
    changes.formUnion(other.changes)
  }
}

/// A pattern of bytes with `*`, `?` and `\`.
struct BytePattern: Sendable, Hashable {
  private enum Part: Hashable {
    case byte(UInt8)
    case one, any
  }

  private let parts: [Part]

  init(_ text: String) {
    var parts: [Part] = []
    var isEscaped = false
    for byte in text.utf8 {
      if isEscaped {
        parts.append(.byte(byte))
        isEscaped = false
      } else if byte == UInt8(ascii: "\\") {
        isEscaped = true
      } else if byte == UInt8(ascii: "*") {
        if parts.last != .any { parts.append(.any) }
      } else {
        parts.append(byte == UInt8(ascii: "?") ? .one : .byte(byte))
      }
    }
    if isEscaped { parts.append(.byte(UInt8(ascii: "\\"))) }
    self.parts = parts
  }

  /// The prefix of every match.
  var literalPrefix: [UInt8] {
    var prefix: [UInt8] = []
    for case .byte(let byte) in parts.prefix(while: { $0 != .one && $0 != .any }) {
      prefix.append(byte)
    }
    return prefix
  }

  /// Takes time proportional to the product of both lengths at most.
  func matches(_ text: Bytes) -> Bool {
    Wildcards.match(parts.count, text.count) {
      parts[$0] == .any
    } accepts: {
      parts[$0] == .one || parts[$0] == .byte(text[$1])
    }
  }
}
