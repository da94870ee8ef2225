import GQLRunCache
import GQLRunJSON
import GQLRunLanguage
import GQLRunPlugins
import Testing

@testable import gqlrun

@Suite("Operation manifests of documents")
struct OperationManifestTests {
  private func operations(
    _ files: [(String, String)], keys: KeyRules = KeyRules()
  ) throws -> [OperationManifest.Operation] {
    let documents = DocumentSet(
      files.map { SourceFiles.File(name: $0.0, bytes: Array($0.1.utf8)) })
    return try documents.manifestOperations(keys: keys, facts: nil)
  }

  @Test("the text is exactly what is sent, with shared fragments, and the id is its hash")
  func texts() throws {
    let query = "query Q($id: ID!) { user(id: $id) { ...F } }"
    let fragment = "fragment F on User { name }"
    let built = try operations([("q.graphql", query), ("f.graphql", fragment)])
    let sent = try PreparedOperation(
      document: Document(parsing: query + " " + fragment), variables: ["id": .string("1")])
    #expect(built.map(\.body) == [sent.document])
    #expect(built.map(\.id) == [DocumentHash.sha256(sent.document)])
    #expect(built.first?.body.contains("__typename") == true)
  }

  @Test("key rules change the text, as they do when it is sent")
  func keyRules() throws {
    var keys = KeyRules()
    try keys.add(rule: "User=login")
    let files = [("q.graphql", "query Q { user { ... on User { name } } }")]
    #expect(try operations(files, keys: keys) != operations(files))
  }

  @Test("operations need names of their own")
  func names() {
    #expect(throws: Failure.self) { try operations([("q.graphql", "{ a }")]) }
    #expect(throws: Failure.self) {
      try operations([("a.graphql", "query A { a }"), ("b.graphql", "query A { b }")])
    }
  }
}
