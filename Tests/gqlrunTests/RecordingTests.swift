import Foundation
import GQLRunDemoServer
import GQLRunJSON
import Testing

@Suite("gqlrun run --curl and --har", .timeLimit(.minutes(10)))
struct RunRecordingTests {
  @Test("tell what was sent and answered, without its secrets")
  func both() async throws {
    let folder = try Folder()
    try await DemoServer.withServer { server in
      let result = try await Program.run(
        [
          "run", "germany.graphql", "--endpoint", server.url, "--curl", "--har", "out.har",
          "--header", "Authorization: Bearer canary-99127",
        ], in: folder)
      #expect(result.status == 0, "\(result)")
      #expect(result.errors.contains("curl \\\n  '\(server.url)'"), "\(result)")
      #expect(result.errors.contains(#"-H "Authorization: $AUTHORIZATION""#))
      let archive = try JSONValue(parsing: folder.bytes("out.har"))
      let entries = archive["log"]?["entries"]?.arrayValue ?? []
      #expect(entries.count == 1)
      let agent = entries.first?["request"]?["headers"]?.arrayValue
      #expect(agent?.isEmpty == false)
      let text = entries.first?["response"]?["content"]?["text"]?.stringValue ?? ""
      #expect(text.contains("Germany"))
      for text in [result.output, result.errors, try folder.text("out.har")] {
        #expect(!text.contains("canary-99127"))
      }
      // The command says the same to curl, where there is one.
      let command = result.errors.split(separator: "\n", omittingEmptySubsequences: false)
        .filter { !$0.hasPrefix("→") && !$0.hasPrefix("←") && !$0.hasPrefix("=") }
        .joined(separator: "\n")
      let curl = try await Program.shell(
        "command -v curl >/dev/null || { echo skipped; exit; }\nAUTHORIZATION=x\n\(command)",
        in: folder)
      if !curl.output.hasPrefix("skipped") {
        #expect(curl.output.contains("Germany"), "\(curl)")
      }
    }
  }

  @Test("an archive is written of what failed, too")
  func failure() async throws {
    let folder = try Folder()
    let result = try await Program.run(
      ["run", "germany.graphql", "-e", "http://127.0.0.1:1/", "--har", "out.har", "-s"], in: folder)
    #expect(result.status == 69, "\(result)")
    let archive = try JSONValue(parsing: folder.bytes("out.har"))
    let statuses = archive["log"]?["entries"]?.arrayValue?.map {
      $0["response"]?["status"]?.intValue
    }
    #expect(statuses?.isEmpty == false && statuses?.allSatisfy { $0 == 0 } == true)
  }
}
