import Foundation
import GQLRunCache
import GQLRunJSON
import GQLRunLanguage

/// The result of a test.
public struct PipelineTestResult: Sendable {
  /// The expectations that were not met, each with its source location and the actual value; empty
  /// for a test that passed.
  public var failures: [(location: FileLocation, message: String)]
  /// The number of requests that the server received.
  public var requests: Int
  /// The duration of the test, on its own clock.
  public var time: Duration
}

extension PipelineTest {
  /// The parts of a test that other modules provide.
  public struct Equipment: Sendable {
    /// Changes the services of a test, such as the source of tokens.
    public var prepare: @Sendable (PipelineTest, inout Services) -> Void
    /// Returns the number of token renewals of services that `prepare` has changed; `nil` if
    /// unknown.
    public var refreshes: @Sendable (Services) async -> Int?
    /// Reads the file of a document.
    public var readFile: @Sendable (String) throws -> [UInt8]

    /// Creates equipment.
    ///
    /// - Parameters:
    ///   - prepare: Changes the services of a test.
    ///   - refreshes: Returns the number of token renewals.
    ///   - readFile: Reads the file of a document.
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

  /// Runs the test with the chain as it is.
  ///
  /// The server runs in this process, the store is empty and in memory, the clock is virtual, and
  /// random numbers are constant. A failure of the test is part of the result.
  ///
  /// - Parameters:
  ///   - pipeline: The pipeline to test.
  ///   - equipment: The parts that other modules provide.
  /// - Returns: The expectations that were not met.
  public func run(
    _ pipeline: Pipeline, equipment: Equipment = Equipment()
  ) async -> PipelineTestResult {
    let time = VirtualTime()
    let clock = ServiceClock(time)
    let upstream = ScriptedUpstream(self.upstream, clock: clock)
    let passes = CallCounter()
    var services = Services(
      transport: upstream, store: pipeline.store.kind == .none ? nil : .memory(), clock: clock,
      secondsSince1970: { 1_750_000_000 + clock.now() / .seconds(1) }, random: { 0.5 })
    equipment.prepare(self, &services)
    var counted = pipeline.observed(by: passes)
    if counted.endpoint == nil { counted.endpoint = try? Endpoint(url: "http://upstream.invalid/") }
    let runner = PipelineRunner(counted, services: services)
    let request: GraphQLRequest
    do {
      request = try self.request(pipeline, equipment)
    } catch {
      return PipelineTestResult(
        failures: [(location, "the operation cannot be prepared: \(error)")], requests: 0,
        time: .zero)
    }
    guard let outcomes = await outcomes(of: request, runner, time) else {
      return PipelineTestResult(
        failures: [(location, "no operation makes progress, and none has ended")],
        requests: await upstream.requestCount, time: clock.now())
    }
    let measurements = Measurements(
      outcomes: outcomes, requests: await upstream.requestCount, passes: passes.counts,
      attempts: passes.attempts,
      refreshes: await equipment.refreshes(services), time: clock.now())
    var failures = measurements.mismatches(expect)
    failures += await upstream.unanswered.prefix(3).map {
      (location: location, message: "no answer of `upstream` matches \($0)")
    }
    return PipelineTestResult(
      failures: failures, requests: measurements.requests, time: measurements.time)
  }

  private func request(_ pipeline: Pipeline, _ equipment: Equipment) throws -> GraphQLRequest {
    let document = try Document(parsing: text(readFile: equipment.readFile))
    let operation = try PreparedOperation(
      document: document, operationName: operation, variables: variables?.objectValue ?? [:],
      keys: pipeline.keys)
    var request = GraphQLRequest(operation, cachePolicy: policy)
    request.context = RequestContext(named: context)
    return request
  }

  /// The outcomes of all operations; `nil` if none can make progress.
  private func outcomes(
    of request: GraphQLRequest, _ runner: PipelineRunner, _ time: VirtualTime
  ) async -> [Outcome]? {
    await withTaskGroup(of: [Outcome]?.self) { group in
      group.addTask(executorPreference: time) {
        var outcomes: [Outcome] = []
        for _ in 0..<rounds { outcomes += await round(request, runner: runner, time: time) }
        return outcomes
      }
      group.addTask {
        await time.advance()
        return nil
      }
      let first = await group.next() ?? nil
      group.cancelAll()
      return first
    }
  }

  /// The number of events after which a subscription is ended that lost connections would continue without end.
  private var maxEvents: Int { expect.events.map { $0 + 1 } ?? Outcome.maxDelivered }

  /// One round of concurrent operations.
  private func round(
    _ request: GraphQLRequest, runner: PipelineRunner, time: VirtualTime
  ) async -> [Outcome] {
    await withTaskGroup(of: Outcome.self) { operations in
      for _ in 0..<concurrent {
        operations.addTask(executorPreference: time) {
          await Outcome.of(request, runner, first: first ?? maxEvents)
        }
      }
      return await operations.reduce(into: []) { $0.append($1) }
    }
  }
}

/// The outcome of one operation.
private struct Outcome: Sendable {
  var last: GraphQLResponse?
  var data: [UInt8]?
  var error: (any Error)?
  var attempts = 1
  var isSubscription = false
  var events = 0
  /// The data of the first events.
  var delivered: [[UInt8]] = []
  var gaps = 0
  var dropped = 0

