import GQLRunPipeline
import GQLRunTestSupport
import Testing

/// What servers and networks do wrong, one fault after the other.
@Suite(.timeLimit(.minutes(10))) struct FaultTests {
  struct Fault: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var code: ChainError.Code
    /// Parts of the message.
    var message: [String]
    var delivery: ChainError.Delivery
    var status: Int?
    var fetch: String
    var script: [RawServer.Step]

    init(
      _ name: String, _ code: ChainError.Code, _ message: [String],
      delivery: ChainError.Delivery = .answered, status: Int? = nil, fetch: String = "fetch",
      script: [RawServer.Step]
    ) {
      (testDescription, self.code, self.message, self.delivery) = (name, code, message, delivery)
      (self.status, self.fetch, self.script) = (status, fetch, script)
    }
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
      "fault 1: a body shorter than its Content-Length", .truncatedResponse, ["after 30 bytes"],
      script: answers(HTTPText.response(headers: ["Content-Length: 500"], body: half))),
    Fault(
      "fault 2: a chunked body that breaks off", .truncatedResponse, ["after 30 bytes"],
      script: answers(chunked)),
    Fault(
      "fault 3: a chunk size that is no number", .malformedResponse, ["HTTP", "127.0.0.1"],
      script: answers(chunked + Array("zz\r\n".utf8), .untilClosed)),
    Fault(
      "fault 4: a body of unknown length that is cut off", .truncatedResponse, ["truncated", "30"],
      script: answers(HTTPText.response(headers: ["Connection: close"], body: half))),
    Fault(
      "fault 5: a reset in the middle of the body", .truncatedResponse, ["127.0.0.1"],
      script: answers(
        HTTPText.response(headers: ["Content-Length: 500"], body: half), .reset)),
    Fault(
      "fault 6: a connection closed before the head", .connectionClosed,
      ["closed the connection before"], delivery: .unknown, script: [.request]),
    Fault(
      "fault 6: a connection closed within the head", .connectionClosed,
      ["closed the connection before"], delivery: .unknown,
      script: answers(Array("HTTP/1.1 200 OK\r\nContent-Ty".utf8))),
    Fault(
      "fault 6: a reset before the head", .connectionClosed, ["before"], delivery: .unknown,
      script: [.request, .reset]),
    Fault(
      "fault 17: two lengths that contradict each other", .malformedResponse, ["HTTP"],
      delivery: .unknown,
      script: answers(
        HTTPText.response(
          headers: ["Content-Length: 10", "Content-Length: 70"]), .untilClosed)),
    Fault(
      "fault 17: a length and chunks", .malformedResponse, ["HTTP"], delivery: .unknown,
      script: answers(
        HTTPText.response(
          headers: ["Content-Length: 10", "Transfer-Encoding: chunked"],
          body: HTTPText.chunk(HTTPText.user) + "0\r\n\r\n"), .untilClosed)),
    Fault(
      "fault 19: something that is not HTTP", .malformedResponse, ["did not answer with HTTP"],
      delivery: .unknown,
      script: [.request, .send("SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n"), .untilClosed]),
    Fault(
      "a status below 100", .malformedResponse,
      ["did not answer with HTTP (invalid HTTP status code)"],
      delivery: .unknown, script: answers(HTTPText.response("099 Odd"), .untilClosed)),
    Fault(
      "fault 34: a TLS port spoken to in plain HTTP", .malformedResponse,
      ["did not answer with HTTP", "https"], delivery: .unknown,
      script: answers([0x15, 3, 1, 0, 2, 2, 0x46], .untilClosed)),
    Fault(
      "fault 15: a header field of 100 KiB", .limitExceeded, ["header"], delivery: .unknown,
      script: answers(
        HTTPText.response(headers: ["X-Long: " + String(repeating: "a", count: 100 << 10)]),
        .untilClosed)),
    Fault(
      "fault 16: header fields without end", .limitExceeded, ["header"], delivery: .unknown,
      script: answers(
        Array("HTTP/1.1 200 OK\r\n".utf8),
        .flood(Array("X-More: \(String(repeating: "a", count: 1000))\r\n".utf8)))),
  ]

  static let bodies: [Fault] = [
    Fault(
      "fault 12: a body without end", .limitExceeded, ["larger than 1MiB", "max_body"],
      fetch: "fetch: { max_body: 1MiB }",
      script: answers(
        HTTPText.response(headers: ["Transfer-Encoding: chunked"], body: ""),
        .flood(Array(HTTPText.chunk(String(repeating: " ", count: 4096)).utf8)))),
    Fault(
      "fault 12: a body whose length is over the limit", .limitExceeded,
      ["larger than 40B", "max_body"], fetch: "fetch: { max_body: 40B }",
      script: answers(HTTPText.response(body: HTTPText.user), .untilClosed)),
    Fault(
      "fault 13: a gzip bomb", .limitExceeded, ["larger than 64KiB", "max_body"],
      fetch: "fetch: { max_body: 64KiB }",
      script: answers(
        HTTPText.response(headers: ["Content-Encoding: gzip"], bytes: gzipBomb), .untilClosed)),
    Fault(
      "fault 14: gzip that is cut off", .truncatedResponse, ["compressed"],
      script: answers(
        HTTPText.response(headers: ["Content-Encoding: gzip"], bytes: gzip.dropLast(20)))),
    Fault(
      "fault 14: gzip with a wrong checksum", .malformedResponse, ["decompress"],
      script: answers(
        HTTPText.response(
          headers: ["Content-Encoding: gzip"],
          bytes: gzip.dropLast(8) + [1, 2, 3, 4] + gzip.suffix(4)))),
    Fault(
      "fault 14: gzip that is no gzip", .malformedResponse, ["decompress"],
      script: answers(HTTPText.response(headers: ["Content-Encoding: gzip"]))),
    Fault(
      "fault 14: gzip with something behind it", .malformedResponse, ["decompress"],
      script: answers(
        HTTPText.response(
          headers: ["Content-Encoding: gzip"], bytes: gzip + Array("garbage".utf8)))),
    Fault(
      "fault 22: 204", .malformedResponse, ["empty", "204 No Content"], status: 204,
      script: answers(Array("HTTP/1.1 204 No Content\r\n\r\n".utf8))),
    Fault(
      "fault 22: an empty 200", .malformedResponse, ["empty", "200 OK"], status: 200,
      script: answers(HTTPText.response(body: ""))),
    Fault(
      "JSON that is no GraphQL response", .malformedResponse, ["neither"], status: 200,
      script: answers(HTTPText.response(body: #"{"hello":1}"#))),
    Fault(
      "text that is no JSON", .malformedResponse, ["byte 1"], status: 200,
      script: answers(HTTPText.response(body: "{oops"))),
    Fault(
      "a second document behind the first", .malformedResponse, ["byte"], status: 200,
      script: answers(HTTPText.response(body: HTTPText.user + HTTPText.user))),
  ]

  static let answers: [Fault] = [
    Fault(
      "fault 21: a proxy's page", .httpStatus, ["502 Bad Gateway", "text/html", "<title>"],
      status: 502,
      script: answers(
        HTTPText.response(
          "502 Bad Gateway", type: "text/html; charset=utf-8",
          body: "\n<html><head><title>502 Bad Gateway</title></head>\n<body>…</body></html>"))),
    Fault(
      "fault 21: a page with status 200", .unexpectedContentType,
      ["200 OK", "text/html", "<html>"],
      status: 200,
      script: answers(
        HTTPText.response(type: "text/html", body: "<html>\n<body>Sign in</body></html>"))),
    Fault(
      "fault 23: plain text with status 200", .unexpectedContentType,
      ["200 OK", "text/plain", "upstream not ready"], status: 200,
      script: answers(HTTPText.response(type: "text/plain", body: "upstream not ready"))),
    Fault(
      "fault 26: 400 with a JSON body that is not trusted", .httpStatus,
      ["400 Bad Request", "application/json", "no such field"], status: 400,
      script: answers(
        HTTPText.response("400 Bad Request", body: #"{"errors":[{"message":"no such field"}]}"#))),
    Fault(
      "401", .httpStatus, ["401", "credentials"], status: 401,
      script: answers(HTTPText.response("401 Unauthorized", type: nil, body: ""))),
    Fault(
      "fault 20: 413 before the upload has ended", .httpStatus, ["413"], status: 413,
      script: [
        // An answer to nothing, before the client has said a word, is another fault.
        .bytes(1),
        .send(HTTPText.response("413 Content Too Large", headers: ["Connection: close"], body: "")),
      ]),
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
      try await Bench.with(Bench.retrying, url: url) { bench in
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
