import GQLRunPipeline
import GQLRunTestSupport
import HTTPTypes
import Testing

/// What servers and networks do wrong, one fault after the other.
@Suite(.timeLimit(.minutes(10))) struct FaultTests {
  struct Fault: Sendable, CustomTestStringConvertible {
    var name: String
    var script: [RawServer.Step]
    var code: ChainError.Code
    var delivery: ChainError.Delivery
    /// Parts of the message.
    var message: [String]
    var fetch = "fetch"
    var status: Int?

    var testDescription: String { name }
  }

  static func answers(_ bytes: [UInt8], _ more: RawServer.Step...) -> [RawServer.Step] {
    [.request, .send(bytes)] + more
  }

  private static let half = String(HTTPText.user.prefix(30))
  private static let chunked = HTTPText.response(
    headers: ["Transfer-Encoding: chunked"], body: HTTPText.chunk(half))
  private static let gzip = GzipText.stored(Array(HTTPText.user.utf8))

  static let framing: [Fault] = [
    Fault(
      name: "fault 1: a body shorter than its Content-Length",
      script: answers(HTTPText.response(headers: ["Content-Length: 500"], body: half)),
      code: .truncatedResponse, delivery: .answered, message: ["after 30 bytes"]),
    Fault(
      name: "fault 2: a chunked body that breaks off", script: answers(chunked),
      code: .truncatedResponse, delivery: .answered, message: ["after 30 bytes"]),
    Fault(
      name: "fault 3: a chunk size that is no number",
      script: answers(chunked + Array("zz\r\n".utf8), .untilClosed),
      code: .malformedResponse, delivery: .answered, message: ["HTTP", "127.0.0.1"]),
    Fault(
      name: "fault 4: a body of unknown length that is cut off",
      script: answers(HTTPText.response(headers: ["Connection: close"], body: half)),
      code: .truncatedResponse, delivery: .answered, message: ["truncated", "30"]),
    Fault(
      name: "fault 5: a reset in the middle of the body",
      script: answers(
        HTTPText.response(headers: ["Content-Length: 500"], body: half), .reset),
      code: .truncatedResponse, delivery: .answered, message: ["127.0.0.1"]),
    Fault(
      name: "fault 6: a connection closed before the head", script: [.request],
      code: .connectionClosed, delivery: .unknown, message: ["closed the connection before"]),
    Fault(
      name: "fault 6: a connection closed within the head",
      script: answers(Array("HTTP/1.1 200 OK\r\nContent-Ty".utf8)),
      code: .connectionClosed, delivery: .unknown, message: ["closed the connection before"]),
    Fault(
      name: "fault 6: a reset before the head", script: [.request, .reset],
      code: .connectionClosed, delivery: .unknown, message: ["before"]),
    Fault(
      name: "fault 17: two lengths that contradict each other",
      script: answers(
        HTTPText.response(
          headers: ["Content-Length: 10", "Content-Length: 70"]), .untilClosed),
      code: .malformedResponse, delivery: .unknown, message: ["HTTP"]),
    Fault(
      name: "fault 17: a length and chunks",
      script: answers(
        HTTPText.response(
          headers: ["Content-Length: 10", "Transfer-Encoding: chunked"],
          body: HTTPText.chunk(HTTPText.user) + "0\r\n\r\n"), .untilClosed),
      code: .malformedResponse, delivery: .unknown, message: ["HTTP"]),
    Fault(
      name: "fault 19: something that is not HTTP",
      script: [.request, .send("SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n"), .untilClosed],
      code: .malformedResponse, delivery: .unknown, message: ["did not answer with HTTP"]),
    Fault(
      name: "fault 34: a TLS port spoken to in plain HTTP",
      script: answers([0x15, 3, 1, 0, 2, 2, 0x46], .untilClosed),
      code: .malformedResponse, delivery: .unknown, message: ["did not answer with HTTP", "https"]),
    Fault(
      name: "fault 15: a header field of 100 KiB",
      script: answers(
        HTTPText.response(headers: ["X-Long: " + String(repeating: "a", count: 100 << 10)]),
        .untilClosed),
      code: .limitExceeded, delivery: .unknown, message: ["header"]),
    Fault(
      name: "fault 16: header fields without end",
      script: answers(
        Array("HTTP/1.1 200 OK\r\n".utf8),
        .flood(Array("X-More: \(String(repeating: "a", count: 1000))\r\n".utf8))),
      code: .limitExceeded, delivery: .unknown, message: ["header"]),
  ]

  static let bodies: [Fault] = [
    Fault(
      name: "fault 12: a body without end",
      script: answers(
        HTTPText.response(headers: ["Transfer-Encoding: chunked"], body: ""),
        .flood(Array(HTTPText.chunk(String(repeating: " ", count: 4096)).utf8))),
      code: .limitExceeded, delivery: .answered, message: ["larger than 1MiB", "max_body"],
      fetch: "fetch: { max_body: 1MiB }"),
    Fault(
      name: "fault 12: a body whose length is over the limit",
      script: answers(HTTPText.response(body: HTTPText.user), .untilClosed),
      code: .limitExceeded, delivery: .answered, message: ["larger than 40B", "max_body"],
      fetch: "fetch: { max_body: 40B }"),
    Fault(
      name: "fault 13: a gzip bomb",
      script: answers(
        HTTPText.response(headers: ["Content-Encoding: gzip"], bytes: gzipBomb), .untilClosed),
      code: .limitExceeded, delivery: .answered, message: ["larger than 64KiB", "max_body"],
      fetch: "fetch: { max_body: 64KiB }"),
    Fault(
      name: "fault 14: gzip that is cut off",
      script: answers(
        HTTPText.response(headers: ["Content-Encoding: gzip"], bytes: gzip.dropLast(20))),
      code: .truncatedResponse, delivery: .answered, message: ["compressed"]),
    Fault(
      name: "fault 14: gzip with a wrong checksum",
      script: answers(
        HTTPText.response(
          headers: ["Content-Encoding: gzip"],
          bytes: gzip.dropLast(8) + [1, 2, 3, 4] + gzip.suffix(4))),
      code: .malformedResponse, delivery: .answered, message: ["decompress"]),
    Fault(
      name: "fault 14: gzip that is no gzip",
      script: answers(HTTPText.response(headers: ["Content-Encoding: gzip"])),
      code: .malformedResponse, delivery: .answered, message: ["decompress"]),
    Fault(
      name: "fault 14: gzip with something behind it",
      script: answers(
        HTTPText.response(
          headers: ["Content-Encoding: gzip"], bytes: gzip + Array("garbage".utf8))),
      code: .malformedResponse, delivery: .answered, message: ["decompress"]),
    Fault(
      name: "fault 22: 204", script: answers(Array("HTTP/1.1 204 No Content\r\n\r\n".utf8)),
      code: .malformedResponse, delivery: .answered, message: ["empty", "204 No Content"],
      status: 204),
    Fault(
      name: "fault 22: an empty 200", script: answers(HTTPText.response(body: "")),
      code: .malformedResponse, delivery: .answered, message: ["empty", "200 OK"], status: 200),
    Fault(
      name: "JSON that is no GraphQL response",
      script: answers(HTTPText.response(body: #"{"hello":1}"#)),
      code: .malformedResponse, delivery: .answered, message: ["neither"], status: 200),
    Fault(
      name: "text that is no JSON", script: answers(HTTPText.response(body: "{oops")),
      code: .malformedResponse, delivery: .answered, message: ["byte 1"], status: 200),
    Fault(
      name: "a second document behind the first",
      script: answers(HTTPText.response(body: HTTPText.user + HTTPText.user)),
      code: .malformedResponse, delivery: .answered, message: ["byte"], status: 200),
  ]

  static let answers: [Fault] = [
    Fault(
      name: "fault 21: a proxy's page",
      script: answers(
        HTTPText.response(
          "502 Bad Gateway", type: "text/html; charset=utf-8",
          body: "\n<html><head><title>502 Bad Gateway</title></head>\n<body>…</body></html>")),
      code: .httpStatus, delivery: .answered,
      message: ["502 Bad Gateway", "text/html", "<title>"], status: 502),
    Fault(
      name: "fault 21: a page with status 200",
      script: answers(
        HTTPText.response(type: "text/html", body: "<html>\n<body>Sign in</body></html>")),
      code: .unexpectedContentType, delivery: .answered,
      message: ["200 OK", "text/html", "<html>"], status: 200),
    Fault(
      name: "fault 23: plain text with status 200",
      script: answers(HTTPText.response(type: "text/plain", body: "upstream not ready")),
      code: .unexpectedContentType, delivery: .answered,
      message: ["200 OK", "text/plain", "upstream not ready"], status: 200),
    Fault(
      name: "fault 26: 400 with a JSON body that is not trusted",
      script: answers(
        HTTPText.response("400 Bad Request", body: #"{"errors":[{"message":"no such field"}]}"#)),
      code: .httpStatus, delivery: .answered,
      message: ["400 Bad Request", "application/json", "no such field"], status: 400),
    Fault(
      name: "401", script: answers(HTTPText.response("401 Unauthorized", type: nil, body: "")),
      code: .httpStatus, delivery: .answered, message: ["401", "credentials"], status: 401),
    Fault(
      name: "fault 20: 413 before the upload has ended",
      script: [
        // An answer to nothing, before the client has said a word, is another fault.
        .bytes(1),
        .send(HTTPText.response("413 Content Too Large", headers: ["Connection: close"], body: "")),
      ],
      code: .httpStatus, delivery: .answered, message: ["413"], status: 413),
  ]

  @Test(arguments: framing + bodies + answers)
  func `a fault has its error, its message and no other effect`(_ fault: Fault) async throws {
    let chain = Bench.plain.replacing("- fetch", with: "- \(fault.fetch)")
    try await Bench.withServer(fault.script, chain: chain) { bench, server in
      try await bench.prime()
      let before = await bench.dump()
      let outcome = await bench.run()
      #expect(outcome.results.isEmpty)
      #expect(outcome.failure?.layer == .transport)
      #expect(outcome.code == fault.code, "\(outcome.message)")
      #expect(outcome.failure?.delivery == fault.delivery)
      #expect(outcome.failure?.http?.status == fault.status)
      for part in fault.message {
        #expect(outcome.message.contains(part), "\(outcome.message)")
      }
      #expect(await server.log.connections == 1)
      #expect(await bench.dump() == before)
      #expect(!before.isEmpty)
      expectNoSecrets(outcome, bench)
    }
  }

  @Test(arguments: [301, 302, 303, 307, 308])
  func `fault 27: a redirect is not followed unless allowed`(_ status: Int) async throws {
    try await RawServer.withServer([.request, .send(HTTPText.user)]) { other in
      let location = "\(other.url)#token=hidden?key=hidden"
      let answer = HTTPText.response(
        "\(status) Moved", type: nil, headers: ["Location: \(location)"], body: "")
      try await Bench.withServer([.request, .send(answer)]) { bench, server in
        let outcome = await bench.run()
        #expect(outcome.code == .httpStatus)
        #expect(outcome.failure?.http?.status == status)
        #expect(outcome.message.contains("; the redirect to \(other.url) is not followed"))
        #expect(!outcome.message.contains("hidden"), "the query and the fragment may have keys")
        #expect(await server.log.requests.count == 1)
        #expect(await other.log.connections == 0)
      }
    }
  }

  @Test func `a refused body is kept up to its first KiB`() async throws {
    let long = #"{"errors":[{"message":"\#(String(repeating: "x", count: 5000))"}]}"#
    let script: [RawServer.Step] = [
      .request,
      .send(
        HTTPText.response("400 Bad Request", headers: ["Content-Length: 9999999"], body: long)),
      .untilClosed,
    ]
    try await Bench.withServer(script) { bench, server in
      let outcome = await bench.run()
      #expect(outcome.failure?.http?.bodyPrefix == Array(long.utf8.prefix(1024)))
      #expect(outcome.message.utf8.count < 400)
      // What was not read is not waited for, and does not keep the connection.
      await server.log.closure()
    }
  }

  @Test func `a refused body that breaks off is kept as far as it came`() async throws {
    let script: [RawServer.Step] = [
      .request,
      .send(
        HTTPText.response(
          "503 Service Unavailable", headers: ["Content-Length: 900"], body: "overloaded")),
    ]
    try await Bench.withServer(script) { bench, _ in
      let outcome = await bench.run()
      #expect(outcome.failure?.http?.bodyPrefix == Array("overloaded".utf8))
      #expect(outcome.message.contains("503 Service Unavailable (application/json): overloaded"))
    }
  }

  @Test func `faults 30 and 31: a missing server and an unknown name are distinguished`()
    async throws
  {
    try await HeldPort.with { port in
      try await Bench.with(url: "http://127.0.0.1:\(port)/graphql") { bench in
        let outcome = await bench.run()
        #expect(outcome.code == .connectionFailed)
        #expect(outcome.failure?.delivery == .notSent)
        #expect(outcome.message.contains("cannot connect to http://127.0.0.1:\(port)"))
        #expect(outcome.message.contains("refused"))
        expectNoSecrets(outcome, bench)
      }
    }
    try await Bench.with(url: "http://does-not-exist.invalid/graphql") { bench in
      let outcome = await bench.run()
      #expect(outcome.code == .nameResolutionFailed)
      #expect(outcome.failure?.delivery == .notSent)
      #expect(outcome.message.contains("does-not-exist.invalid"))
      expectNoSecrets(outcome, bench)
    }
  }

  @Test func `fault 34: https spoken to a plain port is a failure of TLS, and not tried again`()
    async throws
  {
    let script: [RawServer.Step] = [.send(HTTPText.response("400 Bad Request")), .untilClosed]
    try await RawServer.withServer(script) { server in
      let url = "https://127.0.0.1:\(server.port)/graphql"
      let chain = "- max-retry: { backoff: { base: 0s } }\n" + Bench.plain
      try await Bench.with(chain, url: url) { bench in
        let outcome = await bench.run()
        #expect(outcome.code == .tlsFailed, "\(outcome.message)")
        #expect(outcome.failure?.delivery == .notSent)
        #expect(outcome.message.contains("is the URL's scheme and port right?"))
        #expect(await server.log.connections == 1)
        expectNoSecrets(outcome, bench)
      }
    }
  }
}

/// Nothing secret is in what a user or a log could see of an outcome.
func expectNoSecrets(
  _ outcome: Outcome, _ bench: Bench, sourceLocation: SourceLocation = #_sourceLocation
) {
  var dumped = ""
  dump(outcome.error, to: &dumped)
  for text in [
    outcome.message, dumped, String(reflecting: outcome.error as Any), bench.log.everything,
  ] {
    #expect(!text.contains(Bench.canary), sourceLocation: sourceLocation)
  }
}
