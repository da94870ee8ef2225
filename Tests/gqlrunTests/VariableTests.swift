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

  /// A folder with an operation that has a variable for each type: `$v0`, `$v1` and so on, for the fields `f0`, `f1`.
  private static func folder(_ types: [String]) throws -> Folder {
    let folder = try Folder()
    func each(_ text: (Int, String) -> String) -> String {
      types.enumerated().map(text).joined(separator: " ")
    }
    try folder.write(
      "query Q(\(each { "$v\($0): \($1)" })) { \(each { i, _ in "f\(i)(a: $v\(i))" }) }",
      to: "q.graphql")
    try folder.write(
      """
      type Query { \(each { "f\($0)(a: \($1)): Int" }) } scalar Date enum Role { ADMIN USER }
      input Filter { ids: [ID!] role: Role }
      """, to: "s.graphql")
    return folder
  }

  private static func options(_ texts: [String]) -> [String] {
    texts.enumerated().flatMap { ["--var", "v\($0)=\($1)"] }
  }

  @Test("run, batch and profile send the same bytes for the same text and type")
  func sameBytes() async throws {
    let folder = try Self.folder(Self.texts.map(\.type))
    let names = Self.texts.indices.map { "v\($0)" }
    let cells = Self.texts.map { "\"" + $0.text.replacing("\"", with: "\"\"") + "\"" }
    try folder.write(
      names.joined(separator: ",") + "\n" + cells.joined(separator: ",") + "\n", to: "rows.csv")
    try folder.write(
      """
      version: 1
      schema: s.graphql
      operations:
        - id: q
          document: q.graphql
          foreach: { csv: rows.csv }
          variables: { \(names.map { "\($0): \"{{row.\($0)}}\"" }.joined(separator: ", ")) }
      """, to: "m.batch.yaml")
    try await DemoServer.withServer { server in
      let given =
        Self.options(Self.texts.map(\.text)) + ["--schema", "s.graphql", "--endpoint", server.url]
      let commands = [
        ["run", "q.graphql"] + given,
        ["batch", "run", "m.batch.yaml", "--endpoint", server.url],
        ["profile", "--document", "q.graphql", "--runs", "1", "--warmup", "0"] + given,
      ]
      var bodies: [String] = []
      for command in commands {
        let before = server.log.requestCount
        // The server has no such field: what counts is what it was asked.
        let result = try await Program.run(command, in: folder)
        #expect(server.log.requestCount > before, "\(result)")
        bodies.append(try #require(server.log.last?.bodyText))
      }
      let sent = try JSONValue(parsing: bodies[0])["variables"]
      for (name, text) in zip(names, Self.texts) {
        #expect(sent?[name]?.jsonText() == text.value, "\(text.testDescription)")
      }
      #expect(Set(bodies).count == 1, "\(bodies)")
    }
  }

  @Test("cache import, read and explain use the same stored field for the same text and type")
  func sameKeys() async throws {
    let folder = try Self.folder(Self.texts.map(\.type))
    func members(_ text: (Int, VariableText) -> String) -> String {
      Self.texts.enumerated().map(text).joined(separator: ",")
    }
    try folder.write("{\"data\":{\(members { i, _ in "\"f\(i)\":1" })}}", to: "r.json")
    // What a batch or a run with a JSON file has kept.
    try folder.write("{\(members { "\"v\($0)\":\($1.value)" })}", to: "v.json")
    let common = ["--schema", "s.graphql", "--store", "sqlite:c.db"]
    let given = Self.options(Self.texts.map(\.text)) + common
    for command in [
      ["import", "q.graphql", "r.json", "--variables", "v.json"] + common,
      ["read", "q.graphql"] + given, ["explain", "q.graphql"] + given,
      ["import", "q.graphql", "r.json"] + given,
    ] {
      let result = try await Program.run(["cache"] + command, in: folder)
      #expect(result.status == 0, "\(result)")
    }
    let dump = try await Program.run(["cache", "dump", "--store", "sqlite:c.db"], in: folder)
    let fields = try JSONValue(parsing: dump.output)["fields"]?.objectValue
    for (index, text) in Self.texts.enumerated() {
      #expect(fields?["f\(index)({\"a\":\(text.value)})"] == 1, "\(text.testDescription): \(dump)")
    }
    #expect(fields?.count == Self.texts.count)
  }

  @Test("--var takes JSON after := and, for strings and ids, null and text in quotes")
  func json() async throws {
    let cases = [
      (":=null", "null"), ("=null", "null"), (#":="null""#, #""null""#), (#"="DE""#, #""DE""#),
      (#":="\"DE\"""#, #""\"DE\"""#), ("=5", #""5""#),
    ]
    let folder = try Self.folder(cases.map { _ in "String" })
    try await DemoServer.withServer { server in
      let result = try await Program.run(
        ["run", "q.graphql", "--endpoint", server.url]
          + cases.enumerated().flatMap { ["--var", "v\($0)\($1.0)"] }, in: folder)
      let sent = try server.log.last.map { try JSONValue(parsing: $0.body) }?["variables"]
      for (index, (text, value)) in cases.enumerated() {
        #expect(sent?["v\(index)"]?.jsonText() == value, "\(text): \(result)")
      }
    }
  }

  // MARK: Parts

  private static let typed = """
    type Query { f(input: In, ids: [ID!], code: String): Int }
    input In { id: ID! name: String count: Int tags: [String!] sub: Sub any: Any }
    input Sub { on: Boolean items: [Sub!] } scalar Any
    """
  private static let document =
    "query Q($input: In, $ids: [ID!], $code: String) { f(input: $input, ids: $ids, code: $code) }"

  /// The variables that a command sends, or the result if it sends none.
  private func sent(
    _ arguments: [String], document: String = document, files: [String: String] = [:]
  ) async throws -> (variables: String?, result: RunResult) {
    let folder = try Folder()
    try folder.write(Self.typed, to: "s.graphql")
    for (name, text) in files { try folder.write(text, to: name) }
    return try await DemoServer.withServer { server in
      let result = try await Program.run(
        ["run", document, "-e", server.url] + arguments, in: folder)
      let body = try server.log.last.map { try JSONValue(parsing: $0.body) }
      return (body?["variables"]?.canonicalText, result)
    }
  }

  @Test("a part of a variable is set by its path, in its type")
  func parts() async throws {
    let cases: [(texts: [String], value: String)] = [
      ([".id=7", ".count=7", ".name=7"], #"{"count":7,"id":"7","name":"7"}"#),
      ([".id=a", ".tags.1=y", ".tags[0]=x"], #"{"id":"a","tags":["x","y"]}"#),
      ([".id=a", ".tags=x"], #"{"id":"a","tags":["x"]}"#),
      (
        [".id=a", ".sub.items.0.on=TRUE", ".sub.on=false"],
        #"{"id":"a","sub":{"items":[{"on":true}],"on":false}}"#
      ),
      ([".id=a", #".sub:={"on":true}"#], #"{"id":"a","sub":{"on":true}}"#),
      ([".id=a", ".any.b.0=1", ".any.c=x"], #"{"any":{"b":[1],"c":"x"},"id":"a"}"#),
      ([".id=a", ".name=null", ".id=b"], #"{"id":"b","name":null}"#),
    ]
    let names = cases.indices.map { "$i\($0)" }
    let document =
      "query Q(\(names.map { "\($0): In" }.joined(separator: ", "))) { "
      + names.map { "\($0.dropFirst()): f(input: \($0))" }.joined(separator: " ") + " }"
    let (variables, result) = try await sent(
      ["--schema", "s.graphql"]
        + zip(names, cases).flatMap { name, part in
          // The dollar sign may be left out.
          part.texts.flatMap { ["--var", name.dropFirst(name == "$i4" ? 0 : 1) + $0] }
        },
      document: document)
    let expected = cases.enumerated().map { "\"i\($0)\":\($1.value)" }
    #expect(variables == "{\(expected.joined(separator: ","))}", "\(result)")
  }

  @Test("a part replaces that part of the file's value, also with the text of a file")
  func partsOfFiles() async throws {
    let (variables, result) = try await sent(
      ["--variables", "v.json", "--var", "input.id=new", "--var-file", "input.tags.1=text"],
      files: ["v.json": #"{"input":{"id":"old","tags":["x"],"count":1}}"#, "text": "\"long\" text"])
    #expect(
      variables == #"{"input":{"count":1,"id":"new","tags":["x","\"long\" text"]}}"#, "\(result)")
  }

  @Test("without a schema the declared type decides, and parts of unknown types are JSON or text")
  func partsWithoutSchema() async throws {
    let (variables, result) = try await sent(
      [
        "--var", "ids.0=7", "--var", "input.id=7", "--var", "input.name=c1", "--var",
        "input.n=\"7\"",
      ])
    #expect(
      variables == #"{"ids":["7"],"input":{"id":7,"n":"7","name":"c1"}}"#, "\(result)")
  }
}
