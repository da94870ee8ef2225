import ArgumentParser
import GQLRunCache
import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline

/// The options that select an operation, its variables and its key fields.
struct OperationOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp("Name of the operation, if the document has several.", valueName: "name"))
  var operation: String?

  @Option(
    help: ArgumentHelp(
      "JSON or YAML (.yaml, .yml) file with the variables; - is JSON on standard input.",
      valueName: "file"))
  var variables: String?

  @Option(
    name: .customLong("var"),
    help: ArgumentHelp(
      "Variable, parsed as its declared type, or a part of one, such as input.tags.0=new; name:=value "
        + "takes JSON. Overrides --variables. May be repeated.",
      valueName: "name=value"))
  var assignments: [String] = []

  @Option(
    name: .customLong("var-file"),
    help: ArgumentHelp(
      "Variable, or a part of one, whose text is read from a file. May be repeated.",
      valueName: "name=file"))
  var fileAssignments: [String] = []

  @Option(
    help: ArgumentHelp(
      "Key fields of a type, instead of id. May be repeated, once for each type.",
      valueName: "Type=field,field"))
  var keys: [String] = []

  @Option(
    help: ArgumentHelp(
      "Schema: type definitions, or the JSON result of an introspection query; adds key fields to the "
        + "operation. May be repeated.",
      valueName: "file"))
  var schema: [String] = []

  /// The variables of the file, including undeclared ones.
  private func variablesOfFile() throws -> JSONObject {
    guard let variables else { return JSONObject() }
    let value: JSONValue
    if [".yaml", ".yml"].contains(where: { variables.lowercased().hasSuffix($0) }) {
      do {
        value = try YAMLValues.value(
          of: Input.bytes(variables, "the variables file"), file: Input.label(variables))
      } catch let error as PipelineDiagnostics {
        error.show()
        throw Failure(.badInput, "")
      }
    } else {
      value = try Input.json(variables, "the variables file")
    }
    guard case .object(let object) = value else {
      throw Failure(
        .badInput,
        "\(Input.label(variables)): the variables are no JSON object; write one such as "
          + #"{"code": "DE"}"#)
    }
    return object
  }

  /// The given variables, parsed as the types that the operation declares.
  ///
  /// - Parameter values: The variables instead of those of the file.
  /// - Returns: The variables that can be read, and the errors of the others.
  private func givenVariables(
    _ document: Document, _ schema: Schema?, given values: JSONObject?
  ) throws -> (values: JSONObject, problems: [CacheError]) {
    var result = try values ?? variablesOfFile()
    guard !assignments.isEmpty || !fileAssignments.isEmpty else { return (result, []) }
    let reader = try VariableReader(
      document: document, operationName: operation, schema: schema)
    var whole: [String: String] = [:]
    var parts: [(path: VariablePath, option: String, value: JSONValue)] = []
    var problems: [CacheError] = []
    func add(
      _ name: String, option: String, read: (VariablePath) throws(CacheError) -> JSONValue
    ) {
      let path = VariablePath(name)
      if path.isWhole { whole[name] = option }
      do throws(CacheError) {
        let value = try read(path)
        if path.isWhole { result[name] = value } else { parts.append((path, option, value)) }
      } catch {
        problems.append(error)
      }
    }
    for assignment in assignments {
      let (name, text) = try Self.parts(
        of: assignment, "--var", "name=value, such as --var first=10")
      if name.hasSuffix(":") {
        let name = String(name.dropLast())
        let json = try Self.json(text, of: name)
        add(name, option: "--var \(name):=") { path throws(CacheError) in
          try reader.value(json, at: path)
        }
      } else {
        add(name, option: "--var \(name)=") { path throws(CacheError) in
          try reader.value(ofText: text, at: path)
        }
      }
    }
    for assignment in fileAssignments {
      let (name, path) = try Self.parts(
        of: assignment, "--var-file", "name=file, such as --var-file body=post.txt")
      let bytes = try Input.bytes(path, "the value of $\(name)")
      guard let text = String(validating: bytes, as: UTF8.self) else {
        throw Failure(.badInput, "\(Input.label(path)): the value of $\(name) is not UTF-8 text")
      }
      add(name, option: "--var-file \(name)=") { path throws(CacheError) in
        try reader.value(ofText: text, at: path, readsJSON: false)
      }
    }
    // In their order, so that each element extends its list by one; equal paths remain in the given order.
    for part in parts.enumerated().sorted(by: { ($0.1.path, $0.0) < ($1.1.path, $1.0) }) {
      let (path, option, value) = part.element
      if let other = whole[path.name] {
        throw Failure(
          .usage,
          "\(option)… sets a part of $\(path.name), and \(other)… sets all of it; leave one out, or "
            + "put the part into the JSON of --var \(path.name):=…")
      }
      do throws(CacheError) { try result.set(value, at: path) } catch { problems.append(error) }
    }
    return (result, problems)
  }

  private static func json(_ text: String, of name: String) throws -> JSONValue {
    do {
      return try JSONValue(parsing: text)
    } catch {
      throw Failure(
        .badInput,
        "--var \(name):= takes JSON, found a text that is not JSON at byte \(error.offset): "
          + "\(error.message); write --var \(name)=TEXT for text")
    }
  }

  private static func parts(
    of assignment: String, _ option: String, _ form: String
  ) throws -> (name: String, value: String) {
    let parts = assignment.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty, parts[0] != ":" else {
      throw Failure(.usage, "cannot read \(option) \(assignment); write \(option) \(form)")
    }
    // Accepts `$` before the name, as in the document.
    return (String(parts[0].hasPrefix("$") ? parts[0].dropFirst() : parts[0]), String(parts[1]))
  }

  /// Prepares the operation of the document at `path` for execution.
  ///
  /// - Parameters:
  ///   - path: The document: a file, `-` for standard input, or its text.
  ///   - pipeline: Provides the key rules and, unless the options name one, the schema.
  ///   - others: The other files that the command reads.
  ///   - isSent: Whether the operation is sent to a server and must therefore be valid for the
  ///     schema.
  /// - Throws: ``Failure`` if a file, the operation or its variables are invalid.
  func prepare(
    _ path: String, pipeline: Pipeline? = nil, others: [String] = [], isSent: Bool = false
  ) throws -> PreparedOperation {
    try prepare(DocumentSource(path), pipeline: pipeline, others: others, isSent: isSent)
  }

  /// The files of the schema: those of the options, else that of the pipeline.
  func schemaFiles(_ pipeline: Pipeline?) -> [String] {
    schema.isEmpty ? [pipeline?.schema].compactMap { $0 } : schema
  }

  /// Prepares an operation of a document that may be on the command line; see ``prepare(_:pipeline:others:isSent:)``.
  ///
  /// - Parameter uploads: The paths of variables whose values are files.
  func prepare(
    _ source: DocumentSource, pipeline: Pipeline? = nil, others: [String] = [],
    uploads: [String] = [], isSent: Bool = false
  ) throws -> PreparedOperation {
    try checkStandardInput(source, pipeline, others: others)
    // Before the document: mistakes in options are reported without waiting for standard input.
    let (rules, schema) = try SchemaFile.rules(
      of: pipeline, schema: schemaFiles(pipeline), flags: keys)
    return try prepare(
      source.bytes(), named: source.label, rules: rules, schema: schema, uploads: uploads,
      isSent: isSent)
  }

  /// Throws if standard input is more than one file of the command.
  func checkStandardInput(
    _ source: DocumentSource, _ pipeline: Pipeline?, others: [String] = []
  ) throws {
    let schemas = schemaFiles(pipeline)
    let files = [source.path, variables].compactMap { $0 } + schemas + others
    guard files.count(where: { $0 == "-" }) < 2 else {
      throw Failure(.usage, "only one file can be - (standard input); name the others")
    }
  }

  /// Prepares an operation of the bytes of a document, with key rules and a schema that are loaded.
  ///
  /// - Parameter values: The variables instead of those of the file.
  func prepare(
    _ bytes: [UInt8], named name: String, rules: KeyRules, schema: Schema?, uploads: [String] = [],
    variables values: JSONObject? = nil, isSent: Bool = false
  ) throws -> PreparedOperation {
    let document = try Input.document(bytes, named: name)
    if isSent, let schema { try check(document, against: schema, bytes: bytes, name: name) }
    do {
      let (variables, problems) = try givenVariables(document, schema, given: values)
      let prepared = Result { () throws(CacheError) in
        try PreparedOperation(
          document: document, operationName: operation, variables: variables, uploads: uploads,
          keys: rules, facts: schema.map { TypeFacts($0) })
      }
      guard let problem = CacheError(all: problems) else { return try prepared.get() }
      guard case .failure(let error) = prepared, error.code == .invalidVariables else {
        throw problem
      }
      // A variable that could not be read is not also one that was not given.
      let known = Set(problems.compactMap(\.variableName))
      let others = error.single.filter {
        $0.variableName.map { !known.contains($0) } ?? true
      }
      throw CacheError(all: problems + others) ?? problem
    } catch let error as CacheError {
      var failure = Failure(error)
      failure.message = error.single.map { part in
        part.location.map { Input.located(part.message, at: $0, in: bytes, name: name) }
          ?? "\(name): \(part.message)\(part.variableRemedy)"
      }.joined(separator: "\n")
      if error.location == nil, error.code == .invalidOperation, operation == nil,
        document.operations.count > 1
      {
        failure.message += " with --operation"
      }
      throw failure
    }
  }

  /// Validates the operation and its fragments against the schema. Other definitions are not sent;
  /// a missing operation is reported elsewhere.
  private func check(
    _ document: Document, against schema: Schema, bytes: [UInt8], name: String
  ) throws {
    guard let chosen = try? document.operation(named: operation),
      let sent = try? document.reduced(to: chosen)
    else { return }
    let errors = sent.validateForClient(against: schema)
    guard !errors.isEmpty else { return }
    var lines = errors.prefix(20).map { error in
      error.locations.first.map {
        Input.located(error.message, at: $0, in: bytes, name: name)
      } ?? "\(name): \(error.message)"
    }
    if errors.count > 20 {
      lines.append("and \(errors.count - 20) more; gqlrun validate lists them")
    }
    throw Failure(.badInput, lines.joined(separator: "\n"))
  }
}

extension CacheError {
  /// The end of the message about a variable that was not given: the options that give it.
  fileprivate var variableRemedy: String {
    guard let missingType, missingType != "Upload", let variableName else { return "" }
    return "; pass it in the variables file or as --var \(variableName)=VALUE"
  }

  /// The name of the variable that the error is about.
  fileprivate var variableName: String? {
    guard let path, path.hasPrefix("variables.") else { return nil }
    return VariablePath(String(path.dropFirst("variables.".count))).name
  }
}
