import ArgumentParser
import GQLRunLanguage
import GQLRunSupport

struct ValidateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "validate",
    abstract: "Validate documents against a schema.",
    discussion: """
      Validates each file separately; fragments may be in any of the files. Without a schema, only the \
      rules that need none are checked. Deprecated fields and operations without a name are warnings. \
      Exit code 1 if there are errors, 65 if a file cannot be read.

      --edition is for servers and tools of an older edition of the specification: what it lacks is an \
      error that names the edition it needs, such as `{ hero { } }` with --edition 2025.

      Without files, validates the project: schema and documents of the nearest graphql.config.yml, \
      .yaml or .json, or .graphqlrc, in the working directory or its parents.

      EXAMPLES
        gqlrun validate --schema schema.graphql 'src/**/*.graphql'
        gqlrun validate --schema schema.graphql country.graphql --format github
        gqlrun validate --schema schema.graphql country.graphql --edition 2025
        gqlrun validate
      """)

  @ArgumentParser.Argument(
    help: "GraphQL documents, or patterns such as 'src/**/*.graphql'; - is standard input.")
  var files: [String] = []

  @Option(
    help: ArgumentHelp(
      "Schema: type definitions, or the JSON result of an introspection query. May be repeated.",
      valueName: "file"))
  var schema: [String] = []

  @Option(help: "Format of the diagnostics.")
  var format = FindingFormat.human

  @Flag(help: "Omit warnings.")
  var noWarnings = false

  @OptionGroup var editionOptions: EditionOptions
  @OptionGroup var projectOptions: ProjectOptions

  func run() async throws {
    let edition = editionOptions.edition
    var total = FindingReport(findings: [], sources: SourceFiles([]))
    for project in try projects() {
      let schema =
        project.schema.isEmpty ? nil : try SchemaFile.load(project.schema, edition: edition)
      let documents = try DocumentSet(paths: project.documents, edition: edition)
      let report = documents.report(against: schema, warnings: !noWarnings)
      if format == .human {
        try report.write(as: .human)
        let checked =
          (project.name.map { "\($0): " } ?? "")
          + Quantity.count(documents.documents.count, "document")
          + (schema == nil ? ", without a schema" : "")
        Terminal.note("\(checked): \(report.summary.isEmpty ? "ok" : report.summary)")
      }
      total.findings += report.findings
    }
    if format != .human { try total.write(as: format) }
    if total.hasErrors { throw Failure(.failed, "") }
  }

  /// The projects to validate: the named files, with the named schema or that of their project;
  /// without files, all projects of the project file.
  private func projects() throws -> [Project] {
    guard files.isEmpty else {
      var schema = schema
      if schema.isEmpty, projectOptions.isGiven {
        schema = try projectOptions.projects().flatMap(\.schema)
      }
      return [Project(schema: schema, documents: try Project.expanded(files, without: schema))]
    }
    var projects = try projectOptions.projects()
    if !schema.isEmpty {
      for index in projects.indices { projects[index].schema = schema }
    }
    guard projects.contains(where: { !$0.documents.isEmpty }) else {
      throw Failure(
        .badInput,
        projects.contains(where: \.namesDocuments)
          ? "there is nothing to check: none of the documents that the project file names is there"
          : "the project file names no documents; add `documents: \"src/**/*.graphql\"`")
    }
    return projects
  }
}
