import GQLRunCache
import GQLRunJSON
import GQLRunPipeline
import GQLRunPlugins
import GQLRunSupport
import HTTPTypes

/// Runs tasks: requests page after page, waits when the server asks for it, and submits the results.
struct TaskRunner: Sendable {
  let manifest: Manifest
  let runner: PipelineRunner
  let governor: Governor
  let feed: TaskFeed
  let stop: RunStop
  let plan: SinkPlan
  let numbers: [Int]
  let options: RunOptions
  let tables: TableLimits
  /// What a snapshot would replace at a path; see ``OutputCheck/replacedBySnapshots()``.
  let replacedBySnapshot: @Sendable (_ path: String) -> String?

  /// The result of one request.
  struct Page {
    var response: GraphQLResponse?
    var error: (any Error)?
    var kind = FailureKind.failed
    var milliseconds = 0.0
  }

  /// Runs a task until it has ended, or withdraws it because the run stops.
  func run(_ item: TaskItem) async throws {
    guard let observation = runner.observation else { return try await runUnobserved(item) }
    let operation = manifest.operations[item.operation].id
    try await observation.observing(taskOf: operation) { try await runUnobserved(item) }
  }

  private func runUnobserved(_ item: TaskItem) async throws {
    var results = feed.results(of: item)
    do {
      if try await hasEnded(item, &results) { return }
    } catch {
      // First, so that no operation that needs this one begins because the task was given back.
      stop.stop(.interrupted)
      results.withdraw()
      throw error
    }
    results.withdraw()
  }

  private func hasEnded(_ item: TaskItem, _ results: inout TaskResults) async throws -> Bool {
    let operation = manifest.operations[item.operation]
    var update = TaskUpdate(
      id: item.id, operation: numbers[item.operation], key: item.key, state: .failed,
      page: item.record?.page ?? 0, attempts: item.record?.attempts ?? 0,
      cursor: item.record?.cursor, lease: item.lease)
    if let record = item.record, record.page > 0 {
      // The journal contains the sums of all runs.
      update.milliseconds = record.milliseconds
      update.bytes = record.bytes
      update.records = record.records
    }
    if operation.until != nil, item.problem == nil {
      return try await follow(item, operation: operation, update: update, results: &results)
    }
    if let problem = item.problem {
      update.error = problem
      update.state = item.isSkipped ? .skipped : .failed
      update.ended = feed.progress.now()
      return try await results.end(outcome(item, given: update))
    }
    if let tables = operation.tables {
      return try await fill(
        item, operation: operation, tables: tables, update: update, results: &results)
    }
    // A result that waits for its turn is lost in a crash, and this request is not sent again.
    if operation.isMutation, !operation.mayRepeat {
      guard try await results.turn(), stop.reason == nil else { return false }
    }
    if operation.isMutation, operation.pagination?.style == nil {
      // Recorded before sending, so that after a crash it is known that the server may have
      // executed it.
      var begun = update
      begun.state = .unknown
      begun.attempts += 1
      begun.error = "sent, and no response was recorded"
      guard try await results.begin(Outcome(update: begun, operation: item.operation)) else {
        return false
      }
    }
    var pager = Pager(operation.pagination, variables: item.variables, cursor: update.cursor)
    while true {
      let (outcome, isLast) = try await page(
        item, operation: operation, pager: &pager, update: &update)
      guard let outcome else {
        if operation.isMutation, operation.pagination?.style == nil {
          // The request was not sent after all: the state and error of an earlier attempt remain. Without `ended`, the
          // task has not ended in this run.
          update.state = item.record?.state ?? .queued
          update.error = item.record?.error
          update.http = item.record?.http
          _ = try await results.begin(Outcome(update: update, operation: item.operation))
        }
        return false
      }
      if isLast { return try await results.end(outcome) }
      guard try await results.submit(outcome), stop.reason == nil else { return false }
    }
  }

