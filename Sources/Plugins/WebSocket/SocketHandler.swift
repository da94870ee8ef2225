import GQLRunLive
import GQLRunPipeline
import NIOCore
import NIOHTTP1
import NIOWebSocket

/// The life of a WebSocket connection, on its event loop: from connecting to the last byte.
///
/// ``SocketSession`` decides; this class performs its actions.
final class SocketHandler: ChannelInboundHandler {
  typealias InboundIn = WebSocketFrame

  private let opening: SocketOpening
  private let loop: any EventLoop
  private let clock: ServiceClock
  private let flow: ConnectionFlow
  private let alarm: ConnectionAlarm
  private var onEnd: @Sendable () -> Void = {}
  private var session: SocketSession
  /// Whether no operation can begin, and no message is read.
  private var hasEnded = false
  private var channel: (any Channel)?
  private var operations: [Int: SharedOperation] = [:]
  private var lastID = 0
  /// The operations whose readers are woken after the results that have arrived together.
  private var wakes: [SharedOperation] = []
  private var messages: SocketMessages
  private var traffic = EmptyTraffic()
  /// The time until which the connection must be open.
  private var openingDue: Duration?
  /// The head of an answer that opens no connection, while its body is read.
  var refusal: HTTPResponseHead?
  /// Why the connection was not opened; an operation may arrive after that.
  private var openingFailure: (any Error)?
  /// Whether the channel takes frames.
  private var isUpgraded = false
  private var isPaused = false
  /// The bytes of all messages, without the few that frames and TLS add.
  private var written = 0
  /// Those that were sent when a ping was due and much waited, as far as frames and TLS let it be known.
  private var sent = 0
  private var isClosed = false
  /// The error that closes the connection.
  private var error: (any Error)?
  private var closed: [EventLoopPromise<Void>] = []

  init(
    _ opening: SocketOpening, on loop: any EventLoop, clock: ServiceClock, flow: ConnectionFlow,
    alarm: ConnectionAlarm
  ) {
    self.opening = opening
    self.loop = loop
    self.clock = clock
    self.flow = flow
    self.alarm = alarm
    messages = SocketMessages(limit: opening.limits.messageBytes)
    session = SocketSession(
      parameters: opening.request.webSocket?.connectionParameters,
      durations: .init(idle: opening.limits.connection.keepAlive))
  }
}

// MARK: Opening

extension SocketHandler {
  func open(onEnd: @escaping @Sendable () -> Void) {
    guard !hasEnded else { return onEnd() }
    self.onEnd = onEnd
    openingDue = clock.now() + opening.limits.connect + .seconds(1)
    setDue()
    let bound = NIOLoopBound(self, eventLoop: loop)
    opening.open(on: loop, handler: bound).whenComplete { bound.value.opened($0) }
  }

  /// A connection to the server or to a proxy exists.
  func connected(_ channel: any Channel) {
    self.channel = channel
    let bound = NIOLoopBound(self, eventLoop: channel.eventLoop)
    channel.closeFuture.whenComplete { _ in bound.value.channelClosed() }
    if hasEnded { channel.close(promise: nil) }
  }

  private func opened(_ result: Result<SocketOpening.Answer, any Error>) {
    openingDue = nil
    switch result {
    case .failure(let error):
      end(.notOpened(opening.failures.notUpgraded(error)))
    case .success(.refused(let head, let body)):
      end(.notOpened(opening.failures.refusal(by: head, body: body)))
    case .success(.open(let name)):
      let offered = (opening.request.webSocket?.subprotocols ?? [])
        .compactMap(SocketSession.Subprotocol.init)
      if let refusal = SocketSession.refusal(of: name, offered: offered) {
        session.closed()
        return end(.closed(refusal))
      }
      let chosen = name.flatMap(SocketSession.Subprotocol.init) ?? offered.first ?? .transport
      perform(session.opened(chosen, at: clock.now()))
    }
  }
}

// MARK: Operations

extension SocketHandler {
  func begin(_ operation: SharedOperation, _ payload: [UInt8]) {
    // Another connection could not be opened either.
    if let openingFailure { return operation.finish(.failure(openingFailure)) }
    guard !hasEnded, !session.isOver else {
      return operation.finish(.failure(OperationNotBegun()))
    }
    lastID += 1
    operations[lastID] = operation
    operation.setID(lastID)
    perform(session.begin(lastID, payload))
    // Its time may be over already, before there was a number to end it by.
    if operation.hasEnded { end(operation) }
  }

  func end(_ operation: SharedOperation) {
    guard let id = operation.id, operations.removeValue(forKey: id) != nil else { return }
    perform(session.end(id, at: clock.now()))
    adjustReading()
  }

