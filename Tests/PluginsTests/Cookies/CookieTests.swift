import Foundation
import GQLRunPipeline
import HTTPTypes
import Testing

@testable import GQLRunPlugins

@Suite("Cookies", .timeLimit(.minutes(10)))
struct CookieTests {
  /// Monday, 2 November 2026, 00:00 UTC.
  private static let now = 1_793_577_600.0

  private static func origin(_ url: String) -> CookieOrigin {
    let parts = url.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
    let rest = parts[2]
    let slash = rest.firstIndex(of: "/") ?? rest.endIndex
    return CookieOrigin(
      scheme: String(parts[0].dropLast()), authority: String(rest[..<slash]),
      path: slash == rest.endIndex ? "/" : String(rest[slash...]))
  }

  /// What a request to `url` sends after responses of `origin` with these fields.
  private func sent(
    _ fields: [String], from url: String, to target: String, after seconds: Double = 0
  ) -> String? {
    let jar = CookieJar()
    jar.store(fields, from: Self.origin(url), now: Self.now)
    return jar.header(for: Self.origin(target), now: Self.now + seconds)
  }

  @Test(
    "domains and paths",
    arguments: [
      ("a=1", "https://api.example.com/graphql", "https://api.example.com/other", "a=1"),
      ("a=1", "https://api.example.com/v1/graphql", "https://api.example.com/v1/x?y", "a=1"),
      ("a=1", "https://api.example.com/v1/graphql", "https://api.example.com/v10", nil),
      ("a=1", "https://api.example.com/", "https://example.com/", nil),
      ("a=1", "https://api.example.com/", "https://b.api.example.com/", nil),
      ("a=1; Domain=example.com", "https://api.example.com/", "https://ws.example.com/", "a=1"),
      ("a=1; domain=.EXAMPLE.com", "https://api.example.com/", "https://example.com/", "a=1"),
      ("a=1; Domain=example.com", "https://api.example.com/", "https://badexample.com/", nil),
      ("a=1; Domain=other.com", "https://api.example.com/", "https://other.com/", nil),
      (
        "a=1; Domain=b.api.example.com", "https://api.example.com/", "https://b.api.example.com/",
        nil
      ),
      ("a=1; Domain=com", "https://example.com/", "https://example.com/", nil),
      ("a=1; Domain=localhost", "http://localhost:4000/", "http://localhost:5000/", "a=1"),
      ("a=1; Domain=", "https://example.com/", "https://example.com/", "a=1"),
      ("a=1; Domain=0.0.1", "http://127.0.0.1/", "http://10.0.0.1/", nil),
      ("a=1; Path=/graphql", "https://example.com/login", "https://example.com/graphql/x", "a=1"),
      ("a=1; Path=/graphql", "https://example.com/login", "https://example.com/graphqlx", nil),
      ("a=1; Path=graphql", "https://example.com/a/b", "https://example.com/a", "a=1"),
      ("a=1; Secure", "https://example.com/", "http://example.com/", nil),
      ("a=1; Secure", "http://example.com/", "https://example.com/", nil),
      ("__Secure-a=1", "https://example.com/", "https://example.com/", nil),
      ("__Host-a=1; Secure; Path=/", "https://example.com/x", "https://example.com/", "__Host-a=1"),
      (
        "__host-a=1; Secure; Path=/; Domain=example.com", "https://example.com/",
        "https://example.com/", nil
      ),
      ("=__Host-a=1; Secure; Path=/", "https://example.com/", "https://example.com/", nil),
      ("=__Secure-a=1; Secure", "https://example.com/", "https://example.com/", nil),
      ("a=1; HttpOnly; SameSite=Strict", "https://example.com/", "https://example.com/", "a=1"),
      (" a = b=c ;Path=/", "https://example.com/", "https://example.com/", "a=b=c"),
      ("plain", "https://example.com/", "https://example.com/", "plain"),
      ("=", "https://example.com/", "https://example.com/", nil),
      ("a=\u{1}", "https://example.com/", "https://example.com/", nil),
      ("a=1", "http://[::1]:4000/", "http://[::1]:5000/", "a=1"),
      // Delimiters and prefixes are bytes, also before a combining character.
      ("a=1;\u{301}b", "https://example.com/", "https://example.com/", "a=1"),
      ("__Secure-\u{301}a=1", "https://example.com/", "https://example.com/", nil),
      // The Kelvin sign is no `k`.
      ("a=1; Domain=\u{212A}.com", "https://k.com/", "https://k.com/", nil),
    ] as [(String, String, String, String?)])
  func domains(field: String, from: String, to target: String, expected: String?) {
    #expect(sent([field], from: from, to: target) == expected)
  }

