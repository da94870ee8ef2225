import GQLRunCache
import GQLRunJSON
import GQLRunPipeline

/// A kind of sink: an entry of `sinks` with its options.
///
/// Each kind is one file with its description, its options and the format of its records; ``Sinks``
/// lists the kinds.
protocol Sink: OptionSection {
  /// The name of the kind in a manifest.
  static var name: String { get }
  /// What the kind writes, in one sentence without a full stop.
  static var summary: String { get }
  /// An example of an entry of `sinks`, in YAML.
  static var example: String { get }
  /// The extensions of files of the kind.
  static var fileExtensions: [String] { get }
  /// Whether the path `-` is standard output.
  static var mayBeStandardOutput: Bool { get }
  /// The path as the manifest has it, a template; `nil` for the cache.
  var file: Located<String>? { get }
  /// The operations whose results the sink receives; empty for all.
  var operations: [Located<String>] { get }

  /// The output for the results of an operation; `nil` if the pipeline writes them.
  ///
  /// - Parameter path: The resolved path.
  func output(of operation: BatchOperation, at path: String) throws(TaskProblem) -> SinkOutput?
  /// Reports options that do not fit the operations whose results the sink receives.
  func check(
    _ operations: [BatchOperation], at location: FileLocation, loader: inout ManifestLoader)
}

extension Sink {
  static var fileExtensions: [String] { [] }
  static var mayBeStandardOutput: Bool { false }

  func check(
    _ operations: [BatchOperation], at location: FileLocation, loader: inout ManifestLoader
  ) {}
}

/// The kinds of sinks.
enum Sinks {
  static let all: [any Sink.Type] = [
    NDJSONSink.self, CSVSink.self, JSONSink.self, SQLiteSink.self, PostgresSink.self,
    CacheSink.self,
  ]
}

/// What a sink writes for one operation.
struct SinkOutput: Sendable {
  var entry: SinkPlan.Entry
  var records: any ResultFormat
}

/// The bytes of a file around its records.
struct FileFormat: Sendable, Equatable {
  /// The format as the journal records it, with all settings that determine the meaning of the bytes.
  var name: String
  var header: [UInt8] = []
  var footer: [UInt8] = []
  /// Bytes at the start of each record, which the first record of a file omits.
  var separator: [UInt8] = []
  var isCompressed = false
}

/// How the results of one operation become pieces of one sink.
protocol ResultFormat: Sendable {
  /// Whether the sink receives results, also those of failed tasks, instead of records.
  var writesResults: Bool { get }
  /// Whether the sink receives the gaps in the events of subscriptions, as lines of JSON.
  var writesGaps: Bool { get }
  /// Whether the sink may refuse a record.
  var mayRefuse: Bool { get }
  /// The use of the columns that the manifest lists; `nil` for columns derived from the document.
  var usage: ColumnUsage? { get }

  /// Calls `write` with everything that a page contributes to the sink.
  ///
  /// - Parameters:
  ///   - outcome: Has the data of the page, the result line up to its `data`, and the values of the task for columns.
  ///   - write: Receives the pieces.
  func pieces(of outcome: Outcome, _ write: (SinkPiece) throws -> Void) throws
}

extension ResultFormat {
  var writesResults: Bool { false }
  var writesGaps: Bool { false }
  var mayRefuse: Bool { false }
  var usage: ColumnUsage? { nil }
}

/// How the rows of one table of `tables` become pieces of its output.
protocol TableRowFormat: ResultFormat {
  /// The piece of a row.
  ///
  /// - Throws: A row that the output cannot have.
  func piece(_ row: TableRow) throws(TaskProblem) -> SinkPiece
}

/// One entry of `sinks`: a sink with its resolved path.
struct SinkSettings: Sendable {
  var sink: any Sink
  /// The resolved path, a template; `-` is standard output.
  var path = ""
  /// The source location of the path, or of the entry.
  var location: FileLocation?

  /// Whether the sink receives the results of an operation.
  func takes(_ operation: BatchOperation) -> Bool {
    operation.tables == nil
      && (sink.operations.isEmpty || sink.operations.contains { $0.value == operation.id })
  }
}

/// An entry of `sinks` as the manifest has it: a kind with its options.
struct SinkEntry: ExpressibleByOption {
  /// `nil` if a required option is missing.
  var sink: (any Sink)?
  var location: FileLocation

  static func optionType(in range: ClosedRange<Never>?) -> OptionType {
    .variant(noun: "sink", Manifest.sinkKinds)
  }
  static var unsetOption: SinkEntry {
    SinkEntry(sink: nil, location: FileLocation(file: ""))
  }
  var optionDefault: JSONValue? { nil }
}

extension SinkEntry {
  init(option: GivenOption) throws(OptionError) {
    let given = try option.variant()
    location = given.keyLocation
    guard let kind = Sinks.all.first(where: { $0.name == given.key }) else { return }
    let sink = try option.options(of: given, as: kind)
    if sink.isComplete { self.sink = sink }
  }
}

