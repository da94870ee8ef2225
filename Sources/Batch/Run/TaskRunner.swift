import Cache
import Foundation
import GraphQL
import HTTPTypes
import JSONStream
import Pipeline

/// Runs one task to its end: page after page, waiting where the server wants it, handing each page to the
/// recorder.
struct TaskRunner: Sendable {
  let manifest: Manifest
  let runner: PipelineRunner
  let governor: Governor
  let recorder: Recorder
  let feed: TaskFeed
  let plan: SinkPlan
  let numbers: [Int]
  let options: RunOptions

  /// What one request brought.
  struct Page {
    var response: GraphQLResponse?
    var error: (any Error)?
    var kind = FailureKind.failed
    var milliseconds = 0.0
  }

  func run(_ item: TaskItem) async throws {
    let operation = manifest.operations[item.operation]
    var update = TaskUpdate(
      id: item.id, operation: numbers[item.operation], key: item.key, state: .failed)
    update.page = item.record?.page ?? 0
    update.attempts = item.record?.attempts ?? 0
    update.cursor = item.record?.cursor
    if let problem = item.problem {
      update.error = problem
      update.state = item.isSkipped ? .skipped : .failed
      update.ended = Date().timeIntervalSince1970
      return try await end(item, outcome(item, operation, Page(), nil, update, records: 0))
    }
    if operation.isMutation, operation.pagination == nil {
      // Recorded before it is sent: after a crash it is known that it may have been carried out.
      var begun = update
      begun.state = .unknown
      begun.error = "sent; no answer was recorded"
      try await recorder.durably(Outcome(update: begun, operation: item.operation))
    }
    var pager = Pager(operation.pagination, variables: item.variables, cursor: update.cursor)
    while true {
      let (outcome, isLast) = try await page(item, operation, &pager, &update)
      guard let outcome else {
        if operation.isMutation, operation.pagination == nil {
          // It was not sent after all.
          update.state = .queued
          try await recorder.durably(Outcome(update: update, operation: item.operation))
        }
        return await feed.putBack(item)
      }
      if isLast { return try await end(item, outcome) }
      try await recorder.submit(outcome)
      if await feed.reason != nil { return await feed.putBack(item) }
    }
  }

  private func end(_ item: TaskItem, _ outcome: Outcome) async throws {
    try await recorder.submit(outcome)
    try await feed.finished(
      item, outcome.update.state, bytes: outcome.update.bytes, records: outcome.update.records,
      milliseconds: outcome.update.milliseconds
    ) { try await recorder.barrier() }
  }

