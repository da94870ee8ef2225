import Foundation
import GQLRunTestSupport
import Testing

/// The audit for any client, applied to this one.
@Suite("Tests/Audit/audit.py", .needsPython, .timeLimit(.minutes(30)))
struct ClientAuditTests {
  private func audit(_ arguments: String...) async throws -> RunResult {
    let folder = try Folder()
    let process = ChildProcess(
      "/usr/bin/env", ["python3", "\(Repository.root)/Tests/Audit/audit.py"] + arguments,
      in: folder.path,
      environment: ["PYTHONDONTWRITEBYTECODE": "1", "PATH": "/usr/local/bin:/usr/bin:/bin"])
    return try await Program.run(process, in: folder)
  }

  @Test("gqlrun keeps every rule")
  func own() async throws {
    let result = try await audit("--", Program.path, "run", "{document}", "--endpoint", "{url}")
    #expect(result.status == 0, "\(result)")
    let rules = try await audit("--list").output.split(separator: "\n")
    #expect(result.output.split(separator: "\n") == rules.map { "kept      \($0)" })
    let page = try #require(Repository.text("docs/client-audit.md"))
    for rule in rules { #expect(page.contains("| \(rule)")) }
  }

  @Test("a client that keeps none is found out")
  func none() async throws {
    let result = try await audit("--", "true", "{url}")
    let kept = result.output.split(separator: "\n").filter { $0.hasPrefix("kept") }
    // Sending nothing breaks no redirect.
    #expect(result.status > 15 && kept.count == 1, "\(result)")
  }
}
