import GQLRunCache
import GQLRunJSON
import GQLRunPipeline
import GQLRunSupport
import HTTPTypes

extension TaskRunner {
  /// Fills the tables of a task. Returns `false` if the run stops before all pages are requested.
  @inline(never)
  func fill(
    _ item: TaskItem, operation: BatchOperation, tables: TablesOutput, update: TaskUpdate,
    results: inout TaskResults
  ) async throws -> Bool {
    let requests = TableRequester(self, item: item, operation: operation, tables: tables)
    if tables.settings.bulk != nil {
      var task = BulkOperation(requests, update: update, results: results)
      defer { results = task.results }
      return try await task.run()
    }
    var task = TableTask(requests, update: update, results: results)
    defer { results = task.results }
    return try await task.run()
  }
}

/// A task of an operation with `tables`: requests the operation itself, then packs of further pages until none is left.
///
/// ```
/// first response ─▶ TableFrontier ─▶ TableRequester × packs in flight     child tasks: request, rows, pieces
///                     ▲    └───────────────────────────┬─▶ TaskResults    one response after another
///                     └─ end of a pack ────────────────┘
/// ```
///
/// The outcome of a response has its rows, and what has changed in the frontier. Both become durable together, so that a
/// resumed task requests what is not in the tables, and nothing twice.
struct TableTask {
  /// The number of failed connections after which a task requests no more: the journal has all of them.
  static let maxFailed = 1_000
  /// The number of requests for a first response with errors in it.
  private static let maxAttempts = 3

  private let requests: TableRequester
  private var frontier: TableFrontier
  private var update: TaskUpdate
  private(set) var results: TaskResults
  private var pages: PageCount
  /// Whether a request was not sent, because the run stops or the task is not its own any more.
  private var isStopped = false
  /// A row that the tables cannot have.
  private var problem: TaskProblem?

  private var runner: TaskRunner { requests.runner }
  private var progress: RunProgress { runner.feed.progress }
  private var secrets: KnownSecrets { requests.secrets }

  init(_ requests: TableRequester, update: TaskUpdate, results: TaskResults) {
    self.requests = requests
    self.update = update
    self.update.part = 0
    self.results = results
    let (plan, settings) = (requests.tables.plan, requests.tables.settings)
    frontier = TableFrontier(
      plan, pack: settings.pack, concurrency: requests.runner.manifest.settings.concurrency)
    pages = PageCount(plan, pack: settings.pack)
  }

  /// Requests until nothing is left. Returns `false` if the run stops before.
  mutating func run() async throws -> Bool {
    progress.change { $0.begin(requests.tables.plan) }
    defer { progress.change { $0.tables?.leastRequests += pages.least } }
    guard update.page > 0, let text = update.cursor else {
      if let hasEnded = try await begin() { return hasEnded }
      return try await goOn()
    }
    pages.isResumed = true
    do throws(TaskProblem) {
      frontier = try TableFrontier(
        requests.tables.plan, pack: requests.tables.settings.pack,
        concurrency: runner.manifest.settings.concurrency, resuming: text)
    } catch {
      return try await fail(error.message, cursor: text)
    }
    return try await goOn()
  }

  // MARK: Requests

  /// Requests the operation itself, with smaller pages while it costs too much. Returns `nil` if there are more pages,
  /// and otherwise whether the task has ended.
  private mutating func begin() async throws -> Bool? {
    var attempt = 1
    while true {
      let request: GraphQLRequest
      let expected: ExpectedCost?
      do throws(TaskProblem) {
        (request, expected) = try requests.first(sizes: frontier.firstSizes)
      } catch {
        return try await fail(error.message)
      }
      if let expected, runner.governor.isExcessive(expected), frontier.shrinkFirst() { continue }
      let sent = attempt > 1 ? runner.resent(request) : request
      guard let page = try await runner.send(sent, requests.operation, expecting: expected)
      else { return false }
      add(page)
      guard let response = page.response else {
        if case .tooCostly = page.kind, frontier.shrinkFirst() { continue }
        return try await fail(page.error.map { "\($0)" } ?? "no result")
      }
      let addition: TableRequester.Addition
      do {
        let (page, rows) = try requests.read(page, update: update)
        frontier.begin(page)
        addition = rows
      } catch let problem as TaskProblem {
        if FailureKind.isTooCostly(response.errors), frontier.shrinkFirst() { continue }
        // The server could not resolve a field; it refused the request if no error has a path.
        let mayRetry =
          attempt < Self.maxAttempts && response.errors.contains { $0.path != nil }
          && !requests.operation.judgesErrors && runner.stop.reason == nil
        if !mayRetry { return try await fail(problem.message) }
        attempt += 1
        continue
      }
      pages.hasFirst = true
      return try await submit(addition)
    }
  }

