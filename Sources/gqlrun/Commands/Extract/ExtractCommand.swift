import ArgumentParser
import GQLRunBatch
import GQLRunCache
import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline

struct ExtractCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "extract",
    abstract: "Write everything behind a query into tables: all pages of all its connections.",
    discussion: """
      Each list of objects in the document becomes a table, named by its response keys: customers, \
      customers_orders. Its rows have the columns _key, _parent (the _key of the row above) and _position, and a \
      column for each selected leaf. Rows are written as pages arrive, each once. At the end every \
      connection is complete, or the command fails and names what is missing. The schema gives the types of \
      columns and how nested connections continue; without --schema it is fetched by introspection.

      TARGETS
        sqlite:FILE              tables with primary and foreign keys; rows replace
                                 those with the same key
        FOLDER/ --format csv     a file for each table; also ndjson
        postgres://HOST/DATABASE tables of a PostgreSQL database, through its queue

      The journal is in runs/ of the current folder, or beside a target outside of it: \
      extract-NAME-TARGET-TIME.journal for NAME.graphql. --resume continues an interrupted run, and --only failed requests the pages that failed. \
      `tables` in a batch manifest does the same for many rows and on several machines.

      EXAMPLES
        gqlrun extract orders.graphql -e http://127.0.0.1:8080/graphql \\
          --to sqlite:orders.db
        gqlrun extract orders.graphql -e http://127.0.0.1:8080/graphql \\
          --to tables/ --format csv
        gqlrun extract orders.graphql -e http://127.0.0.1:8080/graphql \\
          --to sqlite:orders.db --since updatedAt=since
        gqlrun extract orders.graphql -e http://127.0.0.1:8080/graphql --dry-run
        gqlrun extract orders.graphql -e http://127.0.0.1:8080/graphql \\
          --to 'postgres:///shop?host=/run/postgresql'
      """)

  enum Format: String, ExpressibleByArgument, CaseIterable {
    case csv, ndjson
  }

  enum Bulk: String, ExpressibleByArgument, CaseIterable {
    case shopify
  }

  @ArgumentParser.Argument(
    help:
      "GraphQL document: a file, - for standard input, or a text such as '{ customers { nodes { name } } }'."
  )
  var document: String?

  // Without the short name, which is that of --quiet, as in `batch run`.
  @Option(help: ArgumentHelp("The text of the document, instead of a file.", valueName: "text"))
  var query: String?

  @Option(
    help: ArgumentHelp(
      "Where the tables are: a SQLite file, a folder of files, or a PostgreSQL database. Required without --dry-run.",
      valueName: "sqlite:FILE|FOLDER/|postgres://…"))
  var to: String?

  @Option(help: ArgumentHelp("Format of the files in a folder.", valueName: "format"))
  var format: Format?

  @OptionGroup var endpointOptions: EndpointArguments
  @OptionGroup var requestOptions: RequestOptions
  @OptionGroup var trustOptions: TrustOptions
  @OptionGroup var operationOptions: OperationOptions
  @OptionGroup var metrics: MetricsOptions

  @Option(
    help: ArgumentHelp(
      "Name of a table, instead of the one by response keys. May be repeated.",
      valueName: "table=name"))
  var `as`: [String] = []

  @Option(
    help: ArgumentHelp(
      "Table whose objects may be in the lists of several parents; each pair is a row. May be repeated.",
      valueName: "table"))
  var shared: [String] = []

  @Option(
    help: ArgumentHelp(
      "Request only what has changed since the last complete run: the variable gets the highest value of a "
        + "field of the first level, such as updatedAt=since.",
      valueName: "field=variable"))
  var since: String?

  @Option(
    help: ArgumentHelp(
      "Maximum number of connections whose next pages are one request; by default 20.",
      valueName: "n"))
  var pack: Int?

  @Option(
    help: ArgumentHelp(
      "Number of requests in flight; by default 16. Without --rate-limit it adapts to the server.",
      valueName: "n"))
  var concurrency: Int?

  @Option(
    help: ArgumentHelp(
      "Requests per time, such as 50/s, or the format in which the server reports its budget. May be repeated.",
      valueName: "50/s|headers|github|shopify"))
  var rateLimit: [String] = []

  @Option(help: ArgumentHelp("Read all rows through a bulk operation.", valueName: "shopify"))
  var bulk: Bulk?

  @Flag(
    help: "Succeed, with a warning, if the server refuses pages for good; their rows are missing.")
  var allowPartial = false

  @Flag(help: "Continue the newest run of the document; start one if there is none.")
  var resume = false

  @Option(
    help: ArgumentHelp(
      "Request only the pages that failed in the newest run.", valueName: "failed"))
  var only: BatchRunCommand.Selection?

  @Flag(
    help: """
      Replace files that earlier runs of this document did not create, and write into tables of a SQLite file that no \
      run created.
      """
  )
  var overwrite = false

  @Flag(
    help:
      "Write nothing; print tables, columns, how each connection continues, and the least number of requests."
  )
  var dryRun = false

  @Flag(name: .shortAndLong, help: "Log the steps of requests; -vv logs more.")
  var verbose: Int

  @Flag(name: .shortAndLong, help: "Print no notes, progress and summary.")
  var quiet = false

  func validate() throws {
    try DocumentOptions.check(document, query: query)
    try ConcurrencyOptions.check(concurrency)
    if let pack, !(1...1000).contains(pack) {
      throw ValidationError("--pack takes a number from 1 to 1000")
    }
    for text in rateLimit where Extraction.rateLimit(text, option: "--rate-limit") == nil {
      throw ValidationError(
        "--rate-limit \(text): this is no rate and no format of a budget; write a rate such as 50/s, 600/m or 5000/h, or "
          + "headers, github or shopify")
    }
    let limits = rateLimit.compactMap { Extraction.rateLimit($0, option: "--rate-limit")?.key }
    if Set(limits).count < limits.count {
      throw ValidationError(
        "--rate-limit takes one rate and one format of a budget; leave out the others")
    }
    guard to != nil || dryRun else {
      throw ValidationError(
        "--to is missing: write --to sqlite:FILE, --to FOLDER/ --format csv, or --to postgres://…; "
          + "--dry-run shows the tables without writing any")
    }
    if dryRun, resume || only != nil {
      throw ValidationError(
        "--dry-run shows what a new run sends; leave out \(resume ? "--resume" : "--only failed")")
    }
    if resume, only != nil {
      throw ValidationError("--resume requests the failed pages, too; leave out --only failed")
    }
  }

  func run() async throws {
    let target = try self.target()
    let source = try DocumentOptions.source(document, query: query)
    var pipeline = try endpointOptions.load(
      request: requestOptions, trust: trustOptions, usesProject: true, isQuiet: quiet,
      standard: ManifestLoader.defaultPipeline)
    try operationOptions.checkStandardInput(
      source, pipeline, others: requestOptions.readsStandardInput ? ["-"] : [])
    let bytes = try source.bytes()
    // What is no document is an error before the schema is fetched.
    _ = try Input.document(bytes, named: source.label)
    let schema = try await self.schema(&pipeline)
    let operation = try operationOptions.prepare(
      bytes, named: source.label, rules: pipeline.keys, schema: schema, isSent: true)
    let manifest = try manifest(
      operation, source: source, target: target, pipeline: pipeline)
    try await dryRun ? preview(manifest) : extract(manifest)
  }

  /// The target; `nil` for a preview without one.
  private func target() throws(Failure) -> ExtractTarget? {
    guard let to else {
      guard format == nil else { throw Failure(.usage, "--format is for files; add --to FOLDER/") }
      return nil
    }
    let target = try ExtractTarget(to)
    if case .folder = target {
      guard format != nil else { throw ExtractTarget.lacksFormat(to) }
    } else if format != nil {
      throw Failure(
        .usage,
        "--format is for the files of a folder; leave it out with --to \(ExtractTarget.shown(to))")
    }
    if !dryRun { try target.check() }
    return target
  }

  /// The schema of the options, of the pipeline or of the endpoint, whose key rules are added to those of the pipeline.
  /// `nil` if the endpoint has none.
  private func schema(_ pipeline: inout Pipeline) async throws -> Schema? {
    let files = operationOptions.schemaFiles(pipeline)
    var schema: Schema?
    (pipeline.keys, schema) = try SchemaFile.rules(
      of: pipeline, schema: files, flags: operationOptions.keys)
    guard files.isEmpty else { return schema }
    do {
      let fetched = try await SchemaFetch.schema(of: pipeline).schema
      pipeline.keys = try SchemaFile.rules(
        pipeline.keys, of: fetched, pipeline: nil, flags: operationOptions.keys)
      return fetched
    } catch {
      let failure = Failure(describing: error)
      // The request for the rows would fail, too.
      let isEnd: [Failure.Status] = [.unreachable, .tryLater, .authentication, .interrupted]
      if isEnd.contains(failure.status) { throw error }
      if !quiet {
        Terminal.hint(
          "no schema: \(failure.message); the tables follow the shape of the document, and columns have no types; "
            + "--schema FILE names a schema")
      }
      return nil
    }
  }

  // MARK: The manifest

  private func manifest(
    _ operation: PreparedOperation, source: DocumentSource, target: ExtractTarget?,
    pipeline: Pipeline
  ) throws -> Manifest {
    var extraction = Extraction(operation, documentName: source.label, pipeline: pipeline)
    try setTables(of: &extraction)
    extraction.documentPath = source.path.flatMap { $0 == "-" ? nil : $0 }
    extraction.namesPipeline = endpointOptions.pipeline != nil
    switch target {
    case .sqlite(let path)?: extraction.place(at: path, isFile: true, option: "--to")
    case .folder(let path)?: extraction.place(at: path, isFile: false, option: "--to")
    case .postgres(let url)?: extraction.place(inDatabase: url, option: "--to")
    // A preview needs none.
    case nil: extraction.place(at: "tables.db", isFile: true, option: "--to")
    }
    extraction.concurrency = concurrency.map {
      ("concurrency", .number(JSONNumber($0)), "--concurrency")
    }
    extraction.rateLimit = rateLimit.compactMap {
      Extraction.rateLimit($0, option: "--rate-limit")
    }
    do throws(PipelineDiagnostics) {
      let loaded = try extraction.load()
      if !quiet {
        for warning in loaded.warnings.all {
          // Notes about the document, such as totals that no table has.
          let print = warning.code == .path ? Terminal.hint : Terminal.warning
          print(Self.text(warning))
        }
      }
      return loaded.manifest
    } catch {
      throw Failure(.badInput, error.errors.map(Self.text).joined(separator: "\n"))
    }
  }

  /// A diagnostic with the option that it is about, if there is one.
  private static func text(_ diagnostic: PipelineDiagnostic) -> String {
    let option = diagnostic.location.file
    let text =
      (option.hasPrefix("--") ? "\(option): " : "") + diagnostic.message
      + (diagnostic.hint.map { "; \($0)" } ?? "")
    // The keys of a manifest.
    return text.replacing("`allow_partial: true`", with: "--allow-partial")
  }

  /// Adds the keys of `tables`.
  private func setTables(of extraction: inout Extraction) throws {
    extraction.add("format", format.map { .string($0.rawValue) }, option: "--format")
    var names = JSONObject()
    for text in self.as {
      let (table, name) = try Self.pair(
        text, of: "--as", form: "table=name, such as --as customers_orders=orders")
      guard names[table] == nil else {
        throw Failure(.usage, "--as gives the table \(table) two names; leave one out")
      }
      names[table] = .string(name)
    }
    extraction.add("as", names.isEmpty ? nil : .object(names), option: "--as")
    let shared = shared.map { JSONValue.string($0) }
    extraction.add("shared", shared.isEmpty ? nil : .array(shared), option: "--shared")
    extraction.add("pack", pack.map { .number(JSONNumber($0)) }, option: "--pack")
    if let since {
      let (path, variable) = try Self.pair(
        since, of: "--since", form: "field=variable, such as --since updatedAt=since")
      extraction.add(
        "since", ["path": .string(path), "variable": .string(variable)], option: "--since")
    }
    extraction.add(
      "allow_partial", allowPartial ? .boolean(true) : nil, option: "--allow-partial")
    extraction.add("bulk", bulk.map { .string($0.rawValue) }, option: "--bulk")
  }

  private static func pair(
    _ text: String, of option: String, form: String
  ) throws(Failure) -> (String, String) {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty else {
      throw Failure(.usage, "cannot read \(option) \(text); write \(option) \(form)")
    }
    return (String(parts[0]), String(parts[1].hasPrefix("$") ? parts[1].dropFirst() : parts[1]))
  }
}
