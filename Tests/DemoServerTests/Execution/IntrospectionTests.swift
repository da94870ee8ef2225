import GQLRunDemoServer
import GQLRunJSON
import GQLRunLanguage
import Testing

/// What the schema says about itself to those who ask the standard question.
@Suite struct IntrospectionTests {
  private let schema: JSONValue

  init() throws {
    let response = try JSONValue(parsing: DemoExecutor().execute(Self.standardQuery))
    #expect(response["errors"] == nil)
    schema = try #require(response["data"]?["__schema"])
  }

  private func type(_ name: String) throws -> JSONValue {
    try #require(schema["types"]?.arrayValue?.first { $0["name"]?.stringValue == name })
  }

  private func member(_ name: String, of list: String, in type: JSONValue) throws -> JSONValue {
    try #require(type[list]?.arrayValue?.first { $0["name"]?.stringValue == name })
  }

  @Test func `the roots are named`() {
    #expect(schema["queryType"] == ["name": "Query"])
    #expect(schema["mutationType"] == ["name": "Mutation"])
    #expect(schema["subscriptionType"] == ["name": "Subscription"])
    #expect(schema["description"]?.stringValue?.hasPrefix("The demo server") == true)
  }

  @Test func `every type is there once, and every type that is named`() throws {
    let types = try #require(schema["types"]?.arrayValue)
    let names = types.compactMap { $0["name"]?.stringValue }
    #expect(Set(names).count == names.count)
    func typeNames(in value: JSONValue) -> [String] {
      switch value {
      case .array(let elements): return elements.flatMap(typeNames)
      case .object(let object):
        let own = object["kind"]?.stringValue == nil ? nil : object["name"]?.stringValue
        return [own].compactMap { $0 } + object.values.flatMap(typeNames)
      default: return []
      }
    }
    #expect(Set(typeNames(in: schema)) == Set(names))
    #expect(names.contains("__Type") && names.contains("Boolean") && names.contains("Country"))
  }