  /// Requests packs until nothing is left. Returns `false` if the run stops before.
  private mutating func goOn() async throws -> Bool {
    let executors = runner.runner.services.transport?.executors ?? []
    let limit = runner.tables
    let hasEnded = try await withThrowingTaskGroup(of: TableRequester.Answer.self) {
      group -> Bool? in
      var (inFlight, sent) = (0, 0)
      defer { limit.release(max(inFlight - 1, 0)) }
      while true {
        while mayRequest, inFlight == 0 || limit.take() {
          guard let pack = frontier.next() else {
            if inFlight > 0 { limit.release(1) }
            break
          }
          // Otherwise a child has the executor of its parent, and all responses are read on one thread.
          let executor = executors.isEmpty ? nil : executors[sent % executors.count]
          group.addTask(executorPreference: executor) { [requests] in
            try await requests.answer(pack)
          }
          inFlight += 1
          sent += 1
        }
        guard inFlight > 0, let answer = try await group.next() else { return nil }
        if let hasEnded = try await take(answer) {
          // Without the rows of an earlier task, those of requests in flight are not written.
          group.cancelAll()
          return hasEnded
        }
        inFlight -= 1
        if inFlight > 0 { limit.release(1) }
      }
    }
    if let hasEnded { return hasEnded }
    if let problem { return try await fail(problem.message, cursor: frontier.text) }
    if let refusal { return try await fail(refusal, cursor: frontier.text) }
    if isStopped || runner.stop.reason != nil || !results.isHeld { return false }
    conclude()
    return try await results.end(requests.outcome(update))
  }

  /// Why a table refused a row that was submitted; `nil` if none was.
  private var refusal: String? { runner.feed.store.refusal(of: requests.item) }

  private var mayRequest: Bool {
    !isStopped && problem == nil && refusal == nil && frontier.failed.count < Self.maxFailed
      && runner.stop.reason == nil
      && results.isHeld
  }

  /// Takes a response out of the frontier. Returns `nil` if the task continues, and otherwise whether it has ended.
  private mutating func take(_ answer: TableRequester.Answer) async throws -> Bool? {
    if let page = answer.page { add(page) }
    switch answer.content {
    case .stopped:
      frontier.giveBack(answer.pack, isTooCostly: false)
      isStopped = true
      return nil
    case .tooCostly:
      frontier.giveBack(answer.pack, isTooCostly: true)
      return nil
    case .refused(let found):
      frontier.giveBack(answer.pack, isTooCostly: false)
      problem = found
      return nil
    case .pages(let found, let addition):
      // The journal has the problems, too, with what is left.
      frontier.end(
        answer.pack, found.map { $0.mapError { TaskProblem(secrets.hide(in: $0.message)) } })
      pages.add(answer.pack, found)
      let hasPage = found.contains { if case .success = $0 { true } else { false } }
      // Failures alone change nothing that a resumed task would not find out.
      return hasPage || frontier.isEmpty ? try await submit(addition) : nil
    }
  }

  // MARK: Results

  /// Counts a request.
  private mutating func add(_ page: TaskRunner.Page) {
    update.add(page, at: progress.now())
    progress.change { $0.tables?.requests += page.response?.attempt ?? 1 }
  }

