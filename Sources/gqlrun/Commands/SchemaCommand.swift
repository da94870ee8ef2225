import ArgumentParser
import GQLRun
import GQLRunCache
import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline
import GQLRunSupport

struct SchemaCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "schema",
    abstract: "Fetch schemas from servers, check, print and compare them.",
    discussion: """
      EXAMPLES
        gqlrun schema fetch -e http://127.0.0.1:8080/graphql -o schema.graphql
        gqlrun schema check schema.graphql
        gqlrun schema print schema.graphql
        gqlrun schema diff released.graphql schema.graphql
      """,
    subcommands: [Fetch.self, Check.self, Print.self, Diff.self])

  /// Where a schema is written.
  struct Destination: ParsableArguments {
    @Option(
      name: .shortAndLong,
      help: ArgumentHelp(
        "File to write instead of standard output, which is -; replaces a schema, another file with --overwrite.",
        valueName: "file"))
    var output: String?

    /// The file to write; `nil` is standard output.
    var file: String? { OutputFile.path(output) }

    @OptionGroup var replace: ReplaceOptions
  }

  struct Check: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "check",
      abstract: "Check a schema against the rules of the specification.",
      discussion: """
        Reads type definitions or the JSON result of an introspection query; several files with type \
        definitions form one schema. Harmless errors of published schemas are warnings. Exit code 1 if \
        there are errors, 65 if a file cannot be read.

        --edition is for servers and tools of an older edition of the specification: what it lacks is an \
        error that names the edition it needs, such as `directive @a @deprecated on FIELD` with --edition \
        2025.

        EXAMPLES
          gqlrun schema check schema.graphql
          gqlrun schema check schema.graphql --edition 2025 --format github
        """)

    @ArgumentParser.Argument(help: "Files of the schema; - is standard input.")
    var files: [String]

    @OptionGroup var editionOptions: EditionOptions

    @Option(help: "Format of the diagnostics.")
    var format = FindingFormat.human

    func run() async throws {
      let (schema, checked) = try SchemaFile.check(
        SchemaFile.files(files), edition: editionOptions.edition)
      var report = checked
      report.findings += (schema?.warnings ?? []).map { warning in
        Finding(
          severity: .warning, code: "SchemaWarning", message: warning.message,
          location: warning.location.map { report.sources.location($0) }
            ?? Finding.Location(file: files.map(Input.label).joined(separator: ", ")))
      }
      try report.write(as: format)
      if format == .human {
        let types = schema.map { Quantity.count($0.typeNames.count, "type") + ": " } ?? ""
        Terminal.note(types + (report.summary.isEmpty ? "ok" : report.summary))
      }
      if report.hasErrors { throw Failure(.failed, "") }
    }
  }

  struct Print: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "print",
      abstract: "Print a schema as type definitions (SDL).",
      discussion: """
        Reads type definitions or the JSON result of an introspection query; several files with type \
        definitions form one schema.

        EXAMPLE
          gqlrun schema print introspection.json -o schema.graphql
        """)

    @ArgumentParser.Argument(help: "Files of the schema; - is standard input.")
    var files: [String]

    @OptionGroup var destination: Destination

    func run() async throws {
      let contents = try SchemaFile.files(files)
      let schema = try SchemaFile.load(contents)
      let sources = SourceFiles(contents)
      for warning in schema.warnings.prefix(20) {
        let location = warning.location.map { sources.location($0).description } ?? contents[0].name
        Terminal.warning("\(location): \(warning.message)")
      }
      if schema.warnings.count > 20 {
        Terminal.warning("and \(schema.warnings.count - 20) more of the kind")
      }
      try SchemaCommand.write(
        schema.printed(), to: destination.file, replacing: destination.replace.replacing(.schema))
    }
  }

  struct Diff: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "diff",
      abstract: "Compare two schemas, and classify the changes by their effect on clients.",
      discussion: """
        A change is breaking (documents may become invalid, or responses change their shape), \
        dangerous (documents remain valid and may behave differently) or safe. Exit code 1 if a \
        change is breaking.

        A schema is a file or the http or https URL of an endpoint, whose schema is fetched as \
        by `schema fetch`: through the pipeline of --pipeline, or the default one, with the header \
        fields of --header.

        --operations leaves only the breaking and dangerous changes of what these operations use, such as \
        a removed field that one of them selects.

        --edition refuses schemas and operations with constructs that are newer than this edition of the \
        specification.

        EXAMPLES
          gqlrun schema diff released.graphql schema.graphql --format github
          gqlrun schema diff released.graphql schema.graphql --operations 'src/**/*.gql'
          gqlrun schema diff schema.graphql http://127.0.0.1:8080/graphql
          gqlrun schema diff released.graphql schema.graphql --edition 2025
        """)

    @ArgumentParser.Argument(
      help: "Earlier schema: type definitions, introspection JSON, or the URL of an endpoint.")
    var old: String

    @ArgumentParser.Argument(help: "Later schema: a file or a URL.")
    var new: String

    @OptionGroup var endpointOptions: EndpointArguments
    @OptionGroup var requestOptions: RequestOptions
    @OptionGroup var trustOptions: TrustOptions

    @Option(
      parsing: .upToNextOption,
      help: ArgumentHelp(
        "Documents, or patterns such as 'src/**/*.graphql'; only changes that concern them are reported.",
        valueName: "file"))
    var operations: [String] = []

    @OptionGroup var editionOptions: EditionOptions

    @Option(help: "Output format.")
    var format = FindingFormat.human

    private var edition: Edition { editionOptions.edition }

    func run() async throws {
      guard endpointOptions.endpoint == nil else {
        throw Failure(.usage, "schema diff has no --endpoint; pass the URL as OLD or NEW")
      }
      let before = try await schema(old)
      let after = try await schema(new)
      var changes = after.changes(from: before)
      if !operations.isEmpty {
        changes = before.changes(changes, concerning: try documents())
          .filter { $0.severity != .safe }
      }
      let file = Self.isURL(new) ? Endpoint.shownText(new) : new
      var diff = SchemaDiff(changes: changes, file: file)
      if format == .github, !Self.isURL(new) { diff.locations = try Self.locations(in: new) }
      try Terminal.write(diff.rendered(as: format))
      if changes.contains(where: { $0.severity == .breaking }) { throw Failure(.failed, "") }
    }

    /// The operations and fragments of all files.
    private func documents() throws -> Document {
      let set = try DocumentSet(
        paths: try Project.expanded(operations, without: [old, new]), edition: edition)
      guard set.syntaxErrors.isEmpty else {
        try FindingReport(findings: set.syntaxErrors, sources: set.sources).write(as: .human)
        throw Failure(.badInput, "")
      }
      return Document(definitions: set.documents.flatMap(\.definitions))
    }

    /// The source locations of the schema coordinates in a file with type definitions; none in another file.
    private static func locations(in path: String) throws -> [String: SourceLocation] {
      let bytes = try Input.bytes(path, "the schema")
      guard let document = try? Document(parsingUTF8: bytes) else { return [:] }
      var locations: [String: SourceLocation] = [:]
      func note(_ coordinate: String, _ location: SourceLocation) {
        if locations[coordinate] == nil { locations[coordinate] = location }
      }
      func note(_ arguments: [InputValueDefinition], of coordinate: String) {
        for argument in arguments {
          note("\(coordinate)(\(argument.name.value):)", argument.name.location)
        }
      }
      for case .typeSystem(let definition) in document.definitions {
        guard let name = definition.name else { continue }
        switch definition {
        case .directive(let directive):
          guard !directive.isExtension else { continue }
          note("@\(name.value)", name.location)
          note(directive.arguments, of: "@\(name.value)")
          continue
        case .object(let type): noteFields(type.fields)
        case .interface(let type): noteFields(type.fields)
        case .enumeration(let type):
          for value in type.values {
            note("\(name.value).\(value.name.value)", value.name.location)
          }
        case .inputObject(let type):
          for field in type.fields {
            note("\(name.value).\(field.name.value)", field.name.location)
          }
        case .schema, .scalar, .union: break
        }
        note(name.value, name.location)
        func noteFields(_ fields: [FieldDefinition]) {
          for field in fields {
            let coordinate = "\(name.value).\(field.name.value)"
            note(coordinate, field.name.location)
            note(field.arguments, of: coordinate)
          }
        }
      }
      return locations
    }

    private static func isURL(_ text: String) -> Bool {
      ["http://", "https://"].contains { text.lowercased().hasPrefix($0) }
    }

    private func schema(_ source: String) async throws -> Schema {
      guard Self.isURL(source) else { return try SchemaFile.load([source], edition: edition) }
      var options = endpointOptions
      options.endpoint = source
      return try await SchemaFetch.schema(
        of: options.load(request: requestOptions, trust: trustOptions), edition: edition
      ).schema
    }
  }

  struct Fetch: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "fetch",
      abstract: "Fetch the schema of a server.",
      discussion: """
        Sends the introspection query through the pipeline, with the authentication that it declares; \
        neither reads nor writes the cache. Without --endpoint, --pipeline and GQL_URL, the endpoint of \
        the project file is used. Writes the introspection result if the name of the file ends in \
        .json, otherwise type definitions (SDL).

        EXAMPLE
          gqlrun schema fetch --endpoint http://127.0.0.1:8080/graphql \\
            --header "Authorization: Bearer $TOKEN" -o schema.graphql
        """)

    @OptionGroup var endpointOptions: EndpointArguments
    @OptionGroup var requestOptions: RequestOptions
    @OptionGroup var trustOptions: TrustOptions

    @OptionGroup var destination: Destination

    func run() async throws {
      let output = destination.file
      let wantsJSON = output?.lowercased().hasSuffix(".json") ?? false
      let form = destination.replace.replacing(wantsJSON ? .introspection : .schema)
      if let output { try OutputFile.check(output, replacing: form) }
      let (schema, result) = try await SchemaFetch.schema(
        of: endpointOptions.load(
          request: requestOptions, trust: trustOptions, usesProject: true))
      for warning in schema.warnings.prefix(20) { Terminal.warning(warning.message) }
      try SchemaCommand.write(
        wantsJSON ? result.jsonText(pretty: true) + "\n" : schema.printed(), to: output,
        replacing: form)
      if let output {
        Terminal.note("\(output): \(Quantity.count(schema.typeNames.count, "type"))")
      }
    }
  }

  /// Writes a text, with a line end, to a file or to standard output.
  ///
  /// - Parameter form: The form of files that may be replaced.
  static func write(_ text: String, to path: String?, replacing form: OutputForm) throws {
    let text = text.hasSuffix("\n") ? text : text + "\n"
    guard let path else { return try Terminal.write(text) }
    try OutputFile.write(Array(text.utf8), to: path, replacing: form)
  }
}

