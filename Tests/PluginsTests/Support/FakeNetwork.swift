import GQLRunPipeline
import GQLRunTestSupport
import HTTPTypes

/// A network without sockets: answers in the order given; the last answer repeats.
actor FakeNetwork: HTTPTransport {
  enum Answer: Sendable {
    case response(Int, headers: [String: String] = [:], body: String = "")
    case failure(ChainError.Code, ChainError.Delivery)
    /// A head, and no body until the connection is lost.
    case lost(headers: [String: String], after: Duration, on: ServiceClock)
    /// Nothing, until the task is cancelled.
    case silence

    static let ok = Answer.body(HTTPText.user)

    /// A body of a media type, with further header fields.
    static func body(
      _ text: String, status: Int = 200, type: String = "application/json",
      headers: [String: String] = [:]
    ) -> Answer {
      .response(status, headers: headers.merging(["Content-Type": type]) { $1 }, body: text)
    }

    /// Server-sent events.
    static func events(_ text: String) -> Answer { .body(text, type: "text/event-stream") }
  }

  private var answers: [Answer]
  private let before: @Sendable () async -> Void
  private(set) var requests: [HTTPRequestMessage] = []

  /// - Parameter before: Done after each request and before its answer.
  init(_ answers: Answer..., before: @escaping @Sendable () async -> Void = {}) {
    self.init(answers, before: before)
  }

  init(_ answers: [Answer], before: @escaping @Sendable () async -> Void = {}) {
    self.answers = answers
    self.before = before
  }

  var count: Int { requests.count }

  func send(
    _ request: HTTPRequestMessage, limits: HTTPLimits
  ) async throws -> HTTPResponseMessage {
    requests.append(request)
    let answer = answers.count > 1 ? answers.removeFirst() : answers[0]
    await before()
    switch answer {
    case .failure(let code, let delivery):
      throw ChainError(.transport, code: code, message: "no luck", delivery: delivery)
    case .silence:
      try await TestClock().sleep(for: .seconds(1))
      throw CancellationError()
    case .lost(let headers, let time, let clock):
      return HTTPResponseMessage(
        head: Self.head(200, headers),
        body: HTTPBody {
          try await clock.sleep(for: time)
          throw ChainError(
            .transport, code: .connectionClosed, message: "lost", delivery: .answered)
        })
    case .response(let status, let headers, let body):
      return HTTPResponseMessage(
        head: Self.head(status, headers), body: HTTPBody([Array(body.utf8)]))
    }
  }

  private static func head(_ status: Int, _ headers: [String: String]) -> HTTPResponse {
    var head = HTTPResponse(status: .init(code: status))
    for (name, value) in headers {
      if let name = HTTPField.Name(name) { head.headerFields[name] = value }
    }
    return head
  }
}
