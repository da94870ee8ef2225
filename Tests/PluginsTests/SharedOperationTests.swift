import GQLRunPipeline
import GQLRunSupport
import GQLRunTestSupport
import HTTPTypes
import NIOPosix
import Testing

@testable import GQLRunPlugins

/// Operations of a connection that only counts what it is asked for.
@Suite(.timeLimit(.minutes(10))) struct SharedOperationTests {
  private final class Connection: OperationConnection {
    let flow = ConnectionFlow()
    private let onBegin: @Sendable (SharedOperation) -> Void
    private let counts = Locked((ends: 0, resumes: 0))

    init(onBegin: @escaping @Sendable (SharedOperation) -> Void = { $0.noteBegun() }) {
      self.onBegin = onBegin
    }

    var version: String { "test" }
    var ends: Int { counts.withLock { $0.ends } }
    var resumes: Int { counts.withLock { $0.resumes } }

    func open(onEnd: @escaping @Sendable () -> Void) {}
    func begin(_ operation: SharedOperation, _ request: HTTPRequestMessage) { onBegin(operation) }
    func end(_ operation: SharedOperation) { counts.withLock { $0.ends += 1 } }
    func resume() { counts.withLock { $0.resumes += 1 } }
    func shutDown() async {}
  }

  private struct Lost: Error {}

  private let request = HTTPRequestMessage(
    head: HTTPRequest(method: .get, scheme: "ws", authority: "server", path: "/"))

  private func operation(_ connection: Connection) -> (SharedOperation, OperationReader) {
    let operation = SharedOperation(isSubscription: true, flow: connection.flow)
    return (operation, OperationReader(of: operation, on: connection, onEnd: {}))
  }

  private func text(_ chunk: (any BodyChunk)?) -> String? {
    chunk?.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
  }

  @Test func `results come before the error that ends an operation`() async throws {
    let connection = Connection { operation in
      for result in ["1", "2"] { _ = operation.receive(Array(result.utf8)) }
      operation.finish(.failure(Lost()))
      // The first end counts, and nothing follows it.
      operation.finish(.success(()))
      _ = operation.receive(Array("3".utf8))
    }
    let (_, reader) = operation(connection)
    try await reader.begin(request)
    #expect(text(reader.ready()) == "1")
    #expect(text(try await reader.next()) == "2")
    #expect(reader.ready() == nil)
    await #expect(throws: Lost.self) { try await reader.next() }
  }

  @Test func `an operation that was not sent has the error of its connection`() async {
    let (_, reader) = operation(Connection { $0.finish(.failure(OperationNotBegun())) })
    await #expect(throws: OperationNotBegun.self) { try await reader.begin(request) }
  }

  @Test func `an operation that has ended before its connection begins it is not sent`()
    async throws
  {
    let script = RawServer.Step.greeting + [.closing]
    try await RawServer.withServer(script) { server in
      var request = HTTPRequestMessage(
        head: HTTPRequest(
          method: .get, scheme: "ws", authority: "127.0.0.1:\(server.port)", path: "/"),
        body: Array("{}".utf8))
      request.webSocket = WebSocketRequest(
        subprotocols: ["graphql-transport-ws"], isSubscription: false)
      var limits = HTTPLimits()
      limits.connect = .seconds(3_600)
      let clock = ServiceClock(TestClock())
      let failures = TransportFailures(
        request: request, limits: limits, route: ConnectionRoute(request.head, limits.connection))
      let connection = SocketConnection(
        SocketOpening(
          request: request, limits: limits, failures: failures, userAgent: "test", meter: nil,
          observer: nil),
        on: MultiThreadedEventLoopGroup.singleton.next(), clock: clock,
        alarm: ConnectionAlarm(DeadlineTimer(clock), clock: clock))
      let operations = (1...2).map { _ in
        SharedOperation(isSubscription: false, flow: connection.flow)
      }
      connection.expire(operations[0], Lost())
      for operation in operations { connection.begin(operation, request) }
      connection.open {}
      let first = await server.log.frame(containing: "subscribe")
      await connection.shutDown()
      #expect(first.contains(#""id":"2""#))
      #expect(throws: Lost.self) { try operations[0].hasBegun() }
    }
  }

  @Test func `a cancelled reader ends its operation once`() async {
    let connection = Connection()
    let (operation, reader) = operation(connection)
    let reading = Task { [request] in
      try await reader.begin(request)
      return try await reader.next() == nil
    }
    while connection.flow.mayPause { await Task.yield() }
    reading.cancel()
    await #expect(throws: CancellationError.self) { try await reading.value }
    #expect(connection.ends == 1)
    #expect(operation.receive(Array("late".utf8)) == false)
    #expect(reader.ready() == nil)
  }

  @Test(arguments: [false, true]) func `a released reader ends an operation that has not ended`(
    _ hasEnded: Bool
  ) {
    let connection = Connection()
    do {
      let (operation, reader) = operation(connection)
      _ = operation.receive([UInt8](repeating: 0, count: ConnectionFlow.maxBytes))
      if hasEnded { operation.finish(.success(())) }
      withExtendedLifetime(reader) {}
    }
    #expect(connection.ends == (hasEnded ? 0 : 1))
    connection.flow.noteWaiting(1)
    #expect(!connection.flow.mayPause, "its results are not counted any more")
  }

  @Test func `64 unread results stop the connection, which reads on at 16`() {
    let connection = Connection()
    let (operation, reader) = operation(connection)
    let stops = (1...64).map { operation.receive(Array("\($0)".utf8)) }
    #expect(stops.firstIndex(of: true) == 63)
    #expect(operation.isFull && connection.flow.mayPause)
    connection.flow.isPaused = true
    for number in 1...64 {
      #expect(text(reader.ready()) == "\(number)")
      #expect(operation.isFull == (number < 48))
      #expect(connection.resumes == (number < 48 ? 0 : 1))
    }
  }

  @Test func `a reader that waits lets the connection read on, up to a limit`() async throws {
    let connection = Connection()
    let (operation, reader) = operation(connection)
    connection.flow.isPaused = true
    let reading = Task { text(try await reader.next()) }
    while connection.resumes == 0 { await Task.yield() }
    #expect(!connection.flow.mayPause)
    connection.flow.noteUnread(ConnectionFlow.maxBytes)
    #expect(connection.flow.mayPause)
    connection.flow.noteRead(ConnectionFlow.maxBytes)
    #expect(!connection.flow.mayPause)
    _ = operation.receive(Array("1".utf8))
    operation.wake()
    #expect(try await reading.value == "1")
    #expect(connection.flow.mayPause)
  }
}
