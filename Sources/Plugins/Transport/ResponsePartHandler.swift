import Foundation
import NIOCore
import NIOHTTP1
import NIOHTTP2

/// Passes the parts of responses to the HTTP client so that what was received is delivered, and an early end ends the
/// request.
///
/// - Short parts that arrive together are joined. Each event of a subscription is a chunk or frame of its own, which the
///   client would deliver one by one.
/// - The client discards the parts that its reader has not taken when the connection fails. So a failure within a body
///   is its last part (``BodyLoss``).
/// - The client does not notice the end of a response that comes alone, while the request is still being sent, until
///   everything is sent. So an empty part precedes it, and the connection is closed.
/// - The client returns a connection to its pool some time after the end of a request that was answered before, and stops
///   the program if the connection was closed in between. So such a response ends its connection.
/// - Over HTTP/2, the client releases a request whose response has ended, and a later event that concerns the sending
///   of this request stops the program. So the stream is closed at once, and the client gets no further event.
final class ResponsePartHandler: ChannelDuplexHandler {
  typealias InboundIn = HTTPClientResponsePart
  typealias InboundOut = HTTPClientResponsePart
  typealias OutboundIn = HTTPClientRequestPart
  typealias OutboundOut = HTTPClientRequestPart

  /// The size of parts that are not joined, so that the body of a large response is not copied, in bytes.
  private static let longPart = 4 << 10
  /// The size at which joined parts are delivered, in bytes.
  private static let fullSize = 32 << 10
  /// The size of request bodies that are sent before a response can arrive, in bytes.
  private static let longBody = 64 << 10
  /// The time for the reader of a response that came before the end of its request, until the connection is closed.
  private static let closingTime = TimeAmount.seconds(1)

  /// Whether the handler is that of an HTTP/2 stream, which has one request.
  private let isStream: Bool
  private var joined: ByteBuffer?
  /// Whether the client was given parts that it delivers at the end of reading.
  private var hasUndelivered = false
  /// Whether a response has begun and not ended.
  private var isInBody = false
  /// Whether the body ended with a failure. An HTTP/2 stream then still delivers the frames that it has received.
  private var hasLostBody = false
  /// Whether a request has begun and not ended.
  private var isSending = false
  /// Whether the head states the length of the body, so that its end has no bytes over HTTP/1.1.
  private var hasLength = false
  private var bodyBytes = 0
  /// The number of writes of a long body whose bytes were not all sent yet.
  private var unsentWrites = 0
  /// The number of requests.
  private var number = 0
  /// Whether the request that is being sent was answered.
  private var isAnswered = false
  /// Whether the client has released the request of a stream that was not sent completely.
  private var isReleased = false

  init(isStream: Bool = false) { self.isStream = isStream }

  /// Adds the handler to a connection over HTTP/1.1.
  static func add(to channel: any Channel) -> EventLoopFuture<Void> {
    channel.eventLoop.makeCompletedFuture {
      try channel.add(ResponsePartHandler(), after: ByteToMessageHandler<HTTPResponseDecoder>.self)
    }
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    switch unwrapOutboundIn(data) {
    case .head(let head):
      (isSending, isAnswered, bodyBytes, unsentWrites) = (true, false, 0, 0)
      hasLength = head.headers.contains(name: "Content-Length")
      number += 1
    case .body(let part):
      bodyBytes += part.readableBytes
      if hasLength, isLong { return note(context, data, promise: promise) }
    case .end:
      isSending = false
      if !hasLength, isLong { return note(context, data, promise: promise) }
    }
    context.write(data, promise: promise)
  }

  /// Whether a response can arrive before the body is sent. The server of a stream decides when any of it is.
  private var isLong: Bool { isStream || bodyBytes > Self.longBody }