  @Test(
    "times",
    arguments: [
      ("a=1; Max-Age=10", 9.0, true), ("a=1; Max-Age=10", 10, false), ("a=1; Max-Age=0", 0, false),
      ("a=1; Max-Age=-5", 0, false), ("a=1; Max-Age=x", 1e9, true),
      ("a=1; Max-Age=99999999999", 399 * 86_400, true),
      ("a=1; Max-Age=99999999999", 401 * 86_400, false),
      ("a=1; Expires=Mon, 02 Nov 2026 00:00:10 GMT", 9, true),
      ("a=1; Expires=Mon, 02 Nov 2026 00:00:10 GMT", 10, false),
      ("a=1; Expires=Monday, 02-Nov-26 00:00:10 GMT", 9, true),
      ("a=1; Expires=Mon Nov  2 00:00:10 2026", 10, false),
      ("a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT", 0, false),
      ("a=1; Expires=never", 1e9, true),
      ("a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=10", 9, true),
    ] as [(String, Double, Bool)])
  func times(field: String, after seconds: Double, isSent: Bool) {
    let url = "https://example.com/"
    #expect((sent([field], from: url, to: url, after: seconds) != nil) == isSent)
  }

  @Test("longer paths are first, then older cookies, which keep their age when they are replaced")
  func order() {
    let fields = ["a=1", "b=1", "c=1; Path=/graphql", "a=2"]
    let url = "https://example.com/graphql"
    #expect(sent(fields, from: "https://example.com/", to: url) == "c=1; a=2; b=1")
  }

  @Test("a server can remove a cookie, and cannot replace a secure one without encryption")
  func replacing() {
    let jar = CookieJar()
    let (secure, plain) = (Self.origin("https://example.com/"), Self.origin("http://example.com/"))
    jar.store(["a=1; Secure", "b=1"], from: secure, now: Self.now)
    jar.store(["a=2", "b=2"], from: plain, now: Self.now)
    #expect(jar.header(for: secure, now: Self.now) == "a=1; b=2")
    jar.store(["a=; Max-Age=0"], from: secure, now: Self.now)
    #expect(jar.header(for: secure, now: Self.now) == "b=2")
    jar.removeAll()
    #expect(jar.header(for: secure, now: Self.now) == nil)
  }

