import GQLRunJSON
import GQLRunReport
import GQLRunSupport

/// The result of an audit, for people and for programs.
struct AuditReport {
  /// The most exchanges that are shown of one rule.
  private static let maxShown = 3

  var url: String
  var requests: Int
  var findings: [AuditFinding]

  /// Whether a rule of a level is not kept.
  func isBroken(_ level: AuditRule.Level) -> Bool {
    findings.contains { $0.rule.level == level && $0.outcome == .notKept }
  }

  /// A line for each rule, with what was sent and received where it is not kept.
  var text: String {
    var lines = ["\(Printable.line(url)), \(Audit.edition)"]
    for finding in findings {
      let outcome = finding.outcome == .notKept ? "NOT KEPT" : finding.outcome.rawValue
      lines.append(
        "\(finding.rule.level.rawValue.padded(to: 6))  \(outcome.padded(to: 11))  "
          + finding.rule.sentence)
      lines += Self.details(of: finding).map { "  \($0.name.padded(to: 8))  \($0.text)" }
    }
    return (lines + [summary]).joined(separator: "\n") + "\n"
  }

  private static func details(of finding: AuditFinding) -> [(name: String, text: String)] {
    guard finding.outcome != .kept else { return [] }
    guard finding.outcome == .notKept else { return [("reason", finding.reason)] }
    var details = finding.breaches.prefix(maxShown).flatMap { exchange, problem in
      [("found", problem), ("sent", exchange.sent), ("received", exchange.received)]
    }
    let rest = finding.breaches.count - maxShown
    if rest > 0 {
      details.append(("further", "\(Quantity.count(rest, "response")) of this kind"))
    }
    return details + [("section", "\(finding.rule.section.rawValue), \(finding.rule.section.link)")]
  }

  /// `MUST 21 of 21, SHOULD 14 of 17, 8 not checked, 43 requests`
  private var summary: String {
    let levels = AuditRule.Level.allCases.map { level in
      let outcomes = findings.filter { $0.rule.level == level }.map(\.outcome)
      return "\(level.rawValue) \(outcomes.count { $0 == .kept }) of "
        + "\(outcomes.count { $0 != .notChecked })"
    }
    let open = findings.count { $0.outcome == .notChecked }
    return (levels + ["\(open) not checked", Quantity.count(requests, "request")])
      .joined(separator: ", ")
  }

  /// An object with an element for each rule.
  var json: String {
    let rules = findings.map { finding in
      let rule: JSONValue = [
        "id": .string(finding.rule.id), "level": .string(finding.rule.level.rawValue),
        "section": .string(finding.rule.section.rawValue), "rule": .string(finding.rule.sentence),
        "outcome": .string(finding.outcome.rawValue),
        "reason": finding.reason.isEmpty ? .null : .string(finding.reason),
        "sent": finding.exchange.map { .string($0.sent) } ?? .null,
        "received": finding.exchange.map { .string($0.received) } ?? .null,
      ]
      return rule
    }
    let report: JSONValue = [
      "url": .string(url), "edition": .string(Audit.edition),
      "requests": .number(JSONNumber(requests)), "rules": .array(rules),
    ]
    return report.jsonText() + "\n"
  }

  /// A JUnit XML report with a suite for each level and a case for each rule.
  var junit: String {
    let results = findings.map(Self.result)
    var text = JUnit.start("\(url), \(Audit.edition)", JUnit.Counts(of: results), seconds: 0)
    for level in AuditRule.Level.allCases {
      let suite = zip(findings, results).filter { $0.0.rule.level == level }
      text += JUnit.startSuite(level.rawValue, JUnit.Counts(of: suite.map(\.1)))
      for (finding, result) in suite {
        text += JUnit.testCase(
          "\(finding.rule.id): \(finding.rule.sentence)", suite: level.rawValue, seconds: 0,
          result: result)
      }
      text += JUnit.endSuite
    }
    return text + JUnit.end
  }

  private static func result(of finding: AuditFinding) -> JUnit.Result {
    switch finding.outcome {
    case .kept: .passed
    case .notChecked: .skipped(finding.reason)
    case .notKept:
      .failure(
        details(of: finding).map { "\($0.name): \($0.text)" }.joined(separator: "\n"),
        type: finding.rule.level.rawValue)
    }
  }
}
