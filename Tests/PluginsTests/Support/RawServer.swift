import GQLRunSupport
import NIOCore
import NIOPosix
import NIOSSL

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A server that answers with exactly the given bytes, right or wrong.
///
/// Each connection runs a script; after the last step the server closes it. The last script serves
/// all further connections.
struct RawServer: Sendable {
  enum Step: Sendable {
    /// Waits for one whole request.
    case request
    /// Waits until so many bytes have come, and takes all that are there.
    case bytes(Int)
    /// Waits for the last frame of a request over HTTP/2 on the stream of this number.
    case stream(UInt8)
    case send([UInt8])
    /// Waits for a WebSocket handshake and accepts it with a subprotocol.
    case handshake(String?)
    /// Waits for a frame of a client: the text of a message, or `close CODE REASON`, `ping`, `pong`.
    case frame
    /// Waits for a frame that closes the connection, whatever comes before.
    case closing
    /// Sends the bytes as fast as the client takes them, until it goes away. No thread of the tests is
    /// needed, however busy they are.
    case flood([UInt8])
    /// Sends the bytes until the client goes away, doing the work after each time.
    case sendForever([UInt8], then: @Sendable () async -> Void)
    case run(@Sendable () async -> Void)
    /// Runs other steps, which are known only now.
    case steps(@Sendable () async -> [Step])
    /// Runs other steps for each request, until the client closes the connection.
    case each(@Sendable (_ request: String) async -> [Step])
    /// Waits until the client closes the connection, and reads all that it sends until then.
    case untilClosed
    /// Closes the connection, although other steps would follow.
    case end
    /// Cuts the connection without a goodbye.
    case reset
    /// Closes an encrypted connection without the end of TLS, as a server that crashes, after a text that is not
    /// encrypted.
    case cut(after: String = "")

    static func send(_ text: String) -> Step { .send(Array(text.utf8)) }
  }

  let port: Int
  let log: Log

  var url: String { "http://127.0.0.1:\(port)/graphql" }
  var socketURL: String { "ws://127.0.0.1:\(port)/" }

  /// Ends the scripts, and returns how many connections clients have made, with those that they gave up before the
  /// server took them. The system hands connections over in their order: one of our own is the last.
  func connections() async throws -> Int {
    await log.end()
    let own = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .connect(host: "127.0.0.1", port: port).get()
    try await own.closeFuture.get()
    return await log.connections - 1
  }

  /// What the server saw.
  actor Log {
    /// Counted where they are taken, on their event loop: a client whose handshake fails is done with its
    /// connection before any task here has seen it.
    private let accepted = Locked(0)
    private var begun = 0
    private var isOver = false
    /// The requests as text, head and body.
    private(set) var requests: [String] = []
    /// The frames of clients, for the steps that wait for them.
    private(set) var frames: [String] = []
    private var frameWaiters: [CheckedContinuation<Void, Never>] = []
    private(set) var closures = 0
    /// What came for the steps that wait for bytes.
    private var pieces: [[UInt8]] = []
    private var pieceWaiters: [CheckedContinuation<Void, Never>] = []
    private var waiting: [CheckedContinuation<Void, Never>] = []

    var connections: Int { accepted.withLock { $0 } }

    nonisolated func accept() { accepted.withLock { $0 += 1 } }

    /// The number of the next connection whose script begins; `nil` after the end of the scripts.
    func next() -> Int? {
      if isOver { return nil }
      begun += 1
      return begun - 1
    }

    fileprivate func end() { isOver = true }

    private var requestWaiters: [CheckedContinuation<Void, Never>] = []

    func add(request: String) {
      requests.append(request)
      for continuation in requestWaiters { continuation.resume() }
      requestWaiters = []
    }

    /// Waits for a request that contains the text.
    func request(containing text: String) async -> String {
      while true {
        if let request = requests.first(where: { $0.contains(text) }) { return request }
        await withCheckedContinuation { requestWaiters.append($0) }
      }
    }

    func add(frame: String) {
      frames.append(frame)
      for continuation in frameWaiters { continuation.resume() }
      frameWaiters = []
    }

    /// Waits for a frame that contains the text.
    func frame(containing text: String) async -> String {
      while true {
        if let frame = frames.first(where: { $0.contains(text) }) { return frame }
        await withCheckedContinuation { frameWaiters.append($0) }
      }
    }

    func add(bytes: [UInt8]) {
      pieces.append(bytes)
      for continuation in pieceWaiters { continuation.resume() }
      pieceWaiters = []
    }

    /// What came for the step of this number that waits for bytes; waits until it has.
    func bytes(_ number: Int = 0) async -> [UInt8] {
      while pieces.count <= number { await withCheckedContinuation { pieceWaiters.append($0) } }
      return pieces[number]
    }

    func noteClosure() {
      closures += 1
      for continuation in waiting { continuation.resume() }
      waiting = []
    }

    /// Waits until a client has closed a connection on which the server waited for that.
    func closure() async {
      guard closures == 0 else { return }
      await withCheckedContinuation { waiting.append($0) }
    }
  }

