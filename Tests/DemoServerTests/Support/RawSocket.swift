import GQLRunDemoServer
import GQLRunJSON
import NIOCore

/// Speaks WebSocket over a bare connection, so that frames can be wrong.
struct RawSocket {
  struct Frame: Equatable {
    var opcode: UInt8
    var payload: [UInt8]

    var text: String { String(decoding: payload, as: UTF8.self) }

    /// The code of a close frame.
    var closeCode: Int? {
      opcode == 8 && payload.count >= 2 ? Int(payload[0]) << 8 | Int(payload[1]) : nil
    }
  }

  /// The head of the response to the handshake.
  let head: String
  private var inbound: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
  private let outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
  private var pending: [UInt8]

  /// Opens a connection for the duration of `body`.
  static func connect<Result>(
    _ server: LiveDemoServer, path: String = "/graphql",
    protocols: String? = "graphql-transport-ws",
    headers: [String: String] = [:], _ body: (inout RawSocket) async throws -> Result
  ) async throws -> Result {
    try await RawClient(server).connect { inbound, outbound in
      var socket = try await RawSocket(
        inbound, outbound, path: path, protocols: protocols, headers: headers)
      return try await body(&socket)
    }
  }

  /// Opens a connection to a server of its own for the duration of `body`.
  static func withServer<Result>(
    _ configuration: DemoServer.Configuration = .patient,
    path: String = "/graphql", protocols: String? = "graphql-transport-ws",
    _ body: (inout RawSocket) async throws -> Result
  ) async throws -> Result {
    try await DemoServer.withServer(configuration) { server in
      try await connect(server, path: path, protocols: protocols, body)
    }
  }

  private init(
    _ inbound: NIOAsyncChannelInboundStream<ByteBuffer>,
    _ outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>, path: String, protocols: String?,
    headers: [String: String]
  ) async throws {
    var lines = [
      "GET \(path) HTTP/1.1", "Host: localhost", "Connection: Upgrade", "Upgrade: websocket",
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13",
    ]
    if let protocols { lines.append("Sec-WebSocket-Protocol: \(protocols)") }
    lines += headers.map { "\($0.key): \($0.value)" }
    let request = lines.joined(separator: "\r\n") + "\r\n\r\n"
    try await outbound.write(ByteBuffer(string: request))
    var inbound = inbound.makeAsyncIterator()
    var pending: [UInt8] = []
    let end = Array("\r\n\r\n".utf8)
    while pending.firstRange(of: end) == nil, let buffer = try await inbound.next() {
      pending += buffer.readableBytesView
    }
    let range = pending.firstRange(of: end) ?? pending.endIndex..<pending.endIndex
    head = String(decoding: pending[..<range.lowerBound], as: UTF8.self)
    self.pending = Array(pending[range.upperBound...])
    self.inbound = inbound
    self.outbound = outbound
  }

  var status: Int? { head.split(separator: " ").dropFirst().first.flatMap { Int($0) } }

  /// The next frame; `nil` at the end of the connection.
  mutating func next() async throws -> Frame? {
    while true {
      if let frame = takeFrame() { return frame }
      do {
        guard let buffer = try await inbound.next() else { return nil }
        pending += buffer.readableBytesView
      } catch is IOError {
        return nil
      }
    }
  }

  /// The text of the next message, without pings.
  mutating func message() async throws -> String? {
    while let frame = try await next() {
      switch frame.opcode {
      case 1: return frame.text
      case 9: continue
      default: return "closed with \(frame.closeCode ?? 0)"
      }
    }
    return nil
  }

  /// Sends a text message.
  func send(_ text: String) async throws { try await send(opcode: 1, Array(text.utf8)) }

  /// Sends a frame.
  func send(opcode: UInt8, _ payload: [UInt8], isFinal: Bool = true) async throws {
    var bytes = [opcode | (isFinal ? 0x80 : 0)]
    switch payload.count {
    case ..<126: bytes.append(0x80 | UInt8(payload.count))
    case ..<65_536: bytes += [0xFE, UInt8(payload.count >> 8), UInt8(payload.count & 255)]
    default: bytes += [0xFF] + (0..<8).map { UInt8(payload.count >> (56 - 8 * $0) & 255) }
    }
    let mask: [UInt8] = [1, 2, 3, 4]
    bytes += mask + payload.enumerated().map { $1 ^ mask[$0 & 3] }
    try await send(bytes: bytes)
  }

  func send(bytes: [UInt8]) async throws {
    // The server may have closed the connection already; what it said is read all the same.
    do { try await outbound.write(ByteBuffer(bytes: bytes)) } catch  where RawClient.isEnd(error) {}
  }

  /// Initializes the connection; the server's answer is read.
  mutating func initialize(_ payload: String = "{}") async throws -> String? {
    try await send(#"{"type":"connection_init","payload":\#(payload)}"#)
    return try await message()
  }

  /// Starts an operation.
  func subscribe(_ query: String, id: String = "1", type: String = "subscribe") async throws {
    try await send(
      #"{"payload":{"query":\#(JSONValue.string(query))},"id":"\#(id)","type":"\#(type)"}"#)
  }

  private mutating func takeFrame() -> Frame? {
    guard pending.count >= 2 else { return nil }
    var start = 2
    var length = Int(pending[1] & 0x7F)
    let extra = length == 126 ? 2 : length == 127 ? 8 : 0
    guard pending.count >= start + extra else { return nil }
    if extra > 0 { length = pending[start..<start + extra].reduce(0) { $0 << 8 | Int($1) } }
    start += extra
    guard pending.count >= start + length else { return nil }
    defer { pending.removeFirst(start + length) }
    return Frame(opcode: pending[0] & 15, payload: Array(pending[start..<start + length]))
  }
}