  @Test("a jar is bounded")
  func bounds() {
    let jar = CookieJar()
    let origin = Self.origin("https://example.com/")
    for number in 0..<200 { jar.store(["c\(number)=1"], from: origin, now: Self.now) }
    let pairs = jar.header(for: origin, now: Self.now)?.split(separator: ";").count
    #expect(pairs == CookieJar.perDomain)
    #expect(
      sent(["a=" + String(repeating: "x", count: 5000)], from: "https://a.b/", to: "https://a.b/")
        == nil)
  }

  @Test("requests of a pipeline have the cookies of responses before, and its own fields")
  func plugin() async throws {
    let session = Self.answer(200, ["Set-Cookie": "session=1; Path=/"])
    let network = FakeNetwork(session, .ok)
    let chain = Bench.plain.replacing("- fetch", with: "- cookies\n- fetch")
    try await Bench.with(chain, setup: .init(transport: network)) { bench in
      for _ in 0..<2 { #expect(await bench.run(policy: .networkOnly).error == nil) }
      let fields = await network.requests.map { $0.head.headerFields[.cookie] }
      #expect(fields == [nil, "session=1"])
    }
    // Without the plugin, there are no cookies.
    let plain = FakeNetwork(session)
    try await Bench.with(setup: .init(transport: plain)) { bench in
      for _ in 0..<2 { _ = await bench.run(policy: .networkOnly) }
      let fields = await plain.requests.map { $0.head.headerFields[.cookie] }
      #expect(fields == [nil, nil])
    }
  }

  private static func answer(_ status: Int, _ fields: [String: String]) -> FakeNetwork.Answer {
    .body(status == 200 ? HTTPText.user : "", status: status, headers: fields)
  }

  /// Runs a query twice over a network, with a `Cookie` of the caller; returns the field `Cookie` of each request after
  /// its URL.
  private static func cookies(
    _ answers: [FakeNetwork.Answer], _ redirects: String = "any-origin"
  ) async throws -> [String] {
    let network = FakeNetwork(answers)
    let chain = Bench.plain.replacing(
      "- fetch", with: "- cookies\n- fetch: { redirects: \(redirects) }")
    return try await Bench.with(
      chain, url: "http://a.example/graphql", setup: .init(transport: network)
    ) { bench in
      for _ in 0..<2 {
        _ = await bench.run(policy: .networkOnly) { $0.additionalHeaders[.cookie] = "own=1" }
      }
      return await network.requests.map { request in
        "\(request.head.authority ?? "")\(request.head.path ?? "") "
          + (request.head.headerFields[.cookie] ?? "-")
      }
    }
  }

  @Test("a redirect to another server stores and sends the cookies of each by its own URL")
  func redirectToAnotherServer() async throws {
    let target: [RawServer.Step] = [
      .each { _ in [.send(HTTPText.response(headers: ["Set-Cookie: sid=b; Path=/"]))] }
    ]
    try await RawServer.withServer(target) { other in
      let location = "Location: http://localhost:\(other.port)/graphql"
      let moved = HTTPText.response(
        "307 Moved", type: nil, headers: [location, "Set-Cookie: hop=a; Path=/"], body: "")
      try await RawServer.withServer([.each { _ in [.send(moved)] }]) { server in
        let chain = Bench.plain.replacing(
          "- fetch", with: "- cookies\n- fetch: { redirects: any-origin }")
        try await Bench.with(chain, url: server.url) { bench in
          for _ in 0..<2 {
            let outcome = await bench.run(policy: .networkOnly) {
              $0.additionalHeaders[.cookie] = "own=1"
            }
            #expect(outcome.error == nil, "\(outcome.message)")
          }
        }
        let sent = await [server.log.requests, other.log.requests].map { requests in
          requests.map { request in
            request.split(separator: "\r\n").first { $0.lowercased().hasPrefix("cookie:") }
              .map { String($0.dropFirst("cookie:".count)).trimmingCharacters(in: .whitespaces) }
          }
        }
        #expect(sent == [["own=1", "own=1; hop=a"], [nil, "sid=b"]])
      }
    }
  }

  @Test("a redirect within the origin sends the caller's cookies and those of its path")
  func redirectWithinTheOrigin() async throws {
    let found = try await Self.cookies([
      Self.answer(307, ["Location": "/v2/graphql", "Set-Cookie": "two=2; Path=/v2"]),
      Self.answer(200, ["Set-Cookie": "deep=3"]),
      Self.answer(307, ["Location": "/v2/graphql"]), Self.answer(200, [:]),
    ])
    #expect(
      found == [
        "a.example/graphql own=1", "a.example/v2/graphql own=1; two=2", "a.example/graphql own=1",
        "a.example/v2/graphql own=1; two=2; deep=3",
      ])
  }

  @Test("a redirect that comes back from another origin gets the jar's cookies, not the caller's")
  func redirectBack() async throws {
    let found = try await Self.cookies([
      Self.answer(307, ["Location": "http://b.example/", "Set-Cookie": "a=1; Path=/"]),
      Self.answer(307, ["Location": "/again", "Set-Cookie": "b=1; Path=/"]),
      Self.answer(307, ["Location": "http://a.example/end"]), Self.answer(200, [:]),
    ])
    #expect(
      found.prefix(4) == [
        "a.example/graphql own=1", "b.example/ -", "b.example/again b=1", "a.example/end a=1",
      ])
  }

  @Test(
    "the cookies of a redirect that is not followed are stored",
    arguments: ["none", "same-origin"])
  func refusedRedirect(_ redirects: String) async throws {
    let moved = Self.answer(307, ["Location": "http://b.example/", "Set-Cookie": "a=1; Path=/"])
    let found = try await Self.cookies([moved], redirects)
    #expect(found == ["a.example/graphql own=1", "a.example/graphql own=1; a=1"])
  }
}
