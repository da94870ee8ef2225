import Foundation
import Testing

/// A command line, and what a user may expect of it.
struct Expectation: Sendable, CustomTestStringConvertible {
  var arguments: [String]
  var status: Int32
  /// What standard error says.
  var says: [String]

  init(_ line: String, _ status: Int32, _ says: String...) {
    arguments = line.split(separator: " ").map { String($0) }
    self.status = status
    self.says = says
  }

  var testDescription: String { arguments.joined(separator: " ") }

  /// Runs the line, and checks the code, the message, and that standard output is empty.
  func check(in folder: Folder, _ appended: [String] = []) async throws {
    let result = try await Program.run(arguments + appended, in: folder)
    #expect(result.status == status, "\(result)")
    for text in says { #expect(result.errors.contains(text), "no \"\(text)\" in \(result)") }
    #expect(result.output == "")
    let heads = result.errors.components(separatedBy: "error").count - 1
    #expect(says.isEmpty || heads >= 1, "\(result)")
    #expect(!result.errors.contains("\u{1b}"), "colours are for terminals: \(result)")
    #expect(!result.errors.contains("Fatal"), "\(result)")
  }
}

@Suite("Wrong input is reported in one message", .timeLimit(.minutes(10)))
struct UsageTests {
  static let commandLines = [
    Expectation("rum", 64, "gqlrun has no command rum; did you mean run?", "run, batch, demo"),
    Expectation("cache imp", 64, "gqlrun cache has no command imp; did you mean import?"),
    Expectation("help rum", 64, "no command rum"),
    Expectation("run", 64, "error: Missing expected argument '<document>'", "gqlrun run --help"),
    Expectation("run germany.graphql --bogus", 64, "error: Unknown option '--bogus'"),
    Expectation("run germany.graphql --policy sometimes", 64, "'sometimes'", "cache-first"),
    Expectation("run germany.graphql --store redis:x", 64, "'redis:x'", "memory|sqlite:PATH"),
    Expectation("run germany.graphql --store sqlite:", 64, "'sqlite:'"),
    Expectation("run germany.graphql --store README", 64, "'README'", "an ending such as .db"),
    Expectation("run germany.graphql --first -1", 64, "cannot use --first -1"),
    Expectation(
      "doctor ws://127.0.0.1:1/", 64, "cannot examine ws://127.0.0.1:1/", "endpoint for queries"),
    Expectation(
      "cache explain mutation{a} --store sqlite:c.db", 64, "mutations are never answered"),
    Expectation("run germany.graphql --pretty --compact", 64, "--compact"),
    Expectation("run germany.graphql", 64, "no endpoint to send to", "--endpoint URL", "GQL_URL"),
    Expectation(
      "run germany.graphql -e nowhere", 64, "--endpoint nowhere is not the URL", "https://"),
    Expectation("run germany.graphql -e 127.0.0.1:x/", 64, "its port is not a number"),
    Expectation("run germany.graphql -q {a}", 64, "--query gives the document"),
    Expectation("run germany.graphql -e http://127.0.0.1:1/ --key k.pem", 64, "--key needs --cert"),
    Expectation(
      "run germany.graphql -e http://127.0.0.1:1/ --timeout soon", 64, "write a number and a unit"),
    Expectation("run germany.graphql -e http://127.0.0.1:1/ --timeout 0", 64, "from 1ms to 24h"),
    Expectation(
      "run germany.graphql -e http://127.0.0.1:1/ -x ftp://x", 64, "--proxy: no proxy can"),
    Expectation("run germany.graphql -e http://127.0.0.1:1/ -r", 64, "--raw-output is for"),
    Expectation(
      "run germany.graphql -e http://127.0.0.1:1/ --color red", 64, "'auto', 'always' or 'never'"),
    Expectation(
      "run germany.graphql -e http://127.0.0.1:1/ --store cache", 64, "memory|sqlite:PATH"),
    Expectation("run germany.graphql -e ftp://a/", 64, "only the schemes http, https, ws and wss"),
    Expectation("run germany.graphql -e http://127.0.0.1:1/ -H X", 64, "--header 'Name: value'"),
    Expectation(
      "run germany.graphql -e http://127.0.0.1:1/ --keys Country", 64, "--keys", "Type=field"),
    Expectation("run country.graphql -e http://127.0.0.1:1/ --var code", 64, "--var name=value"),
    Expectation("run - -e http://127.0.0.1:1/ --variables -", 64, "only one file can be -"),
    Expectation("cache import feed.graphql", 64, "'<response>'"),
    Expectation("cache import - -", 64, "only one file can be -"),
    Expectation("serve --port 99999", 64, "--port 99999 is not a port"),
    Expectation("serve --port x", 64, "'x'"),
    Expectation("pipeline check", 64, "'<files> ...'"),
    Expectation("pipeline check x --format xml", 64, "'xml'", "'github'"),
  ]

