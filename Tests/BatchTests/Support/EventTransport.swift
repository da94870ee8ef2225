import GQLRunPipeline
import GQLRunSupport
import GQLRunTestSupport
import HTTPTypes

/// Answers subscriptions with server-sent events: a number that grows with each event of any connection.
///
/// The first connection follows the first script, and so on; the last script serves all further ones.
final class EventTransport: HTTPTransport {
  enum Step: Sendable {
    /// The next number.
    case event
    /// An event with an error.
    case error
    /// The server completes the subscription.
    case complete
    /// The connection is lost.
    case lose
    /// Nothing more, until the client cancels the request.
    case hold
    /// Something that happens before the next step.
    case act(@Sendable () async -> Void)
  }

  /// A connection that is refused with a status, or a script.
  enum Connection: Sendable {
    case refuse(Int)
    case steps([Step])
  }

  private let connections: [Connection]
  private let connected = Locked(0)
  private let sent = Locked(0)

  init(_ connections: Connection...) { self.connections = connections }

  /// How many connections there were.
  var count: Int { connected.withLock { $0 } }

  func send(
    _ request: HTTPRequestMessage, limits: HTTPLimits
  ) async throws -> HTTPResponseMessage {
    let number = connected.increment()
    switch connections[min(number, connections.count) - 1] {
    case .refuse(let status): return .response(status, "")
    case .steps(let steps):
      var head = HTTPResponse(status: .ok)
      head.headerFields[.contentType] = "text/event-stream"
      let left = Locked(steps[...])
      return HTTPResponseMessage(
        head: head,
        body: HTTPBody { [self] in
          while let step = left.withLock({ $0.popFirst() }) {
            switch step {
            case .event: return Self.event("{\"count\":\(sent.increment())}")
            case .error: return Self.event("null,\"errors\":[{\"message\":\"no\"}]")
            case .complete: return Array("event: complete\ndata:\n\n".utf8)
            case .lose:
              throw ChainError(
                .transport, code: .truncatedResponse, message: "the connection was lost",
                delivery: .answered)
            case .hold:
              let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
              for await _ in stream {}
              withExtendedLifetime(continuation) {}
              throw CancellationError()
            case .act(let body): await body()
            }
          }
          return nil
        })
    }
  }

  private static func event(_ data: String) -> [UInt8] {
    Array("event: next\ndata: {\"data\":\(data)}\n\n".utf8)
  }
}
