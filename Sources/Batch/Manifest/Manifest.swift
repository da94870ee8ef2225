import Crypto
import GQLRunCache
import GQLRunJSON
public import GQLRunLanguage
public import GQLRunPipeline
import GQLRunPlugins

/// A loaded batch manifest: operations, their rows, the pipeline and the sinks of results.
///
/// ``ManifestLoader`` creates it.
public struct Manifest: Sendable {
  /// The name of the batch; by default the manifest's file name up to the first dot.
  public var name: String
  /// The manifest's path as the user gave it; `stdin` for standard input.
  public var file: String
  /// The manifest's folder; all outputs are in it or below it.
  public var folder: String
  /// The pipeline that every request runs through.
  public var pipeline: Pipeline
  /// The schema that operations and rows are validated against; `nil` without `schema`.
  public var schema: Schema?
  /// The settings of `run`.
  public var settings = RunSettings()
  var rate: RateSettings?
  var sinks: [SinkSettings] = []
  /// The report files to write.
  public var report = ReportSettings()
  /// The state file, which carries bookmarks from run to run; `nil` without `state`.
  public var stateFile: String?
  var thresholds: [BatchCondition] = []
  var operations: [BatchOperation] = []
  /// The files that were read to load the manifest: itself, documents, schema, pipeline files.
  var inputs: [InputFile] = []
  /// The source locations of the report paths (`report.html`), the journal folder (`journal`) and
  /// the state file (`state`).
  var outputLocations: [String: FileLocation] = [:]
  /// The members of the state file that the manifest reads or writes.
  var stateNames: Set<String> = []

  /// The number of operations; each may have many tasks.
  public var operationCount: Int { operations.count }

  /// Whether the cache is a sink; its writes must then be as durable as the journal.
  var keepsInCache: Bool { sinks.contains { $0.kind == .cache } }
}

/// The `run` section of a manifest.
public struct RunSettings: Sendable {
  /// The order in which tasks of different operations start.
  public enum Order: String, Sendable {
    /// All tasks of an operation start before those of the next one.
    case declared
    /// The operations take turns.
    case interleaved
    /// As ``declared``, and the results are written in the order in which the tasks started: within
    /// an operation, in the order of its rows.
    case output
  }

  /// The limit of failures; the run stops when it is exceeded.
  public enum FailureLimit: Sendable, Equatable {
    /// The number of failed tasks.
    case count(Int)
    /// The share of failed tasks among the finished ones, from 0 to 1; checked once 100 tasks have
    /// finished.
    case share(Double)
  }

  /// The maximum number of tasks in flight; 16 by default.
  public var concurrency = 16
  /// The order in which tasks start; operation by operation by default.
  public var order = Order.declared
  /// The limit of failures; `nil`, the default, for none.
  public var failureLimit: FailureLimit?
  /// The time after the start of the run at which it stops starting tasks; `nil`, the default, for
  /// none.
  public var deadline: Duration?
  /// The folder of the journals; `runs` in the manifest's folder by default.
  public var journalFolder = "runs"
  /// How long the run continues while the server refuses every request; 5 minutes by default.
  public var patience = Duration.seconds(300)
}

/// The `rate_limit` section of a manifest.
struct RateSettings: Sendable {
  /// Requests per second; `nil` if only the server's budget limits the rate.
  var perSecond: Double?
  var burst = 1
  /// The format in which the server reports its remaining budget; `nil` to ignore reports.
  var adapter: RequestBudget.Kind?
  /// The share of the server's budget that is left to other clients, from 0 to 1.
  var reserve = 0.0
}

/// One entry of `sinks`: a destination of records or results.
struct SinkSettings: Sendable {
  enum Kind: Sendable, Equatable {
    case ndjson(isCompressed: Bool, lines: Lines)
    case csv(columns: [String])
    case json
    case sqlite(table: String, key: [String])
    case cache
  }

  enum Lines: String, Sendable {
    case auto, results, records
  }

