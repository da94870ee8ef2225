import Foundation
import GQLRunCache
import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline

/// Writes the text of a new manifest, with comments.
///
/// Without a document, the manifest runs a query of the demo server (`gqlrun serve`) over two rows.
public struct NewManifest: Sendable {
  /// The name of the batch.
  public var name: String
  /// The folder of the manifest, which its paths are relative to.
  public var folder: String
  /// The endpoint; `nil` for the variable `GQL_URL` or else the demo server.
  public var endpoint: String?
  /// The path of the document; `nil` for the query of the demo server.
  public var document: String?
  /// The name of the operation; `nil` if the document has only one.
  public var operation: String?
  /// The path of the rows; their kind follows from the extension. `nil` for a single task.
  public var rows: String?
  /// The path of the sink in the manifest's folder, whose kind follows from the extension; `sqlite:PATH` is a
  /// database, and `-` is standard output. `nil` for NDJSON files in `out`.
  public var sink: String?

  /// The extensions of files with rows that a new manifest can read.
  package static let rowExtensions = RowInputs.all.flatMap { $0.fileExtensions }

  /// The extensions of files that a new manifest can write.
  package static let sinkExtensions = Sinks.all.flatMap { $0.fileExtensions }

  /// Creates a manifest without a document.
  public init(name: String, folder: String) {
    self.name = name
    self.folder = folder
  }

  /// The text of the manifest.
  ///
  /// - Throws: ``InputProblem`` for a document, rows or sink that cannot be used.
  public func text() throws -> String {
    let sink = try sinkText()
    let operation = try operationLines().map { "  " + $0 }.joined(separator: "\n")
    let endpoint = endpoint ?? "${env:GQL_URL:-http://127.0.0.1:4000/graphql}"
    return """
      # yaml-language-server: $schema=batch.schema.json
      # The schema is made by `gqlrun batch schema > batch.schema.json`; editors complete keys with it.
      version: 1
      name: \(quoted(name))
      endpoint: \(quoted(endpoint))
      # pipeline: auth.pipeline.yaml     # credentials, retries, cache: gqlrun pipeline new
      # schema: schema.graphql           # validates operations and rows before the first request
      run:
        concurrency: 4                   # requests in flight
        # max_failures: 5%               # stop when more tasks have failed
      # rate_limit: { rate: 50/s }
      sinks:                             # all kinds: gqlrun batch sinks
        - \(sink)
      # report: { html: out/report.html, junit: out/junit.xml }
      operations:
      \(operation)

      """
  }