  /// Requests one page, in smaller ones if it costs too much; no outcome if the run stops before there is one.
  private func page(
    _ item: TaskItem, operation: BatchOperation, pager: inout Pager, update: inout TaskUpdate
  ) async throws -> (Outcome?, isLast: Bool) {
    let request: GraphQLRequest
    do throws(TaskProblem) {
      if let most = operation.pagination?.maxPages, update.page >= most {
        // All of them are written. With a higher limit, `--only failed` continues at the cursor.
        throw TaskProblem("there are more than \(most) pages; raise `max_pages` of `paginate`")
      }
      request = try self.request(item, variables: pager.variables)
    } catch {
      update.fail(error.message, at: feed.progress.now())
      return (outcome(item, given: update), true)
    }
    guard let page = try await send(request, operation) else { return (nil, true) }
    update.add(page, at: feed.progress.now())
    let isCostly =
      page.error != nil && page.kind.isTooCostly
      || FailureKind.isTooCostly(page.response?.errors ?? [])
    if isCostly, pager.halve() {
      return try await self.page(item, operation: operation, pager: &pager, update: &update)
    }
    guard let response = page.response else {
      if case .unknown = page.kind { update.state = .unknown } else { update.state = .failed }
      update.error = page.error.map { "\($0)" } ?? "no result"
      return (outcome(item, page: page, given: update), true)
    }
    do {
      var data = response.data
      if let nested = operation.pagination?.nested, !nested.isEmpty,
        response.errors.isEmpty || operation.judgesErrors
      {
        data = try await completed(data, nested: nested, item: item, operation: operation)
      }
      let isAnnounced = pager.position != nil
      return try finish(item, operation: operation, page: page, data: data, update: &update) {
        let found = data.unlessNull
        let hasMore = try found.map { try pager.advance(over: $0) } ?? false
        if hasMore, manifest.queueURL != nil, pager.position?.utf8.contains(0) == true {
          throw TaskProblem(
            "the cursor of the next page has a NUL character, which PostgreSQL cannot store; run the batch with a "
              + "folder as its journal")
        }
        if let found,
          let problem = try operation.completeness?.problem(
            in: found, isAnnounced: isAnnounced, hasMore: hasMore,
            hasErrors: !response.errors.isEmpty)
        {
          throw TaskProblem(problem)
        }
        return (hasMore, hasMore ? pager.position : nil)
      }
    } catch is StoppedBetweenPages {
      guard operation.isMutation else { return (nil, true) }
      // The server has executed it.
      update.state = .unknown
      update.error = "executed, and the run stopped before its nested connections were complete"
      return (outcome(item, page: page, given: update), true)
    } catch let error as TaskProblem {
      update.state = .failed
      update.error = error.message
      return (outcome(item, page: page, given: update), true)
    }
  }

  /// The outcome of a page, or of a task that ends without one.
  ///
  /// - Parameter given: The change that the outcome records. It fails if a sink refuses a record.
  func outcome(
    _ item: TaskItem, page: Page = Page(), data: (any ResultData)? = nil, given: TaskUpdate,
    records: Int = 0
  ) -> Outcome {
    var update = given
    // A condition may show a value of the data.
    update.error = update.error.map { runner.services.secrets.hide(in: $0) }
    var outcome = Outcome(update: update, operation: item.operation)
    let isFailure = [.failed, .unknown, .skipped].contains(update.state)
    outcome.hasPage = data != nil && !isFailure
    let uses = plan.formats[item.operation]
    if uses.contains(where: \.format.writesResults) {
      outcome.line = ResultLine.head(
        item, operation: manifest.operations[item.operation].id, page: page, update: update,
        records: records,
        isFailure: isFailure)
    }
    guard !uses.isEmpty else {
      outcome.pieces = []
      return outcome
    }
    // Only results describe a failure; its records would be repeated by the next attempt.
    let isSmall = isFailure || (data?.count ?? 0) <= Self.maxHeld
    outcome.data = data
    outcome.rowValues = item.rowValues
    do {
      let pieces: [[SinkPiece]] = try uses.map { use in
        var pieces: [SinkPiece] = []
        guard use.format.writesResults || !isFailure else { return pieces }
        // Large data is only checked here for records that the sink refuses; the sink extracts
        // them.
        guard isSmall || use.format.mayRefuse else { return pieces }
        try use.format.pieces(of: outcome) { if isSmall { pieces.append($0) } }
        return pieces
      }
      if isSmall {
        outcome.pieces = pieces
        (outcome.data, outcome.rowValues) = (nil, JSONObject())
      }
    } catch {
      var failed = update
      failed.state = .failed
      failed.error = "\(error)"
      // This page is not written.
      failed.page -= 1
      failed.records -= records
      return self.outcome(item, page: page, given: failed)
    }
    return outcome
  }

  /// The maximum size of data that is split into pieces for the sinks here, in bytes.
  private static var maxHeld: Int { 4 << 20 }
}

/// Sends requests until there is a response that is not a refusal.
extension TaskRunner {
  /// - Parameter other: A document that requests a part of the operation; `nil` for its own.
  func request(
    _ item: TaskItem, template other: OperationTemplate? = nil, variables: JSONObject
  ) throws(TaskProblem) -> GraphQLRequest {
    let request = try manifest.request(
      item, template: other, variables: variables, isStored: runner.services.store != nil)
    return item.hasFailed ? resent(request) : request
  }

