import Foundation
import GQLRunCache
import GQLRunJSON
import GQLRunLanguage

/// What came of a test.
public struct PipelineTestResult: Sendable {
  /// What was to come and did not, each with its place and what came instead; empty when all did.
  public var failures: [(place: SourcePlace, message: String)]
  public var requests: Int
  /// The time it took, on the test's own clock.
  public var time: Duration
}

extension PipelineTest {
  /// What plugins outside of this module bring to a test.
  public struct Equipment: Sendable {
    /// Changes the services of a test, such as where tokens come from.
    public var prepare: @Sendable (PipelineTest, inout Services) -> Void
    /// How often a token was fetched after the first, by the services that `prepare` made.
    public var refreshes: @Sendable (Services) async -> Int?
    public var readFile: @Sendable (String) throws -> [UInt8]

    public init(
      prepare: @escaping @Sendable (PipelineTest, inout Services) -> Void = { _, _ in },
      refreshes: @escaping @Sendable (Services) async -> Int? = { _ in nil },
      readFile: @escaping @Sendable (String) throws -> [UInt8] = PipelineFileEnvironment.process
        .readFile
    ) {
      self.prepare = prepare
      self.refreshes = refreshes
      self.readFile = readFile
    }
  }

  /// Runs the test: the chain as it is, with an upstream in this process, an empty store in memory, a
  /// clock of its own, and without chance.
  public func run(
    _ pipeline: Pipeline, equipment: Equipment = Equipment()
  ) async -> PipelineTestResult {
    let time = VirtualTime()
    let clock = ServiceClock(time)
    let upstream = ScriptedUpstream(self.upstream, clock: clock)
    let passes = Passes()
    var services = Services(
      transport: upstream, store: pipeline.store.kind == .none ? nil : MemoryStore(), clock: clock,
      secondsSince1970: { 1_750_000_000 + clock.now() / .seconds(1) }, random: { 0.5 })
    equipment.prepare(self, &services)
    var counted = pipeline.counted(by: passes)
    if counted.endpoint == nil { counted.endpoint = try? Endpoint(url: "http://upstream.invalid/") }
    let runner = PipelineRunner(counted, services: services)
    let request: GraphQLRequest
    do {
      request = try self.request(pipeline, equipment)
    } catch {
      return PipelineTestResult(
        failures: [(place, "the operation cannot be prepared: \(error)")], requests: 0, time: .zero)
    }
    guard let outcomes = await outcomes(of: request, runner, time) else {
      return PipelineTestResult(
        failures: [(place, "nothing goes on any more, and no operation has ended")],
        requests: await upstream.requestCount, time: clock.now())
    }
    let findings = Findings(
      outcomes: outcomes, requests: await upstream.requestCount, passes: await passes.counts,
      attempts: await passes.attempts,
      refreshes: await equipment.refreshes(services), time: clock.now())
    var failures = expectations.compactMap { expectation in
      findings.mismatch(expectation.what).map { (place: expectation.place, message: $0) }
    }
    failures += await upstream.unanswered.prefix(3).map {
      (place: place, message: "no answer of `upstream` is for \($0)")
    }
    return PipelineTestResult(
      failures: failures, requests: findings.requests, time: findings.time)
  }

  private func request(_ pipeline: Pipeline, _ equipment: Equipment) throws -> GraphQLRequest {
    let document = try Document(parsing: text(readFile: equipment.readFile))
    let operation = try PreparedOperation(
      document: document, operationName: operation, variables: variables, keys: pipeline.keys)
    var request = GraphQLRequest(operation, cachePolicy: policy)
    request.context = RequestContext(named: context)
    return request
  }

  /// What came of every operation; `nil` when they came to a standstill.
  private func outcomes(
    of request: GraphQLRequest, _ runner: PipelineRunner, _ time: VirtualTime
  ) async -> [Outcome]? {
    await withTaskGroup(of: [Outcome]?.self) { group in
      group.addTask(executorPreference: time) {
        var outcomes: [Outcome] = []
        for _ in 0..<rounds { outcomes += await round(request, runner, time) }
        return outcomes
      }
      group.addTask {
        await time.pass()
        return nil
      }
      let first = await group.next() ?? nil
      group.cancelAll()
      return first
    }
  }

