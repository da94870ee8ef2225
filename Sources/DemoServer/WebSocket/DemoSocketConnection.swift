import GQLRunJSON
import GQLRunLanguage
import GQLRunSupport
import HTTPTypes
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1
import NIOWebSocket

/// A channel type for HTTP/1.1 whose connections may become WebSocket connections.
struct DemoSocketChannel: ServerChildChannel {
  typealias Socket = NIOAsyncChannel<WebSocketFrame, WebSocketFrame>

  /// What the first request of a connection makes of it.
  enum Connection: Sendable {
    case http(NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>)
    case socket(Socket, DemoSocketHandshake)
  }

  struct Value: ServerChildChannelValue {
    let channel: any Channel
    let connection: EventLoopFuture<Connection>
  }

  let http: HTTP1Channel
  let executor: DemoExecutor
  let state: ServerState
  let configuration: DemoServer.Configuration

  func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
    channel.eventLoop.makeCompletedFuture {
      let connection = channel.eventLoop.makePromise(of: Connection.self)
      // A promise that is kept already ignores it.
      channel.closeFuture.whenComplete { _ in connection.fail(ChannelError.eof) }
      let encoder = HTTPResponseEncoder()
      let decoder = ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .forwardBytes))
      let first = FirstRequestHandler { channel in
        connection.succeed(try Self.http(channel, logger))
      }
      // The handler for typed upgrades loses the head of a request that is not upgraded.
      let upgrade = HTTPServerUpgradeHandler(
        upgraders: [upgrader(connection)], httpEncoder: encoder,
        extraHTTPHandlers: [decoder, first], upgradeCompletionHandler: { _ in })
      try channel.pipeline.syncOperations.addHandlers(encoder, decoder, upgrade, first)
      return Value(channel: channel, connection: connection.futureResult)
    }
  }

  func handle(value: Value, logger: Logger) async {
    await withTaskCancellationHandler {
      // It fails if the connection closes before its first request.
      guard let connection = try? await value.connection.get() else { return }
      switch connection {
      case .http(let channel): await http.handleHTTP(asyncChannel: channel, logger: logger)
      case .socket(let socket, let handshake): await serve(socket, handshake)
      }
    } onCancel: {
      value.channel.close(mode: .input, promise: nil)
    }
  }

  private func serve(_ socket: Socket, _ handshake: DemoSocketHandshake) async {
    // A connection that fails has ended like one that was closed.
    try? await socket.executeThenClose { inbound, outbound in
      let connection = DemoSocketConnection(
        handshake, outbound: outbound, channel: socket.channel, executor: executor, state: state,
        configuration: configuration)
      await connection.run(inbound)
    }
  }

  private static func http(_ channel: any Channel, _ logger: Logger) throws -> Connection {
    try channel.pipeline.syncOperations.addHandler(HTTP1ToHTTPServerCodec(secure: false))
    try channel.pipeline.syncOperations.addHandler(HTTPConnectionStateHandler(logger: logger))
    return .http(
      try NIOAsyncChannel(
        wrappingChannelSynchronously: channel,
        configuration: .init(isOutboundHalfClosureEnabled: true)))
  }

  private func upgrader(_ connection: EventLoopPromise<Connection>) -> NIOWebSocketServerUpgrader {
    let state = state
    let limit = configuration.maxBodyBytes
    return NIOWebSocketServerUpgrader(
      maxFrameSize: limit,
      shouldUpgrade: { channel, head in
        let handshake = DemoSocketHandshake(head, state, isCounted: false)
        return channel.eventLoop.makeSucceededFuture(handshake?.responseHeaders)
      },
      upgradePipelineHandler: { channel, head in
        channel.eventLoop.makeCompletedFuture {
          guard let handshake = DemoSocketHandshake(head, state, isCounted: true) else {
            throw ChannelError.inappropriateOperationForState
          }
          try channel.pipeline.syncOperations.addHandler(
            NIOWebSocketFrameAggregator(
              minNonFinalFragmentSize: 0, maxAccumulatedFrameCount: 1024,
              maxAccumulatedFrameSize: limit))
          let socket = try Socket(
            wrappingChannelSynchronously: channel,
            configuration: .init(isOutboundHalfClosureEnabled: true))
          connection.succeed(.socket(socket, handshake))
        }
      })
  }
}

