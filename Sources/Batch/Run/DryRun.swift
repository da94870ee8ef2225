import GQLRunCache
import GQLRunJSON
import GQLRunPipeline
import GQLRunPlugins

/// A preview of a run: task counts, costs and first requests, without sending any.
public struct DryRun: Sendable {
  /// The preview of one operation.
  public struct Entry: Sendable {
    /// The operation's id.
    public var operation: String
    /// The number of tasks; `nil` if the rows are known only during the run.
    public var tasks: Int?
    /// The bodies of the first requests, without secrets.
    public var requests: [String]
    /// The cost of the known tasks' first pages.
    public var cost = EstimatedCost()
    /// Whether a task may send further requests for more pages.
    public var hasPages = false
  }

  /// One entry per operation, in the manifest's order.
  public var entries: [Entry] = []
  /// The endpoint URL without credentials; `(none)` without one.
  public var endpoint: String
  /// The rows that cannot be turned into requests; at most 50 errors.
  public var problems: [String] = []
  /// The maximum number of requests per second; `nil` if the manifest sets none.
  public var rate: Double?
  /// Whether the server's rate limit counts GitHub's points.
  public var countsPoints: Bool

  /// The total cost of all known tasks.
  public var cost: EstimatedCost { entries.reduce(EstimatedCost()) { $0 + $1.cost } }

  /// The total number of tasks; `nil` if it is unknown for some operation.
  public var total: Int? {
    entries.reduce(0) { sum, entry in sum.flatMap { sum in entry.tasks.map { sum + $0 } } }
  }

  /// Reads all rows and creates the requests.
  ///
  /// - Parameters:
  ///   - manifest: The manifest to preview.
  ///   - shard: The shard whose tasks count; `nil` for all.
  ///   - shown: The number of requests per operation in ``Entry/requests``.
  /// - Throws: ``InputProblem`` if rows cannot be read, or an error of the state file or of the tables with a value of
  ///   `since`.
  public init(_ manifest: Manifest, shard: Shard? = nil, shown: Int = 2) throws {
    let manifest = try manifest.starting(from: manifest.sinceValues())
    endpoint = manifest.pipeline.endpoint?.shownURL ?? "(none)"
    rate = manifest.rate?.perSecond
    countsPoints = manifest.rate?.adapter == .github
    let hiding = SecretHiding(manifest.pipeline.secrets)
    let state = try StateFile.read(manifest.stateFile)
    for operation in manifest.operations {
      var entry = Entry(operation: operation.id, tasks: 0, requests: [])
      entry.hasPages = operation.pagination != nil || operation.tables != nil
      let tree = SelectionTree(operation.template)
      let isKnown = operation.needs.isEmpty && operation.source?.input.readsStandardInput != true
      if !isKnown { entry.tasks = operation.source == nil ? 1 : nil }
      var rows = TaskRows(TaskMaker(operation, state: state), RowContext(manifest: manifest))
      while isKnown, let item = try rows.next() {
        if let problem = item.problem {
          if problems.count < 50 { problems.append("`\(operation.id)`: \(problem)") }
          continue
        }
        if let shard, !item.id.belongs(to: shard) { continue }
        entry.tasks = entry.tasks.map { $0 + 1 }
        entry.cost = entry.cost + EstimatedCost(tree, item.variables)
        if entry.requests.count < shown {
          entry.requests.append(Self.request(operation, item: item, hiding: hiding))
        }
      }
      entries.append(entry)
    }
  }

  /// The body of a request, with known secrets and the values of secret-named variables redacted.
  private static func request(
    _ operation: BatchOperation, item: TaskItem, hiding: SecretHiding
  ) -> String {
    var body = JSONObject()
    body["query"] = .string(operation.template.document)
    var variables = JSONObject()
    for member in item.variables {
      variables[member.key] =
        SecretNames.isSecretField(member.key)
        ? .string(SecretString.redacted)
        : hiding.json(member.value)
    }
    if !variables.isEmpty { body["variables"] = .object(variables) }
    if let name = operation.template.name { body["operationName"] = .string(name) }
    return JSONValue.object(body).jsonText()
  }
}

/// The result of `batch check`: the validated rows of a manifest.
public struct RowReport: Sendable {
  /// The number of rows that were read.
  public var count: Int
  /// Whether `count` includes all rows; rows from standard input and rows that the run itself
  /// creates cannot be counted.
  public var isExact: Bool
  /// The errors; empty if the manifest can run.
  public var problems: [String]

  /// Reads all rows, and inspects the files of uploads and those that the outputs would overwrite.
  ///
  /// - Parameters:
  ///   - manifest: The manifest to check.
  ///   - overwrites: Whether files that are not earlier outputs of the manifest may be overwritten.
  /// - Throws: An error if the state file or the list of earlier outputs cannot be read.
  public init(_ manifest: Manifest, overwrites: Bool = false) async throws {
    let check = RowCheck(
      manifest, state: try StateFile.read(manifest.stateFile), checksFiles: true)
    _ = await check.advance(for: nil)
    count = await check.count
    isExact = await check.isExact
    problems = await check.problems
    guard problems.isEmpty, !overwrites else { return }
    let outputs = OutputCheck(manifest, try SinkPlan(manifest))
    problems += try outputs.foreignFiles(OutputLedger(manifest)).map(\.description)
  }
}
