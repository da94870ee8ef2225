import GQLRunCache
import GQLRunJSON
public import GQLRunLanguage
public import GQLRunPipeline
import GQLRunSupport

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
  /// The schema that operations and rows are validated against: that of the manifest, or else that of its pipeline.
  /// `nil` if neither names one.
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
  /// The members of the state file that templates read.
  var stateNames: Set<String> = []
  /// Whether the manifest is in memory only: that of ``Extraction``.
  var isMade = false

  /// The path as a word of the commands in messages.
  var shellPath: String { QuotedText.shellPath(file) }

  /// How another run is begun in a queue, for messages.
  var beginning: String {
    isMade ? "the same command without --resume" : "`gqlrun batch init \(shellPath) --new`"
  }

  /// The names of the tables that operations with `tables` fill, each after its parent.
  public var tableNames: [String] {
    operations.flatMap { $0.tables?.plan.tables.map(\.name) ?? [] }
  }

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
  /// The tables that the operation fills, instead of sinks; `nil` without `tables`.
  var tables: TablesOutput?
  /// Finds pages that a task would leave out; `nil` for `paginate: none`, subscriptions, and documents without connections.
  var completeness: CompletenessCheck?
  var bookmarks: [(name: String, value: Bookmark)] = []
  var expect = Expectations()
  /// The variable that makes a mutation safe to repeat.
  var idempotency: String?
  /// The end of a subscription; `nil` for other operations.
  var until: UntilSettings?
  var timeout: Duration?
  var policy: CachePolicy?
  var snapshot: TextTemplate?
  /// The columns of the records: those of the manifest, or the response keys in the document's order.
  var columns = RecordColumns(paths: [])

  var isMutation: Bool { template.type == .mutation }
  /// Whether a request is safe to repeat.
  var mayRepeat: Bool { !isMutation || idempotency != nil }
  /// Whether the conditions decide if a response with errors is a failure.
  var judgesErrors: Bool { expect.judgeErrors }

  /// The variables that pagination sets, with their values for the first page. A default of the document is the first
  /// offset.
  var firstPage: [(name: String, value: JSONValue)] {
    var values: [(name: String, value: JSONValue)] = []
    if let size = pagination?.pageSize {
      values.append((size.variable, .number(JSONNumber(size.start))))
    }
    if case .offset(let variable, _)? = pagination?.style,
      !template.definition.variables.contains(where: {
        if case .null? = $0.defaultValue { return false }
        return $0.name.value == variable && $0.defaultValue != nil
      })
    {
      values.append((variable, 0))
    }
    return values
  }

  /// Whether tasks use values that another operation captured: as rows, in variables, or in the name of a snapshot.
  func usesCaptures(of other: BatchOperation) -> Bool {
    guard !other.capture.isEmpty, needs.contains(other.index) else { return false }
    let references = variables.flatMap { $0.value.references } + (snapshot?.references ?? [])
    return source?.input.capturedOperation == other.id
      || references.contains { $0.root == other.id }
  }

  /// Validates paths into the data of the operation.
  var shape: PathShape { PathShape(tree: SelectionTree(template)) }
}

/// How an operation requests further pages.
struct Pagination: Sendable {
  enum Style: Sendable {
    /// A Relay connection at the path, with `pageInfo { hasNextPage endCursor }`.
    case connection(ResultPath, cursor: String)
    /// A number that grows by the count of items at the path, until a page has no items.
    case offset(variable: String, items: ResultPath)
  }

  /// The list whose pages are the pages of the task; `nil` if only connections in records have several.
  var style: Style?
  var pageSize: PageSizeSettings?
  var maxPages = 10_000
  /// The connections inside records, each before those in it.
  var nested: [NestedConnection] = []
}

/// A value of the records that the next run starts from, such as `max(updatedAt)`.
struct Bookmark: Sendable {
  enum Fold: String, Sendable, CaseIterable {
    case max, min, last

    /// The value after a further one; `nil` if there was none before.
    func value(_ old: JSONValue?, then new: JSONValue) -> JSONValue {
      guard let old, self != .last else { return new }
      let isGreater =
        // Integers that differ may have the same `Double`.
        if let old = old.intValue, let new = new.intValue {
          new > old
        } else if let old = old.doubleValue, let new = new.doubleValue {
          new > old
        } else {
          old.stringValue.map { old in
            Array((new.stringValue ?? "").utf8).lexicographicallyPrecedes(Array(old.utf8)) == false
          } ?? true
        }
      return isGreater == (self == .max) ? new : old
    }

    /// The value of several ones; `nil` without any.
    func value(of values: some Sequence<JSONValue>) -> JSONValue? {
      values.reduce(nil) { value($0, then: $1) }
    }
  }

  var fold: Fold
  var path: ResultPath
}

/// The column names of an input.
struct Columns: Sendable {
  let names: [String]
  private let index: [String: Int]

  init(_ names: [String]) {
    self.names = names
    index = Dictionary(names.enumerated().map { ($1, $0) }) { first, _ in first }
  }

  func location(of name: String) -> Int? { index[name] }
}

/// One row of an input, which fills the templates of a task.
struct Row: Sendable {
  enum Content: Sendable {
    /// Text cells; `nil` is an empty cell.
    case cells(Columns, [String?])
    /// JSON values.
    case values(JSONObject)
  }

  /// The line or row number in the source, from 1.
  var number: Int
  var content: Content

  /// The result of looking up a template's path in a row.
  enum Found: Sendable {
    case absent
    /// Text that is converted to the type of the variable.
    case text(String)
    case value(JSONValue)

    init(_ object: JSONObject, at path: [String]) {
      let value = path.isEmpty ? .object(object) : object.value(at: path)
      self = value.map { .value($0) } ?? .absent
    }
  }

  func find(_ path: [String], empty: VariableReader.Empty) -> Found {
    switch content {
    case .cells(let columns, let cells):
      guard let name = path.first, let location = columns.location(of: name), location < cells.count
      else {
        return .absent
      }
      if let text = cells[location] { return .text(text) }
      switch empty {
      case .omit: return .absent
      case .null: return .value(.null)
      case .string: return .text("")
      }
    case .values(let object):
      return Found(object, at: path)
    }
  }
}
