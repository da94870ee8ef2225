import GQLRunJSON
import Testing

@testable import GQLRunDemoServer

/// Nothing that comes from outside may crash the server, or make it work forever.
@Suite(.timeLimit(.minutes(10))) struct HostileRequestTests {
  @Test(arguments: [
    "GARBAGE\r\n\r\n", "\0\0\0\0\r\n\r\n", "GET /graphql HTTP/9.9\r\n\r\n",
    "GET  HTTP/1.1\r\n\r\n", "POST /graphql HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
    "POST /graphql HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
    "POST /graphql HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
    "GET /graphql?%%%=%zz&query=%FF%FE&=&&& HTTP/1.1\r\nConnection: close\r\n\r\n",
    "GET /graphql?query=%00%01&variables=%7B HTTP/1.1\r\nConnection: close\r\n\r\n",
    "GET /graphql?query=" + String(repeating: "%7B", count: 5000)
      + " HTTP/1.1\r\nConnection: close\r\n\r\n",
    "GET graphql HTTP/1.1\r\nConnection: close\r\n\r\n",
    "GET http:///?://graphql?# HTTP/1.1\r\nConnection: close\r\n\r\n",
    "OPTIONS * HTTP/1.1\r\nConnection: close\r\n\r\n",
    "GET /" + String(repeating: "x", count: 200_000) + " HTTP/1.1\r\n\r\n",
    "GET / HTTP/1.1\r\nX: " + String(repeating: "x", count: 200_000) + "\r\n\r\n",
  ])
  func `requests that are none`(_ bytes: String) async throws {
    try await RawClient.withServer { client, _ in
      let reply = try await client.exchange(Array(bytes.utf8))
      #expect(reply.status == 0 || reply.status >= 400)
      let next = try await client.post("{ __typename }")
      #expect(next.status == 200)
    }
  }

  @Test(arguments: [
    Array("{\"query\":\"{ a\u{0} }\"}".utf8), [0xFF, 0xFE, 0x00],
    Array(repeating: 0x5B, count: 100_000),
    Array(#"{"query":"\uD800"}"#.utf8),
    Array(
      (#"{"query":"query ($x: CountryFilterInput) { countries(filter: $x) { code } }","#
        + #""variables":{"x":"# + String(repeating: "[", count: 500)
        + String(repeating: "]", count: 500) + "}}").utf8),
    Array(#"{"query":"{__typename}","variables":{"a":1e999999999,"b":-0.0e-99999999}}"#.utf8),
  ])
  func `bodies that are none`(_ body: [UInt8]) async throws {
    try await RawClient.withServer { client, _ in
      let head = "POST /graphql HTTP/1.1\r\nContent-Type: application/json\r\nConnection: close\r\n"
      let reply = try await client.exchange(
        Array("\(head)Content-Length: \(body.count)\r\n\r\n".utf8) + body)
      #expect([200, 400, 422].contains(reply.status))
      let next = try await client.post("{ __typename }")
      #expect(next.status == 200)
    }
  }

  /// Documents that are made to cost much.
  private static let documents: [(name: String, text: String)] = [
    (
      "deep selections",
      "{ " + nested(5000, open: "continent { countries { ", around: "code", close: "} }") + " }"
    ),
    (
      "deep values",
      "{ countries(filter: " + nested(5000, open: "{code: ", around: "1", close: "}")
        + ") { code } }"
    ),
    (
      "deep lists",
      "{ nodes(ids: " + nested(5000, open: "[", around: "1", close: "]") + ") { id } }"
    ),
    (
      "a chain of fragments",
      "{ ...F0 } "
        + (0..<5000).map { "fragment F\($0) on Query { ...F\($0 + 1) } " }.joined()
        + "fragment F5000 on Query { __typename }"
    ),
    (
      "a chain of fields through fragments",
      "{ continent(code: \"EU\") { ...F0 } } "
        + (0..<3000).map {
          "fragment F\($0) on Continent { countries { continent { ...F\($0 + 1) } } } "
        }.joined() + "fragment F3000 on Continent { code }"
    ),
    ("circles", "{ ...A } fragment A on Query { ...B } fragment B on Query { ...A }"),
    (
      "doubling fragments",
      "{ continent(code: \"AN\") { ...F0 } } "
        + (0..<60).map {
          "fragment F\($0) on Continent { a: countries { continent { ...F\($0 + 1) } } "
            + "b: countries { continent { ...F\($0 + 1) } } } "
        }.joined() + "fragment F60 on Continent { code }"
    ),
    ("many aliases", "{ " + (0..<4000).map { "a\($0): __typename " }.joined() + "}"),
    ("the same field often", "{ " + String(repeating: "__typename ", count: 4000) + "}"),
    (
      "many variables",
      "query (" + (0..<5000).map { "$v\($0): Int " }.joined() + ") { __typename }"
    ),
    ("many definitions", String(repeating: "query Q { __typename } ", count: 5000)),
    (
      "many arguments",
      "{ country(" + (0..<5000).map { "a\($0): 1 " }.joined() + ") { name } }"
    ),
    ("a long name", "{ " + String(repeating: "x", count: 50_000) + " }"),
    ("many directives", "{ __typename " + String(repeating: "@x ", count: 5000) + "}"),
  ]

  private static func nested(
    _ count: Int, open: String, around core: String, close: String
  ) -> String {
    String(repeating: open, count: count) + core + String(repeating: close, count: count)
  }

  @Test(arguments: documents.map(\.name))
  func `documents that cost much are answered or refused`(_ name: String) throws {
    let text = try #require(Self.documents.first { $0.name == name }?.text)
    let executor = DemoExecutor()
    switch executor.prepare(OperationRequest(query: text)) {
    case .refused(let errors):
      #expect((1...101).contains(errors.count))
      #expect(errors.allSatisfy { $0.message.utf8.count < 2 << 20 })
    case .ready(let operation):
      // The whole response may be larger than the world.
      var execution = executor.start(operation)
      for _ in 0..<10 { _ = execution.next() }
    }
  }
}
