import Foundation
import GQLRunDemoServer
import Testing

/// Outputs that are written to a file that exists.
@Suite("Files that outputs replace", .timeLimit(.minutes(10)))
struct ReplacedFileTests {
  /// A command that writes a file.
  struct Writer: Sendable, CustomTestStringConvertible {
    var name: String
    /// The arguments before the name of the file; `URL` is the endpoint.
    var arguments: [String]
    /// The text that the file must not be.
    var form: String

    var testDescription: String { name }
  }

  private static let run = ["run", "germany.graphql", "-e", "URL"]
  private static let profile = [
    "profile", "--generate", "feed:5", "--runs", "1", "--warmup", "0", "--no-baselines",
  ]

  static let writers = [
    Writer(name: "run -o", arguments: run + ["-o"], form: "a result of gqlrun"),
    Writer(name: "run --pretty -o", arguments: run + ["--pretty", "-o"], form: "a result"),
    Writer(name: "run -i -o", arguments: run + ["-i", "-o"], form: "a result"),
    Writer(
      name: "run --slurp -o",
      arguments: [
        "run",
        "query($after: String) { feed(first: 4, after: $after) { pageInfo { hasNextPage endCursor } } }",
        "-e", "URL", "--paginate", "--slurp", "-o",
      ], form: "a result"),
    Writer(
      name: "run --incremental -o", arguments: run + ["--incremental", "-o"], form: "a result"),
    Writer(
      name: "run subscription -o",
      arguments: ["run", "subscription { countdown(from: 2, delay: 0) }", "-e", "URL", "-o"],
      form: "a result"),
    Writer(name: "run --har", arguments: run + ["--har"], form: "an HTTP archive of gqlrun"),
    Writer(
      name: "schema fetch -o", arguments: ["schema", "fetch", "-e", "URL", "-o"],
      form: "a file with type definitions"),
    Writer(
      name: "schema print -o", arguments: ["schema", "print", "types.graphql", "-o"],
      form: "a file with type definitions"),
    Writer(
      name: "operations manifest -o",
      arguments: ["operations", "manifest", "named.graphql", "-o"], form: "an operation manifest"),
    Writer(name: "profile --json", arguments: profile + ["--json"], form: "a JSON report"),
    Writer(name: "profile --html", arguments: profile + ["--html"], form: "an HTML report"),
    Writer(name: "profile --trace", arguments: profile + ["--trace"], form: "a trace"),
    Writer(name: "profile --folded", arguments: profile + ["--folded"], form: "folded stacks"),
    Writer(name: "profile --prometheus", arguments: profile + ["--prometheus"], form: "metrics"),
  ]

