/// A query for a server's schema.
///
/// The default query selects only fields that every server supports. Later versions of the
/// specification added the optional fields; a server that does not support one rejects the query.
///
/// https://spec.graphql.org/September2025/#sec-Schema-Introspection
public struct IntrospectionQuery: Sendable, Hashable {
  /// Descriptions of types, fields, arguments, values and directives.
  public var descriptions: Bool
  /// `specifiedByURL` of scalars.
  public var specifiedByURL: Bool
  /// `isRepeatable` of directives.
  public var directiveIsRepeatable: Bool
  /// The description of the schema itself.
  public var schemaDescription: Bool
  /// Deprecated arguments and input fields.
  public var inputValueDeprecation: Bool
  /// `isOneOf` of input objects.
  public var oneOf: Bool

  /// Creates a query; an optional field is selected if its parameter is true.
  public init(
    descriptions: Bool = true, specifiedByURL: Bool = false, directiveIsRepeatable: Bool = false,
    schemaDescription: Bool = false, inputValueDeprecation: Bool = false, oneOf: Bool = false
  ) {
    self.descriptions = descriptions
    self.specifiedByURL = specifiedByURL
    self.directiveIsRepeatable = directiveIsRepeatable
    self.schemaDescription = schemaDescription
    self.inputValueDeprecation = inputValueDeprecation
    self.oneOf = oneOf
  }

  /// Selects everything in the September 2025 specification.
  public static let complete = IntrospectionQuery(
    specifiedByURL: true, directiveIsRepeatable: true, schemaDescription: true,
    inputValueDeprecation: true, oneOf: true)

  /// The name of the operation.
  public static let operationName = "IntrospectionQuery"

  /// The text of the query, with a trailing newline.
  public var text: String {
    let description = descriptions ? "description" : nil
    let deprecated = inputValueDeprecation ? "(includeDeprecated: true)" : ""
    let lines: [String?] = [
      "query \(IntrospectionQuery.operationName) {",
      "  __schema {",
      schemaDescription ? description.map { "    " + $0 } : nil,
      "    queryType { name }",
      "    mutationType { name }",
      "    subscriptionType { name }",
      "    types {",
      "      ...FullType",
      "    }",
      "    directives {",
      "      name",
      description.map { "      " + $0 },
      directiveIsRepeatable ? "      isRepeatable" : nil,
      "      locations",
      "      args\(deprecated) {",
      "        ...InputValue",
      "      }",
      "    }",
      "  }",
      "}",
      "",
      "fragment FullType on __Type {",
      "  kind",
      "  name",
      description.map { "  " + $0 },
      specifiedByURL ? "  specifiedByURL" : nil,
      oneOf ? "  isOneOf" : nil,
      "  fields(includeDeprecated: true) {",
      "    name",
      description.map { "    " + $0 },
      "    args\(deprecated) {",
      "      ...InputValue",
      "    }",
      "    type {",
      "      ...TypeRef",
      "    }",
      "    isDeprecated",
      "    deprecationReason",
      "  }",
      "  inputFields\(deprecated) {",
      "    ...InputValue",
      "  }",
      "  interfaces {",
      "    ...TypeRef",
      "  }",
      "  enumValues(includeDeprecated: true) {",
      "    name",
      description.map { "    " + $0 },
      "    isDeprecated",
      "    deprecationReason",
      "  }",
      "  possibleTypes {",
      "    ...TypeRef",
      "  }",
      "}",
      "",
      "fragment InputValue on __InputValue {",
      "  name",
      description.map { "  " + $0 },
      "  type { ...TypeRef }",
      "  defaultValue",
      inputValueDeprecation ? "  isDeprecated" : nil,
      inputValueDeprecation ? "  deprecationReason" : nil,
      "}",
      "",
      "fragment TypeRef on __Type {",
      "  kind",
      "  name",
    ]
    return (lines.compactMap { $0 } + IntrospectionQuery.wrappedTypes + ["}", ""])
      .joined(separator: "\n")
  }

  /// The maximum number of list and non-null wrappers around a type in the result.
  private static let wrapperDepth = 9

  private static var wrappedTypes: [String] {
    func indent(_ level: Int) -> String { String(repeating: "  ", count: level) }
    var lines: [String] = []
    for level in 1...wrapperDepth {
      lines += ["\(indent(level))ofType {", "\(indent(level + 1))kind", "\(indent(level + 1))name"]
    }
    return lines + (1...wrapperDepth).reversed().map { "\(indent($0))}" }
  }
}
