import GQLRunJSON

/// The state of one WebSocket connection in one of the two subprotocols, without a network.
///
/// Reads the client's messages and tells what follows from them.
///
/// - https://github.com/enisdenjo/graphql-ws
/// - https://github.com/apollographql/subscriptions-transport-ws
struct DemoSocketSession: Sendable {
  /// The protocols that a handshake can select.
  enum Subprotocol: String, Sendable, CaseIterable {
    case transport = "graphql-transport-ws"
    case legacy = "graphql-ws"
  }

  /// A close code with its reason.
  struct Close: Sendable, Hashable {
    var code: Int
    var reason: String

    static let normal = Self(code: 1000, reason: "")
    static let notText = Self(code: 1003, reason: "A message is text")
    static let invalidText = Self(code: 1007, reason: "A message is not valid UTF-8")
    static let tooLarge = Self(code: 1009, reason: "Message too large")
    static let unauthorized = Self(code: 4401, reason: "Unauthorized")
    static let forbidden = Self(code: 4403, reason: "Forbidden")
    static let subprotocol = Self(code: 4406, reason: "Subprotocol not acceptable")
    static let timeout = Self(code: 4408, reason: "Connection initialisation timeout")
    static let secondInit = Self(code: 4429, reason: "Too many initialisation requests")

    /// A reason that is too long for a close frame is cut.
    static func invalid(_ message: String) -> Self {
      Self(code: 4400, reason: String(message.prefix(100)))
    }
  }

  /// A consequence of a message.
  enum Step: Sendable {
    /// Check the credentials in the payload, then call ``accept()`` or ``refuse()``.
    case authenticate(JSONValue)
    case send([UInt8])
    case start(id: String, OperationRequest)
    case stop(id: String)
    case close(Close)
  }

  enum State {
    case new, initializing, ready
  }

  /// The maximum length of an operation's id in bytes.
  static let maxIDBytes = 256

  let subprotocol: Subprotocol
  let maxOperations: Int
  let answersPings: Bool
  private(set) var state = State.new
  private(set) var operations: Set<String> = []

  /// Whether the client has sent its initialization.
  var isInitialized: Bool { state != .new }

  /// Accepts the client; returns the messages to send.
  mutating func accept() -> [[UInt8]] {
    state = .ready
    let acknowledgement = message("connection_ack")
    return subprotocol == .legacy ? [acknowledgement, message("ka")] : [acknowledgement]
  }

  /// Refuses the client.
  func refuse() -> [Step] {
    let refusal = RequestError(
      .unauthenticated, "The credentials are missing or not the right ones.")
    switch subprotocol {
    case .transport: return [.close(.forbidden)]
    case .legacy:
      return [
        .send(message("connection_error", payload: refusal.json().jsonText())), .close(.forbidden),
      ]
    }
  }

  /// Notes that an operation has ended, so that its id may be used again.
  mutating func end(_ id: String) { operations.remove(id) }

  /// Reads a message of the client.
  mutating func receive(_ text: [UInt8]) -> [Step] {
    guard let json = try? JSONValue(parsing: text), let members = json.objectValue else {
      return [.close(.invalid("A message is not a JSON object"))]
    }
    guard let type = members["type"]?.stringValue else {
      return [.close(.invalid("A message has no type"))]
    }
    switch subprotocol {
    case .transport: return transport(type, members)
    case .legacy: return legacy(type, members)
    }
  }

  // MARK: graphql-transport-ws

