/// The formats of a response that has the events of a subscription.
enum EventFormat: Sendable, CaseIterable {
  /// https://github.com/enisdenjo/graphql-sse
  case serverSentEvents
  /// https://www.apollographql.com/docs/graphos/routing/operations/subscriptions/multipart-protocol
  case multipart

  /// The preferred format of an `Accept` field, the first one of equal quality; `nil` if the client
  /// accepts none. Without the field, server-sent events.
  static func preferred(accept: [AcceptedRange]?) -> Self? {
    guard let accept else { return .serverSentEvents }
    var best: (format: Self, quality: Double)?
    for range in accept {
      guard let format = Self(range), range.quality > best?.quality ?? 0 else { continue }
      best = (format, range.quality)
    }
    return best?.format
  }

  private init?(_ range: AcceptedRange) {
    switch range.pattern {
    case "text/event-stream", "text/*", "*/*": self = .serverSentEvents
    case "multipart/mixed" where range.parameters.contains("subscriptionspec=1.0"):
      self = .multipart
    default: return nil
    }
  }

  var contentType: String {
    switch self {
    case .serverSentEvents: "text/event-stream; charset=utf-8"
    case .multipart: "multipart/mixed;boundary=graphql;subscriptionSpec=1.0"
    }
  }

  /// The text before the first event.
  ///
  /// A delimiter is written behind each part at once, so that a client need not wait for the next
  /// part to know that one is complete.
  var start: String {
    switch self {
    case .serverSentEvents: ":\n\n"
    case .multipart: "\r\n--graphql"
    }
  }

  /// The text that tells a client that the connection is alive.
  var heartbeat: String {
    switch self {
    case .serverSentEvents: ":\n\n"
    case .multipart: "\r\nContent-Type: application/json\r\n\r\n{}\r\n--graphql"
    }
  }

  /// The text after the last event.
  var end: String {
    switch self {
    case .serverSentEvents: "event: complete\ndata:\n\n"
    case .multipart: "--\r\n"
    }
  }

  /// An event, whose response has no line breaks.
  func event(_ response: [UInt8]) -> [UInt8] {
    switch self {
    case .serverSentEvents:
      Array("event: next\ndata: ".utf8) + response + Array("\n\n".utf8)
    case .multipart:
      Array("\r\nContent-Type: application/json\r\n\r\n{\"payload\":".utf8) + response
        + Array("}\r\n--graphql".utf8)
    }
  }
}
