import GQLRunJSON

// What generated types use for fields with `@catch`.

/// A null that its type cannot represent, of a field without `@catch`, with the error of the response that explains it.
package struct UncaughtNull: Error {
  package let error: FieldError
}

extension ValueReader {
  /// Reads a value: one of the schema's type, without `@catch`.
  ///
  /// - Throws: ``TypeMismatch`` if the value has another type; an error that has the ``FieldError`` of a null that the
  ///   type cannot represent.
  public func value<Value: GraphQLDecodable>() throws -> Value { try Value(from: self) }

  /// Reads a value or the error at its position: `@catch(to: RESULT)`.
  ///
  /// - Throws: ``TypeMismatch`` if the value has another type, or is null without an error.
  public func result<Value: GraphQLDecodable>() throws -> Result<Value, FieldError> {
    try result(Value.init(from:))
  }

  /// Reads a value with `read`, or the error at its position, of a non-null field inside it, or of one with
  /// `@catch(to: THROW)`.
  ///
  /// - Throws: The other errors of `read`.
  public func result<Value>(
    _ read: (ValueReader) throws -> Value
  ) throws -> Result<Value, FieldError> {
    do {
      return .success(try throwing(read))
    } catch let error as FieldError {
      return .failure(error)
    }
  }

  /// Reads a value, or `nil` for an error at its position or inside it, as ``result(_:)``: `@catch(to: NULL)`.
  ///
  /// - Throws: ``TypeMismatch`` if the value has another type.
  public func nullOnError<Value: GraphQLDecodable>() throws -> Value? {
    try nullOnError(Value.init(from:))
  }

  /// Reads a value with `read`, or `nil` for a null and for an error inside it, as ``result(_:)``.
  ///
  /// - Throws: The other errors of `read`.
  public func nullOnError<Value>(_ read: (ValueReader) throws -> Value) throws -> Value? {
    if isNull { return nil }
    switch try result(read) {
    case .success(let value): return value
    case .failure: return nil
    }
  }

  /// Reads a value whose error fails the object that has it: `@catch(to: THROW)`.
  ///
  /// - Throws: ``FieldError`` of the response for a null; ``TypeMismatch`` if the value has another type, or is null
  ///   without an error where the type cannot represent that.
  public func throwing<Value: GraphQLDecodable>() throws -> Value {
    try throwing(Value.init(from:))
  }

  /// Reads a value with `read`.
  ///
  /// - Throws: ``FieldError`` of the response for a null, and for one inside the value that its type cannot represent;
  ///   the other errors of `read`.
  public func throwing<Value>(_ read: (ValueReader) throws -> Value) throws -> Value {
    if isNull, let error { throw error }
    do {
      return try read(self)
    } catch let null as UncaughtNull {
      throw null.error
    }
  }

  /// Reads a value with `read`, or `nil` for null.
  ///
  /// - Throws: The errors of `read`.
  public func optional<Value>(_ read: (ValueReader) throws -> Value) throws -> Value? {
    isNull ? nil : try read(self)
  }
}

extension ObjectReader {
  /// Reads the value of a member with `read`.
  ///
  /// - Parameters:
  ///   - key: The response key.
  ///   - type: The type in the GraphQL schema, for error messages.
  ///   - read: Reads the value.
  /// - Throws: ``TypeMismatch`` if the member is missing; the errors of `read`.
  public mutating func read<Value>(
    _ key: StaticString, _ type: StaticString, with read: (ValueReader) throws -> Value
  ) throws -> Value {
    guard let member = member(key) else { throw missing(key, type) }
    do {
      return try read(ValueReader(index, at: member))
    } catch {
      throw Self.mismatch(error, type)
    }
  }

  /// Reads the value of a member that `@skip` or `@include` may exclude from the response, with `read`.
  ///
  /// - Returns: The value; `nil` if the member is missing, or if it lacks a field.
  /// - Throws: The errors of `read`.
  public mutating func readIfIncluded<Value>(
    _ key: StaticString, _ type: StaticString, with read: (ValueReader) throws -> Value?
  ) throws -> Value? {
    do {
      return member(key) == nil ? nil : try self.read(key, type, with: read)
    } catch let error as TypeMismatch where error.isMissing {
      return nil
    }
  }
}

extension Result: GraphQLEncodable where Success: GraphQLEncodable, Failure == FieldError {
  /// The value as JSON; null for an error, which ``ObjectWriter`` leaves out.
  public var json: JSONValue { (try? get())?.json ?? .null }
  /// Whether there is an error: as null, it would be stored as a value.
  public var isAbsent: Bool { (try? get())?.isAbsent ?? true }
}

extension JSONIndex {
  /// The errors of the nulls in the text by their position: those with the path of the null, or of a value below it,
  /// from where the null was propagated. Of several, the first.
  ///
  /// Visits only what the paths lead through.
  func errorsOfNulls(_ errors: [FieldError]) -> [Int: FieldError] {
    var found: [Int: FieldError] = [:]
    var open: [(token: Int, depth: Int, errors: [FieldError])] = [
      (0, 0, errors.filter { $0.path != nil })
    ]
    while let (token, depth, errors) = open.popLast() {
      if first(token) == UInt8(ascii: "n") {
        found[token] = errors.first
        continue
      }
      var inner: [FieldError.PathElement: [FieldError]] = [:]
      for error in errors {
        guard let path = error.path, path.count > depth else { continue }
        inner[path[depth], default: []].append(error)
      }
      guard !inner.isEmpty else { continue }
      forEachChild(of: token) { element, child in
        if let errors = inner[element] { open.append((child, depth + 1, errors)) }
      }
    }
    return found
  }

  /// Calls `body` with the values in an object or list; not at all for another value.
  private func forEachChild(
    of token: Int, _ body: (_ element: FieldError.PathElement, _ child: Int) -> Void
  ) {
    let isObject = first(token) == UInt8(ascii: "{")
    guard isObject || first(token) == UInt8(ascii: "[") else { return }
    let end = position(after: token)
    var (child, count) = (token + 1, 0)
    while child < end {
      let value = isObject ? child + 1 : child
      body(isObject ? .key(string(child) ?? "") : .index(count), value)
      (child, count) = (position(after: value), count + 1)
    }
  }
}
