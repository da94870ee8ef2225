import GQLRunJSON
import GQLRunPipeline
import GQLRunPlugins
import GQLRunSupport
import HTTPTypes

/// Sends the requests of an examination, one after the other, with limits on their number, time and
/// size.
actor EndpointProbe {
  /// The most requests of an examination of features.
  static let maxRequests = 30
  /// The number of requests without an answer after which no further one is sent.
  private static let maxFailures = 3
  /// The most bytes of an answer that are read.
  private static let maxBytes = 4 << 20

  /// What an endpoint did with one request.
  enum Outcome: Sendable {
    case answer(ProbeAnswer)
    /// The message of a failure of the network.
    case failure(ChainError)
    /// Not sent, or answered with a limit of requests, with the reason.
    case skipped(String)

    /// The answer, if there is one.
    var answer: ProbeAnswer? { if case .answer(let answer) = self { answer } else { nil } }

    /// Why there is no answer; empty if there is one.
    var problem: String {
      switch self {
      case .answer: ""
      case .failure(let error): error.message
      case .skipped(let reason): reason
      }
    }
  }

  /// The number of requests so far.
  private(set) var count = 0
  private var failures = 0
  /// The status with which the server has asked for a pause; `nil` if it has not.
  private var pausingStatus: Int?
  /// Why the server asks for a pause; `nil` if it does not.
  private var pause: String? {
    pausingStatus.map { "the server limits requests: the status is \($0)" }
  }
  nonisolated let endpoint: Endpoint
  private let maxRequests: Int
  private let transport: any HTTPTransport
  private let limits: HTTPLimits
  private let hiding: SecretHiding

  /// - Parameters:
  ///   - endpoint: The endpoint, with its header fields.
  ///   - transport: Sends the requests.
  ///   - limits: The settings of the connection; times and sizes are those of the examination.
  ///   - time: The time limit of each request.
  ///   - maxRequests: The most requests; ``maxRequests`` by default.
  ///   - hiding: Hides the secrets that the endpoint repeats. Hides nothing by default.
  init(
    _ endpoint: Endpoint, transport: any HTTPTransport, limits: HTTPLimits,
    time: Duration = .seconds(10), maxRequests: Int = EndpointProbe.maxRequests,
    hiding: SecretHiding = SecretHiding([])
  ) {
    self.endpoint = endpoint
    self.maxRequests = maxRequests
    self.transport = transport
    self.hiding = hiding
    var limits = limits
    limits.total = time
    limits.connect = min(limits.connect, .seconds(5), time)
    limits.idle = time
    limits.bodyBytes = ByteSize(bytes: Self.maxBytes)
    self.limits = limits
  }

  /// Why no further requests are sent; `nil` if they are.
  var interruption: String? {
    pause ?? (failures >= Self.maxFailures ? "several requests were not answered" : nil)
  }

  /// Counts a request that another client sends; returns the reason if none may be sent.
  func beginRequest() -> String? {
    guard count < maxRequests else {
      return "not asked: an examination sends at most \(maxRequests) requests"
    }
    if let pause { return "not asked: \(pause)" }
    guard failures < Self.maxFailures else {
      return "not asked: \(failures) requests were not answered"
    }
    count += 1
    return nil
  }

  /// Sends a request.
  func send(_ request: ProbeRequest) async throws -> Outcome {
    if let reason = beginRequest() { return .skipped(reason) }
    do {
      let response = try await transport.send(request.message(to: endpoint), limits: limits)
      var answer = try await Self.answer(response)
      answer.hiding = hiding
      if answer.isLimited { pausingStatus = answer.status }
      return pause.map { .skipped($0) } ?? .answer(answer)
    } catch let error as ChainError {
      // A refused TLS handshake or an endless body is an answer of a kind, but not a useful one.
      failures += 1
      return .failure(hiding.chainError(error))
    }
  }

  /// Asks for a WebSocket connection; `nil` without an answer.
  func webSocket(offering subprotocols: [String]) async throws -> WebSocketProbe.Answer? {
    guard beginRequest() == nil else { return nil }
    let head = HTTPRequest(
      method: .get, scheme: endpoint.scheme, authority: endpoint.authority, path: endpoint.path,
      headerFields: endpoint.headers)
    let answer = try await WebSocketProbe.answer(to: head, offering: subprotocols, limits: limits)
    if let answer, answer.isLimited { pausingStatus = answer.status }
    return pause == nil ? answer : nil
  }

  private static func answer(_ response: HTTPResponseMessage) async throws -> ProbeAnswer {
    var answer = ProbeAnswer(
      status: response.head.status.code, fields: response.head.headerFields,
      version: response.version)
    do {
      for try await chunk in response.body {
        chunk.withUnsafeBytes { answer.body.append(contentsOf: $0) }
        // Of an event stream, the first event is enough.
        if answer.isStream, answer.body.count >= 64 { break }
      }
    } catch let error as ChainError where answer.isStream || error.code == .limitExceeded {
      answer.isCut = true
    }
    return answer
  }
}

