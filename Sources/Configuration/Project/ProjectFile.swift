import Foundation
import GQLRunSupport
public import HTTPTypes

/// A project file: where the schema and the documents of a project are, and which endpoints it has.
///
/// Its names and keys are those of GraphQL Config, which editors and other tools read as well.
/// https://the-guild.dev/graphql/config/docs/user/usage
public struct ProjectFile: Sendable {
  /// One project of the file; the file itself is one when it has no `projects`.
  public struct Project: Sendable {
    /// `nil` for the file itself.
    public var name: String?
    /// Files, globs or URLs.
    public var schema: [Text]
    /// Globs; one that begins with `!` takes files away.
    public var documents: [Text]
    /// In the order of the file.
    public var endpoints: [Endpoint]
  }

  /// A text of the file with its place.
  public struct Text: Sendable, Hashable {
    public var value: String
    public var place: SourcePlace

    /// Whether it names something on the network.
    public var isURL: Bool { value.contains("://") }
  }

  public struct Endpoint: Sendable {
    public var name: String
    public var url: Text
    public var headers: HTTPFields
  }

  /// The file as it was named or found.
  public var path: String
  public var projects: [Project]
  /// Warnings only.
  public var warnings: PipelineDiagnostics

  /// The names that are looked for in a folder, in this order.
  public static let names: [String] =
    ["graphql.config", ".graphqlrc"].flatMap { base in
      ["yml", "yaml", "json"].map { "\(base).\($0)" }
    } + [".graphqlrc"]

  /// The project file of `folder`, or of the nearest folder above that has one.
  public static func find(from folder: String) -> String? {
    var folder = URL(fileURLWithPath: folder).standardizedFileURL.path
    while true {
      for name in names {
        let path = folder.hasSuffix("/") ? folder + name : "\(folder)/\(name)"
        var isFolder: ObjCBool = false
        if FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), !isFolder.boolValue
        {
          return path
        }
      }
      guard folder != "/" else { return nil }
      folder = FilePath.folder(of: folder)
    }
  }

  /// Reads a project file.
  ///
  /// - Throws: All errors and warnings of the file.
  public static func load(
    path: String, environment: PipelineFileEnvironment = .process
  ) throws(PipelineDiagnostics) -> ProjectFile {
    let bytes: [UInt8]
    do {
      bytes = try environment.readFile(path)
    } catch {
      let reason = (error as? PipelineFileEnvironment.Failure)?.reason ?? "no reason is known"
      throw PipelineDiagnostics(
        [
          PipelineDiagnostic(
            .unreadable, "the project file cannot be read",
            at: SourcePlace(file: path, line: 1, column: 1), hint: reason)
        ], source: SourceText(file: path, lines: []))
    }
    return try load(bytes, file: path, environment: environment)
  }

  /// Reads a project file from its bytes.
  ///
  /// - Throws: All errors and warnings of the file.
  public static func load(
    _ bytes: [UInt8], file: String, environment: PipelineFileEnvironment
  ) throws(PipelineDiagnostics) -> ProjectFile {
    var reader = ProjectReader(file: file, environment: environment)
    let projects = reader.read(bytes)
    let diagnostics = PipelineDiagnostics(reader.findings, source: reader.source)
    guard diagnostics.errors.isEmpty else { throw diagnostics }
    return ProjectFile(path: file, projects: projects, warnings: diagnostics)
  }
}

// MARK: Files

extension ProjectFile {
  /// The files that `patterns` name, as seen from the working directory, each once.
  ///
  /// Patterns are relative to the folder of the project file. A pattern that matches nothing is left to
  /// the caller: it comes in `unmatched`.
  public func files(_ patterns: [Text]) -> (files: [String], unmatched: [Text]) {
    let given = patterns.filter { !$0.isURL }
    let (files, unmatched) = Self.files(given.map(\.value), in: FilePath.folder(of: path))
    return (files, unmatched.map { given[$0] })
  }

  /// The files that `patterns` name below `folder`, each once, and the positions of the patterns that
  /// match nothing.
  ///
  /// A pattern that begins with `!` takes files away.
  public static func files(
    _ patterns: [String], in folder: String
  ) -> (files: [String], unmatched: [Int]) {
    let excluded = patterns.filter { $0.hasPrefix("!") }
      .flatMap { Glob.alternatives(of: String($0.dropFirst())) }
    var tree: [String]?
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
          let all = tree ?? Self.tree(folder)
          tree = all
          candidates = all.filter { glob.matches($0) }
        }
        for candidate in candidates where !excluded.contains(where: { $0.matches(candidate) }) {
          found = true
          let path = FilePath.resolve(candidate, in: folder)
          if seen.insert(path).inserted { files.append(path) }
        }
      }
      if !found { unmatched.append(position) }
    }
    return (files, unmatched)
  }

  /// The files below `folder`, sorted, without what tools keep there.
  private static func tree(_ folder: String) -> [String] {
    var files: [String] = []
    var open = [""]
    while let place = open.popLast(), files.count < 200_000 {
      let names =
        (try? FileManager.default.contentsOfDirectory(
          atPath: place.isEmpty ? folder : "\(folder)/\(place)")) ?? []
      for name in names where !skipped.contains(name) {
        let path = place.isEmpty ? name : "\(place)/\(name)"
        let attributes = try? FileManager.default.attributesOfItem(atPath: "\(folder)/\(path)")
        switch attributes?[.type] as? FileAttributeType {
        case .typeDirectory: open.append(path)
        case .typeRegular: files.append(path)
        // A link is followed to a file; one to a folder could lead in a circle.
        case .typeSymbolicLink:
          var isFolder: ObjCBool = false
          if FileManager.default.fileExists(atPath: "\(folder)/\(path)", isDirectory: &isFolder),
            !isFolder.boolValue
          {
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