  func check() {
    let now = clock.now()
    if let openingDue, openingDue <= now {
      let failures = opening.failures
      end(
        .notOpened(
          refusal.map { failures.refusal(by: $0, body: ByteBuffer()) }
            ?? failures.failure(.handshakeTimedOut)))
    }
    let actions = session.check(at: now)
    // A ping is due, or the connection ends anyway.
    if !actions.isEmpty, hasStoppedReading() {
      return end(.closed(SocketClose(SocketClose.OwnCode.noPong, "Terminated", isOwn: true)))
    }
    perform(actions)
  }

  /// Whether the server has taken nothing since the last ping, although much waits to be sent.
  ///
  /// The connection is not read meanwhile, and a pong that is not read is not late.
  private func hasStoppedReading() -> Bool {
    guard let channel, !channel.isWritable else { return false }
    // A server whose results are not read may read nothing, because it waits until it can write.
    guard !waitsForReaders else {
      sent = -1
      return false
    }
    let last = sent
    sent = written - ((try? channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0)
    return sent <= last
  }

  func shutDown(_ promise: EventLoopPromise<Void>) {
    guard !isClosed, channel != nil else {
      end(.shutDown)
      return promise.succeed(())
    }
    closed.append(promise)
    perform(session.shutDown())
    end(.shutDown)
  }

  private func setDue() {
    guard !hasEnded else { return }
    alarm.set(SocketSession.earliest(openingDue, session.due))
  }
}

// MARK: Actions

extension SocketHandler {
  private func perform(_ actions: [SocketSession.Action], _ message: ByteBuffer? = nil) {
    for action in actions {
      switch action {
      case .send(let text): write(.text, ByteBuffer(bytes: text))
      case .ping: write(.ping, ByteBuffer())
      case .acknowledged: opening.observer?(.socketOpened(opening.failures.origin))
      case .began(let id): operations[id]?.noteBegun()
      case .failed(let id, let errors, let isList):
        guard let operation = operations.removeValue(forKey: id) else { continue }
        var result = ByteBuffer(string: isList ? #"{"errors":"# : #"{"errors":["#)
        result.writeImmutableBuffer(Self.slice(message, errors))
        result.writeString(isList ? "}" : "]}")
        deliver(result, 0..<result.readableBytes, to: operation)
        operation.finish(.success(()))
      case .complete(let id): operations.removeValue(forKey: id)?.finish(.success(()))
      case .close(let close): end(.closed(close))
      case .rejected(let payload):
        end(.rejected(payload.map { String(buffer: Self.slice(message, $0)) }))
      }
    }
    if !actions.isEmpty { channel?.flush() }
    setDue()
  }

  private func deliver(_ message: ByteBuffer?, _ range: Range<Int>, to operation: SharedOperation) {
    if operation.receive(Self.slice(message, range)), !isPaused { adjustReading() }
    if let last = wakes.last, last === operation { return }
    if wakes.isEmpty {
      let bound = NIOLoopBound(self, eventLoop: loop)
      loop.execute { bound.value.wakeReaders() }
    }
    wakes.append(operation)
  }

  /// Runs after everything that was read from the socket at once.
  private func wakeReaders() {
    let operations = wakes
    wakes = []
    for operation in operations { operation.wake() }
  }

  private static func slice(_ message: ByteBuffer?, _ range: Range<Int>) -> ByteBuffer {
    message.flatMap {
      $0.getSlice(at: $0.readerIndex + range.lowerBound, length: range.count)
    } ?? ByteBuffer()
  }

  /// Frames of a client are masked.
  ///
  /// https://www.rfc-editor.org/rfc/rfc6455#section-5.3
  private func write(_ opcode: WebSocketOpcode, _ bytes: ByteBuffer) {
    written += bytes.readableBytes
    let frame = WebSocketFrame(fin: true, opcode: opcode, maskKey: .random(), data: bytes)
    channel?.pipeline.syncOperations.write(NIOAny(frame), promise: nil)
  }
}

// MARK: Frames

extension SocketHandler {
  func handlerAdded(context: ChannelHandlerContext) { isUpgraded = true }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let frame = unwrapInboundIn(data)
    if frame.opcode == .connectionClose { return receiveClose(frame.data) }
    guard !hasEnded else { return }
    do throws(SocketClose) {
      switch try messages.receive(frame) {
      case nil: if frame.data.readableBytes == 0 { try noteEmpty(frame.data) }
      case .text(let text): try receive(text)
      case .binary: perform(session.receivedBinary())
      case .ping(let bytes):
        try noteEmpty(bytes)
        write(.pong, bytes)
        channel?.flush()
      case .pong:
        try noteEmpty(frame.data)
        session.receivedPong()
        setDue()
      }
    } catch {
      end(.closed(error))
    }
  }

