import Foundation
import GQLRunCache
import GQLRunJSON
import GQLRunPipeline
import GQLRunPlugins

/// What a run would do, without doing it.
public struct DryRun: Sendable {
  /// One operation of the manifest.
  public struct Entry: Sendable {
    public var operation: String
    /// `nil` when only the run can tell.
    public var tasks: Int?
    /// The first requests, without credentials.
    public var requests: [String]
    /// Of the tasks that are known.
    public var cost = EstimatedCost()
    /// Whether further requests follow the first of each task.
    public var hasPages = false
  }

  public var entries: [Entry] = []
  public var endpoint: String
  public var problems: [String] = []
  /// Requests per second at most, when the manifest says.
  public var rate: Double?
  /// Whether the server counts as GitHub does.
  public var countsPoints: Bool

  public var cost: EstimatedCost { entries.reduce(EstimatedCost()) { $0 + $1.cost } }

  public var total: Int? {
    entries.reduce(0) { sum, entry in sum.flatMap { sum in entry.tasks.map { sum + $0 } } }
  }

  /// Reads every row.
  ///
  /// - Parameters:
  ///   - manifest: The manifest to check.
  ///   - shard: The shard whose rows are counted; `nil` for all.
  ///   - shown: The number of requests of each operation that are shown.
  public init(_ manifest: Manifest, shard: Shard? = nil, shown: Int = 2) throws {
    endpoint = manifest.pipeline.endpoint?.shownURL ?? "(none)"
    rate = manifest.rate?.perSecond
    countsPoints = manifest.rate?.adapter == .github
    let hiding = SecretHiding(manifest.pipeline.secrets)
    let state = try StateFile.read(manifest.stateFile)
    for operation in manifest.operations {
      let maker = TaskMaker(operation, state: state)
      var entry = Entry(operation: operation.id, tasks: 0, requests: [])
      entry.hasPages = operation.pagination != nil
      let tree = SelectionTree(operation.template.callerDocument, operation.template.definition)
      func take(_ row: Row?) throws {
        let item = try maker.item(row) { _ in [:] }
        if let problem = item.problem {
          if problems.count < 50 { problems.append("`\(operation.id)`: \(problem)") }
          return
        }
        if let shard, !item.id.belongs(to: shard) { return }
        entry.tasks = entry.tasks.map { $0 + 1 }
        entry.cost = entry.cost + EstimatedCost(tree, item.variables)
        if entry.requests.count < shown {
          entry.requests.append(Self.request(operation, item, hiding))
        }
      }
      if operation.needs.isEmpty || operation.source == nil {
        if let settings = operation.source {
          if settings.readsStandardInput {
            entry.tasks = nil
          } else {
            let rows = try TaskFeed.source(settings, manifest, nil, [])
            while let row = try rows?.next() { try take(row) }
          }
        } else if operation.needs.isEmpty {
          try take(nil)
        } else {
          entry.tasks = 1
        }
      } else {
        entry.tasks = nil
      }
      entries.append(entry)
    }
  }

  /// The body that would be sent, without the values of variables whose names say that they are secret and
  /// without known secrets.
  private static func request(
    _ operation: BatchOperation, _ item: TaskItem, _ hiding: SecretHiding
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

/// What `batch check` finds in the rows of a manifest.
public struct RowReport: Sendable {
  public var count: Int
  /// Whether `count` is that of all rows: standard input and what the run itself makes cannot be read.
  public var isExact: Bool
  public var problems: [String]

  /// Reads every row there is, and looks at the files that the outputs would replace.
  ///
  /// - Parameter overwrites: Accepts files that are not earlier outputs of the manifest.
  public init(_ manifest: Manifest, overwrites: Bool = false) async throws {
    let check = RowCheck(manifest, state: try StateFile.read(manifest.stateFile))
    _ = await check.advance(for: nil)
    count = await check.count
    isExact = await check.isExact
    problems = await check.problems
    do throws(TaskProblem) {
      _ = try SinkPlan(manifest)
    } catch {
      problems.append(error.message)
    }
    guard problems.isEmpty, !overwrites else { return }
    let outputs = OutputCheck(manifest, try SinkPlan(manifest))
    problems += try outputs.foreignFiles(OutputLedger(manifest)).map(\.description)
  }
}
