/// The client's side of the GraphQL protocols over one WebSocket connection, without the connection.
///
/// The owner passes on what arrives and the time, and does what the returned actions say. Operations may begin at
/// any time; they are sent once the server has acknowledged the connection.
///
/// - https://github.com/enisdenjo/graphql-ws/blob/master/PROTOCOL.md
/// - https://github.com/apollographql/subscriptions-transport-ws/blob/master/PROTOCOL.md
package struct SocketSession: Sendable {
  /// A protocol, by the name that the handshake has.
  package enum Subprotocol: String, Sendable, Hashable, CaseIterable {
    /// The current protocol, of the library graphql-ws.
    case transport = "graphql-transport-ws"
    /// The protocol of the library subscriptions-transport-ws.
    case legacy = "graphql-ws"
  }

  /// The durations of a connection.
  package struct Durations: Sendable, Hashable {
    /// The longest time until the server acknowledges the connection.
    package var acknowledgement = Duration.seconds(10)
    /// The time between pings.
    package var keepAlive = Duration.seconds(20)
    /// The longest time until a ping is answered.
    package var pong = Duration.seconds(10)
    /// The time after the last operation until the connection is closed.
    package var idle: Duration

    package init(idle: Duration) { self.idle = idle }
  }

  /// What a message is for the owner.
  ///
  /// A result has a case of its own, so that results need no list.
  package enum Received: Sendable, Hashable {
    /// A result of an operation: the position of the payload in the message.
    case result(Int, payload: Range<Int>)
    /// Any other message, and what the owner has to do.
    case actions([Action])
  }

  /// What the owner has to do. Positions are those in the received message.
  package enum Action: Sendable, Hashable {
    /// Send a text message.
    case send([UInt8])
    /// Send a ping frame, which the legacy protocol has instead of a message.
    case ping
    /// The server has acknowledged the connection.
    case acknowledged
    /// The operation was sent to the server.
    case began(Int)
    /// End an operation with errors: a list of them, or one.
    case failed(Int, errors: Range<Int>, isList: Bool)
    /// End an operation.
    case complete(Int)
    /// Close the connection, which ends all operations. The session is over.
    case close(SocketClose)
    /// The server rejected the connection, with this payload. The session is over.
    case rejected(payload: Range<Int>?)

    /// Whether it ends an operation.
    package var endsOperation: Bool {
      switch self {
      case .failed, .complete: true
      case .send, .ping, .acknowledged, .began, .close, .rejected: false
      }
    }
  }

  private enum State {
    case handshake, opening, open, over
  }

  private let durations: Durations
  private let parameters: [UInt8]?
  private var subprotocol = Subprotocol.transport
  private var state = State.handshake
  /// The operations that wait for the acknowledgement, in order, with their payload.
  private var waiting: [(id: Int, payload: [UInt8])] = []
  private var running: Set<Int> = []
  private var acknowledgementDue: Duration?
  private var pingDue: Duration?
  private var pongDue: Duration?
  private var idleDue: Duration?
  private var isPaused = false

  /// - Parameters:
  ///   - parameters: The payload of `connection_init`, a JSON object; `nil` sends none.
  ///   - durations: The time limits.
  package init(parameters: [UInt8]?, durations: Durations) {
    self.parameters = parameters
    self.durations = durations
  }

  /// Whether operations can begin.
  package var isOver: Bool { if case .over = state { true } else { false } }

  /// Whether the server has acknowledged the connection.
  package var isOpen: Bool { if case .open = state { true } else { false } }

  /// The number of operations that have not ended.
  package var count: Int { waiting.count + running.count }

  /// The time of the next ``check(at:)``.
  package var due: Duration? {
    let answer = Self.earliest(acknowledgementDue, isPaused ? nil : pongDue)
    return Self.earliest(answer, Self.earliest(pingDue, idleDue))
  }

  /// The earlier one of two times, if there are any.
  package static func earliest(_ one: Duration?, _ other: Duration?) -> Duration? {
    guard let one, let other else { return one ?? other }
    return min(one, other)
  }

  /// The close for a subprotocol that the server chose, or `nil` if it is one that this client speaks. A server
  /// that chooses none may speak the one that was offered first.
  package static func refusal(of name: String?, offered: [Subprotocol]) -> SocketClose? {
    guard let name, !offered.contains(where: { $0.rawValue == name }) else { return nil }
    return SocketClose(
      SocketClose.OwnCode.subprotocol, "Subprotocol not acceptable", isOwn: true)
  }
}

// MARK: The owner's side

extension SocketSession {
  /// The handshake has ended.
  package mutating func opened(_ subprotocol: Subprotocol, at now: Duration) -> [Action] {
    guard case .handshake = state else { return [] }
    self.subprotocol = subprotocol
    state = .opening
    acknowledgementDue = now + durations.acknowledgement
    return [.send(Self.message("connection_init", payload: parameters))]
  }