  /// One page; no outcome when the run stops before there is one.
  private func page(
    _ item: TaskItem, _ operation: BatchOperation, _ pager: inout Pager, _ update: inout TaskUpdate
  ) async throws -> (Outcome?, isLast: Bool) {
    let request: GraphQLRequest
    do throws(CacheError) {
      request = try self.request(operation, operation.template, pager.variables)
    } catch {
      update.error = error.message
      update.ended = Date().timeIntervalSince1970
      return (Outcome(update: update, operation: item.operation), true)
    }
    guard let page = try await send(request, operation) else { return (nil, true) }
    update.attempts += page.response?.attempt ?? 1
    update.ended = Date().timeIntervalSince1970
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
      return try finish(item, operation, page, data, &pager, &update)
    } catch let error as TaskProblem {
      update.state = .failed
      update.error = error.message
      return (outcome(item, operation, page, nil, update, records: 0), true)
    }
  }

  /// Judges a page that came.
  private func finish(
    _ item: TaskItem, _ operation: BatchOperation, _ page: Page, _ data: (any ResultData)?,
    _ pager: inout Pager, _ update: inout TaskUpdate
  ) throws -> (Outcome?, isLast: Bool) {
    var records = 0
    if operation.emit != nil {
      try data?.forEachValue(at: operation.emit) { _ in records += 1 }
    } else if data != nil {
      records = 1
    }
    if let problem = try problem(operation, page, data, update, records) {
      update.state = .failed
      update.error = problem
      return (outcome(item, operation, page, data, update, records: records), true)
    }
    var pageUpdate = update
    pageUpdate.page += 1
    pageUpdate.records += records
    pageUpdate.error = nil
    let hasMore = try data.map { try pager.advance(over: $0, page: pageUpdate.page) } ?? false
    pageUpdate.cursor = hasMore ? pager.position : nil
    pageUpdate.state = hasMore ? .running : .done
    update = pageUpdate
    var outcome = outcome(item, operation, page, data, pageUpdate, records: records)
    if !operation.capture.isEmpty, let data {
      var captured = JSONObject()
      for capture in operation.capture {
        var values: [JSONValue] = []
        try data.forEachValue(at: capture.path) { values.append(try JSONValue(parsing: $0)) }
        captured[capture.name] =
          capture.path.steps.contains(.each) ? .array(values) : values.first ?? .null
      }
      outcome.capture = captured
    }
    for bookmark in operation.bookmarks {
      guard let data else { continue }
      var folded: JSONValue?
      let path = ResultPath(
        [operation.emit?.description, bookmark.path.description].compactMap { $0 }
          .joined(separator: "."))
      try data.forEachValue(at: path) { bytes in
        let value = try JSONValue(parsing: bytes)
        folded = folded.map { SinkStage.folded(bookmark.fold, $0, value) } ?? value
      }
      if let folded { outcome.bookmarks.append((bookmark.name, bookmark.fold, folded)) }
    }
    if operation.snapshot != nil, let data { try compareSnapshot(operation, item, data) }
    return (outcome, !hasMore)
  }

  /// Why a result is a failure; `nil` when it is none.
  private func problem(
    _ operation: BatchOperation, _ page: Page, _ data: (any ResultData)?, _ update: TaskUpdate,
    _ records: Int
  ) throws -> String? {
    let errors = page.response?.errors ?? []
    let judgesErrors = operation.expect.contains { $0.roots.contains("errors") }
    if !errors.isEmpty, !judgesErrors {
      let first = errors.prefix(3).map { "\($0)" }.joined(separator: "; ")
      return "the response has \(errors.count) error\(errors.count == 1 ? "" : "s"): \(first)"
    }
    guard !operation.expect.isEmpty else { return nil }
    let facts = try facts(operation, page, data, update, records)
    for condition in operation.expect where !condition.holds(for: facts) {
      return "expected \(condition), found \(condition.found(in: facts))"
    }
    return nil
  }

  /// The most data that expectations look into.
  private static let mostExpected = 64 << 20

  private func facts(
    _ operation: BatchOperation, _ page: Page, _ data: (any ResultData)?, _ update: TaskUpdate,
    _ records: Int
  ) throws -> JSONValue {
    var facts = JSONObject()
    let errors = page.response?.errors ?? []
    facts["errors"] = errors.isEmpty ? .null : .array(errors.map { .string($0.message) })
    facts["http"] = update.http.map { .number(JSONNumber($0)) } ?? .null
    facts["ms"] = JSONNumber(page.milliseconds).map { .number($0) } ?? .null
    facts["bytes"] = .number(JSONNumber(page.response?.timing.receivedBytes ?? 0))
    facts["records"] = .number(JSONNumber(records))
    facts["page"] = .number(JSONNumber(update.page + 1))
    facts["attempt"] = .number(JSONNumber(update.attempts))
    let roots = Set(operation.expect.flatMap(\.roots))
    if roots.contains("emit") {
      // Counted, never held.
      facts["emit"] = .array(Array(repeating: .boolean(true), count: min(records, 1_000_000)))
    }
    if roots.contains("data"), let data {
      guard data.count <= Self.mostExpected else {
        throw TaskProblem(
          "expectations look into at most 64 MiB of data; this is \(data.count) bytes")
      }
      facts["data"] = try JSONValue(parsing: data.bytes())
    }
    return .object(facts)
  }

  // MARK: Sending

  private func request(
    _ operation: BatchOperation, _ template: OperationTemplate, _ variables: JSONObject
  ) throws(CacheError) -> GraphQLRequest {
    var request = GraphQLRequest(
      try template.prepared(variables), cachePolicy: operation.policy)
    request.timeout = operation.timeout
    if operation.idempotency != nil { request.isIdempotent = true }
    return request
  }

  /// Sends a request until there is an answer that is one; `nil` when the run stops before.
  func send(_ request: GraphQLRequest, _ operation: BatchOperation) async throws -> Page? {
    while true {
      if await feed.reason != nil { return nil }
      try await governor.enter()
      if await feed.reason != nil {
        _ = await governor.leave(nil)
        return nil
      }
      let page = try await attempt(request, operation)
      guard page.error != nil else { return page }
      switch page.kind {
      case .refused(let wish):
        if let verdict = await governor.leave(.refused(after: wish)) {
          await give(up: verdict, page)
        }
      case .unreachable:
        if let verdict = await governor.leave(.unreachable) { await give(up: verdict, page) }
      case .unauthorized:
        _ = await governor.leave(nil)
        await feed.stop(.unauthorized, page.error.map { "\($0)" })
        await governor.wakeAll()
        return nil
      case .unknown, .failed, .tooCostly:
        _ = await governor.leave(.answered)
        return page
      }
      try Task.checkCancellation()
    }
  }

  private func give(up verdict: Governor.Verdict, _ page: Page) async {
    await feed.stop(
      verdict == .refused ? .throttled : .unreachable, page.error.map { "\($0)" })
    await governor.wakeAll()
  }

  /// One pass through the chain. The governor is left only by answers.
  private func attempt(_ request: GraphQLRequest, _ operation: BatchOperation) async throws -> Page
  {
    let clock = ContinuousClock()
    let start = clock.now
    var page = Page()
    do {
      for try await response in runner.execute(request) { page.response = response }
      page.milliseconds = (clock.now - start).milliseconds
      guard let response = page.response else {
        page.error = ChainError(.chain, .noResult, "the chain brought no result")
        return page
      }
      if response.attempt > 1 { await governor.noteRetried() }
      await governor.note(response)
      _ = await governor.leave(.answered)
    } catch is CancellationError {
      _ = await governor.leave(nil)
      throw CancellationError()
    } catch {
      if Task.isCancelled {
        _ = await governor.leave(nil)
        throw CancellationError()
      }
      page.response = nil
      page.milliseconds = (clock.now - start).milliseconds
      page.error = error
      page.kind = FailureKind(
        error, mayRepeat: operation.mayRepeat, now: Date().timeIntervalSince1970)
    }
    return page
  }

  // MARK: What is written

  private func outcome(
    _ item: TaskItem, _ operation: BatchOperation, _ page: Page, _ data: (any ResultData)?,
    _ update: TaskUpdate, records: Int
  ) -> Outcome {
    var outcome = Outcome(update: update, operation: item.operation)
    let isFailure = update.state == .failed || update.state == .unknown
    let uses = plan.formats[item.operation]
    if uses.contains(where: { if case .results = $0.format.kind { true } else { false } }) {
      outcome.line = ResultLine.head(
        item, operation, page, update, records: records, isFailure: isFailure)
    }
    guard uses.contains(where: { $0.entry != nil }) else {
      outcome.pieces = uses.map { _ in [] }
      return outcome
    }
    // Only results say how a failure went; its records would come again with the next attempt.
    outcome.data = data
    if isFailure || (data?.count ?? 0) <= 4 << 20 {
      do {
        outcome.pieces = try uses.map { use in
          var pieces: [SinkPiece] = []
          let isResults = if case .results = use.format.kind { true } else { false }
          guard use.entry != nil, isResults || !isFailure else { return pieces }
          try use.format.pieces(of: data, line: outcome.line, task: update.unit) {
            pieces.append($0)
          }
          return pieces
        }
        outcome.data = nil
      } catch {
        outcome.pieces = uses.map { _ in [] }
        outcome.data = nil
        outcome.update.state = .failed
        outcome.update.error = "\(error)"
      }
    }
    return outcome
  }
}