  static func withServer<Result: Sendable>(
    _ scripts: [Step]..., tls: TLSConfiguration? = nil, socket: String? = nil,
    body: @Sendable @escaping (RawServer) async throws -> Result
  ) async throws -> Result {
    try await withServer(scripts, tls: tls, socket: socket, body: body)
  }

  /// - Parameters:
  ///   - tls: How connections are encrypted; `nil` leaves them plain.
  ///   - socket: The path of a Unix domain socket; `nil` takes a free port.
  static func withServer<Result: Sendable>(
    _ scripts: [[Step]], tls: TLSConfiguration?, socket: String? = nil,
    body: @Sendable @escaping (RawServer) async throws -> Result
  ) async throws -> Result {
    let security = try tls.map { try NIOSSLContext(configuration: $0) }
    let log = Log()
    let address = try socket.map { try SocketAddress(unixDomainSocketPath: $0) }
    let channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .bind(to: try address ?? SocketAddress(ipAddress: "127.0.0.1", port: 0)) { channel in
        log.accept()
        return channel.eventLoop.makeCompletedFuture {
          if let security {
            try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: security))
          }
          let client = try NIOAsyncChannel<ByteBuffer, ByteBuffer>(
            wrappingChannelSynchronously: channel)
          // One that comes when the server ends is let go by everybody else, which ends the program unless
          // it was closed before.
          channel.closeFuture.whenComplete { _ in withExtendedLifetime(client) {} }
          return client
        }
      }
    let server = RawServer(port: channel.channel.localAddress?.port ?? 0, log: log)
    let result = try await channel.executeThenClose { clients in
      try await withThrowingTaskGroup(of: Result?.self) { group in
        group.addTask {
          try await withThrowingDiscardingTaskGroup { connections in
            for try await client in clients {
              let number = await log.next()
              let script = number.map { scripts[min($0, scripts.count - 1)] } ?? [.end]
              connections.addTask { await Connection(client, log).run(script) }
            }
          }
          return nil
        }
        group.addTask { try await body(server) }
        defer { group.cancelAll() }
        while let result = try await group.next() {
          if let result { return result }
        }
        throw CancellationError()
      }
    }
    // No connection is accepted after this returns.
    try await channel.channel.closeFuture.get()
    return result
  }
}

/// One connection and its script.
private struct Connection {
  let client: NIOAsyncChannel<ByteBuffer, ByteBuffer>
  let log: RawServer.Log

  init(_ client: NIOAsyncChannel<ByteBuffer, ByteBuffer>, _ log: RawServer.Log) {
    self.client = client
    self.log = log
  }

  func run(_ script: [RawServer.Step]) async {
    // A connection that breaks is what these tests are about.
    try? await client.executeThenClose { inbound, outbound in
      var reader = Reader(iterator: inbound.makeAsyncIterator())
      do {
        guard try await perform(script, &reader, outbound) else { return await log.noteClosure() }
      } catch {
        await log.noteClosure()
      }
    }
  }

  /// Returns `false` if the client closed the connection instead of what a step waits for.
  private func perform(
    _ steps: [RawServer.Step], _ reader: inout Reader,
    _ outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
  ) async throws -> Bool {
    for step in steps {
      switch step {
      case .request:
        guard let request = try await reader.request() else { return false }
        await log.add(request: request)
      case .handshake(let name):
        guard let request = try await reader.request() else { return false }
        await log.add(request: request)
        let answer = SocketFrame.accept(request, subprotocol: name)
        try await outbound.write(ByteBuffer(bytes: answer))
      case .frame:
        guard let frame = try await reader.frame() else { return false }
        await log.add(frame: frame)
      case .closing:
        while true {
          guard let frame = try await reader.frame() else { return false }
          await log.add(frame: frame)
          if frame.hasPrefix("close") { break }
        }
      case .bytes(let count):
        while reader.bytes.count < count {
          guard try await reader.more() else { return false }
        }
        await log.add(bytes: reader.bytes)
        reader.bytes = []
      case .stream(let number):
        guard try await reader.lastFrame(of: number) else { return false }
      case .send(let bytes): try await outbound.write(ByteBuffer(bytes: bytes))
      case .flood(let bytes):
        let end = client.channel.eventLoop.makePromise(of: Void.self)
        Self.flood(client.channel, ByteBuffer(bytes: bytes), end)
        try await end.futureResult.get()
      case .sendForever(let bytes, let work):
        while !Task.isCancelled {
          // The writer of an async channel takes bytes without a pause, and others starve.
          try await client.channel.writeAndFlush(ByteBuffer(bytes: bytes))
          await work()
        }
      case .run(let work): await work()
      case .steps(let steps):
        guard try await perform(await steps(), &reader, outbound) else { return false }
      case .each(let steps):
        while let request = try await reader.request() {
          await log.add(request: request)
          guard try await perform(await steps(request), &reader, outbound) else { return false }
        }
        return false
      case .untilClosed:
        while try await reader.more() {}
        await log.noteClosure()
      case .end: try await client.channel.close()
      case .cut(let text):
        let channel = client.channel
        try await channel.eventLoop.submit {
          // Without the handler of TLS, which would encrypt, and announce the end.
          let context = try channel.pipeline.syncOperations.context(
            handlerType: NIOSSLServerHandler.self)
          context.writeAndFlush(NIOAny(ByteBuffer(string: text)), promise: nil)
          context.close(promise: nil)
        }.get()
      case .reset:
        let socket = client.channel as? any SocketOptionProvider
        try await socket?.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
        try await client.channel.close()
      }
    }
    return true
  }

