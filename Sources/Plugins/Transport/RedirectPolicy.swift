import Foundation
import GQLRunPipeline
import HTTPTypes

/// Decides which redirects are followed, and which header fields are sent.
///
/// https://www.rfc-editor.org/rfc/rfc9110#section-15.4
struct RedirectPolicy: Sendable, Hashable {
  enum Scope: String, CaseIterable, ExpressibleByOption {
    case none
    case sameOrigin = "same-origin"
    case anyOrigin = "any-origin"
  }

  var scope: Scope
  var maximum: Int

  enum Decision {
    case follow(HTTPRequestMessage, isSameOrigin: Bool)
    /// A redirect that must not be followed. The text is the reason, after "…, which".
    case refuse(String)
  }

  /// What happens with a redirect; `nil` for a response that is not one, or not one to follow: it is delivered.
  ///
  /// - Parameter secrets: The secrets of the run. A field that contains one is not sent to another
  ///   origin.
  func decision(
    on head: HTTPResponse, to request: HTTPRequestMessage, hops: Int, secrets: KnownSecrets
  ) -> Decision? {
    let status = head.status.code
    guard scope != .none, [301, 302, 303, 307, 308].contains(status),
      let location = head.headerFields[.location]
    else { return nil }
    let url = URL(string: location, relativeTo: URL(string: request.head.origin))
    guard url?.absoluteURL.user == nil else {
      return .refuse("contains credentials, which are not sent")
    }
    guard let target = target(of: location, request.head) else {
      return .refuse("is not a URL")
    }
    // https://www.rfc-editor.org/rfc/rfc10008: QUERY is safe, and 303 leads to its result.
    let isSafe = request.head.method == .get || request.head.method == .query
    guard isSafe || status == 307 || status == 308 else {
      return .refuse(
        "would turn the POST into a GET (\(status)): set the endpoint's url to the new URL, or "
          + "configure the server to answer with 308")
    }
    guard target.scheme == "https" || target.scheme == "http" else {
      return .refuse("is neither https nor http")
    }
    guard target.scheme == "https" || request.head.scheme != "https" else {
      return .refuse("would continue without encryption")
    }
    let isSameOrigin =
      target.scheme == request.head.scheme && target.authority == request.head.authority
    guard isSameOrigin || scope == .anyOrigin else {
      return .refuse("is another server; allow it with `redirects: any-origin` of fetch")
    }
    guard hops < maximum else {
      return .refuse(
        "exceeds the limit of \(maximum) redirects (the option max_redirects of fetch)")
    }
    var next = request
    next.head.scheme = target.scheme
    next.head.authority = target.authority
    next.head.path = target.path
    if status == 303, next.head.method == .query {
      next.head.method = .get
      next.head.headerFields[.contentType] = nil
      next.body = nil
    }
    if !isSameOrigin {
      let hiding = secrets.hiding(with: request.secrets)
      next.head.headerFields = HTTPFields(
        next.head.headerFields.filter {
          hiding.value($0.value, ofField: $0.name.rawName) == $0.value
        })
    }
    return .follow(next, isSameOrigin: isSameOrigin)
  }

  private func target(
    of location: String, _ head: HTTPRequest
  ) -> (scheme: String, authority: String, path: String)? {
    let base = head.origin + (head.path ?? "/")
    guard location.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
      let url = URL(string: location, relativeTo: URL(string: base))?.absoluteURL,
      let scheme = url.scheme?.lowercased()
    else { return nil }
    // Parsed like every other URL, so that origins compare equal.
    guard scheme == "http" || scheme == "https" else { return (scheme, "", "") }
    guard let endpoint = try? Endpoint(url: url.absoluteString) else { return nil }
    return (endpoint.scheme, endpoint.authority, endpoint.path)
  }
}
