import GQLRunPipeline

/// The tables of one operation, and where their rows go.
///
/// `SinkPlan.formats` of the operation has one use for each table of the plan, in its order; the format of each is a
/// ``TableRowFormat``.
///
/// A class, because every task copies its operation, and the coroutine frames of a task would hold the plan.
final class TablesOutput: Sendable {
  let settings: TablesSettings
  let plan: TablePlan
  /// Where the rows go, with the resolved path.
  let target: TablesTarget
  /// The value that the next run starts from; `nil` without `since`.
  let since: TableSince?

  init(settings: TablesSettings, plan: TablePlan, target: TablesTarget, since: TableSince?) {
    self.settings = settings
    self.plan = plan
    self.target = target
    self.since = since
  }
}

/// The `tables` section of an operation: every page of every connection of its document, as tables.
struct TablesSettings: OptionSection {
  @Option(
    "Where the tables are: `sqlite:FILE`, `postgres` for the database of the queue, or a folder of files"
  )
  var to: Located<String>
  @Option("Format of the files in a folder") var format: TableTarget.FileFormat?
  @Option("Names of tables, instead of those by response keys")
  var `as` = OptionMap<Located<String>>()
  @Option("Tables whose objects may be in the lists of several parents; a row for each of them")
  var shared: [Located<String>] = []
  @Option(1...1_000, "Maximum number of connections whose next pages are one request")
  var pack = 20
  @Option("Requests only what has changed since the last complete run") var since: SinceSettings?
  @Option("Accepts tables that lack pages which the server refused") var allowPartial = false
  @Option("Reads the tables through a bulk operation: `shopify`") var bulk: Bulk?

  enum Bulk: String, CaseIterable, ExpressibleByOption {
    case shopify
  }
}

/// The `since` section of `tables`.
struct SinceSettings: OptionSection {
  @Option("Field of the first level whose highest value is kept, such as `updatedAt`")
  var path: ResultPath
  @Option("Variable that takes the value in the next run") var variable: String
}
