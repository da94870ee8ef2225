import AsyncAlgorithms
import HTTPTypes
import Hummingbird
import NIOCore

/// A format of a response that has the events of a subscription.
struct EventFormat: Sendable {
  /// https://github.com/enisdenjo/graphql-sse
  static let serverSentEvents = Self(
    contentType: "text/event-stream; charset=utf-8", start: ":\n\n", heartbeat: ":\n\n",
    end: "event: complete\ndata:\n\n", beforeEvent: "event: next\ndata: ", afterEvent: "\n\n")
  /// https://www.apollographql.com/docs/graphos/routing/operations/subscriptions/multipart-protocol
  ///
  /// A delimiter is written behind each part at once, so that a client need not wait for the next
  /// part to know that one is complete.
  static let multipart = Self(
    contentType: "multipart/mixed;boundary=graphql;subscriptionSpec=1.0", start: "\r\n--graphql",
    heartbeat: "\r\nContent-Type: application/json\r\n\r\n{}\r\n--graphql", end: "--\r\n",
    beforeEvent: "\r\nContent-Type: application/json\r\n\r\n{\"payload\":",
    afterEvent: "}\r\n--graphql")

  let contentType: String
  /// The text before the first event.
  let start: String
  /// The text that tells a client that the connection is alive.
  let heartbeat: String
  /// The text after the last event.
  let end: String
  private let beforeEvent: String
  private let afterEvent: String

  /// The preferred format of an `Accept` field, the first one of equal quality; `nil` if the client
  /// accepts none. Without the field, server-sent events.
  static func preferred(accept: [AcceptedRange]?) -> Self? {
    guard let accept else { return .serverSentEvents }
    return accept.preferred { range -> Self? in
      switch range.pattern {
      case "text/event-stream", "text/*", "*/*": .serverSentEvents
      case "multipart/mixed" where range.has("subscriptionspec=1.0"): .multipart
      default: nil
      }
    }
  }

  /// An event, whose response has no line breaks.
  func event(_ response: [UInt8]) -> [UInt8] {
    Array(beforeEvent.utf8) + response + Array(afterEvent.utf8)
  }
}

extension DemoResponder {
  /// A response with the events of a subscription as they happen.
  func events(
    of operation: PlannedOperation, as format: EventFormat, to received: ReceivedRequest
  ) -> Response {
    do throws(RequestError) {
      let executions = try executor.executions(of: operation, sleep: configuration.sleep)
      return response(executions, as: format, to: received, end: format.end) { execution in
        format.event(execution.event())
      }
    } catch {
      return Response(event: RequestError.response([error]), as: format)
    }
  }

  /// A response with events, and signs of life between them, until they or the connection end.
  ///
  /// - Parameters:
  ///   - end: The text after the last event.
  ///   - onEnd: Called when the response has ended, for whatever reason.
  ///   - bytes: The bytes of an event, in the format.
  func response<Event: Sendable>(
    _ events: some AsyncSequence<Event, any Error> & Sendable, as format: EventFormat,
    to received: ReceivedRequest, end: String, onEnd: @escaping @Sendable () -> Void = {},
    bytes: @escaping @Sendable (Event) -> [UInt8]
  ) -> Response {
    let channel = received.channel
    let misbehaviour = received.misbehaviour
    let steps = EventStep.steps(
      events.map { EventStep.event(bytes($0)) }, until: channel,
      heartbeat: configuration.heartbeat, sleep: configuration.sleep)
    return Response(events: format) { writer in
      defer { onEnd() }
      var faults = EventFaults(misbehaviour: misbehaviour)
      try await faults.carryOut(on: channel)
      for try await step in steps {
        switch step {
        case .heartbeat: try await writer.write(ByteBuffer(string: format.heartbeat))
        case .event(let bytes):
          try await writer.write(ByteBuffer(bytes: bytes))
          faults.events += 1
          try await faults.carryOut(on: channel)
        case .end:
          if !end.isEmpty { try await writer.write(ByteBuffer(string: end)) }
          return try await writer.finish(nil)
        }
      }
    }
  }

  /// A response in several parts.
  func parts(
    of operation: PlannedOperation, as format: PartFormat, to received: ReceivedRequest
  ) -> Response {
    let execution = executor.start(operation, as: format)
    let sleep = configuration.sleep
    let channel = received.channel
    let misbehaviour = received.misbehaviour
    let body = ResponseBody { writer in
      var execution = execution
      var faults = EventFaults(misbehaviour: misbehaviour)
      try await faults.carryOut(on: channel)
      while let chunk = execution.next() {
        try await writer.write(ByteBuffer(bytes: chunk.bytes))
        guard chunk.endsPart else { continue }
        faults.events += 1
        try await faults.carryOut(on: channel)
        if let delay = misbehaviour.partDelay { try await sleep(delay) }
      }
      try await writer.finish(nil)
    }
    return Response(status: .ok, headers: [.contentType: format.contentType], body: body)
  }
}

/// What is written to a response with events, in order.
enum EventStep: Sendable {
  case event([UInt8])
  case heartbeat
  case end

  /// The events with signs of life between them. Ends with `.end`, also when the connection closes.
  ///
  /// - Parameters:
  ///   - channel: The connection.
  ///   - interval: The time between two signs of life.
  ///   - sleep: Suspends for this time.
  static func steps(
    _ events: some AsyncSequence<EventStep, any Error> & Sendable, until channel: any Channel,
    heartbeat interval: Duration, sleep: @escaping @Sendable (Duration) async throws -> Void
  ) -> some AsyncSequence<EventStep, any Error> & Sendable {
    let heartbeats = AsyncThrowingStream<EventStep, any Error> {
      try await sleep(interval)
      return .heartbeat
    }
    // Without it, a subscription without events would last until its next heartbeat.
    let closing = AsyncStream<EventStep> { continuation in
      channel.closeFuture.whenComplete { _ in
        continuation.yield(.end)
        continuation.finish()
      }
    }
    return merge(
      chain(events, CollectionOfOne(EventStep.end).async), heartbeats, closing)
  }
}

/// The deliberate end of a connection after a number of events.
struct EventFaults: Sendable {
  enum Fault: Sendable {
    /// The connection is closed.
    case cut
    /// The connection stays open, and nothing is sent.
    case stall
  }

  let misbehaviour: Misbehaviour
  var events = 0

  /// The fault that follows the events so far; `nil` for none.
  var fault: Fault? {
    if let count = misbehaviour.closeAfter, events >= count { return .cut }
    if let count = misbehaviour.stallAfter, events >= count { return .stall }
    return nil
  }

  /// Carries out the fault that follows the events so far; throws if there is one.
  func carryOut(on channel: any Channel) async throws {
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

  /// A response with one event.
  init(event: [UInt8], as format: EventFormat) {
    self.init(events: format) { writer in
      try await writer.write(ByteBuffer(bytes: format.event(event)))
      try await writer.write(ByteBuffer(string: format.end))
      try await writer.finish(nil)
    }
  }
}