  /// Writes a part of a long body, and notes when its bytes were sent. An end without bytes may be written later than the
  /// server can answer.
  private func note(
    _ context: ChannelHandlerContext, _ data: NIOAny, promise: EventLoopPromise<Void>?
  ) {
    unsentWrites += 1
    let number = number
    // The promise belongs to the event loop of the request, which may use a connection of another one.
    let sent = context.eventLoop.makePromise(of: Void.self)
    sent.futureResult.assumeIsolated().whenComplete { _ in
      if self.number == number { self.unsentWrites -= 1 }
    }
    sent.futureResult.cascade(to: promise)
    context.write(data, promise: sent)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !hasLostBody else { return }
    switch unwrapInboundIn(data) {
    case .body(var part) where part.readableBytes < Self.longPart:
      guard joined != nil else {
        joined = part
        return
      }
      joined?.writeBuffer(&part)
      if let joined, joined.readableBytes >= Self.fullSize { deliver(context) }
    case .body:
      deliver(context)
      pass(data, context)
    // The client takes it for an informational response, and stops the program at its end.
    case .head(let head) where head.status.code < 100:
      context.fireErrorCaught(HTTPParserError.invalidStatus)
    case .head(var head):
      deliver(context)
      // Informational responses have no body.
      isInBody = head.status.code >= 200 || head.status == .switchingProtocols
      guard isSending, !isStream, head.status.code >= 200 else { return pass(data, context) }
      // The response ends its connection.
      head.headers.replaceOrAdd(name: "Connection", value: "close")
      pass(wrapInboundOut(.head(head)), context)
    case .end:
      deliver(context)
      isInBody = false
      let (isEarly, isCut, number) = (isSending, !isSending && unsentWrites > 0, number)
      // A response that ends after the end of reading ends its connection, which still has bytes to send.
      if isCut { context.fireChannelReadComplete() }
      if isEarly || isCut { pass(wrapInboundOut(.body(ByteBuffer())), context) }
      isReleased = isStream && (isEarly || isCut)
      pass(data, context)
      if isReleased { return context.close(promise: nil) }
      if isEarly, number == self.number { closeSoon(context) }
    }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    deliver(context)
    hasUndelivered = false
    context.fireChannelReadComplete()
  }

  func channelInactive(context: ChannelHandlerContext) {
    if !endBody(context, ChannelError.eof) { deliverAll(context) }
    if !isReleased { context.fireChannelInactive() }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    if endBody(context, error) { return context.close(promise: nil) }
    deliverAll(context)
    if !isReleased { context.fireErrorCaught(error) }
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    if !isReleased { context.fireChannelWritabilityChanged() }
  }

  private func pass(_ data: NIOAny, _ context: ChannelHandlerContext) {
    hasUndelivered = true
    context.fireChannelRead(data)
  }

  private func deliver(_ context: ChannelHandlerContext) {
    guard let part = joined.take(), part.readableBytes > 0 else { return }
    pass(wrapInboundOut(.body(part)), context)
  }

  /// Delivers everything before the end of the connection or stream.
  private func deliverAll(_ context: ChannelHandlerContext) {
    deliver(context)
    guard hasUndelivered else { return }
    hasUndelivered = false
    context.fireChannelReadComplete()
  }

  /// Ends the body of a response whose connection or stream has failed. Returns whether there was one.
  private func endBody(_ context: ChannelHandlerContext, _ error: any Error) -> Bool {
    guard isInBody else { return false }
    (isInBody, hasLostBody, isReleased) = (false, true, isStream && isSending)
    deliver(context)
    // A body that ends after the end of reading ends the connection, which must not be used again.
    hasUndelivered = false
    context.fireChannelReadComplete()
    for part in [ByteBuffer(), BodyLoss(error).part] {
      context.fireChannelRead(wrapInboundOut(.body(part)))
    }
    context.fireChannelRead(wrapInboundOut(.end(nil)))
    return true
  }

  /// Closes the connection or stream of a request that was answered before it was sent, unless its sending ends.
  private func closeSoon(_ context: ChannelHandlerContext) {
    isAnswered = true
    let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    context.eventLoop.scheduleTask(in: Self.closingTime) {
      let (handler, context) = bound.value
      if handler.isSending, handler.isAnswered { context.close(promise: nil) }
    }
  }
}

/// Bytes that a server sent before a request, on a connection whose requests were all answered.
struct UnaskedBytes: Error {}

/// The end of a connection before anything of its current request was sent.
struct EndBeforeRequest: Error {}