  /// Operations that run at a time.
  private func round(
    _ request: GraphQLRequest, _ runner: PipelineRunner, _ time: VirtualTime
  ) async -> [Outcome] {
    await withTaskGroup(of: Outcome.self) { operations in
      for _ in 0..<concurrent {
        operations.addTask(executorPreference: time) { await Outcome.of(request, runner) }
      }
      return await operations.reduce(into: []) { $0.append($1) }
    }
  }
}

/// What came of one operation.
private struct Outcome: Sendable {
  var last: GraphQLResponse?
  var data: [UInt8]?
  var error: (any Error)?
  var attempts = 1

  var isSuccess: Bool { error == nil && last?.errors.isEmpty == true }

  /// The code of its failure: the chain's, or that of the first error in the result.
  var code: String? {
    if let error = error as? ChainError {
      return error.graphQLErrors.first?.code ?? error.code.rawValue
    }
    return last?.errors.first.map { $0.code ?? "" }
  }

  var message: String? {
    error.map { "\($0)" } ?? last?.errors.first?.description
  }

  static func of(_ request: GraphQLRequest, _ runner: PipelineRunner) async -> Outcome {
    var outcome = Outcome()
    do {
      for try await response in runner.execute(request) {
        outcome.last = response
        outcome.attempts = max(outcome.attempts, response.attempt)
        var bytes: [UInt8] = []
        try response.data?.forEachChunk { bytes += $0 }
        outcome.data = bytes
      }
    } catch {
      outcome.error = error
    }
    return outcome
  }
}

/// What a test found out.
private struct Findings {
  var outcomes: [Outcome]
  var requests: Int
  var passes: [String: Int]
  var attempts: Int
  var refreshes: Int?
  var time: Duration

  /// What is not as expected; `nil` when it is.
  func mismatch(_ what: PipelineTest.Expectation.What) -> String? {
    switch what {
    case .succeeded(let count): differs(count, outcomes.count(where: \.isSuccess), "succeeded")
    case .failed(let count): differs(count, outcomes.count { !$0.isSuccess }, "failed")
    case .requests(let count): differs(count, requests, "requests")
    case .attempts(let count): differs(count, attempts, "attempts")
    case .refreshes(let count):
      refreshes.map { differs(count, $0, "refreshes") }
        ?? "refreshes: expected \(count), and no plugin of the chain fetches a token"
    case .passes(let entry, let count): differs(count, passes[entry] ?? 0, "passes of \(entry)")
    case .source(let source):
      outcomes.last?.last.map { differs(source.rawValue, $0.source.rawValue, "source") }
        ?? "source: expected \(source.rawValue), and there is no result\(firstMessage)"
    case .data(let data): mismatch(data: data)
    case .error(let code):
      outcomes.lazy.compactMap(\.code).first.map { differs(code, $0, "error") }
        ?? "error: expected \(code), and nothing failed"
    case .message(let part):
      outcomes.lazy.compactMap(\.message).first.map {
        $0.contains(part) ? nil : "message: expected one with \"\(part)\", found \"\($0)\""
      } ?? "message: expected one with \"\(part)\", and nothing failed"
    case .within(let longest):
      time <= longest ? nil : "took \(time.optionText), expected at most \(longest.optionText)"
    }
  }

  private func differs<Value: Equatable>(
    _ expected: Value, _ found: Value, _ what: String
  ) -> String? {
    expected == found ? nil : "\(what): expected \(expected), found \(found)\(firstMessage)"
  }

  private var firstMessage: String {
    outcomes.lazy.compactMap(\.message).first.map { " (the first failure: \($0))" } ?? ""
  }

  private func mismatch(data: JSONValue) -> String? {
    guard let bytes = outcomes.last?.data else {
      return "data: expected \(data.canonicalText), and there is no result\(firstMessage)"
    }
    guard let found = try? JSONValue(parsing: bytes), found.canonicalText == data.canonicalText
    else {
      return "data: expected \(data.canonicalText), found \(String(decoding: bytes, as: UTF8.self))"
    }
    return nil
  }
}
