import ArgumentParser
import GQLRunLanguage

struct ValidateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "validate",
    abstract: "Check documents against a schema, before anything is sent.",
    discussion: """
      Every file is checked by itself; fragments are shared by all files named. Without a schema the \
      rules are checked that need none. Deprecated fields and operations without a name are warnings. \
      Exit code 1 when there are errors, 65 when a file cannot be read.

      Without files, the project's are checked: schema and documents of the nearest graphql.config.yml, \
      .yaml or .json, or .graphqlrc, from this folder upwards.

      EXAMPLES
        gqlrun validate --schema schema.graphql src/*.graphql
        gqlrun validate --schema schema.json query.graphql --format github
        gqlrun validate
      """)

  @ArgumentParser.Argument(
    help: "The documents, or patterns such as 'src/**/*.graphql'; - is standard input.")
  var files: [String] = []

  @Option(
    name: .long,
    help: ArgumentHelp(
      "The schema: type definitions, or the JSON of an introspection query. May be repeated.",
      valueName: "file"))
  var schema: [String] = []

  @Option(name: .long, help: "How findings are written: human, json or github.")
  var format = FindingFormat.human

  @Flag(name: .long, help: "Leave the warnings out.")
  var noWarnings = false

  @Option(
    name: .long,
    help: ArgumentHelp(
      "The project file, instead of the nearest graphql.config.* or .graphqlrc*.",
      valueName: "file"))
  var config: String?

  @Option(name: .long, help: "Only this project of a project file that has several.")
  var project: String?

  func run() async throws {
    try await reporting {
      var total = FindingReport(findings: [], sources: SourceFiles([]))
      for project in try projects() {
        let schema = project.schema.isEmpty ? nil : try SchemaFile.load(project.schema)
        let documents = try DocumentSet(paths: project.documents)
        let report = documents.report(against: schema, warnings: !noWarnings)
        if format == .human {
          try report.write(as: .human)
          let count = documents.documents.count
          let checked =
            (project.name.map { "\($0): " } ?? "") + "\(count) document\(count == 1 ? "" : "s")"
            + (schema == nil ? ", without a schema" : "")
          Terminal.note("\(checked): \(report.summary.isEmpty ? "ok" : report.summary)")
        }
        total.findings += report.findings
      }
      if format != .human { try total.write(as: format) }
      if total.hasErrors { throw Failure(.failed, "") }
    }
  }

  /// The projects to validate: the named files, with the named schema or that of their project;
  /// without files, all projects of the project file.
  private func projects() throws -> [Project] {
    guard files.isEmpty else {
      var schema = schema
      if schema.isEmpty, config != nil || project != nil {
        schema = try Project.load(config, named: project).flatMap(\.schema)
      }
      return [Project(schema: schema, documents: try Project.expanded(files))]
    }
    var projects = try Project.load(config, named: project)
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
