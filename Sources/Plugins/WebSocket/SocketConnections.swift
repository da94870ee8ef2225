import AsyncHTTPClient
import GQLRunLive
import GQLRunPipeline
import GQLRunSupport
import HTTPTypes
import NIOCore
import NIOPosix

/// The WebSocket connections of a transport: one per endpoint, handshake and settings.
final class SocketConnections: Sendable {
  /// What operations on one connection have in common.
  private struct Key: Hashable {
    var url: String
    var fields: [HTTPField]
    var subprotocols: [String]
    var parameters: [UInt8]?
    var connection: HTTPConnection
    var connect: Duration
    var messageBytes: ByteSize

    init(_ request: HTTPRequestMessage, _ limits: HTTPLimits) {
      let head = request.head
      url = "\(head.scheme ?? "")://\(head.authority ?? "")\(head.path ?? "")"
      // Fields of a single operation are those of the first one on a connection.
      let own = request.webSocket?.operationFields ?? []
      fields = head.headerFields.filter {
        !own.contains($0.name) && !Self.traceFields.contains($0.name.canonicalName)
      }.sorted { ($0.name.canonicalName, $0.value) < ($1.name.canonicalName, $1.value) }
      subprotocols = request.webSocket?.subprotocols ?? []
      parameters = request.webSocket?.connectionParameters
      connection = limits.connection
      connect = limits.connect
      messageBytes = limits.messageBytes
    }

    /// https://www.w3.org/TR/trace-context/
    private static let traceFields: Set<String> = [
      "traceparent", "tracestate", "baggage", "b3", "x-b3-traceid", "x-b3-spanid",
      "x-b3-parentspanid", "x-b3-sampled",
    ]
  }

  private struct State {
    var open: [Key: SocketConnection] = [:]
    var isShutDown = false
  }

  private let state = Locked(State())
  private let clock: ServiceClock
  private let timer: DeadlineTimer
  private let userAgent: String
  private let meter: ConnectionMeter?
  private let observer: (@Sendable (NetworkEvent) -> Void)?

  init(
    clock: ServiceClock, userAgent: String, meter: ConnectionMeter?,
    observer: (@Sendable (NetworkEvent) -> Void)?
  ) {
    self.clock = clock
    timer = DeadlineTimer(clock)
    self.userAgent = userAgent
    self.meter = meter
    self.observer = observer
  }

  /// Sends an operation, and returns when it was sent.
  ///
  /// - Returns: A response whose body is a JSON text sequence of the results.
  func send(
    _ request: HTTPRequestMessage, _ limits: HTTPLimits
  ) async throws -> HTTPResponseMessage {
    let failures = TransportFailures(
      request: request, limits: limits, route: ConnectionRoute(request.head, limits.connection))
    let key = Key(request, limits)
    let isSubscription = request.webSocket?.isSubscription ?? false
    while true {
      try Task.checkCancellation()
      guard let connection = connection(key, request, limits, failures) else {
        throw failures.shutDown()
      }
      let operation = SocketOperation(
        request.body ?? [], isSubscription: isSubscription, on: connection)
      let limit = isSubscription ? nil : expiry(of: operation, limits, failures)
      let body = SocketBody(operation) { [timer] in limit.map(timer.remove) }
      do {
        // A connection that ends just now is replaced.
        guard try await operation.begin() else { continue }
      } catch let error as ChainError where error.cause is CertificateRefused {
        throw await failures.explained(error)
      }
      var response = HTTPResponseMessage(
        head: HTTPResponse(status: .ok, headerFields: [.contentType: EventFraming.sequenceType]),
        body: HTTPBody(pull: { try await body.next() }))
      response.version = "WebSocket"
      response.interrupt = { [weak operation] in operation?.expire($0) }
      return response
    }
  }

  /// Limits the time of a query or mutation. Returns the number of the limit.
  private func expiry(
    of operation: SocketOperation, _ limits: HTTPLimits, _ failures: TransportFailures
  ) -> Int {
    let deadline = clock.now() + limits.total
    return timer.add { [weak operation, clock] in
      guard let operation else { return nil }
      let rest = deadline - clock.now()
      guard rest <= .zero else { return rest }
      operation.expire(failures.headTimedOut())
      return nil
    }
  }

  private func connection(
    _ key: Key, _ request: HTTPRequestMessage, _ limits: HTTPLimits, _ failures: TransportFailures
  ) -> SocketConnection? {
    let (connection, isNew) = state.withLock { state -> (SocketConnection?, Bool) in
      guard !state.isShutDown else { return (nil, false) }
      if let open = state.open[key] { return (open, false) }
      let opening = SocketOpening(
        request: request, limits: limits, failures: failures, userAgent: userAgent, meter: meter,
        observer: observer)
      let connection = SocketConnection(
        opening, on: Self.loop, clock: clock, timer: timer
      ) { [weak self] in self?.remove($0, key) }
      state.open[key] = connection
      return (connection, true)
    }
    if isNew { connection?.open() }
    return connection
  }

  /// The loop of a task that already runs on one, whose results then need no other thread.
  private static var loop: any EventLoop {
    MultiThreadedEventLoopGroup.currentEventLoop ?? HTTPClient.defaultEventLoopGroup.next()
  }

  private func remove(_ connection: SocketConnection, _ key: Key) {
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
