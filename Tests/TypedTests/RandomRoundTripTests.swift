import Foundation
import GQLRunGeneratedTypes
import GQLRunJSON
import GQLRunLanguage
import GQLRunTyped
import Testing

/// Random responses of all snapshots → generated value → JSON.
@Suite("Round trips of random responses")
struct RandomRoundTripTests {
  private static let schema: Result<Schema, any Error> = Result {
    let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .appending(path: "GeneratorTests/Fixtures/schema.graphql")
    return try Schema(sdl: Document(parsing: String(contentsOf: file, encoding: .utf8)))
  }

  @Test("every generated type reads random responses, and writes what it has read")
  func responses() throws {
    let schema = try Self.schema.get()
    #expect(generatedOperations.count >= 150)
    for operation in generatedOperations {
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
