import GQLRunJSON
import GQLRunPipeline
import GQLRunSupport
import HTTPTypes

/// Checks a server by the rules of GraphQL over HTTP; ``AuditRule/all`` is the table of them.
///
/// Each request is sent once, whatever the number of rules that need it.
struct Audit: Sendable {
  /// The most requests of an audit.
  static let maxRequests = 60
  static let edition = "GraphQL over HTTP, September 2026"

  /// The requests that were sent, and those that were left out because others were not answered.
  private(set) var exchanges: [AuditExchange] = []
  /// Why requests were left out; `nil` if none was.
  private(set) var interruption: String?

  /// Sends all requests, or only the first one if that is not answered with data.
  ///
  /// - Throws: ``ChainError`` if the endpoint cannot be reached.
  static func run(with probe: EndpointProbe) async throws -> Audit {
    var audit = Audit()
    for request in AuditRule.requests {
      let outcome = try await probe.send(request)
      if audit.exchanges.isEmpty, case .failure(let error) = outcome { throw error }
      audit.exchanges.append(AuditExchange(request, outcome))
      guard audit.answersQueries else { break }
    }
    if audit.exchanges.contains(where: { !$0.wasSent }) {
      audit.interruption = await probe.interruption
    }
    return audit
  }

  /// Whether a request is one of GraphQL for this server: others may be for other purposes of its URL, such as a page for
  /// browsers.
  func isGraphQL(_ request: ProbeRequest) -> Bool {
    request.method == .post || request.method == .get && self[.get]?.hasData == true
  }

  subscript(request: ProbeRequest) -> AuditExchange? {
    exchanges.first { $0.request == request }
  }

  /// Whether the first query is answered with data, if need be in a malformed response. If not, no rule but the first can be checked.
  var answersQueries: Bool { exchanges.first?.hasAnyData ?? false }

  /// Whether the endpoint refuses the first query because of its credentials.
  var refusesCredentials: Bool { exchanges.first?.refusesCredentials ?? false }

  /// A finding for each rule, in the order of the specification.
  var findings: [AuditFinding] { AuditRule.all.map { finding(on: $0) } }

  private func finding(on rule: AuditRule) -> AuditFinding {
    let shown: [AuditExchange]
    let reason: String
    switch rule.scope {
    case .nothing(let why): return AuditFinding(rule: rule, outcome: .notChecked, reason: why)
    case .everyAnswer(let otherwise):
      shown = exchanges.filter { $0.answer != nil }
      reason = otherwise
    case .requests(let requests):
      shown = requests.compactMap { self[$0] }
      reason =
        "not asked: "
        + (interruption ?? "the query \(Examination.typename) is not answered with data")
    }
    var finding = AuditFinding(rule: rule, outcome: .notChecked, reason: reason)
    var kept: AuditExchange?
    var open: String?
    for exchange in shown {
      switch verdict(on: rule, exchange) {
      case .kept: kept = kept ?? exchange
      case .broken(let problem):
        finding.breaches.append((exchange, Printable.line(problem)))
      case .open(let why): open = open ?? why
      }
    }
    if let breach = finding.breaches.first {
      finding.outcome = .notKept
      finding.reason = breach.problem
      finding.exchange = breach.exchange
    } else if let kept {
      finding.outcome = .kept
      finding.reason = ""
      finding.exchange = kept
    } else if let open, case .requests = rule.scope {
      finding.reason = Printable.line(open)
    }
    return finding
  }
}

extension Audit {
  private func verdict(on rule: AuditRule, _ exchange: AuditExchange) -> AuditRule.Verdict {
    if exchange.answer != nil { return rule.check(exchange, self) }
    // A server without GraphQL by GET may ignore such requests.
    if exchange.wasSent, exchange.request.method == .get, let get = self[.get], get.answer == nil {
      return .open(AuditRule.Verdict.noGET)
    }
    return exchange.wasSent ? .broken(exchange.problem) : .open(exchange.problem)
  }
}

