import Testing

@testable import GQLRunLive

/// A session at one time, with texts instead of bytes.
private struct Peer {
  var session: SocketSession
  var now = Duration.zero

  init(
    _ subprotocol: SocketSession.Subprotocol? = .transport, parameters: String? = nil,
    isAcknowledged: Bool = true
  ) {
    session = SocketSession(
      parameters: parameters.map { Array($0.utf8) }, durations: .init(idle: .seconds(3)))
    guard let subprotocol else { return }
    _ = session.opened(subprotocol, at: now)
    if isAcknowledged { _ = receive(#"{"type":"connection_ack"}"#) }
  }

  mutating func received(_ bytes: [UInt8]) -> SocketSession.Received {
    bytes.withUnsafeBytes { session.received($0, at: now) }
  }

  mutating func received(_ text: String) -> SocketSession.Received { received(Array(text.utf8)) }

  /// The actions after a message that is no result.
  mutating func receive(_ bytes: [UInt8]) -> [SocketSession.Action] {
    guard case .actions(let actions) = received(bytes) else {
      Issue.record("\(String(decoding: bytes, as: UTF8.self)) is a result")
      return []
    }
    return actions
  }

  mutating func receive(_ text: String) -> [SocketSession.Action] { receive(Array(text.utf8)) }

  mutating func begin(_ id: Int) -> [SocketSession.Action] {
    session.begin(id, Array(#"{"query":"{a}"}"#.utf8))
  }

  mutating func check(at seconds: Double) -> [SocketSession.Action] {
    now = .seconds(seconds)
    return session.check(at: now)
  }
}

extension [SocketSession.Action] {
  /// The texts of the sent messages.
  fileprivate var sent: [String] {
    compactMap {
      if case .send(let text) = $0 { String(decoding: text, as: UTF8.self) } else { nil }
    }
  }
  fileprivate var close: SocketClose? {
    lazy.compactMap { if case .close(let close) = $0 { close } else { nil } }.first
  }
}

@Suite("A GraphQL session over WebSocket")
struct SocketSessionTests {
  @Test(
    "a message has one meaning in the form that is read fast, and in any other",
    arguments: [
      (Array(#"{"type":"next","id":"7","payload":{"data":{}}}"#.utf8), "next"),
      (Array("{\"type\":\"a\u{e9}\"}".utf8), "a\u{e9}"),
      (Array(#"{"type":"a"#.utf8) + [0x9a] + Array(#""}"#.utf8), ""),
    ] as [([UInt8], String)])
  func forms(bytes: [UInt8], type: String) throws {
    try bytes.withUnsafeBytes { bytes in
      let message = try SocketMessage(bytes)
      let general = try SocketMessage(anyForm: bytes)
      #expect(message == general)
      #expect(message.type == type)
    }
  }

  @Test("sends operations once the server has acknowledged the connection")
  func acknowledgement() {
    var peer = Peer(nil)
    #expect(peer.begin(1).isEmpty)
    #expect(
      peer.session.opened(.transport, at: .zero).sent == [#"{"type":"connection_init"}"#])
    #expect(peer.begin(2).isEmpty)
    let actions = peer.receive(#"{"payload":{"any":1},"type":"connection_ack"}"#)
    #expect(
      actions.sent == [
        #"{"id":"1","type":"subscribe","payload":{"query":"{a}"}}"#,
        #"{"id":"2","type":"subscribe","payload":{"query":"{a}"}}"#,
      ])
    #expect(actions.first == .acknowledged && actions.contains(.began(2)))
    #expect(peer.begin(3).contains(.began(3)))
  }

  @Test("sends the connection parameters")
  func parameters() {
    var peer = Peer(nil, parameters: #"{"token":"t"}"#)
    #expect(
      peer.session.opened(.legacy, at: .zero).sent
        == [#"{"type":"connection_init","payload":{"token":"t"}}"#])
  }

  @Test(
    "finds the payload in members of any order, and with escapes in type and id",
    arguments: [
      #"{"id":"1","type":"next","payload":{"data":{"a":"}"}}}"#,
      #"{"payload":{"data":{"a":"}"}},"id":"1","type":"next"}"#,
      #"{"type":"ne\u0078t","id":"\u0031","payload":{"data":{"a":"}"}}}"#,
      #" { "type" : "next" , "more" : [1,{}], "payload" : {"data":{"a":"}"}} , "id" : "1" } "#,
    ])
  func order(_ text: String) throws {
    var peer = Peer()
    _ = peer.begin(1)
    let received = peer.received(text)
    guard case .result(1, let payload) = received else {
      Issue.record("\(received)")
      return
    }
    #expect(String(decoding: Array(text.utf8)[payload], as: UTF8.self) == #"{"data":{"a":"}"}}"#)
  }

  @Test(
    "closes with 4004 if the first message is not an acknowledgement, ping or pong",
    arguments: SocketSession.Subprotocol.allCases)
  func firstMessage(_ subprotocol: SocketSession.Subprotocol) {
    var peer = Peer(subprotocol, isAcknowledged: false)
    let close = peer.receive(#"{"type":"next","id":"1","payload":{}}"#).close
    #expect(close?.code == 4004)
    #expect(close?.reason == "Bad response: the first message cannot be of the type `next`")
    #expect(peer.session.isOver)
    #expect(peer.receive(#"{"type":"connection_ack"}"#).isEmpty)
  }

  @Test("accepts pings and pongs before the acknowledgement")
  func earlyPing() {
    var peer = Peer(isAcknowledged: false)
    #expect(peer.receive(#"{"type":"ping"}"#).sent == [#"{"type":"pong"}"#])
    #expect(peer.receive(#"{"type":"pong","payload":{"a":1}}"#).isEmpty)
    #expect(peer.receive(#"{"type":"connection_ack"}"#) == [.acknowledged])
  }

  @Test(
    "closes with 4004 on what is not a message",
    arguments: [
      "nonsense", "", "[]", "{", #"{"type":"next"} x"#, "{}", #"{"type":7}"#,
      #"{"type":"unheard","id":"1"}"#, #"{"type":"next","payload":{}}"#,
      #"{"type":"next","id":"1"}"#, #"{"type":"next","id":"1","payload":[]}"#,
      #"{"type":"next","id":"1","payload":{},"payload":{}}"#,
      #"{"type":"error","id":"1","payload":{"message":"m"}}"#, #"{"type":"complete"}"#,
    ])
  func badMessage(_ text: String) {
    var peer = Peer()
    _ = peer.begin(1)
    let close = peer.receive(text).close
    #expect(close?.code == 4004, "\(text)")
    #expect(close?.isFatal == true)
    #expect((close?.reason.utf8.count ?? 999) <= 123)
  }

  @Test("closes with 1007 on text that is not UTF-8, and with 4004 on bytes")
  func notText() {
    var peer = Peer()
    let text = Array(#"{"type":"ping","payload":{"a":""#.utf8) + [0xC3, 0x28] + Array(#""}}"#.utf8)
    #expect(peer.receive(text).close?.code == 1007)
    var other = Peer()
    #expect(other.session.receivedBinary().close?.code == 4004)
  }

  @Test("cuts off the reason of a close that is too long")
  func longReason() {
    let close = SocketClose(4004, String(repeating: "ü", count: 100))
    #expect(close.reason == String(repeating: "ü", count: 61))
  }

  @Test("ignores messages for unknown ids, and after the end of an operation")
  func unknownID() {
    var peer = Peer()
    _ = peer.begin(1)
    for id in ["7", "01", "+1", #"\u002b1"#, ""] {
      #expect(peer.receive(#"{"type":"next","id":"\#(id)","payload":{}}"#).isEmpty)
      #expect(peer.receive(#"{"type":"complete","id":"\#(id)"}"#).isEmpty)
    }
    #expect(peer.receive(#"{"type":"error","id":"x","payload":[]}"#).isEmpty)
    #expect(peer.receive(#"{"type":"complete","id":"1"}"#) == [.complete(1)])
    #expect(peer.receive(#"{"type":"complete","id":"1"}"#).isEmpty)
    #expect(peer.receive(#"{"type":"next","id":"1","payload":{}}"#).isEmpty)
  }

  @Test("ends an operation with its errors, without a further message")
  func error() {
    var peer = Peer()
    _ = peer.begin(1)
    let text = #"{"type":"error","payload":[{"message":"m"}],"id":"1"}"#
    #expect(peer.receive(text) == [.failed(1, errors: 26..<43, isList: true)])
    #expect(peer.session.end(1, at: .zero).isEmpty)
    #expect(peer.session.count == 0)
  }

  @Test("completes an operation that the caller has left, but not one that was not sent")
  func leave() {
    var peer = Peer(isAcknowledged: false)
    _ = peer.begin(1)
    _ = peer.begin(2)
    #expect(peer.session.end(1, at: .zero).isEmpty)
    #expect(peer.receive(#"{"type":"connection_ack"}"#).contains(.began(2)))
    #expect(peer.session.end(2, at: .zero).sent == [#"{"id":"2","type":"complete"}"#])
    #expect(peer.session.end(2, at: .zero).isEmpty)
    #expect(peer.receive(#"{"type":"next","id":"2","payload":{}}"#).isEmpty)
  }

  @Test("answers a ping with its payload, and a pong with nothing")
  func ping() {
    var peer = Peer()
    #expect(
      peer.receive(#"{"type":"ping","payload":{"a":[1]}}"#).sent
        == [#"{"type":"pong","payload":{"a":[1]}}"#])
    #expect(peer.receive(#"{"type":"pong"}"#).isEmpty)
  }

  @Test("sends a ping every 20 seconds, and closes with 4499 without a pong within 10")
  func keepAlive() {
    var peer = Peer()
    _ = peer.begin(1)
    #expect(peer.session.due == .seconds(20))
    #expect(peer.check(at: 19.9).isEmpty)
    #expect(peer.check(at: 20).sent == [#"{"type":"ping"}"#])
    _ = peer.receive(#"{"type":"pong"}"#)
    #expect(peer.session.due == .seconds(40))
    #expect(peer.check(at: 40).sent == [#"{"type":"ping"}"#])
    #expect(peer.session.due == .seconds(50))
    let close = peer.check(at: 50).close
    #expect(close?.code == 4499)
    #expect(close?.isFatal == false)
  }

  @Test("does not expect a pong while nothing is read")
  func paused() {
    var peer = Peer()
    _ = peer.begin(1)
    _ = peer.check(at: 20)
    peer.session.setPaused(true, at: .seconds(21))
    #expect(peer.check(at: 39).isEmpty)
    peer.session.setPaused(false, at: .seconds(39))
    #expect(peer.session.due == .seconds(40))
    #expect(peer.check(at: 40).close == nil)
    #expect(peer.check(at: 49).close?.code == 4499)
  }

  @Test("closes with 4504 without an acknowledgement within 10 seconds")
  func acknowledgementTimeout() {
    var peer = Peer(isAcknowledged: false)
    _ = peer.begin(1)
    #expect(peer.check(at: 9.9).isEmpty)
    let close = peer.check(at: 10).close
    #expect(close?.code == 4504)
    #expect(close?.isFatal == false)
  }

  @Test("closes after the last operation, unless another one begins")
  func debounce() {
    var peer = Peer()
    _ = peer.begin(1)
    _ = peer.receive(#"{"type":"complete","id":"1"}"#)
    #expect(peer.session.due == .seconds(3))
    peer.now = .seconds(2)
    _ = peer.begin(2)
    #expect(peer.check(at: 4).isEmpty)
    _ = peer.session.end(2, at: .seconds(4))
    #expect(peer.check(at: 6.9).isEmpty)
    #expect(peer.check(at: 7).close?.code == 1000)
  }

  @Test("completes what runs before it shuts down")
  func shutDown() {
    var peer = Peer()
    _ = peer.begin(1)
    let actions = peer.session.shutDown()
    #expect(actions.sent == [#"{"id":"1","type":"complete"}"#])
    #expect(actions.close?.code == 1000)
    var legacy = Peer(.legacy)
    _ = legacy.begin(1)
    #expect(
      legacy.session.shutDown().sent
        == [#"{"id":"1","type":"stop"}"#, #"{"type":"connection_terminate"}"#])
  }

  @Test("speaks the legacy protocol")
  func legacy() {
    var peer = Peer(.legacy, isAcknowledged: false)
    #expect(peer.receive(#"{"type":"ka"}"#).isEmpty)
    _ = peer.begin(1)
    #expect(
      peer.receive(#"{"type":"connection_ack"}"#).sent
        == [#"{"id":"1","type":"start","payload":{"query":"{a}"}}"#])
    #expect(
      peer.received(#"{"type":"data","id":"1","payload":{}}"#) == .result(1, payload: 34..<36))
    #expect(
      peer.receive(#"{"type":"error","id":"1","payload":{"message":"m"}}"#)
        == [.failed(1, errors: 35..<50, isList: false)])
    _ = peer.begin(2)
    #expect(peer.session.end(2, at: .zero).sent == [#"{"id":"2","type":"stop"}"#])
    _ = peer.begin(3)
    #expect(peer.check(at: 20) == [.ping])
    peer.session.receivedPong()
    #expect(peer.session.due == .seconds(40))
  }

  @Test("passes on why a legacy server rejected the connection")
  func connectionError() {
    var peer = Peer(.legacy, isAcknowledged: false)
    #expect(
      peer.receive(#"{"type":"connection_error","payload":{"message":"no"}}"#)
        == [.rejected(payload: 37..<53)])
    #expect(peer.session.isOver)
  }

  @Test(
    "knows which closes a new connection would not change",
    arguments: [
      (1000, false), (1001, false), (1002, true), (1005, false), (1006, false), (1007, true),
      (1009, true), (1011, true), (1012, false), (1013, false), (1014, false), (1015, true),
      (3000, false), (4004, true), (4005, true), (4400, true), (4401, true), (4403, false),
      (4406, true), (4408, false), (4409, true), (4429, true), (4499, false), (4500, true),
      (4504, false), (4999, false),
    ])
  func fatal(_ code: Int, _ isFatal: Bool) {
    #expect(SocketClose(code, "").isFatal == isFatal)
  }

  @Test(
    "reads a message in its usual form as it reads any other",
    arguments: [
      #"{"id":"1","type":"next","payload":{"data":{"a":"}\"]{","b":[{}]}}"#,
      #"{"payload": {"data": {"a": "\\"}}, "type": "next", "id": "1""#,
      #" { "type" : "next" , "payload" : {"data":null} , "id" : "1" "#,
      #"{"id":"1","type":"error","payload":[{"message":"no [data]"}]"#,
      #"{"id":"1","type":"error","payload":{"message":"no list"}"#,
      #"{"id":"1","type":"complete""#,
      #"{"id":"2","type":"next","payload":{}"#,
      #"{"id":"x","type":"next","payload":{}"#,
      #"{"type":"next","payload":{}"#,
      #"{"id":"1","type":"next","payload":null"#,
      #"{"id":"1","type":"next","payload":"text""#,
      #"{"id":"1","id":"2","type":"next","payload":{}"#,
      #"{"id":"1","type":"next","payload":{},"payload":{}"#,
      #"{"id":"1","type":"next","payload":{"#,
      #"{"id":"1","type":"next","payload":{"a":"\"#,
    ])
  func usualForm(_ message: String) {
    var (usual, other) = (Peer(), Peer())
    _ = (usual.begin(1), other.begin(1))
    // Members that no protocol has are ignored, but such a message has no usual form.
    #expect(usual.received(message + "}") == other.received(message + #","more":1}"#))
  }

  @Test("refuses what follows a message")
  func textBehindMessage() {
    var peer = Peer()
    _ = peer.begin(1)
    let actions = peer.receive(#"{"id":"1","type":"next","payload":{}} {}"#)
    guard case .close(let close) = actions.first else {
      Issue.record("\(actions)")
      return
    }
    #expect(close.code == 4004)
  }

  @Test("refuses a subprotocol that was not offered")
  func subprotocol() {
    #expect(SocketSession.refusal(of: nil, offered: [.transport]) == nil)
    #expect(SocketSession.refusal(of: "graphql-ws", offered: [.transport, .legacy]) == nil)
    #expect(SocketSession.refusal(of: "graphql-ws", offered: [.transport])?.code == 4406)
    #expect(SocketSession.refusal(of: "mqtt", offered: [.transport, .legacy])?.code == 4406)
  }
}
