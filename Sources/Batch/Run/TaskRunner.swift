import Foundation
import GQLRunCache
import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline
import HTTPTypes

/// Runs tasks: requests page after page, waits when the server asks for it, and submits each page to
/// the recorder.
struct TaskRunner: Sendable {
  let manifest: Manifest
  let runner: PipelineRunner
  let governor: Governor
  let recorder: Recorder
  let feed: any TaskSupply
  /// The order of the results; `nil` if they are submitted as they arrive.
  let order: OutputOrder?
  let stop: RunStop
  let plan: SinkPlan
  let numbers: [Int]
  let options: RunOptions

  /// The result of one request.
  struct Page {
    var response: GraphQLResponse?
    var error: (any Error)?
    var kind = FailureKind.failed
    var milliseconds = 0.0
  }

  /// The next task; `nil` if there are no more.
  func next() async throws -> TaskItem? {
    await order?.start()
    do {
      let item = try await feed.next { try await recorder.barrier() }
      if item == nil { order?.skip() }
      return item
    } catch {
      order?.skip()
      throw error
    }
  }

  /// Runs a task until it has ended, or puts it back because the run stops.
  func run(_ item: TaskItem) async throws {
    do {
      guard try await hasEnded(item) else {
        feed.putBack(item)
        order?.withdraw(item.position)
        return
      }
    } catch {
      order?.withdraw(item.position)
      throw error
    }
    order?.end(item.position)
  }

  private func hasEnded(_ item: TaskItem) async throws -> Bool {
    let operation = manifest.operations[item.operation]
    var update = TaskUpdate(
      id: item.id, operation: numbers[item.operation], key: item.key, state: .failed)
    update.lease = item.lease
    update.page = item.record?.page ?? 0
    update.attempts = item.record?.attempts ?? 0
    update.cursor = item.record?.cursor
    if let record = item.record, record.page > 0 {
      // The journal contains the sums of all runs.
      update.milliseconds = record.milliseconds
      update.bytes = record.bytes
      update.records = record.records
    }
    var results = OrderedResults(of: item, order: order, recorder: recorder, feed: feed)
    if operation.until != nil, item.problem == nil {
      return try await follow(item, operation, update, &results)
    }
    if let problem = item.problem {
      update.error = problem
      update.state = item.isSkipped ? .skipped : .failed
      update.ended = feed.time.now()
      let outcome = outcome(item, operation, Page(), nil, update, records: 0)
      return try await end(item, outcome, &results)
    }
    // A result that waits for its turn is lost in a crash, and this request is not sent again.
    if operation.isMutation, !operation.mayRepeat, let order {
      guard await order.turn(of: item.position), stop.reason == nil else { return false }
    }
    if operation.isMutation, operation.pagination == nil {
      // Recorded before sending, so that after a crash it is known that the server may have
      // executed it.
      var begun = update
      begun.state = .unknown
      begun.attempts += 1
      begun.error = "sent, and no response was recorded"
      try await recorder.durably(Outcome(update: begun, operation: item.operation))
      guard feed.holds(item) else { return false }
    }
    var pager = Pager(operation.pagination, variables: item.variables, cursor: update.cursor)
    while true {
      let (outcome, isLast) = try await page(item, operation, &pager, &update)
      guard let outcome else {
        if operation.isMutation, operation.pagination == nil {
          // The request was not sent after all.
          update.state = .queued
          try await recorder.durably(Outcome(update: update, operation: item.operation))
        }
        return false
      }
      if isLast { return try await end(item, outcome, &results) }
      guard try await results.submit(outcome), stop.reason == nil else { return false }
    }
  }

  /// Submits the last outcome of a task. Returns `false` if it is discarded.
  func end(
    _ item: TaskItem, _ outcome: Outcome, _ results: inout OrderedResults
  ) async throws -> Bool {
    guard try await results.submit(outcome, isLast: true) else { return false }
    try await feed.finished(item, outcome.update.state) { try await recorder.barrier() }
    return true
  }

