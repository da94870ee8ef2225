import Foundation
import GQLRunConfiguration
import GQLRunGenerator
import GQLRunLanguage
import GQLRunSupport

/// The inputs and outputs of one project of a project file.
struct ProjectGeneration {
  /// The folder of operations and fragments; `nil` if the project has none.
  let output: String?
  private let schemaOutput: String?
  /// The path of the project file.
  private let file: String
  private let schema: [String]
  private let documents: [String]
  private let options: GeneratorOptions

  init(_ project: ProjectFile.Project, of file: ProjectFile) throws {
    let settings = project.generation?.values.mapValues { $0.map(\.value) } ?? [:]
    self.file = file.path
    let folder = FilePath.folder(of: file.path)
    output = settings["output"]?.first.map { FilePath.resolve($0, in: folder) }
    schemaOutput = settings["schema_output"]?.first.map { FilePath.resolve($0, in: folder) }
    var options = try GeneratorOptions(settings: settings)
    options.folder = folder
    self.options = options
    schema = try Self.files(project.schema, "schema", of: file)
    documents = FilePath.paths(
      try Self.files(project.documents, "documents", of: file), without: schema)
  }

  private static func files(
    _ patterns: [ProjectFile.Text], _ key: String, of file: ProjectFile
  ) throws -> [String] {
    if let url = patterns.first(where: \.isURL) {
      throw GenerationFailure(
        "\(url.location): the \(key) is on the network; gqlrun schema fetch writes it to a file")
    }
    let (files, unmatched) = file.files(patterns)
    if let first = unmatched.first {
      throw GenerationFailure("\(first.location): no file matches \(first.value)")
    }
    guard !files.isEmpty else { throw GenerationFailure("\(file.path) has no `\(key)`") }
    return files
  }

  /// The generated files below their folders, which must be in the repository of the project file.
  func files() throws -> GeneratedFolder {
    for path in [output, schemaOutput].compactMap({ $0 })
    where !FilePath.isInRepository(path, of: file) {
      throw GenerationFailure(
        "\(file) names \(path), outside of its repository, as the folder to write to; write it there with gqlrun "
          + "generate --output or --schema-output")
    }
    guard let output else {
      throw GenerationFailure("the project file has no `output`, the folder to write to")
    }
    return GeneratedFolder(try generated(), in: output, schemaOutput: schemaOutput)
  }

  /// Writes all types into one file, whose name a build system knows before it reads the operations.
  func write(to path: String) throws {
    guard options.schemaModule == nil else {
      throw GenerationFailure(
        "one file cannot contain the types of two modules; remove `schema_module`, or generate with "
          + "swift package generate-graphql")
    }
    let text = try generated().map(\.text).joined(separator: "\n")
    do throws(SystemError) {
      try AtomicFile.write(Array(text.utf8), to: path, permissions: 0o644)
    } catch {
      throw GenerationFailure(error.description)
    }
  }

  private func generated() throws -> [GeneratedFile] {
    let sources = try documents.map { (path: $0, text: try Self.bytes(of: $0)) }
    let files = try Generator(
      schema: try Schema(files: schema, edition: options.edition), options: options
    )
    .files(from: sources)
    for warning in files.flatMap(\.warnings) {
      FileHandle.standardError.write(Data("warning: \(warning)\n".utf8))
    }
    return files
  }

  static func bytes(of path: String) throws -> [UInt8] {
    do throws(SystemError) {
      return try SystemIO.readFile(path, limit: 64 << 20)
    } catch {
      throw GenerationFailure(error.description)
    }
  }
}

extension Schema {
  /// Parses the type definitions of a schema, in one file or several.
  fileprivate init(files paths: [String], edition: Edition) throws {
    let sources = SourceFiles(
      try paths.map { SourceFiles.File(name: $0, bytes: try ProjectGeneration.bytes(of: $0)) },
      edition: edition)
    if let json = sources.files.first(where: { $0.bytes.first == UInt8(ascii: "{") }) {
      throw GenerationFailure(
        "\(json.name) is an introspection result; the plugins read type definitions, which gqlrun schema "
          + "print writes")
    }
    if let (file, error) = sources.syntaxErrors.first {
      throw GenerationFailure("\(file.name):\(error)")
    }
    do {
      try self.init(sdl: sources.document(), edition: edition)
    } catch let error as SchemaError {
      throw GenerationFailure(
        error.issues.prefix(20).map { issue in
          guard let location = issue.location else { return issue.message }
          let (file, place) = (sources.index(of: location), sources.local(location))
          return "\(sources.files[file].name):\(place.line):\(place.column): \(issue.message)"
        }.joined(separator: "\n"))
    }
  }
}
