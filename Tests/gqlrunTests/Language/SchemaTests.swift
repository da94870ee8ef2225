import ArgumentParser
import GQLRun
import GQLRunDemoServer
import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline
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

  @Test("a schema is checked by an edition, as definitions and as an introspection result")
  func editions() throws {
    let sdl =
      "directive @a @deprecated on FIELD type Query { a(i: I): Int } input I @oneOf { x: Int }"
    let json = Self.json(try SchemaFile.load([file(sdl)]).introspection).jsonText()
    for (edition, count) in [(Edition.october2021, 2), (.september2025, 1), (.september2026, 0)] {
      let (schema, report) = try SchemaFile.check([file(json, "s.json")], edition: edition)
      #expect((schema == nil) == (count > 0))
      #expect(report.findings.map(\.code) == Array(repeating: "SchemaError", count: count))
    }
    let (schema, report) = try SchemaFile.check([file(sdl)], edition: .september2025)
    #expect(schema == nil)
    #expect(report.findings.map(\.code) == ["SyntaxError"])
    #expect(report.findings[0].message.contains("needs GraphQL September 2026"))
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
