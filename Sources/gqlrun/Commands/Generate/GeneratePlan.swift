import GQLRunCache
import GQLRunGenerator
import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline
import GQLRunPlugins

/// The inputs and outputs of one generation.
struct GeneratePlan {
  var schema: [String]
  var documents: [String]
  var output: String
  var schemaOutput: String?
  var manifest: String?
  var pipeline: String?
  var options: GeneratorOptions

  /// The files that the result depends on.
  var inputs: [String] { schema + documents + [pipeline].compactMap { $0 } }

  /// The texts of the generated files, by their paths.
  func files() throws -> GeneratedFolder {
    let schema = try SchemaFile.load(schema, edition: options.edition)
    let sources = try documents.map {
      (path: $0, text: try Input.bytes($0, "the document"))
    }
    let generator = Generator(schema: schema, options: options)
    for warning in generator.warnings { Terminal.warning(warning) }
    let generated: [GeneratedFile]
    do {
      generated = try generator.files(from: sources)
    } catch let error as GeneratorError {
      try report(error, sources).write(as: .human)
      throw Failure(.failed, "")
    }
    for warning in generated.flatMap(\.warnings) { Terminal.warning(warning) }
    var files = GeneratedFolder(generated, in: output, schemaOutput: schemaOutput)
    if let manifest {
      files.texts[manifest] = try manifestText(generated.compactMap(\.operation), schema)
    }
    return files
  }

  private func report(
    _ error: GeneratorError, _ sources: [(path: String, text: [UInt8])]
  ) -> FindingReport {
    FindingReport(
      findings: error.diagnostics.map {
        Finding(
          severity: .error, code: "GeneratorError", message: $0.message,
          location: Finding.Location(file: $0.file, location: $0.location))
      },
      sources: SourceFiles(
        sources.map { SourceFiles.File(name: $0.path, bytes: $0.text) }, edition: options.edition))
  }

  /// The operation manifest; its ids are the hashes of the texts that the pipeline sends.
  private func manifestText(
    _ operations: [GeneratedFile.Operation], _ schema: Schema
  ) throws -> String {
    let loaded = try pipeline.map {
      try PipelineFile.look(at: $0, environment: .gqlrun(endpoint: nil))
    }
    // Like a client: without a schema in its pipeline, it adds no fields that depend on one.
    let knowsSchema = loaded?.schema != nil
    let given = loaded?.keys ?? KeyRules()
    let keys =
      knowsSchema
      ? try SchemaFile.rules(given, of: schema, pipeline: loaded, flags: []) : given
    let facts = knowsSchema ? TypeFacts(schema) : nil
    let entries = try operations.map { operation in
      let document = try Document(parsing: operation.document)
      return OperationManifest.Operation(
        body: try PreparedOperation.sentDocument(
          of: document, operationName: operation.name, keys: keys, facts: facts),
        name: operation.name, type: try document.operation(named: operation.name).type)
    }
    return OperationManifest(operations: entries).apolloJSON.jsonText(pretty: true) + "\n"
  }
}

/// The settings of an `apollo-codegen-config.json` that have a counterpart.
///
/// https://www.apollographql.com/docs/ios/code-generation/codegen-configuration
struct ApolloConfiguration {
  /// The settings, with the keys of the project file.
  private(set) var values: [String: [String]] = [:]

  init(path: String) throws {
    let json = try Input.json(path, "the configuration of Apollo iOS")
    guard let input = json["input"] else {
      throw Failure(
        .badInput, "\(path): the configuration has no `input`; is it of Apollo iOS 1 or 2?")
    }
    values["schema"] = Self.list(input["schemaSearchPaths"]) ?? Self.list(input["schemaPath"])
    values["documents"] =
      Self.list(input["operationSearchPaths"]) ?? Self.list(input["searchPaths"]) ?? [
        "**/*.graphql"
      ]
    let schemaTypes = json["output"]?["schemaTypes"]
    values["output"] = Self.list(schemaTypes?["path"])
    let module = schemaTypes?["moduleType"]?.objectValue
    let embedded = module?["embeddedInTarget"]?["accessModifier"]?.stringValue
    values["access"] = [embedded ?? (module?["embeddedInTarget"] == nil ? "public" : "internal")]
    let strategies = json["options"]?["conversionStrategies"]
    if strategies?["enumCases"]?.stringValue == "none" { values["enum_cases"] = ["verbatim"] }
    if strategies?["fieldAccessors"]?.stringValue == "camelCase" { values["fields"] = ["camel"] }
    values["manifest"] = Self.list(json["operationManifest"]?["path"])
  }

  private static func list(_ value: JSONValue?) -> [String]? {
    value?.stringValue.map { [$0] } ?? value?.arrayValue?.compactMap(\.stringValue)
  }
}