/// Adds the handlers for HTTP when the first request arrives that is not upgraded.
private final class FirstRequestHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias InboundOut = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  private let configure: (any Channel) throws -> Void
  private var isConfigured = false

  init(configure: @escaping (any Channel) throws -> Void) {
    self.configure = configure
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if !isConfigured {
      isConfigured = true
      do {
        try configure(context.channel)
      } catch {
        return context.close(promise: nil)
      }
    }
    context.fireChannelRead(data)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    guard !isConfigured, error is HTTPParserError else { return context.fireErrorCaught(error) }
    var head = HTTPResponseHead(version: .http1_1, status: .badRequest)
    head.headers = ["Connection": "close", "Content-Length": "0"]
    context.write(Self.wrapOutboundOut(.head(head)), promise: nil)
    context.writeAndFlush(Self.wrapOutboundOut(.end(nil)), promise: nil)
    context.close(promise: nil)
  }

  /// The peer has closed its half without a request.
  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if !isConfigured, event as? ChannelEvent == .inputClosed { return context.close(promise: nil) }
    if !isConfigured, event is ChannelShouldQuiesceEvent { return context.close(promise: nil) }
    context.fireUserInboundEventTriggered(event)
  }
}

/// What the handshake of a WebSocket connection decides.
struct DemoSocketHandshake: Sendable {
  let path: String
  let headers: HTTPFields
  let misbehaviour: Misbehaviour
  /// The first offered protocol that the server speaks; `nil` if there is none.
  let subprotocol: DemoSocketSession.Subprotocol?

  /// Reads a handshake; `nil` if it is one for ``DemoResponder``, which answers it like any request.
  ///
  /// - Parameter isCounted: Whether the connection counts for ``Misbehaviour/times``.
  init?(_ head: HTTPRequestHead, _ state: ServerState, isCounted: Bool) {
    let parts = head.uri.split(separator: "?", maxSplits: 1)
    guard head.method == .GET, parts.first == "/graphql" else { return nil }
    path = head.uri
    headers = HTTPFields(head.headers, splitCookie: false)
    let parameters = QueryParameters(parts.count > 1 ? String(parts[1]) : nil)
    let wanted = try? state.misbehaviour(
      parameters: parameters, headers: headers, isCounted: isCounted)
    guard let misbehaviour = wanted, !misbehaviour.failsHandshakes else { return nil }
    self.misbehaviour = misbehaviour
    subprotocol = head.headers[canonicalForm: "sec-websocket-protocol"]
      .lazy.compactMap { DemoSocketSession.Subprotocol(rawValue: String($0)) }
      .first { misbehaviour.subprotocol == nil || misbehaviour.subprotocol == $0.rawValue }
  }

  /// The header fields of the response beside those that every handshake has.
  var responseHeaders: HTTPHeaders {
    var headers = HTTPHeaders()
    if let subprotocol { headers.add(name: "Sec-WebSocket-Protocol", value: subprotocol.rawValue) }
    return headers
  }
}

extension Misbehaviour {
  /// Whether the response to a handshake is a failure instead of 101.
  fileprivate var failsHandshakes: Bool {
    html || empty || garbage || status != nil || retryAfter != nil
  }
}

/// A WebSocket connection: reads messages, runs operations and writes their responses.
///
/// The ``DemoSocketSession`` knows the protocol; this type has the tasks and the network.
final class DemoSocketConnection: Sendable {
  /// An operation. The serial number tells apart operations that use the same id in succession.
  private struct Operation: Hashable {
    let id: String
    let serial: Int
  }

  private struct State {
    var session: DemoSocketSession
    /// The running operations by their ids.
    var tasks: [String: (operation: Operation, task: Task<Void, Never>)] = [:]
    var serial = 0
    var faults: EventFaults
    /// Whether nothing is to be sent any more.
    var isOver = false
  }

  private let handshake: DemoSocketHandshake
  private let outbound: NIOAsyncChannelOutboundWriter<WebSocketFrame>
  private let channel: any Channel
  private let executor: DemoExecutor
  private let server: ServerState
  private let configuration: DemoServer.Configuration
  private let state: Locked<State>
  /// Held while a frame is created and written.
  private let writing = AsyncMutex()

  private var misbehaviour: Misbehaviour { handshake.misbehaviour }

