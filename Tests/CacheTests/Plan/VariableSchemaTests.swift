import GQLRunCache
import GQLRunJSON
import GQLRunLanguage
import Testing

@Suite("Variables with a schema")
struct VariableSchemaTests {
  private static let sdl = """
    type Query { a: Int }
    enum Role { ADMIN USER }
    scalar Date
    input Filter { name: String! role: Role = USER tags: [String!] and: [Filter!] since: Date }
    input By @oneOf { id: ID name: String }
    """

  private func problem(_ type: String, _ json: String, withSchema: Bool = true) throws -> String? {
    let document = try Document(parsing: "query Q($v: \(type)) { a }")
    let facts = try TypeFacts(Schema(sdl: Document(parsing: Self.sdl)))
    do {
      _ = try PreparedOperation(
        document: document, variables: ["v": JSONValue(parsing: json)],
        facts: withSchema ? facts : nil)
      return nil
    } catch let error as CacheError {
      #expect(error.code == .invalidVariables)
      return error.message
    }
  }

  @Test(
    "right values pass",
    arguments: [
      ("Role", #""ADMIN""#), ("Role", "null"), ("[Role!]", #"["ADMIN","USER"]"#),
      ("[Role]", #""USER""#), ("Filter", #"{"name":"x"}"#),
      ("Filter", #"{"name":"x","tags":"one","and":[{"name":"y","role":"USER"}]}"#),
      ("Date", #"{"any":[1,"x"]}"#), ("By", #"{"id":3}"#),
      ("Int", "1.0"), ("[Int!]", "[1e3, -0.0]"),
    ])
  func rightValues(type: String, json: String) throws {
    #expect(try problem(type, json) == nil)
  }

  @Test(
    "wrong values are errors with the path inside the value",
    arguments: [
      ("Role", #""ADMN""#, "variables.v", #"found "ADMN"; did you mean "ADMIN"?"#),
      ("Role", #""zzzzzzzzz""#, "variables.v", "there are ADMIN, USER"),
      (
        "[Role!]", #"["ADMIN",3]"#, "variables.v[1]",
        "expected a value of the enum Role, found a number"
      ),
      ("Filter", #""x""#, "variables.v", "expected the input object Filter, found a string"),
      ("Filter", "{}", "variables.v.name", "requires a value of type String!, none was given"),
      ("Filter", #"{"name":null}"#, "variables.v.name", "expected String!, found null"),
      ("Filter", #"{"name":"x","roel":"USER"}"#, "variables.v.roel", #"did you mean "role"?"#),
      (
        "Filter", #"{"name":"x","and":[{"name":"y"},{"name":4}]}"#, "variables.v.and[1].name",
        "found a number"
      ),
      ("Filter", #"{"name":"x","tags":[null]}"#, "variables.v.tags[0]", "found null"),
      (
        "[Int!]", "[1, 1.5]", "variables.v[1]", "expected Int (32-bit, without fraction), found 1.5"
      ),
      ("Int", "2147483648.0", "variables.v", "found 2147483648.0"),
      ("By", "{}", "variables.v", "exactly one of id, name; 0 were given"),
      ("By", #"{"id":1,"name":"x"}"#, "variables.v", "exactly one of id, name; 2 were given"),
      ("By", #"{"id":null}"#, "variables.v.id", "must have a value, found null"),
      ("Rle", "3", "variables.v", "which the schema does not have; did you mean Role?"),
      ("Query", "3", "variables.v", "which is not an input type"),
    ])
  func wrongValues(type: String, json: String, path: String, part: String) throws {
    let message = try #require(try problem(type, json))
    #expect(message.hasPrefix("\(path): "))
    #expect(message.contains(part))
  }

  @Test("without a schema enums and input objects pass as they are")
  func withoutSchema() throws {
    #expect(try problem("Filter", #"{"x":1}"#, withSchema: false) == nil)
    #expect(try problem("Role", "3", withSchema: false) == nil)
  }
}