/// One request of an examination. None of them changes anything.
struct ProbeRequest: Sendable, Hashable {
  var method = HTTPRequest.Method.post
  var accept = Self.accept
  /// The media type of the body; `nil` for a request without the field.
  var contentType: String? = "application/json"
  /// Further header fields.
  var fields = HTTPFields()
  /// The body, for POST.
  var body: [UInt8] = []
  /// The query of the URL, for GET.
  var query: String?
  /// Whether the body is sent as a form.
  var isForm = false

  static let accept = "\(ProbeAnswer.graphQLType), application/json;q=0.9"

  /// A query by POST; as a form, without files.
  init(_ document: String, accept: String = Self.accept, isForm: Bool = false) {
    self.init(body: ["query": .string(document)], accept: accept)
    self.isForm = isForm
  }

  init(body: JSONValue, accept: String = Self.accept) {
    self.body = body.jsonBytes()
    self.accept = accept
  }

  /// A request by GET with these parameters in the URL.
  static func byGET(_ parameters: KeyValuePairs<String, String>) -> ProbeRequest {
    var request = ProbeRequest(body: [])
    request.method = .get
    request.query = parameters.map { "\(QuotedText.url($0))=\(QuotedText.url($1))" }
      .joined(separator: "&")
    return request
  }

  func message(to endpoint: Endpoint) -> HTTPRequestMessage {
    var path = endpoint.path
    if let query { path += (path.contains("?") ? "&" : "?") + query }
    var head = HTTPRequest(
      method: method, scheme: endpoint.scheme, authority: endpoint.authority, path: path,
      headerFields: endpoint.headers)
    head.headerFields.append(contentsOf: fields)
    head.headerFields[.accept] = accept
    if let name = HTTPField.Name("Apollo-Require-Preflight") { head.headerFields[name] = "1" }
    guard method == .post else { return HTTPRequestMessage(head: head) }
    guard isForm else {
      head.headerFields[.contentType] = contentType
      return HTTPRequestMessage(head: head, body: body)
    }
    let multipart = MultipartBody(operations: body, uploads: [:])
    head.headerFields[.contentType] = multipart.contentType
    var message = HTTPRequestMessage(head: head)
    message.multipart = multipart
    return message
  }
}

/// The answer of an endpoint, as far as it was read.
struct ProbeAnswer: Sendable {
  static let graphQLType = "application/graphql-response+json"
  /// The media types of responses that GraphQL over HTTP recognizes.
  static let officialTypes = [graphQLType, "application/json"]

  var status: Int
  var fields: HTTPFields
  var version: String
  var body: [UInt8] = []
  /// Whether the body did not end within the limits.
  var isCut = false
  /// Hides secrets in the texts of the answer, before they are shortened: the beginning of a secret is not recognized. The
  /// answer itself is judged as it is: a secret may be a word such as `message`.
  var hiding = SecretHiding([])

  /// `Content-Type` without parameters.
  var mediaType: String { Self.mediaType(fields[.contentType] ?? "") }

  /// The media type as reports show it. In lower case, a secret would not be recognized.
  var shownType: String { Self.mediaType(hiding.text(fields[.contentType] ?? "")) }

  private static func mediaType(_ field: String) -> String {
    field.prefix { $0 != ";" }.lowercased().filter { !$0.isWhitespace }
  }

  var isStream: Bool { mediaType == "text/event-stream" || mediaType == "multipart/mixed" }

  /// The body as JSON, unless it is labelled as something else.
  var json: JSONValue? {
    guard !isCut, mediaType.isEmpty || mediaType.hasSuffix("json") else { return nil }
    return try? JSONValue(parsing: body)
  }

  /// The response, if it is one of GraphQL.
  var graphQL: JSONObject? {
    guard let object = json?.objectValue,
      object["data"] != nil || object["errors"]?.arrayValue != nil
    else { return nil }
    return object
  }

  /// The response's data, if there are no errors.
  var data: JSONObject? {
    graphQL?["errors"]?.arrayValue?.isEmpty ?? true ? graphQL?["data"]?.objectValue : nil
  }

  /// Whether the server asks for a pause because of its load, or the number of requests.
  var isLimited: Bool { status == 429 || status == 503 && fields[.retryAfter] != nil }

  /// Whether the endpoint refuses the request because of its credentials.
  var refusesCredentials: Bool {
    [401, 403].contains(status)
      || (json?["errors"]?.arrayValue ?? []).contains {
        GraphQLError($0).code == "UNAUTHENTICATED"
      }
  }

  /// The message of the first error.
  var errorMessage: String? {
    graphQL?["errors"]?.arrayValue?.first.map { GraphQLError($0).message }
  }

  /// `400 application/json: Syntax Error …`
  var summary: String {
    let type = mediaType.isEmpty ? "without a media type" : shownType
    let text = errorMessage ?? (json == nil ? firstLine : nil)
    return Printable.line(
      "\(status) \(type)" + (text.map { ": \(hiding.text($0).prefix(100))" } ?? ""))
  }

  private var firstLine: String? {
    String(decoding: hiding.bytes(body).prefix(400), as: UTF8.self).split(
      whereSeparator: \.isNewline
    )
    .first { !$0.allSatisfy(\.isWhitespace) }.map(String.init)
  }
}
