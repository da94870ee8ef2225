public import GQLRunJSON
public import GQLRunPipeline

/// The keys of a manifest, as the file has them.
struct ManifestFile: OptionSection {
  @Option("Version of the format; always 1") var version: FormatVersion
  @Option("Name of the batch in journals and reports; by default the file's name")
  var name: String?
  @Option("Pipeline file that every request runs through") var pipeline: OptionPath?
  @Option("Endpoint URL; overrides the pipeline file") var endpoint: String?
  @Option(
    "SDL file of the schema, by default that of the pipeline; operations and rows are validated against it"
  )
  var schema: OptionPath?
  @Option("How the operations run") var run = RunSettings()
  @Option("Limit of the request rate") var rateLimit: RateSettings?
  @Option("Report files, written at the end of a run") var report = ReportSettings()
  @Option("State that a run leaves for the next one") var state: StateSettings?
  @Option("Conditions on the whole run, such as `failed == 0` or `p95_ms < 500`")
  var thresholds: [Located<BatchCondition>] = []
  @Option("Destinations of results; by default NDJSON on standard output")
  var sinks: [SinkEntry]?
  @Option("Operations of the batch") var operations: [Located<OperationSettings>]
}

/// The `state` section.
struct StateSettings: OptionSection {
  @Option("File with the bookmarks") var file: String
}

/// The keys of an operation, as the file has them.
struct OperationSettings: OptionSection {
  @Option("Name of the operation in the manifest; becomes part of file names") var id: String?
  @Option("File with the document, and an operation in it: `queries.graphql#Name`")
  var document: String?
  @Option("Text of the document, instead of `document`") var query: String?
  @Option("Operation of a document with several operations") var operation: String?
  @Option("Operations that finish before this one starts") var needs: [Located<String>] = []
  @Option("Rows; the operation runs once for each row") var foreach: InputSettings?
  @Option("Values of the variables; text may contain templates such as `{{row.id}}`")
  var variables = OptionMap<OptionNode>()
  @Option("Values of the data that are kept for operations that need this one")
  var capture = OptionMap<Located<ResultPath>>()
  @Option("Path of the records in the data, such as `users.nodes[*]`") var emit: ResultPath?
  @Option("Columns of the records: paths in a record, and values of the row such as `row.id`")
  var columns: [ColumnSettings] = []
  @Option("Tables with every page of every connection of the document, instead of sinks")
  var tables: TablesSettings?
  @Option("How further pages are requested; `none` accepts results with more pages than one")
  var paginate: PaginateChoice?
  @Option("Values of the records that the next run starts from, such as `max(updatedAt)`")
  var bookmark = OptionMap<Located<Bookmark>>()
  @Option("Conditions on each result, such as `errors == null` or `count(emit) >= 1`")
  var expect: [Located<BatchCondition>] = []
  @Option("Variable that makes a mutation safe to repeat, such as an idempotency key")
  var idempotency: String?
  @Option("End of a subscription, which has no end of its own; required for subscriptions")
  var until: UntilSettings?
  @Option(
    .milliseconds(1) ... .seconds(86_400),
    "Time limit of one request; of a subscription, until it is connected")
  var timeout: Duration?
  @Option("Cache policy, instead of the pipeline's") var policy: CachePolicy?
  @Option("File that the data must equal; may contain templates") var snapshot: String?
}

/// An entry of `columns`: a path, or the name of a column with its path.
struct ColumnSettings: ExpressibleByOption {
  var path: Located<String>
  /// The name of the column; `nil` for that of the path.
  var name: Located<String>?

  static func optionType(in range: ClosedRange<Never>?) -> OptionType { .json }
  static var unsetOption: ColumnSettings { ColumnSettings(path: Located("")) }
  var optionDefault: JSONValue? { nil }

  private init(path: Located<String>) { self.path = path }

  init(option: GivenOption) throws(OptionError) {
    var node = option.node
    if case .mapping(let members) = node.content, members.count == 1 {
      name = Located(members[0].key, at: members[0].keyLocation)
      node = members[0].value
    }
    guard case .scalar(let text, _) = node.content, !node.isNull else {
      throw OptionError(
        "a column is a path, or its name with a path, not \(node.kind)",
        remedy: "write `row.id`, or `number: row.id`")
    }
    path = Located(text, at: node.location)
  }
}

/// The `until` section: what ends the task of a subscription, whichever is first.
struct UntilSettings: OptionSection {
  @Option(1...1_000_000_000, "Number of events after which the task is done") var events: Int?
  @Option(
    .milliseconds(1) ... .seconds(2_592_000),
    "Time of listening after which the task is done, including that of earlier runs")
  var `for`: Duration?
}

/// The `paginate` section, or `none`.
enum PaginateChoice: ExpressibleByOption {
  /// A result may have further pages, which are not requested.
  case firstPage
  case pages(PaginateSettings)

  static func optionType(in range: ClosedRange<Never>?) -> OptionType {
    .objectOrWord(OptionTable(PaginateSettings.optionDescriptions), word: "none")
  }
  static var unsetOption: PaginateChoice { .pages(PaginateSettings()) }
  var optionDefault: JSONValue? { [:] }

