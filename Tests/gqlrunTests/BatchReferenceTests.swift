import GQLRunBatch
import GQLRunJSON
import GQLRunPipeline
import GQLRunTestSupport
import Testing

@Suite("gqlrun batch new, schema and sinks")
struct BatchReferenceTests {
  @Test("pipelines/batch.schema.json is what the program prints: make generated")
  func schema() async throws {
    let result = try await Program.run(["batch", "schema"], in: Folder())
    #expect(result.output == Repository.text("pipelines/batch.schema.json"))
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
}