  private func operationLines() throws -> [String] {
    guard let document else {
      return [
        "- id: countries",
        #"  query: "query Country($code: ID!) { country(code: $code) { code name capital } }""#,
        "  # One task per row; for rows of a file: foreach: { csv: codes.csv }",
        try rowLine(column: "code") ?? "  foreach: { inline: [{ code: DE }, { code: FR }] }",
        #"  variables: { code: "{{row.code}}" }"#,
        "  emit: country                    # path of the records in the data; [*] after a list",
        #"  expect: ["errors == null"]"#,
      ]
    }
    let template = try template(document)
    let columns = try self.columns()
    let names = template.definition.variables.map(\.name.value)
    let column = names.first { columns.contains($0) } ?? columns.first
    var lines = [
      "- id: \(template.name ?? "operation")",
      "  document: \(quoted(path(document) + (template.name.map { "#" + $0 } ?? "")))",
    ]
    if let row = try rowLine(column: column) { lines.append(row) }
    let pages = NewPages(template)
    let values = template.definition.variables.compactMap { variable -> String? in
      let name = variable.name.value
      if columns.contains(name) { return "    \(name): \"{{row.\(name)}}\"" }
      if pages.variables.contains(name) { return nil }
      guard case .nonNull = variable.type, variable.defaultValue == nil else { return nil }
      return "    \(name): \(Self.sample(variable.type))  # required; replace the value"
    }
    if !values.isEmpty { lines += ["  variables:"] + values }
    if template.type == .subscription {
      lines.append("  until: { events: 100, for: 10m }   # whichever is first")
    }
    let tree = SelectionTree(template)
    lines += pages.lines
    if let emit = pages.emit {
      lines.append("  emit: \(emit)   # path of the records in the data")
    } else {
      let root = tree.columns(at: []).first ?? "path"
      // One row usually is one object. Without rows, or with several fields, only the author knows.
      let mark = rows != nil && tree.columns(at: []).count == 1 ? "" : "# "
      lines.append("  \(mark)emit: \(root)   # path of the records in the data; [*] after a list")
    }
    lines.append(#"  expect: ["errors == null"]"#)
    return lines
  }

  private func template(_ document: String) throws -> OperationTemplate {
    do {
      return try OperationTemplate(
        document: Document(parsingUTF8: ManifestLoader.contents(of: document)),
        operationName: operation)
    } catch {
      let reason =
        (error as? PipelineFileEnvironment.Failure)?.reason ?? (error as? CacheError)?.message
      throw InputProblem(file: document, message: reason ?? "\(error)")
    }
  }

  // MARK: Rows and sinks

  private func rowLine(column: String?) throws -> String? {
    guard let rows else { return nil }
    let kind = try type(of: input(rows)).name
    let key = column.map { ", key: \"{{row.\($0)}}\"" } ?? ""
    return "  foreach: { \(kind): \(quoted(path(rows)))\(key) }"
  }

  /// The columns of the first row that templates can name.
  private func columns() throws -> [String] {
    guard let rows else { return [] }
    let row = try input(rows).open(RowContext())?()
    let names: [String] =
      switch row?.content {
      case .cells(let columns, _)?: columns.names
      case .values(let object)?: Array(object.keys)
      case nil: []
      }
    return names.filter { $0.allSatisfy { $0.isLetter || $0.isNumber || "_-$".contains($0) } }
  }

  private func input(_ path: String) throws -> any RowInput {
    let kind = RowInputs.all.first { kind in
      kind.fileExtensions.contains { path.hasSuffix($0) }
    }
    if let input = kind?.reading(path) { return input }
    let extensions = Self.rowExtensions.joined(separator: ", ")
    throw InputProblem(
      file: path,
      message:
        "the extension of rows is one of \(extensions); `gqlrun batch sinks` lists all kinds of rows"
    )
  }

  private func sinkText() throws -> String {
    let given = sink ?? "out/{{op}}.ndjson"
    // The spelling of a database in `--store`, and in `--to` of `extract`.
    let isDatabase = given.hasPrefix("sqlite:")
    let path = isDatabase ? String(given.dropFirst("sqlite:".count)) : given
    let kind = Sinks.all.first { kind in
      if isDatabase { return kind.name == "sqlite" }
      return path == "-"
        ? kind.mayBeStandardOutput : kind.fileExtensions.contains { path.hasSuffix($0) }
    }
    guard let kind else {
      let extensions = Self.sinkExtensions.joined(separator: ", ")
      throw InputProblem(
        file: path, message: "the extension of a sink is one of \(extensions)")
    }
    return "\(kind.name): { path: \(quoted(path)) }"
  }

  // MARK: Text

  private func quoted(_ text: String) -> String { JSONValue.string(text).jsonText() }

  /// The path from the manifest's folder.
  private func path(_ path: String) -> String {
    guard !path.hasPrefix("/"), folder != "." else { return path }
    func parts(_ path: String) -> [String] {
      URL(fileURLWithPath: path).standardizedFileURL.pathComponents
    }
    let (target, base) = (parts(path), parts(folder))
    let common = zip(target, base).prefix { $0 == $1 }.count
    return (base.dropFirst(common).map { _ in ".." } + target.dropFirst(common))
      .joined(separator: "/")
  }

  /// A value of a type, in YAML.
  private static func sample(_ type: TypeReference) -> String {
    switch type {
    case .nonNull(let inner): sample(inner)
    case .list: "[]"
    case .named(let name):
      switch name.value {
      case "Int": "1"
      case "Float": "1.5"
      case "Boolean": "true"
      case "ID", "String": "\"1\""
      default: "{}"
      }
    }
  }
}

/// The lines of a new manifest about the pages of its document.
private struct NewPages {
  /// `paginate`, and comments about connections that it does not follow; empty for a document without connections.
  private(set) var lines: [String] = []
  /// The path of the records; `nil` if only the author knows.
  private(set) var emit: String?
  /// The variables that `paginate` sets.
  private(set) var variables: Set<String> = []

