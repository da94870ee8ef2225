import GQLRunDemoServer
import GQLRunJSON
import NIOCore
import NIOPosix

/// Speaks HTTP over a bare connection, so that everything a server does wrong can be seen.
struct RawClient: Sendable {
  /// The header field of requests with JSON.
  static let json = ["Content-Type": "application/json"]

  let port: Int

  init(_ server: LiveDemoServer) {
    port = server.port
  }

  /// Uses a client of a server of its own.
  static func withServer<Result>(
    _ configuration: DemoServer.Configuration = DemoServer.Configuration(),
    _ body: (RawClient, LiveDemoServer) async throws -> Result
  ) async throws -> Result {
    try await DemoServer.withServer(configuration) { try await body(RawClient($0), $0) }
  }

  /// Sends a request to a server of its own.
  static func reply(
    _ method: String, _ path: String = "/graphql", headers: [String: String] = [:],
    body: String = "", configuration: DemoServer.Configuration = DemoServer.Configuration()
  ) async throws -> HTTPReply {
    try await withServer(configuration) { client, _ in
      try await client.send(method, path, headers: headers, body: body)
    }
  }

  /// Posts an operation to a server of its own.
  static func reply(
    to query: String, path: String = "/graphql", headers: [String: String] = [:],
    configuration: DemoServer.Configuration = DemoServer.Configuration()
  ) async throws -> HTTPReply {
    try await withServer(configuration) { client, _ in
      try await client.post(query, path: path, headers: headers)
    }
  }

  /// Sends bytes, and reads until the server closes the connection.
  func exchange(_ bytes: [UInt8]) async throws -> HTTPReply {
    var reply = HTTPReply()
    try await connect { inbound, outbound in
      // A connection that was reset ends like one that was closed. A server that does not want to read on may
      // close it before everything is written; what it said is read all the same.
      do { try await outbound.write(ByteBuffer(bytes: bytes)) } catch  where Self.isEnd(error) {}
      do {
        for try await buffer in inbound { reply.feed(buffer.readableBytesView) }
      } catch  where Self.isEnd(error) {}
    }
    return reply
  }

  static func isEnd(_ error: any Error) -> Bool {
    error is IOError || error is ChannelError || error is NIOAsyncWriterError
  }

  /// Sends a request that asks for the connection to be closed.
  func send(
    _ method: String, _ path: String, headers: [String: String] = [:], body: String = ""
  ) async throws -> HTTPReply {
    try await exchange(Self.request(method, path, headers: headers, body: body))
  }

  /// Posts an operation.
  func post(
    _ query: String, variables: JSONValue? = nil, path: String = "/graphql",
    headers: [String: String] = [:]
  ) async throws -> HTTPReply {
    var members: JSONObject = ["query": .string(query)]
    members["variables"] = variables
    return try await send(
      "POST", path, headers: Self.json.merging(headers) { $1 },
      body: JSONValue.object(members).jsonText())
  }

  /// Lets a piece of work use a connection.
  func connect<Result>(
    _ body: (
      NIOAsyncChannelInboundStream<ByteBuffer>, NIOAsyncChannelOutboundWriter<ByteBuffer>
    ) async throws -> Result
  ) async throws -> Result {
    let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .connect(host: "127.0.0.1", port: port) { channel in
        channel.eventLoop.makeCompletedFuture {
          try NIOAsyncChannel(
            wrappingChannelSynchronously: channel,
            configuration: .init(inboundType: ByteBuffer.self, outboundType: ByteBuffer.self))
        }
      }
    return try await channel.executeThenClose(body)
  }

  static func request(
    _ method: String, _ path: String, headers: [String: String] = [:], body: String = ""
  ) -> [UInt8] {
    var lines = ["\(method) \(path) HTTP/1.1", "Host: localhost", "Connection: close"]
    lines += headers.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
    if !body.isEmpty { lines.append("Content-Length: \(body.utf8.count)") }
    return Array((lines.joined(separator: "\r\n") + "\r\n\r\n" + body).utf8)
  }
}