  /// Submits the rows of a response with the frontier after it. Returns `nil` if the task continues, and otherwise
  /// whether it has ended.
  private mutating func submit(_ addition: TableRequester.Addition) async throws -> Bool? {
    update.page += 1
    update.records += addition.pieces.reduce(0) { $0 + $1.count }
    let isLast = frontier.isEmpty
    if isLast {
      conclude()
    } else {
      update.state = .running
      update.error = nil
      let part = frontier.takePart()
      update.part = part.number
      update.cursor = part.text
    }
    requests.count(addition)
    if isLast { return try await results.end(requests.outcome(update, addition)) }
    return try await results.submit(requests.outcome(update, addition)) ? nil : false
  }

  /// Ends the task with an error, and with what `--only failed` continues at.
  private mutating func fail(_ message: String, cursor: String? = nil) async throws -> Bool {
    update.fail(message, at: progress.now())
    update.part = 0
    update.cursor = cursor
    return try await results.end(requests.outcome(update))
  }

  /// Sets the state of the task after its last response.
  private mutating func conclude() {
    update.ended = progress.now()
    update.error = incompleteness()
    update.state = .done
    update.part = 0
    update.cursor = nil
    guard let problem = update.error else { return }
    update.cursor = frontier.text
    if requests.tables.settings.allowPartial, frontier.isEmpty {
      requests.countPartial(problem)
    } else {
      update.state = .failed
    }
  }

  /// The pages that the tables lack, with the first reason; `nil` if they are complete.
  private func incompleteness() -> String? {
    let (failed, lacks) = (frontier.failed, frontier.lacks)
    var counts = lacks.mapValues(\.objects)
    for page in failed { counts[page.connection, default: 0] += 1 }
    guard !counts.isEmpty else {
      return frontier.isEmpty
        ? nil : CompletenessCheck.prefix + "pages are left, and none can be requested"
    }
    let connections = requests.tables.plan.connections
    func path(_ index: Int) -> String { connections[index].path }
    let all = Quantity.count(counts.values.reduce(0, +), "connection")
    let each = counts.sorted { $0.key < $1.key }.map { "\($0.value) of `\(path($0.key))`" }
      .joined(separator: ", ")
    let left = failed.reduce(lacks.values.reduce(0) { $0 + $1.elements }) {
      $0 + max(($1.total ?? 0) - $1.count, 0)
    }
    let known = left == 0 ? "" : ", at least \(Quantity.count(left, "row"))"
    let rest =
      frontier.isEmpty
      ? "" : "; the others were not requested, because more than \(Self.maxFailed - 1) failed"
    return CompletenessCheck.prefix
      + "pages are missing in \(all) (\(each))\(known); \(reason(path))\(rest)"
  }

  /// The reason of the first connection with missing pages.
  private func reason(_ path: (Int) -> String) -> String {
    if let first = frontier.failed.first {
      let owner = first.parent.map { " of \($0)" } ?? ""
      let rows = first.count > 0 ? " after \(Quantity.count(first.count, "row"))" : ""
      return "first `\(path(first.connection))`\(owner)\(rows): \(first.problem ?? "failed")"
    }
    guard let index = frontier.lacks.keys.min(),
      case .none(let reason) = requests.tables.plan.connections[index].holder
    else { return "failed" }
    return "`\(path(index))`: \(reason)"
  }
}

extension TaskUpdate {
  /// Ends the task with an error.
  mutating func fail(_ message: String, at time: Double) {
    state = .failed
    error = message
    ended = time
  }

  /// Adds a request that was answered or has failed.
  mutating func add(_ page: TaskRunner.Page, at time: Double) {
    attempts += page.response?.attempt ?? 1
    ended = time
    milliseconds += page.milliseconds
    http = page.response?.http?.status.code ?? (page.error as? ChainError)?.http?.status
    bytes += page.response?.timing.receivedBytes ?? 0
  }
}