/// What an audit found out about one rule.
struct AuditFinding: Sendable {
  enum Outcome: String, Sendable {
    case kept
    case notKept = "not kept"
    case notChecked = "not checked"
  }

  var rule: AuditRule
  var outcome: Outcome
  /// What is wrong, or why the rule was not checked; empty if it is kept.
  var reason: String
  /// The exchange that shows the outcome: the first one that breaks the rule, or the first that keeps it.
  var exchange: AuditExchange?
  /// The exchanges that break the rule, each with what is wrong.
  var breaches: [(exchange: AuditExchange, problem: String)] = []
}

/// A request of an audit with its answer, of which only what rules need is kept.
struct AuditExchange: Sendable {
  /// What rules ask about a well-formed GraphQL response.
  struct Response: Sendable {
    /// Whether the entry `data` exists, also with null.
    let hasDataEntry: Bool
    /// Whether the data is an object, also with errors.
    let hasData: Bool
    let hasErrors: Bool
    /// The first keys of the data.
    let dataKeys: [String]

    fileprivate init(_ object: JSONObject, of answer: ProbeAnswer) {
      let data = object["data"]
      hasDataEntry = data != nil
      hasData = data?.objectValue != nil
      hasErrors = object["errors"] != nil
      dataKeys = (data?.objectValue?.members.prefix(AuditExchange.maxKeys) ?? []).map {
        AuditExchange.shortened($0.key, of: answer)
      }
    }
  }

  /// The most bytes of a body or a message that are kept, the most characters of a text that are shown, and the most
  /// keys.
  private static let (maxKept, maxShown, maxKeys) = (400, 200, 10)

  let request: ProbeRequest
  /// The answer with the beginning of its body; `nil` if none came.
  let answer: ProbeAnswer?
  /// Why there is no answer; empty if there is one.
  let problem: String
  /// Whether the request was sent. A limit is no answer to what was asked: such a request counts as not sent.
  let wasSent: Bool
  /// The body, if it is a well-formed GraphQL response.
  let response: Response?
  /// Why the body is not a well-formed GraphQL response; empty if it is.
  let malformation: String
  /// Whether the body is text in UTF-8.
  let isUTF8: Bool
  let refusesCredentials: Bool
  /// The beginning of the first error's message.
  let errorMessage: String?
  /// Whether the answer has data, also in a response that is not well-formed.
  let hasAnyData: Bool

  init(_ request: ProbeRequest, _ outcome: EndpointProbe.Outcome) {
    self.request = request
    problem = Printable.line(outcome.problem)
    if case .skipped = outcome { wasSent = false } else { wasSent = true }
    var answer = outcome.answer
    (response, malformation) = answer.map { Self.response(of: $0) } ?? (nil, problem)
    isUTF8 = answer.map { String(validating: $0.body, as: UTF8.self) != nil } ?? true
    refusesCredentials = answer?.refusesCredentials ?? false
    errorMessage = answer?.errorMessage.map {
      String(decoding: $0.utf8.prefix(Self.maxKept), as: UTF8.self)
    }
    hasAnyData = answer?.graphQL?["data"]?.objectValue != nil
    if let known = answer {
      answer?.body = Array(known.hiding.bytes(known.body).prefix(Self.maxKept))
    }
    self.answer = answer
  }

  /// The status; 0 without an answer.
  var status: Int { answer?.status ?? 0 }

  /// The media type of the answer, without parameters; empty if there is none.
  var mediaType: String { answer?.mediaType ?? "" }

  /// The media type as reports show it.
  var shownType: String { Self.shortened(answer?.shownType ?? "") }

  /// The encoding that the answer names, in lower case.
  var charset: String? {
    (answer?.fields[.contentType] ?? "").split(separator: ";").dropFirst().lazy
      .map { $0.lowercased().filter { !$0.isWhitespace && $0 != "\"" } }
      .first { $0.hasPrefix("charset=") }
      .map { String($0.dropFirst("charset=".count)) }
  }