  /// Requests one page; no outcome if the run stops before there is one.
  private func page(
    _ item: TaskItem, _ operation: BatchOperation, _ pager: inout Pager, _ update: inout TaskUpdate
  ) async throws -> (Outcome?, isLast: Bool) {
    if let most = operation.pagination?.maximumPages, update.page >= most {
      // All of them are written. With a higher limit, `--only failed` continues at the cursor.
      update.state = .failed
      update.error = "there are more than \(most) pages; raise `max_pages` of `paginate`"
      update.ended = feed.time.now()
      return (outcome(item, operation, Page(), nil, update, records: 0), true)
    }
    let request: GraphQLRequest
    do {
      request = try self.request(item, operation, pager.variables)
    } catch {
      update.error =
        (error as? CacheError)?.message ?? (error as? ChainError)?.message ?? "\(error)"
      update.ended = feed.time.now()
      return (outcome(item, operation, Page(), nil, update, records: 0), true)
    }
    guard let page = try await send(request, operation) else { return (nil, true) }
    update.attempts += page.response?.attempt ?? 1
    update.ended = feed.time.now()
    update.milliseconds += page.milliseconds
    update.http = page.response?.http?.status.code ?? (page.error as? ChainError)?.http?.status
    update.bytes += page.response?.timing.receivedBytes ?? 0
    let isCostly =
      if case .tooCostly = page.kind, page.error != nil {
        true
      } else {
        page.response.map { FailureKind.isTooCostly($0.errors) } ?? false
      }
    if isCostly, pager.halve() { return try await self.page(item, operation, &pager, &update) }
    guard let response = page.response else {
      if case .unknown = page.kind { update.state = .unknown } else { update.state = .failed }
      update.error = page.error.map { "\($0)" } ?? "no result"
      return (outcome(item, operation, page, nil, update, records: 0), true)
    }
    do {
      var data = response.data
      if let nested = operation.pagination?.nested, !nested.isEmpty, response.errors.isEmpty {
        data = try await completed(data, nested, item, operation)
      }
      return try finish(item, operation, page, data, &update) {
        let hasMore = try data.map { try pager.advance(over: $0) } ?? false
        return (hasMore, hasMore ? pager.position : nil)
      }
    } catch let error as TaskProblem {
      update.state = .failed
      update.error = error.message
      return (outcome(item, operation, page, nil, update, records: 0), true)
    }
  }

  func outcome(
    _ item: TaskItem, _ operation: BatchOperation, _ page: Page, _ data: (any ResultData)?,
    _ given: TaskUpdate, records: Int
  ) -> Outcome {
    var update = given
    // A condition may show a value of the data.
    update.error = update.error.map { runner.services.secrets.hide(in: $0) }
    var outcome = Outcome(update: update, operation: item.operation)
    let isFailure = update.state == .failed || update.state == .unknown
    let uses = plan.formats[item.operation]
    if uses.contains(where: \.format.writesResults) {
      outcome.line = ResultLine.head(
        item, operation, page, update, records: records, isFailure: isFailure)
    }
    guard !uses.isEmpty else {
      outcome.pieces = []
      return outcome
    }
    // Only results describe a failure; its records would be repeated by the next attempt.
    let isSmall = isFailure || (data?.count ?? 0) <= Self.mostHeld
    do {
      let pieces: [[SinkPiece]] = try uses.map { use in
        var pieces: [SinkPiece] = []
        guard use.format.writesResults || !isFailure else { return pieces }
        // Large data is only checked here for records that the sink refuses; the sink extracts
        // them.
        guard isSmall || use.format.mayRefuse else { return pieces }
        try use.format.pieces(of: data, line: outcome.line, task: update.unit) {
          if isSmall { pieces.append($0) }
        }
        return pieces
      }
      if isSmall { outcome.pieces = pieces } else { outcome.data = data }
    } catch {
      var failed = update
      failed.state = .failed
      failed.error = "\(error)"
      // This page is not written.
      failed.page -= 1
      failed.records -= records
      return self.outcome(item, operation, page, nil, failed, records: 0)
    }
    return outcome
  }

  /// The maximum size of data that is split into pieces for the sinks here, in bytes.
  private static var mostHeld: Int { 4 << 20 }
}
