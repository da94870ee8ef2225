import Dispatch
public import GQLRun
import GQLRunCache
public import GQLRunJSON
public import GQLRunLanguage
import GQLRunPipeline
import GQLRunSupport

/// How tables are extracted from an operation.
public struct ExtractOptions: Sendable {
  /// The operation of a document with several; `nil`, the default, for the only one.
  public var operationName: String?
  /// The schema, which gives the types of columns and how nested connections continue. `nil`, the default, uses that of
  /// the client; without one, the tables follow the shape of the document.
  public var schema: Schema?
  /// Names of tables, by the names that their response keys give them; empty by default.
  public var names: [String: String] = [:]
  /// The tables, by response keys, whose objects may be in the lists of several parents; empty by default. They have a row
  /// for each pair.
  public var shared: [String] = []
  /// The maximum number of connections whose next pages are one request, from 1 to 1,000; 20 by default.
  public var pack = 20
  /// The maximum number of requests in flight; 16 by default.
  public var concurrency = 16
  /// Whether tables without the pages that the server refuses for good are a success; `false` by default.
  public var allowsPartial = false

  /// Creates the default options.
  public init() {}
}

/// Tables that are not complete, because the server refused pages or the run stopped.
public struct ExtractFailure: Error, Sendable, CustomStringConvertible {
  /// What is missing, and why.
  public var message: String
  /// Why the run stopped early; `nil` if all requests were sent, and pages failed.
  public var stop: StopReason?
  /// What was requested and written.
  public var tables = TablesSummary()

  /// The message.
  public var description: String { message }
}

extension ExtractFailure {
  /// The failure of a run that stopped early; `nil` for one that has ended.
  ///
  /// - Parameter subject: What is not complete.
  init?(_ subject: String, _ end: RunEnd, tables: TablesSummary) {
    guard let stop = end.reason else { return nil }
    let detail = end.detail.map { ": \($0)" } ?? ""
    self.init(
      message: "the \(subject) are not complete: \(stop.text)\(detail)", stop: stop, tables: tables)
  }
}

extension PipelineClient {
  /// Writes everything behind a query into tables: all pages of all its connections, at any depth.
  ///
  /// ```swift
  /// let tables = try await client.extract(
  ///   "{ customers(first: 50) { nodes { id name orders(first: 50) { nodes { id total } } } } }",
  ///   into: .sqlite("shop.db"))
  /// print(tables.text)
  /// ```
  ///
  /// Each list of objects is a table, named by its response keys: `customers`, `customers_orders`. Rows are written as pages
  /// arrive, in memory that does not depend on their number, and each once: a journal in the folder `runs`, beside the target
  /// or in the working directory that contains it, records which pages are in the tables. For PostgreSQL, a queue in the same
  /// database does, with one worker in this process.
  ///
  /// - Parameters:
  ///   - document: The document.
  ///   - variables: The variables.
  ///   - target: Where the tables are written.
  ///   - since: A field of the first level, such as `updatedAt`, whose highest value of the last complete run the variable
  ///     gets; `nil`, the default, requests everything.
  ///   - resumes: Whether to continue the newest run of the document with the variables: one that stopped, or the pages
  ///     that failed in it. Without one, a run begins.
  ///   - overwrites: Whether to replace files, and write into tables, that no earlier run created.
  ///   - options: The schema, names and limits.
  ///   - control: Stops the run, and reports its progress.
  /// - Returns: What was requested and written.
  /// - Throws: ``ExtractFailure`` if the tables are not complete, `PipelineDiagnostics` for options that do not fit the
  ///   document, `GraphQLSyntaxError` and `CacheError` for a document or variables that are not valid, and the errors of
  ///   ``BatchRun/run(_:)``, and for PostgreSQL those of ``BatchQueue`` and ``BatchWorker/run(_:)``.
  @discardableResult
  public func extract(
    _ document: String, variables: JSONObject = [:], into target: TableTarget,
    since: (field: String, variable: String)? = nil, resumes: Bool = false,
    overwrites: Bool = false, options: ExtractOptions = ExtractOptions(),
    control: RunControl = RunControl()
  ) async throws -> TablesSummary {
    var extraction = try extraction(document, variables: variables, options: options)
    switch target {
    case .sqlite(let path): extraction.place(at: path, isFile: true, option: "target")
    case .files(let path, let format):
      extraction.place(at: path, isFile: false, option: "target")
      extraction.add("format", .string(format.rawValue))
    case .postgres(let url): extraction.place(inDatabase: url, option: "target")
    }
    if let since {
      extraction.add(
        "since", ["path": .string(since.field), "variable": .string(since.variable)])
    }
    let manifest = try extraction.load().manifest
    let run = try await DispatchQueue.global().run {
      try ExtractionRun(manifest, resumes: resumes, overwrites: overwrites)
    }
    let summary = try await run.run(services, control)
    if let failure = ExtractFailure("tables", summary.end, tables: summary.tables) { throw failure }
    if let failures = summary.failures {
      throw ExtractFailure(
        message: failures.all.first?.message ?? "the tables are not complete", stop: nil,
        tables: summary.tables)
    }
    return summary.tables
  }