/// Requests and reads the responses of one task, several at the same time.
///
/// A class, because it contains an operation, which is expensive to copy.
final class TableRequester: Sendable {
  /// What a response adds to the tables.
  struct Addition: Sendable {
    /// By index of the table.
    var pieces: [[SinkPiece]]
    /// The highest value of `since`.
    var bookmark: (name: String, fold: Bookmark.Fold, value: JSONValue)?
  }

  /// The response to a pack.
  struct Answer: Sendable {
    enum Content: Sendable {
      /// The run stops, and there is no response.
      case stopped
      case tooCostly
      /// The page of each continuation, and what all of them add to the tables.
      case pages([Result<TablePage, TaskProblem>], Addition)
      /// The tables cannot have a row.
      case refused(TaskProblem)
    }

    var pack: ContinuationPack
    /// Without data; `nil` if nothing was sent.
    var page: TaskRunner.Page?
    var content: Content
  }

  let runner: TaskRunner
  let item: TaskItem
  let operation: BatchOperation
  let tables: TablesOutput
  private let reader: TableReader
  private let documents: ContinuationDocuments
  private let formats: [any TableRowFormat]
  /// The values of the manifest's row, which are the last columns of the first level.
  private let rowCells: [JSONValue?]

  init(_ runner: TaskRunner, item: TaskItem, operation: BatchOperation, tables: TablesOutput) {
    self.runner = runner
    self.item = item
    self.operation = operation
    self.tables = tables
    (reader, documents) = runner.tables.parts(of: operation, tables.plan)
    rowCells = operation.columns.names.map { item.rowValues[$0] }
    formats = runner.plan.formats[item.operation].compactMap { $0.format as? any TableRowFormat }
    precondition(formats.count == tables.plan.tables.count, "a table has no output")
  }

  // MARK: The operation itself

  /// The first request of the task, and what it is expected to cost; `nil` if the server does not count costs.
  ///
  /// - Parameter sizes: The sizes of its pages, of ``TableFrontier/firstSizes``.
  func first(
    sizes: [Int: Int]
  ) throws(TaskProblem) -> (request: GraphQLRequest, expected: ExpectedCost?) {
    let first = try documents.first(sizes: sizes, variables: item.variables)
    let request = try runner.request(
      item, template: first.template, variables: first.variables)
    guard runner.governor.countsCosts else { return (request, nil) }
    let adapted = sizes.sorted { $0.key < $1.key }.map { " \($0.value)" }.joined()
    let cost = EstimatedCost(SelectionTree(first.template), first.variables)
    return (
      request, ExpectedCost(label: operation.id + adapted, group: operation.id, cost: cost)
    )
  }

  /// Reads the first response.
  ///
  /// - Throws: ``TaskProblem`` for a response that fails the task.
  func read(
    _ page: TaskRunner.Page, update: TaskUpdate
  ) throws -> (TablePage, Addition) {
    let data = try page.response?.data.map { try JSONValue(parsing: $0.bytes()) } ?? .null
    // A condition about errors accepts those that concern the whole response.
    let errors = (page.response?.errors ?? []).filter {
      $0.path != nil || !operation.judgesErrors
    }
    let found = Result { () throws(TaskProblem) in
      try reader.read(data, errors: errors, rowKey: rowKey)
    }
    let rows = try? found.get().rows
    if let unmet = try runner.unmet(
      operation, page: page, data: page.response?.data, update: update, records: rows?.count ?? 0)
    {
      throw TaskProblem(unmet)
    }
    let tablePage = try found.get()
    return (tablePage, try addition(of: [tablePage]))
  }

  // MARK: Packs

