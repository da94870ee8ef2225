import Foundation
import GQLRunSupport
public import HTTPTypes

/// A project file: the schema, documents and endpoints of a project.
///
/// Its names and keys are those of GraphQL Config, which editors and other tools read, too.
/// https://the-guild.dev/graphql/config/docs/user/usage
public struct ProjectFile: Sendable {
  /// A project of the file. A file without `projects` is itself a project.
  public struct Project: Sendable {
    /// The name of the project; `nil` for the file itself.
    public var name: String?
    /// The schema: files, globs or URLs.
    public var schema: [Text]
    /// The documents: globs; one that begins with `!` excludes files.
    public var documents: [Text]
    /// The endpoints, in the order of the file.
    public var endpoints: [Endpoint]
    /// The settings of `gqlrun generate`, from `extensions.gqlrun`; `nil` if there are none.
    public var generation: Generation?
  }

  /// Settings of generated code: those of `gqlrun generate`.
  public struct Generation: Sendable {
    /// The values of each key, in the order of the file; a scalar is `Name=Type`.
    public var values: [String: [Text]] = [:]

    /// The keys, with those that have a list.
    public static let keys = [
      "output", "access", "fields", "enum_cases", "scalars", "imports", "schema_module",
      "schema_output", "conformances", "manifest", "edition",
    ]
  }

  /// A text of the file with its source location.
  public struct Text: Sendable, Hashable {
    /// The text.
    public var value: String
    /// The source location.
    public var location: FileLocation

    /// Whether the text is a URL.
    public var isURL: Bool { value.contains("://") }
  }

  /// An endpoint of a project.
  public struct Endpoint: Sendable {
    /// The name of the endpoint.
    public var name: String
    /// The URL.
    public var url: Text
    /// The header fields of every request.
    public var headers: HTTPFields
  }

  /// The path of the file, as it was named or found.
  public var path: String
  /// The projects, in the order of the file.
  public var projects: [Project]
  /// The diagnostics of the file; warnings only.
  public var warnings: PipelineDiagnostics

  /// The file names that ``find(from:)`` looks for in a folder, in this order.
  public static let names: [String] =
    ["graphql.config", ".graphqlrc"].flatMap { base in
      ["yml", "yaml", "json"].map { "\(base).\($0)" }
    } + [".graphqlrc"]

  /// Finds the project file of `folder`, or of the nearest folder above that has one.
  ///
  /// - Parameter folder: The path of a folder.
  /// - Returns: The path of the file; `nil` if there is none.
  public static func find(from folder: String) -> String? {
    var folder = URL(fileURLWithPath: folder).standardizedFileURL.path
    while true {
      for name in names {
        let path = folder.hasSuffix("/") ? folder + name : "\(folder)/\(name)"
        if FileManager.default.fileExists(atPath: path), !FilePath.isFolder(path) { return path }
      }
      let parent = FilePath.folder(of: folder)
      // That of a working directory that was removed is the directory itself, `.`.
      guard folder != "/", parent != folder else { return nil }
      folder = parent
    }
  }

  /// Reads a project file.
  ///
  /// - Throws: ``PipelineDiagnostics`` with all errors and warnings of the file.
  public static func load(
    path: String, environment: PipelineFileEnvironment = .process
  ) throws(PipelineDiagnostics) -> ProjectFile {
    let bytes = try environment.bytes(of: path, "the project file")
    return try load(bytes, file: path, environment: environment)
  }

  /// Reads a project file from its bytes.
  ///
  /// - Throws: ``PipelineDiagnostics`` with all errors and warnings of the file.
  public static func load(
    _ bytes: [UInt8], file: String, environment: PipelineFileEnvironment
  ) throws(PipelineDiagnostics) -> ProjectFile {
    let yaml = YAMLFile(bytes, file: file, kind: .project)
    var reader = ProjectReader(environment)
    let projects = reader.read(yaml.root)
    let diagnostics = PipelineDiagnostics(yaml.findings + reader.findings, sources: [yaml.source])
    guard diagnostics.errors.isEmpty else { throw diagnostics }
    return ProjectFile(path: file, projects: projects, warnings: diagnostics)
  }
}