  @Test("command lines", arguments: commandLines)
  func commandLine(_ expectation: Expectation) async throws {
    try await expectation.check(in: Folder())
  }

  static let documents = [
    Expectation("absent.graphql", 65, "cannot open the document absent.graphql: No such file"),
    Expectation("folder", 65, "cannot read the document folder: it is a directory"),
    Expectation("empty.graphql", 65, "empty.graphql: the document is empty"),
    Expectation("comment.graphql", 65, "comment.graphql: the document is empty"),
    Expectation("open.graphql", 65, "open.graphql:3:1: Syntax Error: Expected Name, found <EOF>."),
    Expectation(
      "stray.graphql", 65, "stray.graphql:2:23: Syntax Error",
      "    country(code: \"日本\") § { name }\n                          ^\n"),
    Expectation(
      "control.graphql", 65, "control.graphql:1:25: Syntax Error", "\\u{1b}[31m"),
    Expectation("latin1.graphql", 65, "latin1.graphql:1:9: Syntax Error: Invalid UTF-8"),
  ]

  @Test("documents that are none, wherever one is read", arguments: documents)
  func document(_ expectation: Expectation) async throws {
    let folder = try Folder()
    for command in [["format"], ["cache", "read"], ["run", "-e", "http://127.0.0.1:1/"]] {
      var expectation = expectation
      expectation.arguments = command + expectation.arguments
      try await expectation.check(in: folder)
    }
  }

  static let operations = [
    Expectation(
      "fragment.graphql", 65, "fragment.graphql: the document has no operation, only fragments"),
    Expectation("schema.graphql", 65, "only type definitions"),
    Expectation(
      "spread.graphql", 65, "spread.graphql:2:3: Unknown fragment 'Nowhere'.", "  ...Nowhere\n    ^"
    ),
    Expectation(
      "two.graphql", 65, "2 operations (\"A\", \"B\"); name the one to run with --operation"),
    Expectation(
      "two.graphql --operation b", 65, "no operation \"b\"", "it has the operations \"A\", \"B\""),
    Expectation("country.graphql --var code=PT --first 1", 64, "--first", "it ends subscriptions"),
    Expectation("country.graphql --var code=PT --for 1s", 64, "--for", "it ends subscriptions"),
    Expectation("subscription.graphql --first 0", 64, "--first 0", "from 1"),
    Expectation("subscription.graphql --for soon", 64, "--for", "soon"),
    Expectation("country.graphql", 65, "\"$code\" of type ID! is required", "--var code=VALUE"),
    Expectation("country.graphql --var code:=null", 65, "expected ID!, found null"),
    Expectation("country.graphql --var code=null", 65, "expected ID!, found null"),
    Expectation("country.graphql --var code:=[1]", 65, "expected ID, found a list"),
    Expectation("country.graphql --var code:=1.5", 65, "found 1.5"),
    Expectation(
      "country.graphql --var code:=PT", 65, "--var code:= takes JSON", "write --var code=TEXT"),
    Expectation(
      "country.graphql --var cod=1", 65, "\"$cod\" is not declared", "did you mean \"$code\"?"),
    Expectation(
      "country.graphql --var code=1 --var x=1", 65, "\"$x\" is not declared", "it declares $code"),
    Expectation(
      "country.graphql --variables absent.json", 65, "cannot open the variables file absent.json"),
    Expectation("country.graphql --variables folder", 65, "it is a directory"),
    Expectation(
      "country.graphql --variables list.json", 65, "list.json: the variables are no JSON object"),
    Expectation(
      "country.graphql --variables broken.json", 65,
      "broken.json:2:11: the variables file is not JSON",
      "    \"code\": oops\n            ^"),
    Expectation(
      "germany.graphql --schema absent.graphql", 65, "cannot open the schema absent.graphql"),
    Expectation(
      "germany.graphql --schema germany.graphql", 65, "germany.graphql", "is not JSON"),
    Expectation("germany.graphql --store sqlite:note.txt", 65, "note.txt is not a SQLite database"),
    Expectation(
      "germany.graphql --store sqlite:folder", 65, "folder: Is a directory", "--store memory"),
    Expectation("germany.graphql --store sqlite:absent/x.db", 65, "absent/x.db: No such file"),
    Expectation(
      "germany.graphql --store sqlite:foreign.db", 65, "foreign.db is a SQLite database of another"),
    Expectation(
      "germany.graphql --store sqlite:newer.db", 65, "newer.db was created by a newer gqlrun", "99"),
    Expectation(
      "germany.graphql --cacert absent.pem", 65, "the certificates of --cacert absent.pem"),
    Expectation("germany.graphql --cert absent.pem", 65, "the certificate of --cert absent.pem"),
    Expectation("germany.graphql --cacert note.txt -e https://127.0.0.1:1/", 69, "--cacert", "PEM"),
    Expectation("germany.graphql -H @absent", 65, "cannot open the header fields absent"),
    Expectation("germany.graphql -H @note.txt", 64, "cannot read --header @note.txt"),
    Expectation(
      "germany.graphql --token-env NOT_SET", 77, "the variable NOT_SET, which --token-env"),
    Expectation("germany.graphql --jq .[", 64, "cannot read --jq: syntax error"),
    Expectation("{a", 65, "query:1:3: Syntax Error: Expected Name, found <EOF>."),
    Expectation(
      "germany.graphql --pipeline absent.yaml", 78, "absent.yaml:1:1", "it does not exist"),
    Expectation(
      "germany.graphql --pipeline lives", 78, "did you mean the ready-made pipeline live?"),
    Expectation("germany.graphql --pipeline zzz", 78, "the ready-made pipelines are "),
    Expectation("germany.graphql --pipeline folder", 78, "it is a directory"),
    Expectation(
      "germany.graphql --pipeline typo.pipeline.yaml", 78, "typo.pipeline.yaml:4:1",
      "did you mean `chain`?"),
    Expectation(
      "germany.graphql --pipeline plugin.pipeline.yaml", 78, "plugin.pipeline.yaml:5:5", "max-retry"
    ),
  ]

