import ArgumentParser
import GQLRun
import GQLRunCache
import GQLRunDemoServer
import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline
import Logging
import Testing

@testable import gqlrun

@Suite("Schema files")
struct SchemaTests {
  private func file(_ text: String, _ name: String = "s.graphql") -> SourceFiles.File {
    SourceFiles.File(name: name, bytes: Array(text.utf8))
  }

  private func failure(_ files: [SourceFiles.File]) -> Failure? {
    do {
      _ = try SchemaFile.load(files)
      return nil
    } catch {
      return error as? Failure
    }
  }

  @Test("an introspection result is the schema it describes")
  func introspection() throws {
    let sdl = "type Query {\n  a(b: Int = 3): [String!]\n}\n"
    let schema = try SchemaFile.load([file(sdl)])
    let json = "\n { \"data\": \(Self.json(schema.introspection).jsonText()) }"
    #expect(try SchemaFile.load([file(json, "s.json")]).printed() == schema.printed())
  }

  @Test("files with type definitions are taken together, and errors name theirs")
  func severalFiles() throws {
    let query = file("type Query { user: User }\n", "q.graphql")
    let schema = try SchemaFile.load([query, file("type User { id: ID }", "u.graphql")])
    #expect(schema.typeNames == ["Query", "User"])
    let error = try #require(failure([query, file("\ntype User { id: IDD }", "u.graphql")]))
    #expect(error.status == .badInput)
    #expect(error.message.hasPrefix("u.graphql:2:17: Unknown type 'IDD'."))
    #expect(error.message.hasSuffix("\n                  ^"))
  }

  @Test("what is no schema is refused with its place")
  func refusals() throws {
    #expect(failure([file("type Query {")])?.message.hasPrefix("s.graphql:1:13: ") == true)
    #expect(failure([file("{\"a\"")])?.message.contains("not JSON") == true)
    #expect(failure([file("{}")])?.status == .badInput)
  }

