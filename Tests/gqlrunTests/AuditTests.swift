import GQLRunJSON
import GQLRunPipeline
import GQLRunSupport
import GQLRunTestSupport
import HTTPTypes
import Testing

@testable import gqlrun

/// An answer of ``AuditedServer``.
struct AuditReply: Sendable {
  static let partial = #"{"data":{"__typename":"Query"},"errors":[{"message":"no"}]}"#

  static let nullData = #"{"data":null,"errors":[{"message":"no"}]}"#

  var status = 200
  var type: String? = "\(ProbeAnswer.graphQLType); charset=utf-8"
  var fields: HTTPFields = [:]
  var body = #"{"data":{"__typename":"Query"}}"#
  /// Whether the body is sent in Latin-1.
  var isLatin = false

  var bytes: [UInt8] {
    isLatin
      ? body.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) } : Array(body.utf8)
  }

  static func refusal(_ status: Int, _ message: String = "no") -> AuditReply {
    let errors: JSONValue = ["errors": [["message": .string(message)]]]
    var reply = AuditReply(status: status, body: errors.jsonText())
    if status == 405 { reply.fields[.allow] = "GET, POST" }
    return reply
  }

  /// The answer that keeps every rule.
  init(to request: ProbeRequest) {
    switch request {
    case .parameters, .getWithParameters: body = #"{"data":{"b":"Query"}}"#
    case .acceptsJSON, .prefersJSON: type = "application/json; charset=utf-8"
    case .acceptsNothing: self = .refusal(406)
    case .withoutType, .withUnknownType: self = .refusal(415)
    case .getMutation, .getNamedMutation, .unsupportedMethod: self = .refusal(405)
    case .nonsense, .endlessJSON, .syntaxError: self = .refusal(400)
    case .wrongVariable: self = .refusal(422, "no Boolean: \(ProbeRequest.wideText)")
    case .unknownFieldAsJSON, .ambiguous, .unknownOperation, .withoutVariable: self = .refusal(422)
    case .largeURL: self = .refusal(414)
    case .largeField: self = .refusal(431)
    case .largePOST: self = .refusal(413)
    default:
      let refused = ProbeRequest.illFormed + ProbeRequest.invalidDocuments
      if refused.contains(request) { self = .refusal(422) }
    }
  }

  init(status: Int, body: String) {
    self.status = status
    self.body = body
  }

  /// A page of a proxy.
  mutating func becomePage(_ status: Int) {
    self.status = status
    type = "text/html"
    body = "<h1>no</h1>"
  }

  mutating func becomeData() { self = AuditReply(to: .typename) }
}

/// Answers the requests of an audit as every rule demands, but for one request.
private struct AuditedServer: HTTPTransport {
  static let endpoint = try? Endpoint(url: "http://127.0.0.1:1/graphql?key=1")

  /// Changes the answer to a request.
  var change: @Sendable (ProbeRequest, inout AuditReply) throws -> Void = { _, _ in }

  func send(
    _ message: HTTPRequestMessage, limits: HTTPLimits
  ) async throws -> HTTPResponseMessage {
    let endpoint = try #require(Self.endpoint)
    let request = try #require(
      AuditRule.requests.first {
        let own = $0.message(to: endpoint)
        return own.head == message.head && own.body == message.body
      })
    var reply = AuditReply(to: request)
    try change(request, &reply)
    var head = HTTPResponse(status: .init(code: reply.status), headerFields: reply.fields)
    head.headerFields[.contentType] = reply.type
    return HTTPResponseMessage(head: head, body: HTTPBody([reply.bytes]))
  }

  func audit(hiding: SecretHiding = SecretHiding([])) async throws -> Audit {
    try await Audit.run(
      with: EndpointProbe(
        try #require(Self.endpoint), transport: self, limits: HTTPLimits(),
        maxRequests: Audit.maxRequests, hiding: hiding))
  }
}

/// A rule, and an answer that breaks it.
struct AuditBreach: Sendable, CustomTestStringConvertible {
  let rule: String
  let request: ProbeRequest
  let change: @Sendable (inout AuditReply) -> Void

