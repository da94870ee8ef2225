import GQLRunJSON
import NIOCore
import Testing

@testable import GQLRunDemoServer

/// Several operations on one event stream: "single connection mode" of graphql-sse.
///
/// The names are those of the tests of the reference server.
///
/// https://github.com/enisdenjo/graphql-sse/blob/master/tests/handler.test.ts
@Suite(.timeLimit(.minutes(10))) struct SharedEventStreamTests {
  private func reserve(_ server: LiveDemoServer) async throws -> String {
    let reply = try await RawClient(server).send("PUT", "/graphql")
    #expect(reply.status == 201)
    #expect(reply[header: "content-type"] == "text/plain; charset=utf-8")
    return reply.text
  }

  private func start(
    _ query: String, id: String? = "1", token: String, _ server: LiveDemoServer
  ) async throws -> HTTPReply {
    var members: JSONObject = ["query": .string(query)]
    if let id { members["extensions"] = .object(["operationId": .string(id)]) }
    return try await RawClient(server).send(
      "POST", "/graphql",
      headers: ["Content-Type": "application/json", "X-GraphQL-Event-Stream-Token": token],
      body: JSONValue.object(members).jsonText())
  }

  /// The text of a stream that ends after a number of events.
  private func events(
    _ count: Int, token: String, _ server: LiveDemoServer
  ) async throws -> String {
    let reply = try await RawClient(server).send(
      "GET", "/graphql?token=\(token)&close-after=\(count)",
      headers: ["Accept": "text/event-stream"])
    #expect(reply.status == 200)
    #expect(reply[header: "content-type"] == "text/event-stream; charset=utf-8")
    return reply.text
  }

  @Test func `should get a token with PUT request`() async throws {
    try await DemoServer.withServer(.patient) { server in
      let tokens = [try await reserve(server), try await reserve(server)]
      #expect(Set(tokens).count == 2 && tokens.allSatisfy { $0.count == 32 })
    }
  }

  @Test(arguments: ["GET", "POST", "DELETE"])
  func `should respond with 404s when token was not previously registered`(
    _ method: String
  ) async throws {
    try await DemoServer.withServer(.patient) { server in
      let header = try await RawClient(server).send(
        method, "/graphql", headers: ["X-GraphQL-Event-Stream-Token": "0"])
      #expect(header.status == 404)
      let parameter = try await RawClient(server).send(method, "/graphql?token=0")
      #expect(parameter.status == 404)
    }
  }

  @Test func `should not allow operations without providing an operation id`() async throws {
    try await DemoServer.withServer(.patient) { server in
      let token = try await reserve(server)
      for id in [nil, "", "a b", String(repeating: "a", count: 257)] {
        let reply = try await start("{ __typename }", id: id, token: token, server)
        #expect(reply.status == 400 && reply.text.contains("extensions.operationId"))
      }
      let stop = try await RawClient(server).send("DELETE", "/graphql?token=\(token)")
      #expect(stop.status == 400)
    }
  }

  @Test func `should report validation issues to operation request`() async throws {
    try await DemoServer.withServer(.patient) { server in
      let token = try await reserve(server)
      let reply = try await start("subscription { nope }", token: token, server)
      #expect(reply.status == 400 && reply.text.contains("Cannot query field"))
    }
  }

  @Test func `should stream query operations to connected event stream`() async throws {
    try await DemoServer.withServer(.patient) { server in
      let token = try await reserve(server)
      #expect(try await start("{ __typename }", id: "a-B_1", token: token, server).status == 202)
      #expect(
        try await events(2, token: token, server) == """
          :

          event: next
          data: {"id":"a-B_1","payload":{"data":{"__typename":"Query"}}}

          event: complete
          data: {"id":"a-B_1"}


          """)
    }
  }

  @Test func `should stream subscription operations, also if the event stream connects late`()
    async throws
  {
    try await DemoServer.withServer(.patient) { server in
      let token = try await reserve(server)
      for id in ["1", "2"] {
        let query = "subscription { countdown(from: \(id), delay: 0) }"
        #expect(try await start(query, id: id, token: token, server).status == 202)
      }
      let lines = try await events(7, token: token, server).split(separator: "\n")
      for (id, count) in [("1", 1), ("2", 2)] {
        let expected =
          (0...count).reversed().map {
            #"data: {"id":"\#(id)","payload":{"data":{"countdown":\#($0)}}}"#
          } + [#"data: {"id":"\#(id)"}"#]
        #expect(lines.filter { $0.contains(#""id":"\#(id)""#) }.map(String.init) == expected)
      }
    }
  }

  @Test func `should report subscription errors to the stream`() async throws {
    try await DemoServer.withServer(.patient) { server in
      let token = try await reserve(server)
      let query = "subscription { countdown(from: -5) }"
      #expect(try await start(query, token: token, server).status == 202)
      let text = try await events(2, token: token, server)
      #expect(text.contains("must be at least 0; it is -5."))
      #expect(text.hasSuffix("event: complete\ndata: {\"id\":\"1\"}\n\n"))
    }
  }

  @Test func `an id is in use until its operation ends or is stopped`() async throws {
    try await DemoServer.withServer(.patient) { server in
      let token = try await reserve(server)
      let query = "subscription { countdown(from: 9, delay: 0) }"
      #expect(try await start(query, token: token, server).status == 202)
      #expect(try await start(query, token: token, server).status == 409)
      for status in [200, 404] {
        let stop = try await RawClient(server).send(
          "DELETE", "/graphql?operationId=1&token=\(token)")
        #expect(stop.status == status)
      }
      #expect(try await start(query, token: token, server).status == 202)
    }
  }

  @Test func `a reservation has one event stream, and ends with it`() async throws {
    try await DemoServer.withServer { server in
      let token = try await reserve(server)
      let path = "/graphql?token=\(token)"
      try await RawClient(server).connect { inbound, outbound in
        try await outbound.write(ByteBuffer(bytes: RawClient.request("GET", path)))
        var reply = HTTPReply()
        var iterator = inbound.makeAsyncIterator()
        while reply.text.isEmpty, let buffer = try await iterator.next() {
          reply.feed(buffer.readableBytesView)
        }
        #expect(reply.text == ":\n\n")
        #expect(try await RawClient(server).send("GET", path).status == 409)
      }
      // The server notices the end of the connection some time later.
      while try await RawClient(server).send("POST", path).status != 404 {}
    }
  }

  @Test func `unused reservations are replaced`() async throws {
    let streams = ReservedEventStreams()
    let first = try #require(streams.reserve())
    let second = try #require(streams.reserve())
    #expect(streams.stream(first)?.open() == true)
    for _ in 0..<ReservedEventStreams.maxReservations { _ = try #require(streams.reserve()) }
    #expect(streams.stream(first) != nil)
    #expect(streams.stream(second) == nil)
  }
}