  var kind: Kind
  /// The path, a template; `-` is standard output.
  var path: String
  /// The operations whose results the sink receives; empty for all.
  var operations: [String] = []
  /// The source location of the path.
  var location: FileLocation?

  func takes(_ operation: String) -> Bool { operations.isEmpty || operations.contains(operation) }
}

/// The report files of a run; `nil` for a report that is not written.
public struct ReportSettings: Sendable {
  /// The path of the JUnit XML report.
  public var junit: String?
  /// The path of the HTML report.
  public var html: String?
  /// The path of the JSON report.
  public var json: String?
}

/// One operation of a manifest.
struct BatchOperation: Sendable {
  let index: Int
  let id: String
  let location: FileLocation
  let template: OperationTemplate
  /// The name of the document in messages: its file as the manifest gives it, or the key `query`.
  var documentName: String?
  var source: InputSettings?
  var variables: [(name: String, value: ValueTemplate)] = []
  var key: TextTemplate?
  /// The indices of the operations that must finish before this one starts.
  var needs: [Int] = []
  var capture: [(name: String, path: ResultPath)] = []
  var emit: ResultPath?
  var pagination: Pagination?
  var bookmarks: [Bookmark] = []
  var expect: [BatchCondition] = []
  /// The variable that makes a mutation safe to repeat.
  var idempotency: String?
  var timeout: Duration?
  var policy: CachePolicy?
  var snapshot: TextTemplate?
  /// The columns of the records: the response keys in the document's order.
  var columns: [String] = []

  var isMutation: Bool { template.type == .mutation }
  /// Whether a request is safe to repeat.
  var mayRepeat: Bool { !isMutation || idempotency != nil }
  /// Whether the run reads the data itself, beyond writing it to sinks.
  var readsData: Bool {
    emit != nil || !capture.isEmpty || !bookmarks.isEmpty || pagination != nil || !expect.isEmpty
      || snapshot != nil
  }
}

/// The source of an operation's rows: the `foreach` section.
struct InputSettings: Sendable {
  enum Kind: Sendable {
    case csv(path: String?, delimiter: UInt8)
    case jsonl(path: String?)
    case sqlite(path: String, query: String)
    case inline([JSONObject])
    /// The values that the operation at this index captured, one row per task.
    case captured(Int)
  }

  var kind: Kind
  var rowName = "row"
  /// The meaning of an empty cell of a CSV file.
  var empty = VariableReader.Empty.omit

  var readsStandardInput: Bool {
    switch kind {
    case .csv(nil, _), .jsonl(nil): true
    default: false
    }
  }
}

/// How an operation requests further pages.
struct Pagination: Sendable {
  enum Style: Sendable {
    /// A Relay connection at the path, with `pageInfo { hasNextPage endCursor }`.
    case connection(ResultPath, cursor: String)
    /// A number that grows by the count of items at the path, until a page has no items.
    case offset(variable: String, items: ResultPath)
  }

  struct PageSize: Sendable {
    var variable: String
    var start: Int
    var minimum = 1
    /// Whether a page that costs too much is requested again at half its size.
    var halves = false
  }

  /// A connection inside a record, completed through `node(id:)`.
  struct Nested: Sendable {
    /// The path of the connection in the emitted record.
    var path: ResultPath
    /// The document that requests the next page of the connection.
    var template: OperationTemplate
  }

  var style: Style
  var pageSize: PageSize?
  var maximumPages = 10_000
  var nested: [Nested] = []
}

/// A value of the records that the next run starts from, such as `max(updatedAt)`.
struct Bookmark: Sendable {
  enum Fold: String, Sendable, CaseIterable {
    case max, min, last
  }

  var name: String
  var fold: Fold
  var path: ResultPath

  init?(name: String, _ text: String) {
    guard let open = text.firstIndex(of: "("), text.last == ")",
      let fold = Fold(rawValue: String(text[..<open])),
      let path = ResultPath(String(text[text.index(after: open)...].dropLast()))
    else { return nil }
    self.name = name
    self.fold = fold
    self.path = path
  }
}