extension ResultData {
  /// All bytes. Only for data known to be small.
  func bytes() throws -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(count)
    try forEachChunk { result += $0 }
    return result
  }
}

/// The line of a result, up to its data.
enum ResultLine {
  static func head(
    _ item: TaskItem, _ operation: BatchOperation, _ page: TaskRunner.Page, _ update: TaskUpdate,
    records: Int, isFailure: Bool
  ) -> [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    writer.key("task")
    writer.writeString(update.id.text)
    writer.key("op")
    writer.writeString(operation.id)
    writer.key("key")
    writer.writeString(item.key)
    writer.key("page")
    writer.writeNumber(isFailure ? update.page + 1 : update.page)
    writer.key("attempt")
    writer.writeNumber(update.attempts)
    writer.key("ok")
    writer.writeBool(!isFailure)
    writer.key("http")
    if let http = update.http { writer.writeNumber(http) } else { writer.writeNull() }
    number("ms", page.milliseconds, &writer)
    number("ttfb_ms", page.response?.timing.firstByte?.milliseconds, &writer)
    writer.key("bytes")
    writer.writeNumber(page.response?.timing.receivedBytes ?? 0)
    writer.key("records")
    writer.writeNumber(records)
    writer.key("cache")
    if let source = page.response?.source {
      writer.writeString(source.rawValue)
    } else {
      writer.writeNull()
    }
    writer.key("errors")
    errors(page, update, isFailure, &writer)
    var bytes = writer.bytes
    bytes += Array(#","data":"#.utf8)
    return bytes
  }

  private static func errors(
    _ page: TaskRunner.Page, _ update: TaskUpdate, _ isFailure: Bool, _ writer: inout JSONWriter
  ) {
    let found = page.response?.errors ?? []
    if found.isEmpty, !isFailure { return writer.writeNull() }
    var list = found.map { error -> JSONValue in
      var object: JSONObject = ["message": .string(error.message)]
      if let code = error.code { object["code"] = .string(code) }
      if let path = error.path {
        object["path"] = .array(
          path.map {
            switch $0 {
            case .key(let key): .string(key)
            case .index(let index): .number(JSONNumber(index))
            }
          })
      }
      return .object(object)
    }
    if list.isEmpty { list = [.object(["message": .string(update.error ?? "failed")])] }
    JSONValue.array(list).write(to: &writer)
  }

  private static func number(_ name: String, _ value: Double?, _ writer: inout JSONWriter) {
    writer.key(name)
    let rounded = value.map { ($0 * 1000).rounded() / 1000 }
    if let number = rounded.flatMap({ JSONNumber($0) }) {
      writer.writeNumber(number)
    } else {
      writer.writeNull()
    }
  }
}
