import GQLRunPipeline
import Testing

/// Connections that the server closes right behind events.
@Suite(.timeLimit(.minutes(10))) struct CutStreamTests {
  private static let document = "subscription Renamed { renamed { __typename id name } }"

  private static func chunks(_ kind: String, _ texts: [String]) -> [UInt8] {
    HTTPText.response(
      type: kind, headers: ["Transfer-Encoding: chunked"],
      body: texts.map(HTTPText.chunk).joined())
  }

  static let events = chunks(
    "text/event-stream", (0..<500).map { "event: next\ndata: \(SocketTests.payload("\($0)"))\n\n" })
  static let parts = chunks(
    "multipart/mixed;boundary=graphql;subscriptionSpec=1.0",
    ["--graphql"]
      + (0..<500).map {
        "\r\nContent-Type: application/json\r\n\r\n"
          + #"{"payload":\#(SocketTests.payload("\($0)"))}"# + "\r\n--graphql"
      })

  enum Kind: CaseIterable, Sendable {
    case events, parts

    var bytes: [UInt8] { self == .events ? CutStreamTests.events : CutStreamTests.parts }
  }

  @Test(arguments: Kind.allCases)
  func `all events that arrived before the connection was closed are results`(
    kind: Kind
  ) async throws {
    let bytes = kind.bytes
    try await RawServer.withServer([.request, .send(bytes), .end]) { server in
      try await Bench.with(url: server.url) { bench in
        let outcome = await bench.run(Self.document)
        #expect(outcome.results.count == 500)
        #expect(outcome.texts.last == SocketTests.payload("499"))
        #expect((outcome.error as? ChainError)?.code == .truncatedResponse, "\(outcome.message)")
      }
    }
  }
}
