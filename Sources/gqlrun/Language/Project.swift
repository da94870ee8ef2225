import ArgumentParser
import Foundation
import GQLRunPipeline
import GQLRunSupport

/// The files of a project, as listed in its project file.
struct Project {
  /// The project's name; `nil` in a file with a single project.
  var name: String?
  var schema: [String]
  var documents: [String]
  /// Whether the project file lists documents, even if none match.
  var namesDocuments = true
  /// The settings of generated code; `nil` if the project file has none.
  var generation: ProjectFile.Generation?
}

extension Project {
  /// Loads the projects of the project file at `path`, or of the one in the working directory or
  /// its nearest parent.
  ///
  /// - Throws: ``Failure`` if the file does not exist, or its schema is not in files.
  static func load(_ path: String?, named name: String? = nil) throws -> [Project] {
    guard let file = try file(path) else {
      throw Failure(
        .usage,
        "there is nothing to check: name documents, or describe the project in a file "
          + "\(ProjectFile.names[0]) with `schema` and `documents`")
    }
    let projects = file.projects.filter { name == nil || $0.name == name }
    guard !projects.isEmpty else {
      let names = file.projects.compactMap(\.name).joined(separator: ", ")
      throw Failure(
        .usage,
        "\(file.path) has no project \(name ?? "")"
          + (names.isEmpty ? "; it has no `projects`" : "; it has \(names)"))
    }
    return try projects.map { try Project($0, of: file) }
  }

  /// Expands file patterns that the shell did not expand because they were quoted. The result has each file once.
  ///
  /// - Parameter schema: Files that are no documents, although a pattern may match them.
  static func expanded(_ names: [String], without schema: [String]) throws -> [String] {
    let folder = FileManager.default.currentDirectoryPath
    var seen: Set<String> = []
    return try names.flatMap { name -> [String] in
      guard name != "-", name.contains(where: { "*?[{".contains($0) }),
        !FileManager.default.fileExists(atPath: name)
      else { return [name] }
      let files = FilePath.paths(ProjectFile.files([name], in: folder).files, without: schema)
      guard !files.isEmpty else { throw Failure(.badInput, "no document matches \(name)") }
      return files.map(shown)
    }.filter { seen.insert(FilePath.withoutLinks($0) ?? $0).inserted }
  }

  /// Loads the project file and prints its warnings; `nil` if none was named and none is found.
  static func file(_ path: String?, isQuiet: Bool = false) throws -> ProjectFile? {
    let found = path ?? ProjectFile.find(from: FileManager.default.currentDirectoryPath).map(shown)
    guard let found else { return nil }
    let file: ProjectFile
    do {
      file = try ProjectFile.load(path: found)
    } catch {
      error.show()
      throw Failure(.badInput, "")
    }
    if !isQuiet { file.warnings.show() }
    return file
  }

  /// The endpoint of the nearest project file: the one named `default`, or else the first; `nil` if
  /// there is none.
  static func endpoint(isQuiet: Bool = false) throws -> ProjectFile.Endpoint? {
    let endpoints = try file(nil, isQuiet: isQuiet)?.projects.flatMap(\.endpoints) ?? []
    return endpoints.first { $0.name == "default" } ?? endpoints.first
  }

  private init(_ project: ProjectFile.Project, of file: ProjectFile) throws {
    name = project.name
    if let url = project.schema.first(where: \.isURL) {
      throw Failure(
        .badInput,
        "\(url.location): the schema is on the network; fetch it with gqlrun schema fetch --endpoint "
          + "\(url.value) -o schema.graphql, and name that file")
    }
    let schema = file.files(project.schema)
    if let missing = schema.unmatched.first {
      throw Failure(.badInput, "\(missing.location): no schema file matches \(missing.value)")
    }
    self.schema = schema.files.map(Self.shown)
    let documents = file.files(project.documents)
    for missing in documents.unmatched {
      Terminal.warning("\(missing.location): no document matches \(missing.value)")
    }
    // A schema file that matches the pattern of the documents is not a document.
    self.documents = FilePath.paths(documents.files, without: schema.files).map(Self.shown)
    namesDocuments = !project.documents.isEmpty
    generation = project.generation
  }

  /// The path relative to the working directory, if that is shorter.
  private static func shown(_ path: String) -> String {
    let folder = FileManager.default.currentDirectoryPath
    let prefix = folder.hasSuffix("/") ? folder : folder + "/"
    return path.hasPrefix(prefix) ? String(path.dropFirst(prefix.count)) : path
  }
}

/// The options that select projects of a project file.
struct ProjectOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Project file, instead of the nearest graphql.config.* or .graphqlrc*.",
      valueName: "file"))
  var config: String?

  @Option(help: "Name of the project, if the project file has several.")
  var project: String?

  /// Whether an option is given.
  var isGiven: Bool { config != nil || project != nil }

  /// The selected projects.
  func projects() throws -> [Project] { try Project.load(config, named: project) }
}