  @Test func `every kind of type shows what belongs to it`() throws {
    for type in try #require(schema["types"]?.arrayValue) {
      let kind = try #require(type["kind"]?.stringValue)
      let name = type["name"]?.stringValue ?? ""
      #expect((type["fields"] != .null) == ["OBJECT", "INTERFACE"].contains(kind), "\(name)")
      #expect((type["interfaces"] != .null) == ["OBJECT", "INTERFACE"].contains(kind), "\(name)")
      #expect((type["possibleTypes"] != .null) == ["INTERFACE", "UNION"].contains(kind), "\(name)")
      #expect((type["enumValues"] != .null) == (kind == "ENUM"), "\(name)")
      #expect((type["inputFields"] != .null) == (kind == "INPUT_OBJECT"), "\(name)")
      #expect((type["isOneOf"] != .null) == (kind == "INPUT_OBJECT"), "\(name)")
    }
  }

  @Test func `lists and non-nulls are wrapped`() throws {
    let languages = try member("languages", of: "fields", in: type("Country"))
    #expect(
      try JSONValue(
        parsing: #"""
          {"kind":"NON_NULL","name":null,"ofType":{"kind":"LIST","name":null,"ofType":
          {"kind":"NON_NULL","name":null,"ofType":{"kind":"OBJECT","name":"Language",
          "ofType":null}}}}
          """#) == languages["type"])
  }

  @Test func `arguments have types, descriptions and defaults`() throws {
    let query = try type("Query")
    let countries = try member("countries", of: "fields", in: query)
    let filter = try member("filter", of: "args", in: countries)
    #expect(filter["defaultValue"] == "{}")
    #expect(filter["type"]?["name"] == "CountryFilterInput")
    let search = try member("search", of: "fields", in: query)
    #expect(try member("first", of: "args", in: search)["defaultValue"] == "10")
    let feed = try member("feed", of: "fields", in: query)
    let first = try member("first", of: "args", in: feed)
    #expect(first["defaultValue"] == .null)
    #expect(first["description"] == "How many posts to return, at least 0.")
    let error = try member("error", of: "fields", in: type("Trouble"))
    #expect(try member("code", of: "args", in: error)["defaultValue"] == "\"DEMO_ERROR\"")
  }

  @Test func `deprecation has its reason, and hides unless asked for`() throws {
    let likes = try member("likes", of: "fields", in: type("Post"))
    #expect(likes["isDeprecated"] == true)
    #expect(likes["deprecationReason"] == "Use `likeCount`.")
    let guest = try member("GUEST", of: "enumValues", in: type("Role"))
    #expect(guest["isDeprecated"] == true)
    let response = try JSONValue(
      parsing: DemoExecutor().execute(
        "{ a: __type(name: \"Post\") { fields { name } } b: __type(name: \"Role\") { enumValues { name } } }"
      ))
    let fields = response["data"]?["a"]?["fields"]?.arrayValue?.map { $0["name"]?.stringValue }
    #expect(fields?.contains("likeCount") == true && fields?.contains("likes") == false)
    #expect(
      response["data"]?["b"]?["enumValues"] == [["name": "ADMIN"], ["name": "MEMBER"]])
  }

  @Test func `interfaces and unions know their types`() throws {
    func names(_ list: JSONValue?) -> [String]? {
      list?.arrayValue?.compactMap { $0["name"]?.stringValue }
    }
    #expect(
      try names(type("Node")["possibleTypes"]) == [
        "User", "Tag", "Post", "Comment", "Customer", "Repository", "Issue", "IssueComment",
        "Label",
      ])
    #expect(try names(type("SearchResult")["possibleTypes"]) == ["Post", "User"])
    #expect(try names(type("User")["interfaces"]) == ["Node"])
    #expect(try type("Query")["interfaces"] == [])
  }

  @Test func `a scalar names its specification`() throws {
    #expect(
      try type("DateTime")["specifiedByURL"]
        == "https://scalars.graphql.org/andimarek/date-time")
    #expect(try type("Int")["specifiedByURL"] == .null)
  }

  @Test func `directives are explained`() throws {
    let skip = try member("skip", of: "directives", in: schema)
    #expect(skip["locations"] == ["FIELD", "FRAGMENT_SPREAD", "INLINE_FRAGMENT"])
    #expect(skip["isRepeatable"] == false)
    let deprecated = try member("deprecated", of: "directives", in: schema)
    #expect(deprecated["locations"]?.arrayValue?.contains("DIRECTIVE_DEFINITION") == true)
    #expect(try member("if", of: "args", in: skip)["type"]?["kind"] == "NON_NULL")
    let names = schema["directives"]?.arrayValue?.compactMap { $0["name"]?.stringValue } ?? []
    #expect(
      Set(names)
        == ["skip", "include", "defer", "stream", "deprecated", "specifiedBy", "oneOf"])
  }

  @Test func `the text of the schema has the same types`() throws {
    let text = try Schema(sdl: Document(parsing: DemoExecutor.schemaText))
    let names = schema["types"]?.arrayValue?.compactMap { $0["name"]?.stringValue } ?? []
    #expect(Array(names.prefix(text.typeNames.count)) == text.typeNames)
  }

  @Test(arguments: [
    ("{ __type(name: \"Nothing\") { name } }", #"{"data":{"__type":null}}"#),
    (
      "{ __type(name: \"__TypeKind\") { kind enumValues { name } } }",
      #"{"data":{"__type":{"kind":"ENUM","enumValues":[{"name":"SCALAR"},{"name":"OBJECT"},"#
        + #"{"name":"INTERFACE"},{"name":"UNION"},{"name":"ENUM"},{"name":"INPUT_OBJECT"},"#
        + #"{"name":"LIST"},{"name":"NON_NULL"}]}}}"#
    ),
    (
      "{ __schema { subscriptionType { kind fields { name type { ofType { kind fields { name } } } } } } }",
      #"{"data":{"__schema":{"subscriptionType":{"kind":"OBJECT","fields":["#
        + #"{"name":"likesChanged","type":{"ofType":{"kind":"OBJECT","fields":["#
        + #"{"name":"id"},{"name":"title"},{"name":"body"},{"name":"publishedAt"},"#
        + #"{"name":"likeCount"},{"name":"ratio"},{"name":"isPinned"},{"name":"author"},"#
        + #"{"name":"tags"},{"name":"comments"}]}}},"#
        + #"{"name":"countdown","type":{"ofType":{"kind":"SCALAR","fields":null}}}]}}}}"#
    ),
    (
      "{ __schema { __typename queryType { __typename } } }",
      #"{"data":{"__schema":{"__typename":"__Schema","queryType":{"__typename":"__Type"}}}}"#
    ),
  ])
  func `parts of it can be asked for`(_ query: String, expected: String) {
    #expect(String(decoding: DemoExecutor().execute(query), as: UTF8.self) == expected)
  }

  @Test func `directives have a deprecation, and may be asked for with it`() throws {
    let response = try JSONValue(
      parsing: DemoExecutor().execute(
        "{ __schema { directives(includeDeprecated: true) { name isDeprecated deprecationReason } } "
          + "__type(name: \"__Schema\") { fields { name args { name defaultValue } } } }"))
    let directives = response["data"]?["__schema"]?["directives"]?.arrayValue ?? []
    #expect(
      directives.map { $0["name"]?.stringValue } == [
        "defer", "stream", "skip", "include", "deprecated", "specifiedBy", "oneOf",
      ])
    #expect(
      directives.allSatisfy { $0["isDeprecated"] == false && $0["deprecationReason"] == .null })
    let field = try member("directives", of: "fields", in: response["data"]?["__type"] ?? .null)
    #expect(field["args"] == [["name": "includeDeprecated", "defaultValue": "false"]])
  }

  @Test func `objects of the introspection may be selected without fields`() {
    let response = DemoExecutor().execute("{ __schema { } __type(name: \"Nothing\") { } }")
    #expect(
      String(decoding: response, as: UTF8.self) == #"{"data":{"__schema":{},"__type":null}}"#)
  }

  @Test func `it is the introspection of the schema's text`() throws {
    func value(_ json: JSONValue) -> IntrospectionValue {
      switch json {
      case .null: .null
      case .boolean(let value): .boolean(value)
      case .number(let number): .number(number.text)
      case .string(let text): .string(text)
      case .array(let elements): .list(elements.map(value))
      case .object(let object):
        .object(
          Dictionary(uniqueKeysWithValues: object.map { ($0.key, value($0.value)) }))
      }
    }
    let text = try Schema(sdl: Document(parsing: DemoExecutor.schemaText))
    let response = try JSONValue(
      parsing: DemoExecutor().execute(IntrospectionQuery.september2026.text))
    #expect(response["data"].map(value) == text.introspection)
  }

  /// What tools ask (graphql-js's `getIntrospectionQuery` with all options).
  private static let standardQuery = """
    query IntrospectionQuery {
      __schema {
        description
        queryType { name }
        mutationType { name }
        subscriptionType { name }
        types { ...FullType }
        directives {
          name description isRepeatable locations
          args(includeDeprecated: true) { ...InputValue }
        }
      }
    }
    fragment FullType on __Type {
      kind name description specifiedByURL isOneOf
      fields(includeDeprecated: true) {
        name description
        args(includeDeprecated: true) { ...InputValue }
        type { ...TypeRef }
        isDeprecated deprecationReason
      }
      inputFields(includeDeprecated: true) { ...InputValue }
      interfaces { ...TypeRef }
      enumValues(includeDeprecated: true) { name description isDeprecated deprecationReason }
      possibleTypes { ...TypeRef }
    }
    fragment InputValue on __InputValue {
      name description type { ...TypeRef } defaultValue isDeprecated deprecationReason
    }
    fragment TypeRef on __Type {
      kind name
      ofType { kind name ofType { kind name ofType { kind name ofType { kind name ofType {
        kind name ofType { kind name ofType { kind name ofType { kind name } } } } } } } }
    }
    """
}