  /// A request that is sent again after a failure: it asks the server, because the cache may have the error of the
  /// earlier attempt.
  func resent(_ request: GraphQLRequest) -> GraphQLRequest {
    guard runner.policy(of: request) == .cacheFirst else { return request }
    var request = request
    request.cachePolicy = .networkOnly
    return request
  }

  /// Sends a request until it is answered; `nil` if the run stops before that.
  ///
  /// - Parameter expected: What is known about its cost.
  func send(
    _ request: GraphQLRequest, _ operation: BatchOperation, expecting expected: ExpectedCost? = nil
  ) async throws -> Page? {
    var request = request
    while true {
      if stop.reason != nil { return nil }
      let pass = try await governor.enter(operation.id, expecting: expected)
      // A delay of the server may have taken longer than a lease.
      if stop.reason != nil || !feed.store.maySend {
        _ = governor.leave(pass, signal: nil)
        return nil
      }
      let page: Page
      do {
        page = try await attempt(request, operation)
      } catch {
        _ = governor.leave(pass, signal: nil)
        throw error
      }
      guard let error = page.error else {
        _ = governor.leave(pass, signal: .answered, response: page.response)
        return page
      }
      let head = (error as? ChainError)?.http.map {
        HTTPResponse(status: .init(code: $0.status), headerFields: $0.headers)
      }
      let mayRetry = isRetried(page.kind, error) {
        governor.leave(pass, signal: $0, head: head, response: page.response)
      }
      if !mayRetry { return page }
      request = resent(request)
      try Task.checkCancellation()
    }
  }

  /// Whether a request that failed is sent again, unless the run stops: its failure is not that of the task.
  ///
  /// The only place that retries requests of tasks; those that the chain retries count as one.
  ///
  /// - Parameter leave: Ends the request with what it reveals about the server.
  func isRetried(
    _ kind: FailureKind, _ error: any Error, leave: (Governor.Signal?) -> Outage?
  ) -> Bool {
    switch kind {
    case .refused(let wish):
      if let outage = leave(.refused(after: wish)) {
        stop.stop(.throttled, detail: "\(error)", outage: outage)
      }
    case .unreachable:
      if let outage = leave(.unreachable) {
        stop.stop(.unreachable, detail: "\(error)", outage: outage)
      }
    case .unauthorized:
      _ = leave(nil)
      stop.stop(.unauthorized, detail: "\(error)")
    case .unknown, .failed, .tooCostly:
      _ = leave(.answered)
      return false
    }
    return true
  }

  /// Runs the request through the chain once.
  private func attempt(_ request: GraphQLRequest, _ operation: BatchOperation) async throws -> Page
  {
    let clock = ContinuousClock()
    let start = clock.now
    var time: Double { runner.services.secondsSince1970() }
    var page = Page()
    do {
      // Data without another reference grows in place with the parts of a response.
      for try await response in runner.execute(request) {
        page.response = response.isComplete ? response : nil
      }
      page.milliseconds = (clock.now - start).milliseconds
      guard let response = page.response else {
        page.error = ChainError(.chain, code: .noResult, message: "the chain returned no result")
        return page
      }
      if (response.data?.count ?? 0) <= 4, let limit = RequestBudget.refusal(in: response.errors) {
        // A rate limit error without data and with status 200, handled like 429.
        page.error = ChainError(.transport, code: .rateLimited, message: limit.message)
        page.kind = .refused(after: FailureKind.wish(response.http?.headerFields ?? [:], time))
      } else if let refusal = response.refusal {
        let kind = FailureKind(refusal, mayRepeat: operation.mayRepeat, now: time)
        if kind.isOfAllTasks { (page.error, page.kind) = (refusal, kind) }
      }
    } catch is CancellationError {
      throw CancellationError()
    } catch {
      if Task.isCancelled { throw CancellationError() }
      page.response = nil
      page.milliseconds = (clock.now - start).milliseconds
      page.error = error
      page.kind = FailureKind(error, mayRepeat: operation.mayRepeat, now: time)
    }
    return page
  }
}

