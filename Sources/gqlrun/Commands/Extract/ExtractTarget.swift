import Foundation
import GQLRunBatch
import GQLRunPipeline
import GQLRunSupport

/// Where `gqlrun extract` writes the tables: a SQLite file, a folder of files, or a PostgreSQL database.
enum ExtractTarget: Equatable {
  case sqlite(String)
  case folder(String)
  /// The URL of a database.
  case postgres(String)

  private static let forms = "sqlite:FILE, a folder such as out/, or postgres://HOST/DATABASE"

  /// Reads the argument of `--to`.
  ///
  /// - Throws: ``Failure`` for a text that is certainly no target.
  init(_ argument: String) throws(Failure) {
    func refusal(_ reason: String) -> Failure {
      Failure(.usage, "--to \(Self.shown(argument)): \(reason)")
    }
    if argument.hasPrefix("postgres://") || argument.hasPrefix("postgresql://") {
      self = .postgres(argument)
      return
    }
    guard !argument.contains("://") else {
      throw refusal("this is not a URL of PostgreSQL; write \(Self.forms)")
    }
    if argument.hasPrefix("sqlite:") {
      let path = String(argument.dropFirst(7))
      guard path.isEmpty || !FilePath.isFolder(path) else {
        let folder = path.hasSuffix("/") ? path : path + "/"
        throw refusal("this is a folder; name a file, such as sqlite:\(folder)orders.db")
      }
      guard !path.isEmpty, !path.hasSuffix("/") else {
        throw refusal("name a file, such as sqlite:orders.db")
      }
      self = .sqlite(path)
      return
    }
    guard !argument.isEmpty, argument != "-" else {
      throw refusal("there may be several tables, so standard output is none; write \(Self.forms)")
    }
    if StoreChoice.namesDatabase(argument) {
      throw refusal("write --to sqlite:\(argument) for a SQLite file")
    }
    for form in ExtractCommand.Format.allCases
    where argument.hasSuffix(".\(form.rawValue)") || argument.hasPrefix("\(form.rawValue):") {
      throw refusal(
        "each table is a file; name their folder, such as --to out/ --format \(form.rawValue)")
    }
    // As `parquet:FILE`. A folder with such a name is `./parquet:FILE`.
    if let colon = argument.firstIndex(of: ":"), !FilePath.isFolder(argument),
      argument[..<colon].allSatisfy({ $0.isLetter || $0.isNumber })
    {
      throw refusal(
        "`\(argument[...colon])` is not supported; write \(Self.forms), or ./\(argument) for a folder of this name"
      )
    }
    guard !FileManager.default.fileExists(atPath: argument) || FilePath.isFolder(argument) else {
      throw refusal("this is a file; write \(Self.forms)")
    }
    self = .folder(argument)
  }

  /// The failure of an argument that names a folder, without `--format`: it may be meant as a file.
  static func lacksFormat(_ argument: String) -> Failure {
    let ending = URL(fileURLWithPath: argument).pathExtension
    guard !argument.hasSuffix("/"), !FilePath.isFolder(argument),
      ending.contains(where: \.isLetter)
    else {
      return Failure(
        .usage, "--to \(argument) is a folder of files; add --format csv or --format ndjson")
    }
    return Failure(
      .usage,
      "--to \(argument): files with the ending .\(ending) are not supported; write \(forms), with --format csv or "
        + "--format ndjson for a folder")
  }

  /// The argument in messages: of a URL without user, password and query.
  static func shown(_ argument: String) -> String {
    argument.contains("://") ? Endpoint.shownText(argument) : argument
  }

  /// Throws if the target cannot be created.
  func check() throws(Failure) {
    let path: String
    switch self {
    case .postgres: return
    case .sqlite(let target), .folder(let target): path = target
    }
    let (folder, name) = Extraction.location(of: path)
    guard !name.isEmpty, name != ".." else {
      throw Failure(.usage, "--to \(path): name a folder for the tables, such as out/")
    }
    guard FilePath.isFolder(folder) else {
      throw Failure(.badInput, "--to: there is no folder \(folder); create it, then run again")
    }
    // What exists of the path.
    var existing = FilePath.resolve(name, in: folder)
    while existing.contains("/"), !FileManager.default.fileExists(atPath: existing) {
      existing = FilePath.folder(of: existing)
    }
    if !FileManager.default.fileExists(atPath: existing) { existing = folder }
    guard access(existing, W_OK) == 0 else {
      let reason = String(cString: strerror(errno))
      throw Failure(
        .badInput,
        "--to: cannot write into \(existing): \(reason); name another target, or change its permissions"
      )
    }
  }
}
