import HTTPTypes
import Hummingbird
import NIOCore

/// Deliberate failures of the server, to show how a client's chain handles them.
///
/// A request asks for them in the URL (`/graphql?status=503&times=2`) or in header fields
/// (`X-Demo-Status: 503`, `X-Demo-Times: 2`); the program sets them for all requests with
/// ``DemoServer/Configuration/misbehaviour`` or ``LiveDemoServer/misbehave(_:)``. The settings of a
/// request are merged with those of the program, and take precedence.
///
/// Applied in this order: the delay, the authorization, then the first of `html`, `status`, `empty`
/// and `garbage`, or else the regular response with `errors`, `contentType` and `truncate`.
///
/// A WebSocket connection is configured by its handshake. The delay is that of its acknowledgement,
/// `times` counts connections, the bearer token may also be the `Authorization` of the connection's
/// payload, and a setting that makes a request fail makes the handshake fail.
public struct Misbehaviour: Sendable, Hashable {
  /// The status of the response, 200 to 599. Unless it is a success, the body has a GraphQL error.
  public var status: Int?
  /// Limits the misbehaviour to this number of requests with the same ``key``; `nil` for no limit.
  public var times: Int?
  /// Limits the misbehaviour to every so many-th request with the same ``key``; `nil` for all of them.
  public var every: Int?
  /// The key by which ``times`` and ``every`` count requests; `nil` is the empty key.
  public var key: String?
  /// The delay before anything else; one minute at most.
  public var delay: Duration?
  /// The number of bytes of the body after which the connection is closed.
  public var truncate: Int?
  /// The bearer token of the header field `Authorization`; requests without it get a 401.
  public var auth: String?
  /// The `Retry-After` of failures, in seconds. On its own, the response is a 503.
  public var retryAfter: Int?
  /// Whether to respond with the HTML page of a proxy; with status 502 unless ``status`` is set.
  public var html = false
  /// The media type that the response claims to have.
  public var contentType: String?
  /// Whether to respond with an empty body.
  public var empty = false
  /// Whether to respond with a body that is not JSON.
  public var garbage = false
  /// Whether the first nullable field of the operation fails: partial data with an error.
  public var errors = false
  /// The delay after each part of a response in several parts; one minute at most.
  public var partDelay: Duration?
  /// The number of events of a subscription, or parts of a response, after which the connection is
  /// closed: with a close frame if ``closeCode`` is set, otherwise without.
  public var closeAfter: Int?
  /// The close code of a WebSocket connection, which is closed with it after ``closeAfter`` events
  /// or, without a number, as soon as it is acknowledged.
  public var closeCode: Int?
  /// The number of events or parts after which nothing is sent, and the connection stays open.
  public var stallAfter: Int?
  /// Whether a WebSocket connection is never acknowledged.
  public var noAck = false
  /// Whether neither pings of the protocol nor of WebSocket are answered.
  public var noPong = false
  /// The only subprotocol that WebSocket connections may use; `none` refuses all.
  public var subprotocol: String?

  /// No misbehaviour.
  public init() {}
}

extension Misbehaviour {
  /// A setting of a request, by its name in a URL.
  public struct Option: Sendable {
    /// The name of the URL parameter, such as `retry-after`; the header field is
    /// `X-Demo-Retry-After`.
    public let name: String
    /// A placeholder for the value, such as `SECONDS`; empty for a switch.
    public let placeholder: String
    /// The effect, in one sentence.
    public let help: String

    let apply: @Sendable (String, inout Misbehaviour) -> Bool
  }

  /// An unknown setting or an invalid value.
  public struct Failure: Error, Hashable, CustomStringConvertible {
    /// What is wrong, and what would work.
    public var message: String
    /// The message.
    public var description: String { message }
  }

