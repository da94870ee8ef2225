import GQLRunJSON
import GQLRunPipeline
import GQLRunSupport

/// Evaluates the pages of a task.
extension TaskRunner {
  /// Evaluates a received page.
  ///
  /// - Parameter advance: Whether there are further pages, and the cursor of the next one.
  func finish(
    _ item: TaskItem, _ operation: BatchOperation, _ page: Page, _ data: (any ResultData)?,
    _ update: inout TaskUpdate, advance: () throws -> (hasMore: Bool, cursor: String?)
  ) throws -> (Outcome?, isLast: Bool) {
    var records = 0
    if let emit = operation.emit {
      let mismatch = try data?.forEachValue(at: emit) { record in
        records += 1
        // `[*]` emits the elements of a list; without it, a list as a record is a mistake.
        guard record.first == UInt8(ascii: "["), emit.steps.last != .each else { return }
        throw TaskProblem("`emit` leads to `\(emit)`, which is a list; write `\(emit)[*]`")
      }
      if let mismatch { throw TaskProblem("`emit` \(mismatch)") }
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
    let hasMore: Bool
    (hasMore, pageUpdate.cursor) = try advance()
    pageUpdate.state = hasMore ? .running : .done
    var outcome = outcome(item, operation, page, data, pageUpdate, records: records)
    // A record that a sink refuses: the page counts as not written, and none follows.
    guard outcome.update.state != .failed else { return (outcome, true) }
    if !operation.capture.isEmpty, let data {
      var captured = JSONObject()
      for capture in operation.capture {
        var values: [JSONValue] = []
        let mismatch = try data.forEachValue(at: capture.path) {
          values.append(try JSONValue(parsing: $0))
        }
        if let mismatch { throw TaskProblem("the capture `\(capture.name)` \(mismatch)") }
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
      let mismatch = try data.forEachValue(at: path) { bytes in
        let value = try JSONValue(parsing: bytes)
        folded = folded.map { SinkStage.folded(bookmark.fold, $0, value) } ?? value
      }
      if let mismatch { throw TaskProblem("the bookmark `\(bookmark.name)` \(mismatch)") }
      if let folded { outcome.bookmarks.append((bookmark.name, bookmark.fold, folded)) }
    }
    if operation.snapshot != nil, let data { try compareSnapshot(operation, item, data) }
    // Only now, because a page that failed above is not written.
    update = pageUpdate
    return (outcome, !hasMore)
  }

  /// Why a result is a failure; `nil` if it is not.
  private func problem(
    _ operation: BatchOperation, _ page: Page, _ data: (any ResultData)?, _ update: TaskUpdate,
    _ records: Int
  ) throws -> String? {
    let errors = page.response?.errors ?? []
    let judgesErrors = operation.expect.contains { $0.roots.contains("errors") }
    if !errors.isEmpty, !judgesErrors {
      let first = errors.prefix(3).map { $0.description(in: operation.documentName) }.joined(
        separator: "; ")
      return "the response has \(Quantity.count(errors.count, "error")): \(first)"
    }
    guard !operation.expect.isEmpty else { return nil }
    let facts = try facts(operation, page, data, update, records)
    for condition in operation.expect {
      if let mismatch = condition.mismatch(in: facts) {
        throw TaskProblem("the condition `\(condition)` \(mismatch)")
      }
    }
    for condition in operation.expect where !condition.holds(for: facts) {
      return "expected \(condition), found \(condition.found(in: facts))"
    }
    return nil
  }

  /// The maximum size of data that expectations read, in bytes.
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
      // Counted without storing the records.
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
}
