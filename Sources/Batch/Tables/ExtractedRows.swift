public import GQLRunJSON
import GQLRunPipeline
import GQLRunPlugins
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
    Iterator(reading: RowStream(manifest, checkpoint: checkpoint, services: services))
  }

  /// Reads the pages as they arrive.
  public struct Iterator: AsyncIteratorProtocol {
    private let stream: RowStream

    fileprivate init(reading stream: RowStream) { self.stream = stream }

    /// The next page; `nil` after the last one.
    ///
    /// - Throws: ``ExtractFailure`` if pages are missing; `CancellationError` if the task is cancelled.
    public mutating func next() async throws -> ExtractedPage? { try await stream.next() }
  }
}

/// Runs the task of an extraction, whose rows a caller reads. Ends the run when it is released.
private final class RowStream: Sendable {
  private let channel = RowChannel()
  private let manifest: Manifest
  private let checkpoint: String?
  private let services: Services
  private let task = Locked<Task<Void, Never>?>(nil)

  init(_ manifest: Manifest, checkpoint: String?, services: Services) {
    self.manifest = manifest
    self.checkpoint = checkpoint
    self.services = services
  }

  deinit {
    channel.cancel()
    task.withLock { $0 }?.cancel()
  }

  func next() async throws -> ExtractedPage? {
    task.withLock { task in
      guard task == nil else { return }
      task = Task { [channel, manifest, checkpoint, services] in
        await Self.run(manifest, checkpoint: checkpoint, services: services, channel: channel)
      }
    }
    return try await channel.next()
  }

  private static func run(
    _ manifest: Manifest, checkpoint: String?, services: Services, channel: RowChannel
  ) async {
    do {
      let stop = RunStop()
      let store = try RowStore(
        manifest, checkpoint: checkpoint, services: services, channel: channel, stop: stop)
      let engine = RunEngine(
        manifest, store: store,
        governor: Governor(
          manifest.settings, limits: manifest.rate, learns: manifest.learnsLimits,
          format: manifest.limitFormat, endpoint: manifest.pipeline.endpoint, services: services),
        services: services, stop: stop)
      let end = try await engine.run(RunControl(), beside: [])
      channel.end(store.failure(end).map { .failure($0) } ?? .success(()))
    } catch {
      channel.end(.failure(error))
    }
  }
}

/// Passes pages to a reader, one at a time: the writer waits until the one before was read.
private final class RowChannel: Sendable {
  private struct State: Sendable {
    var page: ExtractedPage?
    var end: Result<Void, any Error>?
    var isCancelled = false
  }

  private let state = Monitor(State())

  /// Suspends until the reader has taken the page before.
  ///
  /// - Throws: `CancellationError` if there is no reader any more.
  func send(_ page: ExtractedPage) async throws {
    try await state.take { state -> Void? in
      if state.isCancelled { throw CancellationError() }
      guard state.page == nil else { return nil }
      state.page = page
      return ()
    }
  }

  func end(_ result: Result<Void, any Error>) {
    state.update { $0.end = $0.end ?? result }
  }

  func cancel() {
    state.update { $0.isCancelled = true }
  }

  func next() async throws -> ExtractedPage? {
    try await state.take { state -> ExtractedPage?? in
      if let page = state.page.take() { return .some(page) }
      guard let end = state.end else { return nil }
      try end.get()
      return .some(nil)
    }
  }
}

/// Rows as they are, for a caller.
private struct OwnRows: TableRowFormat {
  func piece(_ row: TableRow) -> SinkPiece { .own(row) }
}

/// The one task of an extraction, whose outcomes a caller reads instead of sinks and a journal.
private final class RowStore: TaskStore {
  let progress: RunProgress
  let numbers = [0]
  let plan: SinkPlan
  private let tables: [TableDefinition]
  private let channel: RowChannel
  private let state: Locked<State>

  private struct State {
    var item: TaskItem?
    var problem: String?
  }

  init(
    _ manifest: Manifest, checkpoint: String?, services: Services, channel: RowChannel,
    stop: RunStop
  ) throws {
    progress = RunProgress(manifest, services, stop: stop)
    var plan = try SinkPlan(manifest)
    plan.formats = plan.formats.map { $0.map { SinkPlan.Use(format: OwnRows(), entry: $0.entry) } }
    self.plan = plan
    tables = manifest.operations.first?.tables?.plan.tables ?? []
    self.channel = channel
    var item: TaskItem?
    if let operation = manifest.operations.first {
      item = try TaskMaker(operation, state: [:]).item(nil) { _ in [:] }
    }
    if let checkpoint, let id = item?.id {
      var record = TaskUpdate(id: id, operation: 0, key: "", state: .running)
      record.page = 1
      record.cursor = checkpoint
      item?.record = record
    }
    state = Locked(State(item: item))
  }

  func open() {}

  func claim() -> TaskClaim {
    state.withLock { $0.item.take() }.map { .task($0) } ?? .none
  }

  func giveBack(_ item: TaskItem) {}

  func commit(_ outcomes: [Outcome]) async throws {
    for outcome in outcomes {
      let update = outcome.update
      if update.isFinal, update.state != .done {
        state.withLock { $0.problem = update.error ?? "failed" }
      }
      let rows = (outcome.pieces ?? []).joined().compactMap { piece in
        if case .own(let row) = piece { extracted(row) } else { nil }
      }
      guard !rows.isEmpty || update.cursor != nil else { continue }
      try await channel.send(ExtractedPage(rows: rows, checkpoint: update.cursor))
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
  func failure(_ end: RunEnd) -> ExtractFailure? {
    let tables = TablesSummary(tables.map(\.name), progress.counters)
    if let stop = end.reason {
      let detail = end.detail.map { ": \($0)" } ?? ""
      return ExtractFailure(
        message: "the rows are not complete: \(stop.text)\(detail)", stop: stop, tables: tables)
    }
    return state.withLock { $0.problem }.map {
      ExtractFailure(message: $0, stop: nil, tables: tables)
    }
  }
}
