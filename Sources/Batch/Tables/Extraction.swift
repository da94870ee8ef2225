package import GQLRunCache
package import GQLRunJSON
package import GQLRunPipeline
import GQLRunPlugins
import GQLRunSupport

/// A manifest of one operation with `tables` that a program makes: what `gqlrun extract` and `PipelineClient.extract` run.
///
/// ``ManifestLoader`` reads it as it reads a file, so that errors, engine, journal and reports are those of a batch. The
/// locations of its diagnostics are names of options, such as `--to`.
package struct Extraction: Sendable {
  /// A key of `tables`, and the option that gives it.
  package typealias Setting = (key: String, value: JSONValue, option: String)

  /// The operation with its variables.
  package var operation: PreparedOperation
  /// The name of the document in messages.
  package var documentName: String
  /// The path of the document; `nil` if it is in no file.
  package var documentPath: String?
  /// The pipeline, with the key rules of the operation.
  package var pipeline: Pipeline
  /// Whether the caller has named the pipeline.
  package var namesPipeline = false
  /// The folder of the journals and of the target; `.` is the current one.
  package var folder = "."
  /// The URL of the PostgreSQL database that has the tables and the queue; `nil` for other targets.
  private(set) var queueURL: String?
  /// The keys of `tables`.
  private var tables: [Setting] = []
  /// The name of the file or folder of the tables; `nil` for a database of PostgreSQL.
  private var target: String?
  /// The maximum number of requests in flight.
  package var concurrency: Setting?
  /// The keys of `rate_limit`; empty for none.
  package var rateLimit: [Setting] = []

  /// - Parameter operation: Prepared with the schema; without one, tables follow the shape of the document.
  package init(_ operation: PreparedOperation, documentName: String, pipeline: Pipeline) {
    self.operation = operation
    self.documentName = documentName
    self.pipeline = pipeline
  }

  /// The key of `rate_limit` that takes the value of an option: a rate such as `50/s`, or the format of the server's
  /// budget. `nil` for other text.
  package static func rateLimit(_ text: String, option: String) -> Setting? {
    if RequestRate(text) != nil { return ("rate", .string(text), option) }
    guard RequestBudget.Kind(rawValue: text) != nil else { return nil }
    return ("adapter", .string(text), option)
  }

  /// Adds a key of `tables`, if there is a value.
  ///
  /// - Parameter option: The option that gives it; `nil` if it has the name of the key.
  package mutating func add(_ key: String, _ value: JSONValue?, option: String? = nil) {
    guard let value else { return }
    tables.append((key, value, option ?? key))
  }

  /// The name of the batch, which those of its journals begin with: `extract-orders-shop.db` for `orders.graphql` and
  /// `sqlite:shop.db`. A document has a journal for each of its targets, so that each run can be resumed.
  package var name: String {
    let file = documentPath?.split(separator: "/").last.map { $0.prefix { $0 != "." } } ?? ""
    let subject = file.isEmpty ? operation.name ?? "query" : String(file)
    return (["extract", subject] + [target].compactMap { $0 }).joined(separator: "-")
  }

  /// Sets the folder and `to` for a target at a path: the folder is the current one, or for a target outside of it the
  /// target's own one, because a manifest writes only below its folder.
  ///
  /// - Parameters:
  ///   - path: The path of a SQLite file, or of a folder.
  ///   - isFile: Whether it is that of a SQLite file.
  ///   - option: The option that gives it.
  package mutating func place(at path: String, isFile: Bool, option: String) {
    let location = Self.location(of: path)
    folder = location.folder
    target = location.name
    let to = isFile ? "sqlite:\(location.name)" : "\(location.name)/"
    add("to", .string(to), option: option)
  }

  /// Sets `to` for a PostgreSQL database with this URL, which has the queue, too.
  ///
  /// - Parameter option: The option that gives it.
  package mutating func place(inDatabase url: String, option: String) {
    queueURL = url
    add("to", "postgres", option: option)
  }

  /// The folder of the manifest for a target at a path, and the path from there; see ``place(at:isFile:option:)``.
  package static func location(of path: String) -> (folder: String, name: String) {
    let path = FilePath.normalized(path)
    guard path.hasPrefix("/") || path.hasPrefix("..") else { return (".", path) }
    return (FilePath.folder(of: path), path.split(separator: "/").last.map(String.init) ?? "")
  }

  /// The id of the operation.
  var operationID: String { operation.name ?? "query" }

  /// Creates the manifest.
  ///
  /// - Throws: All errors and warnings if there is an error.
  package func load() throws(PipelineDiagnostics) -> ManifestLoader.Loaded {
    var loader = ManifestLoader(
      file: documentName, folder: folder, registry: .builtIn, environment: .process)
    loader.made = self
    let manifest = loader.manifest(root, nil)
    let found = PipelineDiagnostics(loader.decoder.findings, sources: [])
    guard let manifest, found.errors.isEmpty else { throw found }
    return ManifestLoader.Loaded(manifest: manifest, warnings: found)
  }

  /// The manifest as a file would have it, apart from what ``ManifestLoader/made`` has.
  private var root: YAMLNode {
    // An option has no lines.
    func node(_ value: JSONValue, _ option: String) -> YAMLNode {
      YAMLNode(value, at: FileLocation(file: option, line: 0, column: 0))
    }
    func mapping(_ members: [(key: String, value: YAMLNode)]) -> YAMLNode {
      let members = members.map { key, value in
        YAMLNode.Member(key: key, keyLocation: value.location, value: value)
      }
      return YAMLNode(content: .mapping(members), location: node(.null, documentName).location)
    }
    func section(_ settings: [Setting]) -> YAMLNode {
      mapping(settings.map { ($0.key, node($0.value, $0.option)) })
    }
    let operation = mapping([
      ("id", node(.string(operationID), documentName)), ("query", node("", documentName)),
      ("tables", section(tables)),
    ])
    var members = [
      ("version", node(1, documentName)), ("name", node(.string(name), documentName)),
      ("run", section([concurrency].compactMap { $0 })),
      ("operations", YAMLNode(content: .sequence([operation]), location: operation.location)),
    ]
    if !rateLimit.isEmpty { members.append(("rate_limit", section(rateLimit))) }
    return mapping(members)
  }
}