/// Evaluates the pages of a task.
extension TaskRunner {
  /// Evaluates a received page.
  ///
  /// - Parameter advance: Whether there are further pages, and the cursor of the next one.
  func finish(
    _ item: TaskItem, operation: BatchOperation, page: Page, data: (any ResultData)?,
    update: inout TaskUpdate, advance: () throws -> (hasMore: Bool, cursor: String?)
  ) throws -> (Outcome?, isLast: Bool) {
    var records = 0
    let found = data.unlessNull
    if let emit = operation.emit {
      let mismatch = try found?.forEachValue(at: emit) { record in
        records += 1
        // `[*]` emits the elements of a list; without it, a list as a record is a mistake.
        guard record.first == UInt8(ascii: "["), emit.steps.last != .each else { return }
        throw TaskProblem("`emit` leads to `\(emit)`, which is a list; write `\(emit)[*]`")
      }
      if let mismatch { throw TaskProblem("`emit` \(mismatch)") }
    } else if found != nil {
      records = 1
    }
    if let problem = try problem(
      operation, page: page, data: data, update: update, records: records)
    {
      update.state = .failed
      update.error = problem
      return (outcome(item, page: page, data: data, given: update, records: records), true)
    }
    var pageUpdate = update
    pageUpdate.page += 1
    pageUpdate.records += records
    pageUpdate.error = nil
    let hasMore: Bool
    (hasMore, pageUpdate.cursor) = try advance()
    pageUpdate.state = hasMore ? .running : .done
    var outcome = outcome(item, page: page, data: data, given: pageUpdate, records: records)
    // A record that a sink refuses: the page counts as not written, and none follows.
    guard outcome.update.state != .failed else { return (outcome, true) }
    if !operation.capture.isEmpty, let found {
      var captured = JSONObject()
      for capture in operation.capture {
        var values: [JSONValue] = []
        let mismatch = try found.forEachValue(at: capture.path) {
          values.append(try JSONValue(parsing: $0))
        }
        if let mismatch { throw TaskProblem("the capture `\(capture.name)` \(mismatch)") }
        captured[capture.name] =
          capture.path.steps.contains(.each) ? .array(values) : values.first ?? .null
      }
      outcome.capture = captured
    }
    for (name, bookmark) in operation.bookmarks {
      guard let found else { continue }
      var folded: JSONValue?
      let path = ResultPath(
        [operation.emit?.description, bookmark.path.description].compactMap { $0 }
          .joined(separator: "."))
      let mismatch = try found.forEachValue(at: path) { bytes in
        let value = try JSONValue(parsing: bytes)
        folded = bookmark.fold.value(folded, then: value)
      }
      if let mismatch { throw TaskProblem("the bookmark `\(name)` \(mismatch)") }
      if let folded { outcome.bookmarks.append((name, bookmark.fold, folded)) }
    }
    if operation.snapshot != nil, let found {
      try compareSnapshot(operation, item: item, data: found)
    }
    // Only now, because a page that failed above is not written.
    update = pageUpdate
    return (outcome, !hasMore)
  }

  /// Why a result is a failure; `nil` if it is not.
  private func problem(
    _ operation: BatchOperation, page: Page, data: (any ResultData)?, update: TaskUpdate,
    records: Int
  ) throws -> String? {
    let errors = page.response?.errors ?? []
    if !errors.isEmpty, !operation.judgesErrors {
      return errors.problem(in: operation.documentName)
    }
    // https://spec.graphql.org/September2026/#sec-Data
    if errors.isEmpty, data.unlessNull == nil { return "the response has no data" }
    return try unmet(operation, page: page, data: data, update: update, records: records)
  }

  /// The first condition of `expect` that does not hold; `nil` if all do.
  ///
  /// - Throws: ``TaskProblem`` for a condition that cannot be evaluated.
  func unmet(
    _ operation: BatchOperation, page: Page, data: (any ResultData)?, update: TaskUpdate,
    records: Int
  ) throws -> String? {
    var facts = Expectations.Facts()
    facts.errors = page.response?.errors ?? []
    facts.http = update.http
    facts.milliseconds = page.milliseconds
    facts.bytes = page.response?.timing.receivedBytes ?? 0
    facts.records = records
    facts.page = update.page + 1
    facts.attempt = update.attempts
    return try operation.expect.unmet(in: data, facts)
  }
}

/// The run stops before a nested connection is complete; the task has no outcome yet.
private struct StoppedBetweenPages: Error {}

