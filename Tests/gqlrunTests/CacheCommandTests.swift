import Foundation
import GQLRunDemoServer
import GQLRunJSON
import GQLRunTestSupport
import Testing

@Suite("gqlrun cache", .timeLimit(.minutes(10)))
struct CacheCommandTests {
  private static let document = ["feed.graphql", "--var", "first=60"]

  /// A folder with the response of the feed as the server sends it, and its dump after a `run`.
  private static func feed() async throws -> (folder: Folder, dump: String) {
    let folder = try Folder()
    try await DemoServer.withServer { server in
      let result = try await Program.run(
        ["run"] + document + [
          "-e", server.url, "--store", "sqlite:run.db", "-o", "response.json",
        ], in: folder)
      #expect(result.status == 0 && result.output == "", "\(result)")
    }
    return (folder, try await dump("run.db", folder))
  }

  private static func dump(_ name: String, _ folder: Folder) async throws -> String {
    let result = try await Program.run(["cache", "dump", "--store", "sqlite:\(name)"], in: folder)
    #expect(result.status == 0 && result.errors == "", "\(result)")
    return result.output
  }

  @Test("the same facts give the same dump, whatever the order of fields and the way they came")
  func dumps() async throws {
    let (folder, expected) = try await Self.feed()
    #expect(expected.split(separator: "\n").count > 100)
    let response = try JSONValue(parsing: folder.bytes("response.json"))
    for seed in 0..<4 {
      var generator = SeededRandom(UInt64(seed))
      let text =
        seed == 0
        ? try folder.text("response.json")
        : response.shuffled(using: &generator).jsonText(pretty: seed == 2)
      try folder.write(text, to: "\(seed).json")
      let result = try await Program.run(
        ["cache", "import"] + Self.document + ["\(seed).json", "--store", "sqlite:\(seed).db"],
        in: folder)
      #expect(result.status == 0 && result.output == "", "\(result)")
      #expect(result.errors.hasPrefix("imported "))
      #expect(try await Self.dump("\(seed).db", folder) == expected)
    }
    let again = try await Program.run(
      ["cache", "import"] + Self.document + ["1.json", "--store", "sqlite:run.db"], in: folder)
    #expect(again.errors.contains("(0 new, 0 changed, "), "\(again)")
    let piped = try await Program.run(
      ["cache", "import"] + Self.document + ["-", "--store", "sqlite:piped.db"], in: folder,
      input: try folder.text("response.json"))
    #expect(piped.status == 0, "\(piped)")
    #expect(try await Self.dump("piped.db", folder) == expected)
  }
}
