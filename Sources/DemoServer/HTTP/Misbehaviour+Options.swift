import HTTPTypes

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
    Option(
      name: "status", placeholder: "CODE",
      help: "Answer with this status, from 200 to 599."
    ) { value, result in
      assign(Int(value).flatMap { (200...599).contains($0) ? $0 : nil }, to: &result.status)
    },
    Option(
      name: "times", placeholder: "N",
      help: "Misbehave only for the first N requests of a key."
    ) { value, result in
      assign(count(value), to: &result.times)
    },
    Option(name: "key", placeholder: "TEXT", help: "What times counts by.") { value, result in
      assign(value.utf8.count <= 200 ? value : nil, to: &result.key)
    },
    Option(
      name: "delay", placeholder: "MILLISECONDS",
      help: "Wait before answering, 60000 at most."
    ) { value, result in
      assign(
        count(value).flatMap { $0 <= 60_000 ? Duration.milliseconds($0) : nil }, to: &result.delay)
    },
    Option(
      name: "truncate", placeholder: "BYTES",
      help: "Close the connection after BYTES of the body."
    ) { value, result in
      assign(count(value), to: &result.truncate)
    },
    Option(
      name: "auth", placeholder: "TOKEN",
      help: "Answer 401 unless the request has this bearer token."
    ) { value, result in
      assign(value.isEmpty ? nil : value, to: &result.auth)
    },
    Option(
      name: "retry-after", placeholder: "SECONDS",
      help: "Add Retry-After to a failure; alone it makes a 503."
    ) { value, result in
      assign(count(value), to: &result.retryAfter)
    },
    Option(
      name: "html", placeholder: "",
      help: "Answer with a proxy's HTML page and 502."
    ) { value, result in
      assign(flag(value), to: &result.html)
    },
    Option(
      name: "content-type", placeholder: "TYPE",
      help: "Claim another media type for the answer."
    ) { value, result in
      assign(HTTPField.isValidValue(value) && !value.isEmpty ? value : nil, to: &result.contentType)
    },
    Option(name: "empty", placeholder: "", help: "Answer with an empty body.") { value, result in
      assign(flag(value), to: &result.empty)
    },
    Option(
      name: "garbage", placeholder: "", help: "Answer with a body that is not JSON."
    ) { value, result in
      assign(flag(value), to: &result.garbage)
    },
    Option(
      name: "errors", placeholder: "",
      help: "Make the first nullable field fail: partial data."
    ) { value, result in
      assign(flag(value), to: &result.errors)
    },
    Option(
      name: "part-delay", placeholder: "MILLISECONDS",
      help: "Wait after each deferred part, 60000 at most."
    ) { value, result in
      assign(
        count(value).flatMap { $0 <= 60_000 ? Duration.milliseconds($0) : nil },
        to: &result.partDelay)
    },
    Option(
      name: "close-after", placeholder: "EVENTS",
      help: "Close the connection after N events or parts."
    ) { value, result in
      assign(count(value), to: &result.closeAfter)
    },
    Option(
      name: "close-code", placeholder: "CODE",
      help: "Close a WebSocket with this code, 1000 to 4999."
    ) { value, result in
      assign(Int(value).flatMap { (1000...4999).contains($0) ? $0 : nil }, to: &result.closeCode)
    },
    Option(
      name: "stall-after", placeholder: "EVENTS",
      help: "After N events or parts, send nothing, do not close."
    ) { value, result in
      assign(count(value), to: &result.stallAfter)
    },
    Option(
      name: "no-ack", placeholder: "", help: "Never acknowledge a WebSocket connection."
    ) { value, result in
      assign(flag(value), to: &result.noAck)
    },
    Option(name: "no-pong", placeholder: "", help: "Never answer a ping.") { value, result in
      assign(flag(value), to: &result.noPong)
    },
    Option(
      name: "subprotocol", placeholder: "NAME",
      help: "Speak only this WebSocket subprotocol, or none."
    ) { value, result in
      let known = DemoSocketSession.Subprotocol.allCases.map(\.rawValue) + ["none"]
      return assign(known.contains(value) ? value : nil, to: &result.subprotocol)
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

  private static func assign<T>(_ value: T?, to target: inout T?) -> Bool {
    guard let value else { return false }
    target = value
    return true
  }

  private static func assign(_ value: Bool?, to target: inout Bool) -> Bool {
    guard let value else { return false }
    target = value
    return true
  }

  private static func count(_ value: String) -> Int? {
    Int(value).flatMap { $0 >= 0 ? $0 : nil }
  }

  private static func flag(_ value: String) -> Bool? {
    switch value.lowercased() {
    case "", "1", "true", "yes", "on": true
    case "0", "false", "no", "off": false
    default: nil
    }
  }
}
