import GQLRunJSON
import GQLRunPipeline
import Testing

/// A result as JSON text.
@Suite struct GraphQLResponseTests {
  private static let error = GraphQLError(["message": "no"])

  /// The data, whether there is an error, the extensions, and the text.
  @Test(
    arguments: [
      (#"{"a":1}"#, false, nil, #"{"data":{"a":1}}"#),
      (
        #"{"a":1}"#, true, ["n": 1],
        #"{"data":{"a":1},"errors":[{"message":"no"}],"extensions":{"n":1}}"#
      ),
      ("null", true, nil, #"{"data":null,"errors":[{"message":"no"}]}"#),
      ("null", false, ["n": 1], #"{"data":null,"extensions":{"n":1}}"#),
      (nil, true, nil, #"{"errors":[{"message":"no"}]}"#),
      (nil, true, [:], #"{"errors":[{"message":"no"}],"extensions":{}}"#),
      (nil, false, nil, "{}"),
    ] as [(String?, Bool, JSONObject?, String)])
  func `a response without data has none in its text, and one with null has it`(
    _ data: String?, hasError: Bool, extensions: JSONObject?, text: String
  ) throws {
    let response = GraphQLResponse(
      source: .server, data: data.map { Array($0.utf8) }, errors: hasError ? [Self.error] : [],
      extensions: extensions)
    var bytes: [UInt8] = []
    try response.forEachChunk { bytes += $0 }
    #expect(String(decoding: bytes, as: UTF8.self) == text)
  }

  @Test(arguments: [("null", true), ("{}", false), ("nul1", false), ("    ", false), ("", false)])
  func `data is null if its text is`(_ text: String, _ isNull: Bool) {
    let data: any ResultData = Array(text.utf8)
    #expect(data.isNull == isNull)
    #expect((Optional(data).unlessNull == nil) == isNull)
  }
}