  /// All options, in the order of the documentation.
  public static let options: [Option] = [
    Option("status", "CODE", sets: \.status, help: "Answer with this status, from 200 to 599.") {
      number($0, in: 200...599)
    },
    Option(
      "times", "N", sets: \.times, help: "Misbehave only for the first N requests of a key."
    ) { number($0) },
    Option("every", "N", sets: \.every, help: "Misbehave only for every Nth request of a key.") {
      number($0, in: 1...Int.max)
    },
    Option("key", "TEXT", sets: \.key, help: "What times and every count by.") {
      $0.utf8.count <= 200 ? $0 : nil
    },
    Option(
      "delay", "MILLISECONDS", sets: \.delay, help: "Wait before answering, 60000 at most."
    ) { delay($0) },
    Option(
      "truncate", "BYTES", sets: \.truncate, help: "Close the connection after BYTES of the body."
    ) { number($0) },
    Option(
      "auth", "TOKEN", sets: \.auth, help: "Answer 401 unless the request has this bearer token."
    ) { $0.isEmpty ? nil : $0 },
    Option(
      "retry-after", "SECONDS", sets: \.retryAfter,
      help: "Add Retry-After to a failure; alone it makes a 503."
    ) { number($0) },
    Option("html", sets: \.html, help: "Answer with a proxy's HTML page and 502."),
    Option(
      "content-type", "TYPE", sets: \.contentType,
      help: "Claim another media type for the answer."
    ) { HTTPField.isValidValue($0) && !$0.isEmpty ? $0 : nil },
    Option("empty", sets: \.empty, help: "Answer with an empty body."),
    Option("garbage", sets: \.garbage, help: "Answer with a body that is not JSON."),
    Option("errors", sets: \.errors, help: "Make the first nullable field fail: partial data."),
    Option(
      "part-delay", "MILLISECONDS", sets: \.partDelay,
      help: "Wait after each deferred part, 60000 at most."
    ) { delay($0) },
    Option(
      "close-after", "EVENTS", sets: \.closeAfter,
      help: "Close the connection after N events or parts."
    ) { number($0) },
    Option(
      "close-code", "CODE", sets: \.closeCode,
      help: "Close a WebSocket with this code, 1000 to 4999."
    ) { number($0, in: 1000...4999) },
    Option(
      "stall-after", "EVENTS", sets: \.stallAfter,
      help: "After N events or parts, send nothing, do not close."
    ) { number($0) },
    Option("no-ack", sets: \.noAck, help: "Never acknowledge a WebSocket connection."),
    Option("no-pong", sets: \.noPong, help: "Never answer a ping."),
    Option(
      "subprotocol", "NAME", sets: \.subprotocol,
      help: "Speak only this WebSocket subprotocol, or none."
    ) { value in
      let known = DemoSocketSession.Subprotocol.allCases.map(\.rawValue) + ["none"]
      return known.contains(value) ? value : nil
    },
  ]

  private static let headerPrefix = "x-demo-"

  /// Adds the settings of a request. Ignores the URL parameters of GraphQL itself, and throws for
  /// other unknown names.
  mutating func add(
    parameters: QueryParameters, headers: HTTPFields
  ) throws(Failure) {
    let known = OperationRequest.parameterNames + ReservedEventStreams.parameterNames
    for (name, value) in parameters.all where !known.contains(name) {
      try add(name, value)
    }
    for field in headers {
      let name = field.name.canonicalName
      guard name.hasPrefix(Self.headerPrefix) else { continue }
      try add(String(name.dropFirst(Self.headerPrefix.count)), field.value)
    }
  }

  /// Adds a setting as it is written in a URL, such as `status=503` or `html`.
  ///
  /// - Throws: ``Failure`` if there is no such option or the value is not one of its values.
  public mutating func add(_ setting: String) throws(Failure) {
    let sides = setting.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    try add(String(sides[0]), sides.count > 1 ? String(sides[1]) : "")
  }

  private mutating func add(_ name: String, _ value: String) throws(Failure) {
    guard let option = Self.options.first(where: { $0.name == name }) else {
      let known = Self.options.map(\.name).joined(separator: ", ")
      throw Failure(message: "The demo server has no option \"\(name)\". Its options: \(known).")
    }
    guard option.apply(value, &self) else {
      throw Failure(message: "\"\(value)\" is no value for the option \(name): \(option.help)")
    }
  }

  private static func number(_ value: String, in range: ClosedRange<Int> = 0...Int.max) -> Int? {
    Int(value).flatMap { range.contains($0) ? $0 : nil }
  }

  private static func delay(_ value: String) -> Duration? {
    number(value, in: 0...60_000).map { .milliseconds($0) }
  }
}

extension Misbehaviour.Option {
  /// An option with a value, which `parse` reads; it returns `nil` for any other text.
  fileprivate init<Setting>(
    _ name: String, _ placeholder: String,
    sets setting: any WritableKeyPath<Misbehaviour, Setting?> & Sendable, help: String,
    parse: @escaping @Sendable (String) -> Setting?
  ) {
    self.init(name: name, placeholder: placeholder, help: help) { text, misbehaviour in
      guard let value = parse(text) else { return false }
      misbehaviour[keyPath: setting] = value
      return true
    }
  }