  /// The most events whose data is kept.
  static let maxDelivered = 10_000

  /// A subscription may end without an event.
  var isSuccess: Bool { error == nil && (last?.errors.isEmpty ?? isSubscription) }

  /// The code of its failure: that of the chain, or of the first error in the result.
  var code: String? {
    if let error = error as? ChainError {
      return error.graphQLErrors.first?.code ?? error.code.rawValue
    }
    return last?.errors.first.map { $0.code ?? "" }
  }

  var message: String? {
    error.map { "\($0)" } ?? last?.errors.first?.description
  }

  /// - Parameter first: The number of events after which a subscription is ended.
  static func of(
    _ request: GraphQLRequest, _ runner: PipelineRunner, first: Int
  ) async -> Outcome {
    var outcome = Outcome()
    outcome.isSubscription = request.operationType == .subscription
    do {
      for try await response in runner.execute(request) {
        if let gap = response.gap {
          outcome.gaps += gap.lostConnection ? 1 : 0
          outcome.dropped += gap.dropped
          continue
        }
        outcome.last = response
        outcome.attempts = max(outcome.attempts, response.attempt)
        let bytes = try response.data?.bytes() ?? []
        outcome.data = bytes
        guard outcome.isSubscription, !response.isCatchUp, response.source == .server else {
          continue
        }
        outcome.events += 1
        if outcome.delivered.count < Self.maxDelivered { outcome.delivered.append(bytes) }
        if outcome.events == first { break }
      }
    } catch {
      outcome.error = error
    }
    return outcome
  }
}

/// The measured values of a test.
private struct Measurements {
  var outcomes: [Outcome]
  var requests: Int
  var passes: [String: Int]
  var attempts: Int
  var refreshes: Int?
  var time: Duration

  /// The expectations that were not met, in the order of their declarations.
  func mismatches(_ expect: PipelineTest.Expected) -> [(location: FileLocation, message: String)] {
    var found: [(location: FileLocation, message: String)] = []
    func check<Value>(_ option: OptionProperty<Value?>, _ mismatch: (Value) -> String?) {
      if let expected = option.wrappedValue, let message = mismatch(expected) {
        found.append((option.location, message))
      }
    }
    func count(_ option: OptionProperty<Int?>, of name: String, found: Int) {
      check(option) { differs($0, found: found, name: name) }
    }
    count(expect.$succeeded, of: "succeeded", found: outcomes.count(where: \.isSuccess))
    count(expect.$failed, of: "failed", found: outcomes.count { !$0.isSuccess })
    count(expect.$requests, of: "requests", found: requests)
    count(expect.$attempts, of: "attempts", found: attempts)
    check(expect.$refreshes) { count in
      refreshes.map { differs(count, found: $0, name: "refreshes") }
        ?? "refreshes: expected \(count), and no plugin of the chain fetches a token"
    }
    check(expect.$source) { source in
      outcomes.last?.last.map {
        differs(source.rawValue, found: $0.source.rawValue, name: "source")
      }
        ?? "source: expected \(source.rawValue), and there is no result\(firstMessage)"
    }
    check(expect.$data) { mismatch(data: $0) }
    check(expect.$error) { code in
      outcomes.lazy.compactMap(\.code).first.map { differs(code, found: $0, name: "error") }
        ?? "error: expected \(code), and nothing failed"
    }
    count(expect.$events, of: "events", found: sum(\.events))
    check(expect.$delivered) { mismatch(delivered: $0) }
    count(expect.$gaps, of: "gaps", found: sum(\.gaps))
    count(expect.$dropped, of: "dropped", found: sum(\.dropped))
    check(expect.$message) { part in
      outcomes.lazy.compactMap(\.message).first.map {
        $0.contains(part) ? nil : "message: expected one with \"\(part)\", found \"\($0)\""
      } ?? "message: expected one with \"\(part)\", and nothing failed"
    }
    check(expect.$within) { longest in
      time <= longest
        ? nil : "took \(time.optionText), expected at most \(longest.optionText)"
    }
    for call in expect.calls {
      differs(call.count, found: passes[call.entry] ?? 0, name: "passes of \(call.entry)")
        .map { found.append((call.location, $0)) }
    }
    return found
  }

  private func differs<Value: Equatable>(
    _ expected: Value, found: Value, name: String
  ) -> String? {
    expected == found ? nil : "\(name): expected \(expected), found \(found)\(firstMessage)"
  }

  private var firstMessage: String {
    outcomes.lazy.compactMap(\.message).first.map { " (the first failure: \($0))" } ?? ""
  }

  private func sum(_ count: KeyPath<Outcome, Int>) -> Int {
    outcomes.reduce(0) { $0 + $1[keyPath: count] }
  }

  private func mismatch(delivered expected: JSONValue) -> String? {
    let found = JSONValue.array(
      outcomes.flatMap(\.delivered).map { (try? JSONValue(parsing: $0)) ?? .null })
    guard found.canonicalText != expected.canonicalText else { return nil }
    return
      "delivered: expected \(expected.canonicalText), found \(found.canonicalText)\(firstMessage)"
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
