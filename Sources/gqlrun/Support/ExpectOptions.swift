import ArgumentParser
import GQLRunBatch
import GQLRunCache
import GQLRunPipeline
import GQLRunReport

/// The options that decide whether the results of an operation are the expected ones.
struct ExpectOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Condition on the result, as `expect` of batch manifests: 'data.country.name == \"Portugal\"'. Exit 1 with "
        + "what was found if it does not hold. May be repeated.", valueName: "condition"))
  var expect: [String] = []

  @Option(
    help: ArgumentHelp(
      "JUnit XML file to write, with a case for each --expect.", valueName: "file"))
  var junit: String?

  func validate() throws {
    if junit != nil, expect.isEmpty {
      throw ValidationError("--junit has a case for each condition; add --expect 'errors == null'")
    }
    if junit == "-" {
      throw ValidationError("--junit needs the name of a file; the result goes to standard output")
    }
  }

  /// The conditions, which are checked before anything is sent.
  ///
  /// - Throws: ``Failure`` for a condition that no result of the operation can meet.
  func expectations(of operation: PreparedOperation) throws -> Expectations {
    do throws(Expectations.Malformed) {
      return try Expectations(expect, of: operation)
    } catch {
      throw Failure(.usage, "--expect '\(error.condition)' \(error.message)")
    }
  }

  /// Checks that the report can be written, before anything is sent.
  func checkReport(_ replace: ReplaceOptions) throws {
    if let junit { try OutputFile.check(junit, replacing: replace.replacing(.junit)) }
  }

  /// Writes the report.
  ///
  /// - Parameters:
  ///   - label: The operation.
  ///   - seconds: The time of the whole run.
  ///   - replace: The files that may be replaced.
  ///   - cases: The result of each condition.
  func write(
    _ label: String, seconds: Double, _ replace: ReplaceOptions,
    cases: [(name: String, result: JUnit.Result)]
  ) throws {
    guard let junit else { return }
    let text = JUnit.report("gqlrun run", suite: label, seconds: seconds, cases: cases)
    try OutputFile.write(Array(text.utf8), to: junit, replacing: replace.replacing(.junit))
  }
}

extension OutputForm {
  /// JUnit XML reports.
  static let junit = OutputForm("a JUnit report") { _, beginning in
    beginning.hasPrefix("<?xml") && beginning.contains("<testsuites")
  }
}

/// What the results of one operation have met so far of its conditions.
///
/// Each page and each event has to meet them. Of other results, the last one counts, as for GraphQL errors.
struct ExpectationTally: Sendable {
  let expectations: Expectations
  /// What a result is called: `page`, `event`; `nil` if the last one counts.
  private let noun: String?
  /// The number of results that were checked.
  private var checked = 0
  /// The first problem of each condition, and the number of results with one.
  private var problems: [(first: String, count: Int)?]

  init(_ expectations: Expectations, noun: String?) {
    self.expectations = expectations
    self.noun = noun
    problems = Array(repeating: nil, count: expectations.texts.count)
  }

  /// Checks a result.
  ///
  /// - Throws: An error if its data is too large, or cannot be read from its file.
  mutating func check(_ response: GraphQLResponse, milliseconds: Double) throws {
    guard !expectations.isEmpty else { return }
    if noun == nil { self = ExpectationTally(expectations, noun: nil) }
    checked += 1
    var facts = Expectations.Facts(response, milliseconds: milliseconds)
    facts.page = checked
    for (index, finding) in try expectations.findings(in: response.data, facts).enumerated() {
      guard let problem = finding.problem else { continue }
      let known = problems[index]
      problems[index] = (
        known?.first ?? (noun.map { "\($0) \(checked): \(problem)" } ?? problem),
        (known?.count ?? 0) + 1
      )
    }
  }

  /// What was found for each condition, after the last result.
  var findings: [Expectations.Finding] {
    zip(expectations.texts, problems).map { condition, problem in
      guard checked > 0 else {
        return Expectations.Finding(
          condition: condition, problem: "expected \(condition), and there was no result")
      }
      let text = problem.map { problem in
        problem.count > 1
          ? "\(problem.first); not met by \(problem.count) of \(checked) \(noun ?? "result")s"
          : problem.first
      }
      return Expectations.Finding(condition: condition, problem: text)
    }
  }
}
