import Foundation
public import GQLRunCache
import GQLRunJSON
public import GQLRunPipeline
import GQLRunSupport

/// A kind of rows: a key of `foreach` with its options.
///
/// Each kind is one file with its description, its options and the reader of its rows;
/// ``RowInputs`` lists the kinds.
protocol RowInput: OptionSection {
  /// The key of `foreach` that selects the kind; also the name of its first option.
  static var name: String { get }
  /// What the kind reads, in one sentence without a full stop.
  static var summary: String { get }
  /// An example of `foreach`, in YAML.
  static var example: String { get }
  /// The path of the file that contains the rows; `nil` for rows from elsewhere.
  var path: String? { get }
  /// Whether the file is a database, which an earlier operation of the run may write.
  var isDatabase: Bool { get }
  var readsStandardInput: Bool { get }
  /// Whether all values of the rows are text.
  var hasTextCells: Bool { get }
  /// The operation whose captured values are the rows.
  var capturedOperation: String? { get }

  /// The names of the columns; `nil` if they are known only when the rows are read.
  ///
  /// - Parameter hasNeeds: Whether earlier operations may still write the rows.
  /// - Throws: ``InputProblem`` for an input that cannot be read.
  func columns(hasNeeds: Bool) throws -> [String]?
  /// Whether all rows can be read before the run.
  func isReadable(hasNeeds: Bool) -> Bool
  /// What row numbers count in, for messages: the path of the file.
  func label(in manifest: Manifest) -> String
  /// The extensions of the files that the kind reads, with the dot; empty for rows from elsewhere.
  static var fileExtensions: [String] { get }
  /// The rows of a file with one of the extensions.
  static func reading(_ path: String) -> (any RowInput)?
  /// Opens the rows; `nil` if they exist only during a run.
  func open(_ context: RowContext) throws -> RowSource?
}

extension RowInput {
  var path: String? { nil }
  var isDatabase: Bool { false }
  var readsStandardInput: Bool { false }
  var hasTextCells: Bool { false }
  var capturedOperation: String? { nil }

  static var fileExtensions: [String] { [] }
  static func reading(_ path: String) -> (any RowInput)? { nil }
  func columns(hasNeeds: Bool) throws -> [String]? { nil }
  func isReadable(hasNeeds: Bool) -> Bool {
    path.map { !hasNeeds || FileManager.default.fileExists(atPath: $0) } ?? false
  }
  func label(in manifest: Manifest) -> String { path ?? manifest.file }
}

/// What a kind of rows may need to open them. A class, because the rows of all operations share it.
final class RowContext: Sendable {
  /// The manifest; `nil` while it is being written.
  let manifest: Manifest?
  /// The journal of the run; `nil` before it.
  let journal: Journal?
  /// The journal's number of each operation, by index.
  let numbers: [Int]

  init(manifest: Manifest? = nil, journal: Journal? = nil, numbers: [Int] = []) {
    self.manifest = manifest
    self.journal = journal
    self.numbers = numbers
  }
}

/// The kinds of rows.
enum RowInputs {
  static let all: [any RowInput.Type] = [
    CSVInput.self, JSONLinesInput.self, SQLiteInput.self, InlineInput.self, StandardInput.self,
    CaptureInput.self,
  ]
}

/// The source of an operation's rows: the `foreach` section. A class, because each task reads it,
/// and its options are many values to copy.
final class InputSettings: ExpressibleByOption {
  /// The options of all kinds.
  struct Shared: OptionSection {
    @Option("Name of the row in templates") var `as` = "row"
    @Option("Template that identifies a task, such as `{{row.id}}`; by default its line or number")
    var key: Located<String>?
    @Option("Meaning of an empty cell: no value, null, or empty text")
    var empty = VariableReader.Empty.omit
  }

  let input: any RowInput
  let shared: Shared
  /// The source location of the kind.
  let location: FileLocation

  var rowName: String { shared.as }

  /// The options of all kinds in one table: the key of the kind is next to its options.
  static let options: [OptionDescription] = {
    var seen: Set<String> = []
    let kinds = RowInputs.all.flatMap { $0.optionDescriptions }.map { option in
      var option = option
      option.isRequired = false
      return option
    }
    return (kinds + Shared.optionDescriptions).filter { seen.insert($0.name).inserted }
  }()