  @Test("operations, variables, stores and pipelines", arguments: operations)
  func operation(_ expectation: Expectation) async throws {
    let folder = try Folder()
    for (name, application, version) in [("foreign.db", 0, 0), ("newer.db", 0x4751_4c52, 99)] {
      // https://www.sqlite.org/fileformat2.html#the_database_header
      var header = Array("SQLite format 3\0".utf8) + [UInt8](repeating: 0, count: 4096 - 16)
      for (offset, value) in [(60, version), (68, application)] {
        for byte in 0..<4 { header[offset + byte] = UInt8(value >> (24 - 8 * byte) & 0xff) }
      }
      try Data(header).write(to: URL(fileURLWithPath: folder.file(name)))
    }
    let before = try ["note.txt", "foreign.db", "newer.db"].map { try folder.bytes($0) }
    var expectation = expectation
    expectation.arguments = ["run", "-e", "http://127.0.0.1:1/"] + expectation.arguments
    try await expectation.check(in: folder)
    #expect(try ["note.txt", "foreign.db", "newer.db"].map { try folder.bytes($0) } == before)
  }

  @Test("a header that cannot be read is not repeated: it may be a secret")
  func secretHeader() async throws {
    let result = try await Program.run(
      ["run", "germany.graphql", "-e", "http://127.0.0.1:1/", "-H", "Bearer hunter2"], in: Folder())
    #expect(result.status == 64)
    #expect(!result.errors.contains("hunter2"))
  }

  @Test("GQL_URL is checked like --endpoint")
  func variable() async throws {
    let result = try await Program.run(
      ["run", "germany.graphql"], in: Folder(), environment: ["GQL_URL": "nowhere"])
    #expect(result.status == 64)
    #expect(result.errors.contains("GQL_URL: nowhere is not the URL of a server"), "\(result)")
  }
}

@Suite("Help", .timeLimit(.minutes(10)))
struct HelpTests {
  @Test(
    "is printed on standard output",
    arguments: [
      "help", "--help", "", "help run", "run --help", "serve --help", "demo --help", "cache",
      "cache help", "cache import --help", "cache read --help", "cache dump --help",
      "cache get --help", "cache stats --help", "cache clear --help", "pipeline",
      "pipeline check --help", "pipeline show --help", "plugins --help", "format --help",
    ])
  func help(_ line: String) async throws {
    let result = try await Program.run(line.split(separator: " ").map { String($0) }, in: Folder())
    #expect(result.status == 0, "\(result)")
    #expect(result.errors == "")
    #expect(result.output.contains("USAGE: gqlrun"))
    #expect(result.output.contains("gqlrun help") || result.output.contains("EXAMPLE"), "\(result)")
  }

  @Test("tells every exit code")
  func exitCodes() async throws {
    let help = try await Program.run(["--help"], in: Folder()).output
    for code in [0, 1, 3, 4, 5, 64, 65, 69, 75, 77, 78, 130, 141] {
      #expect(help.contains("\n  \(code) "), "\(code) is missing")
    }
  }

  @Test("--version prints one line")
  func version() async throws {
    let result = try await Program.run(["--version"], in: Folder())
    #expect(result.output.hasPrefix("gqlrun "))
    #expect(result.output.split(separator: "\n").count == 1)
  }
}
