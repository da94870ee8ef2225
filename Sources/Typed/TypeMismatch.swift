import GQLRunJSON

/// A value of a response that does not have the type of its field.
///
/// ```
/// country.languages[2].name: expected String!, found null
/// ```
public struct TypeMismatch: Error, Sendable, Hashable, CustomStringConvertible {
  /// A response key or a list index.
  public typealias PathElement = GraphQLError.PathElement

  /// The path from the root of the data to the value.
  public var path: [PathElement]
  /// The type of the field in the GraphQL schema: `[String!]!`.
  public var type: String
  /// What the response has: `null`, `the number 17`; `no member` for a missing field.
  public var found: String
  /// Why the value does not fit, for a value of the right kind; `nil` otherwise.
  public var reason: String?
  /// Whether the response lacks the field.
  public var isMissing: Bool
  /// Whether the response has null.
  public var isNull: Bool { found == "null" }

  init(of index: TokenIndex, at token: Int, reason: String?) {
    path = index.path(to: token)
    type = ""
    found = index.shown(token)
    isMissing = false
    self.reason = reason
  }

  init(missing key: StaticString, of index: TokenIndex, at object: Int, type: StaticString) {
    path = index.path(to: object) + [.key(key.description)]
    self.type = type.description
    found = "no member"
    isMissing = true
  }

  /// The path in GraphQL's notation: `country.languages[2].name`.
  public var pathText: String {
    path.reduce(into: "") { text, element in
      switch element {
      case .key(let key): text += text.isEmpty ? key : ".\(key)"
      case .index(let index): text += "[\(index)]"
      }
    }
  }

  /// The path, the type, and what was found.
  public var description: String {
    (path.isEmpty ? "the data" : pathText)
      + ": expected \(type.isEmpty ? "an object" : type), found "
      + found + (reason.map { " (\($0))" } ?? "")
  }
}

extension TokenIndex {
  /// The path from the root to a value; walks from the root, because only errors need it.
  fileprivate func path(to token: Int) -> [TypeMismatch.PathElement] {
    var path: [TypeMismatch.PathElement] = []
    var container = 0
    while container != token {
      let isObject = json.first(container) == UInt8(ascii: "{")
      var (child, position) = (container + 1, 0)
      while child < json.tokens.count {
        let value = isObject ? child + 1 : child
        let next = json.position(after: value)
        if token < next {
          path.append(isObject ? .key(json.string(child) ?? "") : .index(position))
          container = value
          break
        }
        (child, position) = (next, position + 1)
      }
      if child >= json.tokens.count { break }
    }
    return path
  }

  /// The value for a message; long strings are shortened.
  fileprivate func shown(_ token: Int) -> String {
    switch json.first(token) {
    case UInt8(ascii: "{"): return "an object"
    case UInt8(ascii: "["): return "a list"
    case UInt8(ascii: "\""):
      let text = json.string(token) ?? ""
      let start = String(text.prefix(40))
      return "the string \(JSONValue.string(start).jsonText())" + (text.count > 40 ? "…" : "")
    case UInt8(ascii: "t"), UInt8(ascii: "f"), UInt8(ascii: "n"):
      return String(decoding: json.text(token), as: UTF8.self)
    default: return "the number \(String(decoding: json.text(token).prefix(40), as: UTF8.self))"
    }
  }
}
