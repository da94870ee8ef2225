import GQLRunJSON

/// What a field is read as whose error is stored: a null that the server sent because the field failed.
///
/// Reads that do not find errors cost the same with each of them.
public enum ErrorReadPolicy: String, Sendable, Hashable, CaseIterable {
  /// Its older value, if the cache has one; otherwise it is a cache miss. The error is ignored.
  case refuse
  /// Null, with its errors in ``StoreAnswer/errors``: the result equals the one from the network. A cache miss if an
  /// error is that of a field below the null which the operation does not select, or was too large to be stored.
  case replay
  /// Null, without errors: as if it had been written with ``ErrorPolicy/keep``. A cache miss if an error was too large to
  /// be stored.
  case keep
}

/// A source of records with the values of ``StoredErrors`` in place of their own.
final class ErrorSource: RecordSource, SegmentAccess {
  static var hasTimes: Bool { true }

  private var base: any RecordSource
  /// The depth of lookups of segments.
  private var depth = 0
  private let texts = HeldTexts()
  /// The times of the latest record.
  private var latest = RecordTimes(received: 0)

  /// - Parameter base: A source whose records have times.
  init(_ base: any RecordSource) { self.base = base }

  var failure: CacheError? { base.failure }
  var hasErrors: Bool { base.hasErrors }

  func text(key: Bytes, depth: Int) -> Bytes? {
    let text = base.text(key: key, depth: depth)
    if Segments.isSegment(key: key) || ErrorRecord.isErrors(key: key) {
      if text != nil { latest = base.times(depth: depth) }
      return text
    }
    latest = text == nil ? RecordTimes(received: 0) : base.times(depth: depth)
    // At another depth, where the text of the record remains valid.
    self.depth = depth + 1
    guard let found = base.text(key: ErrorRecord.key(of: key), depth: depth + 1) else {
      return text
    }
    let errors = StoredErrors(found)
    let errorTimes = base.times(depth: depth + 1)
    let record = errors.replayed(in: text?.array ?? Array("{}".utf8), access: self)
    guard record.count > 2 else { return text }
    latest = times(errors, errorTimes, in: record, isStored: text != nil)
    return texts.hold(record, depth: depth)
  }

  /// A field that failed has the time of its error; one with errors inside has that of its oldest part.
  private func times(
    _ errors: StoredErrors, _ errorTimes: RecordTimes, in record: [UInt8], isStored: Bool
  ) -> RecordTimes {
    var fields: [[UInt8]: UInt32] = [:]
    latest.withFields { ownTime in
      errorTimes.withFields { errorTime in
        for position in errors.positions {
          guard case .field(let key)? = position.steps.first else { continue }
          var time = StoredErrors.quotedName(of: position.steps).withBytes { errorTime($0) }
          if position.steps.count > 1, isStored {
            time = min(time, key.withBytes { ownTime($0) })
          }
          fields[key] = min(fields[key] ?? .max, time)
        }
      }
    }
    return latest.replacing(fields.map { (key: $0.key, time: $0.value) }, in: record)
  }

  func times(depth: Int) -> RecordTimes { latest }

  func text(of key: [UInt8]) -> [UInt8]? { base.text(key: key, depth: depth)?.array }

  /// Lists that are read have no new segments.
  var segmentSeed: UInt64 { 0 }
  func storeSegment(_ key: Bytes, _ text: Bytes) -> Bool { false }
  func removeSegment(_ key: [UInt8]) {}
}

/// Fields that are read with their errors.
extension RecordReader {
  /// Writes the value of a field that failed, and collects its errors.
  ///
  /// - Parameter field: The field, if its values are leaf values; it is not part of ``path`` then.
  @inline(never)
  mutating func errored(
    _ value: Bytes, _ field: UnsafeMutablePointer<FieldPlan>?, node: Int32, depth: Int,
    recordKey: Bytes
  ) -> Bool {
    var cursor = FieldCursor(value)
    guard let list = cursor.next(),
      let entries = try? JSONValue(parsing: value[list.value].array).arrayValue
    else { return malformed(recordKey) }
    let data = cursor.next()
    // A miss and an error name the field itself.
    if let field { path.append(.field(field.pointee.key)) }
    let storedName = field?.pointee.storedName ?? path.lastKey
    // What was too large to be stored.
    if entries.isEmpty { return miss(recordKey: recordKey.string, field: storedName) }
    if keepsErrors {
      let here = path.json
      for entry in entries {
        guard var error = entry.objectValue, let below = error["path"]?.arrayValue else {
          return malformed(recordKey)
        }
        guard let rest = table.responsePath(below, under: node) else {
          // Whether the server would have sent null without the field that failed is not known.
          return miss(recordKey: recordKey.string, field: storedName)
        }
        error["path"] = .array(here + rest)
        errors.append(.object(error))
      }
    }
    if field != nil { path.removeLast() }
    guard let data else {
      out.append(utf8: "null")
      return true
    }
    guard let field, RecordText.kind(value[data.value]) != .errored else {
      // A list of leaf values, and the operation selects fields of its elements.
      return miss(recordKey: recordKey.string, field: path.lastKey)
    }
    return nestedLeaf(value[data.value], field, depth: depth, recordKey: recordKey)
  }
}
