import GQLRunJSON
import GQLRunPipeline
import GRDB
import Testing

@testable import GQLRunBatch

/// A manifest of customers and their orders, which are lists without pages.
enum TableBench {
  static let schema = """
    type Query { customers(since: String): [Customer!]! }
    type Customer { id: ID! name: String active: Boolean score: Float tags: [String!] orders: [Order!]! }
    type Order { id: ID! total: Int due: Date }
    scalar Date
    """
  static let document = """
    query Shop($since: String) {
      customers(since: $since) { id name active score tags orders { id total due } }
    }
    """

  /// The indices of the tables.
  static let customers = 0
  static let orders = 1

  /// The manifest of an operation with a task for each key; without keys, it has one task.
  static func manifest(
    _ tables: String, keys: [String] = [], head: String = "", in location: Place
  ) throws -> Manifest {
    try location.write(schema, to: "schema.graphql")
    try location.write(document, to: "shop.graphql")
    let rows = keys.map { "{ key: \($0) }" }.joined(separator: ", ")
    return try Bench.load(
      """
      version: 1
      name: shop
      schema: schema.graphql
      \(head)
      operations:
        - id: shop
          document: shop.graphql
          \(keys.isEmpty ? "" : "foreach: { inline: [\(rows)], key: \"{{row.key}}\" }")
          variables: { \(keys.isEmpty ? "" : "since: \"{{row.key}}\"") }
          tables: { \(tables) }
      """, in: location)
  }

  static func customer(_ id: Int, of parent: String? = nil, name: String = "a") -> TableRow {
    TableRow(
      table: customers, key: "Customer:\(id)", parent: parent, position: id,
      cells: [
        .string("\(id)"), .string(name), .boolean(true), JSONNumber(1.5).map { .number($0) },
        .array([.string("x, y")]),
      ])
  }

  static func order(_ id: Int, of customer: Int, total: Int = 7) -> TableRow {
    TableRow(
      table: orders, key: "Order:\(id)", parent: "Customer:\(customer)", position: id,
      cells: [.string("\(id)"), .number(JSONNumber(total)), .string("2026-01-31")])
  }
}

/// A run whose outcomes a test gives.
struct TableRun {
  let manifest: Manifest
  let journal: Journal
  let plan: SinkPlan
  let store: JournalStore

  init(
    _ manifest: Manifest, journal path: String, _ options: RunOptions = RunOptions()
  ) async throws {
    self.manifest = manifest
    journal = try Journal(path: path)
    plan = try SinkPlan(manifest)
    store = try JournalStore(
      manifest, state: [:], journal: journal,
      stage: SinkStage(manifest, journal: journal, plan: plan, ledger: OutputLedger(manifest)),
      plan: plan, options: options, services: Services())
    try await store.open()
  }

  /// The next task.
  func claim() async throws -> TaskItem {
    guard case .task(let item) = try await store.claim() else {
      throw JournalError("there is no task")
    }
    return item
  }

  /// The outcome of a page of a task.
  func outcome(
    _ item: TaskItem, page: Int = 1, rows: [TableRow], _ state: TaskState = .running
  ) throws -> Outcome {
    var update = TaskUpdate(
      id: item.id, operation: store.numbers[item.operation], key: item.key, state: state)
    update.page = page
    update.records = rows.count
    update.cursor = "after \(page)"
    update.ended = store.progress.now()
    var outcome = Outcome(update: update, operation: item.operation)
    outcome.pieces = try plan.pieces(of: rows, operation: item.operation)
    return outcome
  }

  /// Commits the outcome of a page of a task.
  func commit(
    _ item: TaskItem, page: Int = 1, rows: [TableRow], _ state: TaskState = .running
  ) async throws {
    try await store.commit([outcome(item, page: page, rows: rows, state)])
  }

  /// Ends the process as a crash would, between two steps.
  func cut() async {
    await store.abandon()
    journal.close()
  }

  /// Ends the run.
  func finish() async throws {
    try await store.finish(RunEnd())
    journal.close()
  }

  /// The rows and repeated rows of the customers and of the orders.
  func counts() throws -> [TableSink.Counts] {
    try plan.tableCounts(journal, OutputPath(folder: manifest.folder))
  }
}

extension SinkPlan {
  /// The pieces of rows, by index of the table.
  func pieces(of rows: [TableRow], operation: Int) throws -> [[SinkPiece]] {
    var pieces: [[SinkPiece]] = formats[operation].map { _ in [] }
    for row in rows {
      let format = try #require(formats[operation][row.table].format as? any TableRowFormat)
      pieces[row.table].append(try format.piece(row))
    }
    return pieces
  }
}

extension Place {
  /// The values of the first column of a query over a SQLite database.
  func values(_ sql: String, in database: String) throws -> [String] {
    try DatabaseQueue.reading(file(database)) { try String.fetchAll($0, sql: sql) }
  }

  /// Executes statements on a SQLite database in one transaction, as another program does.
  func execute(_ sql: String, in database: String) throws {
    let queue = try DatabaseQueue(path: file(database))
    try queue.write { try $0.execute(sql: sql) }
    try queue.close()
  }
}