  private mutating func transport(_ type: String, _ members: JSONObject) -> [Step] {
    switch type {
    case "connection_init":
      guard state == .new else { return [.close(.secondInit)] }
      state = .initializing
      return [.authenticate(members["payload"] ?? .null)]
    case "ping":
      guard answersPings else { return [] }
      return [.send(message("pong", payload: members["payload"]?.jsonText()))]
    case "pong": return []
    case "subscribe":
      guard state == .ready else { return [.close(.unauthorized)] }
      guard let id = id(members) else { return [.close(.invalid("A message has no valid id"))] }
      guard !operations.contains(id) else {
        let shown = id.prefix(32)
        return [.close(Close(code: 4409, reason: "Subscriber for \(shown) already exists"))]
      }
      let request: OperationRequest
      do throws(RequestError) {
        request = try OperationRequest(payload: members["payload"])
      } catch {
        return [.close(.invalid(error.message))]
      }
      return start(id, request)
    case "complete":
      guard let id = id(members) else { return [.close(.invalid("A message has no valid id"))] }
      return operations.remove(id) == nil ? [] : [.stop(id: id)]
    default:
      return [.close(.invalid("Unknown message type \(type.prefix(32))"))]
    }
  }

  // MARK: graphql-ws, the older one

  private mutating func legacy(_ type: String, _ members: JSONObject) -> [Step] {
    switch type {
    case "connection_init":
      state = .initializing
      return [.authenticate(members["payload"] ?? .null)]
    case "connection_terminate": return [.close(.normal)]
    case "start":
      guard let id = id(members) else { return [.close(.invalid("A message has no valid id"))] }
      guard state == .ready else {
        return [.send(error([.badRequest("The connection is not initialized.")], of: id))]
      }
      do throws(RequestError) {
        let request = try OperationRequest(payload: members["payload"])
        let replaced = operations.remove(id) == nil ? [] : [Step.stop(id: id)]
        return replaced + start(id, request)
      } catch {
        return [.send(self.error([error], of: id))]
      }
    case "stop":
      guard let id = id(members), operations.remove(id) != nil else { return [] }
      return [.stop(id: id), .send(complete(id))]
    default:
      let unknown = RequestError.badRequest("Unknown message type \(type.prefix(32)).")
      guard let id = id(members) else { return [.close(.invalid(unknown.message))] }
      return [.send(error([unknown], of: id))]
    }
  }

  private mutating func start(_ id: String, _ request: OperationRequest) -> [Step] {
    guard operations.count < maxOperations else {
      let refusal = RequestError.badRequest(
        "A connection has at most \(maxOperations) operations at a time.")
      return [.send(error([refusal], of: id))]
    }
    operations.insert(id)
    return [.start(id: id, request)]
  }

  private func id(_ members: JSONObject) -> String? {
    guard let id = members["id"]?.stringValue, !id.isEmpty, id.utf8.count <= Self.maxIDBytes
    else { return nil }
    return id
  }

  // MARK: Messages

  /// A response of an operation.
  func next(_ response: [UInt8], of id: String) -> [UInt8] {
    let type = subprotocol == .transport ? "next" : "data"
    let head = #"{"id":\#(JSONValue.string(id).jsonText()),"type":"\#(type)","payload":"#
    return Array(head.utf8) + response + [UInt8(ascii: "}")]
  }

  /// The errors of an operation that is not executed; the older protocol has room for one.
  func error(_ errors: [RequestError], of id: String) -> [UInt8] {
    let all = errors.map { $0.json().jsonText() }
    let payload =
      subprotocol == .transport ? "[\(all.joined(separator: ","))]" : all.first ?? "null"
    return message("error", id: id, payload: payload)
  }

  func complete(_ id: String) -> [UInt8] { message("complete", id: id) }

  /// The sign of life between two messages; `nil` if the protocol leaves it to WebSocket's pings.
  var keepAlive: [UInt8]? { subprotocol == .legacy ? message("ka") : nil }

  private func message(_ type: String, id: String? = nil, payload: String? = nil) -> [UInt8] {
    var text = "{"
    if let id { text += #""id":\#(JSONValue.string(id).jsonText()),"# }
    text += #""type":"\#(type)""#
    if let payload { text += #","payload":\#(payload)"# }
    return Array((text + "}").utf8)
  }
}
