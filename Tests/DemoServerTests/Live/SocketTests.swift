import GQLRunDemoServer
import GQLRunJSON
import Testing

/// Operations over WebSocket in both subprotocols.
@Suite(.timeLimit(.minutes(10))) struct SocketTests {
  private static let countdown = "subscription { countdown(from: 2, delay: 0) }"

  @Test func `graphql-transport-ws sends events and completes`() async throws {
    try await DemoServer.withServer(.patient) { server in
      try await RawSocket.connect(server, protocols: "graphql-ws-unknown, graphql-transport-ws") {
        socket in
        #expect(socket.status == 101)
        #expect(socket.head.contains("Sec-WebSocket-Protocol: graphql-transport-ws"))
        #expect(try await socket.initialize() == #"{"type":"connection_ack"}"#)
        // The same id again, as soon as the operation has ended.
        for _ in 0..<2 {
          try await socket.subscribe(Self.countdown, id: "op 1")
          for number in [2, 1, 0] {
            #expect(
              try await socket.message()
                == #"{"id":"op 1","type":"next","payload":{"data":{"countdown":\#(number)}}}"#)
          }
          #expect(try await socket.message() == #"{"id":"op 1","type":"complete"}"#)
        }
      }
      #expect(server.requestCount == 2)
      #expect(server.log.last?.method == "WEBSOCKET")
    }
  }

  @Test func `the older graphql-ws has its own messages`() async throws {
    try await RawSocket.withServer(protocols: "graphql-ws") { socket in
      #expect(try await socket.initialize() == #"{"type":"connection_ack"}"#)
      #expect(try await socket.message() == #"{"type":"ka"}"#)
      try await socket.subscribe("{ country(code: \"JP\") { code } }", type: "start")
      #expect(
        try await socket.message()
          == #"{"id":"1","type":"data","payload":{"data":{"country":{"code":"JP"}}}}"#)
      #expect(try await socket.message() == #"{"id":"1","type":"complete"}"#)
      try await socket.subscribe("{ nope }", type: "start")
      let error = try JSONValue(parsing: try await socket.message() ?? "")
      #expect(error["type"] == "error" && error["payload"]?["message"]?.stringValue != nil)
      try await socket.send(#"{"type":"connection_terminate"}"#)
      #expect(try await socket.message() == "closed with 1000")
    }
  }

  @Test func `a stopped operation sends nothing more`() async throws {
    try await RawSocket.withServer { socket in
      _ = try await socket.initialize()
      try await socket.subscribe(
        "subscription { likesChanged(post: \"P_1\") { likes: likeCount } }")
      let first = try Self.likes(try await socket.message())
      let like = "mutation { likePost(id: \"P_1\") { likes: likeCount } }"
      try await socket.subscribe(like, id: "2")
      // The event and the two messages of the mutation come in any order.
      var messages: [String] = []
      for _ in 0..<3 { messages.append(try #require(try await socket.message())) }
      let event = try #require(messages.first { $0.hasPrefix(#"{"id":"1""#) })
      #expect(try Self.likes(event) == first + 1)
      try await socket.send(#"{"type":"complete","id":"1"}"#)
      try await socket.subscribe(like, id: "3")
      #expect(try await socket.message()?.hasPrefix(#"{"id":"3","type":"next""#) == true)
      #expect(try await socket.message() == #"{"id":"3","type":"complete"}"#)
      try await socket.send(#"{"type":"ping","payload":{"a":[1]}}"#)
      #expect(try await socket.message() == #"{"type":"pong","payload":{"a":[1]}}"#)
    }
  }

  private static func likes(_ message: String?) throws -> Int {
    let payload = try JSONValue(parsing: message ?? "")["payload"]
    return try #require(payload?["data"]?["likesChanged"]?["likes"]?.intValue)
  }

  @Test func `operations that are refused have errors and do not complete`() async throws {
    try await RawSocket.withServer { socket in
      _ = try await socket.initialize()
      for (query, message) in [
        ("subscription { nope }", #"Cannot query field \"nope\" on type \"Subscription\"."#),
        ("subscription { likesChanged(post: \"P_x\") { id } }", #"no post with the id \"P_x\""#),
        (
          "subscription { countdown(from: -1) }",
          #"Argument \"from\" must be at least 0; it is -1."#
        ),
      ] {
        try await socket.subscribe(query)
        let error = try #require(try await socket.message())
        #expect(error.hasPrefix(#"{"id":"1","type":"error","payload":[{"message":"#))
        #expect(error.contains(message))
      }
    }
  }

  /// What a client must not do, and the code of the close that follows.
  @Test(arguments: [
    (#"{"type":"subscribe","id":"1","payload":{"query":"{ __typename }"}}"#, false, 4401),
    (#"{"type":"connection_init"}"#, true, 4429),
    (#"{"type":"subscribe","id":"1","payload":{}}"#, true, 4400),
    (#"{"type":"subscribe","payload":{"query":"{ __typename }"}}"#, true, 4400),
    (#"{"type":"subscribe","id":"","payload":{"query":"{ __typename }"}}"#, true, 4400),
    (#"{"type":"complete"}"#, true, 4400), (#"{"type":"nope"}"#, true, 4400),
    (#"{"id":"1"}"#, true, 4400), ("[]", true, 4400), ("hello", true, 4400),
    (String(repeating: "[", count: 100_000), true, 4400),
  ])
  func `messages that are wrong`(_ message: String, isInitialized: Bool, code: Int) async throws {
    try await RawSocket.withServer { socket in
      if isInitialized { _ = try await socket.initialize() }
      try await socket.send(message)
      #expect(try await socket.message() == "closed with \(code)")
    }
  }

  @Test func `an id that is in use closes the connection`() async throws {
    try await RawSocket.withServer { socket in
      _ = try await socket.initialize()
      let query = "subscription { likesChanged(post: \"P_1\") { id } }"
      try await socket.subscribe(query)
      try await socket.subscribe(query)
      var last: String?
      while let message = try await socket.message() { last = message }
      #expect(last == "closed with 4409")
    }
  }

  @Test func `frames that are wrong`() async throws {
    var configuration = DemoServer.Configuration.patient
    configuration.maxBodyBytes = 1000
    try await DemoServer.withServer(configuration) { server in
      let cases: [(String, [UInt8], Int)] = [
        ("binary", [0x82, 0x80, 0, 0, 0, 0], 1003),
        ("no UTF-8", [0x81, 0x81, 0, 0, 0, 0, 0xFF], 1007),
        ("a frame that is too large", [0x81, 0xFF, 0, 0, 0, 0, 0x0C, 0, 0, 0, 0, 0, 0, 0], 1009),
        ("a continuation of nothing", [0x80, 0x80, 0, 0, 0, 0], 1002),
        ("a fragmented ping", [0x09, 0x80, 0, 0, 0, 0], 1002),
        ("a close", [0x88, 0x82, 0, 0, 0, 0, 0x03, 0xE8], 1000),
      ]
      for (name, bytes, code) in cases {
        try await RawSocket.connect(server) { socket in
          try await socket.send(bytes: bytes)
          #expect(try await socket.message() == "closed with \(code)", "\(name)")
        }
      }
      // Fragments that are too large together.
      try await RawSocket.connect(server) { socket in
        let part = Array(repeating: UInt8(ascii: " "), count: 600)
        try await socket.send(opcode: 1, part, isFinal: false)
        try await socket.send(opcode: 0, part)
        #expect(try await socket.message() == "closed with 1009")
      }
    }
  }

  @Test func `a message in fragments is one message`() async throws {
    try await RawSocket.withServer { socket in
      try await socket.send(opcode: 1, Array(#"{"type":"connec"#.utf8), isFinal: false)
      try await socket.send(opcode: 9, [1, 2])
      try await socket.send(opcode: 0, Array(#"tion_init"}"#.utf8))
      #expect(try await socket.next() == RawSocket.Frame(opcode: 10, payload: [1, 2]))
      #expect(try await socket.message() == #"{"type":"connection_ack"}"#)
    }
  }

  @Test(arguments: [nil, "nope", "graphql-ws2,graphql"])
  func `a connection without a known subprotocol is closed with 4406`(_ protocols: String?)
    async throws
  {
    try await RawSocket.withServer(protocols: protocols) { socket in
      #expect(socket.status == 101)
      #expect(!socket.head.contains("Sec-WebSocket-Protocol"))
      let last = try await socket.message()
      #expect(last == "closed with 4406")
    }
  }

  @Test func `a client that does not initialize is closed with 4408`() async throws {
    var configuration = DemoServer.Configuration()
    configuration.heartbeat = .seconds(1)
    configuration.initializationTimeout = .seconds(2)
    configuration.sleep = { duration in
      if duration == .seconds(1) { try await waitForCancellation() }
    }
    try await RawSocket.withServer(configuration) { socket in
      let last = try await socket.message()
      #expect(last == "closed with 4408")
    }
  }

  @Test func `the number of operations is limited`() async throws {
    var configuration = DemoServer.Configuration.patient
    configuration.maxOperations = 2
    try await RawSocket.withServer(configuration) { socket in
      _ = try await socket.initialize()
      for id in ["1", "2", "3"] {
        try await socket.subscribe("subscription { likesChanged(post: \"P_1\") { id } }", id: id)
      }
      var refusals: [String] = []
      for _ in 0..<3 {
        let message = try #require(try await socket.message())
        if message.contains(#""type":"error""#) { refusals.append(message) }
      }
      #expect(refusals.count == 1 && refusals[0].hasPrefix(#"{"id":"3""#))
    }
  }

  @Test func `other requests are answered as before`() async throws {
    try await DemoServer.withServer(.patient) { server in
      // A handshake for another path or version is an HTTP request.
      try await RawSocket.connect(server, path: "/other") { socket in
        #expect(socket.status == 404)
      }
      try await RawSocket.connect(server, headers: ["Sec-WebSocket-Version": "8"]) { socket in
        #expect(socket.status == 422)
      }
      let reply = try await RawClient(server).post("{ __typename }")
      #expect(reply.status == 200)
    }
  }
}
