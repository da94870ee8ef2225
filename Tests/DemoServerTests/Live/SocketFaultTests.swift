import GQLRunDemoServer
import GQLRunJSON
import Testing

/// Connections that break because the handshake asked for it.
@Suite(.timeLimit(.minutes(10))) struct SocketFaultTests {
  private static let countdown = "subscription { countdown(from: 5, delay: 0) }"

  /// The messages of a countdown, until the connection ends.
  private func messages(_ path: String, init payload: String = "{}") async throws -> [String] {
    try await RawSocket.withServer(path: path) { socket in
      guard let first = try await socket.initialize(payload) else { return [] }
      guard first.contains("ack") else { return [first] }
      try await socket.subscribe(Self.countdown)
      var messages: [String] = []
      while let message = try await socket.message() { messages.append(message) }
      return messages
    }
  }

  @Test func `close-after with a code closes after that many events`() async throws {
    let messages = try await messages("/graphql?close-after=2&close-code=4500")
    #expect(messages.count == 3 && messages.last == "closed with 4500")
  }

  @Test func `close-after without a code sends no close frame`() async throws {
    let messages = try await messages("/graphql?close-after=3")
    #expect(messages.count == 3 && messages.last?.contains(#""countdown":3"#) == true)
  }

  @Test func `close-code alone closes after the acknowledgement`() async throws {
    #expect(try await messages("/graphql?close-code=1012") == ["closed with 1012"])
  }

  @Test func `auth accepts the token of the handshake or of the payload`() async throws {
    let path = "/graphql?auth=s3cret&close-code=4001"
    #expect(try await messages(path) == ["closed with 4403"])
    #expect(
      try await messages(path, init: #"{"Authorization":"Bearer no"}"#) == ["closed with 4403"])
    #expect(
      try await messages(path, init: #"{"Authorization":"Bearer s3cret"}"#) == ["closed with 4001"])
  }

  @Test func `stall-after leaves the connection open without an answer`() async throws {
    try await DemoServer.withServer(.patient) { server in
      try await RawSocket.connect(server, path: "/graphql?stall-after=1") { socket in
        _ = try await socket.initialize()
        try await socket.subscribe(Self.countdown)
        #expect(try await socket.message()?.contains(#""countdown":5"#) == true)
        try await socket.send(#"{"type":"ping"}"#)
        // The answer of another connection comes; here nothing does, not even the end.
        let other = try await RawClient(server).post("{ __typename }")
        #expect(other.status == 200)
        try await socket.send(opcode: 8, [3, 232])
        #expect(try await socket.message() == nil)
      }
    }
  }

  @Test func `no-ack and no-pong`() async throws {
    try await RawSocket.withServer(path: "/graphql?no-ack&no-pong") { socket in
      try await socket.send(#"{"type":"connection_init"}"#)
      try await socket.send(#"{"type":"ping"}"#)
      try await socket.send(opcode: 9, [])
      // A second initialization is the first message that is answered.
      try await socket.send(#"{"type":"connection_init"}"#)
      #expect(try await socket.message() == "closed with 4429")
    }
  }

  @Test func `subprotocol restricts what the server speaks`() async throws {
    try await DemoServer.withServer(.patient) { server in
      let both = "graphql-transport-ws, graphql-ws"
      try await RawSocket.connect(server, path: "/graphql?subprotocol=graphql-ws", protocols: both)
      {
        #expect($0.head.contains("Sec-WebSocket-Protocol: graphql-ws"))
      }
      try await RawSocket.connect(server, path: "/graphql?subprotocol=none", protocols: both) {
        let last = try await $0.message()
        #expect(last == "closed with 4406")
      }
      try await RawSocket.connect(server, path: "/graphql?subprotocol=nope", protocols: both) {
        #expect($0.status == 400)
      }
    }
  }

  @Test func `a failure that is limited by times refuses that many handshakes`() async throws {
    try await DemoServer.withServer(.patient) { server in
      for status in [503, 503, 101, 101] {
        try await RawSocket.connect(server, path: "/graphql?status=503&times=2") {
          #expect($0.status == status)
        }
      }
    }
  }

  @Test func `a connection that is cut counts for times`() async throws {
    try await DemoServer.withServer(.patient) { server in
      for expected in ["closed with 1012", #"{"id":"1","type":"next"#] {
        try await RawSocket.connect(server, path: "/graphql?close-code=1012&times=1") { socket in
          _ = try await socket.initialize()
          try await socket.subscribe(Self.countdown)
          #expect(try await socket.message()?.hasPrefix(expected) == true)
        }
      }
    }
  }

  @Test func `a client that leaves in mid message is forgotten`() async throws {
    try await DemoServer.withServer(.patient) { server in
      for _ in 0..<20 {
        try await RawSocket.connect(server) { socket in
          _ = try await socket.initialize()
          try await socket.subscribe("subscription { countdown(from: 1000000, delay: 0) }")
          try await socket.send(bytes: [0x81, 0xFE, 1])
        }
      }
      let reply = try await RawClient(server).post("{ __typename }")
      #expect(reply.status == 200)
    }
  }
}