  init(
    _ rule: String, _ request: ProbeRequest,
    _ change: @escaping @Sendable (inout AuditReply) -> Void
  ) {
    self.rule = rule
    self.request = request
    self.change = change
  }

  /// An answer with another status and the same body.
  static func status(_ rule: String, of request: ProbeRequest, _ status: Int) -> AuditBreach {
    AuditBreach(rule, request) { $0.status = status }
  }

  var testDescription: String { "\(rule): \(request.method) \(request.query ?? "")" }

  static let all: [AuditBreach] =
    [
      AuditBreach("schema", .typename) { $0 = .refusal(400) },
      AuditBreach("schema", .typename) { $0.becomePage(404) },
      AuditBreach("schema", .typename) { $0.body = AuditReply.partial },
      AuditBreach("json", .typename) { $0.becomePage(200) },
      AuditBreach("utf-8", .wrongVariable) {
        $0 = .refusal(422, "ä")
        $0.type = ProbeAnswer.graphQLType
        $0.isLatin = true
      },
      AuditBreach("post", .typename) { $0 = .refusal(405) },
      AuditBreach("get-parameters", .getWithParameters) { $0.body = #"{"data":{"a":"Query"}}"# },
      AuditBreach("get-parameters", .getWithParameters) {
        $0.body = #"{"data":{"b":"Q","c":"Q"}}"#
      },
      AuditBreach("get-empty", .getWithEmpty) { $0 = .refusal(422) },
      AuditBreach("get-mutation", .getMutation) { $0.status = 200 },
      AuditBreach("get-mutation", .getMutation) { $0.status = 500 },
      AuditBreach("get-mutation", .getNamedMutation) { $0.becomeData() },
      AuditBreach("post-json", .withCharset) { $0 = .refusal(415) },
      AuditBreach("post-utf-8", .wide) { $0 = .refusal(400) },
      AuditBreach("post-utf-8", .wrongVariable) { $0 = .refusal(422, "no Boolean: Ã¤â‚¬") },
      AuditBreach("post-without-type", .withoutType) { $0.becomeData() },
      AuditBreach("additional-properties", .additional) { $0 = .refusal(422) },
      AuditBreach("null-parameters", .nulls) { $0 = .refusal(422) },
      AuditBreach("response", .syntaxError) { $0.becomePage(400) },
      AuditBreach("response", .unknownField) { $0.body = #"{"errors":["no"]}"# },
      AuditBreach("response", .unknownField) { $0.body = #"{"errors":[]}"# },
      AuditBreach("response", .unknownField) { $0.body = #"{"data":null}"# },
      AuditBreach("response", .unknownField) { $0.body = "{}" },
      AuditBreach("response", .unknownField) { $0.body = "" },
      AuditBreach("response", .unknownField) { $0.body = AuditReply.nullData },
      AuditBreach("response", .parameters) { $0.body = #"{"data":{"a":"Query"}}"# },
      AuditBreach("rfc-9110", .unsupportedMethod) { $0.fields[.allow] = nil },
      AuditBreach("rfc-9110", .nonsense) { $0.status = 401 },
      AuditBreach("body", .additional) { $0.body = #"{"data":{"a":1},"hasNext":false}"# },
      AuditBreach("body", .additional) { $0.body = #"[{"data":{"a":1}}]"# },
      AuditBreach("content-type", .nonsense) { $0.type = nil },
      AuditBreach("charset", .additional) { $0.type = ProbeAnswer.graphQLType },
      AuditBreach("graphql-response", .acceptsGraphQL) { $0.type = "application/json" },
      AuditBreach("accept", .typename) { $0.type = "application/json" },
      AuditBreach("accept", .prefersJSON) { $0.type = ProbeAnswer.graphQLType },
      AuditBreach("accept-none", .acceptsNothing) { $0.becomePage(404) },
      AuditBreach("accept-none", .acceptsNothing) { $0.body = #"{"data":{"a":1}}"# },
      AuditBreach("accept-json", .acceptsJSON) { $0.type = ProbeAnswer.graphQLType },
      AuditBreach("accept-json", .unknownFieldAsJSON) { $0.status = 200 },
      AuditBreach("accept-json", .unknownFieldAsJSON) { $0.type = "application/json" },
      AuditBreach("accept-406", .acceptsNothing) { $0.becomeData() },
      AuditBreach("no-response-status", .nonsense) { $0.becomePage(200) },
      AuditBreach("no-response-type", .nonsense) { $0.body = "no" },
      AuditBreach("data-2xx", .nulls) { $0.status = 400 },
      AuditBreach("data-200", .nulls) { $0.status = 202 },
      AuditBreach("partial-294", .nulls) { $0.body = AuditReply.partial },
      AuditBreach("no-data-4xx", .syntaxError) { $0.status = 200 },
      AuditBreach("request-4xx", .endlessJSON) { $0.status = 500 },
      .status("mutation-405", of: .getMutation, 400),
      .status("method-405", of: .unsupportedMethod, 404),
      AuditBreach("method-405", .unsupportedMethod) { $0.becomeData() },
      .status("content-type-415", of: .withUnknownType, 400),
      AuditBreach("content-type-415", .withUnknownType) { $0.becomeData() },
      .status("url-414", of: .largeURL, 400),
      .status("header-431", of: .largeField, 400),
      .status("body-413", of: .largePOST, 500),
      .status("json-400", of: .nonsense, 422),
      .status("json-400", of: .endlessJSON, 500),
      .status("document-400", of: .syntaxError, 422),
      .status("validation-422", of: .unknownField, 400),
      .status("operation-422", of: .ambiguous, 400),
      .status("operation-422", of: .unknownOperation, 400),
      .status("variables-422", of: .withoutVariable, 400),
      .status("variables-422", of: .wrongVariable, 400),
    ] + ProbeRequest.illFormed.map { .status("request-422", of: $0, 400) }
    + ProbeRequest.invalidDocuments.map { AuditBreach("validation", $0) { $0.becomeData() } }
}

@Suite("The audit of a server", .timeLimit(.minutes(10)))
struct AuditTests {
  @Test("a server that keeps every rule is found to do so, with at most 60 requests")
  func kept() async throws {
    let audit = try await AuditedServer().audit()
    #expect(audit.exchanges.count <= Audit.maxRequests && audit.interruption == nil)
    for finding in audit.findings {
      switch finding.rule.scope {
      case .nothing(let reason):
        #expect(finding.outcome == .notChecked && finding.reason == reason)
      case .requests:
        // Every response of this server names its encoding.
        #expect(
          finding.outcome == (finding.rule.id == "utf-8" ? .notChecked : .kept),
          "\(finding.rule.id): \(finding.reason)")
      case .everyAnswer(let reason):
        // No response of this server has data and errors, or is no GraphQL response.
        let isOpen = ["partial-294", "no-response-status", "no-response-type"].contains(
          finding.rule.id)
        #expect(finding.outcome == (isOpen ? .notChecked : .kept), "\(finding.rule.id)")
        #expect(finding.reason == (isOpen ? reason : ""))
      }
    }
  }

  @Test("an answer that breaks a rule is found", arguments: AuditBreach.all)
  func broken(_ breach: AuditBreach) async throws {
    let server = AuditedServer { request, reply in
      if request == breach.request { breach.change(&reply) }
    }
    let finding = try #require(
      try await server.audit().findings.first { $0.rule.id == breach.rule })
    #expect(finding.outcome == .notKept, "\(finding.reason)")
    #expect(finding.exchange?.request == breach.request)
    #expect(!finding.reason.isEmpty)
  }

  @Test("each rule that shows from outside has an answer that breaks it")
  func everyRule() {
    let observable = AuditRule.all.filter { if case .nothing = $0.scope { false } else { true } }
    #expect(Set(AuditBreach.all.map(\.rule)) == Set(observable.map(\.id)))
    #expect(Set(AuditRule.all.map(\.id)).count == AuditRule.all.count)
    #expect(Set(AuditRule.all.map(\.sentence)).count == AuditRule.all.count)
  }

  @Test("no request can change anything")
  func harmless() {
    #expect(AuditRule.requests.count <= Audit.maxRequests)
    #expect(AuditRule.requests.first == .typename)
    let safe = ["GET", "PROPFIND"]
    for request in AuditRule.requests {
      let isSafe = safe.contains(request.method.rawValue)
      #expect(isSafe || request.method == .post)
      let text = String(decoding: request.body, as: UTF8.self)
      #expect(!text.contains("mutation"), "a mutation by POST would be executed")
    }
    let mutations = AuditRule.requests.compactMap(\.query).filter { $0.contains("mutation") }
    #expect(mutations.count == 2)
    // Only `__typename` is selected, which executes no field of the schema.
    for mutation in mutations {
      #expect(
        mutation.contains("mutation%20%7B%20__typename%20%7D")
          || mutation.contains("mutation%20B%20%7B%20__typename%20%7D"), "\(mutation)")
    }
  }

  @Test("without data for the first query, nothing else is asked")
  func noGraphQL() async throws {
    let audit = try await AuditedServer { $1.becomePage(200) }.audit()
    #expect(audit.exchanges.count == 1 && !audit.answersQueries && audit.interruption == nil)
    let findings = audit.findings
    #expect(findings.first?.outcome == .notKept)
    let open = findings.first { $0.rule.id == "json-400" }
    #expect(open?.outcome == .notChecked)
    #expect(open?.reason == "not asked: the query { __typename } is not answered with data")
  }

  @Test("rules on GET are not checked where queries by GET are not answered")
  func noGET() async throws {
    let audit = try await AuditedServer { request, reply in
      if request.method == .get { reply = .refusal(405) }
    }.audit()
    func finding(_ id: String) -> AuditFinding? { audit.findings.first { $0.rule.id == id } }
    for id in ["get-parameters", "get-empty", "url-414"] {
      #expect(finding(id)?.outcome == .notChecked, "\(id)")
      #expect(
        finding(id)?.reason.hasPrefix("the server answers no queries by GET: 405 ") == true)
    }
    #expect(finding("get-mutation")?.outcome == .kept)
    #expect(finding("mutation-405")?.outcome == .kept)
  }

  @Test("a page for browsers by GET breaks no rule, as the URL may have other purposes")
  func page() async throws {
    let audit = try await AuditedServer { request, reply in
      if request.method != .post { reply.becomePage(200) }
    }.audit()
    let broken = audit.findings.filter { $0.outcome == .notKept }.map(\.rule.id)
    // PROPFIND is answered, too.
    #expect(broken == ["method-405"])
    for id in ["get-mutation", "mutation-405"] {
      let finding = audit.findings.first { $0.rule.id == id }
      #expect(finding?.reason == "the server answers no queries by GET")
    }
  }

  @Test("a server that does not answer GET breaks no rule by that")
  func ignoredGET() async throws {
    let audit = try await AuditedServer { request, _ in
      if request == .get || request == .getMutation {
        throw ChainError(.transport, code: .connectionClosed, message: "the server is gone")
      }
    }.audit()
    let broken = audit.findings.filter { $0.outcome == .notKept }.map(\.rule.id)
    #expect(broken == [])
  }

  @Test(
    "a malformed response with data is a finding, and the audit continues",
    arguments: ["errors", "extensions"])
  func nullEntries(_ entry: String) async throws {
    let audit = try await AuditedServer { request, reply in
      if request == .typename {
        reply.body = #"{"data":{"__typename":"Query"},"\#(entry)":null}"#
      }
    }.audit()
    #expect(audit.answersQueries && audit.exchanges.count == AuditRule.requests.count)
    let json = audit.findings.first { $0.rule.id == "json" }
    #expect(json?.outcome == .notKept && json?.reason.contains("\"\(entry)\"") == true)
  }

  @Test("of a large response, an audit keeps and shows the beginning")
  func largeResponses() async throws {
    let long = String(repeating: "x", count: 100_000)
    let audit = try await AuditedServer { request, reply in
      if request == .syntaxError {
        reply = .refusal(400, long)
        reply.type = "application/\(long)+json"
      }
      if request == .parameters { reply.body = #"{"data":{"\#(long)":1}}"# }
    }.audit()
    let exchange = try #require(audit[.syntaxError])
    #expect((exchange.errorMessage?.utf8.count ?? 0) <= 400)
    #expect((exchange.answer?.body.count ?? 0) <= 400 && exchange.received.count < 500)
    #expect(audit.findings.allSatisfy { $0.reason.count < 1000 })
  }

  @Test("a type that the server does not support is no measure for another one")
  func noGraphQLType() async throws {
    let audit = try await AuditedServer { _, reply in
      reply.type = "application/json; charset=utf-8"
    }.audit()
    let finding = audit.findings.first { $0.rule.id == "accept-json" }
    #expect(finding?.outcome == .notChecked)
    #expect(
      finding?.reason == "the server does not support application/graphql-response+json")
  }

  @Test("sizes that a server accepts show nothing about its limits")
  func noLimits() async throws {
    let audit = try await AuditedServer { request, reply in
      if request.isLarge { reply.becomeData() }
    }.audit()
    for (id, reason) in [
      ("url-414", "the server accepts a URL of 32 KiB"),
      ("header-431", "the server accepts a header field of 32 KiB"),
      ("body-413", "the server accepts a body of 1 MiB"),
    ] {
      let finding = audit.findings.first { $0.rule.id == id }
      #expect(finding?.outcome == .notChecked && finding?.reason == reason, "\(id)")
    }
  }

  @Test("an endpoint that stops answering is asked three more times")
  func silence() async throws {
    let count = Locked(0)
    let audit = try await AuditedServer { _, _ in
      if count.increment() > 5 {
        throw ChainError(.transport, code: .connectionClosed, message: "the server is gone")
      }
    }.audit()
    #expect(count.withLock { $0 } == 8)
    #expect(audit.interruption == "several requests were not answered")
    let outcomes = audit.findings.map(\.outcome)
    #expect(outcomes.contains(.kept) && outcomes.contains(.notChecked))
    let lost = audit.findings.filter { $0.outcome == .notKept }
    #expect(!lost.isEmpty && lost.allSatisfy { $0.reason == "the server is gone" })
    let skipped = audit.findings.first { $0.rule.id == "document-400" }
    #expect(skipped?.reason == "not asked: 3 requests were not answered")
  }

  @Test(
    "a server that limits requests is asked no more, and breaks no rule", arguments: [429, 503])
  func limited(_ status: Int) async throws {
    let count = Locked(0)
    let audit = try await AuditedServer { _, reply in
      guard count.increment() > 5 else { return }
      reply.becomePage(status)
      reply.fields[.retryAfter] = "1"
    }.audit()
    #expect(count.withLock { $0 } == 6)
    let reason = "the server limits requests: the status is \(status)"
    #expect(audit.interruption == reason)
    let findings = audit.findings
    #expect(findings.allSatisfy { $0.outcome != .notKept })
    #expect(findings.first?.outcome == .kept)
    #expect(findings.first { $0.rule.id == "get-mutation" }?.reason == reason)
    #expect(findings.first { $0.rule.id == "json-400" }?.reason == "not asked: \(reason)")
  }

  @Test(
    "a secret that a server repeats is in no report, even if the text is shortened or escaped",
    arguments: [String(repeating: "qz7", count: 234), #"qz7<&"qz7"#])
  func hidden(_ secret: String) async throws {
    let errors: JSONValue = ["errors": [["message": .string(secret)]]]
    let audit = try await AuditedServer { request, reply in
      guard request == .syntaxError else { return }
      reply = AuditReply(status: 418, body: errors.jsonText())
    }.audit(hiding: SecretHiding([SecretString(secret)]))
    let finding = audit.findings.first { $0.rule.id == "document-400" }
    #expect(finding?.exchange?.received.contains(SecretString.redacted) == true)
    let report = AuditReport(url: "http://127.0.0.1:1/", requests: 1, findings: audit.findings)
    for text in [report.text, report.json, report.junit] { #expect(!text.contains("qz7")) }
  }

  @Test("a secret in a media type is not shown in lower case, either")
  func hiddenType() async throws {
    let audit = try await AuditedServer { request, reply in
      if request == .syntaxError { reply.type = "text/Qz7Qz7" }
    }.audit(hiding: SecretHiding([SecretString("Qz7Qz7")]))
    let report = AuditReport(url: "http://127.0.0.1:1/", requests: 1, findings: audit.findings)
    #expect(report.text.contains("the media type is text/•••"))
    #expect(!report.text.lowercased().contains("qz7"))
  }

  @Test("an answer is judged as it is, whatever word of it is a secret")
  func secretWords() async throws {
    let secrets = ["message", "errors", "__typename", "application/json", ProbeAnswer.graphQLType]
    let audit = try await AuditedServer().audit(
      hiding: SecretHiding(secrets.map { SecretString($0) }))
    #expect(audit.findings.allSatisfy { $0.outcome != .notKept })
    let received = audit.exchanges.first?.received
    #expect(received == #"200 •••; charset=utf-8, {"data":{"•••":"Query"}}"#)
  }

  @Test("the report has a line for each rule, and details of those that are not kept")
  func report() async throws {
    let audit = try await AuditedServer { request, reply in
      if request == .syntaxError { reply.status = 418 }
      reply.type = ProbeAnswer.graphQLType
    }.audit()
    let report = AuditReport(
      url: "http://127.0.0.1:1/graphql", requests: audit.exchanges.count,
      findings: audit.findings)
    let lines = report.text.split(separator: "\n").map(String.init)
    #expect(lines.first == "http://127.0.0.1:1/graphql, GraphQL over HTTP, September 2026")
    #expect(
      lines.filter { $0.hasPrefix("MUST  ") || $0.hasPrefix("SHOULD  ") }.count
        == AuditRule.all.count)
    let start = try #require(
      lines.firstIndex {
        $0.hasPrefix("SHOULD  NOT KEPT     If the GraphQL document in the request cannot be parsed")
      })
    #expect(
      Array(lines[(start + 1)...(start + 4)]) == [
        "  found     the status is 418, not 400",
        "  sent      POST, Accept: application/graphql-response+json, application/json;q=0.9, "
          + #"Content-Type: application/json, {"query":"{"}"#,
        #"  received  418 application/graphql-response+json, {"errors":[{"message":"no"}]}"#,
        "  section   Status Codes, "
          + "https://graphql.github.io/graphql-over-http/draft/#sec-Status-Codes",
      ])
    let charset = try #require(lines.firstIndex { $0.contains("A server SHOULD indicate the enc") })
    #expect(lines[charset + 10].hasPrefix("  further   "), "\(lines[charset + 10])")
    let summary = try #require(lines.last)
    #expect(summary.contains(/^MUST \d+ of \d+, SHOULD \d+ of \d+, \d+ not checked, \d+ requests$/))

    let json = try JSONValue(parsing: report.json)
    let rules = try #require(json["rules"]?.arrayValue)
    #expect(
      rules.count == AuditRule.all.count && json["requests"]?.intValue == audit.exchanges.count)
    let rule = try #require(rules.first { $0["id"]?.stringValue == "document-400" })
    #expect(rule["level"] == "SHOULD" && rule["section"] == "Status Codes")
    #expect(rule["outcome"] == "not kept" && rule["reason"] == "the status is 418, not 400")
    #expect(rule["sent"]?.stringValue?.hasPrefix("POST, Accept: ") == true)
    #expect(rule["received"]?.stringValue?.hasPrefix("418 ") == true)
    #expect(rules.first { $0["id"] == "timeout-408" }?["sent"] == .null)
  }
}