/// The changes between two schemas.
struct SchemaDiff {
  var changes: [SchemaChange]
  /// The file of the newer schema.
  var file: String
  /// The source locations of its schema coordinates.
  var locations: [String: SourceLocation] = [:]

  /// The location of a change: what has changed or, if it was removed, what contained it.
  private func location(of change: SchemaChange) -> SourceLocation? {
    var coordinate = change.coordinate[...]
    while !coordinate.isEmpty {
      if let location = locations[String(coordinate)] { return location }
      coordinate = coordinate.lastIndex { "(.".contains($0) }.map { coordinate[..<$0] } ?? ""
    }
    return nil
  }

  func rendered(as format: FindingFormat) -> String {
    switch format {
    case .human: human()
    case .json: json()
    case .github: github()
    }
  }

  private var sorted: [SchemaChange] {
    SchemaChange.Severity.allCases.sorted().flatMap { severity in
      changes.filter { $0.severity == severity }
    }
  }

  private func human() -> String {
    guard !changes.isEmpty else { return "no changes\n" }
    return OrderedGroups(sorted, by: \.severity).all.map { severity, group in
      "\(severity.rawValue) (\(group.count))\n"
        + group.map { "  \(Terminal.safe($0.description))\n" }.joined()
    }.joined(separator: "\n")
  }

