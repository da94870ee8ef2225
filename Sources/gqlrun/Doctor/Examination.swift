import GQLRunJSON
import GQLRunPipeline
import GQLRunPlugins
import GQLRunSupport
import HTTPTypes

/// What `gqlrun doctor` found out about one feature of an endpoint.
struct DoctorFinding: Sendable, Equatable {
  enum Verdict: String, Sendable { case yes, no, unknown }

  var feature: Feature
  var verdict: Verdict
  var detail: String

  /// The features, in the order of the report.
  enum Feature: String, Sendable, CaseIterable {
    case graphQL = "graphql"
    case resultType = "graphql-response+json"
    case statusStyle = "error-status"
    case get
    case introspection
    case emptySelectionSets = "empty-selection-sets"
    case persistedQueries = "persisted-queries"
    case arrays
    case uploads
    case incremental
    case eventStream = "subscriptions-sse"
    case multipart = "subscriptions-multipart"
    case webSocket = "subscriptions-websocket"
    case compression
    case http2 = "http/2"
    case tls
    case depth
    case size
  }
}

/// Examines an endpoint with queries that change nothing.
struct Examination: Sendable {
  let probe: EndpointProbe
  private(set) var findings: [DoctorFinding] = []
  /// The outcome of the request with the largest answer.
  private var largest = EndpointProbe.Outcome.skipped("")
  private var hasSubscriptions: Bool?
  /// Whether the endpoint refuses the first query because of its credentials.
  private(set) var refusesCredentials = false
  /// The subprotocols of WebSocket that the endpoint speaks, the preferred one first.
  private(set) var subprotocols: [String] = []

  static let typename = "{ __typename }"

  private init(_ probe: EndpointProbe) { self.probe = probe }

  /// Examines an endpoint.
  ///
  /// - Throws: ``ChainError`` if the endpoint cannot be reached.
  static func run(with probe: EndpointProbe) async throws -> Examination {
    var examination = Examination(probe)
    try await examination.run()
    return examination
  }

  /// Whether the endpoint answers GraphQL at all.
  var isGraphQL: Bool { verdict(of: .graphQL) == .yes }

  func verdict(of feature: DoctorFinding.Feature) -> DoctorFinding.Verdict? {
    findings.first { $0.feature == feature }?.verdict
  }

  /// Asks everything. Ends after the first answer if that is not one of GraphQL.
  private mutating func run() async throws {
    guard let first = try await start() else { return }
    try await errorStatus()
    try await get()
    try await introspection()
    try await emptySelectionSets()
    try await persistedQueries()
    try await arrays()
    try await uploads()
    try await incremental()
    try await subscriptions()
    try await webSocket()
    note(.compression, outcome: largest, absent: "the largest answer was not compressed") {
      $0.fields[.contentEncoding]
    }
    note(.http2, verdict: first.version == "HTTP/2" ? .yes : .no, detail: first.version)
    try await depth()
    try await size()
  }

  mutating func note(
    _ feature: DoctorFinding.Feature, verdict: DoctorFinding.Verdict, detail: String
  ) {
    findings.append(
      DoctorFinding(feature: feature, verdict: verdict, detail: Printable.line(detail)))
  }

  /// Notes a feature by an answer: present, absent, or unknown without an answer.
  ///
  /// - Parameter absent: The detail of an absent feature; that of the answer by default.
  private mutating func note(
    _ feature: DoctorFinding.Feature, outcome: EndpointProbe.Outcome, absent: String? = nil,
    present: (ProbeAnswer) -> String?
  ) {
    guard let answer = outcome.answer else {
      return note(feature, verdict: .unknown, detail: outcome.problem)
    }
    if let detail = present(answer) { return note(feature, verdict: .yes, detail: detail) }
    note(feature, verdict: .no, detail: absent ?? answer.summary)
  }
}

// MARK: Requests and results

extension Examination {
  /// The first request. Returns its answer if that is one of GraphQL.
  private mutating func start() async throws -> ProbeAnswer? {
    let outcome = try await probe.send(ProbeRequest(Self.typename))
    if case .failure(let error) = outcome { throw error }
    guard let answer = outcome.answer else {
      note(.graphQL, verdict: .unknown, detail: outcome.problem)
      return nil
    }
    refusesCredentials = answer.refusesCredentials
    guard answer.graphQL != nil else {
      note(.graphQL, verdict: .no, detail: "a query by POST is answered with \(answer.summary)")
      return nil
    }
    guard answer.data != nil else {
      note(
        .graphQL, verdict: .no, detail: "the query \(Self.typename) is refused: \(answer.summary)")
      return nil
    }
    note(.graphQL, verdict: .yes, detail: "POST, \(answer.status) \(answer.shownType)")
    let isNew = answer.mediaType == ProbeAnswer.graphQLType
    note(
      .resultType, verdict: isNew ? .yes : .no,
      detail: isNew ? "sent to clients that accept it" : "\(answer.shownType) is sent instead")
    return answer
  }