  @Test(
    "an earlier output is replaced, and another file only with --overwrite", arguments: writers)
  func forms(_ writer: Writer) async throws {
    var configuration = DemoServer.Configuration()
    configuration.feedSize = 5
    try await DemoServer.withServer(configuration) { server in
      let folder = try Folder()
      try folder.write("type Query { a: Int }\n", to: "types.graphql")
      try folder.write("query Named { a }\n", to: "named.graphql")
      try folder.write("", to: "empty")
      let arguments = writer.arguments.map { $0 == "URL" ? server.url : $0 }
      for file in ["new", "new", "empty", "/dev/null"] {
        let result = try await Program.run(arguments + [file], in: folder)
        #expect(result.status == 0, "\(file): \(result)")
      }
      #expect(try !folder.bytes("empty").isEmpty)
      let before = server.requestCount
      for file in ["country.graphql", "other.yaml"] {
        let text = "query Other { a }\n"
        try folder.write(text, to: file)
        let refused = try await Program.run(arguments + [file], in: folder)
        #expect(refused.status == 1 && refused.output == "", "\(refused)")
        #expect(
          refused.errors.contains("\(file) already exists (unchanged), and is not \(writer.form)"),
          "\(refused)")
        #expect(refused.errors.contains("choose another name, or use --overwrite"), "\(refused)")
        #expect(try folder.text(file) == text)
        #expect(folder.partialFiles == [])
      }
      // Nothing is sent for a result that cannot be written.
      #expect(server.requestCount == before)
      let replaced = try await Program.run(
        arguments + ["other.yaml", "--overwrite"], in: folder)
      #expect(replaced.status == 0, "\(replaced)")
      #expect(try !folder.text("other.yaml").contains("query Other"))
    }
  }

  @Test("a schema in JSON replaces an introspection result, and no schema replaces an operation")
  func schemas() async throws {
    try await DemoServer.withServer { server in
      let folder = try Folder()
      let fetch = ["schema", "fetch", "-e", server.url, "-o"]
      for file in ["s.json", "s.json", "s.graphql", "s.graphql"] {
        #expect(try await Program.run(fetch + [file], in: folder).status == 0)
      }
      try folder.write(#"{"name": "a package"}"#, to: "package.json")
      let package = try await Program.run(fetch + ["package.json"], in: folder)
      #expect(
        package.status == 1 && package.errors.contains("is not an introspection result"),
        "\(package)")
      let typed = try folder.text("s.graphql")
      try folder.write(typed + "\nquery Mine { a }\n", to: "s.graphql")
      let mixed = try await Program.run(fetch + ["s.graphql"], in: folder)
      #expect(mixed.status == 1, "\(mixed)")
    }
  }

  @Test("the output of a jq expression has no form, so that only --overwrite replaces a file")
  func filtered() async throws {
    guard JQ.isThere else { return }
    try await DemoServer.withServer { server in
      let folder = try Folder()
      let run = ["run", "germany.graphql", "-e", server.url, "--jq", ".data", "-o", "names.json"]
      #expect(try await Program.run(run, in: folder).status == 0)
      let again = try await Program.run(run, in: folder)
      #expect(again.status == 1 && again.errors.contains("--overwrite"), "\(again)")
      #expect(try await Program.run(run + ["--overwrite"], in: folder).status == 0)
    }
  }

  @Test("cache read and cache export follow the same rule")
  func caches() async throws {
    let folder = try Folder()
    try folder.write(#"{"data":{"country":{"name":"Germany","capital":"Berlin"}}}"#, to: "r.json")
    let store = ["--store", "c.db"]
    let imported = try await Program.run(
      ["cache", "import", "germany.graphql", "r.json"] + store, in: folder)
    #expect(imported.status == 0, "\(imported)")
    let read = ["cache", "read", "germany.graphql"] + store + ["-o"]
    #expect(try await Program.run(read + ["out"], in: folder).status == 0)
    #expect(try await Program.run(read + ["out"], in: folder).status == 0)
    #expect(try await Program.run(read + ["germany.graphql"], in: folder).status == 1)
    let export = ["cache", "export", "out.ndjson"] + store
    #expect(try await Program.run(export, in: folder).status == 0)
    #expect(try await Program.run(export, in: folder).status == 1)
    for option in ["--force", "--overwrite"] {
      #expect(try await Program.run(export + [option], in: folder).status == 0)
    }
  }

  @Test("--keep of profile replaces neither an edited document nor another response")
  func kept() async throws {
    let folder = try Folder()
    for file in ["feed.graphql", "response.json"] {
      let keep = Self.profile + ["--keep", "kept"]
      for options in [["--overwrite"], []] {
        let result = try await Program.run(keep + options, in: folder)
        #expect(result.status == 0, "\(result)")
      }
      try folder.write("# mine", to: "kept/\(file)")
      let refused = try await Program.run(keep, in: folder)
      #expect(refused.status == 1 && refused.errors.contains(file), "\(refused)")
      #expect(try folder.text("kept/\(file)") == "# mine")
    }
  }

  @Test("a manifest of generate replaces operation manifests only")
  func generated() async throws {
    let folder = try Folder()
    try folder.write("type Query { a: Int }\n", to: "types.graphql")
    try folder.write("query A { a }\n", to: "a.graphql")
    let generate = [
      "generate", "--schema", "types.graphql", "--output", "Generated", "--documents", "a.graphql",
      "--manifest",
    ]
    #expect(try await Program.run(generate + ["ops.json"], in: folder).status == 0)
    try folder.write("query A { a }\nquery B { a }\n", to: "a.graphql")
    #expect(try await Program.run(generate + ["ops.json"], in: folder).status == 0)
    let refused = try await Program.run(generate + ["types.graphql"], in: folder)
    #expect(
      refused.status == 65
        && refused.errors.contains("types.graphql is not an operation manifest (unchanged)"),
      "\(refused)")
    #expect(try folder.text("types.graphql") == "type Query { a: Int }\n")
  }

  @Test("one file is not named for two outputs of run")
  func twice() async throws {
    let result = try await Program.run(
      ["run", "germany.graphql", "-e", "http://127.0.0.1:1/", "-o", "x", "--har", "x"],
      in: Folder())
    #expect(result.status == 64 && result.errors.contains("name one file, x"), "\(result)")
  }
}
