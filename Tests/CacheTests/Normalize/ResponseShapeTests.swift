import GQLRunJSON
import GQLRunLanguage
import Testing

@testable import GQLRunCache

/// Responses checked against the schema.
@Suite("Response shape")
struct ResponseShapeTests {
  private static let schema = """
    type Query { user: User! users: [User!]! node: Node n: Int f: Float s: String! role: Role any: Any ids: [[ID!]] }
    interface Node { id: ID! } scalar Any enum Role { A B }
    type User implements Node { id: ID! name: String! friend: User born: Any }
    type Page implements Node { id: ID! title: String! }
    """

  /// What is wrong, and the warnings, however the response is cut.
  private func check(
    _ data: String, _ document: String, rest: String = ""
  ) throws -> (problem: String?, path: String?, warnings: [String]) {
    let operation = try prepare(document, facts: facts(Self.schema))
    let body = Array(#"{"data":\#(data)\#(rest)}"#.utf8)
    var result: (problem: String?, path: String?, warnings: [String])?
    for size in [1, 7, body.count] {
      let shape = try ResponseShape(operation)
      var found: CacheError?
      do {
        for start in stride(from: 0, to: body.count, by: size) {
          try Array(body[start..<min(start + size, body.count)]).withUnsafeBytes {
            try shape.feed($0)
          }
        }
        try shape.finish()
      } catch let error as CacheError {
        #expect(error.code == .unexpectedShape)
        found = error
      }
      let now = (found?.message, found?.path, shape.warnings)
      if let result { #expect(result == now) }
      result = now
    }
    return try #require(result)
  }

  @Test(
    "a response that matches the schema is accepted",
    arguments: [
      #"{"user":{"__typename":"User","id":"1","name":"a"}}"#: "{ user { id name } }",
      #"{"users":[],"n":null,"f":1,"s":""}"#: "{ users { id } n f s }",
      #"{"n":1e3,"f":-2.5e300}"#: "{ n f }",
      #"{"any":{"x":[1,null]},"ids":[["a",1],null]}"#: "{ any ids }",
      #"{"node":{"id":1,"__typename":"Page","title":"t"}}"#:
        "{ node { id ... on Page { title } ... on User { name } } }",
      #"{"node":null,"more":{"a":[{}]}}"#: "{ node { id } }",
      #"{"n":1}"#: "{ n s @skip(if: true) }",
    ] as [String: String])
  func fits(data: String, document: String) throws {
    let found = try check(data, document)
    #expect(found.problem == nil)
    #expect(found.warnings == [])
  }

  @Test(
    "a value that does not match the schema is an error with its path",
    arguments: [
      (#"{"user":null}"#, "{ user { id } }", "user", "expected User!, found null"),
      (
        #"{"users":[{"__typename":"User","id":"1"},null]}"#, "{ users { id } }", "users[1]",
        "expected User!, found null"
      ),
      (
        #"{"users":[{"__typename":"User","id":"1","name":null}]}"#, "{ users { id name } }",
        "users[0].name", "expected String!, found null"
      ),
      (#"{"n":"1"}"#, "{ n }", "n", "expected Int, found a string"),
      (#"{"n":1.5}"#, "{ n }", "n", "found 1.5, which is not a 32-bit integer"),
      (#"{"n":2147483648}"#, "{ n }", "n", "which is not a 32-bit integer"),
      (#"{"s":true}"#, "{ s }", "s", "expected String!, found a boolean"),
      (#"{"ids":[[1.5]]}"#, "{ ids }", "ids[0][0]", "which is not an ID"),
      (#"{"role":{}}"#, "{ role }", "role", "expected Role, found an object"),
      (#"{"users":{"id":1}}"#, "{ users { id } }", "users", "expected [User!]!, found an object"),
      (#"{"user":[]}"#, "{ user { id } }", "user", "expected User!, found a list"),
      (
        #"{"user":{"__typename":"User","id":"1"}}"#, "{ user { id name } }", "user.name",
        "the field is missing"
      ),
      (
        #"{"node":{"__typename":"Page","id":"1"}}"#, "{ node { id ... on Page { t: title } } }",
        "node.t", "the field is missing"
      ),
      (
        #"{"node":{"title":3,"__typename":"Page","id":"1"}}"#,
        "{ node { id ... on Page { title } } }", "node.title", "expected String!, found a number"
      ),
    ])
  func misfits(data: String, document: String, path: String, part: String) throws {
    let found = try check(data, document)
    #expect(found.path == path)
    #expect(found.problem?.contains("at \(path): ") == true)
    #expect(found.problem?.contains(part) == true, "\(found.problem ?? "")")
  }

  @Test(
    "a null at a non-null type may have an error, before or after the data",
    arguments: [
      (#"[{"message":"m","path":["user","name"]},{"path":["users",1]}]"#, nil),
      (#"[{"path":["user","name"]}]"#, "users[1]"), (#"[{"path":["users",1]}]"#, "user.name"),
      (#"[{"message":"m"},{"path":[]},"x",[["user"]]]"#, "user.name"), ("{}", "user.name"),
    ] as [(String, String?)])
  func nulls(errors: String, path: String?) throws {
    let data =
      #"{"user":{"__typename":"User","id":"1","name":null},"users":[{"__typename":"User","id":"2"},null]}"#
    let document = "{ user { id name } users { id } }"
    #expect(try check(data, document, rest: #","errors":\#(errors)"#).path == path)
    let operation = try prepare(document, facts: facts(Self.schema))
    let shape = try ResponseShape(operation)
    let body = Array(#"{"errors":\#(errors),"data":\#(data)}"#.utf8)
    var found: String?
    do {
      try body.withUnsafeBytes { try shape.feed($0) }
      try shape.finish()
    } catch let error as CacheError {
      found = error.path
    }
    #expect(found == path)
  }

  @Test(
    "many nulls have their errors; beyond the limits, nulls are accepted",
    arguments: [
      (nulls: 2_000, errors: 2_000, path: nil), (2_000, 1_999, "users[1999]"),
      (10_001, 9_999, "users[9999]"), (10_001, 9_000, "users[9000]"), (10_001, 10_001, nil),
      (10_001, 10_000, nil),
    ] as [(nulls: Int, errors: Int, path: String?)])
  func manyNulls(nulls: Int, errors: Int, path: String?) throws {
    let list = Array(repeating: "null", count: nulls).joined(separator: ",")
    let texts = (0..<errors).map { #"{"path":["users",\#($0)]}"# }.joined(separator: ",")
    let found = try check(
      #"{"users":[\#(list)]}"#, "{ users { id } }", rest: #","errors":[\#(texts)]"#)
    #expect(found.path == path)
  }

  @Test("enum values and types the schema does not know are warnings, each once")
  func unknown() throws {
    let found = try check(
      #"{"role":"C","again":"C","node":{"__typename":"Robot","id":"1"}}"#,
      "{ role again: role node { id ... on Page { title } } }")
    #expect(found.problem == nil)
    #expect(found.warnings.count == 2)
    #expect(found.warnings[0].contains(#"the enum Role has no value "C""#))
    #expect(found.warnings[1].contains("Node cannot be a Robot"))
    let other = try check(
      #"{"user":{"__typename":"Page","id":"1","name":"a"}}"#, "{ user { id name } }")
    #expect(other.problem == nil)
    #expect(other.warnings.map { $0.contains("User cannot be a Page") } == [true])
  }

  @Test("a normalizer that checks the shape writes nothing of a response that does not fit")
  func normalizer() async throws {
    var operation = try prepare("{ user { id name } }", facts: facts(Self.schema))
    operation.checksShape = true
    let store = MemoryStore()
    let wrong = #"{"data":{"user":{"__typename":"User","id":"1","name":null}}}"#
    #expect(
      try await code { _ = try await normalize(wrong.utf8, operation, into: store) }
        == .unexpectedShape)
    #expect(try await dump(store) == "")
    operation.checksShape = false
    _ = try await normalize(wrong.utf8, operation, into: store)
    #expect(try await dump(store).contains(#""name":null"#))
  }

  @Test("without a schema the check is an error that names the requirement")
  func withoutSchema() throws {
    let error = #expect(throws: CacheError.self) { try ResponseShape(prepare("{ n }")) }
    #expect(error?.message.contains("--schema") == true)
  }
}
