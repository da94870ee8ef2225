import GQLRunJSON
import Testing

@testable import GQLRunCache

/// The data of a response that arrives in parts.
@Suite("Merged data")
struct MergedDataTests {
  @Test("is that after each part, in whatever order it is read", arguments: [false, true])
  func orders(isReversed: Bool) async throws {
    let arrived = try await receive(
      [
        #"{"data":{"a":{"b":1},"l":["x"]},"hasNext":true}"#,
        #"{"incremental":[{"path":["l",1],"items":["y"]}],"hasNext":true}"#,
        #"{"incremental":[{"path":["a"],"data":{"c":{"d":2}}}],"hasNext":true}"#,
        #"{"incremental":[{"path":["l",2],"items":["z","z"]}],"hasNext":false}"#,
      ], prepare("{ a { b ... @defer { c { d } } } l @stream }"))
    let expected = [
      #"{"a":{"b":1},"l":["x"]}"#, #"{"a":{"b":1},"l":["x","y"]}"#,
      #"{"a":{"b":1,"c":{"d":2}},"l":["x","y"]}"#,
      #"{"a":{"b":1,"c":{"d":2}},"l":["x","y","z","z"]}"#,
    ]
    let results = Array(zip(arrived.results, expected))
    for (result, text) in isReversed ? results.reversed() : results {
      #expect(result.data.map { String(decoding: $0.bytes(), as: UTF8.self) } == text)
      #expect(result.data?.value == (try json(text)))
      #expect(result.data?.isNull == false)
    }
  }

  @Test("is null if that of the first part is")
  func null() async throws {
    let arrived = try await receive(
      [#"{"data":null,"errors":[{"message":"no"}],"hasNext":false}"#],
      prepare("{ a ... @defer { b } }"))
    #expect(arrived.results.last?.data?.isNull == true)
    #expect(arrived.results.last?.data?.bytes() == Array("null".utf8))
  }
}
