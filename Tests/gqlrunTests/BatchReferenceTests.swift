import Foundation
import GQLRunBatch
import GQLRunDemoServer
import GQLRunJSON
import GQLRunPipeline
import GQLRunTestSupport
import Testing

@Suite("gqlrun batch new, schema and sinks")
struct BatchReferenceTests {
  private func folder() throws -> Folder {
    let folder = try Folder()
    try folder.write(
      """
      query Country($code: ID!, $short: Boolean = false) {
        country(code: $code) { code name @skip(if: $short) }
      }
      query B { __typename }
      subscription Added($post: ID) { commentAdded(postId: $post) { id } }
      """,
      to: "c.graphql")
    try folder.write("code,label\nDE,Germany\nFR,France\n", to: "codes.csv")
    try folder.write("{\"code\": \"DE\"}\n", to: "codes.jsonl")
    return folder
  }

  @Test("pipelines/batch.schema.json is what the program prints: make generated")
  func schema() async throws {
    let result = try await Program.run(["batch", "schema"], in: Folder())
    let file = try String(
      contentsOfFile: Repository.root + "/pipelines/batch.schema.json", encoding: .utf8)
    #expect(result.output == file)
  }

  @Test("sinks prints each kind with its options and an example, as text and as JSON")
  func sinks() async throws {
    let folder = try Folder()
    let text = try await Program.run(["batch", "sinks"], in: folder).output
    let json = try JSONValue(
      parsing: try await Program.run(["batch", "sinks", "--json"], in: folder).output)
    for (list, names) in [
      ("sinks", Manifest.sinkKinds.map(\.name)), ("rows", Manifest.rowKinds.map(\.name)),
    ] {
      #expect(names.count > 5)
      let kinds = json[list]?.arrayValue ?? []
      #expect(kinds.map { $0["name"]?.stringValue } == names)
      for kind in kinds {
        let example = kind["example"]?.stringValue ?? ""
        #expect(!example.isEmpty && text.contains(example))
        for option in kind["options"]?.arrayValue ?? [] {
          #expect(text.contains("    \(option["name"]?.stringValue ?? "?"): "))
        }
      }
    }
    let one = try await Program.run(["batch", "sinks", "jsonl"], in: folder).output
    #expect(one.contains("jsonl:") && !one.contains("ndjson:"), "\(one)")
    let unknown = try await Program.run(["batch", "sinks", "xml"], in: folder)
    #expect(unknown.status == 1 && unknown.errors.contains("ndjson"), "\(unknown)")
  }

  @Test(
    "a new manifest passes the check as written",
    arguments: [
      [], ["--rows", "codes.csv"], ["--sink", "-"],
      ["--document", "c.graphql", "--operation", "Country"],
      ["--document", "c.graphql", "--operation", "B", "--rows", "codes.csv"],
      ["--document", "c.graphql", "--operation", "Added"],
      ["--document", "c.graphql", "--operation", "Country", "--rows", "codes.jsonl"],
      ["--document", "c.graphql", "--operation", "Country", "--sink", "out/a.csv"],
      ["--document", "c.graphql", "--operation", "Country", "--sink", "a.json"],
      ["--document", "c.graphql", "--operation", "Country", "--sink", "a.db"],
      ["--document", "c.graphql", "--operation", "B", "--sink", "a.ndjson.gz"],
      ["--endpoint", "http://127.0.0.1:9/x"],
    ])
  func passesCheck(options: [String]) async throws {
    let folder = try folder()
    let new = try await Program.run(["batch", "new", "mine"] + options, in: folder)
    #expect(new.status == 0 && new.errors.contains("wrote mine.batch.yaml"), "\(new)")
    let check = try await Program.run(["batch", "check", "mine.batch.yaml"], in: folder)
    let text = try folder.text("mine.batch.yaml")
    #expect(check.status == 0, "\(check) \(text)")
  }

