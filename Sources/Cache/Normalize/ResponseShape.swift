public import GQLRunJSON

/// Checks a response against the schema as its bytes arrive.
///
/// Errors are a null at a non-null type, a scalar of another type, an object instead of a list or
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
  private let context: UnsafeMutablePointer<ShapeContext>
  private var parser: JSONParser

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
    context = .allocate(capacity: 1)
    context.initialize(
      to: ShapeContext(
        scope: JSONEventScope(limits: limits), check: Unmanaged.passUnretained(check)))
    do {
      parser = try JSONParser(
        handlers: shapeHandlers, context: UnsafeMutableRawPointer(context))
    } catch {
      context.deinitialize(count: 1)
      context.deallocate()
      throw CacheError(.storage, "cannot start a JSON parser: \(error.message)")
    }
  }

  deinit {
    context.deinitialize(count: 1)
    context.deallocate()
  }

  /// Checks the next chunk of the response.
  ///
  /// - Throws: ``CacheError``: `unexpectedShape` with the path, `invalidJSON` with the byte offset.
  public func feed(_ bytes: UnsafeRawBufferPointer) throws(CacheError) {
    do { try parser.feed(bytes) } catch { throw describe(error) }
  }

  /// Ends the response.
  ///
  /// - Throws: ``CacheError`` if its JSON text is incomplete.
  public func finish() throws(CacheError) {
    do { try parser.finish() } catch { throw describe(error) }
  }

  private func describe(_ error: JSONError) -> CacheError {
    if var own = check.failure {
      own.byteOffset = own.byteOffset ?? error.offset
      return own
    }
    return CacheError(
      error.code == .unexpectedEnd ? .truncatedResponse : .invalidJSON,
      "the response is not valid JSON at byte \(error.offset): \(error.message)",
      byteOffset: error.offset)
  }
}

/// The context of the parser's handlers; the scope is first.
private struct ShapeContext {
  var scope: JSONEventScope
  let check: Unmanaged<ShapeCheck>
}

/// Forwards an event to the check; returns 0 to stop the parser.
private func pass(
  _ context: UnsafeMutableRawPointer?, counting count: (inout JSONEventScope) -> Bool,
  to body: (ShapeCheck) -> Bool
) -> Int32 {
  let context = context.unsafelyUnwrapped.assumingMemoryBound(to: ShapeContext.self)
  guard count(&context.pointee.scope) else { return 0 }
  if body(context.pointee.check.takeUnretainedValue()) { return 1 }
  context.pointee.scope.fail(JSONFailureCode(rawValue: JSONFailureCode.firstHandlerCode))
  return 0
}

private func string(_ bytes: UnsafePointer<UInt8>?, _ length: Int) -> String {
  String(decoding: UnsafeBufferPointer(start: bytes, count: length), as: UTF8.self)
}

private func counted(_ scope: inout JSONEventScope) -> Bool {
  scope.count()
  return true
}

private func left(_ scope: inout JSONEventScope) -> Bool {
  scope.leave()
  return true
}

private let shapeHandlers = JSONEventHandlers(
  null: { pass($0, counting: counted, to: { $0.value(.null) }) },
  boolean: { context, _ in pass(context, counting: counted, to: { $0.value(.boolean) }) },
  number: { context, bytes, length in
    pass(
      context, counting: { $0.checkNumber(length) },
      to: { check in
        let text = bytes.map {
          String(
            decoding: UnsafeRawBufferPointer(start: UnsafeRawPointer($0), count: length),
            as: UTF8.self)
        }
        return check.value(.number(text ?? ""))
      })
  },
  string: { context, bytes, length in
    pass(
      context, counting: { $0.checkString(length) },
      // Only type names and enum values are used, which are short.
      to: { $0.value(.string(string(bytes, min(length, 256)))) })
  },
  startObject: { pass($0, counting: { $0.enter() }, to: { $0.open(isObject: true) }) },
  key: { context, bytes, length in
    pass(
      context, counting: { $0.checkKey(length) }, to: { $0.key(string(bytes, length)) })
  },
  endObject: { pass($0, counting: left, to: { $0.close() }) },
  startArray: { pass($0, counting: { $0.enter() }, to: { $0.open(isObject: false) }) },
  endArray: { pass($0, counting: left, to: { $0.close() }) })

/// Writes the caller's result: the selected fields under their response keys.
struct ResultWriter: ~Copyable {
  /// Whether there is a caller who reads the result; otherwise nothing is written.
  let isWanted: Bool
  // Allocated for every response, most of which are small, so its initial size is small.
  var buffer = ByteStack(capacity: 512)
  private var needsComma = false

  init(isWanted: Bool) { self.isWanted = isWanted }

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
