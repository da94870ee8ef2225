import Crypto
import GQLRunCache
import GQLRunJSON
public import GQLRunLanguage
public import GQLRunPipeline
import GQLRunPlugins

/// A batch of operations: what runs, over which rows, through which pipeline, and where results go.
///
/// Read by ``ManifestLoader``; a plain value.
public struct Manifest: Sendable {
  public var name: String
  /// The file as the user named it.
  public var file: String
  /// The folder that outputs stay below.
  public var folder: String
  public var pipeline: Pipeline
  public var schema: Schema?
  public var settings = RunSettings()
  var rate: RateSettings?
  var sinks: [SinkSettings] = []
  public var report = ReportSettings()
  /// The file with the bookmarks of earlier runs.
  public var stateFile: String?
  var thresholds: [BatchCondition] = []
  var operations: [BatchOperation] = []
  /// The files that were read to load the manifest: itself, documents, schema, pipeline files.
  var inputs: [InputFile] = []
  /// Where the manifest names reports (`report.html`) and the state file (`state`).
  var outputPlaces: [String: SourcePlace] = [:]
  /// The members of the state file that the manifest reads or writes.
  var stateNames: Set<String> = []

  /// How many operations there are, each of which may have many tasks.
  public var operationCount: Int { operations.count }

  /// Whether the cache is a sink, so that what it keeps is as safe as the journal.
  var keepsInCache: Bool { sinks.contains { $0.kind == .cache } }
}

/// How a manifest is run.
public struct RunSettings: Sendable {
  public enum Order: String, Sendable {
    /// All tasks of an operation before those of the next one.
    case declared
    /// The tasks of all operations in turn.
    case interleaved
  }

  /// The most failures before the run stops.
  public enum FailureLimit: Sendable, Equatable {
    case count(Int)
    /// Of the tasks that ended, once a hundred have.
    case share(Double)
  }

  public var concurrency = 16
  public var order = Order.declared
  public var failureLimit: FailureLimit?
  /// From the start until no further task is begun.
  public var deadline: Duration?
  /// The folder of the journals.
  public var journalFolder = "runs"
  /// How long a server may refuse everything before the run stops.
  public var patience = Duration.seconds(300)
}

/// How fast requests may be sent.
struct RateSettings: Sendable {
  /// Requests per second; `nil` leaves it to the adapter.
  var perSecond: Double?
  var burst = 1
  /// Whose account of what is left is heeded.
  var adapter: RequestBudget.Kind?
  /// The share of the server's budget that is left to others.
  var reserve = 0.0
}

/// Where records or results are written.
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
  /// A template; `-` is standard output.
  var path: String
  /// The operations whose results it takes; empty for all.
  var operations: [String] = []
  /// Where the manifest names the path.
  var place: SourcePlace?

  func takes(_ operation: String) -> Bool { operations.isEmpty || operations.contains(operation) }
}

/// The reports of a run.
public struct ReportSettings: Sendable {
  public var junit: String?
  public var html: String?
  public var json: String?
}

/// One operation of a manifest.
struct BatchOperation: Sendable {
  let index: Int
  let id: String
  let place: SourcePlace
  let template: OperationTemplate
  /// What messages call the document: its file as the manifest names it, or the key `query`.
  var documentName: String?
  var source: InputSettings?
  var variables: [(name: String, value: ValueTemplate)] = []
  var key: TextTemplate?
  /// The indices of the operations that end before this one begins.
  var needs: [Int] = []
  var capture: [(name: String, path: ResultPath)] = []
  var emit: ResultPath?
  var pagination: Pagination?
  var bookmarks: [Bookmark] = []
  var expect: [BatchCondition] = []
  /// The variable that makes repeating a mutation safe.
  var idempotency: String?
  var timeout: Duration?
  var policy: CachePolicy?
  var snapshot: TextTemplate?
  /// The columns of the records, as the document selects them.
  var columns: [String] = []

  var isMutation: Bool { template.type == .mutation }
  /// Whether sending a request a second time does no harm.
  var mayRepeat: Bool { !isMutation || idempotency != nil }
  /// Whether the data must be looked into, beyond being handed on.
  var readsData: Bool {
    emit != nil || !capture.isEmpty || !bookmarks.isEmpty || pagination != nil || !expect.isEmpty
      || snapshot != nil
  }
}

/// Where the rows of an operation come from.
struct InputSettings: Sendable {
  enum Kind: Sendable {
    case csv(path: String?, delimiter: UInt8)
    case jsonl(path: String?)
    case sqlite(path: String, query: String)
    case inline([JSONObject])
    /// What the operation at this index captured, a row per task.
    case captured(Int)
  }

  var kind: Kind
  var rowName = "row"
  /// What an empty cell of a CSV file means.
  var empty = VariableReader.Empty.omit

  var readsStandardInput: Bool {
    switch kind {
    case .csv(nil, _), .jsonl(nil): true
    default: false
    }
  }
}

/// How further pages are asked for.
struct Pagination: Sendable {
  enum Style: Sendable {
    /// `pageInfo { hasNextPage endCursor }` at the path.
    case connection(ResultPath, cursor: String)
    /// A number that grows by the count of items at the path, until a page has none.
    case offset(variable: String, items: ResultPath)
  }

  struct PageSize: Sendable {
    var variable: String
    var start: Int
    var minimum = 1
    /// Whether a page that is too costly is asked for again at half its size.
    var halves = false
  }

  /// A connection inside a record that is completed through `node(id:)`.
  struct Nested: Sendable {
    /// Below the emitted record.
    var path: ResultPath
    /// The document that asks one object for its next page.
    var template: OperationTemplate
  }

  var style: Style
  var pageSize: PageSize?
  var maximumPages = 10_000
  var nested: [Nested] = []
}

/// A value of the records that the next run continues from.
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