  /// Requests a pack, and reads the response.
  func answer(_ pack: ContinuationPack) async throws -> Answer {
    let request: GraphQLRequest
    let expected: ExpectedCost?
    do throws(TaskProblem) {
      let next = try documents.request(pack, variables: item.variables)
      request = try runner.request(item, template: next.template, variables: next.variables)
      expected = cost(of: pack, next.template, next.variables)
    } catch {
      return Answer(pack: pack, content: failure(error, of: pack))
    }
    if let expected, mayShrink(pack), runner.governor.isExcessive(expected) {
      return Answer(pack: pack, content: .tooCostly)
    }
    guard var page = try await runner.send(request, operation, expecting: expected) else {
      return Answer(pack: pack, content: .stopped)
    }
    let content = try content(of: page, pack: pack)
    page.response?.data = nil
    return Answer(pack: pack, page: page, content: content)
  }

  private func content(
    of page: TaskRunner.Page, pack: ContinuationPack
  ) throws -> Answer.Content {
    guard let response = page.response else {
      let problem = TaskProblem(page.error.map { "\($0)" } ?? "no result")
      if page.kind.isTooCostly, mayShrink(pack) { return .tooCostly }
      return failure(problem, of: pack)
    }
    // An error with a path is that of one connection, unless it left nothing.
    let isWhole = (response.data?.count ?? 0) <= 4
    if mayShrink(pack),
      FailureKind.isTooCostly(response.errors.filter { isWhole || $0.path == nil })
    {
      return .tooCostly
    }
    let data = try response.data.map { try JSONValue(parsing: $0.bytes()) } ?? .null
    // As for the first response.
    let errors = response.errors.filter { isWhole || $0.path != nil || !operation.judgesErrors }
    let found = reader.read(data, errors: errors, pack: pack)
    // The error of a single page has a path, too.
    if pack.continuations.count == 1, mayShrink(pack), case .failure? = found.first,
      FailureKind.isTooCostly(errors)
    {
      return .tooCostly
    }
    do throws(TaskProblem) {
      return .pages(found, try addition(of: found.compactMap { try? $0.get() }))
    } catch {
      return .refused(error)
    }
  }

  private func failure(_ problem: TaskProblem, of pack: ContinuationPack) -> Answer.Content {
    .pages(
      pack.continuations.map { _ in .failure(problem) }, Addition(pieces: formats.map { _ in [] }))
  }

  /// Whether the pack can be requested in smaller parts.
  private func mayShrink(_ pack: ContinuationPack) -> Bool {
    if pack.continuations.count > 1 { return true }
    let connection = tables.plan.connections[pack.connection]
    guard connection.sizeArgument != nil else { return false }
    return (pack.pageSize ?? connection.pageSize).map { $0 > 1 } ?? true
  }

  // MARK: Rows

  /// The rows of a part of a connection that is no page: lines of a bulk operation.
  ///
  /// - Parameters:
  ///   - value: The connection.
  ///   - index: The index of the connection.
  ///   - parent: The `_key` of the row that has it; `nil` at the first level.
  ///   - position: The position of the first row.
  func rows(
    _ value: JSONObject, of index: Int, parent: String?, position: Int
  ) throws(TaskProblem) -> [TableRow] {
    let isFirst = tables.plan.tables[tables.plan.connections[index].table].parent == nil
    return try reader.read(
      value, of: index, parent: isFirst ? rowKey : parent, position: position)
  }

  /// The key of the manifest's row, which is the `_parent` of the first level; `nil` without rows.
  private var rowKey: String? { operation.source == nil ? nil : item.key }

  var secrets: KnownSecrets { runner.runner.services.secrets }

  /// The outcome of a change of the task, with the rows of a response.
  func outcome(_ update: TaskUpdate, _ addition: Addition? = nil) -> Outcome {
    var outcome = Outcome(update: update, operation: item.operation)
    outcome.update.error = update.error.map { secrets.hide(in: $0) }
    outcome.pieces = addition?.pieces
    outcome.bookmarks = [addition?.bookmark].compactMap { $0 }
    return outcome
  }

  /// Counts the task as one that lacks pages, as `allow_partial` accepts.
  func countPartial(_ problem: String) {
    let task = item.key.isEmpty ? operation.id : item.key
    runner.feed.progress.change { $0.tables?.addPartial(task: task, problem) }
  }