  private func json() -> String {
    sorted.map { change in
      [
        "severity": .string(change.severity.rawValue), "kind": .string(change.kind.rawValue),
        "description": .string(change.description),
      ]
    }.linePerElement
  }

  private func github() -> String {
    sorted.map { change in
      let level =
        switch change.severity {
        case .breaking: "error"
        case .dangerous: "warning"
        case .safe: "notice"
        }
      let line = location(of: change).map { [("line", "\($0.line)"), ("col", "\($0.column)")] }
      return QuotedText.githubCommand(
        level, properties: [("file", file)] + (line ?? []) + [("title", change.kind.rawValue)],
        text: change.description)
    }.joined()
  }
}

/// Fetches a server's schema by introspection, with the full query first, then with the one that
/// all servers support. Deprecated directives are selected from servers that have them.
struct SchemaFetch: Sendable {
  let client: PipelineClient

  /// The schema of a pipeline's endpoint, and the introspection result that it was made from.
  static func schema(
    of pipeline: Pipeline, edition: Edition = .newest
  ) async throws -> (schema: Schema, result: JSONValue) {
    var pipeline = pipeline
    // Leaves the pipeline's database unchanged.
    pipeline.store = StoreConfiguration(kind: .memory)
    // Failures are reported once, at the end.
    let client = try await PipelineClient.open(
      pipeline, logger: RunLog.logger(verbosity: 0, isQuiet: true))
    let result = try await Interruption.run {
      try await client.shutdown { try await SchemaFetch(client: $0).result() }
    }
    do {
      return (try Schema(introspection: IntrospectionValue(result), edition: edition), result)
    } catch {
      throw Failure(
        .failed,
        "the endpoint answers with a schema that cannot be used:\n"
          + error.issues.prefix(20).map(\.description).joined(separator: "\n"))
    }
  }