  @Test("a new manifest runs: rows of a file, in a folder of its own, to standard output")
  func runs() async throws {
    try await DemoServer.withServer { server in
      let folder = try folder()
      let new = try await Program.run(
        [
          "batch", "new", "folder/c", "--document", "c.graphql", "--operation", "Country", "--rows",
          "codes.csv", "--sink", "-", "--endpoint", server.url,
        ], in: folder)
      #expect(new.status == 0, "\(new)")
      let run = try await Program.run(["batch", "run", "folder/c.batch.yaml"], in: folder)
      #expect(run.status == 0 && run.output.contains("\"Germany\""), "\(run)")
      #expect(run.output.split(separator: "\n").count == 2)
    }
  }

  @Test("a new manifest for a connection gets all of its pages")
  func followsPages() async throws {
    var configuration = DemoServer.Configuration()
    configuration.feedSize = 250
    try await DemoServer.withServer(configuration) { server in
      let folder = try folder()
      try folder.write(
        """
        query Feed($first: Int!, $after: String) {
          feed(first: $first, after: $after) { edges { node { id } } pageInfo { hasNextPage endCursor } }
        }
        """, to: "feed.graphql")
      let new = try await Program.run(
        [
          "batch", "new", "f", "--document", "feed.graphql", "--endpoint", server.url, "--sink",
          "-",
        ],
        in: folder)
      #expect(new.status == 0, "\(new)")
      let run = try await Program.run(["batch", "run", "f.batch.yaml"], in: folder)
      #expect(run.status == 0 && run.output.split(separator: "\n").count == 250, "\(run)")
      #expect(server.requestCount == 3)
      // Without its `paginate`, the task is incomplete.
      let lines = try folder.text("f.batch.yaml").components(separatedBy: "\n").filter {
        !["paginate:", "connection:", "page_size:"].contains(where: $0.contains)
      }
      try folder.write(
        lines.joined(separator: "\n").replacing(
          "  emit:", with: "  variables: { first: 100 }\n    emit:"),
        to: "g.batch.yaml")
      let incomplete = try await Program.run(["batch", "run", "g.batch.yaml"], in: folder)
      #expect(incomplete.status == 1 && incomplete.output == "", "\(incomplete)")
      #expect(incomplete.errors.contains("incomplete: `feed` has more pages"), "\(incomplete)")
      let errors = try await Program.run(["batch", "errors", "g.batch.yaml"], in: folder)
      #expect(errors.output.contains("incomplete: `feed` has more pages"), "\(errors)")
      let status = try await Program.run(["batch", "status", "g.batch.yaml"], in: folder)
      #expect(status.output.contains("incomplete"), "\(status)")
    }
  }

  @Test("an existing file is not changed")
  func keepsFiles() async throws {
    let folder = try folder()
    try folder.write("mine", to: "new.batch.yaml")
    let new = try await Program.run(["batch", "new"], in: folder)
    #expect(new.status == 1 && new.errors.contains("already exists"), "\(new)")
    #expect(try folder.text("new.batch.yaml") == "mine")
  }

  @Test(
    "what cannot become a manifest is refused, and nothing is written",
    arguments: [
      (["--document", "c.graphql"], "Country"),
      (["--document", "nowhere.graphql"], "does not exist"),
      (["--rows", "nowhere.csv"], "no such file"), (["--rows", "a.xlsx"], ".jsonl"),
      (["--sink", "a.xml"], ".ndjson"), (["--sink", "../a.csv"], "manifest's folder"),
      (["--operation", "A"], "--document"), (["--endpoint", "x"], "URL"),
    ])
  func refuses(options: [String], message: String) async throws {
    let folder = try folder()
    let new = try await Program.run(["batch", "new", "mine"] + options, in: folder)
    #expect(new.status != 0 && new.errors.contains(message), "\(new)")
    #expect(!folder.exists("mine.batch.yaml"))
  }
}
