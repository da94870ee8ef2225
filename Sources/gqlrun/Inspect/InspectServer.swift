import GQLRun
import GQLRunDemoServer
import GQLRunJSON
import GQLRunSupport
import HTTPTypes

/// Serves the page of `gqlrun inspect` and what it asks for.
///
/// Every path begins with a random token. A page of another origin that the user's browser shows neither knows it, nor
/// reads a response; `Host` and `Origin` are compared, too (docs/decisions/0066-inspect.md).
struct InspectServer: Sendable {
  let pipelines: [InspectedPipeline]
  let caches: [InspectedCache]
  let runs: [InspectedRun]
  let allowsWrites: Bool
  /// 128 bits in hexadecimal digits.
  let token = QuotedText.hexadecimal((0..<16).map { _ in UInt8.random(in: 0...255) })
  private let open = OpenRequests()

  /// Serves until the task is cancelled.
  ///
  /// - Parameter onReady: Called with the URL of the page when the server accepts requests.
  func run(port: Int, onReady: @escaping @Sendable (String) -> Void) async throws {
    try await LocalServer { await respond(to: $0) }.run(port: port) { [token] port in
      onReady("http://127.0.0.1:\(port)/\(token)/")
    }
  }

  /// Closes connections and stores.
  func shutdown() async {
    for pipeline in pipelines { try? await pipeline.client.get().shutdown() }
  }

  // MARK: Access

  func respond(to request: LocalRequest) async -> LocalResponse {
    // Browsers leave out the default port.
    let port = request.port == 80 ? "" : ":\(request.port)"
    let hosts = ["127.0.0.1\(port)", "localhost\(port)"]
    // A name of another server that leads to this address (DNS rebinding).
    guard let host = request.host?.lowercased(), hosts.contains(host) else {
      return Self.response(.forbidden, text: "This is no host of the page.\n")
    }
    let parts = request.path.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    let rest = parts.last?.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let rest, rest.count == 2, isToken(rest[0]) else {
      return Self.response(
        .notFound, text: "There is nothing here; open the URL that gqlrun inspect has printed.\n")
    }
    if request.method == .post {
      guard request.fields[.origin].map({ hosts.map { "http://\($0)" }.contains($0) }) == true
      else {
        return Self.response(.forbidden, text: "The request is not one of the page.\n")
      }
      guard request.fields[.contentType] == "application/json" else {
        return Self.response(.unsupportedMediaType, text: "A request body is application/json.\n")
      }
    } else if request.method != .get {
      return Self.response(.methodNotAllowed, text: "Use GET or POST.\n")
    }
    return await answer(String(rest[1]), request)
  }

  /// Compares in a time that does not depend on the position of a difference.
  private func isToken(_ text: Substring) -> Bool {
    let (given, own) = (Array(text.utf8), Array(token.utf8))
    return given.count == own.count && zip(given, own).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
  }

  // MARK: Routes

  private func answer(_ name: String, _ request: LocalRequest) async -> LocalResponse {
    do {
      switch (request.method, name) {
      case (.get, ""): return Self.response(type: "text/html", InspectPage.html)
      case (.get, "page.css"): return Self.response(type: "text/css", InspectPage.style)
      case (.get, "page.js"): return Self.response(type: "text/javascript", InspectPage.script)
      case (.get, "api/subjects"): return Self.response(subjects)
      case (.get, "api/run"):
        let run = try Self.element(runs, at: request[parameter: "at"], "run")
        return Self.response(
          events: run.events(holding: try open.enter()), beside: AsyncStream { $0.finish() })
      case (.get, _):
        let cache = try Self.element(caches, at: request[parameter: "at"], "cache")
        guard let value = try await cache.answer(name, request) else { return Self.unknown }
        return Self.response(value)
      case (_, "api/explain"), (_, "api/evict"), (_, "api/gc"):
        let given = try InspectQuestion(request.body)
        let cache = try Self.element(caches, at: given.at, "cache")
        return Self.response(
          name == "api/explain"
            ? try await cache.explain(given)
            : try await cache.remove(
              name == "api/evict" ? given.pattern ?? "" : nil, allowsWrites: allowsWrites))
      case (_, "api/send"):
        let given = try InspectQuestion(request.body)
        let pipeline = try Self.element(pipelines, at: given.at, "pipeline")
        let entry = try open.enter()
        defer { withExtendedLifetime(entry) {} }
        return Self.response(try await pipeline.send(given))
      case (_, "api/subscribe"):
        let given = try InspectQuestion(request.body)
        let pipeline = try Self.element(pipelines, at: given.at, "pipeline")
        return Self.response(
          events: try pipeline.subscribe(given, holding: try open.enter()),
          beside: try pipeline.client.get().connectionStates.map { Self.event("state", $0.json) })
      default: return Self.unknown
      }
    } catch {
      let message = Failure(describing: error).message
      return Self.response(
        ["error": .string(message.isEmpty ? "see the messages in the terminal" : message)],
        .badRequest)
    }
  }