  /// The `data` of the response.
  func result() async throws -> JSONValue {
    let refusal: String
    do {
      return try await withDeprecatedDirectives(ask(.complete))
    } catch let error as Refusal where error.isAboutIntrospection {
      throw Self.failure(error.message, isOff: true)
    } catch let error as Refusal {
      refusal = error.message
    }
    do {
      return try await ask(IntrospectionQuery())
    } catch let error as Refusal {
      throw Self.failure(
        error.message.isEmpty ? refusal : error.message, isOff: error.isAboutIntrospection)
    }
  }

  /// The result of the query of the newest edition, if the server is of that edition.
  private func withDeprecatedDirectives(_ result: JSONValue) async throws -> JSONValue {
    let schema = try? Schema(introspection: IntrospectionValue(result))
    guard let edition = schema?.serverEdition, edition >= .september2026 else { return result }
    do {
      return try await ask(.september2026)
    } catch is Refusal {
      return result
    }
  }

  /// The server refuses the introspection query.
  struct Refusal: Error {
    var message: String

    /// Whether the message is about introspection.
    var isAboutIntrospection: Bool { message.lowercased().contains("introspect") }
  }

  static func failure(_ message: String, isOff: Bool) -> Failure {
    let said = message.isEmpty ? "" : ": \(message)"
    return Failure(
      .graphQLErrors,
      isOff
        ? "introspection is turned off at the endpoint\(said); try with credentials (--header), or "
          + "ask its owner for the schema as a file"
        : "the endpoint refuses the introspection query\(said)")
  }

  private func ask(_ query: IntrospectionQuery) async throws -> JSONValue {
    let operation = try PreparedOperation(
      document: Document(parsing: query.text), operationName: IntrospectionQuery.operationName,
      // The parts of a schema have no identity.
      keys: KeyRules(default: []))
    let request = GraphQLRequest(operation, cachePolicy: .noCache)
    do {
      var last: GraphQLResponse?
      for try await response in client.execute(request) { last = response }
      guard let last else { throw Refusal(message: "") }
      return try Self.schema(in: last)
    } catch let error as ChainError where error.http?.status == 400 || error.layer == .graphQL {
      let body = String(decoding: error.http?.bodyPrefix ?? [], as: UTF8.self)
      let errors = error.graphQLErrors.map(\.message).joined(separator: "; ")
      throw Refusal(
        message: errors.isEmpty
          ? (Self.messages(in: body) ?? "\(error.message) \(body.prefix(200))") : errors)
    }
  }

  private static func schema(in response: GraphQLResponse) throws -> JSONValue {
    let data = try response.data.map { try JSONValue(parsing: $0.bytes()) } ?? .null
    if response.errors.isEmpty, data["__schema"]?.objectValue != nil { return data }
    let messages = response.errors.map(\.message).joined(separator: "; ")
    throw Refusal(
      message: messages.isEmpty ? "introspection has no answer (`__schema` is null)" : messages)
  }

  /// The error messages in the body of a response that its status marks as not being GraphQL.
  private static func messages(in body: String) -> String? {
    guard let errors = (try? JSONValue(parsing: body))?["errors"]?.arrayValue, !errors.isEmpty
    else { return nil }
    return errors.map { GraphQLError($0).message }.joined(separator: "; ")
  }
}
