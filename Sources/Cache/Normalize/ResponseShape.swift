public import GQLRunJSON

/// Checks a response against the schema as its bytes arrive.
///
/// Errors are a null at a non-null type without an entry in `errors`, a scalar of another type, an object instead of a list or
/// the reverse, and a missing selected field. Enum values and object types that the schema does not
/// define are warnings, because servers add them over time. Fields that are not selected are
/// ignored.
///
/// Memory grows with the depth of the response, not with its size. Use it from one task.
/// https://spec.graphql.org/September2025/#sec-Value-Completion
public final class ResponseShape {
  /// Warnings, each once, at most a hundred.
  public var warnings: [String] { check.warnings }

  private let check: ShapeCheck
  private var reader: JSONEventReader

  /// Creates a check for one response.
  ///
  /// - Throws: ``CacheError`` with code `invalidOperation` if the operation was prepared without a
  ///   schema.
  public init(
    _ operation: PreparedOperation, limits: JSONLimits = JSONLimits()
  ) throws(CacheError) {
    guard let schema = operation.plan.facts?.schema else {
      throw CacheError(
        .invalidOperation,
        "the shape of a response can only be checked against a schema, and there is none; name one "
          + "with --schema FILE or the pipeline's key `schema`")
    }
    check = ShapeCheck(plan: operation.plan, schema: schema)
    do { reader = try JSONEventReader(check, limits: limits) } catch {
      throw CacheError(.storage, "cannot start a JSON parser: \(error.message)")
    }
  }

  /// Checks the next chunk of the response.
  ///
  /// - Throws: ``CacheError``: `unexpectedShape` with the path, `invalidJSON` with the byte offset.
  public func feed(_ bytes: UnsafeRawBufferPointer) throws(CacheError) {
    do { try reader.feed(bytes) } catch { throw describe(error) }
  }

  /// Ends the response.
  ///
  /// - Throws: ``CacheError`` if its JSON text is incomplete, or a null at a non-null type has no error.
  public func finish() throws(CacheError) {
    do { try reader.finish() } catch { throw describe(error) }
    check.checkNulls()
    if let failure = check.failure { throw failure }
  }

  private func describe(_ error: JSONError) -> CacheError {
    if var own = check.failure {
      own.byteOffset = own.byteOffset ?? error.offset
      return own
    }
    return CacheError(
      error.code == .unexpectedEnd ? .truncatedResponse : .invalidJSON,
      "the response \(error.verdict) at byte \(error.offset): \(error.message)",
      byteOffset: error.offset)
  }
}

/// Writes the caller's result: the selected fields under their response keys.
struct ResultWriter: ~Copyable {
  /// Whether there is a caller who reads the result; otherwise nothing is written.
  let isWanted: Bool
  // Allocated for every response, most of which are small, so its initial size is small.
  var buffer = ByteStack(capacity: 512)
  private(set) var needsComma = false

  /// Begins another result.
  mutating func reset() {
    buffer.truncate(to: 0)
    needsComma = false
  }

  /// Starts the object or list of a field.
  @inline(__always)
  mutating func open(_ opening: UInt8, as field: UnsafeMutablePointer<FieldPlan>) {
    guard isWanted else { return }
    beginMember(field)
    buffer.append(opening)
    needsComma = false
  }

  /// Starts the object or list that is a list element, or `data` itself.
  @inline(__always)
  mutating func open(_ opening: UInt8) {
    guard isWanted else { return }
    if needsComma { buffer.append(UInt8(ascii: ",")) }
    buffer.append(opening)
    needsComma = false
  }

  /// Ends an object or list.
  @inline(__always)
  mutating func close(_ closing: UInt8) {
    guard isWanted else { return }
    buffer.append(closing)
    needsComma = true
  }

  /// Writes the value of a field, unless only the cache selects it. The value is in `text` from
  /// `start` on.
  @inline(__always)
  mutating func append(
    _ field: UnsafeMutablePointer<FieldPlan>, in text: borrowing StoredText, from start: Int
  ) {
    guard isWanted && field.pointee.isAsked else { return }
    beginMember(field)
    buffer.append(text.value(from: start))
    needsComma = true
  }

  /// Writes a list element, which is in `text` from `start` on.
  @inline(__always)
  mutating func appendElement(in text: borrowing StoredText, from start: Int) {
    guard isWanted else { return }
    if needsComma { buffer.append(UInt8(ascii: ",")) }
    buffer.append(text.value(from: start))
    needsComma = true
  }

  @inline(__always)
  private mutating func beginMember(_ field: UnsafeMutablePointer<FieldPlan>) {
    if needsComma { buffer.append(UInt8(ascii: ",")) }
    buffer.append(field.pointee.resultPrefix.start, field.pointee.resultPrefix.count)
  }
}