  private func receive(_ text: ByteBuffer) throws(SocketClose) {
    switch text.withUnsafeReadableBytes({ session.received($0, at: clock.now()) }) {
    case .result(let id, let payload):
      traffic.reset()
      // A result changes no time limit, and nothing is sent.
      if let operation = operations[id] { deliver(text, payload, to: operation) }
    case .actions(let actions):
      if actions.contains(where: \.endsOperation) { traffic.reset() } else { try noteEmpty(text) }
      perform(actions, text)
    }
  }

  /// Counts a frame or message without a result.
  private func noteEmpty(_ data: ByteBuffer) throws(SocketClose) {
    do throws(StreamError) {
      try traffic.add(data.readableBytes + 2, at: clock.now())
    } catch {
      throw SocketMessages.violation(error.message)
    }
  }

  private func receiveClose(_ data: ByteBuffer) {
    // https://www.rfc-editor.org/rfc/rfc6455#section-5.5.1
    guard data.readableBytes != 1 || hasEnded else {
      return end(.closed(SocketMessages.violation("a close frame has half a code")))
    }
    var data = data
    let code = data.readInteger(as: UInt16.self).map(Int.init)
    let close = SocketClose(code ?? 1005, String(buffer: data))
    if !hasEnded {
      write(.connectionClose, code.map { ByteBuffer(integer: UInt16($0)) } ?? ByteBuffer())
      // Before the end, which closes the connection: what is not flushed then is lost.
      channel?.flush()
    }
    end(.closed(close))
    channel?.close(promise: nil)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    if let error = error as? NIOWebSocketError {
      return end(.closed(messages.close(for: error)))
    }
    self.error = error
    context.close(promise: nil)
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    adjustReading()
    context.fireChannelWritabilityChanged()
  }

  /// Whether too many results wait for their readers.
  private var waitsForReaders: Bool {
    flow.mayPause && operations.values.contains { $0.isFull }
  }

  /// Stops reading while results wait for their readers, or answers for the server.
  func adjustReading() {
    guard let channel, !hasEnded else { return }
    let pauses = waitsForReaders || !channel.isWritable
    guard pauses != isPaused else { return }
    isPaused = pauses
    flow.isPaused = pauses
    session.setPaused(pauses, at: clock.now())
    try? channel.syncOptions?.setOption(.autoRead, value: !pauses)
    setDue()
    // A reader may have begun to wait in between.
    guard pauses else { return }
    let bound = NIOLoopBound(self, eventLoop: loop)
    loop.execute { bound.value.adjustReading() }
  }
}

// MARK: The end

extension SocketHandler {
  /// What ends a connection.
  enum End: Sendable {
    case closed(SocketClose)
    case lost((any Error)?)
    /// The payload of `connection_error`.
    case rejected(String?)
    case notOpened(any Error)
    case shutDown
  }

  private func end(_ end: End) {
    guard !hasEnded else { return }
    hasEnded = true
    if case .notOpened(let error) = end { openingFailure = error }
    session.closed()
    // Before operations fail: those that begin again find another connection.
    onEnd()
    onEnd = {}
    alarm.stop()
    opening.observer?(.socketClosed(opening.failures.origin, opening.failures.reason(end)))
    let running = operations
    operations = [:]
    for operation in running.values {
      operation.finish(
        .failure(
          opening.failures.error(
            end, isBegun: operation.isBegun, isSubscription: operation.isSubscription)))
    }
    close(end)
  }

  /// Sends a close frame, and waits up to a second for the server's answer: closing with unread bytes would make
  /// the system discard what was sent last.
  private func close(_ end: End) {
    guard let channel else { return }
    var close: SocketClose?
    switch end {
    case .closed(let reason) where reason.isOwn: close = reason
    case .shutDown, .rejected: close = SocketClose(SocketClose.OwnCode.normal, "")
    default: break
    }
    guard let close, isUpgraded, channel.isActive else {
      channel.close(promise: nil)
      return
    }
    var data = ByteBuffer(integer: UInt16(close.code))
    data.writeString(close.reason)
    write(.connectionClose, data)
    channel.flush()
    try? channel.syncOptions?.setOption(.autoRead, value: true)
    channel.eventLoop.scheduleTask(in: .seconds(1)) { channel.close(promise: nil) }
  }

  private func channelClosed() {
    isClosed = true
    end(.lost(error))
    for promise in closed { promise.succeed(()) }
    closed = []
  }
}