/// Completes connections inside records through `node(id:)`.
extension TaskRunner {
  /// The data with all pages of every nested connection.
  ///
  /// Not inlined, because every page would have its frame.
  @inline(never)
  func completed(
    _ data: (any ResultData)?, nested: [NestedConnection], item: TaskItem,
    operation: BatchOperation
  ) async throws -> (any ResultData)? {
    guard let found = data.unlessNull else { return data }
    var value = try JSONValue(parsing: found.bytes())
    for connection in nested {
      let limit = operation.pagination.map {
        NestedConnection.Limit(
          maxPages: $0.maxPages,
          message:
            "there are more than \($0.maxPages) pages of `\(connection.path)`; raise `max_pages` of `paginate`"
        )
      }
      value = try await connection.complete(
        value, variables: item.variables, limit: limit,
        findBy: { object throws(TaskProblem) in
          guard let id = object["id"], !id.isNull else {
            throw TaskProblem("an object has no `id` to complete `\(connection.path)` by")
          }
          return ["id": id]
        },
        request: { try await nestedPages(of: item, operation, $0, variables: $1) })
    }
    return value.jsonBytes()
  }

  /// The data of a response with pages of nested connections.
  private func nestedPages(
    of item: TaskItem, _ operation: BatchOperation, _ template: OperationTemplate,
    variables: JSONObject
  ) async throws -> JSONValue? {
    let request: GraphQLRequest
    do throws(TaskProblem) {
      request = try self.request(item, template: template, variables: variables)
    } catch {
      throw TaskProblem("a nested page cannot be requested: \(error.message)")
    }
    guard let page = try await send(request, operation) else { throw StoppedBetweenPages() }
    if let error = page.error {
      let problem = TaskProblem("\(error)")
      throw page.kind.isTooCostly ? TooCostlyPages(cause: problem) : problem as any Error
    }
    if let errors = page.response?.errors, let error = errors.first {
      let problem = TaskProblem(
        "a nested page failed: \(error.description(in: operation.documentName))")
      throw TooCostlyPages.error(problem, of: errors)
    }
    return try page.response?.data.unlessNull.map { try JSONValue(parsing: $0.bytes()) }
  }

  // MARK: Snapshots

  /// Compares data with its snapshot file; creates the file if there is none.
  func compareSnapshot(
    _ operation: BatchOperation, item: TaskItem, data: any ResultData
  ) throws {
    guard let template = operation.snapshot else { return }
    guard data.count <= 16 << 20 else {
      throw TaskProblem(
        "the snapshot is not compared: the data has \(data.count) bytes, and the limit is 16 MiB")
    }
    var scope = item.scope
    scope.key = OutputPath.component(item.key)
    let base = OutputPath(folder: manifest.folder)
    let path: String
    do {
      path = try base.resolve(template.text(in: scope))
    } catch let refused as OutputPath.Refused {
      throw TaskProblem("the snapshot cannot be kept there: \(refused.reason)")
    }
    // Opening a pipe would wait for its writer.
    guard FilePath.isFolder(path) || FileStatus(path)?.isRegular != false else {
      throw TaskProblem("the snapshot \(path) cannot be kept: it is not a regular file")
    }
    let value = try JSONValue(parsing: data.bytes())
    let kept: [UInt8]?
    do throws(SystemError) {
      kept = options.updatesSnapshots ? nil : try SystemIO.readExistingFile(path)
    } catch {
      throw TaskProblem("the snapshot is not compared: \(error)")
    }
    if let kept {
      let old: JSONValue
      do {
        old = try JSONValue(parsing: kept)
      } catch {
        throw TaskProblem("the snapshot \(path) is not JSON: \(error.message)")
      }
      if old != value {
        let index = Self.difference(old, new: value, path: "data")
        throw TaskProblem(
          "the data differs from the snapshot \(path) at \(index); --update-snapshots takes the new one"
        )
      }
      return
    }
    if let other = replacedBySnapshot(path) {
      throw TaskProblem("the snapshot \(path) would replace \(other)")
    }
    try AtomicFile.write(value.jsonBytes(pretty: true) + [0x0A], to: base.target(path))
  }

  private static func difference(_ old: JSONValue, new: JSONValue, path: String) -> String {
    switch (old, new) {
    case (.object(let old), .object(let new)):
      for member in new where old[member.key] != member.value {
        guard let before = old[member.key] else { return "\(path).\(member.key) (new)" }
        return difference(before, new: member.value, path: "\(path).\(member.key)")
      }
      return old.first { new[$0.key] == nil }.map { "\(path).\($0.key) (gone)" } ?? path
    case (.array(let old), .array(let new)):
      for (index, pair) in zip(old, new).enumerated() where pair.0 != pair.1 {
        return difference(pair.0, new: pair.1, path: "\(path)[\(index)]")
      }
      return "\(path) (\(old.count) elements before, \(new.count) now)"
    default:
      return "\(path) (\(old.jsonText().prefix(40)) before, \(new.jsonText().prefix(40)) now)"
    }
  }
}