  /// How errors show in the status: https://graphql.github.io/graphql-over-http/draft/
  private mutating func errorStatus() async throws {
    let syntax = try await probe.send(ProbeRequest("{ __typename"))
    let validation = try await probe.send(ProbeRequest("{ gqlrunDoctor }"))
    guard let syntax = syntax.answer, let validation = validation.answer else {
      return note(.statusStyle, verdict: .unknown, detail: syntax.problem + validation.problem)
    }
    let style =
      switch validation.status {
      case 422: "the edition of September 2026"
      case 400: "the earlier edition"
      case 200: "errors do not show in the status"
      default: "no known style"
      }
    note(
      .statusStyle, verdict: validation.status == 200 ? .no : .yes,
      detail:
        "\(syntax.status) for a syntax error, \(validation.status) for an invalid document: \(style)"
    )
  }

  private mutating func get() async throws {
    note(.get, outcome: try await probe.send(.byGET(["query": "{__typename}"]))) {
      $0.data == nil ? nil : "queries in the URL"
    }
  }

  private mutating func introspection() async throws {
    let query =
      "{ __schema { subscriptionType { name } directives { name } types { kind name description "
      + "fields { name description args { name } } } } }"
    let outcome = try await probe.send(ProbeRequest(query))
    let schema = outcome.answer?.data?["__schema"]
    if let schema, let subscription = schema["subscriptionType"] {
      hasSubscriptions = !subscription.isNull
    }
    largest = outcome
    note(.introspection, outcome: outcome) { _ in
      schema?["types"]?.arrayValue.map { "\($0.count) types" }
    }
  }

  /// https://spec.graphql.org/September2026/#sec-Selection-Sets
  private mutating func emptySelectionSets() async throws {
    note(.emptySelectionSets, outcome: try await probe.send(ProbeRequest("{ __schema { } }"))) {
      $0.data?["__schema"]?.objectValue == nil ? nil : "{ __schema { } }, of GraphQL September 2026"
    }
  }

  /// A hash that no document has, so that nothing is registered.
  private mutating func persistedQueries() async throws {
    let hash = JSONValue.string(String(repeating: "0", count: 64))
    let outcome = try await probe.send(
      ProbeRequest(body: ["extensions": ["persistedQuery": ["version": 1, "sha256Hash": hash]]]))
    note(.persistedQueries, outcome: outcome) { answer in
      let errors = (answer.json?["errors"]?.arrayValue ?? []).map { GraphQLError($0) }
      let isKnown = errors.contains {
        $0.message == "PersistedQueryNotFound" || $0.code == "PERSISTED_QUERY_NOT_FOUND"
      }
      return isKnown ? "automatic persisted queries" : nil
    }
  }

  private mutating func arrays() async throws {
    let query: JSONValue = ["query": .string(Self.typename)]
    func send(_ count: Int) async throws -> EndpointProbe.Outcome {
      try await probe.send(ProbeRequest(body: .array(Array(repeating: query, count: count))))
    }
    func isAnswered(_ outcome: EndpointProbe.Outcome, _ count: Int) -> Bool {
      let elements = outcome.answer?.json?.arrayValue ?? []
      return elements.count == count && elements.allSatisfy { $0["data"]?.objectValue != nil }
    }
    let two = try await send(2)
    guard isAnswered(two, 2) else { return note(.arrays, outcome: two) { _ in nil } }
    let many = try await send(11)
    note(
      .arrays, verdict: .yes,
      detail: isAnswered(many, 11)
        ? "at least 11 operations in one request" : "2 to 10 operations in one request")
  }

  private mutating func uploads() async throws {
    // The alias shows that the query was read.
    let request = ProbeRequest("{ form: __typename }", isForm: true)
    note(.uploads, outcome: try await probe.send(request)) {
      $0.data?["form"] == nil ? nil : "multipart/form-data is read"
    }
  }
}

// MARK: Responses in parts

extension Examination {
  private mutating func incremental() async throws {
    let document = "{ ... @defer { __typename } }"
    let formats = [
      ("incrementalSpec=v0.2", "with ids (incrementalSpec=v0.2)"),
      ("deferSpec=20220824", "of 2022 (deferSpec=20220824)"),
    ]
    var found: [String] = []
    var last: EndpointProbe.Outcome?
    for (parameter, name) in formats {
      let outcome = try await probe.send(
        ProbeRequest(
          document, accept: "multipart/mixed;\(parameter), \(ProbeRequest.accept)"))
      last = outcome
      guard let answer = outcome.answer, answer.mediaType == "multipart/mixed" else { continue }
      // Some servers send one format whatever the client accepts.
      let text = String(decoding: answer.body, as: UTF8.self)
      let isNew = text.contains("\"pending\"")
      if isNew == (parameter == formats[0].0) { found.append(name) }
    }
    if !found.isEmpty {
      note(
        .incremental, verdict: .yes,
        detail: "@defer, the format " + found.joined(separator: " and the format "))
    } else if let last {
      let isIgnored = last.answer?.data != nil
      note(.incremental, outcome: last, absent: isIgnored ? "@defer is ignored" : nil) { _ in nil }
    }
  }