  /// Begins an operation.
  ///
  /// - Parameters:
  ///   - id: A number that no other operation of the connection has or had.
  ///   - payload: The request, a JSON object.
  package mutating func begin(_ id: Int, _ payload: [UInt8]) -> [Action] {
    guard !isOver else { return [] }
    idleDue = nil
    guard isOpen else {
      waiting.append((id, payload))
      return []
    }
    return start(id, payload)
  }

  /// Ends an operation whose results are not wanted any more.
  package mutating func end(_ id: Int, at now: Duration) -> [Action] {
    guard !isOver else { return [] }
    if let index = waiting.firstIndex(where: { $0.id == id }) {
      waiting.remove(at: index)
      noteEnd(now)
      return []
    }
    guard running.remove(id) != nil else { return [] }
    noteEnd(now)
    return [.send(Self.message(subprotocol == .legacy ? "stop" : "complete", id: id))]
  }

  /// Closes the connection: ends the operations, then the connection.
  package mutating func shutDown() -> [Action] {
    guard !isOver else { return [] }
    // None runs before the connection is open.
    var actions = running.sorted().map {
      Action.send(Self.message(subprotocol == .legacy ? "stop" : "complete", id: $0))
    }
    if isOpen, subprotocol == .legacy {
      actions.append(.send(Self.message("connection_terminate")))
    }
    return actions + close(SocketClose.OwnCode.normal, "")
  }

  /// Notes whether the owner reads from the connection: a pong that is not read is not late.
  package mutating func setPaused(_ isPaused: Bool, at now: Duration) {
    if self.isPaused, !isPaused, pongDue != nil { pongDue = now + durations.pong }
    self.isPaused = isPaused
  }

  /// Notes that the connection was closed, or could not be opened.
  package mutating func closed() {
    state = .over
    waiting = []
    running = []
    (acknowledgementDue, pingDue, pongDue, idleDue) = (nil, nil, nil, nil)
  }

  /// Does what is due.
  package mutating func check(at now: Duration) -> [Action] {
    guard !isOver else { return [] }
    if let acknowledgementDue, acknowledgementDue <= now {
      return close(SocketClose.OwnCode.noAcknowledgement, "Connection acknowledgement timeout")
    }
    if let pongDue, pongDue <= now, !isPaused {
      return close(SocketClose.OwnCode.noPong, "Terminated")
    }
    if let idleDue, idleDue <= now { return shutDown() }
    guard let pingDue, pingDue <= now else { return [] }
    self.pingDue = now + durations.keepAlive
    if pongDue == nil { pongDue = now + durations.pong }
    return [subprotocol == .legacy ? .ping : .send(Self.message("ping"))]
  }

  private mutating func start(_ id: Int, _ payload: [UInt8]) -> [Action] {
    running.insert(id)
    let type = subprotocol == .legacy ? "start" : "subscribe"
    return [.send(Self.message(type, id: id, payload: payload)), .began(id)]
  }

  private mutating func noteEnd(_ now: Duration) {
    if count == 0 { idleDue = now + durations.idle }
  }

  private mutating func close(_ code: Int, _ reason: String) -> [Action] {
    closed()
    return [.close(SocketClose(code, reason, isOwn: true))]
  }

