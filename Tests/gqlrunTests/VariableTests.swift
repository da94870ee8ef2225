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

  // MARK: Parts

  private static let typed = """
    type Query { f(input: In, ids: [ID!], code: String): Int }
    input In { id: ID! name: String count: Int tags: [String!] sub: Sub any: Any }
    input Sub { on: Boolean items: [Sub!] } scalar Any
    """
  private static let document =
    "query Q($input: In, $ids: [ID!], $code: String) { f(input: $input, ids: $ids, code: $code) }"

  /// The variables that a command sends, or the result if it sends none.
  private func sent(_ arguments: [String], files: [String: String] = [:]) async throws -> (
    variables: String?, result: RunResult
  ) {
    let folder = try Folder()
    try folder.write(Self.typed, to: "s.graphql")
    for (name, text) in files { try folder.write(text, to: name) }
    return try await DemoServer.withServer { server in
      let result = try await Program.run(
        ["run", Self.document, "-e", server.url] + arguments, in: folder)
      let body = try server.log.last.map { try JSONValue(parsing: $0.body) }
      return (body?["variables"]?.canonicalText, result)
    }
  }

  @Test(
    "a part of a variable is set by its path, in its type",
    arguments: [
      (["input.id=7", "input.count=7", "input.name=7"], #"{"count":7,"id":"7","name":"7"}"#),
      (["input.id=a", "input.tags.1=y", "input.tags[0]=x"], #"{"id":"a","tags":["x","y"]}"#),
      (["input.id=a", "input.tags=x"], #"{"id":"a","tags":["x"]}"#),
      (
        ["input.id=a", "input.sub.items.0.on=TRUE", "input.sub.on=false"],
        #"{"id":"a","sub":{"items":[{"on":true}],"on":false}}"#
      ),
      (["$input.id=a", #"input.sub:={"on":true}"#], #"{"id":"a","sub":{"on":true}}"#),
      (["input.id=a", "input.any.b.0=1", "input.any.c=x"], #"{"any":{"b":[1],"c":"x"},"id":"a"}"#),
      (["input.id=a", "input.name=null", "input.id=b"], #"{"id":"b","name":null}"#),
    ])
  func parts(_ texts: [String], _ input: String) async throws {
    let (variables, result) = try await sent(
      ["--schema", "s.graphql"] + texts.flatMap { ["--var", $0] })
    #expect(variables == #"{"input":\#(input)}"#, "\(result)")
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

  @Test(
    "a part that does not fit is refused",
    arguments: [
      (["input={}", "input.id=1"], "--var input.id=… sets a part of $input, and --var input=…"),
      (["input.id=1", "input:={}"], "and --var input:=… sets all of it; leave one out"),
      (["input.tags.2=a"], "variables.input.tags: the list has 0 elements; give element 0, too"),
      (["input.id=1", "input.id.x=2"], "variables.input.id: ID has no part \"x\""),
      (["code.x=2"], "variables.code: String has no part \"x\""),
      (["ids.x=2"], "variables.ids: \"x\" is not the index of an element of [ID!]; write ids.0"),
      (
        ["input.idd=2"],
        "variables.input.idd: the input object In has no field \"idd\"; did you mean"
      ),
      (["nope.x=2"], "variable \"$nope\" is not declared"),
      (["input.sub.on=maybe"], "variables.input.sub.on: expected Boolean"),
      ([".x=2"], "variable \"$\" is not declared"),
    ])
  func misfits(_ texts: [String], _ message: String) async throws {
    let (variables, result) = try await sent(
      ["--schema", "s.graphql"] + texts.flatMap { ["--var", $0] })
    #expect(variables == nil && [64, 65].contains(result.status), "\(result)")
    #expect(result.errors.contains(message), "\(result)")
  }

  @Test("cache, pipeline and profile set parts of variables as run does")
  func partsElsewhere() async throws {
    let folder = try Folder()
    try folder.write(Self.document, to: "q.graphql")
    try folder.write(Self.typed, to: "s.graphql")
    try folder.write(#"{"data":{"f":1}}"#, to: "r.json")
    let given = ["--schema", "s.graphql", "--var", "input.id=7", "--var", "ids.0=1"]
    let imported = try await Program.run(
      ["cache", "import", "q.graphql", "r.json", "--store", "c.db"] + given, in: folder)
    #expect(imported.status == 0, "\(imported)")
    for command in ["read", "explain"] {
      let result = try await Program.run(
        ["cache", command, "q.graphql", "--store", "c.db"] + given, in: folder)
      #expect(result.status == 0, "\(result)")
    }
    let explained = try await Program.run(["pipeline", "explain", "q.graphql"] + given, in: folder)
    #expect(explained.output.contains(#""input":{"id":"7"}"#), "\(explained)")
    let profile = try await Program.run(
      ["profile", "--file", "r.json", "-d", "q.graphql", "--runs", "1", "--warmup", "0"]
        + ["--no-baselines"] + given, in: folder)
    #expect(profile.status == 0, "\(profile)")
  }

  @Test("all wrong variables are reported, each on its line")
  func allProblems() async throws {
    let (variables, result) = try await sent(
      [
        "--schema", "s.graphql", "--variables", "v.json", "--var", "code:=1", "--var", "ids.x=1",
        "--var", "input.count=z",
      ],
      files: ["v.json": #"{"input":{"tags":[1,"a",2],"sub":{"of":1}},"nope":1}"#])
    #expect(variables == nil && result.status == 65, "\(result)")
    let lines = result.errors.split(separator: "\n")
    let wanted = [
      "variables.code: expected String, found a number",
      "variables.ids: \"x\" is not the index",
      "variables.input.count: expected Int, found \"z\"",
      "variable \"$nope\" is not declared by query Q",
    ]
    #expect(lines.count == wanted.count, "\(result)")
    for text in wanted { #expect(lines.contains { $0.contains("query: \(text)") }, "\(text)") }
    // Without a text that cannot be read, the parts of a value are all checked.
    let (_, others) = try await sent(
      ["--schema", "s.graphql", "--variables", "v.json"],
      files: ["v.json": #"{"input":{"tags":[1,"a",2],"sub":{"of":1}},"ids":[true]}"#])
    for text in ["input.tags[0]:", "input.tags[2]:", "input.sub.of:", "input.id:", "ids[0]:"] {
      #expect(others.errors.contains("query: variables.\(text)"), "\(text) \(others)")
    }
  }

  @Test("missing variables are reported with wrong ones")
  func missingProblems() async throws {
    let folder = try Folder()
    let result = try await Program.run(
      ["run", "query($a: Int!, $b: Int!, $c: ID!) { f(a: $a, b: $b, c: $c) }", "--var", "a=x"]
        + ["-e", "http://127.0.0.1:1/"], in: folder)
    #expect(result.status == 65, "\(result)")
    let lines = result.errors.split(separator: "\n")
    #expect(lines.count == 3 && lines[0].contains("variables.a: expected Int"), "\(result)")
    #expect(lines[1].contains("\"$b\" of type Int! is required"), "\(result)")
    #expect(lines[2].contains("\"$c\" of type ID! is required"), "\(result)")
  }
}
