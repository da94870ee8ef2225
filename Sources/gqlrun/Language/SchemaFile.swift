import GQLRunCache
import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline

/// Loads schemas from files: type definitions, or the JSON of an introspection query.
enum SchemaFile {
  /// Loads the schema at `paths`. Several files with type definitions are combined.
  ///
  /// - Parameters:
  ///   - paths: The files; `-` for standard input.
  ///   - edition: The edition that the schema must follow.
  /// - Throws: ``Failure`` with all errors and their source locations.
  static func load(_ paths: [String], edition: Edition = .newest) throws -> Schema {
    try load(files(paths), edition: edition)
  }

  /// The bytes of the files at `paths`.
  static func files(_ paths: [String]) throws -> [SourceFiles.File] {
    try paths.map {
      SourceFiles.File(name: Input.label($0), bytes: try Input.bytes($0, "the schema"))
    }
  }

  static func load(_ files: [SourceFiles.File], edition: Edition = .newest) throws -> Schema {
    let (schema, report) = try check(files, edition: edition)
    guard let schema else { throw failure(report) }
    return schema
  }

  /// The schema of files; `nil` if it has errors, which the report has with their source locations.
  ///
  /// - Throws: ``Failure`` if an introspection result cannot be read.
  static func check(
    _ files: [SourceFiles.File], edition: Edition
  ) throws -> (schema: Schema?, report: FindingReport) {
    var report = FindingReport(findings: [], sources: SourceFiles(files, edition: edition))
    let introspection = files.first { Schema.isIntrospection($0.bytes) }
    if let introspection, files.count > 1 {
      throw Failure(
        .badInput,
        "\(introspection.name) is an introspection result; it is a whole schema by itself")
    }
    let value = try introspection.map {
      IntrospectionValue(try Input.json($0.bytes, "the introspection result", named: $0.name))
    }
    let sources = report.sources
    if files.count > 1 {
      report.findings = syntaxErrors(of: sources)
      guard report.findings.isEmpty else { return (nil, report) }
    }
    do {
      if let value { return (try Schema(introspection: value, edition: edition), report) }
      // Errors at the end of a single file must not be located after it.
      let document =
        files.count == 1
        ? try Document(
          parsingUTF8: sources.files[0].bytes, options: ParseOptions(edition: edition))
        : try sources.document()
      if let error = document.schemaError { throw error }
      return (try Schema(sdl: document, edition: edition), report)
    } catch let error as GraphQLSyntaxError {
      report.findings = [finding(error, sources.location(error.location))]
      return (nil, report)
    } catch let error as SchemaError {
      report.findings = error.issues.map { issue in
        Finding(
          severity: .error, code: "SchemaError", message: issue.message,
          location: issue.location.map { sources.location($0) }
            ?? Finding.Location(file: files.map(\.name).joined(separator: ", ")),
          related: issue.locations.dropFirst().map { sources.location($0) })
      }
      return (nil, report)
    }
  }

  /// The key rules of operations, and the schema that completes them.
  ///
  /// - Parameters:
  ///   - pipeline: Provides the rules and, without `paths`, the schema.
  ///   - paths: The files of the schema.
  ///   - flags: The values of `--keys`.
  /// - Throws: ``Failure`` if a rule or the schema is invalid.
  static func rules(
    of pipeline: Pipeline?, schema paths: [String] = [], flags: [String] = []
  ) throws -> (keys: KeyRules, schema: Schema?) {
    var keys = pipeline?.keys ?? KeyRules()
    try keys.add(flags: flags)
    let paths = paths.isEmpty ? [pipeline?.schema].compactMap { $0 } : paths
    guard !paths.isEmpty else { return (keys, nil) }
    let schema = try load(paths)
    return (try rules(keys, of: schema, pipeline: pipeline, flags: flags), schema)
  }

  /// Combines the given rules with those of the schema's directives, and warns about differences.
  ///
  /// - Parameters:
  ///   - pipeline: The source of the given rules; a rule that the schema does not fit is an error.
  ///   - flags: The values of `--keys`, which are also validated against the schema.
  static func rules(
    _ given: KeyRules, of schema: Schema, pipeline: Pipeline?, flags: [String]
  ) throws -> KeyRules {
    if let found = pipeline?.ruleDiagnostics(against: schema), !found.all.isEmpty {
      throw found
    }
    let check = RuleCheck(schema)
    for flag in flags {
      var rules = KeyRules(default: [], types: [:])
      try rules.add(rule: flag)
      for (type, fields) in rules.types {
        guard let problem = check.keys(fields, of: type).first else { continue }
        throw Failure(
          .usage, "--keys \(flag): \(problem.message)" + (problem.hint.map { "; \($0)" } ?? ""))
      }
    }
    let (rules, warnings) = given.joined(with: schema)
    for warning in warnings.prefix(20) { Terminal.warning(warning) }
    return rules
  }

  /// The syntax errors of files that cannot be parsed.
  static func syntaxErrors(of sources: SourceFiles) -> [Finding] {
    sources.syntaxErrors.map { file, error in
      finding(error, Finding.Location(file: file.name, location: error.location))
    }
  }

  private static func finding(_ error: GraphQLSyntaxError, _ location: Finding.Location) -> Finding
  {
    Finding(severity: .error, code: "SyntaxError", message: error.message, location: location)
  }

  private static func failure(_ report: FindingReport) -> Failure {
    Failure(.badInput, String(report.human().dropLast()))
  }
}

extension KeyRules {
  /// Adds the values of `--keys`.
  mutating func add(flags: [String]) throws {
    var named: [String: String] = [:]
    for flag in flags {
      do { try add(rule: flag) } catch { throw Failure(.usage, "--keys: \(error)") }
      let type = String(flag.prefix { $0 != "=" })
      if let earlier = named.updateValue(flag, forKey: type), earlier != flag {
        throw Failure(
          .usage,
          "--keys names the key fields of \(type) twice; write them once, as --keys \(type)=field,field"
        )
      }
    }
  }
}
