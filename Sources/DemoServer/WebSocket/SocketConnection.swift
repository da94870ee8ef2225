import GQLRunJSON
import GQLRunLanguage
import GQLRunSupport
import HTTPTypes
import NIOCore
import NIOWebSocket

/// A WebSocket connection: reads messages, runs operations and writes their responses.
///
/// The ``DemoSocketSession`` knows the protocol; this type has the tasks and the network.
final class DemoSocketConnection: Sendable {
  private struct State {
    var session: DemoSocketSession
    /// The running operations. The serial number tells apart operations that use the same id in
    /// succession.
    var tasks: [String: (serial: Int, task: Task<Void, Never>)] = [:]
    var serial = 0
    var limit: EventFaults
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
  private let turn = Turn()

  private var wish: Misbehaviour { handshake.wish }

  init(
    _ handshake: DemoSocketHandshake, _ outbound: NIOAsyncChannelOutboundWriter<WebSocketFrame>,
    _ channel: any Channel, executor: DemoExecutor, state: ServerState,
    configuration: DemoServer.Configuration
  ) {
    self.handshake = handshake
    self.outbound = outbound
    self.channel = channel
    self.executor = executor
    self.server = state
    self.configuration = configuration
    let session = DemoSocketSession(
      handshake.subprotocol ?? .transport, maxOperations: configuration.maxOperations,
      answersPings: !handshake.wish.noPong)
    self.state = Locked(State(session: session, limit: EventFaults(handshake.wish)))
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
    case .ping where !wish.noPong:
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
        let serial = state.serial
        state.tasks[id] = (serial, Task { await self.operate(id, serial, request) })
      }
    case .stop(let id): state.withLock { $0.tasks.removeValue(forKey: id)?.task }?.cancel()
    case .close(let reason): await close(reason)
    }
  }

  private func authenticate(_ payload: JSONValue) async {
    if let delay = wish.delay { try? await configuration.sleep(delay) }
    if let token = wish.auth {
      let given = payload["Authorization"] ?? payload["authorization"]
      let expected = "Bearer \(token)"
      guard given?.stringValue == expected || handshake.headers[.authorization] == expected else {
        for step in state.withLock({ $0.session.refuse() }) { await carryOut(step, []) }
        return
      }
    }
    guard !wish.noAck else { return }
    for message in state.withLock({ $0.session.accept() }) { await send { .text(message) } }
    if let code = wish.closeCode, wish.closeAfter == nil {
      await close(DemoSocketSession.Close(code: code, reason: "The handshake asked for it"))
    } else {
      await meetFault()
    }
  }

  // MARK: Operations

  private func operate(_ id: String, _ serial: Int, _ request: OperationRequest) async {
    var request = request
    do throws(RequestError) {
      request.query = try server.persistedQueries.document(of: request)
    } catch {
      return await finish(id, serial) { $0.error([error], of: id) }
    }
    switch executor.prepare(request, failing: wish.errors) {
    case .refused(let errors): await finish(id, serial) { $0.error(errors, of: id) }
    case .ready(let operation) where operation.type == .subscription:
      await subscribe(id, serial, operation)
    case .ready(let operation):
      await next(id) { executor in
        executor.start(operation).rest(upTo: DemoExecutor.maxEventBytes)
          ?? RequestError.response([DemoExecutor.tooLarge])
      }
      await finish(id, serial) { $0.complete(id) }
    }
  }

  private func subscribe(_ id: String, _ serial: Int, _ operation: PlannedOperation) async {
    let source: SourceStream
    do throws(RequestError) {
      source = try executor.subscribe(operation, sleep: configuration.sleep)
    } catch {
      return await finish(id, serial) { $0.error([error], of: id) }
    }
    do {
      for try await event in source {
        await next(id) { $0.response(to: event, of: operation) }
        await meetFault()
      }
    } catch {
      // Only cancellation ends a source stream early.
      return
    }
    await finish(id, serial) { $0.complete(id) }
  }

  /// Sends a response, which is created when the connection is ready for it.
  private func next(_ id: String, _ response: (DemoExecutor) -> [UInt8]) async {
    await send {
      let session = self.state.withLock { state -> DemoSocketSession? in
        guard state.limit.fault == nil else { return nil }
        state.limit.count()
        return state.session
      }
      return session.map { .text($0.next(response(executor), of: id)) }
    }
  }

  private func finish(
    _ id: String, _ serial: Int, _ message: (DemoSocketSession) -> [UInt8]
  ) async {
    await send {
      let last = self.state.withLock { state -> [UInt8]? in
        guard state.tasks[id]?.serial == serial else { return nil }
        state.tasks[id] = nil
        state.session.end(id)
        return message(state.session)
      }
      return last.map(WebSocketFrame.text)
    }
  }

  // MARK: Sending

  /// Sends a frame when it is this caller's turn, unless the connection is over or the caller's
  /// operation was stopped. One response at a time is in memory, however many operations wait.
  private func send(_ frame: () -> WebSocketFrame?) async {
    await turn.take()
    if !Task.isCancelled, !state.withLock({ $0.isOver }), let frame = frame() {
      // A write fails if the connection is closed; then the reader ends, too.
      try? await outbound.write(frame)
    }
    turn.pass()
  }

  /// Closes the connection, the first time it is called.
  private func close(_ reason: DemoSocketSession.Close) async {
    await turn.take()
    let isFirst = state.withLock { state in
      defer { state.isOver = true }
      return !state.isOver
    }
    if isFirst {
      try? await outbound.write(.close(reason))
      outbound.finish()
      // A client has a second to answer before the connection is closed without its answer.
      let channel = channel
      channel.eventLoop.scheduleTask(in: .seconds(1)) { channel.close(promise: nil) }
    }
    turn.pass()
  }

  private func meetFault() async {
    switch state.withLock({ $0.isOver ? nil : $0.limit.fault }) {
    case nil: break
    case .stall: state.withLock { $0.isOver = true }
    case .cut:
      guard let code = wish.closeCode else {
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
