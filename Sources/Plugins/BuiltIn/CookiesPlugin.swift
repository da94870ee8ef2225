public import GQLRunPipeline
import HTTPTypes

/// Keeps the cookies of servers, and sends them with later requests.
public struct CookiesPlugin: Plugin {
  /// What `cookies` does, in one sentence.
  public static let summary = "Keeps the cookies of servers, and sends them with later requests"
  /// When to use `cookies`, where it belongs in a chain, and examples.
  public static let documentation = PluginDocumentation(
    use:
      "Use it for servers that identify a session, or a machine behind a load balancer, by a cookie. Without it, "
      + "cookies of servers are ignored. The pipeline has one jar in memory: nothing is written to files, and every "
      + "process begins with an empty jar. Each redirect that `fetch` follows stores and sends cookies by its own URL; "
      + "a field `Cookie` that the request had before is not sent to another origin.\n\n"
      + "The rules are those of RFC 6265bis for `Domain`, `Path`, `Secure`, `Max-Age`, `Expires` and the prefixes "
      + "`__Secure-` and `__Host-`. `HttpOnly` and `SameSite` have no effect: no script reads the jar, and every "
      + "request is the program's own. There is no list of public suffixes: a server may set a cookie for its parent "
      + "domains that have a dot, such as `co.uk`, which only the hosts of this pipeline would get.",
    position: "It belongs directly above the fetch, below what retries.",
    example: "cookies",
    narration:
      "A mutation `signIn` is answered with Set-Cookie: session=1; Path=/graphql. All later requests to the endpoint "
      + "have the field Cookie: session=1.",
    subscriptions: "Sends cookies with each connection, and keeps those of its response.")

  /// Creates the plugin, which has no options.
  public init() {}

  /// Changes header fields.
  public var traits: PluginTraits { .changesHeaders }

  /// Surrounds HTTP exchanges, anywhere in the HTTP stage.
  public var placement: Placement { .wrap(.http) }

  /// Creates the interceptor with the jar of the pipeline.
  public func parts(_ environment: PluginEnvironment) -> [ChainPart] {
    [.http(CookieInterceptor())]
  }
}

private struct CookieInterceptor: HTTPInterceptor, CredentialHolder {
  private let jar = CookieJar()

  func forgetCredentials(_ services: Services) async throws -> String {
    jar.removeAll()
    return "the cookies"
  }

  func intercept(
    _ request: HTTPRequestMessage, context: ChainContext, next: NextHTTP
  ) async throws -> HTTPResponseMessage {
    let services = context.services
    let hops = CookieHops(
      jar: jar, given: request.head.headerFields[.cookie], now: services.secondsSince1970)
    var request = request
    hops.addCookies(to: &request.head, given: hops.given)
    request.redirectObservers.append(hops)
    let head = request.head
    let response = try await next(request)
    hops.receive(response.head, to: response.redirectedRequest ?? head)
    return response
  }
}

/// The cookies of one request and of its redirects, each by its own URL.
private struct CookieHops: RedirectObserver {
  let jar: CookieJar
  /// The field that the request had before; `nil` without one.
  let given: String?
  let now: @Sendable () -> Double

  func receive(_ redirect: HTTPResponse, to request: HTTPRequest) {
    jar.store(
      redirect.headerFields[values: .setCookie], from: CookieOrigin(request), now: now())
  }

  func follow(_ next: inout HTTPRequest, hasLeftOrigin: Bool) {
    next.headerFields[.cookie] = nil
    addCookies(to: &next, given: hasLeftOrigin ? nil : given)
  }

  func addCookies(to head: inout HTTPRequest, given: String?) {
    let cookies = jar.header(for: CookieOrigin(head), now: now())
    let all = [given, cookies].compactMap { $0 }
    head.headerFields[.cookie] = all.isEmpty ? nil : all.joined(separator: "; ")
  }
}

extension CookieOrigin {
  fileprivate init(_ head: HTTPRequest) {
    self.init(
      scheme: head.scheme ?? "http", authority: head.authority ?? "", path: head.path ?? "/")
  }
}
