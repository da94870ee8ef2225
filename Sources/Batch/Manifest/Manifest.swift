import Crypto
import GQLRunCache
import GQLRunJSON
public import GQLRunLanguage
public import GQLRunPipeline

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
  /// Whether the manifest names the pipeline. Otherwise it is the default one.
  public internal(set) var namesPipeline = false
  /// The schema that operations and rows are validated against; `nil` without `schema`.
  public var schema: Schema?
  /// The settings of `run`.
  public var settings = RunSettings()
  /// The PostgreSQL database that is the journal; `nil` if the journal is a folder.
  ///
  /// libpq's variables (`PGHOST`, …) and its password file give what the URL does not have.
  public var queueURL: String?
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
  var keepsInCache: Bool { sinks.contains { $0.sink is CacheSink } }
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
  /// The end of a subscription; `nil` for other operations.
  var until: UntilSettings?
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

  /// Validates paths into the data of the operation.
  func shape(_ schema: Schema?) -> PathShape {
    PathShape(template.callerDocument, template.definition, schema)
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

  struct Rule: Sendable {
    var fold: Fold
    var path: ResultPath
  }

  var name: String
  var rule: Rule

  var fold: Fold { rule.fold }
  var path: ResultPath { rule.path }
}
