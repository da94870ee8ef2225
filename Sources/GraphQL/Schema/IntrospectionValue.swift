/// A part of an introspection result, in JSON's terms.
///
/// Callers fill it from whatever reads their JSON: this module has no JSON of its own.
public enum IntrospectionValue: Sendable, Hashable {
  case null
  case boolean(Bool)
  /// The number as it is written; introspection has none, but responses around it may.
  case number(String)
  case string(String)
  case list([IntrospectionValue])
  case object([String: IntrospectionValue])

  /// The value of an object's key; `nil` for `null`, for keys that are absent, and for others
  /// than objects.
  subscript(key: String) -> IntrospectionValue? {
    guard case .object(let values) = self, let value = values[key], value != .null else {
      return nil
    }
    return value
  }

  var string: String? { if case .string(let text) = self { text } else { nil } }
  var list: [IntrospectionValue]? { if case .list(let values) = self { values } else { nil } }
  var boolean: Bool? { if case .boolean(let value) = self { value } else { nil } }
}
