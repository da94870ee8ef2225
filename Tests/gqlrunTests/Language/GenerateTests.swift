import Foundation
import Testing

@Suite("gqlrun generate as a user runs it", .timeLimit(.minutes(10)))
struct GenerateTests {
  private func folder() throws -> Folder {
    let folder = try Folder()
    try folder.write(
      """
      scalar Moment
      type Query { user(id: ID!): User }
      type User { id: ID! name: String! role: Role since: Moment }
      enum Role { ADMIN USER }
      """, to: "schema.graphql")
    try FileManager.default.createDirectory(
      atPath: "\(folder.path)/operations", withIntermediateDirectories: true)
    try folder.write(
      "query GetUser($id: ID!) { user(id: $id) { id role since } }", to: "operations/user.graphql")
    return folder
  }

  private let operation = "operations/user.graphql"
  private let flags = [
    "generate", "--schema", "schema.graphql", "--output", "Generated", "--documents",
    "operations/**/*.graphql",
  ]

  private func text(_ path: String, in folder: Folder) throws -> String {
    try String(contentsOfFile: "\(folder.path)/\(path)", encoding: .utf8)
  }

  /// Replaces a file at once: one that is half written would be generated from, too.
  private func replace(_ name: String, with text: String, in folder: Folder) throws {
    try folder.write(text, to: "next")
    #expect(rename(folder.file("next"), folder.file(name)) == 0)
  }

  @Test("--watch generates again after every change, also after an error")
  func watch() async throws {
    let folder = try folder()
    let result = try await Program.run(flags + ["--watch"], in: folder) { process in
      try await Program.says("Generated: 2 files, 2 changed", in: folder)
      try replace(operation, with: "query GetUser { user(id: 1) { nam } }", in: folder)
      try await Program.says("Did you mean 'name'?", in: folder)
      try replace(operation, with: "query GetUser { user(id: 1) { name } }", in: folder)
      try await Program.says("Generated: 1 file, 2 changed", in: folder)
      kill(process, SIGINT)
    }
    #expect(result.status == 130, "\(result)")
    let generated = try text("Generated/Operations/GetUserQuery.swift", in: folder)
    #expect(generated.contains("let name: String"))
    #expect(!folder.exists("Generated/SchemaTypes.swift"))
  }

  @Test("--watch generates again after a change of the file that a link leads to")
  func watchOfLink() async throws {
    let folder = try folder()
    #expect(rename(folder.file(operation), folder.file("linked.graphql")) == 0)
    #expect(symlink("../linked.graphql", folder.file(operation)) == 0)
    let result = try await Program.run(flags + ["--watch"], in: folder) { process in
      try await Program.says("Generated: 2 files, 2 changed", in: folder)
      try replace("linked.graphql", with: "query GetUser { user(id: 1) { name } }", in: folder)
      try await Program.says("Generated: 1 file, 2 changed", in: folder)
      kill(process, SIGINT)
    }
    #expect(result.status == 130, "\(result)")
  }

  @Test("--watch generates again after an error in the pipeline file of the manifest")
  func watchOfPipeline() async throws {
    let folder = try folder()
    let more = ["--watch", "--manifest", "ids.json", "--pipeline", "late.pipeline.yaml"]
    let result = try await Program.run(flags + more, in: folder) { process in
      try await Program.says("the pipeline file cannot be read", in: folder)
      try replace(
        "late.pipeline.yaml",
        with: """
          version: 1
          endpoint: { url: "http://127.0.0.1:1/" }
          chain: [fetch, response-code, parse]
          """, in: folder)
      try await Program.says("Generated: 3 files, 3 changed", in: folder)
      kill(process, SIGINT)
    }
    #expect(result.status == 130, "\(result)")
    #expect(try folder.text("ids.json").contains("GetUser"))
  }
}
