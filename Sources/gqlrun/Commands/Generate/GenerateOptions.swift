public import ArgumentParser
import Foundation
public import GQLRunGenerator
import GQLRunLanguage
import GQLRunPipeline
import GQLRunSupport

extension GeneratorOptions.Access: ExpressibleByArgument {}
extension GeneratorOptions.Naming: ExpressibleByArgument {}
extension GeneratorOptions.Conformance: ExpressibleByArgument {}

/// What to generate and how: options, which override the project file.
struct GenerateOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Schema: type definitions, or the JSON result of an introspection query. May be repeated.",
      valueName: "file"))
  var schema: [String] = []

  @Option(
    parsing: .upToNextOption,
    help: ArgumentHelp(
      "GraphQL documents, or patterns such as 'operations/**/*.graphql'.", valueName: "file"))
  var documents: [String] = []

  @Option(name: .shortAndLong, help: ArgumentHelp("Folder of the files.", valueName: "folder"))
  var output: String?

  @Option(help: "Access level of the types; internal by default.")
  var access: GeneratorOptions.Access?

  @Option(help: "Names of properties; verbatim by default.")
  var fields: GeneratorOptions.Naming?

  @Option(help: "Names of enum cases; camel by default.")
  var enumCases: GeneratorOptions.Naming?

  @Option(
    help: ArgumentHelp(
      "Swift type of a custom scalar, such as Moment=Date; String by default, except for known names such as DateTime, "
        + "JSON and UUID. May be repeated.",
      valueName: "Scalar=Type"))
  var scalar: [String] = []

  @Option(
    name: .customLong("import"),
    help: ArgumentHelp("Module with types of scalars. May be repeated.", valueName: "module"))
  var imports: [String] = []

  @Option(help: "Protocol that all types conform to. May be repeated.")
  var conformance: [GeneratorOptions.Conformance] = []

  @Option(
    help: ArgumentHelp(
      "Module of the schema's types, if they are in another target than the operations.",
      valueName: "module"))
  var schemaModule: String?

  @Option(
    help: ArgumentHelp("Folder of the schema's types; needs --schema-module.", valueName: "folder"))
  var schemaOutput: String?

  @Option(
    help: ArgumentHelp(
      "Operation manifest to write, with the ids that a pipeline sends.", valueName: "file"))
  var manifest: String?

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      "Pipeline file whose keys and schema determine the ids of --manifest; without it, the default pipeline.",
      valueName: "file"))
  var pipeline: String?

  @Option(
    help: ArgumentHelp(
      "Edition of the GraphQL specification: schemas and documents with a newer construct are errors; 2026 by default.",
      valueName: "year"))
  var edition: Edition?

  @Option(
    help: ArgumentHelp(
      "Configuration of Apollo iOS to begin with: apollo-codegen-config.json.", valueName: "file"))
  var fromApollo: String?

  func validate() throws {
    for (option, path) in [
      ("--output", output), ("--schema-output", schemaOutput), ("--manifest", manifest),
    ] where path?.isEmpty == true {
      throw ValidationError("the path of \(option) is empty")
    }
    guard schemaOutput == nil || schemaModule != nil else {
      throw ValidationError("--schema-output needs --schema-module, the module of that folder")
    }
  }

  /// One plan, or one for each selected project of the project file that has settings.
  func plans(of projectOptions: ProjectOptions) throws -> [GeneratePlan] {
    if let fromApollo {
      let apollo = try ApolloConfiguration(path: fromApollo)
      return [try plan(apollo.values, file: fromApollo, nil)]
    }
    if !schema.isEmpty, !documents.isEmpty, !projectOptions.isGiven {
      return [try plan([:], file: "", nil)]
    }
    guard let file = try Project.file(projectOptions.config, isQuiet: true) else {
      throw Failure(
        .usage,
        "there is nothing to generate from: name --schema and --documents, or describe the project in "
          + "a file \(ProjectFile.names[0])")
    }
    let projects = try Project.load(file.path, named: projectOptions.project)
    return try projects.filter { $0.generation != nil || projects.count == 1 }.map {
      try plan(
        $0.generation?.values.mapValues { $0.map(\.value) } ?? [:], file: file.path, $0)
    }
  }

  /// - Parameter file: The file with the values; empty if there is none.
  private func plan(
    _ values: [String: [String]], file: String, _ project: Project?
  ) throws -> GeneratePlan {
    let folder = file.contains("/") ? FilePath.folder(of: file) : ""
    func path(_ key: String) throws -> String? {
      guard let text = values[key]?.first else { return nil }
      let path = folder.isEmpty || text.hasPrefix("/") ? text : "\(folder)/\(text)"
      // A repository that was cloned must not write where programs look for their settings.
      guard FilePath.isInRepository(path, of: file) else {
        throw Failure(
          .badInput,
          "\(file) names \(path), outside of its repository, for `\(key)`; write it there with "
            + "--\(key.replacing("_", with: "-"))")
      }
      return path
    }
    func inFolder(_ key: String) -> [String] {
      let patterns = values[key] ?? []
      let base = folder.isEmpty ? FileManager.default.currentDirectoryPath : folder
      return ProjectFile.files(patterns, in: base).files
    }
    guard let output = try output ?? path("output") else {
      throw Failure(
        .usage,
        "there is no folder to write to; name it with --output, or as `output` of "
          + "`extensions.gqlrun` in the project file")
    }
    let schema = schema.isEmpty ? project?.schema ?? inFolder("schema") : schema
    let documents =
      try documents.isEmpty
      ? project?.documents ?? inFolder("documents") : Project.expanded(documents, without: schema)
    guard !schema.isEmpty else {
      throw Failure(.usage, "there is no schema; name it with --schema")
    }
    guard !documents.isEmpty else {
      throw Failure(.usage, "there are no documents; name them with --documents")
    }
    var options = try self.options(values)
    options.workingFolder = FileManager.default.currentDirectoryPath
    options.folder =
      folder.isEmpty
      ? options.workingFolder : FilePath.resolve(folder, in: options.workingFolder)
    return GeneratePlan(
      schema: schema,
      // A schema file that a pattern of the documents matches is not a document.
      documents: FilePath.paths(documents, without: schema),
      output: output,
      schemaOutput: try schemaOutput ?? path("schema_output"),
      manifest: try manifest ?? path("manifest"),
      pipeline: pipeline, options: options)
  }

  private func options(_ values: [String: [String]]) throws -> GeneratorOptions {
    var options = try GeneratorOptions(settings: values)
    if let access { options.access = access }
    if let fields { options.fields = fields }
    if let enumCases { options.enumCases = enumCases }
    if let schemaModule { options.schemaModule = schemaModule }
    if let edition { options.edition = edition }
    if !imports.isEmpty { options.imports = imports }
    do {
      for text in scalar { try options.map(scalar: text) }
      try options.checkModules()
    } catch {
      throw Failure(.usage, error.description)
    }
    if !conformance.isEmpty { options.conformances = Set(conformance) }
    return options
  }
}