  init(
    _ handshake: DemoSocketHandshake, outbound: NIOAsyncChannelOutboundWriter<WebSocketFrame>,
    channel: any Channel, executor: DemoExecutor, state: ServerState,
    configuration: DemoServer.Configuration
  ) {
    self.handshake = handshake
    self.outbound = outbound
    self.channel = channel
    self.executor = executor
    self.server = state
    self.configuration = configuration
    let session = DemoSocketSession(
      subprotocol: handshake.subprotocol ?? .transport, maxOperations: configuration.maxOperations,
      answersPings: !handshake.misbehaviour.noPong)
    let faults = EventFaults(misbehaviour: handshake.misbehaviour)
    self.state = Locked(State(session: session, faults: faults))
  }

  /// Serves the connection until it closes.
  func run(_ inbound: NIOAsyncChannelInboundStream<WebSocketFrame>) async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.limitInitialization() }
      group.addTask { await self.keepAlive() }
      if handshake.subprotocol == nil { await close(.subprotocol) }
      do {
        for try await frame in inbound {
          guard await receive(frame) else { break }
        }
      } catch {
        await close(DemoSocketSession.Close(error))
      }
      group.cancelAll()
    }
    let tasks = state.withLock { state in
      state.isOver = true
      return state.tasks.values.map(\.task)
    }
    for task in tasks { task.cancel() }
    for task in tasks { await task.value }
  }

  // MARK: Receiving

  /// Handles a frame; returns whether the connection continues.
  private func receive(_ frame: WebSocketFrame) async -> Bool {
    switch frame.opcode {
    case .connectionClose:
      await close(.normal)
      return false
    case .ping where !misbehaviour.noPong:
      await send { WebSocketFrame(fin: true, opcode: .pong, data: frame.unmaskedData) }
    case .text:
      let bytes = Array(frame.unmaskedData.readableBytesView)
      guard String(validating: bytes, as: UTF8.self) != nil else {
        await close(.invalidText)
        break
      }
      let steps = state.withLock { state in
        state.isOver ? [] : state.session.receive(bytes)
      }
      for step in steps { await carryOut(step, bytes) }
    case .binary: await close(.notText)
    default: break
    }
    return true
  }

  private func carryOut(_ step: DemoSocketSession.Step, _ message: [UInt8]) async {
    switch step {
    case .authenticate(let payload): await authenticate(payload)
    case .send(let message): await send { .text(message) }
    case .start(let id, let request):
      server.log.add(
        RequestLog.Entry(
          method: "WEBSOCKET", path: handshake.path, headers: handshake.headers,
          body: Array(message.prefix(RequestLog.keptBodyBytes))))
      state.withLock { state in
        state.serial += 1
        let operation = Operation(id: id, serial: state.serial)
        state.tasks[id] = (operation, Task { await self.run(request, as: operation) })
      }
    case .stop(let id): state.withLock { $0.tasks.removeValue(forKey: id)?.task }?.cancel()
    case .close(let reason): await close(reason)
    }
  }

  private func authenticate(_ payload: JSONValue) async {
    if let delay = misbehaviour.delay { try? await configuration.sleep(delay) }
    if let token = misbehaviour.auth {
      let given = payload["Authorization"] ?? payload["authorization"]
      let expected = "Bearer \(token)"
      guard given?.stringValue == expected || handshake.headers[.authorization] == expected else {
        for step in state.withLock({ $0.session.refuse() }) { await carryOut(step, []) }
        return
      }
    }
    guard !misbehaviour.noAck else { return }
    for message in state.withLock({ $0.session.accept() }) { await send { .text(message) } }
    if let code = misbehaviour.closeCode, misbehaviour.closeAfter == nil {
      await close(DemoSocketSession.Close(code: code, reason: "The handshake asked for it"))
    } else {
      await meetFault()
    }
  }

  // MARK: Operations

  private func run(_ request: OperationRequest, as running: Operation) async {
    var request = request
    do throws(RequestError) {
      request.query = try server.persistedQueries.document(of: request)
      switch executor.prepare(request, failing: misbehaviour.errors) {
      case .refused(let errors):
        return await finish(running) { $0.error(errors, of: running.id) }
      case .ready(let operation):
        let executions = try executor.executions(of: operation, sleep: configuration.sleep)
        do {
          for try await execution in executions {
            await next(execution, of: running.id)
            if operation.type == .subscription { await meetFault() }
          }
        } catch {
          // Only cancellation ends a source stream early.
          return
        }
      }
    } catch {
      return await finish(running) { $0.error([error], of: running.id) }
    }
    await finish(running) { $0.complete(running.id) }
  }

  /// Sends a response, which is created when the connection is ready for it.
  private func next(_ execution: OperationExecution, of id: String) async {
    await send {
      let session = self.state.withLock { state -> DemoSocketSession? in
        guard state.faults.fault == nil else { return nil }
        state.faults.events += 1
        return state.session
      }
      return session.map { .text($0.next(execution.event(), of: id)) }
    }
  }

  private func finish(
    _ operation: Operation, _ message: (DemoSocketSession) -> [UInt8]
  ) async {
    await send {
      let last = self.state.withLock { state -> [UInt8]? in
        guard state.tasks[operation.id]?.operation == operation else { return nil }
        state.tasks[operation.id] = nil
        state.session.end(operation.id)
        return message(state.session)
      }
      return last.map(WebSocketFrame.text)
    }
  }

  // MARK: Sending

  /// Sends a frame after those of earlier callers, unless the connection is over or the caller's
  /// operation was stopped. One response at a time is in memory, however many operations wait.
  private func send(_ frame: () -> WebSocketFrame?) async {
    guard (try? await writing.acquire()) != nil else { return }
    defer { writing.release() }
    if !Task.isCancelled, !state.withLock({ $0.isOver }), let frame = frame() {
      // A write fails if the connection is closed; then the reader ends, too.
      try? await outbound.write(frame)
    }
  }

  /// Closes the connection, the first time it is called.
  private func close(_ reason: DemoSocketSession.Close) async {
    // A task of its own: the connection is closed even if the caller's operation is stopped.
    await Task {
      guard (try? await writing.acquire()) != nil else { return }
      defer { writing.release() }
      let isFirst = state.withLock { state in
        defer { state.isOver = true }
        return !state.isOver
      }
      guard isFirst else { return }
      try? await outbound.write(.close(reason))
      outbound.finish()
      // A client has a second to answer before the connection is closed without its answer.
      channel.eventLoop.scheduleTask(in: .seconds(1)) { [channel] in channel.close(promise: nil) }
    }.value
  }

  private func meetFault() async {
    switch state.withLock({ $0.isOver ? nil : $0.faults.fault }) {
    case nil: break
    case .stall: state.withLock { $0.isOver = true }
    case .cut:
      guard let code = misbehaviour.closeCode else {
        state.withLock { $0.isOver = true }
        return channel.close(promise: nil)
      }
      await close(DemoSocketSession.Close(code: code, reason: "The handshake asked for it"))
    }
  }

  // MARK: Time

  private func limitInitialization() async {
    do { try await configuration.sleep(configuration.initializationTimeout) } catch { return }
    if !state.withLock({ $0.session.isInitialized }) { await close(.timeout) }
  }

  /// Sends signs of life.
  private func keepAlive() async {
    while !Task.isCancelled {
      do { try await configuration.sleep(configuration.heartbeat) } catch { return }
      await send {
        let message = self.state.withLock { $0.session.isInitialized ? $0.session.keepAlive : nil }
        return message.map(WebSocketFrame.text)
          ?? WebSocketFrame(fin: true, opcode: .ping, data: ByteBuffer())
      }
    }
  }
}

extension DemoSocketSession.Close {
  /// The close code for an error of the connection.
  fileprivate init(_ error: any Error) {
    switch error {
    case NIOWebSocketFrameAggregator.Error.accumulatedFrameSizeIsTooLarge,
      NIOWebSocketFrameAggregator.Error.tooManyFragments:
      self = .tooLarge
    default: self.init(code: 1002, reason: "A frame is not valid")
    }
  }
}

extension WebSocketFrame {
  fileprivate static func text(_ bytes: [UInt8]) -> Self {
    Self(fin: true, opcode: .text, data: ByteBuffer(bytes: bytes))
  }

  fileprivate static func close(_ close: DemoSocketSession.Close) -> Self {
    var data = ByteBuffer()
    data.writeInteger(UInt16(close.code))
    data.writeString(close.reason)
    return Self(fin: true, opcode: .connectionClose, data: data)
  }
}