  /// A switch.
  fileprivate init(
    _ name: String, sets setting: any WritableKeyPath<Misbehaviour, Bool> & Sendable, help: String
  ) {
    self.init(name: name, placeholder: "", help: help) { text, misbehaviour in
      switch text.lowercased() {
      case "", "1", "true", "yes", "on": misbehaviour[keyPath: setting] = true
      case "0", "false", "no", "off": misbehaviour[keyPath: setting] = false
      default: return false
      }
      return true
    }
  }
}

extension DemoResponder {
  /// Applies the misbehaviour in the order documented at ``Misbehaviour``.
  func misbehave(_ received: ReceivedRequest, answer: () -> Response) -> Response {
    let misbehaviour = received.misbehaviour
    if let token = misbehaviour.auth, received.request.headers[.authorization] != "Bearer \(token)"
    {
      return .unauthorized
    }
    var response = failure(misbehaviour) ?? answer()
    if let status = misbehaviour.status { response.status = HTTPResponse.Status(code: status) }
    if let seconds = misbehaviour.retryAfter, response.status.code >= 300 {
      response.headers[.retryAfter] = String(seconds)
    }
    if let type = misbehaviour.contentType { response.headers[.contentType] = type }
    if [204, 205, 304].contains(response.status.code) { response.body = ResponseBody() }
    if let limit = misbehaviour.truncate {
      response = truncated(response, to: limit, received.channel)
    }
    return counted(response)
  }

  /// The response that replaces the regular one; `nil` if none does.
  private func failure(_ misbehaviour: Misbehaviour) -> Response? {
    if misbehaviour.html {
      return Response(.badGateway, contentType: "text/html; charset=utf-8", Self.proxyPage)
    }
    if let code = misbehaviour.status ?? misbehaviour.retryAfter.map({ _ in 503 }), code >= 300 {
      let error = RequestError(code: "DEMO_STATUS", "The request asked for status \(code).")
      return Response(HTTPResponse.Status(code: code), error: error)
    }
    if misbehaviour.empty {
      return Response(json: "")
    }
    if misbehaviour.garbage {
      return Response(json: "{\"data\": oops, this is no JSON")
    }
    return nil
  }

  /// The response with its body cut off after `limit` bytes, although its head promises all of
  /// them.
  private func truncated(
    _ response: Response, to limit: Int, _ channel: any Channel
  ) -> Response {
    let body = response.body
    return Response(
      status: response.status, headers: response.headers,
      body: ResponseBody(contentLength: body.contentLength) { writer in
        let cut = CuttingWriter(base: writer, remaining: limit)
        do {
          try await body.write(cut)
        } catch let cut as CuttingWriter.Cut {
          // Written bytes are still sent before the connection's outgoing half closes.
          try await channel.close(mode: .output)
          throw cut
        }
      })
  }

  /// The response, with the bytes of its body counted in the log.
  private func counted(_ response: Response) -> Response {
    let log = state.log
    var response = response
    if let count = response.body.contentLength {
      log.noteWritten(count)
    } else {
      response.body = response.body.map { buffer in
        log.noteWritten(buffer.readableBytes)
        return buffer
      }
    }
    return response
  }

  private static let proxyPage = """
    <!DOCTYPE html>
    <html>
    <head><title>502 Bad Gateway</title></head>
    <body>
    <center><h1>502 Bad Gateway</h1></center>
    <hr><center>demo-proxy</center>
    </body>
    </html>

    """
}

extension Response {
  fileprivate static var unauthorized: Self {
    var response = Self(
      .unauthorized,
      error: RequestError(.unauthenticated, "The bearer token is missing or not the right one."))
    response.headers[.wwwAuthenticate] = "Bearer realm=\"demo\""
    return response
  }
}

/// Passes a number of bytes of a body on, then throws.
private struct CuttingWriter: ResponseBodyWriter {
  struct Cut: Error {}

  var base: any ResponseBodyWriter
  var remaining: Int

  mutating func write(_ buffer: ByteBuffer) async throws {
    var buffer = buffer
    if let head = buffer.readSlice(length: min(remaining, buffer.readableBytes)) {
      remaining -= head.readableBytes
      try await base.write(head)
    }
    if buffer.readableBytes > 0 { throw Cut() }
  }

  consuming func finish(_ trailingHeaders: HTTPFields?) async throws {
    try await base.finish(trailingHeaders)
  }
}