  private static func message(
    _ type: String, id: Int? = nil, payload: [UInt8]? = nil
  ) -> [UInt8] {
    var message = Array("{".utf8)
    if let id { message += Array(#""id":"\#(id)","#.utf8) }
    message += Array(#""type":"\#(type)""#.utf8)
    if let payload { message += Array(#","payload":"#.utf8) + payload }
    message.append(UInt8(ascii: "}"))
    return message
  }
}

// MARK: The server's side

extension SocketSession {
  /// A pong frame has arrived.
  package mutating func receivedPong() { pongDue = nil }

  /// A text message has arrived.
  package mutating func received(
    _ text: UnsafeRawBufferPointer, at now: @autoclosure () -> Duration
  ) -> Received {
    guard !isOver else { return .actions([]) }
    guard (try? UTF8Span(validating: text.bindMemory(to: UInt8.self).span)) != nil else {
      return .actions(close(SocketClose.OwnCode.invalidText, "Text is not UTF-8"))
    }
    do throws(StreamError) {
      let message = try SocketMessage(text)
      if isOpen, message.type == (subprotocol == .legacy ? "data" : "next") {
        return try result(message)
      }
      return .actions(try actions(for: message, text, at: now()))
    } catch {
      return .actions(badResponse(error.message))
    }
  }

  /// A binary message has arrived, which no GraphQL protocol has.
  package mutating func receivedBinary() -> [Action] {
    isOver ? [] : badResponse("a message is not text")
  }

  private mutating func badResponse(_ reason: String) -> [Action] {
    close(SocketClose.OwnCode.badResponse, "Bad response: \(reason)")
  }

  private mutating func actions(
    for message: SocketMessage, _ text: UnsafeRawBufferPointer, at now: Duration
  ) throws(StreamError) -> [Action] {
    switch (message.type, subprotocol) {
    case ("ping", .transport):
      let payload = message.payload.map { Array(text[$0]) }
      return [.send(Self.message("pong", payload: payload))]
    case ("pong", .transport):
      pongDue = nil
      return []
    // Liveness follows from ping frames, whatever the server's interval is.
    case ("ka", .legacy): return []
    case ("connection_error", .legacy):
      closed()
      return [.rejected(payload: message.payload)]
    case ("connection_ack", _) where !isOpen: return acknowledged(at: now)
    case _ where !isOpen:
      throw StreamError(.malformed, "the first message cannot be of the type `\(message.type)`")
    case ("connection_ack", _): return []
    case ("error", .transport) where !message.hasList:
      throw StreamError(.malformed, "the payload of `error` is not a list")
    case ("error", _): return try failed(message, at: now)
    case ("complete", _): return try complete(message, at: now)
    default: throw StreamError(.malformed, "there is no type `\(message.type)` of messages")
    }
  }

  private mutating func acknowledged(at now: Duration) -> [Action] {
    state = .open
    acknowledgementDue = nil
    pingDue = now + durations.keepAlive
    let begun = waiting
    waiting = []
    return [.acknowledged] + begun.flatMap { start($0.id, $0.payload) }
  }

  private func result(_ message: SocketMessage) throws(StreamError) -> Received {
    try requireID(message)
    guard let payload = message.payload, message.hasObject else {
      throw StreamError(.malformed, "the payload of `\(message.type)` is not an object")
    }
    guard let id = message.id, running.contains(id) else { return .actions([]) }
    return .result(id, payload: payload)
  }

  private mutating func failed(
    _ message: SocketMessage, at now: Duration
  ) throws(StreamError) -> [Action] {
    try requireID(message)
    guard let errors = message.payload, message.hasList || message.hasObject else {
      throw StreamError(.malformed, "the payload of `error` is not an error")
    }
    guard let id = message.id, running.remove(id) != nil else { return [] }
    noteEnd(now)
    return [.failed(id, errors: errors, isList: message.hasList)]
  }

  private mutating func complete(
    _ message: SocketMessage, at now: Duration
  ) throws(StreamError) -> [Action] {
    try requireID(message)
    guard let id = message.id, running.remove(id) != nil else { return [] }
    noteEnd(now)
    return [.complete(id)]
  }

  private func requireID(_ message: SocketMessage) throws(StreamError) {
    guard message.hasID else {
      throw StreamError(.malformed, "a message of the type `\(message.type)` has no id")
    }
  }
}

/// The end of a WebSocket connection: its close code and reason.
///
/// - https://www.rfc-editor.org/rfc/rfc6455#section-7.4
/// - https://github.com/enisdenjo/graphql-ws/blob/master/PROTOCOL.md
package struct SocketClose: Error, Sendable, Hashable, CustomStringConvertible {
  /// The close code.
  package var code: Int
  /// The reason as it was sent: at most ``maxReasonBytes`` bytes.
  package var reason: String
  /// Whether this client closed the connection.
  package var isOwn: Bool

  /// The longest reason that a close frame can contain, in bytes.
  ///
  /// https://www.rfc-editor.org/rfc/rfc6455#section-5.5
  package static let maxReasonBytes = 123

  /// - Parameters:
  ///   - code: The close code.
  ///   - reason: The reason; what does not fit into a close frame is cut off.
  ///   - isOwn: Whether this client closes the connection.
  package init(_ code: Int, _ reason: String, isOwn: Bool = false) {
    self.code = code
    self.isOwn = isOwn
    var length = 0
    let fitting = reason.unicodeScalars.prefix { scalar in
      length += UTF8.width(scalar)
      return length <= Self.maxReasonBytes
    }
    self.reason = String(String.UnicodeScalarView(fitting))
  }

  /// Codes with which this client closes a connection.
  package enum OwnCode {
    package static let normal = 1000
    package static let protocolViolation = 1002
    package static let invalidText = 1007
    package static let tooLarge = 1009
    package static let badResponse = 4004
    package static let subprotocol = 4406
    package static let noPong = 4499
    package static let noAcknowledgement = 4504
  }

  private static let fatal: Set<Int> = [4500, 4005, 4400, 4004, 4401, 4406, 4409, 4429]
  private static let passing: Set<Int> = [1000, 1001, 1005, 1006, 1012, 1013, 1014]

  /// Whether a new connection would end in the same way, by the reference client's table.
  ///
  /// https://github.com/enisdenjo/graphql-ws/blob/master/src/client.ts
  package var isFatal: Bool {
    Self.fatal.contains(code) || (1000...1999).contains(code) && !Self.passing.contains(code)
  }

  /// Whether the server rejected the credentials of the connection.
  package var rejectsCredentials: Bool { !isOwn && (code == 4401 || code == 4403) }

  /// The code with its reason.
  package var description: String { reason.isEmpty ? "\(code)" : "\(code) \(reason)" }
}