  /// Whether the response has data that is an object, also with errors.
  var hasData: Bool { response?.hasData ?? false }

  var hasErrors: Bool { response?.hasErrors ?? false }

  /// Whether the request accepts what legacy clients accept, for which 200 is the status of errors, too.
  var isLegacy: Bool { request.accept == "application/json" }

  /// Whether the answer has the media type of GraphQL responses.
  var isLabelled: Bool { mediaType == ProbeAnswer.graphQLType }

  /// The request, on one line: method, header fields that matter, and the beginning of the body.
  var sent: String {
    var parts = [request.method.rawValue, "Accept: \(request.accept)"]
    if let query = request.query { parts[0] += " ?\(Self.shortened(query))" }
    if request.method == .post {
      parts.append(request.contentType.map { "Content-Type: \($0)" } ?? "no Content-Type")
    }
    parts += request.fields.map { "\($0.name.rawName): \(Self.shortened($0.value))" }
    if request.method == .post {
      parts.append(Self.shortened(String(decoding: request.body, as: UTF8.self)))
    }
    return parts.joined(separator: ", ")
  }

  /// The answer, on one line: status, media type and the beginning of the body; or why there is none.
  var received: String {
    guard let answer else { return problem }
    let type =
      answer.fields[.contentType].map { Self.shortened($0, of: answer) } ?? "without a media type"
    let text = String(decoding: answer.body, as: UTF8.self)
    return Printable.line(
      "\(answer.status) \(type)" + (text.isEmpty ? ", no body" : ", \(Self.shortened(text))"))
  }

  /// The beginning of a text of an answer, without secrets.
  private static func shortened(_ text: String, of answer: ProbeAnswer) -> String {
    shortened(answer.hiding.text(text))
  }

  private static func shortened(_ text: String) -> String {
    Printable.shortened(text, to: maxShown)
  }

  /// The response in the body of an answer, or why the body is not a well-formed one.
  ///
  /// https://spec.graphql.org/September2026/#sec-Response-Format
  private static func response(of answer: ProbeAnswer) -> (Response?, String) {
    func malformed(_ reason: String) -> (Response?, String) {
      (nil, Printable.line(answer.hiding.text(reason)))
    }
    guard !answer.isCut else { return malformed("the body does not end within the limits") }
    guard !answer.body.isEmpty else { return malformed("there is no body") }
    guard answer.mediaType.isEmpty || answer.mediaType.hasSuffix("json") else {
      return malformed("the media type is \(shortened(answer.shownType))")
    }
    let json: JSONValue
    do throws(JSONError) {
      json = try JSONValue(parsing: answer.body)
    } catch {
      return malformed("the body is \(error)")
    }
    guard let object = json.objectValue else {
      return malformed("the body is JSON of type \(json.kind), not an object")
    }
    if let other = object.keys.first(where: { !["data", "errors", "extensions"].contains($0) }) {
      return malformed("the response has the entry \"\(shortened(other, of: answer))\"")
    }
    if let errors = object["errors"] {
      guard let errors = errors.arrayValue, !errors.isEmpty else {
        return malformed("the entry \"errors\" is not a list with errors")
      }
      guard errors.allSatisfy({ $0["message"]?.stringValue != nil }) else {
        return malformed("an error has no message")
      }
    }
    if let extensions = object["extensions"], extensions.objectValue == nil {
      return malformed("the entry \"extensions\" is not an object")
    }
    guard let data = object["data"] else {
      return object["errors"] == nil
        ? malformed("the response has neither \"data\" nor \"errors\"")
        : (Response(object, of: answer), "")
    }
    guard data.objectValue != nil || data.isNull else {
      return malformed("the entry \"data\" is a \(data.kind)")
    }
    guard !data.isNull || object["errors"] != nil else {
      return malformed("\"data\" is null, and there are no errors")
    }
    return (Response(object, of: answer), "")
  }
}