  private static let names = options.map(\.name)

  static func optionType(in range: ClosedRange<Never>?) -> OptionType {
    .object(OptionTable(options))
  }
  static var unsetOption: InputSettings {
    InputSettings(InlineInput(), location: FileLocation(file: ""))
  }
  var optionDefault: JSONValue? { nil }

  private init(_ input: any RowInput, location: FileLocation) {
    (self.input, self.shared, self.location) = (input, Shared(), location)
  }

  init(option: GivenOption) throws(OptionError) {
    let members = try option.members(named: Self.names)
    func isGiven(_ name: String) -> Bool { members.contains { $0.key == name } }
    var rest = members
    let kinds = RowInputs.all.filter { isGiven($0.name) }
    let inputs = kinds.map { option.part($0, from: &rest) }
    let (shared, sharedErrors) = option.part(Shared.self, from: &rest)
    // Options of other kinds have no effect, but their errors are reported.
    for other in RowInputs.all where !rest.isEmpty { _ = option.part(other, from: &rest) }
    guard let kind = kinds.first, kinds.count == 1 else {
      throw OptionError(
        option: kinds.dropFirst().first?.name ?? "",
        kinds.isEmpty ? "no source of rows" : "more than one source of rows",
        remedy: "set one of \(RowInputs.all.map { $0.name }.joined(separator: ", "))", code: .input)
    }
    if let missing = kind.requiredNames.first(where: { !isGiven($0) }),
      let option = kind.optionDescriptions.first(where: { $0.name == missing })
    {
      throw OptionError(
        option: kind.name, "needs the key `\(missing)`",
        remedy: "add `\(missing)`: \(option.type.expectation)", code: .input)
    }
    let (input, errors) = inputs[0]
    if let error = OptionError(errors + sharedErrors) { throw error }
    self.input = input
    self.shared = shared
    let key = input.isComplete ? members.first { $0.key == kind.name } : nil
    location = key?.value.location ?? option.location
  }
}

extension VariableReader.Empty: ExpressibleByOption {}

/// The next row of a sequence that is read in constant memory; `nil` at the end.
///
/// Not `Sendable`: it has one reader.
typealias RowSource = () throws -> Row?

/// An error in an input, with its file and line.
public struct InputProblem: Error, Sendable, CustomStringConvertible {
  /// The path of the input; `stdin` for standard input.
  public var file: String
  /// The line of the error, from 1; `nil` if it concerns the whole file.
  public var line: Int?
  /// What is wrong.
  public var message: String

  /// `file:line: message`.
  public var description: String { "\(file)\(line.map { ":\($0)" } ?? ""): \(message)" }
}

/// Reads a file or standard input in blocks.
final class ByteReader {
  let name: String
  private let handle: FileHandle

  init(path: String) throws(InputProblem) {
    name = path
    // Opening a pipe would wait for its writer.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      let reason = errno
      throw InputProblem(
        file: path,
        message: reason == ENOENT
          ? "there is no such file"
          : "the input cannot be opened: \(String(cString: strerror(reason)))")
    }
    handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    // A pipe has its rows once, and they are checked before the run reads them.
    guard FileStatus(descriptor: descriptor)?.isRegular == true else {
      throw InputProblem(
        file: path,
        message:
          "it is not a regular file, and its rows are read more than once; write them into a file, or read them from "
          + "standard input with `stdin: csv` or `stdin: jsonl`")
    }
  }

  init(standardInput: Void) {
    name = "stdin"
    handle = .standardInput
  }

  /// The next block; empty at the end of the input.
  func block() throws(InputProblem) -> [UInt8] {
    var block: [UInt8] = []
    let code = SystemIO.forEachPiece(of: handle.fileDescriptor) { piece in
      block += piece
      return false
    }
    guard code == 0 else {
      throw InputProblem(
        file: name, message: "the input cannot be read: \(String(cString: strerror(code)))")
    }
    return block
  }

  deinit { try? handle.close() }
}
