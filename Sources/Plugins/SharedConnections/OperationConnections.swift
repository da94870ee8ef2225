import AsyncHTTPClient
import GQLRunPipeline
import GQLRunSupport
import HTTPTypes
import NIOCore
import NIOPosix

/// The connections of a transport that operations share, over WebSocket or as event streams: one per endpoint, header
/// fields and settings.
final class OperationConnections: Sendable {
  /// What operations on one connection have in common.
  private struct Key: Hashable {
    var url: String
    var fields: [HTTPField]
    var subprotocols: [String]
    var parameters: [UInt8]?
    var isEventStream: Bool
    var connection: HTTPConnection
    var connect: Duration
    var idle: Duration
    var messageBytes: ByteSize

    init(_ request: HTTPRequestMessage, _ limits: HTTPLimits) {
      let head = request.head
      url = "\(head.scheme ?? "")://\(head.authority ?? "")\(head.path ?? "")"
      // Fields of a single operation are those of the first one on a connection.
      let own =
        request.webSocket?.operationFields ?? request.eventStream?.operationFields ?? []
      fields = head.headerFields.filter {
        !own.contains($0.name) && !Self.traceFields.contains($0.name.canonicalName)
      }.sorted { ($0.name.canonicalName, $0.value) < ($1.name.canonicalName, $1.value) }
      subprotocols = request.webSocket?.subprotocols ?? []
      parameters = request.webSocket?.connectionParameters
      isEventStream = request.eventStream != nil
      connection = limits.connection
      connect = limits.connect
      // Pings find a silent WebSocket connection, whatever this limit is.
      idle = isEventStream ? limits.idle : .zero
      messageBytes = limits.messageBytes
    }

    /// https://www.w3.org/TR/trace-context/
    private static let traceFields: Set<String> = [
      "traceparent", "tracestate", "baggage", "b3", "x-b3-traceid", "x-b3-spanid",
      "x-b3-parentspanid", "x-b3-sampled",
    ]
  }

  private struct State {
    var open: [Key: any OperationConnection] = [:]
    var isShutDown = false
  }

  private let state = Locked(State())
  private let sender: HTTPSender
  private let timer: DeadlineTimer
  private let meter: ConnectionMeter?
  private let observer: (@Sendable (NetworkEvent) -> Void)?

  init(
    _ sender: HTTPSender, meter: ConnectionMeter?,
    observer: (@Sendable (NetworkEvent) -> Void)?
  ) {
    self.sender = sender
    timer = DeadlineTimer(sender.clock)
    self.meter = meter
    self.observer = observer
  }

  /// Sends an operation, and returns when it was sent.
  ///
  /// - Returns: A response that delivers results, or the response with which the server refused the operation.
  func send(
    _ request: HTTPRequestMessage, _ limits: HTTPLimits
  ) async throws -> HTTPResponseMessage {
    let failures = TransportFailures(
      request: request, limits: limits, route: ConnectionRoute(request.head, limits.connection))
    let key = Key(request, limits)
    while true {
      try Task.checkCancellation()
      guard let connection = connection(key, request: request, limits: limits, failures: failures)
      else {
        throw failures.failure(.shutDown)
      }
      let operation = SharedOperation(
        isSubscription: request.webSocket?.isSubscription ?? true, flow: connection.flow)
      let limit =
        operation.isSubscription ? nil : expiry(of: operation, on: connection, limits, failures)
      let reader = OperationReader(of: operation, on: connection) { [timer] in
        limit.map(timer.remove)
      }
      do {
        try await reader.begin(request)
      } catch is OperationNotBegun {
        // A connection that ends just now is replaced.
        continue
      } catch let error as ChainError where error.cause is CertificateRefused {
        throw await failures.explained(error)
      } catch let answer as OperationAnswered {
        return answer.response
      }
      var response = HTTPResponseMessage(
        results: HTTPBody(ready: { reader.ready() }, pull: { try await reader.next() }))
      response.version = connection.version
      response.interrupt = { [weak connection, weak operation] error in
        guard let operation else { return }
        connection?.expire(operation, error)
      }
      return response
    }
  }

  /// Limits the time of a query or mutation. Returns the number of the limit.
  private func expiry(
    of operation: SharedOperation, on connection: any OperationConnection, _ limits: HTTPLimits,
    _ failures: TransportFailures
  ) -> Int {
    let clock = sender.clock
    let deadline = clock.now() + limits.total
    return timer.add { [weak connection, weak operation] in
      guard let operation else { return nil }
      let rest = deadline - clock.now()
      guard rest <= .zero else { return rest }
      connection?.expire(operation, failures.failure(.headTimedOut))
      return nil
    }
  }

  private func connection(
    _ key: Key, request: HTTPRequestMessage, limits: HTTPLimits, failures: TransportFailures
  ) -> (any OperationConnection)? {
    let (connection, isNew) = state.withLock { state -> ((any OperationConnection)?, Bool) in
      guard !state.isShutDown else { return (nil, false) }
      if let open = state.open[key] { return (open, false) }
      let connection = new(key, request: request, limits: limits, failures: failures)
      state.open[key] = connection
      return (connection, true)
    }
    guard let connection, isNew else { return connection }
    connection.open { [weak self, weak connection] in
      if let connection { self?.remove(connection, key) }
    }
    return connection
  }

  private func new(
    _ key: Key, request: HTTPRequestMessage, limits: HTTPLimits, failures: TransportFailures
  ) -> any OperationConnection {
    let alarm = ConnectionAlarm(timer, clock: sender.clock)
    guard !key.isEventStream else {
      return EventStreamConnection(
        EventStreamOpening(
          request: request, limits: limits, failures: failures, sender: sender, observer: observer),
        alarm: alarm)
    }
    return SocketConnection(
      SocketOpening(
        request: request, limits: limits, failures: failures, userAgent: sender.userAgent,
        meter: meter, observer: observer),
      on: Self.loop, clock: sender.clock, alarm: alarm)
  }

  /// The loop of a task that already runs on one, whose results then need no other thread.
  private static var loop: any EventLoop {
    MultiThreadedEventLoopGroup.currentEventLoop ?? HTTPClient.defaultEventLoopGroup.next()
  }

  private func remove(_ connection: any OperationConnection, _ key: Key) {
    state.withLock { state in
      if state.open[key] === connection { state.open[key] = nil }
    }
  }

  func shutdown() async {
    let open = state.withLock { state in
      state.isShutDown = true
      return Array(state.open.values)
    }
    await withTaskGroup(of: Void.self) { group in
      for connection in open { group.addTask { await connection.shutDown() } }
    }
  }
}
