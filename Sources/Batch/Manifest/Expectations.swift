package import GQLRunCache
import GQLRunJSON
package import GQLRunPipeline
import HTTPTypes

/// Conditions on a result: `expect` of manifests, and `--expect` of `gqlrun run`.
package struct Expectations: Sendable {
  /// What conditions look at beside the data.
  package struct Facts: Sendable {
    package var errors: [GraphQLError] = []
    /// The status of the HTTP response; `nil` without one.
    package var http: Int?
    package var milliseconds = 0.0
    /// The number of received bytes.
    package var bytes = 0
    /// The number of emitted records; `nil` where none are emitted.
    var records: Int?
    /// The page of the result, from 1.
    package var page = 1
    /// The attempt that had the result, from 1.
    package var attempt = 1

    /// The facts of a task's result; those of a response are set one by one.
    package init() {}

    /// The facts of a response.
    ///
    /// - Parameter milliseconds: The time since the request began.
    package init(_ response: GraphQLResponse, milliseconds: Double) {
      errors = response.errors
      http = response.http?.status.code
      self.milliseconds = milliseconds
      bytes = response.timing.receivedBytes
      attempt = response.attempt
    }
  }

  /// What was found for one condition.
  package struct Finding: Sendable, Equatable {
    /// The condition as the user wrote it.
    package var condition: String
    /// Why it is not met: what was expected and what was found; `nil` if it is met.
    package var problem: String?

    package init(condition: String, problem: String?) {
      self.condition = condition
      self.problem = problem
    }
  }

  /// A condition that cannot be true for any result of its operation.
  package struct Malformed: Error, Sendable {
    package var condition: String
    /// The problem and what would work; continues a sentence that names the condition.
    package var message: String
  }

  let conditions: [BatchCondition]

  init(_ conditions: [BatchCondition]) { self.conditions = conditions }

  /// No conditions.
  package init() { conditions = [] }

  /// Reads conditions on the results of an operation that is run by itself.
  ///
  /// - Throws: ``Malformed`` for a text that is not a condition, an unknown value, and a path that the
  ///   document does not select.
  package init(_ texts: [String], of operation: PreparedOperation) throws(Malformed) {
    let shape = PathShape(tree: SelectionTree(operation.template))
    var conditions: [BatchCondition] = []
    for text in texts {
      guard let condition = BatchCondition(text) else {
        throw Malformed(
          condition: text, message: "is not a condition; \(BatchCondition.remedy)")
      }
      if let root = condition.roots.first(where: { !Self.rootsOfResponse.contains($0) }) {
        throw Malformed(
          condition: text,
          message: "uses `\(root)`, which is not a value of a result; use "
            + Self.rootsOfResponse.joined(separator: ", ") + ", or a text in quotes: \"\(root)\"")
      }
      if let problem = condition.pathProblems(in: shape).first {
        throw Malformed(
          condition: text, message: problem.message + (problem.hint.map { "; \($0)" } ?? ""))
      }
      conditions.append(condition)
    }
    self.init(conditions)
  }

  /// The first keys that conditions of a task may use.
  static let roots = rootsOfResponse + ["emit", "records"]
  /// The first keys that conditions of an operation without sinks may use.
  private static let rootsOfResponse = [
    "data", "errors", "http", "ms", "bytes", "page", "attempt",
  ]

  package var isEmpty: Bool { conditions.isEmpty }

  /// The conditions as the user wrote them.
  package var texts: [String] { conditions.map(\.description) }

  /// Whether the conditions decide if a response with errors is a failure.
  package var judgeErrors: Bool { conditions.contains { $0.roots.contains("errors") } }

  /// What is found for each condition.
  ///
  /// - Throws: An error if the data is larger than 64 MiB, or cannot be read from its file.
  package func findings(in data: (any ResultData)?, _ facts: Facts) throws -> [Finding] {
    let object = try object(data, facts)
    return conditions.map { condition in
      let problem = condition.problem(in: object).map { problem in
        condition.mismatch(in: object) == nil
          ? "\(problem), found \(condition.found(in: object))" : problem
      }
      return Finding(condition: condition.description, problem: problem)
    }
  }

  /// Why a response is a failure: its GraphQL errors, unless a condition judges them, and the first condition that
  /// does not hold; `nil` if it is not. The text does not have what was found, so that equal problems of many responses
  /// can be counted.
  ///
  /// - Parameter milliseconds: The time since the request began.
  package func problem(of response: GraphQLResponse, milliseconds: Double) -> String? {
    if let error = response.errors.first, !judgeErrors { return "GraphQL error: \(error.message)" }
    guard !isEmpty else { return nil }
    do {
      let object = try object(response.data, Facts(response, milliseconds: milliseconds))
      return conditions.lazy.compactMap { $0.problem(in: object) }.first
    } catch {
      return "\(error)"
    }
  }

  /// The first condition that does not hold, with what was found; `nil` if all do.
  ///
  /// - Throws: ``TaskProblem`` for a condition whose path does not fit the data, also after one that does not hold.
  func unmet(in data: (any ResultData)?, _ facts: Facts) throws -> String? {
    guard !isEmpty else { return nil }
    let object = try object(data, facts)
    for condition in conditions {
      if let mismatch = condition.mismatch(in: object) {
        throw TaskProblem("the condition `\(condition)` \(mismatch)")
      }
    }
    return conditions.first { !$0.holds(for: object) }
      .map { "expected \($0), found \($0.found(in: object))" }
  }

  /// The first condition about emitted records.
  var ofRecords: BatchCondition? {
    conditions.first { !$0.roots.allSatisfy { $0 != "emit" && $0 != "records" } }
  }

  /// The maximum size of data that conditions read, in bytes.
  private static let maxData = 64 << 20

  /// The values that conditions may use; of the larger ones, only those that they do use.
  private func object(_ data: (any ResultData)?, _ facts: Facts) throws -> JSONValue {
    var object = JSONObject()
    object["errors"] =
      facts.errors.isEmpty ? .null : .array(facts.errors.map { .string($0.message) })
    object["http"] = facts.http.map { .number(JSONNumber($0)) } ?? .null
    object["ms"] = JSONNumber(facts.milliseconds).map { .number($0) } ?? .null
    object["bytes"] = .number(JSONNumber(facts.bytes))
    object["page"] = .number(JSONNumber(facts.page))
    object["attempt"] = .number(JSONNumber(facts.attempt))
    let roots = Set(conditions.flatMap(\.roots))
    if let records = facts.records {
      object["records"] = .number(JSONNumber(records))
      if roots.contains("emit") {
        // Counted without storing the records.
        object["emit"] = .array(Array(repeating: .boolean(true), count: min(records, 1_000_000)))
      }
    }
    if roots.contains("data"), let data {
      guard data.count <= Self.maxData else {
        throw TaskProblem(
          "expectations look into at most 64 MiB of data; this is \(data.count) bytes")
      }
      object["data"] = try JSONValue(parsing: data.bytes())
    }
    return .object(object)
  }
}

extension BatchCondition {
  /// Why the condition is not met, without what was found; `nil` if it is.
  fileprivate func problem(in object: JSONValue) -> String? {
    mismatch(in: object).map { "the condition `\(self)` \($0)" }
      ?? (holds(for: object) ? nil : "expected \(self)")
  }

  /// The paths of the condition that no result of the document has.
  func pathProblems(in shape: PathShape) -> [PathShape.Problem] {
    paths.compactMap { path in
      if path.keys.first == "emit", path.steps.count > 1 {
        return PathShape.Problem(
          message: "leads to `\(path)`, and the emitted records are only counted",
          hint: "write `count(emit)`, or a path that begins with `data`")
      }
      guard path.keys.first == "data", path.steps.count > 1, case .key = path.steps[1],
        let rest = ResultPath(String(path.description.dropFirst(5)))
      else { return nil }
      return shape.problem(of: rest, endsAt: .value)
    }
  }
}
