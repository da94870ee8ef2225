/// Reads the members of one JSON object, in any order; generated types decode themselves with it.
///
/// Responses list their fields in selection order, so the next member is compared first. Members that
/// no property reads are ignored. Several types can read the same object: an object and its fragments.
public struct ObjectReader {
  @usableFromInline let index: TokenIndex
  /// The position of the object in the index.
  @usableFromInline let token: Int
  /// The position of the key that is compared first.
  private var next: Int

  @usableFromInline
  init(_ index: TokenIndex, at token: Int) {
    self.index = index
    self.token = token
    next = token + 1
  }

  /// Reads the value of a member.
  ///
  /// - Parameters:
  ///   - key: The response key.
  ///   - type: The type in the GraphQL schema, for error messages.
  /// - Throws: ``TypeMismatch`` if the member is missing or has another type.
  @inlinable
  public mutating func read<Value: GraphQLDecodable>(
    _ key: StaticString, _ type: StaticString
  ) throws -> Value {
    guard let member = member(key) else { throw missing(key, type) }
    do {
      return try Value(from: ValueReader(index, at: member))
    } catch {
      throw Self.mismatch(error, type)
    }
  }

  /// Reads the value of a member that `@skip` or `@include` may exclude from the response.
  ///
  /// Other selections of the same object may include the member when this one is excluded; its value then
  /// may lack fields.
  ///
  /// - Returns: The value; `nil` if the member is missing or null, or if it lacks a field.
  /// - Throws: ``TypeMismatch`` if the member has another type.
  @inlinable
  public mutating func readIfIncluded<Value: GraphQLDecodable>(
    _ key: StaticString, _ type: StaticString
  ) throws -> Value? {
    do {
      return member(key) == nil ? nil : try read(key, type) as Value?
    } catch let error as TypeMismatch where error.isMissing {
      return nil
    }
  }

  /// Reads fields that the server may send later, from the same object.
  public mutating func deferred<Value: GraphQLObject>() throws -> Deferred<Value> {
    do {
      return .loaded(try .read(from: &self))
    } catch let error as TypeMismatch where error.isMissing {
      return .pending
    }
  }

  /// The value of `__typename`.
  ///
  /// - Throws: ``TypeMismatch`` if the object has none.
  public mutating func typename() throws -> String { try read("__typename", "String!") }

  /// Whether the Boolean variable with that name is true, for fragments with `@skip` or `@include`.
  public func isTrue(_ variable: String) -> Bool { index.conditions[variable] ?? false }

  @usableFromInline
  func missing(_ key: StaticString, _ type: StaticString) -> TypeMismatch {
    TypeMismatch(missing: key, of: index, at: token, type: type)
  }

  /// The error of a value, with the type of its field if the error has none.
  @usableFromInline
  static func mismatch(_ error: any Error, _ type: StaticString) -> any Error {
    guard var mismatch = error as? TypeMismatch, mismatch.type.isEmpty else { return error }
    mismatch.type = type.description
    return mismatch
  }

  /// The position of the value of a member.
  @usableFromInline
  mutating func member(_ key: StaticString) -> Int? {
    let end = Int(index.tokens[token].next)
    let first = next
    var current = first
    while current < end {
      let value = current + 1
      if index.isKey(current, key) {
        next = Int(index.tokens[value].next)
        return value
      }
      current = Int(index.tokens[value].next)
    }
    current = token + 1
    while current < first {
      let value = current + 1
      if index.isKey(current, key) {
        next = Int(index.tokens[value].next)
        return value
      }
      current = Int(index.tokens[value].next)
    }
    return nil
  }
}
