import GQLRunLanguage
import Testing

@Suite struct SchemaTests {
  private func issues(_ source: String) throws -> [String] {
    let error = #expect(throws: SchemaError.self) { try schema(source) }
    return error?.issues.map(\.description) ?? []
  }

  private let pets = """
    "all about pets" schema @tag { query: Root mutation: Change }
    directive @tag(name: String = "x") repeatable on SCHEMA | OBJECT
    type Root { pet(id: ID!): Pet pets: [Pet!]! any: CatOrDog node: Node }
    type Change { adopt(input: Adoption!): Cat }
    interface Node { id: ID! }
    interface Pet implements Node { id: ID! name: String }
    type Cat implements Pet & Node { id: ID! name: String mood: Mood @deprecated }
    type Dog implements Pet & Node @tag { id: ID! name: String }
    "rocks too" type Rock implements Node { id: ID! }
    union CatOrDog = Cat | Dog
    enum Mood { CALM ANGRY @deprecated(reason: "never") }
    input Adoption @oneOf { id: ID name: String }
    scalar Date @specifiedBy(url: "https://example.com")
    extend type Rock @tag { weight(unit: String = "kg"): Float }
    extend enum Mood { SLEEPY }
    extend union CatOrDog = Rock
    extend schema { subscription: Rock }
    """

  @Test func `types, fields, arguments and roots are found by name`() throws {
    let schema = try schema(pets)
    #expect(schema.description == "all about pets")
    #expect(schema.directives.map(\.name.value) == ["tag"])
    #expect(schema.typeNames.count == 11)
    #expect(schema.rootType(for: .query)?.name == "Root")
    #expect(schema.rootType(for: .mutation)?.name == "Change")
    #expect(schema.rootType(for: .subscription)?.name == "Rock")
    let field = try #require(schema.field("pet", on: "Root"))
    #expect(field.type.printed() == "Pet")
    #expect(field.argument(named: "id")?.isRequired == true)
    #expect(schema.type(named: "Nothing") == nil)
    #expect(schema.field("nothing", on: "Root") == nil)
    #expect(schema.directive(named: "tag")?.isRepeatable == true)
    guard case .inputObject(let input) = schema.type(named: "Adoption") else {
      Issue.record("not an input object")
      return
    }
    #expect(input.isOneOf)
    #expect(input.fields["name"]?.type.printed() == "String")
  }

  @Test func `extensions add to what they extend`() throws {
    let schema = try schema(pets)
    let rock = try #require(schema.type(named: "Rock"))
    #expect(rock.fields?.names == ["id", "weight"])
    #expect(rock.directives.map(\.name.value) == ["tag"])
    #expect(rock.description == "rocks too")
    guard case .enumeration(let mood) = schema.type(named: "Mood") else {
      Issue.record("not an enum")
      return
    }
    #expect(mood.values.names == ["CALM", "ANGRY", "SLEEPY"])
    #expect(mood.values.map(\.deprecationReason) == [nil, "never", nil])
    #expect(schema.field("mood", on: "Cat")?.deprecationReason == "No longer supported")
  }

  @Test func `abstract types have possible object types`() throws {
    let schema = try schema(pets)
    #expect(schema.possibleTypes(of: "Node") == ["Cat", "Dog", "Rock"])
    #expect(schema.possibleTypes(of: "Pet") == ["Cat", "Dog"])
    #expect(schema.possibleTypes(of: "CatOrDog") == ["Cat", "Dog", "Rock"])
    #expect(schema.possibleTypes(of: "Cat") == ["Cat"])
    #expect(schema.possibleTypes(of: "Mood").isEmpty)
    #expect(schema.isSubtype("Pet", of: "Node"))
    #expect(!schema.isSubtype("Node", of: "Pet"))
    #expect(schema.doTypesOverlap("Pet", "CatOrDog"))
    #expect(schema.doTypesOverlap("Rock", "Node"))
    #expect(!schema.doTypesOverlap("Rock", "Pet"))
    let list = try TypeReference(parsing: "[Cat!]!")
    #expect(schema.isSubtype(list, of: try TypeReference(parsing: "[Pet]")))
    #expect(!schema.isSubtype(try TypeReference(parsing: "[Pet]"), of: list))
    #expect(list.isSameType(as: try TypeReference(parsing: "[Cat!]!")))
  }

  @Test func `every schema has the built-in types, directives and meta fields`() throws {
    let schema = try schema("type Query { a: Int }")
    #expect(schema.typeNames == ["Query"])
    #expect(Schema.builtInScalars.allSatisfy { schema.type(named: $0)?.isLeaf == true })
    #expect(schema.directiveNames == ["deprecated", "include", "oneOf", "skip", "specifiedBy"])
    #expect(schema.field("__typename", on: "Query")?.type.printed() == "String!")
    #expect(schema.field("__schema", on: "Query")?.type.printed() == "__Schema!")
    #expect(schema.field("__type", on: "Query")?.arguments.map(\.name.value) == ["name"])
    #expect(schema.field("__schema", on: "__Type") == nil)
    #expect(schema.field("__typename", on: "Int") == nil)
    #expect(schema.field("kind", on: "__Type")?.type.printed() == "__TypeKind!")
  }

