import Foundation
import GQLRunBatch
import GQLRunDemoServer
import GQLRunJSON
import GQLRunPipeline
import GQLRunTestSupport
import Testing

@Suite("gqlrun batch new, schema and sinks")
struct BatchReferenceTests {
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
  }

  @Test("the help of new names the extension of each kind of sink and of rows")
  func extensions() async throws {
    let help = try await Program.run(["batch", "new", "--help"], in: Folder()).output
    let kinds = NewManifest.sinkExtensions + NewManifest.rowExtensions
    #expect(Set(kinds).count > 5)
    for name in kinds { #expect(help.contains(name), "\(name)") }
  }

  @Test("a new manifest for a connection gets all of its pages")
  func followsPages() async throws {
    var configuration = DemoServer.Configuration()
    configuration.feedSize = 250
    try await DemoServer.withServer(configuration) { server in
      let folder = try Folder()
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
}
