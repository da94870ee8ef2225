import Foundation
import Testing

@Suite("Help", .timeLimit(.minutes(10)))
struct HelpTests {
  @Test(
    "is printed on standard output",
    arguments: ["help", "", "help run", "cache", "cache help", "pipeline"]
      + HelpTextTests.commands.map { "\($0.name) --help".replacing("gqlrun ", with: "") })
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
