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

  private let flags = [
    "generate", "--schema", "schema.graphql", "--output", "Generated", "--documents",
    "operations/**/*.graphql",
  ]

  private func text(_ path: String, in folder: Folder) throws -> String {
    try String(contentsOfFile: "\(folder.path)/\(path)", encoding: .utf8)
  }

  @Test("a working directory that was removed has no project file, and the search for one ends")
  func removedFolder() async throws {
    let result = try await Program.shell(
      "mkdir gone; cd gone; rmdir ../gone; timeout -s KILL 60 \"$GQLRUN\" generate", in: Folder())
    #expect(result.status != 0 && result.status != 137 && result.errors != "", "\(result)")
  }

  @Test("--watch generates again after every change, also after an error")
  func watch() async throws {
    let folder = try folder()
    let result = try await Program.run(flags + ["--watch"], in: folder) { process in
      try await Program.says("Generated: 2 files, 2 changed", in: folder)
      try folder.write("query GetUser { user(id: 1) { nam } }", to: "operations/user.graphql")
      try await Program.says("Did you mean 'name'?", in: folder)
      try folder.write("query GetUser { user(id: 1) { name } }", to: "operations/user.graphql")
      try await Program.says("Generated: 1 files, 2 changed", in: folder)
      kill(process, SIGINT)
    }
    #expect(result.status == 130, "\(result)")
    let operation = try text("Generated/Operations/GetUserQuery.swift", in: folder)
    #expect(operation.contains("let name: String"))
    #expect(!folder.exists("Generated/SchemaTypes.swift"))
  }

  @Test(
    "a project file names no outputs outside of its repository; options do",
    arguments: ["output", "manifest"], ["../.profile", "/dev/shm/.profile"])
  func outside(_ key: String, _ path: String) async throws {
    let folder = try folder()
    try folder.write(
      "schema: schema.graphql\ndocuments: operations/*.graphql\nextensions: { gqlrun: { "
        + (key == "output" ? "" : "output: Generated, ") + "\(key): \(path) } }\n",
      to: "graphql.config.yml")
    let refused = try await Program.run(["generate"], in: folder)
    let option = "--\(key)"
    #expect(refused.status == 65 && refused.errors.contains(option), "\(refused)")
    #expect(!folder.exists(path) && !folder.exists("Generated"))
    let allowed = try await Program.run(["generate", option, "Named"], in: folder)
    #expect(allowed.status == 0 && folder.exists("Named"), "\(allowed)")
  }
}
