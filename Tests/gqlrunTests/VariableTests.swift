import Foundation
import GQLRunDemoServer
import GQLRunJSON
import Testing

/// A text for a declared type, and the value that every command makes of it.
struct VariableText: Sendable, CustomTestStringConvertible {
  var type: String
  var text: String
  var value: String

  init(_ type: String, _ text: String, _ value: String) {
    (self.type, self.text, self.value) = (type, text, value)
  }

  var testDescription: String { "\(type) \(text)" }
}

@Suite("Variables on the command line", .timeLimit(.minutes(10)))
struct VariableTests {
  static let texts = [
    VariableText("String", "DE", #""DE""#), VariableText("String", "true", #""true""#),
    VariableText("String", #"a "b""#, #""a \"b\"""#), VariableText("ID", "42", #""42""#),
    VariableText("ID!", "12345678901234567890", #""12345678901234567890""#),
    VariableText("Int", "10", "10"), VariableText("Int", "null", "null"),
    VariableText("Float", "1.50", "1.50"), VariableText("Boolean", "TRUE", "true"),
    VariableText("[ID!]", "7", #"["7"]"#), VariableText("[ID!]", #"[7,"8"]"#, #"["7","8"]"#),
    VariableText("[Int]", "[1, null]", "[1,null]"), VariableText("[String]", "null", "null"),
    VariableText("Role", "ADMIN", #""ADMIN""#),
    VariableText("Filter", #"{"ids":[1,"b"],"role":"USER"}"#, #"{"ids":["1","b"],"role":"USER"}"#),
    VariableText("Date", "2020-01-01", #""2020-01-01""#), VariableText("Date", "5", "5"),
  ]

  private static func folder(_ type: String) throws -> Folder {
    let folder = try Folder()
    try folder.write("query Q($v: \(type)) { f(a: $v) }", to: "q.graphql")
    try folder.write(
      """
      type Query { f(a: \(type)): Int } scalar Date enum Role { ADMIN USER }
      input Filter { ids: [ID!] role: Role }
      """, to: "s.graphql")
    return folder
  }

  @Test(
    "run, batch and profile send the same bytes for the same text and type",
    arguments: texts)
  func sameBytes(_ text: VariableText) async throws {
    let folder = try Self.folder(text.type)
    let cell = text.text.replacing("\"", with: "\"\"")
    try folder.write("v\n\"\(cell)\"\n", to: "rows.csv")
    try folder.write(
      """
      version: 1
      schema: s.graphql
      operations:
        - id: q
          document: q.graphql
          foreach: { csv: rows.csv }
          variables: { v: "{{row.v}}" }
      """, to: "m.batch.yaml")
    try await DemoServer.withServer { server in
      let given = ["--var", "v=\(text.text)", "--schema", "s.graphql", "--endpoint", server.url]
      let commands = [
        ["run", "q.graphql"] + given,
        ["batch", "run", "m.batch.yaml", "--endpoint", server.url],
        ["profile", "--document", "q.graphql", "--runs", "1", "--warmup", "0"] + given,
      ]
      var bodies: [[UInt8]] = []
      for command in commands {
        let before = server.log.requestCount
        // The server has no such field: what counts is what it was asked.
        let result = try await Program.run(command, in: folder)
        #expect(server.log.requestCount > before, "\(result)")
        bodies.append(try #require(server.log.last?.body))
      }
      let sent = try JSONValue(parsing: bodies[0])["variables"]?["v"]
      #expect(sent?.jsonText() == text.value)
      #expect(
        bodies.map { String(decoding: $0, as: UTF8.self) }
          == Array(repeating: String(decoding: bodies[0], as: UTF8.self), count: 3))
    }
  }

  @Test(
    "cache import, read and explain use the same stored field for the same text and type",
    arguments: texts)
  func sameKeys(_ text: VariableText) async throws {
    let folder = try Self.folder(text.type)
    try folder.write(#"{"data":{"f":1}}"#, to: "r.json")
    // What a batch or a run with a JSON file has kept.
    try folder.write(#"{"v":\#(text.value)}"#, to: "v.json")
    let common = ["--schema", "s.graphql", "--store", "sqlite:c.db"]
    let imported = try await Program.run(
      ["cache", "import", "q.graphql", "r.json", "--variables", "v.json"] + common, in: folder)
    #expect(imported.status == 0, "\(imported)")
    for command in ["read", "explain"] {
      let result = try await Program.run(
        ["cache", command, "q.graphql", "--var", "v=\(text.text)"] + common, in: folder)
      #expect(result.status == 0, "\(result)")
    }
    let again = try await Program.run(
      ["cache", "import", "q.graphql", "r.json", "--var", "v=\(text.text)"] + common, in: folder)
    #expect(again.status == 0, "\(again)")
    let dump = try await Program.run(["cache", "dump", "--store", "sqlite:c.db"], in: folder)
    #expect(
      dump.output == #"{"key":"QUERY_ROOT","fields":{"f(\#(Self.escaped(text.value)))":1}}"# + "\n",
      "\(dump)")
  }

  /// The arguments of a stored field, as a key of a dump contains them.
  private static func escaped(_ value: String) -> String {
    String(JSONValue.string(#"{"a":\#(value)}"#).jsonText().dropFirst().dropLast())
  }

  @Test("a number and a string are the same id, wherever the number comes from")
  func numericID() async throws {
    let folder = try Self.folder("ID = 42")
    try folder.write("type Query { f(a: ID = 42): Int }", to: "s.graphql")
    try folder.write(#"{"data":{"f":1}}"#, to: "r.json")
    try folder.write(#"{"v":42}"#, to: "v.json")
    try folder.write("v: 42\n", to: "v.yaml")
    let common = ["--schema", "s.graphql", "--store", "sqlite:c.db"]
    let imported = try await Program.run(
      ["cache", "import", "q.graphql", "r.json", "--var", "v=42"] + common, in: folder)
    #expect(imported.status == 0, "\(imported)")
    let sources = [["--variables", "v.json"], ["--variables", "v.yaml"], ["--var", "v:=42"], []]
    for source in sources {
      let result = try await Program.run(
        ["cache", "read", "q.graphql"] + source + common, in: folder)
      #expect(result.status == 0, "\(source) \(result)")
    }
  }

  @Test(
    "--var takes JSON after := and, for strings and ids, null and text in quotes",
    arguments: [
      ("v:=null", "null"), ("v=null", "null"), (#"v:="null""#, #""null""#), (#"v="DE""#, #""DE""#),
      (#"v:="\"DE\"""#, #""\"DE\"""#), ("v=5", #""5""#),
    ])
  func json(assignment: String, sent: String) async throws {
    let folder = try Self.folder("String")
    try await DemoServer.withServer { server in
      let result = try await Program.run(
        ["run", "q.graphql", "--endpoint", server.url, "--var", assignment], in: folder)
      #expect(
        server.log.last?.bodyText.contains(#""variables":{"v":\#(sent)}"#) == true, "\(result)")
    }
  }
}
