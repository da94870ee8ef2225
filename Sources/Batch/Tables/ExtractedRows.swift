public import GQLRunJSON
import GQLRunPipeline
import GQLRunSupport

/// A row of an extracted table.
public struct ExtractedRow: Sendable, Equatable {
  /// The name of the table: the response keys of the list, joined with `_`, or the name that the options give it.
  public var table: String
  /// Identifies the object: its cache key, such as `Customer:7`, or that of the row above with the position.
  public var key: String
  /// The key of the row above; `nil` at the first level.
  public var parent: String?
  /// The index of the row in its list, over all pages, from 0.
  public var position: Int
  /// The values of the columns, in their order; null for absent ones.
  public var values: JSONObject
}

/// The rows of one response.
public struct ExtractedPage: Sendable {
  /// The rows, each after that of its parent; empty for a response without any.
  public var rows: [ExtractedRow]
  /// Continues after this page; `nil` for the last one.
  public var checkpoint: String?
}

/// The rows of everything behind a query, page by page; see `PipelineClient.rows(of:variables:after:options:)`.
///
/// Each iterator requests all pages again.
public struct ExtractedRows: AsyncSequence, Sendable {
  /// The rows of one response.
  public typealias Element = ExtractedPage

  let manifest: Manifest
  let checkpoint: String?
  let services: Services

  /// Begins with the first page, or after the checkpoint.
  public func makeAsyncIterator() -> Iterator {
    Iterator(rows: self)
  }

  /// Reads the pages as they arrive.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let rows: ExtractedRows
    /// `nil` before the first page.
    fileprivate var store: Owned<RowStore>?

    /// The next page; `nil` after the last one.
    ///
    /// - Throws: ``ExtractFailure`` if pages are missing; `CancellationError` if the task is cancelled.
    public mutating func next() async throws -> ExtractedPage? {
      let store = try store ?? rows.run()
      self.store = store
      return try await store.value.next()
    }
  }
}

extension ExtractedRows {
  /// Runs the task of the extraction, until the rows are released.
  private func run() throws -> Owned<RowStore> {
    let store = try RowStore(manifest, checkpoint: checkpoint, services: services)
    let task = Task { await store.run(manifest, services) }
    return Owned(store) {
      $0.cancel()
      task.cancel()
    }
  }
}

/// Rows as they are, for a caller.
private struct OwnRows: TableRowFormat {
  func piece(_ row: TableRow) -> SinkPiece { .own(row) }
}

/// The one task of an extraction, whose rows a caller reads page by page instead of sinks and a journal: the run waits until
/// the page before was read.
private final class RowStore: TaskStore {
  let progress: RunProgress
  let numbers = [0]
  let plan: SinkPlan
  private let tables: [TableDefinition]
  private let stop = RunStop()
  private let state: Monitor<State>

  private struct State: Sendable {
    var item: TaskItem?
    /// The outcomes so far, with all parts of their cursor.
    var update: TaskUpdate?
    var page: ExtractedPage?
    var end: Result<Void, any Error>?
    /// Whether there is no reader any more.
    var isCancelled = false
  }

  init(_ manifest: Manifest, checkpoint: String?, services: Services) throws {
    progress = RunProgress(manifest, services, stop: stop)
    var plan = try SinkPlan(manifest)
    plan.formats = plan.formats.map { $0.map { SinkPlan.Use(format: OwnRows(), entry: $0.entry) } }
    self.plan = plan
    tables = manifest.operations[0].tables?.plan.tables ?? []
    var item = try manifest.extractionTask()
    if let checkpoint {
      // Pages of it may have failed.
      item.record = TaskUpdate(
        id: item.id, operation: 0, key: "", state: .failed, page: 1, cursor: checkpoint)
    }
    state = Monitor(State(item: item))
  }

  /// Requests everything.
  func run(_ manifest: Manifest, _ services: Services) async {
    let result: Result<Void, any Error>
    do {
      let engine = RunEngine(
        manifest, store: self, governor: Governor(manifest, services: services),
        services: services, stop: stop)
      let end = try await engine.run(RunControl(), beside: [])
      result = failure(end).map { .failure($0) } ?? .success(())
    } catch {
      result = .failure(error)
    }
    state.update { $0.end = result }
  }

  // MARK: The reader

  func next() async throws -> ExtractedPage? {
    try await state.take { state -> ExtractedPage?? in
      if let page = state.page.take() { return .some(page) }
      guard let end = state.end else { return nil }
      try end.get()
      return .some(nil)
    }
  }

  func cancel() { state.update { $0.isCancelled = true } }

  // MARK: The run

  func open() {}

  func claim() -> TaskClaim {
    state.withLock { $0.item.take() }.map { .task($0) } ?? .none
  }

  func giveBack(_ item: TaskItem) {}

  func commit(_ outcomes: [Outcome]) async throws {
    for outcome in outcomes {
      let checkpoint = state.withLock { state in
        if state.update?.add(outcome.update) == nil { state.update = outcome.update }
        return state.update?.cursor
      }
      let rows = (outcome.pieces ?? []).joined().compactMap { piece in
        if case .own(let row) = piece { extracted(row) } else { nil }
      }
      guard !rows.isEmpty || checkpoint != nil else { continue }
      try await state.take { state -> Void? in
        if state.isCancelled { throw CancellationError() }
        guard state.page == nil else { return nil }
        state.page = ExtractedPage(rows: rows, checkpoint: checkpoint)
        return ()
      }
    }
  }

  private func extracted(_ row: TableRow) -> ExtractedRow {
    let table = tables[row.table]
    var values = JSONObject()
    for (column, cell) in zip(table.columns, row.cells) { values[column.name] = cell ?? .null }
    return ExtractedRow(
      table: table.name, key: row.key, parent: row.parent, position: row.position, values: values)
  }

  func finish(_ end: RunEnd) {}

  func abandon() {}

  /// Why the rows are not complete; `nil` if they are.
  private func failure(_ end: RunEnd) -> ExtractFailure? {
    let tables = TablesSummary(tables.map(\.name), progress.counters)
    if let failure = ExtractFailure("rows", end, tables: tables) { return failure }
    guard let last = state.withLock({ $0.update }), last.isFinal, last.state != .done else {
      return nil
    }
    return ExtractFailure(message: last.error ?? "failed", stop: nil, tables: tables)
  }
}
