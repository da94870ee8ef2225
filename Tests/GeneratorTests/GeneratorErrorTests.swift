import Foundation
import GQLRunGenerator
import GQLRunLanguage
import Testing

/// Every file of `Fixtures/Errors` with the diagnostics of `Fixtures/errors.txt`, which
/// `GQLRUN_SNAPSHOTS=write` replaces.
@Suite("Errors of the generator")
struct GeneratorErrorTests {
  private static let list = Fixtures.folder.appending(path: "errors.txt")

  @Test("errors have file, line, column and a suggestion")
  func errors() throws {
    let generator = Generator(schema: try Fixtures.schema())
    var found: [String] = []
    for file in Fixtures.files(in: Fixtures.folder.appending(path: "Errors")) {
      let name = file.lastPathComponent
      do {
        let files = try generator.files(from: [(name, Array(Fixtures.text(of: file).utf8))])
        found.append("\(name): no error; \(files.count) files")
      } catch let error as GeneratorError {
        #expect(error.diagnostics.allSatisfy { $0.file == name && $0.location.line > 0 })
        found.append(error.description)
      }
    }
    if ProcessInfo.processInfo.environment["GQLRUN_SNAPSHOTS"] == "write" {
      try found.joined(separator: "\n").write(to: Self.list, atomically: true, encoding: .utf8)
    }
    #expect(found.count >= 50)
    #expect(found.joined(separator: "\n") == (try Fixtures.text(of: Self.list)))
  }

  @Test("a construct that is newer than the edition is an error that names the edition")
  func edition() throws {
    func files(_ edition: Edition) throws -> [GeneratedFile] {
      try Generator(schema: Fixtures.schema(), options: GeneratorOptions(edition: edition))
        .files(from: [("a.graphql", Array("query A { me { } }".utf8))])
    }
    let error = #expect(throws: GeneratorError.self) { try files(.september2025) }
    #expect(
      error?.description
        == "a.graphql:1:16: Syntax Error: Expected Name, found '}'. An empty selection set needs GraphQL "
        + "September 2026; this is checked as GraphQL September 2025.")
    #expect(try files(.september2026).count == 1)
  }

  @Test("an error in a fragment of another file is located there")
  func otherFile() throws {
    let error = #expect(throws: GeneratorError.self) {
      try Generator(schema: Fixtures.schema()).files(from: [
        ("a.graphql", Array("query A { me { ...F } }".utf8)),
        ("b.graphql", Array("# b\nfragment F on User { idd }".utf8)),
      ])
    }
    #expect(
      error?.description
        == "b.graphql:2:22: Cannot query field 'idd' on type 'User'. Did you mean 'id'?")
  }
}