  /// An unknown field: a transport that is supported carries the validation error.
  private mutating func subscriptions() async throws {
    guard hasSubscriptions != false else {
      note(.eventStream, verdict: .no, detail: "the schema has no subscriptions")
      return note(.multipart, verdict: .no, detail: "the schema has no subscriptions")
    }
    note(.eventStream, outcome: try await subscription(accept: "text/event-stream")) {
      $0.mediaType == "text/event-stream" ? $0.mediaType : nil
    }
    let type = "multipart/mixed;subscriptionSpec=1.0"
    var outcome = try await subscription(accept: type + ", application/json")
    if outcome.answer?.errorMessage != nil {
      // Some servers use JSON, if it is accepted too, for errors before the first event.
      outcome = try await subscription(accept: type)
    }
    if let answer = outcome.answer, answer.errorMessage != nil, answer.status != 406 {
      let found = answer.mediaType.isEmpty ? "JSON" : answer.mediaType
      note(.multipart, verdict: .unknown, detail: "an error comes as \(found)")
    } else {
      note(.multipart, outcome: outcome) { $0.mediaType == "multipart/mixed" ? $0.mediaType : nil }
    }
  }

  private func subscription(accept: String) async throws -> EndpointProbe.Outcome {
    try await probe.send(ProbeRequest("subscription { gqlrunDoctor }", accept: accept))
  }
}

extension Examination {
  /// Each subprotocol by itself: servers choose one of several.
  private mutating func webSocket() async throws {
    guard hasSubscriptions != false else {
      return note(.webSocket, verdict: .no, detail: "the schema has no subscriptions")
    }
    var last: WebSocketProbe.Answer?
    for name in ["graphql-transport-ws", "graphql-ws"] {
      last = try await probe.webSocket(offering: [name])
      if last?.status == 101, last?.subprotocol == name { subprotocols.append(name) }
    }
    guard subprotocols.isEmpty else {
      return note(.webSocket, verdict: .yes, detail: subprotocols.joined(separator: " and "))
    }
    guard let last else {
      return note(.webSocket, verdict: .unknown, detail: "the handshake is not answered")
    }
    note(
      .webSocket, verdict: .no,
      detail: last.status == 101
        ? "the handshake names no subprotocol" : "the handshake is answered with \(last.status)")
  }
}

// MARK: Limits

extension Examination {
  private mutating func depth() async throws {
    try await limit(.depth, [10, 25, 50], shown: { "\($0) levels" }) { levels in
      let nested = String(repeating: "{ofType", count: levels - 4)
      return "{__schema{types{fields{type\(nested){name}"
        + String(repeating: "}", count: levels - 4) + "}}}}"
    } isAdmitted: {
      $0.data?["__schema"] != nil
    }
  }

  private mutating func size() async throws {
    try await limit(
      .size, [100 << 10, 1 << 20], subject: "requests of ", shown: { Quantity.size($0) }
    ) { size in
      "\(Self.typename)\n\(String(repeating: "#", count: size))"
    } isAdmitted: {
      $0.data != nil
    }
  }

  /// Sends larger and larger documents until one is refused.
  ///
  /// - Parameters:
  ///   - feature: The feature to note.
  ///   - sizes: The sizes, in ascending order.
  ///   - subject: What has the size, with a space.
  ///   - shown: A size as text.
  ///   - document: The document of a size.
  ///   - isAdmitted: Whether an answer shows that its document was admitted.
  private mutating func limit(
    _ feature: DoctorFinding.Feature, _ sizes: [Int], subject: String = "",
    shown: (Int) -> String, document: (Int) -> String, isAdmitted: (ProbeAnswer) -> Bool
  ) async throws {
    var admitted: Int?
    for size in sizes {
      let outcome = try await probe.send(ProbeRequest(document(size)))
      guard let answer = outcome.answer else {
        return note(feature, verdict: .unknown, detail: outcome.problem)
      }
      guard isAdmitted(answer) else {
        return note(
          feature, verdict: admitted == nil ? .unknown : .yes,
          detail: (admitted.map { subject + shown($0) } ?? "not known")
            + "; \(shown(size)) are refused: \(answer.summary)")
      }
      admitted = size
    }
    note(feature, verdict: .yes, detail: "\(subject)at least \(shown(sizes.last ?? 0))")
  }
}
