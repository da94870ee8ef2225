import GQLRun
import GQLRunBatch
import GQLRunCache
import GQLRunLanguage
import GQLRunPipeline
import GQLRunPlugins
import GQLRunSupport
import HTTPTypes

/// Executes the operation of `gqlrun run`, and writes its results.
struct OperationRun: Sendable {
  var operation: PreparedOperation
  /// The files by the paths of their variables.
  var uploads: [String: Upload]
  /// The document in messages.
  var label: String
  /// The values for plugins.
  var context: [String: String]
  var policy: CachePolicy?
  var output: OutputOptions
  var pages: PageOptions
  /// Whether the query is watched.
  var watches: Bool
  /// Whether each part of a response with `@defer` or `@stream` is printed when it arrives.
  var isIncremental = false
  /// Ends a subscription or a watch.
  var limit: EventLimit
  var gaps = GapReport.notes
  var filter: JQFilter?
  /// The conditions that the results have to meet.
  var expectations = Expectations()
  var verbosity: Int
  var isQuiet: Bool
  /// The heads to print before the results; `nil` prints none.
  var trace: NetworkTrace?

  /// What the results were.
  struct Outcome: Sendable {
    /// The number of GraphQL errors: of all pages or events, otherwise of the last result.
    var errorCount = 0
    /// What was found for each condition, without secrets.
    var findings: [Expectations.Finding] = []
  }

  /// Writes the results.
  func execute(_ client: PipelineClient, _ meter: ConnectionMeter) async throws -> Outcome {
    let size = uploads.values.reduce(0) { $0 + $1.count }
    // A terminal that shows the result needs no progress, except that of an upload.
    let isShown = !isQuiet && (size > 0 || output.file != nil || !Terminal.isOutputTerminal)
    async let _ = isShown ? TransferProgress.show(uploading: size, meter) : ()
    async let _ =
      verbosity > 0 && operation.type == .subscription ? show(client.connectionStates) : ()
    return try await results(client)
  }

  private func results(_ client: PipelineClient) async throws -> Outcome {
    let effective = policy ?? client.pipeline.defaultCachePolicy
    let writer = try output.writer(
      linePerResult: effective == .cacheAndNetwork || pages.isLinePerPage || isLive
        || isIncremental,
      isArray: pages.slurp, filter: filter)
    var start = ContinuousClock.now
    var outcome = Outcome()
    // A later result replaces an earlier one, except pages and events.
    let isOneOfMany = pages.paginate || operation.type == .subscription
    var tally = ExpectationTally(
      expectations, noun: pages.paginate ? "page" : isOneOfMany ? "event" : nil)
    var shownHead: HTTPResponse?
    var request = GraphQLRequest(operation, cachePolicy: policy, uploads: uploads)
    request.context.named = context
    request.mergesParts = !isIncremental
    var lines = PartLines()
    // The parts of a response and the events of a subscription are no whole results.
    var unread = isLive || isIncremental ? nil : UnreadPages(of: operation)
    var results: RunPages
    do {
      results = try RunPages(
        request, options: pages, client: client,
        results: try stream(of: request, client).ending(at: limit), name: label)
      while let response = try await results.next() {
        if let gap = response.gap {
          if !isQuiet { Terminal.warning(gap.note) }
          if gaps == .inline {
            try writer.write { try gap.gapLine(cause: gap.reason).withUnsafeBytes($0) }
          }
          continue
        }
        if let head = response.http, let trace, !pages.slurp, head != shownHead {
          // The events of a subscription and the parts of a response share a head.
          if operation.type == .subscription || response.part != nil { shownHead = head }
          try writer.write(trace.head(of: head) ?? "")
        }
        if isIncremental {
          let line = try lines.line(response, after: ContinuousClock.now - start)
          try writer.write { try Array(line.utf8).withUnsafeBytes($0) }
        }
        // Without --incremental, only the whole result is printed.
        guard response.isComplete else { continue }
        if !isIncremental { try write(response, to: writer) }
        if !pages.paginate { unread?.beginCount() }
        try unread?.read(response)
        outcome.errorCount = response.errors.count + (isOneOfMany ? outcome.errorCount : 0)
        // The time of a page or of a watched result is its own; other results begin with the operation.
        let time = watches ? response.timing.total : ContinuousClock.now - start
        if !isQuiet { report(response, policy: effective) }
        if verbosity > 0 { summarize(response, time) }
        if pages.paginate { start += time }
        if !response.isCatchUp { try tally.check(response, milliseconds: time / .milliseconds(1)) }
        if !response.isCatchUp, limit.count() { break }
      }
    } catch is CancellationError where isLive {
      // A file has the results so far.
      try writer.finish()
      throw CancellationError()
    } catch  where (isLive || isIncremental) && writer.hasResults {
      // As above; the error is the one to report.
      try? writer.finish()
      throw error
    } catch {
      writer.abandon()
      // The head of the response that made the operation fail; a file keeps its contents.
      if error is ChainError, output.file == nil, !pages.slurp, let head = trace?.head() {
        try writer.write(head)
      }
      throw error
    }
    try writer.finish()
    if let unread { try report(unread, results, hasErrors: outcome.errorCount > 0) }
    let secrets = client.services.secrets
    outcome.findings = tally.findings.map { finding in
      Expectations.Finding(
        condition: finding.condition, problem: finding.problem.map { secrets.hide(in: $0) })
    }
    return outcome
  }

