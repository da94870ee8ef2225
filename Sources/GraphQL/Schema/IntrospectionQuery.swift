/// The query that asks a server for its schema.
///
/// By default it asks for what every server knows. The rest came with later versions of the
/// specification, and a server that does not know a field refuses the query.
///
/// https://spec.graphql.org/September2025/#sec-Schema-Introspection
public struct IntrospectionQuery: Sendable, Hashable {
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

  /// Asks for everything the September 2025 specification has.
  public static let complete = IntrospectionQuery(
    specifiedByURL: true, directiveIsRepeatable: true, schemaDescription: true,
    inputValueDeprecation: true, oneOf: true)

  /// The name of the operation.
  public static let operationName = "IntrospectionQuery"

  /// The query, with a newline at its end.
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

  /// How many lists and non-nulls around a type the query follows.
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
