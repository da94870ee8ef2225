import GQLRunJSON
import GQLRunLanguage
import GQLRunTestSupport
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
/// separated by colons. `GQLRUN_CASES=n` runs more or fewer operations for each of `GQLRUN_SEEDS=n` seeds.
@Suite(
  "Responses in parts of graphql-core",
  .enabled(
    if: !Executors.pythons.isEmpty,
    "set GQLRUN_INCREMENTAL_PYTHONS to programs with graphql-core 3.3.0a6 and 3.3.2 to run these"))
struct ExecutorTests {
  private static let blocks = 4

  @Test(
    "have the data of the response without the directives, and leave the same records",
    arguments: Executors.pythons, 0..<blocks)
  func merged(_ python: String, _ block: Int) async throws {
    func number(_ name: String) -> Int? { PropertyTests.environment[name].flatMap { Int($0) } }
    let count = number("GQLRUN_CASES") ?? 200
    let seeds = max(1, (number("GQLRUN_SEEDS") ?? Self.blocks) / Self.blocks)
    let result = try ChildProcess(
      python,
      [
        Repository.root + "/Tests/Differential/incremental.py", "\(1 + block * seeds)", "\(count)",
        "\(seeds)",
      ]
    ).finish()
    #expect(result.status == 0, "\(result.errors)")
    var parts = 0
    var cases = 0
    /// The shortest case with a difference is the one to look at.
    var difference: String?
    func note(_ text: String) {
      if text.utf8.count < difference?.utf8.count ?? .max { difference = text }
    }
    for line in result.output.split(separator: "\n") {
      let test = try JSONValue(parsing: String(line))
      let document = test["query"]?.stringValue ?? ""
      let messages = test["messages"]?.arrayValue?.map { $0.jsonText() } ?? []
      parts += messages.count
      cases += 1
      let operation = try prepare(document)
      let store = CacheStore(MemoryStore())
      let whole = CacheStore(MemoryStore())
      do {
        let arrived = try await receive(messages, operation, into: store, chunk: 1 + parts % 97)
        let errors = test["errors"]?.arrayValue ?? []
        var response: JSONObject = ["data": test["data"] ?? .null]
        if !errors.isEmpty { response["errors"] = .array(errors) }
        _ = try await normalize(JSONValue.object(response).jsonBytes(), operation, into: whole)
        let (found, expected) = (try await dump(store), try await dump(whole))
        guard arrived.data == test["data"], found == expected else {
          note(
            """
            \(document)
            \(messages.joined(separator: "\n"))
            \(arrived.data == test["data"] ? "the records differ:" : "the data differ:")
            \(found)instead of
            \(expected)
            """)
          continue
        }
      } catch {
        note("\(error)\n\(document)\n\(messages.joined(separator: "\n"))")
      }
    }
    if let difference { Issue.record("\(difference)") }
    #expect(cases > 0 && parts > cases)
  }
}
