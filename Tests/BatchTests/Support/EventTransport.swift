import Foundation
import GQLRunPipeline
import HTTPTypes

@testable import GQLRunBatch

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
  private let numbers = Numbers()

  init(_ connections: Connection...) { self.connections = connections }

  /// How many connections there were.
  var count: Int { get async { await numbers.connections } }

  func send(
    _ request: HTTPRequestMessage, limits: HTTPLimits
  ) async throws -> HTTPResponseMessage {
    let number = await numbers.connect()
    switch connections[min(number, connections.count) - 1] {
    case .refuse(let status): return .response(status, "")
    case .steps(let steps):
      var head = HTTPResponse(status: .ok)
      head.headerFields[.contentType] = "text/event-stream"
      let cursor = Cursor(steps)
      return HTTPResponseMessage(
        head: head,
        body: HTTPBody { [numbers] in
          while let step = await cursor.next() {
            switch step {
            case .event: return await Self.event("{\"count\":\(numbers.next())}")
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

  private actor Numbers {
    private(set) var connections = 0
    private var events = 0

    func connect() -> Int {
      connections += 1
      return connections
    }

    func next() -> Int {
      events += 1
      return events
    }
  }

  private actor Cursor {
    private var steps: ArraySlice<Step>

    init(_ steps: [Step]) { self.steps = steps[...] }

    func next() -> Step? { steps.popFirst() }
  }
}
