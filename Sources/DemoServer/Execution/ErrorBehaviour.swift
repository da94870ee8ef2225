import GQLRunJSON
import GQLRunLanguage

/// What becomes of the error of a field: the parameter `onError` of a request.
///
/// https://github.com/graphql/graphql-spec/pull/1163
enum ErrorBehaviour: String, CaseIterable, Sendable {
  /// The field is null if its type is nullable; otherwise the nearest nullable position above is.
  case propagate = "PROPAGATE"
  /// The field is null, whatever its type is.
  case null = "NULL"
  /// The response has no data, and only the first error.
  case halt = "HALT"

  /// The behaviour that a request asks for; that of the specification without the parameter.
  init(parameter: JSONValue?) throws(RequestError) {
    guard let parameter else {
      self = .propagate
      return
    }
    guard let behaviour = parameter.stringValue.flatMap(Self.init(rawValue:)) else {
      let names = Self.allCases.map(\.rawValue).joined(separator: ", ")
      throw .badRequest("The parameter onError is \(parameter.jsonText()); it is one of \(names).")
    }
    self = behaviour
  }

  /// Whether the error of a value of some type ends at the value, which is null then.
  func absorbsErrors(of type: TypeReference) -> Bool {
    switch self {
    case .propagate: !type.isNonNull
    case .null: true
    case .halt: false
    }
  }
}

extension Introspection {
  /// The value of `__service`: that the server supports `onError`, and what it does without it.
  ///
  /// https://github.com/graphql/graphql-spec/pull/1208
  static let service: ResolvedValue = {
    func capability(_ identifier: String, _ value: IntrospectionValue) -> IntrospectionValue {
      .object(["identifier": .string(identifier), "description": .null, "value": value])
    }
    let capabilities = [
      capability("graphql.onError", .null),
      capability(
        "graphql.defaultErrorBehavior", .string(ErrorBehaviour.propagate.rawValue)),
    ]
    return .object(
      .introspection(
        Object(typeName: "__Service", members: ["capabilities": .list(capabilities)])))
  }()
}
