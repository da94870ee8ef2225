import GQLRunJSON
import GQLRunLanguage
import Testing

@testable import GQLRunCache

/// Operations whose responses are not stored.
@Suite("Operations that pass by")
struct PassingOperationTests {
  private func template(_ text: String) throws -> OperationTemplate {
    try OperationTemplate(document: Document(parsing: text))
  }

  private static let flagged = """
    query Q($id: ID!, $all: Boolean!) { user(id: $id) { id name @include(if: $all) } }
    """

  @Test("one plan serves all values, and one more each set of flags")
  func plans() throws {
    let template = try template(Self.flagged)
    func plan(_ id: String, _ all: Bool) throws -> OperationPlan {
      try template.prepared(
        coerced: ["id": .string(id), "all": .boolean(all)], isStored: false
      ).plan
    }
    let first = try plan("1", true)
    #expect(try plan("2", true) === first)
    let other = try plan("1", false)
    #expect(other !== first)
    #expect(try plan("3", false) === other)
    #expect(try plan("4", true) === first)
  }

  @Test("each result has the fields selected by its flags", arguments: [true, false])
  func results(all: Bool) async throws {
    let template = try template(Self.flagged)
    // A plan with the other flag already exists.
    _ = try template.prepared(coerced: ["id": "0", "all": .boolean(!all)], isStored: false)
    for id in ["1", "2"] {
      let operation = try template.prepared(
        coerced: ["id": .string(id), "all": .boolean(all)], isStored: false)
      let normalizer = try ResponseNormalizer(operation, store: nil)
      let text = #"{"data":{"user":{"__typename":"User","id":"\#(id)","name":"Ada"}}}"#
      try Array(text.utf8).withUnsafeBytes { try normalizer.feed($0) }
      let response = try await normalizer.finish()
      let bytes = try response.data?.bytes() ?? []
      let name = all ? #","name":"Ada""# : ""
      #expect(String(decoding: bytes, as: UTF8.self) == #"{"user":{"id":"\#(id)"\#(name)}}"#)
    }
  }

  @Test("their responses are put into no store")
  func refusesStores() throws {
    let template = try template("query Q($id: ID!) { user(id: $id) { id } }")
    let operation = try template.prepared(coerced: ["id": "1"], isStored: false)
    let error = #expect(throws: CacheError.self) {
      try ResponseNormalizer(operation, store: .memory())
    }
    #expect(error?.code == .invalidOperation)
  }

  @Test("a condition without its variable is an error, whatever was prepared before")
  func missingFlag() throws {
    let template = try template(Self.flagged)
    _ = try template.prepared(coerced: ["id": "1", "all": true], isStored: false)
    #expect(throws: CacheError.self) {
      try template.prepared(coerced: ["id": "1"], isStored: false)
    }
  }
}
