import GQLRunPipeline
import Testing

/// Answers that are right, however odd.
@Suite(.timeLimit(.minutes(10))) struct AnswerTests {
  /// What a server sends, piece by piece or byte by byte, and the result.
  struct Answer: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var script: [RawServer.Step]
    var text: String
    var errors: [String]
    var status: Int

    init(
      _ name: String, _ pieces: [UInt8]..., inBytes: Bool = false,
      text: String = Bench.answered, errors: [String] = [], status: Int = 200
    ) {
      testDescription = name
      let parts: [[UInt8]] = inBytes ? pieces.joined().map { [$0] } : pieces
      script = [.request] + parts.map { RawServer.Step.send($0) }
      (self.text, self.errors, self.status) = (text, errors, status)
    }
  }

  private static let chunks = HTTPText.user.map { HTTPText.chunk(String($0)) }.joined()
  private static let refusal =
    #"{"errors":[{"message":"no such field","extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}"#

  private static let members =
    GzipText.stored(Array(HTTPText.user.utf8.prefix(20))) + GzipText.stored([])
    + GzipText.stored(Array(HTTPText.user.utf8.dropFirst(20)))

  /// The same in one stored block of a zlib stream.
  private static let deflated: [UInt8] = {
    let bytes = Array(HTTPText.user.utf8)
    let (low, high) = bytes.reduce((1, 0)) { sums, byte in
      let low = (sums.0 + Int(byte)) % 65_521
      return (low, (sums.1 + low) % 65_521)
    }
    let block: [UInt8] = [1, UInt8(bytes.count), 0, ~UInt8(bytes.count), 255]
    return [0x78, 0x01] + block + bytes
      + [UInt8(high >> 8), UInt8(high & 255), UInt8(low >> 8), UInt8(low & 255)]
  }()

  static let answers: [Answer] = [
    Answer("a body with its length", HTTPText.response()),
    Answer(
      "a body that ends with its connection", HTTPText.response(headers: ["Connection: close"])),
    Answer(
      "fault 11: chunks of one byte",
      HTTPText.response(headers: ["Transfer-Encoding: chunked"], body: ""),
      Array((chunks + "0\r\n\r\n").utf8)),
    Answer("pieces of one byte", HTTPText.response(), inBytes: true),
    Answer(
      "gzip",
      HTTPText.response(
        headers: ["Content-Encoding: gzip"], bytes: GzipText.stored(Array(HTTPText.user.utf8)))),
    Answer(
      "gzip of several members, one of them empty",
      HTTPText.response(headers: ["Content-Encoding: x-gzip"], bytes: members)),
    Answer(
      "gzip of several members, in chunks of one byte",
      HTTPText.response(
        headers: ["Content-Encoding: gzip", "Transfer-Encoding: chunked"], body: ""),
      members.flatMap { Array("1\r\n".utf8) + [$0] + Array("\r\n".utf8) },
      Array("0\r\n\r\n".utf8)),
    Answer(
      "deflate, whose name may have capitals",
      HTTPText.response(headers: ["Content-Encoding: Deflate"], bytes: deflated)),
    Answer(
      "fault 15: two hundred header fields",
      HTTPText.response(headers: (0..<200).map { "X-Field-\($0): value" })),
    Answer(
      "fault 16: interim answers first",
      Array(
        String(repeating: "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", count: 100).utf8),
      HTTPText.response()),
    Answer("fault 23: no content type", HTTPText.response(type: nil)),
    Answer(
      "a content type with parameters",
      HTTPText.response(type: "Application/JSON ; Charset=UTF-8")),
    Answer(
      "UTF-8 is assumed without a charset",
      HTTPText.response(
        type: "application/graphql-response+json",
        body: HTTPText.user.replacing("Ada", with: "Адa")),
      text: #"{"data":{"user":{"id":"1","name":"Адa"}}}"#),
    Answer("a vendor's JSON type", HTTPText.response(type: "application/vnd.api+json")),
    Answer(
      "fault 24: 200 with errors only", HTTPText.response(body: refusal), text: refusal,
      errors: ["no such field"]),
    Answer(
      "data that an error has nulled",
      HTTPText.response(body: #"{"data":null,"# + refusal.dropFirst()),
      text: #"{"data":null,"# + refusal.dropFirst(), errors: ["no such field"]),
    Answer(
      "fault 25: data and errors",
      HTTPText.response(
        body: #"{"errors":[{"message":"no name","path":["user","name"]}],"data":{"user":"#
          + #"{"__typename":"User","id":"1","name":null}},"extensions":{"cost":3}}"#),
      text:
        #"{"data":{"user":{"id":"1","name":null}},"errors":[{"message":"no name","path":["user","name"]}],"#
        + #""extensions":{"cost":3}}"#, errors: ["no name"]),
    Answer(
      "fault 26: 400 that is GraphQL's own word",
      HTTPText.response(
        "400 Bad Request", type: "application/graphql-response+json; charset=utf-8", body: refusal),
      text: refusal, errors: ["no such field"], status: 400),
    Answer(
      "500 that is GraphQL's own word",
      HTTPText.response(
        "500 Internal Server Error", type: "application/graphql-response+json", body: refusal),
      text: refusal, errors: ["no such field"], status: 500),
  ]

  @Test(arguments: answers) func `an answer is read`(_ answer: Answer) async throws {
    try await Bench.withServer(answer.script) { bench, server in
      let outcome = await bench.run()
      #expect(outcome.message == "")
      #expect(outcome.texts == [answer.text])
      #expect(outcome.results.first?.errors.map(\.message) == answer.errors)
      #expect(outcome.results.first?.status == answer.status)
      #expect(await server.log.requests.count == 1)
    }
  }

  @Test func `a request is a POST of JSON that asks for GraphQL's own type`() async throws {
    try await Bench.withServer([.request, .send(HTTPText.response())]) { bench, server in
      _ = await bench.run()
      let request = try #require(await server.log.requests.first)
      let lines = request.split(separator: "\r\n").map { $0.lowercased() }
      #expect(lines.first == "post /graphql http/1.1")
      #expect(lines.contains("content-type: application/json"))
      #expect(
        lines.contains("accept: application/graphql-response+json, application/json;q=0.9"))
      #expect(lines.contains("accept-encoding: gzip, deflate"))
      #expect(lines.contains("user-agent: gqlrun"))
      #expect(lines.contains("authorization: bearer \(Bench.canary)"))
      #expect(request.contains(#""operationName":"User""#))
    }
  }
}