  private static let unknown = response(.notFound, text: "There is nothing here.\n")

  /// What the page shows at first.
  private var subjects: JSONValue {
    [
      "version": .string(Version.current), "allowWrite": .boolean(allowsWrites),
      "pipelines": .array(pipelines.map(\.drawing)),
      "caches": .array(caches.map { .string($0.path) }),
      "runs": .array(runs.map { .string($0.path) }),
    ]
  }

  private static func element<Element>(
    _ elements: [Element], at index: String?, _ noun: String
  ) throws -> Element {
    guard let number = Int(index ?? "0"), elements.indices.contains(number) else {
      throw Failure(.usage, "there is no \(noun) with the number \(index ?? "0")")
    }
    return elements[number]
  }

  // MARK: Responses

  private static func fields(_ type: String) -> HTTPFields {
    var fields: HTTPFields = [
      .contentType: "\(type); charset=utf-8", .cacheControl: "no-store",
      .xContentTypeOptions: "nosniff", .crossOriginResourcePolicy: "same-origin",
      .contentSecurityPolicy:
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
        + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
    ]
    if let name = HTTPField.Name("Referrer-Policy") { fields[name] = "no-referrer" }
    return fields
  }

  private static func response(
    _ status: HTTPResponse.Status = .ok, type: String, _ text: String
  ) -> LocalResponse {
    LocalResponse(status, fields(type), body: .bytes(Array(text.utf8)))
  }

  private static func response(_ status: HTTPResponse.Status, text: String) -> LocalResponse {
    response(status, type: "text/plain", text)
  }

  private static func response(
    _ value: JSONValue, _ status: HTTPResponse.Status = .ok
  ) -> LocalResponse {
    LocalResponse(status, fields("application/json"), body: .bytes(value.jsonBytes()))
  }

  private static func response(
    events: AsyncThrowingStream<[UInt8], any Error>,
    beside others: any AsyncSequence<[UInt8], Never> & Sendable
  ) -> LocalResponse {
    LocalResponse(.ok, fields("text/event-stream"), body: .events(events, beside: others))
  }

  /// A server-sent event whose data is a JSON text, which has no line breaks.
  static func event(_ name: String, _ value: JSONValue) -> [UInt8] {
    Array("event: \(name)\ndata: ".utf8) + value.jsonBytes() + Array("\n\n".utf8)
  }
}

/// Counts the requests of the page that send operations or wait for events: several tabs could start any number.
final class OpenRequests: Sendable {
  /// One request; counted until it is released.
  typealias Entry = Owned<OpenRequests>

  private static let max = 32

  private let count = Locked(0)

  /// - Throws: ``Failure`` if too many requests are open.
  func enter() throws -> Entry {
    try count.withLock { count in
      guard count < Self.max else {
        throw Failure(
          .tryLater,
          "\(Self.max) requests of the page are open; stop subscriptions or close other tabs")
      }
      count += 1
    }
    return Entry(self) { $0.count.withLock { $0 -= 1 } }
  }
}
