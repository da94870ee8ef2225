import Foundation
import GQLRunPipeline
import GQLRunTestSupport
import HTTPTypes

/// An OAuth 2 server and a GraphQL server behind one network without sockets.
///
/// The GraphQL server accepts the token that was issued last, or the given ones.
actor TokenServer: HTTPTransport {
  enum Answer: Sendable {
    /// Issues the next token: `token-1`, `token-2`, …
    case token(expiresIn: Int? = 3600, refreshToken: String? = nil)
    case response(Int, String)
    case failure(ChainError.Code)
    /// Nothing, until the task is cancelled.
    case silence
  }

  static let url = "https://login.example.com/token"

  private var answers: [Answer]
  private let accepts: @Sendable (_ token: String, _ issued: [String]) -> Bool
  /// How the GraphQL server says no.
  private let refusal: (status: Int, body: String)
  private(set) var renewals: [HTTPRequestMessage] = []
  private(set) var requests: [HTTPRequestMessage] = []
  private(set) var issued: [String] = []
  private var gate: (count: Int, waiting: [CheckedContinuation<Void, Never>])?
  private var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

  /// - Parameter answers: Of the token endpoint; the last repeats.
  init(
    _ answers: Answer..., refusal: (Int, String) = (401, ""),
    accepts: @escaping @Sendable (_ token: String, _ issued: [String]) -> Bool = { $0 == $1.last }
  ) {
    self.answers = answers
    self.accepts = accepts
    self.refusal = refusal
  }

  /// Lets the next refusals wait for each other: none is answered before there are so many.
  func collect(_ count: Int) { gate = (count, []) }

  /// Waits until so many renewals have begun.
  func renewals(_ count: Int) async {
    guard renewals.count < count else { return }
    await withCheckedContinuation { watchers.append((count, $0)) }
  }

  func send(
    _ request: HTTPRequestMessage, limits: HTTPLimits
  ) async throws -> HTTPResponseMessage {
    if request.head.path?.hasPrefix("/token") == true { return try await renew(request) }
    requests.append(request)
    let token = Self.token(of: request)
    guard accepts(token, issued) else {
      await waitForOthers()
      return Self.response(refusal.status, refusal.body.replacing("TOKEN", with: token))
    }
    return Self.response(200, HTTPText.user)
  }

  private func waitForOthers() async {
    guard let gate else { return }
    if gate.waiting.count + 1 == gate.count {
      self.gate = nil
      for continuation in gate.waiting { continuation.resume() }
    } else {
      await withCheckedContinuation { self.gate?.waiting.append($0) }
    }
  }

  private func renew(_ request: HTTPRequestMessage) async throws -> HTTPResponseMessage {
    renewals.append(request)
    for watcher in watchers where watcher.count <= renewals.count { watcher.continuation.resume() }
    watchers.removeAll { $0.count <= renewals.count }
    switch answers.count > 1 ? answers.removeFirst() : answers[0] {
    case .token(let lifetime, let refreshToken):
      let token = "token-\(issued.count + 1)"
      issued.append(token)
      let more =
        (lifetime.map { #","expires_in":\#($0)"# } ?? "")
        + (refreshToken.map { #","refresh_token":"\#($0)""# } ?? "")
      return Self.response(200, #"{"access_token":"\#(token)","token_type":"Bearer"\#(more)}"#)
    case .response(let status, let body): return Self.response(status, body)
    case .failure(let code):
      throw ChainError(.transport, code: code, message: "no luck", delivery: .notSent)
    case .silence:
      try await TestClock().sleep(for: .seconds(1))
      throw CancellationError()
    }
  }

  static func token(of request: HTTPRequestMessage) -> String {
    let value = request.head.headerFields[.authorization] ?? ""
    return value.hasPrefix("Bearer ") ? String(value.dropFirst(7)) : value
  }

  /// The tokens of the requests to the GraphQL server.
  var tokens: [String] { requests.map { Self.token(of: $0) } }

  /// The forms that were sent to the token endpoint.
  var forms: [[String: String]] {
    renewals.map { request in
      let pairs = String(decoding: request.body ?? [], as: UTF8.self).split(separator: "&").map {
        $0.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
          .map { String($0).removingPercentEncoding ?? "" }
      }
      return Dictionary(pairs.map { ($0[0], $0.count > 1 ? $0[1] : "") }) { $1 }
    }
  }

  private static func response(_ status: Int, _ body: String) -> HTTPResponseMessage {
    var head = HTTPResponse(status: .init(code: status))
    head.headerFields[.contentType] = "application/json"
    return HTTPResponseMessage(head: head, body: HTTPBody([Array(body.utf8)]))
  }
}
