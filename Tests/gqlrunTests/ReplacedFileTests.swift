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
}
