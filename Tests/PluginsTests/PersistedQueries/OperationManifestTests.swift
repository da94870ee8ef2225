import GQLRunJSON
import GQLRunLanguage
import GQLRunPlugins
import Testing

@Suite("Manifests of persisted queries")
struct OperationManifestTests {
  private static let body = "query A {\n  a\n}\n"
  private static let hash = DocumentHash.sha256(body)

  private func read(_ text: String) throws -> OperationManifest {
    try OperationManifest(JSONValue(parsing: text))
  }

  @Test("hashes are those of the standards")
  func hashes() {
    #expect(
      DocumentHash.sha256("abc")
        == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    #expect(DocumentHash.md5("abc") == "900150983cd24fb0d6963f7d28e17f72")
  }

  @Test("what is written is read back, in the order of names")
  func roundTrip() throws {
    let manifest = OperationManifest(operations: [
      .init(body: "mutation B {\n  b\n}\n", name: "B", type: .mutation),
      .init(body: Self.body, name: "A", type: .query),
    ])
    let text = manifest.apolloJSON.jsonText()
    #expect(
      text.hasPrefix(
        #"{"format":"apollo-persisted-query-manifest","version":1,"operations":[{"id":"\#(Self.hash)","#
      ))
    let read = try read(text)
    #expect(read.format == .apollo)
    #expect(read.operations.map(\.name) == ["A", "B"])
    #expect(read.problems() == [])
    #expect(read.differences(from: manifest.operations) == [])
  }

  @Test("older and Relay's manifests are read")
  func otherFormats() throws {
    let text = JSONValue.string(Self.body).jsonText()
    let legacy = try read(#"{"\#(Self.hash)":{"name":"A","source":\#(text)}}"#)
    #expect(legacy.format == .legacy)
    #expect(legacy.problems() == [])
    let relay = try read(#"{"\#(DocumentHash.md5(Self.body))":\#(text),"my-id":\#(text)}"#)
    #expect(relay.format == .relay)
    #expect(relay.operations.map(\.name) == ["A", "A"])
    #expect(relay.problems() == ["A: the name is used twice"])
  }

  @Test(
    "what is no manifest is refused",
    arguments: [
      "[]", "3", #"{"format":"x","version":1,"operations":[]}"#,
      #"{"format":"apollo-persisted-query-manifest","version":2,"operations":[]}"#,
      #"{"format":"apollo-persisted-query-manifest","version":1}"#,
      #"{"format":"apollo-persisted-query-manifest","version":1,"operations":[{"id":"a"}]}"#,
      #"{"format":"apollo-persisted-query-manifest","version":1,"operations":[{"id":"a","body":"{a}","name":"A","type":"read"}]}"#,
      #"{"a":3}"#, #"{"a":"{a}","b":{"name":"B","source":"{b}"}}"#,
    ])
  func refusals(text: String) {
    #expect(throws: OperationManifest.InvalidOperationManifest.self) { try read(text) }
  }

  @Test("texts are compared by their bytes, not as equivalent characters")
  func bytes() {
    let operations = ["\u{E9}", "e\u{301}"].map {
      OperationManifest.Operation(body: "query A { a(b: \"\($0)\") }", name: "A", type: .query)
    }
    #expect(operations[0] != operations[1])
    let manifest = OperationManifest(operations: [operations[0]])
    #expect(
      manifest.differences(from: [operations[1]]) == ["A: the manifest has another text"])
    let sameID = OperationManifest(
      operations: operations.map { .init(id: "x", body: $0.body, name: "A", type: .query) })
    #expect(sameID.operations[0] != sameID.operations[1])
  }

  @Test("ids, names, types and texts that do not fit are found")
  func problems() {
    let manifest = OperationManifest(operations: [
      .init(id: "0", body: Self.body, name: "A", type: .query),
      .init(body: "query C { c }", name: "D", type: .mutation),
      .init(body: "query E {", name: "E", type: .query),
    ])
    let problems = manifest.problems()
    #expect(problems.count == 4)
    #expect(problems.first == "A: the id is 0, but the SHA-256 of the text is \(Self.hash)")
    #expect(problems.dropFirst().first == "D: the text has the operation C")
    #expect(
      manifest.differences(from: [.init(body: "query A { b }", name: "A", type: .query)]).count == 3
    )
  }
}
