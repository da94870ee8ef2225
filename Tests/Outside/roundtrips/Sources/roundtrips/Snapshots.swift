import Foundation
import GQLRunLanguage
import GQLRunTyped
import GitHubSnapshots
import Snapshots

/// Random responses of all snapshots → generated value → JSON.
extension Checker {
  /// - Parameters:
  ///   - schema: The schema of the snapshots.
  ///   - gitHubSchema: GitHub's public schema; without this file, its operations are not checked.
  mutating func checkSnapshots(schema: URL, gitHubSchema: URL) throws {
    try check(generatedOperations, atLeast: 150, over: schema)
    if FileManager.default.fileExists(atPath: gitHubSchema.path) {
      try check(generatedGitHubOperations, atLeast: 14, over: gitHubSchema)
    }
  }

  private mutating func check(
    _ kinds: [any GraphQLOperation.Type], atLeast count: Int, over file: URL
  ) throws {
    if kinds.count < count { faults.append("\(file.path): only \(kinds.count) operations") }
    let schema = try Schema(sdl: Document(parsingUTF8: Array(Data(contentsOf: file))))
    for kind in kinds {
      operations += 1
      let document = try Document(parsing: kind.document)
      for seed in 0..<20 {
        var response = try RandomResponse(document, schema, seed: UInt64(seed))
        values += 1
        check(kind, response.data(), label: "\(kind), seed \(seed)")
      }
    }
  }

  private mutating func check<Operation: GraphQLOperation>(
    _ kind: Operation.Type, _ response: JSONValue, label: String
  ) {
    do {
      let written = try Operation.Data(json: response.jsonText()).json
      let again = try Operation.Data(json: written.jsonText()).json
      // A conditional or deferred fragment may be absent in the value although the response has its fields.
      let isExact = !["@include", "@skip", "@defer"].contains { kind.document.contains($0) }
      let isEqual = isExact ? written == response : Self.isPart(written, of: response)
      if again != written || !isEqual {
        faults.append("\(label): \(response.jsonText()) became \(written.jsonText())")
      }
    } catch {
      faults.append("\(label): \(error) in \(response.jsonText())")
    }
  }
}
