/// A JSON value of an introspection result.
///
/// This module has no JSON parser; callers convert the value from theirs.
public enum IntrospectionValue: Sendable, Hashable {
  /// `null`.
  case null
  /// `true` or `false`.
  case boolean(Bool)
  /// A number as text. Introspection has none, but the response around it may.
  case number(String)
  /// A string.
  case string(String)
  /// A list.
  case list([IntrospectionValue])
  /// An object.
  case object([String: IntrospectionValue])

  /// The value of an object's key; `nil` for `null`, for missing keys and for values that are not
  /// objects.
  package subscript(key: String) -> IntrospectionValue? {
    guard case .object(let values) = self, let value = values[key], value != .null else {
      return nil
    }
    return value
  }

  /// The text of a string; `nil` for other values.
  package var string: String? { if case .string(let text) = self { text } else { nil } }
  /// The elements of a list; `nil` for other values.
  package var list: [IntrospectionValue]? {
    if case .list(let values) = self { values } else { nil }
  }
  var boolean: Bool? { if case .boolean(let value) = self { value } else { nil } }
}
