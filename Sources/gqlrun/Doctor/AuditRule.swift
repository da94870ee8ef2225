/// A requirement of GraphQL over HTTP for servers, and how it is checked.
struct AuditRule: Sendable {
  /// The level of a requirement: RFC 2119. Descriptive statements are a part of conformance, as a MUST is.
  enum Level: String, Sendable, CaseIterable {
    case must = "MUST"
    /// Also SHOULD NOT and RECOMMENDED.
    case should = "SHOULD"
  }

  /// A section of the specification, by its heading.
  enum Section: String, Sendable {
    case url = "URL"
    case serialization = "Serialization Format"
    case mediaTypes = "Media Types"
    case request = "Request"
    case get = "GET"
    case post = "POST"
    case jsonEncoding = "JSON Encoding"
    case response = "Response"
    case body = "Body"
    case validation = "Validation"
    case statusCodes = "Status Codes"

    var link: String {
      "https://graphql.github.io/graphql-over-http/draft/#sec-"
        + rawValue.replacing(" ", with: "-")
    }
  }

  /// What one exchange shows about a rule.
  enum Verdict: Sendable, Hashable {
    case kept
    /// What is wrong.
    case broken(String)
    /// Why the exchange shows nothing.
    case open(String)
  }

  /// The exchanges that show whether a rule is kept.
  enum Scope: Sendable {
    /// Those of these requests. A request without an answer breaks the rule.
    case requests([ProbeRequest])
    /// All with an answer. The text is the reason why the rule is not checked if none of them shows anything.
    case everyAnswer(otherwise: String)
    /// None: the rule does not show from outside, for this reason.
    case nothing(String)
  }

  /// The identifier in reports for programs. Never changes its meaning.
  let id: String
  let level: Level
  let section: Section
  /// The sentence of the specification, or the part of it that binds servers.
  let sentence: String
  let scope: Scope
  let check: Check

  /// What an exchange shows; the audit has the other exchanges, for comparisons.
  typealias Check = @Sendable (AuditExchange, Audit) -> Verdict

  /// The requests of all rules, each once. Those that are large come last: a server may close their connections.
  static let requests: [ProbeRequest] = {
    var known: Set<ProbeRequest> = []
    let requests = all.flatMap { rule in
      if case .requests(let requests) = rule.scope { requests } else { [ProbeRequest]() }
    }
    .filter { known.insert($0).inserted }
    return requests.filter { !$0.isLarge } + requests.filter(\.isLarge)
  }()

  /// All rules, in the order of the specification.
  ///
  /// Sentences that repeat another one are not listed, nor are examples, notes and other portions that are not
  /// normative.
  static let all: [AuditRule] = Array(
    [
      urlRules, requestRules, getRules, postRules, responseRules, bodyRules, validationRules,
      statusRules, requestStatusRules, serverStatusRules,
    ].joined())
}

extension AuditRule {
  static func must(
    _ id: String, _ section: Section, rule: String, from scope: Scope, check: @escaping Check
  ) -> AuditRule {
    AuditRule(
      id: id, level: .must, section: section, sentence: rule, scope: scope, check: check)
  }

  static func should(
    _ id: String, _ section: Section, rule: String, from scope: Scope, check: @escaping Check
  ) -> AuditRule {
    AuditRule(
      id: id, level: .should, section: section, sentence: rule, scope: scope, check: check)
  }

  /// A rule that no exchange shows.
  static func unobservable(
    _ id: String, _ level: Level, in section: Section, rule: String, because reason: String
  ) -> AuditRule {
    AuditRule(
      id: id, level: level, section: section, sentence: rule, scope: .nothing(reason),
      check: { _, _ in .open(reason) })
  }
}

// MARK: Checks that several rules share

extension AuditRule.Verdict {
  /// Kept if a condition is met.
  init(_ isKept: Bool, otherwise problem: @autoclosure () -> String) {
    self = isKept ? .kept : .broken(problem())
  }

  /// The query was answered with data and no errors.
  static func data(_ exchange: AuditExchange) -> Self {
    guard exchange.hasData else {
      return .broken(
        exchange.response == nil ? exchange.malformation : "the request is refused")
    }
    return Self(!exchange.hasErrors, otherwise: "the response has errors")
  }

  /// The response has a status, and no data.
  static func status(_ wanted: Int, _ exchange: AuditExchange) -> Self {
    Self(
      exchange.status == wanted,
      otherwise: "the status is \(exchange.status), not \(wanted)"
        + (!exchange.hasData ? "" : ": the request is executed"))
  }

  /// The response has a status of a class: 4 for 400 to 499.
  static func statusClass(_ wanted: Int, _ exchange: AuditExchange) -> Self {
    Self(
      exchange.status / 100 == wanted,
      otherwise: "the status is \(exchange.status), not \(wanted)xx")
  }

  /// The response has a status, unless the server accepts the size of the request.
  static func limit(_ wanted: Int, _ exchange: AuditExchange, size: String) -> Self {
    !exchange.hasData ? status(wanted, exchange) : .open("the server accepts \(size)")
  }

  static let noGET = "the server answers no queries by GET"

  static let noGraphQL = Self.open("no GraphQL request for this server")

  /// A verdict about the answer to a mutation by GET. Where queries by GET are not answered, the URL may have another
  /// purpose, and only a refusal shows something.
  static func refusedMutation(
    _ exchange: AuditExchange, _ audit: Audit, verdict: () -> Self
  ) -> Self {
    let isOther =
      !exchange.hasData && !audit.isGraphQL(exchange.request)
      && !(400...499).contains(exchange.status)
    return isOther ? .open(noGET) : verdict()
  }

  /// A verdict about queries by GET, if the server answers them.
  static func get(_ audit: Audit, verdict: () -> Self) -> Self {
    guard let get = audit[.get], !get.hasData else { return verdict() }
    return .open("\(noGET): \(get.received)")
  }
}