  /// Counts rows that are submitted.
  func count(_ addition: Addition) {
    let names = tables.plan.tables.map(\.name)
    runner.feed.progress.change { counters in
      for (name, pieces) in zip(names, addition.pieces) where !pieces.isEmpty {
        counters.tables?.rows[name, default: 0] += pieces.count
      }
    }
  }

  /// What pages add to the tables.
  func addition(of pages: [TablePage]) throws(TaskProblem) -> Addition {
    var addition = Addition(pieces: formats.map { _ in [] })
    for page in pages {
      for var row in page.rows {
        if !rowCells.isEmpty, tables.plan.tables[row.table].parent == nil {
          row.cells.replaceSubrange((row.cells.count - rowCells.count)..., with: rowCells)
        }
        addition.pieces[row.table].append(try formats[row.table].piece(row))
      }
    }
    addition.bookmark = tables.since?.bookmark(of: pages.flatMap(\.rows))
    return addition
  }

  // MARK: Documents and costs

  private func cost(
    of pack: ContinuationPack, _ template: OperationTemplate, _ variables: JSONObject
  ) -> ExpectedCost? {
    guard runner.governor.countsCosts else { return nil }
    let group = "\(operation.id) \(tables.plan.connections[pack.connection].path)"
    let size = pack.pageSize.map { "\($0)" } ?? ""
    return ExpectedCost(
      label: "\(group) \(pack.continuations.count) \(size)", group: group,
      cost: EstimatedCost(SelectionTree(template), variables))
  }
}

/// What the tasks with tables of one run share: what is made of a plan, and how many packs are in memory.
///
/// Each task may have one pack in flight, and all together as many more as requests may be in flight, so that memory
/// does not depend on the number of tasks.
final class TableLimits: Sendable {
  /// What is made of the plan of an operation.
  typealias Parts = (reader: TableReader, documents: ContinuationDocuments)

  private struct State {
    var free: Int
    /// By index of the operation.
    var parts: [Int: Parts] = [:]
  }

  private let state: Locked<State>

  init(concurrency: Int) { state = Locked(State(free: concurrency - 1)) }

  /// The reader of the responses of an operation, and the documents that it requests.
  func parts(of operation: BatchOperation, _ plan: TablePlan) -> Parts {
    state.withLock { state in
      if let known = state.parts[operation.index] { return known }
      let parts = (TableReader(plan: plan), ContinuationDocuments(plan))
      state.parts[operation.index] = parts
      return parts
    }
  }

  /// Takes the right to one more pack; `false` if there is none.
  func take() -> Bool {
    state.withLock { state in
      guard state.free > 0 else { return false }
      state.free -= 1
      return true
    }
  }

  func release(_ count: Int) { state.withLock { $0.free += count } }
}

/// Counts the pages after the first response, for the least number of requests that they need.
private struct PageCount {
  /// Whether this run has the first response.
  var hasFirst = false
  /// Whether an earlier run has requested pages of the same connections.
  var isResumed = false
  /// By index of the connection: the number of pages, and the largest number of one object, whose pages cannot be in
  /// one request.
  private var pages: [(count: Int, longest: Int)]
  /// The number of pages that may be in one request.
  private let packs: [Int]

  init(_ plan: TablePlan, pack: Int) {
    pages = plan.connections.map { _ in (0, 0) }
    packs = plan.connections.map { if case .path = $0.holder { 1 } else { pack } }
  }

  mutating func add(_ pack: ContinuationPack, _ found: [Result<TablePage, TaskProblem>]) {
    for (continuation, result) in zip(pack.continuations, found) {
      guard case .success = result else { continue }
      pages[continuation.connection].count += 1
      let length = isResumed ? 1 : max(continuation.pages, 1)
      pages[continuation.connection].longest = max(
        pages[continuation.connection].longest, length)
    }
  }

  var least: Int {
    zip(pages, packs).reduce(hasFirst ? 1 : 0) { sum, connection in
      let (pages, pack) = connection
      return sum + max((pages.count + pack - 1) / pack, pages.longest)
    }
  }
}
