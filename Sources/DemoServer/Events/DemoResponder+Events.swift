import AsyncAlgorithms
import HTTPTypes
import Hummingbird
import NIOCore

extension DemoResponder {
  /// A response with the events of a subscription as they happen.
  func events(
    of operation: PlannedOperation, as format: EventFormat, _ wish: Misbehaviour,
    _ channel: any Channel
  ) -> Response {
    let source: SourceStream
    do throws(RequestError) {
      source = try executor.subscribe(operation, sleep: configuration.sleep)
    } catch {
      return events([RequestError.response([error])], as: format)
    }
    let executor = executor
    let steps = steps(
      chain(
        source.map { event in Step.event(executor.response(to: event, of: operation)) },
        CollectionOfOne(Step.end).async), channel)
    return Response(events: format) { writer in
      var limit = EventFaults(wish)
      try await Self.carryOut(limit.fault, channel)
      for try await step in steps {
        switch step {
        case .heartbeat: try await writer.write(ByteBuffer(string: format.heartbeat))
        case .event(let response):
          try await writer.write(ByteBuffer(bytes: format.event(response)))
          limit.count()
          try await Self.carryOut(limit.fault, channel)
        case .end:
          try await writer.write(ByteBuffer(string: format.end))
          return try await writer.finish(nil)
        }
      }
    }
  }

  /// A response in several parts.
  func parts(
    of operation: PlannedOperation, as format: PartFormat, _ wish: Misbehaviour,
    _ channel: any Channel
  ) -> Response {
    let execution = executor.start(operation, as: format)
    let sleep = configuration.sleep
    let body = ResponseBody { writer in
      var execution = execution
      var limit = EventFaults(wish)
      try await Self.carryOut(limit.fault, channel)
      while let chunk = execution.next() {
        try await writer.write(ByteBuffer(bytes: chunk.bytes))
        guard chunk.endsPart else { continue }
        limit.count()
        try await Self.carryOut(limit.fault, channel)
        if let delay = wish.partDelay { try await sleep(delay) }
      }
      try await writer.finish(nil)
    }
    return Response(status: .ok, headers: [.contentType: format.contentType], body: body)
  }

  /// A response with complete results as events.
  func events(_ responses: [[UInt8]], as format: EventFormat) -> Response {
    Response(events: format) { writer in
      for response in responses {
        try await writer.write(ByteBuffer(bytes: format.event(response)))
      }
      try await writer.write(ByteBuffer(string: format.end))
      try await writer.finish(nil)
    }
  }

  enum Step: Sendable {
    case event([UInt8])
    case heartbeat
    case end
  }

  /// What is written to the response, in order. Ends with `.end`, also when the connection closes.
  func steps(
    _ events: some AsyncSequence<Step, any Error> & Sendable, _ channel: any Channel
  ) -> some AsyncSequence<Step, any Error> & Sendable {
    let sleep = configuration.sleep
    let interval = configuration.heartbeat
    let heartbeats = AsyncThrowingStream<Step, any Error> {
      try await sleep(interval)
      return .heartbeat
    }
    // Without it, a subscription without events would last until its next heartbeat.
    let closing = AsyncStream<Step> { continuation in
      channel.closeFuture.whenComplete { _ in
        continuation.yield(.end)
        continuation.finish()
      }
    }
    return merge(events, heartbeats, closing)
  }

  static func carryOut(_ fault: EventFaults.Fault?, _ channel: any Channel) async throws {
    switch fault {
    case nil: return
    case .cut:
      // Written bytes are still sent before the connection's outgoing half closes.
      try await channel.close(mode: .output)
    case .stall:
      try await channel.closeFuture.get()
    }
    throw ChannelError.ioOnClosedChannel
  }
}

extension DemoExecutor {
  /// The maximum size of the response to one event, in bytes.
  static let maxEventBytes = 4 << 20

  /// The response to an event, in which an error replaces a response that is too large.
  func response(to event: SourceEvent, of operation: PlannedOperation) -> [UInt8] {
    start(operation, for: event).rest(upTo: Self.maxEventBytes)
      ?? RequestError.response([Self.tooLarge])
  }

  static let tooLarge = RequestError(
    .badUserInput, "An event has at most \(maxEventBytes) bytes; select fewer fields.")
}

/// The deliberate end of a connection after a number of events.
struct EventFaults: Sendable {
  enum Fault: Sendable {
    /// The connection is closed.
    case cut
    /// The connection stays open, and nothing is sent.
    case stall
  }

  private let cutAfter: Int?
  private let stallAfter: Int?
  private var events = 0

  init(_ wish: Misbehaviour) {
    cutAfter = wish.closeAfter
    stallAfter = wish.stallAfter
  }

  mutating func count() { events += 1 }

  /// The fault that follows the events so far; `nil` for none.
  var fault: Fault? {
    if let cutAfter, events >= cutAfter { return .cut }
    if let stallAfter, events >= stallAfter { return .stall }
    return nil
  }
}

extension Response {
  /// A response whose events are written by a function.
  init(
    events format: EventFormat,
    _ write: @escaping @Sendable (inout any ResponseBodyWriter) async throws -> Void
  ) {
    self.init(
      status: .ok, headers: [.contentType: format.contentType, .cacheControl: "no-store"],
      body: ResponseBody { writer in
        try await writer.write(ByteBuffer(string: format.start))
        try await write(&writer)
      })
  }
}