/// Sends head and body of a request in one write, on a connection without bytes that answer no request.
///
/// The client flushes each part by itself: two or three system calls and packets for a short
/// request, and as many wake-ups of the server. A part without an immediate successor is flushed at
/// the end of the event loop's current tick, and one that is a whole body with the end of its request: the client writes
/// that end by itself, from the event loop of the request, and closes a connection whose response comes before it.
///
/// The client takes a response for the answer to a request that it has written, also if the server sent it before: a second
/// response to the request before. So a request on a kept connection waits until the bytes that the socket has are
/// read, and the connection is closed if there are any before the request is sent. What the server sends later cannot be
/// distinguished from the answer.
final class WholeRequestHandler: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  typealias OutboundIn = HTTPClientRequestPart
  typealias OutboundOut = HTTPClientRequestPart

  /// The time in which the event loop reads the bytes that the socket has.
  private static let readingTime = TimeAmount.milliseconds(1)

  /// Whether a request has started whose end was not written yet.
  private var isOpen = false
  /// The length of the body, if the head states it and no part was written yet.
  private var unwritten: Int?
  /// Whether the whole body was written in one part, and the end of its request was not.
  private var awaitsEnd = false
  private var holdsFlush = false
  /// Whether the connection has had a request before.
  private var isKept = false
  /// Whether nothing was sent of the current request, which is not the first one.
  private var isUnsent = false
  /// Whether the current request waits until the bytes that the socket has are read.
  private var isWaiting = false

  static func add(to channel: any Channel) -> EventLoopFuture<Void> {
    channel.eventLoop.makeCompletedFuture {
      try channel.add(WholeRequestHandler(), after: HTTPRequestEncoder.self)
    }
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    switch unwrapOutboundIn(data) {
    case .head(let head):
      (isOpen, awaitsEnd, isUnsent) = (true, false, isKept)
      unwritten = head.headers.first(name: "Content-Length").flatMap { Int($0) }
    case .body(let part):
      awaitsEnd = part.readableBytes == unwritten
      unwritten = nil
    case .end: (isOpen, awaitsEnd, isKept) = (false, false, true)
    }
    context.write(data, promise: promise)
  }

  func flush(context: ChannelHandlerContext) {
    guard isOpen else {
      holdsFlush = false
      return send(context)
    }
    guard !holdsFlush, !awaitsEnd else { return }
    holdsFlush = true
    context.eventLoop.assumeIsolated().execute {
      guard self.holdsFlush else { return }
      self.holdsFlush = false
      if !self.awaitsEnd { self.send(context) }
    }
  }

  /// Sends what was written, after the bytes that the socket has were read.
  private func send(_ context: ChannelHandlerContext) {
    guard !isWaiting else { return }
    guard isUnsent, Self.hasUnreadBytes(context) else {
      isUnsent = false
      return context.flush()
    }
    isWaiting = true
    context.eventLoop.assumeIsolated().scheduleTask(in: Self.readingTime) {
      guard self.isWaiting else { return }
      self.isWaiting = false
      guard !self.awaitsEnd else { return }
      self.isUnsent = false
      context.flush()
    }
  }

  /// Whether the socket has bytes that were not read yet, which may also be of TLS itself.
  private static func hasUnreadBytes(_ context: ChannelHandlerContext) -> Bool {
    let unread = try? context.pipeline.syncOperations.withUnsafeTransportIfAvailable(
      of: NIOBSDSocket.Handle.self
    ) { socket -> Int32 in
      var count: Int32 = 0
      return ioctl(socket, UInt(FIONREAD), &count) == 0 ? count : 0
    }
    return (unread ?? 0) > 0
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    // Line ends behind a response are ignored.
    guard isUnsent,
      unwrapInboundIn(data).readableBytesView.contains(where: { $0 != 13 && $0 != 10 })
    else { return context.fireChannelRead(data) }
    (isUnsent, isWaiting) = (false, false)
    context.fireErrorCaught(UnaskedBytes())
    context.close(promise: nil)
  }

  func channelInactive(context: ChannelHandlerContext) {
    if isUnsent { context.fireErrorCaught(EndBeforeRequest()) }
    (isUnsent, isWaiting) = (false, false)
    context.fireChannelInactive()
  }
}

extension Channel {
  /// Adds a handler after the one of a type, on the channel's event loop.
  func add<Other: ChannelHandler>(_ handler: any ChannelHandler, after other: Other.Type) throws {
    let pipeline = pipeline.syncOperations
    try pipeline.addHandler(handler, position: .after(pipeline.handler(type: other)))
  }
}

/// Runs tasks on an event loop: tasks that mostly wait for the network continue on the thread that
/// receives their data, and no other thread is woken.
final class LoopExecutor: TaskExecutor {
  private let loop: any EventLoop

  init(_ loop: any EventLoop) { self.loop = loop }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
