import Foundation
import GQLRunGenerator
import GQLRunLanguage
import Testing

/// The documents of `Fixtures`, and the Swift that is generated from them.
enum Fixtures {
  static let tests = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent()
  static let folder = tests.appending(path: "GeneratorTests/Fixtures")
  /// The snapshots that `TypedTests` uses, and the others.
  static let snapshots = [
    tests.appending(path: "GeneratedTypes"), tests.appending(path: "GeneratedSnapshots/Types"),
  ]
  static let gitHubSnapshots = [tests.appending(path: "GeneratedSnapshots/GitHub")]

  /// GitHub's public schema, in the folder that working copies share: `$GQLRUN_SHARED`, else `../shared`.
  static let gitHubSchema: URL = {
    let shared = ProcessInfo.processInfo.environment["GQLRUN_SHARED"].map { URL(filePath: $0) }
    let root = tests.deletingLastPathComponent().deletingLastPathComponent()
    return (shared ?? root.appending(path: "shared")).appending(path: "real/github.graphql")
  }()
  static let hasGitHubSchema = FileManager.default.fileExists(atPath: gitHubSchema.path)

  static func schema() throws -> Schema {
    try Schema(sdl: Document(parsing: text(of: folder.appending(path: "schema.graphql"))))
  }

  static func documents(
    _ name: String = "Documents"
  ) throws -> [(path: String, text: [UInt8])] {
    try files(in: folder.appending(path: name)).map {
      ($0.lastPathComponent, Array(try text(of: $0).utf8))
    }
  }

  static func text(of file: URL) throws -> String { try String(contentsOf: file, encoding: .utf8) }

  /// All files below a folder, sorted.
  static func files(in folder: URL) -> [URL] {
    let found = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
    return (found?.compactMap { $0 as? URL } ?? [])
      .filter { !$0.hasDirectoryPath }.sorted { $0.path < $1.path }
  }
}

/// `GQLRUN_SNAPSHOTS=write` replaces the snapshots. `GQLRunGeneratedTypes` compiles those that `TypedTests` uses, and
/// `make test-outside` all of them.
@Suite("Snapshots of generated types")
struct SnapshotTests {
  private static let options = GeneratorOptions(
    access: .public, scalars: ["DateTime": "Foundation.Date", "JSON": "JSONValue"])

  @Test("the generated types are those of the snapshots")
  func snapshots() throws {
    let files = try Generator(schema: Fixtures.schema(), options: Self.options)
      .files(from: Fixtures.documents())
    try compare(files + [list("generatedOperations", of: files)], with: Fixtures.snapshots)
    #expect(files.count { $0.path.hasPrefix("Operations/") } >= 150)
  }

  @Test(
    "the types of operations over GitHub's schema are those of the snapshots",
    .enabled(if: Fixtures.hasGitHubSchema))
  func gitHub() throws {
    let schema = try Schema(
      sdl: Document(parsingUTF8: Array(Data(contentsOf: Fixtures.gitHubSchema))))
    let files = try Generator(schema: schema, options: Self.options)
      .files(from: Fixtures.documents("GitHub"))
    try compare(
      files + [list("generatedGitHubOperations", of: files)], with: Fixtures.gitHubSnapshots)
  }

  private func compare(_ unsorted: [GeneratedFile], with folders: [URL]) throws {
    let files = unsorted.sorted { $0.path < $1.path }
    if ProcessInfo.processInfo.environment["GQLRUN_SNAPSHOTS"] == "write" {
      try write(files, to: folders)
    }
    for file in files {
      let expected = try Fixtures.text(of: place(of: file, in: folders))
      #expect(file.text == expected, "\(file.path)")
    }
    let existing = folders.flatMap { folder in
      Fixtures.files(in: folder).map { String($0.path.dropFirst(folder.path.count + 1)) }
    }
    #expect(existing.sorted() == files.map(\.path))
  }

  /// Where the snapshot of a file is; a new one belongs to the last folder.
  private func place(of file: GeneratedFile, in folders: [URL]) -> URL {
    let places = folders.map { $0.appending(path: file.path) }
    return places.first { FileManager.default.fileExists(atPath: $0.path) }
      ?? places[places.count - 1]
  }

  /// The list of all operations, for tests that use each of them.
  private func list(_ name: String, of files: [GeneratedFile]) -> GeneratedFile {
    let names = files.filter { $0.operation != nil }.map { file in
      "  \(file.path.dropFirst("Operations/".count).dropLast(".swift".count)).self,\n"
    }
    var list = files[0]
    list.path = "GeneratedOperations.swift"
    list.operation = nil
    list.text = """
      \(GeneratedFile.mark): the list of its snapshots.
      // swift-format-ignore-file

      public import GQLRunTyped

      public let \(name): [any GraphQLOperation.Type] = [
      \(names.joined())]

      """
    return list
  }

  @Test("the order of the documents does not matter")
  func deterministic() throws {
    let generator = try Generator(schema: Fixtures.schema(), options: Self.options)
    let documents = try Fixtures.documents()
    #expect(
      try generator.files(from: documents.reversed()) == generator.files(from: documents))
  }

  private func write(_ files: [GeneratedFile], to folders: [URL]) throws {
    let targets = files.map { ($0, place(of: $0, in: folders)) }
    for file in folders.flatMap({ Fixtures.files(in: $0) }) {
      try FileManager.default.removeItem(at: file)
    }
    for (file, target) in targets {
      try FileManager.default.createDirectory(
        at: target.deletingLastPathComponent(), withIntermediateDirectories: true)
      try file.text.write(to: target, atomically: true, encoding: .utf8)
    }
  }
}