  @Test("changes are reported with their effect on clients")
  func diff() throws {
    let old = try SchemaFile.load([file("type Query { a: Int b: Int } enum E { X }")])
    let new = try SchemaFile.load([file("type Query { a: Int c: Int } enum E { X Y }")])
    let diff = SchemaDiff(changes: new.changes(from: old), file: "new.graphql")
    #expect(
      diff.rendered(as: .human) == """
        breaking (1)
          Query.b was removed.

        dangerous (1)
          Y was added to enum type E.

        safe (1)
          Query.c was added.

        """)
    #expect(
      diff.rendered(as: .github).hasPrefix(
        "::error file=new.graphql,title=FIELD_REMOVED::Query.b was removed.\n::warning "))
    let json = try JSONValue(parsing: diff.rendered(as: .json))
    #expect(
      json.arrayValue?.map { $0["severity"]?.stringValue } == ["breaking", "dangerous", "safe"])
    #expect(SchemaDiff(changes: [], file: "x").rendered(as: .json) == "[]\n")
  }

  @Test("annotations for GitHub have the line of what changed, or of what contained it")
  func lines() async throws {
    let folder = try Folder()
    try folder.write(
      "type Query {\n  a(x: Int): E\n  b: Int\n  t: T\n}\nenum E { X Z }\ntype T { v: Int }\ndirective @d(a: Int) on FIELD\n",
      to: "old.graphql")
    try folder.write(
      "\"\"\"The root\"\"\"\ntype Query {\n  a(\n    x: Int!\n  ): E\n  t: T\n}\nenum E {\n  X\n}\ntype T {\n  v: String\n}\ndirective @d on FIELD\n",
      to: "new.graphql")
    let result = try await Program.run(
      ["schema", "diff", "old.graphql", "new.graphql", "--format", "github"], in: folder)
    #expect(result.status == 1)
    let found = result.output.split(separator: "\n").map {
      $0.matches(of: /line=(\d+),col=(\d+),title=([A-Z_]+)/).map { "\($0.1):\($0.2) \($0.3)" }
        .joined()
    }
    #expect(
      found.sorted() == [
        "12:3 FIELD_CHANGED_KIND", "14:12 DIRECTIVE_ARG_REMOVED", "2:6 DESCRIPTION_CHANGED",
        "2:6 FIELD_REMOVED", "4:5 ARG_CHANGED_KIND", "8:6 VALUE_REMOVED_FROM_ENUM",
      ])
  }

  @Test("--operations leaves the changes that break these operations")
  func operations() async throws {
    let folder = try Folder()
    try folder.write(
      """
      type Query { a: Int b: Int c(x: In): E l: [U] }
      input In { v: Int w: D }
      enum D { P Q }
      enum E { X Y }
      enum F { X Y }
      union U = T | S
      type T { v: Int w: Int }
      type S { v: Int }
      """, to: "old.graphql")
    try folder.write(
      """
      type Query { a: Int c(x: In, must: Int!): E l: [U] new: F }
      input In { v: Int w: D need: Int! }
      enum D { P }
      enum E { X }
      enum F { X }
      union U = T
      type T { v: Int }
      type S { v: Int }
      """, to: "new.graphql")
    func diff(_ document: String) async throws -> (Int32, [String]) {
      try folder.write(document, to: "folder/q.graphql")
      let result = try await Program.run(
        ["schema", "diff", "old.graphql", "new.graphql", "--operations", "folder/*.graphql"],
        in: folder)
      #expect(result.errors == "", "\(result)")
      return (
        result.status,
        result.output.split(separator: "\n").filter { $0.hasPrefix("  ") }.map {
          $0.dropFirst(2) + ""
        }
      )
    }
    #expect(try await diff("{ a }") == (0, []))
    #expect(try await diff("{ a b }") == (1, ["Query.b was removed."]))
    #expect(
      try await diff("query Q($x: In) { c(x: $x) }") == (
        1,
        [
          "A required arg must on Query.c was added.",
          "A required field need on input type In was added.", "Q was removed from enum type D.",
          "Y was removed from enum type E.",
        ]
      ))
    #expect(
      try await diff("{ l { ...F } } fragment F on T { v w }") == (
        1, ["S was removed from union type U.", "T.w was removed."]
      ))
    #expect(try await diff("{ l { ... on T { v } } }").1 == ["S was removed from union type U."])
  }

  @Test("a server's schema is fetched through a pipeline")
  func fetch() async throws {
    try await DemoServer.withServer { server in
      let request = try RequestOptions.parse(["--header", "X-Test: 1"])
      let pipeline = try EndpointArguments(endpoint: server.url, pipeline: nil)
        .load(request: request)
      let client = try await PipelineClient(pipeline)
      let result = try await client.shutdown { try await SchemaFetch(client: $0).result() }
      let schema = try Schema(introspection: IntrospectionValue(result))
      #expect(schema.type(named: "Country") != nil)
      #expect(result["__schema"]?["types"]?.arrayValue?.first?["__typename"] == nil)
    }
  }

  @Test("a server without introspection is named as such")
  func introspectionOff() {
    let refusal = SchemaFetch.Refusal(
      message: "GraphQL introspection is not allowed by Apollo Server")
    #expect(refusal.isAboutIntrospection)
    let failure = SchemaFetch.failure(refusal.message, isOff: true)
    #expect(failure.message.hasPrefix("introspection is turned off at the endpoint: GraphQL intro"))
    #expect(!SchemaFetch.Refusal(message: "Unknown argument").isAboutIntrospection)
  }

  private static func json(_ value: IntrospectionValue) -> JSONValue {
    switch value {
    case .null: return .null
    case .boolean(let flag): return .boolean(flag)
    case .number(let text): return JSONNumber(text: text).map { .number($0) } ?? .null
    case .string(let text): return .string(text)
    case .list(let values): return .array(values.map { json($0) })
    case .object(let members):
      var object = JSONObject()
      for (key, value) in members { object[key] = json(value) }
      return .object(object)
    }
  }
}
