import GQLRunTestSupport
import Testing

/// The dependency rule: `docs/decisions/0001-modules-and-dependencies.md`.
@Suite("Modules")
struct ModuleTests {
  @Test("every folder of Sources is a module of the table")
  func foldersAreModules() {
    let folders = Repository.names(in: "Sources").filter { Repository.isFolder("Sources/" + $0) }
    #expect(!folders.isEmpty)
    #expect(folders.filter { Module.inFolder($0) == nil } == [])
  }

  @Test("every module imports only what it may import")
  func imports() {
    #expect(!Repository.sources.isEmpty)
    let violations = Repository.sources.flatMap { Module.violations(in: $0.source, path: $0.path) }
    #expect(violations == [])
  }

  @Test("dependencies go one way only")
  func noCycles() {
    #expect(Module.modulesInCycles(of: Module.all) == [])
  }

  @Test("a cycle in the table is found, and what depends on it")
  func findsCycles() {
    let table = [
      Module("A"), Module("B", own: ["A"]), Module("C", own: ["D"]), Module("D", own: ["A", "E"]),
      Module("E", own: ["C"]), Module("F", own: ["E"]), Module("G", own: ["G"]),
    ]
    #expect(Module.modulesInCycles(of: table) == ["C", "D", "E", "F", "G"])
    // The real table, with one dependency turned around.
    let broken = Module.all.map { module in
      module.name == "GQLRunJSON"
        ? Module("GQLRunJSON", folder: module.folder, own: ["GQLRunCache"]) : module
    }
    let found = Module.modulesInCycles(of: broken)
    #expect(found.contains("GQLRunJSON") && found.contains("GQLRunCache"))
    #expect(!found.contains("GQLRunLanguage"))
  }

  @Test("the modules of the table import only modules of the table")
  func knownModules() {
    let unknown = Module.all.flatMap(\.own).filter { Module.named($0) == nil }
    #expect(unknown == [])
  }

  @Test("Package.swift lists only what the table allows")
  func manifestFollowsTable() throws {
    let manifest = Manifest(try #require(Repository.text("Package.swift")))
    #expect(manifest.target("GQLRunJSON")?.dependencies == ["CYajl"])
    var violations: [String] = []
    for target in manifest.targets where !target.isTest {
      guard let module = Module.named(target.name) else {
        violations.append("\(target.name) is no module of the table")
        continue
      }
      violations += target.dependencies.filter { !module.mayDependOn($0) }
        .map { "\(target.name) may not depend on \($0)" }
    }
    #expect(violations == [])
  }

  @Test("what the fuzz targets compile of Batch needs no client")
  func fuzzing() throws {
    let manifest = try #require(Repository.text("Tests/Fuzz/Package.swift"))
    let withClient = Repository.sources.filter { path, source in
      path.hasPrefix("Sources/Batch/") && source.imports.contains { $0.module == "GQLRun" }
    }
    #expect(!withClient.isEmpty)
    let missing = withClient.map { $0.path.dropFirst("Sources/Batch/".count) }
      .filter { !manifest.contains("\"\($0)\"") }
    #expect(
      missing == [],
      "`make fuzz` cannot build these, and Tests/Fuzz/Package.swift does not exclude them")
  }

  @Test("Package.swift lists everything that is imported")
  func manifestIsComplete() throws {
    let manifest = Manifest(try #require(Repository.text("Package.swift")))
    var violations: [String] = []
    for (path, source) in Repository.sources {
      let name = String(path.split(separator: "/")[1])
      guard let module = Module.inFolder(name) else { continue }
      let listed = manifest.target(module.name)?.dependencies ?? []
      for found in source.imports
      where module.mayDependOn(found.module) && !listed.contains(found.module) {
        violations.append(
          "\(path):\(found.line): \(name) imports \(found.module), and Package.swift does not list it"
        )
      }
    }
    #expect(violations == [])
  }

  @Test(
    "a forbidden import is found",
    arguments: [
      ("Sources/GraphQL/Document.swift", "import GQLRunJSON", 1),
      ("Sources/GraphQL/Document.swift", "// import GQLRunJSON", 0),
      ("Sources/JSONStream/Parser.swift", "internal import CYajl", 0),
      ("Sources/JSONStream/Parser.swift", "import Dispatch", 1),
      ("Sources/Cache/Merge.swift", "@testable import CYajl", 1),
      ("Sources/Cache/SQLite/Store.swift", "import GRDB", 0),
      ("Sources/Cache/Memory/Store.swift", "import GRDB", 1),
      ("Sources/Plugins/Fetch.swift", "public import struct NIOCore.ByteBuffer", 0),
      ("Sources/Cache/Merge.swift", "import NIOCore; import Foundation", 1),
      ("Sources/Kitchen/Stove.swift", "import Foundation", 1),
    ])
  func findsImports(path: String, text: String, count: Int) {
    #expect(Module.violations(in: SwiftSource(text), path: path).count == count)
  }

  @Test("a violation tells file and line")
  func violationsHavePlaces() {
    #expect(
      Module.violations(in: SwiftSource("\n\nimport Yams"), path: "Sources/Cache/Merge.swift")
        == ["Sources/Cache/Merge.swift:3: GQLRunCache may not import Yams"])
  }
}
