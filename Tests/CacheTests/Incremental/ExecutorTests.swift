import Foundation
import GQLRunJSON
import GQLRunLanguage
import Testing

@testable import GQLRunCache

/// The Python programs to test with.
enum Executors {
  static let pythons =
    (PropertyTests.environment["GQLRUN_INCREMENTAL_PYTHONS"] ?? "").split(separator: ":")
    .map(String.init)
}

/// Responses in parts of other executors: random operations, executed by graphql-core.
///
/// `GQLRUN_INCREMENTAL_PYTHONS` names Python programs with graphql-core 3.3.0a6 (format of 2022) and 3.3.2 (with ids),
/// separated by colons. `GQLRUN_CASES=n` runs more or fewer operations.
@Suite(
  "Responses in parts of graphql-core",
  .enabled(
    if: !Executors.pythons.isEmpty,
    "set GQLRUN_INCREMENTAL_PYTHONS to programs with graphql-core 3.3.0a6 and 3.3.2 to run these"))
struct ExecutorTests {
  static let script = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../../Differential/incremental.py").standardizedFileURL.path

  @Test(
    "have the data of the response without the directives", arguments: Executors.pythons,
    [1, 2, 3, 4])
  func merged(_ python: String, _ seed: Int) async throws {
    let count = PropertyTests.environment["GQLRUN_CASES"].flatMap { Int($0) } ?? 200
    let output = try run(python, ["\(seed)", "\(count)"])
    var parts = 0
    for line in output.split(separator: UInt8(ascii: "\n")) {
      let test = try JSONValue(parsing: Array(line))
      let document = test["query"]?.stringValue ?? ""
      let messages = test["messages"]?.arrayValue?.map { $0.jsonText() } ?? []
      parts += messages.count
      let operation = try prepare(document)
      let store = CacheStore(MemoryStore())
      do {
        let arrived = try await receive(messages, operation, into: store, chunk: 1 + parts % 97)
        guard arrived.data == test["data"] else {
          Issue.record("\(document)\n\(messages.joined(separator: "\n"))")
          return
        }
      } catch {
        Issue.record("\(error)\n\(document)\n\(messages.joined(separator: "\n"))")
        return
      }
    }
    #expect(parts > count * 2)
  }

  private func run(_ python: String, _ arguments: [String]) throws -> Data {
    let process = Process()
    process.executableURL = URL(filePath: python)
    process.arguments = [Self.script] + arguments
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let data = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    return data
  }
}