  init(_ template: OperationTemplate) {
    let connections = template.connectionFields()
    guard !connections.isEmpty, template.type != .subscription else { return }
    guard template.type == .query else {
      lines = ["  paginate: none                   # the mutation is not sent again for more pages"]
      return
    }
    let outer = connections.filter { connection in
      !connections.contains { $0 != connection && connection.keys.starts(with: $0.keys) }
    }
    let followed = outer.first { $0.variable != nil && !$0.endCursor.isEmpty && !$0.hasAlias }
    guard let followed else {
      lines = connections.map { Self.missing($0) }
      return
    }
    let tree = SelectionTree(template)
    let items = Self.items(of: followed, tree)
    emit = items.map { "\(followed.path).\($0)" }
    lines = ["  paginate:", "    connection: \(followed.path)"]
    if let variable = followed.variable, variable != "after" {
      lines.append("    cursor: \(variable)")
    }
    if let size = Self.size(of: followed, in: template, tree) {
      lines.append("    page_size: { variable: \(size), start: 100, on_error: halve }")
      variables.insert(size)
    }
    let base = followed.keys + (items.map { ResultPath($0)?.keys ?? [] } ?? [])
    let nested = connections.filter { $0.keys.count > base.count && $0.keys.starts(with: base) }
    if !nested.isEmpty {
      lines.append(
        "    # nested:                        # TYPE is that of the object, which selects its `id`")
      lines += nested.map {
        "    #   - { path: \(Self.path($0.keys.dropFirst(base.count))), type: TYPE }"
      }
    }
    lines += connections.filter { $0 != followed && !nested.contains($0) }.map {
      "  # \($0.path) has pages, too: request it in an operation of its own"
    }
  }

  /// A comment about a connection that cannot be followed.
  private static func missing(_ connection: ConnectionField) -> String {
    var steps: [String] = []
    if connection.variable == nil {
      steps.append("pass a variable as its cursor, \(connection.keys.last ?? "")(after: $after)")
    }
    if connection.hasAlias {
      steps.append("select its pageInfo { hasNextPage endCursor } without aliases")
    } else if connection.endCursor.isEmpty {
      steps.append("select its endCursor")
    }
    return
      "  # paginate: { connection: \(connection.path) }   # first \(steps.joined(separator: ", and ")); "
      + "`paginate: none` accepts one page"
  }

  /// A path with these response keys, with `[*]` after those of a connection's lists.
  private static func path(_ keys: ArraySlice<String>) -> String {
    keys.map { $0 + (["nodes", "edges"].contains($0) ? "[*]" : "") }.joined(separator: ".")
  }

  /// The path of the elements below a connection.
  private static func items(of connection: ConnectionField, _ tree: SelectionTree) -> String? {
    let fields = tree.fields(of: tree.scopes(at: connection.keys))
    if let nodes = fields.first(where: { $0.name == "nodes" }) { return "\(nodes.key)[*]" }
    guard let edges = fields.first(where: { $0.name == "edges" }) else { return nil }
    let node = tree.fields(of: tree.below([edges])).first { $0.name == "node" }
    return "\(edges.key)[*]\(node.map { ".\($0.key)" } ?? "")"
  }

  /// The variable without a default that is the page size of a connection.
  private static func size(
    of connection: ConnectionField, in template: OperationTemplate, _ tree: SelectionTree
  ) -> String? {
    let arguments = tree.fields(at: connection.keys).flatMap(\.field.arguments)
    for argument in arguments where argument.name.value == "first" {
      guard case .variable(let name) = argument.value else { continue }
      let declared = template.definition.variables.first { $0.name.value == name.value }
      return declared?.defaultValue == nil ? name.value : nil
    }
    return nil
  }
}