  /// The rows of everything behind a query, for a target of the caller's own.
  ///
  /// ```swift
  /// for try await page in client.rows(of: document) {
  ///   try await database.transaction {
  ///     for row in page.rows { try await $0.upsert(row.table, row.key, row.values) }
  ///     try await $0.save(page.checkpoint)
  ///   }
  /// }
  /// ```
  ///
  /// Nothing is written to files: the caller stores the checkpoint of a page in the transaction that stores its rows, and
  /// passes it to continue there. Then each page is in the target once. A row may come again with the same table and key if
  /// the list moved between two pages, so store rows by their keys. Requests wait while the caller is busy: memory is bounded
  /// by the sizes of a few pages.
  ///
  /// The sequence begins with the first element that is requested, and ends its requests when its iterator is released.
  ///
  /// - Parameters:
  ///   - document: The document.
  ///   - variables: The variables; those of an earlier run to continue it.
  ///   - checkpoint: That of the last page that the caller has stored; `nil`, the default, begins with the first page.
  ///   - options: The schema, names and limits.
  /// - Throws: `PipelineDiagnostics` for options that do not fit the document, `GraphQLSyntaxError` and `CacheError` for a
  ///   document or variables that are not valid. The sequence itself throws ``ExtractFailure``.
  public func rows(
    of document: String, variables: JSONObject = [:], after checkpoint: String? = nil,
    options: ExtractOptions = ExtractOptions()
  ) throws -> ExtractedRows {
    var extraction = try extraction(document, variables: variables, options: options)
    // The format of the rows; no file is written.
    extraction.add("to", "rows/")
    extraction.add("format", "ndjson")
    return ExtractedRows(
      manifest: try extraction.load().manifest, checkpoint: checkpoint, services: services)
  }

  private func extraction(
    _ text: String, variables: JSONObject, options: ExtractOptions
  ) throws -> Extraction {
    let schema = options.schema ?? self.schema
    let keys = schema.map { keyRules.joined(with: $0).rules } ?? keyRules
    let operation = try PreparedOperation(
      document: Document(parsing: text), operationName: options.operationName,
      variables: variables, keys: keys, facts: schema.map { TypeFacts($0) })
    var pipeline = pipeline
    pipeline.keys = keys
    var extraction = Extraction(
      operation, documentName: "the document", pipeline: pipeline)
    extraction.namesPipeline = true
    if !options.names.isEmpty {
      var names = JSONObject()
      for (table, name) in options.names.sorted(by: { $0.key < $1.key }) {
        names[table] = .string(name)
      }
      extraction.add("as", .object(names))
    }
    if !options.shared.isEmpty {
      extraction.add("shared", .array(options.shared.map { .string($0) }))
    }
    extraction.add("pack", .number(JSONNumber(options.pack)))
    extraction.add("allow_partial", .boolean(options.allowsPartial))
    extraction.concurrency = (
      "concurrency", .number(JSONNumber(options.concurrency)), "concurrency"
    )
    return extraction
  }
}