  @Test func `built-in definitions may be repeated`() throws {
    let schema = try schema(
      "scalar ID directive @skip(if: Boolean!) on FIELD type __Type { x: Int } type Query { a: ID }"
    )
    #expect(schema.directive(named: "skip")?.locations == [.field])
    #expect(schema.field("x", on: "__Type") == nil)
  }

  @Test(
    arguments: [
      "type A { b: C }\ntype Query { a: Aa }": [
        "1:13: Unknown type 'C'. Did you mean 'A'?",
        "2:17: Unknown type 'Aa'. Did you mean 'A'?",
      ],
      "type Query { a: Int }\ntype Query { b: Int }": [
        "1:6: There can be only one type named 'Query'."
      ],
      "type Query { a: Int a(b: Int b: Int): Int }": [
        "1:14: Field 'Query.a' can only be defined once.",
        "1:23: Argument 'Query.a(b:)' can only be defined once.",
      ],
      "type Query { a: Int } enum E { A A }": ["1:32: Enum value 'E.A' can only be defined once."],
      "type Query { a: Int } extend type Qery { b: Int }": [
        "1:35: Cannot extend type 'Qery' because it is not defined. Did you mean 'Query'?"
      ],
      "type Query { a: Int } extend interface Query { b: Int }": [
        "1:1: Cannot extend non-interface type 'Query'."
      ],
      "type Query { a: I b(c: Query): Int } input I { d: Query }": [
        "1:17: The type of Query.a must be Output Type but got: I.",
        "1:24: The type of Query.b(c:) must be Input Type but got: Query.",
        "1:51: The type of I.d must be Input Type but got: Query.",
      ],
      "type Query implements Query & Int { a: Int } union U = Query | Int | Query": [
        "1:23: Type Query must only implement Interface types, it cannot implement Query.",
        "1:31: Type Query must only implement Interface types, it cannot implement Int.",
        "1:56: Union type U can only include type Query once.",
        "1:64: Union type U can only include Object types, it cannot include Int.",
      ],
      "schema { query: E mutation: X mutation: E } enum E { A }": [
        "1:19: There can be only one mutation type in schema.",
        "1:29: Unknown type 'X'. Did you mean 'E'?",
      ],
      "schema { query: E mutation: E } enum E { A }": [
        "1:17: Query root type must be Object type, it cannot be E.",
        "1:29: Mutation root type must be Object type if provided, it cannot be E.",
      ],
      "schema { query: Q } schema { query: Q } type Q { a: Int }": [
        "1:10: There can be only one query type in schema.",
        "1:21: Must provide only one schema definition.",
      ],
      "scalar A": ["Query root type must be provided."],
      "type Query { a: Int } directive @a on FIELD directive @a(b: Query) on FIELD": [
        "1:34: There can be only one directive named '@a'."
      ],
    ] as [String: [String]])
  func `errors are listed with their locations`(source: String, expected: [String]) throws {
    #expect(try issues(source) == expected)
  }

  @Test func `a repeated field is a warning if it is equal, else an error`() throws {
    let same = try schema(
      "type Query { a(b: [Int!] = [1]): ID! \"again\" a(b: [Int!] = [1]): ID! }")
    #expect(
      same.warnings.map(\.description) == ["1:46: Field 'Query.a' can only be defined once."])
    #expect(same.type(named: "Query")?.fields?.count == 1)
    for other in ["a(b: [Int!] = [2]): ID!", "a(b: [Int] = [1]): ID!", "a(c: Int): ID!", "a: ID!"] {
      #expect(try issues("type Query { a(b: [Int!] = [1]): ID! \(other) }").count == 1)
    }
  }

  @Test func `a document with many errors takes bounded time`() throws {
    var source = "type Query { a: Int }"
    for index in 0..<2_000 { source += " type T\(index) { f: Unknown\(index) }" }
    let document = try Document(parsing: source)
    let error = #expect(throws: SchemaError.self) { try Schema(sdl: document) }
    #expect(error?.issues.count == 100)
  }

  @Test(Shared.whenPresent) func `the schema of GitHub builds`() throws {
    let schema = try Schema(sdl: try Document(parsingUTF8: try Shared.real("github.graphql")))
    #expect(schema.rootType(for: .query)?.name == "Query")
    #expect(
      schema.warnings.map(\.description) == [
        "15153:3: Field 'EnterpriseOwnerInfo.repositoryDeployKeySetting' can only be defined once.",
        "15158:3: Field 'EnterpriseOwnerInfo.repositoryDeployKeySettingOrganizations' can only be "
          + "defined once.",
      ])
    #expect(schema.field("repository", on: "Query")?.arguments.count == 3)
    #expect(schema.possibleTypes(of: "Actor").contains("User"))
    #expect(schema.isSubtype("Issue", of: "Node"))
  }

  @Test(Shared.whenPresent) func `the schemas of the recorded validations build`() throws {
    let vectors: [ValidationVector] = try Shared.lines("validate.jsonl")
    for source in Set(vectors.map(\.schema)) {
      #expect(throws: Never.self, "\(source)") { try schema(source) }
    }
  }
}