  private static func flood(
    _ channel: any Channel, _ bytes: ByteBuffer, _ end: EventLoopPromise<Void>
  ) {
    channel.writeAndFlush(bytes).whenComplete { result in
      switch result {
      case .success: channel.eventLoop.execute { flood(channel, bytes, end) }
      case .failure(let error): end.fail(error)
      }
    }
  }

  private struct Reader {
    var iterator: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
    var bytes: [UInt8] = []

    mutating func more() async throws -> Bool {
      guard let buffer = try await iterator.next() else { return false }
      bytes += buffer.readableBytesView
      return true
    }

    /// Takes all frames up to the one that ends a stream.
    ///
    /// https://www.rfc-editor.org/rfc/rfc9113#section-4.1
    mutating func lastFrame(of stream: UInt8) async throws -> Bool {
      while true {
        while bytes.count < 9 { guard try await more() else { return false } }
        let length = Int(bytes[0]) << 16 | Int(bytes[1]) << 8 | Int(bytes[2])
        while bytes.count < 9 + length { guard try await more() else { return false } }
        let (type, flags, number) = (bytes[3], bytes[4], bytes[8])
        bytes.removeFirst(9 + length)
        // DATA or HEADERS with END_STREAM.
        if type < 2, flags & 1 == 1, number == stream { return true }
      }
    }

    /// Takes a frame of a WebSocket client; those are masked.
    mutating func frame() async throws -> String? {
      while bytes.count < 2 { guard try await more() else { return nil } }
      let (opcode, short) = (bytes[0] & 15, Int(bytes[1] & 127))
      let extra = short == 126 ? 2 : short == 127 ? 8 : 0
      while bytes.count < 6 + extra { guard try await more() else { return nil } }
      let length =
        extra == 0 ? short : bytes[2..<2 + extra].reduce(0) { $0 << 8 | Int($1) }
      guard bytes[1] & 128 != 0 else { return "a frame that is not masked" }
      let mask = Array(bytes[2 + extra..<6 + extra])
      while bytes.count < 6 + extra + length { guard try await more() else { return nil } }
      let masked = bytes[(6 + extra)..<(6 + extra + length)]
      let payload = masked.enumerated().map { $1 ^ mask[$0 % 4] }
      bytes.removeFirst(6 + extra + length)
      let text = String(decoding: payload, as: UTF8.self)
      switch opcode {
      case 8:
        guard payload.count >= 2 else { return "close" }
        let reason = String(decoding: payload.dropFirst(2), as: UTF8.self)
        return "close \(Int(payload[0]) << 8 | Int(payload[1])) \(reason)"
      case 9: return "ping"
      case 10: return "pong \(text)"
      default: return text
      }
    }

    mutating func request() async throws -> String? {
      while true {
        let text = String(decoding: bytes, as: UTF8.self)
        if let end = text.range(of: "\r\n\r\n") {
          let length =
            text[..<end.lowerBound].split(separator: "\r\n").lazy
            .filter { $0.lowercased().hasPrefix("content-length:") }
            .compactMap { Int($0.drop { $0 != ":" }.dropFirst().drop { $0 == " " }) }.first ?? 0
          let whole = text[..<end.upperBound].utf8.count + length
          if bytes.count >= whole {
            defer { bytes.removeFirst(whole) }
            return String(decoding: bytes.prefix(whole), as: UTF8.self)
          }
        }
        guard try await more() else { return nil }
      }
    }
  }
}

extension String {
  fileprivate func range(of needle: String) -> Range<String.Index>? {
    // Characters would join `\r\n`, so the search is over Unicode scalars.
    let (text, needle) = (unicodeScalars, Array(needle.unicodeScalars))
    var index = text.startIndex
    while index < text.endIndex {
      if text[index...].starts(with: needle) {
        return index..<text.index(index, offsetBy: needle.count)
      }
      index = text.index(after: index)
    }
    return nil
  }
}