// MARK: Files

extension ProjectFile {
  /// The files that match `patterns`, each once, as paths relative to the working directory.
  ///
  /// - Parameter patterns: Patterns relative to the folder of the project file.
  /// - Returns: The files, and the patterns that match none.
  public func files(_ patterns: [Text]) -> (files: [String], unmatched: [Text]) {
    let given = patterns.filter { !$0.isURL }
    let (files, unmatched) = Self.files(given.map(\.value), in: FilePath.folder(of: path))
    return (files, unmatched.map { given[$0] })
  }

  /// The files that match `patterns`, which are relative to `folder`, each once, and the indices of the patterns that
  /// match none.
  ///
  /// A pattern that begins with `!` excludes files.
  public static func files(
    _ patterns: [String], in folder: String
  ) -> (files: [String], unmatched: [Int]) {
    let excluded = patterns.filter { $0.hasPrefix("!") }
      .flatMap { Glob.alternatives(of: String($0.dropFirst())) }
    var trees: [String: [String]] = [:]
    var seen: Set<String> = []
    var files: [String] = []
    var unmatched: [Int] = []
    for (position, pattern) in patterns.enumerated() where !pattern.hasPrefix("!") {
      var found = false
      for glob in Glob.alternatives(of: pattern) {
        let candidates: [String]
        if glob.isLiteral {
          let path = FilePath.resolve(glob.text, in: folder)
          candidates = FileManager.default.fileExists(atPath: path) ? [glob.text] : []
        } else {
          // The folder may be outside of that of the project.
          let base = glob.folder
          let root = base.isEmpty ? folder : FilePath.resolve(base, in: folder)
          let key = "\(base)\(glob.maxDepth)"
          let all = trees[key] ?? Self.tree(root, maxDepth: glob.maxDepth).map { base + $0 }
          trees[key] = all
          candidates = all.filter { glob.matches($0) }
        }
        for candidate in candidates where !excluded.contains(where: { $0.matches(candidate) }) {
          found = true
          let path = FilePath.resolve(candidate, in: folder)
          if seen.insert(FilePath.withoutLinks(path) ?? path).inserted { files.append(path) }
        }
      }
      if !found { unmatched.append(position) }
    }
    return (files, unmatched)
  }

  /// The files below `folder`, sorted, without the folders of tools.
  ///
  /// - Parameter maxDepth: The most names of a path; 1 for the files of the folder itself.
  static func tree(_ folder: String, maxDepth: Int) -> [String] {
    var files: [String] = []
    var open = [""]
    while let location = open.popLast(), files.count < 200_000 {
      let names =
        (try? FileManager.default.contentsOfDirectory(
          atPath: location.isEmpty ? folder : "\(folder)/\(location)")) ?? []
      for name in names where !skipped.contains(name) {
        let path = location.isEmpty ? name : "\(location)/\(name)"
        let attributes = try? FileManager.default.attributesOfItem(atPath: "\(folder)/\(path)")
        switch attributes?[.type] as? FileAttributeType {
        case .typeDirectory:
          let depth = path.count { $0 == "/" } + 1
          if depth < maxDepth { open.append(path) }
        case .typeRegular: files.append(path)
        // A link to a file is followed; a link to a folder could lead to a cycle.
        case .typeSymbolicLink:
          let target = "\(folder)/\(path)"
          if FileManager.default.fileExists(atPath: target), !FilePath.isFolder(target) {
            files.append(path)
          }
        default: continue
        }
      }
    }
    return files.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  private static let skipped: Set<String> = ["node_modules", ".git", ".build", ".hg", ".svn"]
}