  /// Warns of connections that have more pages than the result; with `--paginate` that is an error. Notes those that
  /// cannot tell whether they have.
  private func report(_ unread: UnreadPages, _ results: RunPages, hasErrors: Bool) throws {
    for keys in isQuiet ? [] : operation.template.connectionsWithoutPageInfo() {
      Terminal.hint(
        "`\(keys.joined(separator: "."))` may have more pages; select its `pageInfo { hasNextPage endCursor }` to "
          + "know")
    }
    let notes = unread.unread.filter { !results.complete.contains($0.field.path) }.map {
      $0.note(
        problem: pages.paginate
          ? results.problems[$0.field.path] ?? "request it in another operation" : nil)
    }
    guard pages.paginate, let first = notes.first else {
      let unknown = hasErrors ? [] : unread.unknown.map(\.unknownNote)
      if !isQuiet { for note in notes + unknown { Terminal.warning(note) } }
      return
    }
    let others = notes.dropFirst().map { "\n  \($0)" }.joined()
    throw Failure(.failed, "the result is incomplete: \(first)\(others)")
  }

  /// Prints each state of the connection, except that before and after the subscription.
  private func show(_ states: AsyncStream<ConnectionState>) async {
    for await state in states where state != .idle {
      Terminal.note(Terminal.styled("* Subscription: \(state.text)", .dim))
    }
  }

  private var isLive: Bool { watches || operation.type == .subscription }

  private func stream(
    of request: GraphQLRequest, _ client: PipelineClient
  ) throws -> ResponseStream {
    guard watches else { return client.execute(request) }
    return ResponseStream(
      try client.watch(request, refetches: true), label: operation.label, isQuiet: isQuiet)
  }

  private func write(_ response: GraphQLResponse, to writer: ResultPrinter) throws {
    do {
      try writer.write { try response.forEachChunk($0) }
    } catch let failure as Failure
      where failure.status == .filterFailed && !response.errors.isEmpty
    {
      // The errors of the result are the cause, and decide about the exit code.
      if !isQuiet { Terminal.warning(failure.message) }
    }
  }

  private func report(_ response: GraphQLResponse, policy: CachePolicy) {
    if response.source == .cache, policy == .networkFirst {
      Terminal.warning(
        "the network or the server failed; this is what the cache has"
          + (response.staleness.map { ", \($0)" } ?? ""))
    }
    for warning in response.writeSummary?.warnings ?? [] {
      Terminal.warning(warning)
    }
    for error in response.errors { Terminal.graphQLError(error.description(in: label)) }
  }

  /// Prints the source of the result, its duration and size, and what was written to the cache. A watched result of a
  /// changed cache has no duration.
  private func summarize(_ response: GraphQLResponse, _ time: Duration) {
    var parts = ["from the \(response.origin)"]
    if time > .zero { parts.append(time.shown) }
    if response.source == .server {
      parts.append(Quantity.count(response.timing.receivedBytes, "byte"))
    } else if let count = response.data?.count {
      parts.append(Quantity.count(count, "byte"))
    }
    if let staleness = response.staleness { parts.append("stale, \(staleness)") }
    if response.attempt > 1 { parts.append("attempt \(response.attempt)") }
    if let written = response.writeSummary {
      parts.append(
        "records: \(written.newRecords) new, \(written.changedRecords) changed, "
          + "\(written.unchangedRecords) unchanged")
    }
    Terminal.note(Terminal.styled("= " + parts.joined(separator: ", "), .bold))
  }
}

extension ConnectionState {
  /// The state for the terminal.
  var text: String {
    switch self {
    case .idle: "idle"
    case .connecting: "connecting"
    case .open: "open"
    case .waiting(let time):
      "waiting, connects again in \(Duration.seconds(max(0, time - Services.timeOfDay())).shown)"
    }
  }
}
