import Foundation
import GQLRunJSON
import GQLRunLive
import HTTPTypes

/// A server in this process with the answers of a test.
actor ScriptedUpstream: HTTPTransport {
  /// The attempt in which a request is sent.
  @TaskLocal static var attempt = 1

  private let answers: [PipelineTest.Answer]
  private let clock: ServiceClock
  private var used: [Int]
  private(set) var requestCount = 0
  /// The requests that no answer matches.
  private(set) var unanswered: [String] = []

  init(_ answers: [PipelineTest.Answer], clock: ServiceClock) {
    self.answers = answers
    self.clock = clock
    used = answers.map { _ in 0 }
  }

  func send(
    _ request: HTTPRequestMessage, limits: HTTPLimits
  ) async throws -> HTTPResponseMessage {
    requestCount += 1
    let facts = RequestFacts(request)
    guard let answer = take(for: facts) else {
      unanswered.append("request \(requestCount): \(facts.text(attempt: Self.attempt))")
      throw ChainError(
        .transport, code: .unexpectedRequest,
        message: "no answer of `upstream` matches \(facts.text(attempt: Self.attempt))",
        delivery: .unknown)
    }
    if answer.delay > .zero {
      let longest = min(limits.idle, limits.total)
      try await clock.sleep(for: min(answer.delay, longest))
      guard answer.delay < longest else {
        throw ChainError(
          .transport, code: .timedOut,
          message: "the server did not answer within \(longest.optionText)",
          delivery: .unknown)
      }
    }
    if let failure = answer.fail, let error = Self.error(failure) { throw error }
    if let close = answer.closing, answer.events?.isEmpty == true { throw close }
    if let events = answer.events {
      return Self.stream(events, answer: answer, clock: clock, limits: limits)
    }
    return Self.message(answer)
  }

  private func take(for facts: RequestFacts) -> PipelineTest.Answer? {
    for index in answers.indices {
      let answer = answers[index]
      if let times = answer.times, used[index] >= times { continue }
      if let condition = answer.when, !facts.matches(condition, attempt: Self.attempt) { continue }
      used[index] += 1
      return answer
    }
    return nil
  }

  private static func error(_ failure: PipelineTest.Failure) -> ChainError? {
    switch failure {
    case .refused:
      ChainError(
        .transport, code: .connectionFailed, message: "connection refused", delivery: .notSent)
    case .closed:
      ChainError(
        .transport, code: .connectionClosed, message: "the connection was closed before the answer",
        delivery: .unknown)
    case .unresolved:
      ChainError(
        .transport, code: .nameResolutionFailed,
        message: "the host name has no address", delivery: .notSent)
    case .tls:
      ChainError(.transport, code: .tlsFailed, message: "no secure connection", delivery: .notSent)
    case .dropped: nil
    }
  }

  private static func head(of answer: PipelineTest.Answer, type: String?) -> HTTPResponse {
    var head = HTTPResponse(status: .init(code: answer.status))
    head.headerFields[.contentType] = type
    for field in answer.headers.entries {
      if let name = HTTPField.Name(field.name) { head.headerFields[name] = field.value }
    }
    return head
  }

  /// The events of a scripted connection, each when it is due on the clock.
  private static func stream(
    _ events: [PipelineTest.Event], answer: PipelineTest.Answer, clock: ServiceClock,
    limits: HTTPLimits
  ) -> HTTPResponseMessage {
    let rest = ElementQueue(events)
    let end = ElementQueue([answer.end])
    return HTTPResponseMessage(
      head: head(of: answer, type: "text/event-stream"),
      body: HTTPBody {
        if let event = rest.next() {
          try await clock.sleep(for: min(event.delay, limits.idle))
          guard event.delay < limits.idle else { throw silence(limits) }
          return event.bytes
        }
        let end = end.next()
        if end != nil, let close = answer.closing { throw close }
        switch end {
        case .complete: return Array("event: complete\ndata:\n\n".utf8)
        case .lost:
          throw ChainError(
            .transport, code: .connectionClosed, message: "the connection was lost",
            delivery: .answered)
        case .silent:
          try await clock.sleep(for: limits.idle)
          throw silence(limits)
        case nil: return nil
        }
      })
  }

  private static func silence(_ limits: HTTPLimits) -> ChainError {
    ChainError(
      .transport, code: .timedOut, message: "the server sent nothing for \(limits.idle.optionText)",
      delivery: .answered)
  }

  private static func message(_ answer: PipelineTest.Answer) -> HTTPResponseMessage {
    let head = head(of: answer, type: answer.isJSON ? "application/json" : nil)
    let body = answer.bytes
    guard answer.fail == .dropped else {
      return HTTPResponseMessage(head: head, body: HTTPBody([body]))
    }
    let start = ElementQueue([Array(body.prefix(body.count / 2))])
    return HTTPResponseMessage(
      head: head,
      body: HTTPBody {
        if let chunk = start.next() { return chunk }
        throw ChainError(
          .transport, code: .truncatedResponse,
          message: "the connection was lost in the body", delivery: .answered)
      })
  }
}

extension PipelineTest.Answer {
  /// The error of a connection that the server closes with a code.
  fileprivate var closing: ChainError? {
    close.map { ChainError(SocketClose($0, ""), by: "the server") }
  }
}

extension PipelineTest.Event {
  /// The event as a server sends it; graphql-sse, "distinct connections mode".
  fileprivate var bytes: [UInt8] {
    var payload = JSONObject()
    payload["data"] = data
    payload["errors"] = errors
    return Array("event: next\ndata: ".utf8) + JSONValue.object(payload).jsonBytes()
      + Array("\n\n".utf8)
  }
}

/// The parts of a request that conditions compare.
private struct RequestFacts {
  let request: HTTPRequestMessage
  private let members: JSONObject

  init(_ request: HTTPRequestMessage) {
    self.request = request
    if let body = request.body ?? request.multipart?.operations {
      members = (try? JSONValue(parsing: body))?.objectValue ?? JSONObject()
    } else {
      members = Self.query(request.head.path ?? "")
    }
  }

  private static func query(_ path: String) -> JSONObject {
    var members = JSONObject()
    let items = URLComponents(string: path)?.queryItems ?? []
    for item in items { members[item.name] = .string(item.value ?? "") }
    return members
  }

  private var operation: String? { members["operationName"]?.stringValue }

  func matches(_ condition: PipelineTest.Condition, attempt: Int) -> Bool {
    let fields = request.head.headerFields
    if let bearer = condition.bearer, fields[.authorization] != "Bearer \(bearer)" { return false }
    if !condition.operation.isEmpty {
      guard let operation, condition.operation.contains(operation) else { return false }
    }
    if let wanted = condition.attempt, wanted != attempt { return false }
    if let method = condition.method?.rawValue, method != request.head.method.rawValue {
      return false
    }
    if let wanted = condition.hasDocument, wanted != (members["query"] != nil) { return false }
    return condition.header.entries.allSatisfy { header in
      guard let value = HTTPField.Name(header.name).flatMap({ fields[$0] }) else { return false }
      return header.value == "*" || header.value == value
    }
  }

  func text(attempt: Int) -> String {
    "\(request.head.method.rawValue) of \(operation ?? "an anonymous operation"), attempt \(attempt)"
  }
}

extension ChainError.Code {
  /// No answer of a test matches the request.
  static let unexpectedRequest = Self(rawValue: "unexpected_request")
}
