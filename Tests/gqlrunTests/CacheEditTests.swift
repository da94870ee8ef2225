import Foundation
import Testing

@testable import gqlrun

@Suite("gqlrun cache write and update", .timeLimit(.minutes(10)))
struct CacheEditTests {
  private static let country = "query C { country(code: \"DE\") { code name } }"
  private static let store = ["--store", "sqlite:c.db", "--keys", "Country=code"]

  private func folder() async throws -> Folder {
    let folder = try Folder()
    try folder.write(Self.country, to: "c.graphql")
    try folder.write(
      #"{"country": {"__typename": "Country", "code": "DE", "name": "Germany"}}"#, to: "d.json")
    let result = try await Program.run(
      ["cache", "write", "c.graphql", "d.json"] + Self.store, in: folder)
    #expect(result.status == 0 && result.errors == "wrote the data of query C\n", "\(result)")
    return folder
  }

  private func name(in folder: Folder) async throws -> String {
    let result = try await Program.run(["cache", "read", "c.graphql"] + Self.store, in: folder)
    return result.output
  }

  @Test("the memory store, which ends with the command, is refused")
  func memory() async throws {
    let folder = try await folder()
    let result = try await Program.run(["cache", "write", "c.graphql", "d.json"], in: folder)
    #expect(result.status == 64 && result.errors.contains("--store sqlite:PATH"), "\(result)")
  }

  @Test("written data is read, also from the output of cache read")
  func write() async throws {
    let folder = try await folder()
    #expect(
      try await name(in: folder) == #"{"data":{"country":{"code":"DE","name":"Germany"}}}"# + "\n")
    try folder.write(
      #"{"data": {"country": {"__typename": "Country", "code": "DE", "name": "Allemagne"}}}"#,
      to: "e.json")
    let result = try await Program.run(
      ["cache", "write", "c.graphql", "e.json"] + Self.store, in: folder)
    #expect(result.status == 0, "\(result)")
    #expect(try await name(in: folder).contains("Allemagne"))
  }

  @Test("incomplete data, and data that the operation does not select, leave the cache unchanged")
  func incomplete() async throws {
    let folder = try await folder()
    for (data, message) in [
      (#"{"country": {"__typename": "Country", "code": "DE"}}"#, "name"),
      (#"{"country": {"__typename": "Country", "code": "DE", "name": "x", "area": 1}}"#, "area"),
      (#"{"country": "#, "the data is not JSON"), ("[]", "c"),
    ] {
      try folder.write(data, to: "bad.json")
      let result = try await Program.run(
        ["cache", "write", "c.graphql", "bad.json"] + Self.store, in: folder)
      #expect(result.status == 65 && result.errors.contains(message), "\(data): \(result)")
    }
    #expect(try await name(in: folder).contains("Germany"))
  }

  @Test("an expression changes data in one transaction")
  func update() async throws {
    let folder = try await folder()
    let update = ["cache", "update", "c.graphql"] + Self.store
    let result = try await Program.run(
      update + ["--jq", ".country.name |= ascii_upcase"], in: folder)
    if result.errors.contains("needs libjq") { return }
    #expect(result.status == 0 && result.errors == "updated the data of query C\n", "\(result)")
    #expect(try await name(in: folder).contains("GERMANY"))
    for (expression, status) in [
      (".country.name,.country", 5), ("empty", 5), (".country.nam = 1", 65), (".[", 64),
      (".country.name |= error", 5),
    ] as [(String, Int32)] {
      let refused = try await Program.run(update + ["--jq", expression], in: folder)
      #expect(refused.status == status, "\(expression): \(refused)")
      #expect(try await name(in: folder).contains("GERMANY"), "\(expression)")
    }
    try folder.write("{ country(code: \"FR\") { code name } }", to: "f.graphql")
    let miss = try await Program.run(
      ["cache", "update", "f.graphql", "--jq", "."] + Self.store, in: folder)
    #expect(miss.status == 3, "\(miss)")
  }
}