  init(option: GivenOption) throws(OptionError) {
    self = try option.groupOrWord(PaginateSettings.self).map { .pages($0) } ?? .firstPage
  }

  func validateGroups() throws(OptionError) {
    if case .pages(let settings) = self { try settings.validateGroups() }
  }
}

/// The keys of `paginate`.
struct PaginateSettings: OptionSection {
  @Option("Path of a Relay connection with `pageInfo { hasNextPage endCursor }`")
  var connection: ResultPath?
  @Option("Variable that takes the cursor of the next page") var cursor = "after"
  @Option("Pages by offset, instead of `connection`") var offset: OffsetSettings?
  @Option("Size of the pages") var pageSize: PageSizeSettings?
  @Option(
    1...1_000_000_000,
    "Maximum number of pages of a task, and of a connection of `nested`; a task with more fails"
  )
  var maxPages = 10_000
  @Option("Connections in records, at any depth, completed through `node(id:)`")
  var nested: [NestedSettings] = []
}

/// The `offset` section of `paginate`.
struct OffsetSettings: OptionSection {
  @Option("Variable that takes the offset") var variable = "offset"
  @Option("Path of the list") var items: ResultPath
}

/// The `page_size` section of `paginate`.
struct PageSizeSettings: OptionSection {
  /// What happens when a page costs too much.
  enum OnError: String, CaseIterable, ExpressibleByOption {
    case halve, fail
  }

  @Option("Variable that takes the page size") var variable = "first"
  @Option(1...1_000_000, "Size of the first page") var start: Int
  @Option(1...1_000_000, "Smallest size") var min = 1
  @Option("What happens when the server refuses a page as too costly") var onError = OnError.fail
}

/// An entry of `nested`.
struct NestedSettings: OptionSection {
  @Option("Path of the connection in the emitted record, such as `orders.nodes[*].lines`")
  var path: ResultPath
  @Option("Type of the object that has the connection; it must select its `id`") var type: String
}

// MARK: Values

/// A value that a manifest has as text of a certain form.
protocol TextOption: ExpressibleByOption, CustomStringConvertible where OptionBound == Never {
  /// What the text is: "a path".
  static var noun: String { get }
  /// What to write instead of other text.
  static var remedy: String { get }
  /// The code of the diagnostic of other text.
  static var code: PipelineDiagnostic.Code { get }

  /// Parses the text. Returns `nil` for other text.
  init?(_ text: String)
}

extension TextOption {
  static var code: PipelineDiagnostic.Code { .path }

  static func optionType(in range: ClosedRange<Never>?) -> OptionType { .string }
  var optionDefault: JSONValue? { .string(description) }

  init(option: GivenOption) throws(OptionError) {
    let text = try String(option: option)
    guard let value = Self(text) else {
      throw OptionError("`\(text)` is not \(Self.noun)", remedy: Self.remedy, code: Self.code)
    }
    self = value
  }
}

extension ResultPath: TextOption {
  static let noun = "a path"
  static let remedy = "write response keys and dots, with [*] after lists: `a.b[*]`"
  static var unsetOption: ResultPath { ResultPath() }
}

extension BatchCondition: TextOption {
  static let noun = "a condition"
  static let remedy =
    "write two values around ==, !=, <, <=, > or >=, with spaces, such as `errors == null`"
  static var unsetOption: BatchCondition { BatchCondition() }
}

extension Bookmark: TextOption {
  static let noun = "a bookmark"
  static let remedy = "write `max(field)`, `min(field)` or `last(field)`"
  static var unsetOption: Bookmark { Bookmark(fold: .last, path: ResultPath()) }
  var description: String { "\(fold.rawValue)(\(path))" }

  init?(_ text: String) {
    guard let open = text.firstIndex(of: "("), text.last == ")",
      let fold = Fold(rawValue: String(text[..<open])),
      let path = ResultPath(String(text[text.index(after: open)...].dropLast()))
    else { return nil }
    self.init(fold: fold, path: path)
  }
}

extension Manifest {
  /// The kinds of sinks.
  public static let sinkKinds = Sinks.all.map {
    OptionVariant(
      name: $0.name, summary: $0.summary, options: $0.optionDescriptions, example: $0.example)
  }

  /// The kinds of rows for `foreach`, each with the options that all kinds have.
  public static let rowKinds = RowInputs.all.map {
    OptionVariant(
      name: $0.name, summary: $0.summary,
      options: $0.optionDescriptions + InputSettings.Shared.optionDescriptions, example: $0.example)
  }

  /// The JSON Schema of manifests, for editors; generated from the declarations of the options.
  ///
  /// https://json-schema.org/draft/2020-12
  public static var schema: JSONValue {
    OptionSchema.file(
      title: "gqlrun batch manifest",
      command: "gqlrun batch schema > pipelines/batch.schema.json",
      required: ["version", "operations"],
      properties: OptionSchema.properties(ManifestFile.optionDescriptions))
  }
}