/// The cache of the pipeline, which the pipeline itself writes.
struct CacheSink: Sink {
  static let name = "cache"
  static let summary = "The cache of the pipeline, a SQLite file or a PostgreSQL database"
  static let example = "cache"

  @Option("Operations whose results the sink receives; by default all")
  var operations: [Located<String>] = []

  var file: Located<String>? { nil }

  func output(of operation: BatchOperation, at path: String) -> SinkOutput? { nil }
}

/// The outcome of one page of a task, for the sinks and the journal.
struct Outcome: Sendable {
  var update: TaskUpdate
  /// The operation's index in the manifest.
  var operation: Int
  /// `nil` if the page has no data, or no sink writes it.
  var data: (any ResultData)?
  /// The values of the task for columns, which the sinks need with ``data``.
  var rowValues = JSONObject()
  /// The result line up to its `data`; empty if none is to be written.
  var line: [UInt8] = []
  /// The pieces to write, by index of the sink; `nil` for large data, from which the sinks extract
  /// records themselves.
  var pieces: [[SinkPiece]]?
  /// Whether it has the data of a page: without rows, too, it replaces those that the page had in an earlier run.
  var hasPage = false
  var capture: JSONObject?
  /// A gap in the events of a subscription, before this outcome.
  var gap: EventGap?
  var bookmarks: [(name: String, fold: Bookmark.Fold, value: JSONValue)] = []

  /// The approximate memory size, in bytes.
  var size: Int {
    let pieces = pieces?.reduce(0) { $0 + $1.reduce(0) { $0 + $1.size } }
    return 500 + line.count + (update.cursor?.utf8.count ?? 0) + (pieces ?? dataSize)
  }

  private var dataSize: Int {
    guard let data else { return 0 }
    // That of a response is in a file if it is large; the joined pages of nested connections are in memory. Types are
    // compared, because `data is ResultBody` converts an array to an `NSArray`, with an object for each byte.
    return type(of: data) == ResultBody.self ? min(data.count, 4 << 20) : data.count
  }
}

/// A piece that a sink appends.
enum SinkPiece: Sendable {
  case bytes([UInt8], records: Int)
  case row([SQLValue])
  /// The line of a table's row in a file, which has each row once.
  case keyed([UInt8], key: String, parent: String?)
  /// The row of a table, for a caller instead of a sink.
  case own(TableRow)

  var size: Int {
    switch self {
    case .bytes(let bytes, _): bytes.count
    case .row(let values): values.reduce(96) { $0 + $1.size }
    case .keyed(let line, let key, let parent):
      // `RowKeys` has about 200 bytes for the key of each row of a step.
      line.count + key.utf8.count + (parent?.utf8.count ?? 0) + 320
    case .own(let row):
      row.cells.reduce(row.key.utf8.count + 128) { $0 + ($1?.approximateSize ?? 0) }
    }
  }
}

extension JSONValue {
  /// The approximate size in memory, in bytes.
  fileprivate var approximateSize: Int {
    switch self {
    case .null, .boolean, .number: 16
    case .string(let text): text.utf8.count + 16
    case .array(let elements): elements.reduce(32) { $0 + $1.approximateSize }
    case .object(let object):
      object.reduce(32) { $0 + $1.key.utf8.count + $1.value.approximateSize }
    }
  }
}

/// A value as SQLite stores it.
enum SQLValue: Sendable {
  case null
  case integer(Int64)
  case real(Double)
  case text(String)

  init(_ value: JSONValue?) {
    switch value {
    case nil, .null?: self = .null
    case .boolean(let flag)?: self = .integer(flag ? 1 : 0)
    case .number(let number)?:
      if let integer = Int64(number.text) {
        self = .integer(integer)
      } else if number.text.utf8.count <= 17, let real = number.doubleValue {
        self = .real(real)
      } else {
        // More digits than a double can represent stay exact as text.
        self = .text(number.text)
      }
    case .string(let text)?: self = .text(text)
    case let value?: self = .text(value.jsonText())
    }
  }

  /// The approximate size in memory, in bytes. Short texts are in the value itself.
  var size: Int {
    if case .text(let text) = self, text.utf8.count > 15 { text.utf8.count + 56 } else { 24 }
  }

  /// The text; `nil` for another value.
  var text: String? { if case .text(let text) = self { text } else { nil } }
}

extension SQLValue: Hashable {
  /// Whether a database has both as equal keys: texts by their bytes, and not by canonical equivalence.
  static func == (left: SQLValue, right: SQLValue) -> Bool {
    switch (left, right) {
    case (.null, .null): true
    case (.integer(let left), .integer(let right)): left == right
    case (.real(let left), .real(let right)): left == right
    case (.text(let left), .text(let right)): utf8Equal(left, right)
    default: false
    }
  }

  func hash(into hasher: inout Hasher) {
    switch self {
    case .null: hasher.combine(0)
    case .integer(let number): hasher.combine(number)
    case .real(let number): hasher.combine(number)
    case .text(let text): hasher.combine(UTF8Text(text))
    }
  }
}
