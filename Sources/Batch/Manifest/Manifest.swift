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

  /// Validates paths into the data of the operation.
  func shape(_ schema: Schema?) -> PathShape {
    PathShape(template.callerDocument, definition: template.definition, schema: schema)
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
  var maxPages = 10_000
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

/// Creates the document that requests the next page of a connection inside one object:
///
/// ```graphql
/// query($gqlrunID: ID!, $gqlrunAfter: String) {
///   node(id: $gqlrunID) { ... on Post { comments(after: $gqlrunAfter) { … } } }
/// }
/// ```
struct NestedDocument {
  /// The response key of the object.
  static let objectKey = "node"
  static let idVariable = "gqlrunID"
  static let cursorVariable = "gqlrunAfter"

  let document: Document?

  init(_ tree: SelectionTree, template: OperationTemplate, keys: [String], type: String) {
    guard let key = keys.last else {
      document = nil
      return
    }
    let sets = keys.count > 1 ? tree.selections(at: Array(keys.dropLast())) : [tree.root]
    guard var field = sets.flatMap({ tree.fields(of: $0) }).first(where: { $0.responseKey == key })
    else {
      document = nil
      return
    }
    let location = field.location
    field.arguments.removeAll { $0.name.value == "after" }
    field.arguments.append(
      Argument(
        name: Name("after", at: location),
        value: .variable(Name(Self.cursorVariable, at: location)),
        location: location))
    field.directives = []
    let used = Set(field.arguments.compactMap { Self.variable($0.value) })
    let node = Field(
      name: Name(Self.objectKey, at: location),
      arguments: [
        Argument(
          name: Name("id", at: location), value: .variable(Name(Self.idVariable, at: location)),
          location: location)
      ],
      selectionSet: SelectionSet(
        selections: [
          .inlineFragment(
            InlineFragment(
              typeCondition: Name(type, at: location), directives: [],
              selectionSet: SelectionSet(selections: [.field(field)], location: location),
              location: location))
        ], location: location), location: location)
    let own = [
      VariableDefinition(
        name: Name(Self.idVariable, at: location),
        type: .nonNull(.named(Name("ID", at: location))), defaultValue: nil, directives: [],
        location: location),
      VariableDefinition(
        name: Name(Self.cursorVariable, at: location), type: .named(Name("String", at: location)),
        defaultValue: nil, directives: [], location: location),
    ]
    let operation = OperationDefinition(
      type: .query, name: Name((template.name ?? "Batch") + "NextPage", at: location),
      variables: own + template.definition.variables.filter { used.contains($0.name.value) },
      directives: [], selectionSet: SelectionSet(selections: [.field(node)], location: location),
      location: location)
    document = Document(
      definitions: [.operation(operation)]
        + template.callerDocument.fragments.map { .fragment($0) })
  }

  private static func variable(_ value: Value) -> String? {
    if case .variable(let name) = value { name.value } else { nil }
  }
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
      var value = JSONValue.object(object)
      for name in path {
        guard let next = value[name] else { return .absent }
        value = next
      }
      return .value(value)
    }
  }
}
