import Foundation
import GQLRunGeneratedGitHubTypes
import GQLRunGeneratedTypes
import GQLRunJSON
import GQLRunLanguage
import GQLRunTyped
import Testing

/// Random responses of all snapshots → generated value → JSON.
@Suite("Round trips of random responses")
struct RandomRoundTripTests {
  private static let tests = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent()
  private static let schema = tests.appending(path: "GeneratorTests/Fixtures/schema.graphql")
  /// GitHub's public schema, in the folder that working copies share: `$GQLRUN_SHARED`, else `../shared`.
  private static let gitHubSchema: URL = {
    let shared = ProcessInfo.processInfo.environment["GQLRUN_SHARED"].map { URL(filePath: $0) }
    let root = tests.deletingLastPathComponent().deletingLastPathComponent()
    return (shared ?? root.appending(path: "shared")).appending(path: "real/github.graphql")
  }()

  @Test("every generated type reads random responses, and writes what it has read")
  func responses() throws {
    #expect(generatedOperations.count >= 150)
    try check(generatedOperations, Self.schema)
  }

  @Test(
    "types of operations over GitHub's schema do the same",
    .enabled(if: FileManager.default.fileExists(atPath: gitHubSchema.path)))
  func gitHub() throws {
    #expect(generatedGitHubOperations.count >= 14)
    try check(generatedGitHubOperations, Self.gitHubSchema)
  }

  private func check(_ operations: [any GraphQLOperation.Type], _ file: URL) throws {
    let schema = try Schema(sdl: Document(parsingUTF8: Array(Data(contentsOf: file))))
    for operation in operations {
      let document = try Document(parsing: operation.document)
      for seed in 0..<20 {
        var response = try RandomResponse(document, schema, seed: UInt64(seed))
        try check(operation, response.data(), "\(operation), seed \(seed)")
      }
    }
  }

  private func check<Operation: GraphQLOperation>(
    _ operation: Operation.Type, _ response: JSONValue, _ label: String
  ) throws {
    let read = try Operation.Data(json: response.jsonText()).json
    #expect(try Operation.Data(json: read.jsonText()).json == read, "\(label): \(response)")
    // A conditional or deferred fragment may be absent in the value although the response has its fields.
    let isConditional = ["@include", "@skip", "@defer"].contains { operation.document.contains($0) }
    if isConditional {
      #expect(Self.isPart(read, of: response), "\(label): \(response)")
    } else {
      #expect(read == response, "\(label): \(response)")
    }
  }

  /// Whether every member of `part` is in `whole`.
  private static func isPart(_ part: JSONValue, of whole: JSONValue) -> Bool {
    switch (part, whole) {
    case (.array(let elements), .array(let all)):
      elements.count == all.count && zip(elements, all).allSatisfy { isPart($0, of: $1) }
    case (.object(let object), .object(let all)):
      object.members.allSatisfy { member in
        all[member.key].map { isPart(member.value, of: $0) } ?? false
      }
    default: part == whole
    }
  }
}
