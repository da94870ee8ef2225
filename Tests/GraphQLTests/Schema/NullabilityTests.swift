import GQLRunLanguage
import Testing

@Suite struct NullabilityTests {
  private static let schema = """
    type Query { user: User users: [[User]!] count: Int! old: Int @deprecated }
    type User {
      name: String @semanticNonNull
      tags: [String] @semanticNonNull(levels: [0, 1])
      email: String
      parents: [User]
      friend: User
    }
    extend type User
      @semanticNonNullField(name: "email")
      @semanticNonNullField(name: "parents", levels: [1])
    """

  @Test(
    arguments: [
      ("name", [0]), ("tags", [0, 1]), ("email", [0]), ("parents", [1]), ("friend", []),
    ] as [(String, Set<Int>)])
  func `fields are semantically non-null by a directive of their own or of their type`(
    name: String, levels: Set<Int>
  ) throws {
    let schema = try Schema(sdl: Document(parsing: Self.schema))
    let field = try #require(schema.field(name, on: "User"))
    #expect(schema.semanticLevels(of: field, on: "User") == levels)
  }

  @Test(
    arguments: [
      "type Query { a: String @semanticNonNull(levels: [1]) }":
        "1:24: Directive '@semanticNonNull' has the level 1, but 'Query.a' of type 'String' has only the level 0.",
      "type Query { a: [String!]! @semanticNonNull(levels: [0, -1]) }":
        "1:28: Directive '@semanticNonNull' has the level -1, but 'Query.a' of type '[String!]!' has the levels 0 "
        + "(the list) and 1 (its elements).",
      "type Query { a: [[Int]] @semanticNonNull(levels: 3) }":
        "1:25: Directive '@semanticNonNull' has the level 3, but 'Query.a' of type '[[Int]]' has the levels 0 (the "
        + "list) to 2 (the innermost elements).",
      "type Query { name: Int }\nextend type Query @semanticNonNullField(name: \"nam\")":
        "2:19: Directive '@semanticNonNullField' names the field 'nam', which type 'Query' does not have. Did you "
        + "mean 'name'?",
      "type Query { a: Int }\nextend type Query @semanticNonNullField(name: \"a\", levels: [1])":
        "2:19: Directive '@semanticNonNullField' has the level 1, but 'Query.a' of type 'Int' has only the level 0.",
      "type Query { a: Int }\nextend schema @catchByDefault(to: \"THROW\")":
        "2:15: Argument 'to' of '@catchByDefault' has to be RESULT, NULL or THROW.",
      "type Query @semanticNonNull { a: Int }":
        "1:12: Directive '@semanticNonNull' may not be used on object.",
      "type Query { a: Int @semanticNonNull(level: 0) }":
        "1:38: Unknown argument 'level' on directive '@semanticNonNull'. Did you mean 'levels'?",
    ] as [String: String])
  func `a schema with a directive that does not fit is an error`(
    sdl: String, message: String
  ) throws {
    let document = try Document(parsing: sdl)
    let error = #expect(throws: SchemaError.self) { try Schema(sdl: document) }
    #expect(error?.description == message)
  }

  @Test func `a schema may define the directives itself`() throws {
    let definitions = """
      directive @semanticNonNull(levels: [Int] = [0]) on FIELD_DEFINITION
      directive @catch(to: CatchTo = THROW, levels: [Int] = [0]) on FIELD
      enum CatchTo { THROW NULL }
      """
    let schema = try Schema(sdl: Document(parsing: definitions + Self.schema))
    let document = try Document(parsing: "{ user { name @catch(to: RESULT) } }")
    #expect(
      document.validateForClient(against: schema).map(\.description) == [
        "1:26: Value 'RESULT' does not exist in 'CatchTo' enum."
      ])
  }

  @Test(
    arguments: [
      "{ user @catch { name @catch(to: NULL) tags @catch(to: THROW, levels: [0, 1]) } }": [],
      "query @catchByDefault(to: THROW) { count @catch }": [],
      "fragment F on User @catchByDefault(to: NULL) { name } { user { ...F } }": [],
      "{ users @catch(levels: [0, 3]) { name } }": [
        "1:9: Directive '@catch' has the level 3, but 'Query.users' of type '[[User]!]' has the levels 0 (the list) "
          + "to 2 (the innermost elements)."
      ],
      "{ count @catch(levels: -1) }": [
        "1:9: Directive '@catch' has the level -1, but 'Query.count' of type 'Int!' has only the level 0."
      ],
      "{ count @catch @catch }": [
        "1:9: The directive '@catch' can only be used once at this location."
      ],
      "query ($to: CatchTo!) { count @catch(to: $to) }": [
        "1:42: Argument 'to' of '@catch' cannot have a variable: it determines a type. Write a literal."
      ],
      "{ user { name } user { name @catch } }": [
        "1:3: Fields 'user' conflict because subfields 'name' conflict because they have differing @catch "
          + "directives. Use different aliases on the fields to fetch both if this was intentional."
      ],
      "{ count @catch ...F } fragment F on Query { count @catch(levels: [0], to: RESULT) }": [],
      "{ count @catch ...F } fragment F on Query { count @catch(to: NULL) }": [
        "1:3: Fields 'count' conflict because they have differing @catch directives. Use different aliases on the "
          + "fields to fetch both if this was intentional."
      ],
    ] as [String: [String]])
  func `documents of a client may catch errors`(text: String, messages: [String]) throws {
    let schema = try Schema(sdl: Document(parsing: Self.schema))
    let document = try Document(parsing: text)
    #expect(document.validateForClient(against: schema).map(\.description) == messages)
  }

  @Test func `a server does not know the directives of a client`() throws {
    let schema = try Schema(sdl: Document(parsing: Self.schema))
    let document = try Document(parsing: "query @catchByDefault(to: NULL) { count @catch }")
    #expect(
      document.validate(against: schema).map(\.message) == [
        "Unknown directive '@catchByDefault'.", "Unknown directive '@catch'.",
      ])
  }

  @Test(
    arguments: [
      "query A @catchByDefault(to: THROW) { user @catch { ... { name @catch(to: NULL) @skip(if: true) } ...F } }\n"
        + "fragment F on User @catchByDefault(to: NULL) { tags @catch(levels: [1]) }":
        "query A { user { ... { name @skip(if: true) } ...F } }\nfragment F on User { tags }",
      // A directive of the server with the same name.
      "{ count @catch(exception: \"x\") }": "{ count @catch(exception: \"x\") }",
      "{ count @cached }": "{ count @cached }",
    ] as [String: String])
  func `the directives are not sent`(text: String, sent: String) throws {
    let document = try Document(parsing: text).withoutCatches()
    #expect(document.printed() == (try Document(parsing: sent)).printed())
  }
}
