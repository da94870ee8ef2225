import ArgumentParser
import Foundation
import GQLRunConfiguration
import GQLRunGenerator
import GQLRunLanguage

/// `gqlrun generate` without the rest of gqlrun, so that a package that generates while it is built does not
/// build an HTTP client first. The plugins run it.
@main
struct GenerateTool: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "gqlrun-generate",
    abstract: "Generate Swift types from operations, with the settings of a project file.",
    discussion: """
      The plugins of the package run this program; gqlrun generate has more options. An operation manifest \
      is only written by gqlrun generate.
      """)

  @Option(
    help: ArgumentHelp(
      "Project file, instead of the nearest graphql.config.* or .graphqlrc*.", valueName: "file"))
  var config: String?

  @Option(help: "Name of the project, if the project file has several.")
  var project: String?

  @Option(
    help: ArgumentHelp(
      "Write all types into this file, instead of the folder of the project file.",
      valueName: "file"))
  var singleFile: String?

  @Flag(help: "Write nothing; print the differences, and fail if there are any.")
  var check = false

  func validate() throws {
    guard !(check && singleFile != nil) else {
      throw ValidationError("--check and --single-file exclude each other; leave one out")
    }
  }

  func run() throws {
    do {
      for project in try projects() { try generate(project) }
    } catch let error as GeneratorError {
      // As compilers write errors, so that editors find the locations.
      throw failure(
        error.diagnostics.map {
          "\($0.file):\($0.location.line):\($0.location.column): error: \($0.message)"
        }.joined(separator: "\n"))
    } catch let error as GenerationFailure {
      throw failure("error: \(error)")
    }
  }

  private func projects() throws -> [ProjectGeneration] {
    let folder = FileManager.default.currentDirectoryPath
    guard let found = config ?? ProjectFile.find(from: folder) else {
      throw GenerationFailure("there is no \(ProjectFile.names[0]) in \(folder) or above it")
    }
    // Generated files name their document as gqlrun generate does: without the working directory.
    let path = found.hasPrefix(folder + "/") ? String(found.dropFirst(folder.count + 1)) : found
    let file: ProjectFile
    do {
      file = try ProjectFile.load(path: path)
    } catch {
      throw failure(error.rendered(as: .human(colors: false)))
    }
    let named = file.projects.filter { project == nil || $0.name == project }
    let chosen = named.filter { $0.generation != nil }
    guard !chosen.isEmpty else {
      throw GenerationFailure(
        named.isEmpty
          ? "\(path) has no project \(project ?? "")"
          : "\(path) has no settings of generated code; add `extensions: { gqlrun: { output: … } }`"
      )
    }
    return try chosen.map { try ProjectGeneration($0, of: file) }
  }

  private func generate(_ project: ProjectGeneration) throws {
    if let singleFile { return try project.write(to: singleFile) }
    let folder = try project.files()
    if check {
      let differences = try folder.differences()
      guard !differences.isEmpty else { return }
      print(differences.joined(), terminator: "")
      throw GenerationFailure("\(differences.count) generated files are not up to date")
    }
    let changes = try folder.write()
    print("\(project.output ?? ""): \(changes) files changed")
  }

  private func failure(_ message: String) -> any Error {
    FileHandle.standardError.write(Data("\(message)\n".utf8))
    return ExitCode.failure
  }
}
