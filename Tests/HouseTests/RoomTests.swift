import Testing

/// The dependency rule: `docs/decisions/0001-rooms-and-dependencies.md`.
@Suite("Rooms")
struct RoomTests {
  @Test("every folder of Sources is a room of the table")
  func foldersAreRooms() {
    let folders = Repository.names(in: "Sources").filter { Repository.isFolder("Sources/" + $0) }
    #expect(!folders.isEmpty)
    #expect(folders.filter { Room.named($0) == nil } == [])
  }

  @Test("every room imports only what it may see")
  func imports() {
    #expect(!Repository.sources.isEmpty)
    let violations = Repository.sources.flatMap { Room.violations(in: $0.source, path: $0.path) }
    #expect(violations == [])
  }

  @Test("dependencies go one way only")
  func noCycles() {
    // A room may see only rooms that stand before it, or after it in no cycle: remove those that see
    // nothing that is left, until none is left.
    var left = Room.all
    while let next = left.firstIndex(where: { room in
      left.allSatisfy { !room.rooms.contains($0.name) }
    }) {
      left.remove(at: next)
    }
    #expect(left.map(\.name) == [])
  }

  @Test("the rooms of the table see only rooms of the table")
  func knownRooms() {
    let unknown = Room.all.flatMap(\.rooms).filter { Room.named($0) == nil }
    #expect(unknown == [])
  }

  @Test("Package.swift lists only what the table allows")
  func manifestFollowsTable() throws {
    let manifest = Manifest(try #require(Repository.text("Package.swift")))
    #expect(manifest.target("JSONStream")?.dependencies == ["CYajl"])
    var violations: [String] = []
    for target in manifest.targets where !target.isTest {
      guard let room = Room.named(target.name) else {
        violations.append("\(target.name) is no room of the table")
        continue
      }
      violations += target.dependencies.filter { !room.mayDependOn($0) }
        .map { "\(target.name) may not depend on \($0)" }
    }
    #expect(violations == [])
  }

  @Test("Package.swift lists everything that is imported")
  func manifestIsComplete() throws {
    let manifest = Manifest(try #require(Repository.text("Package.swift")))
    var violations: [String] = []
    for (path, source) in Repository.sources {
      let name = String(path.split(separator: "/")[1])
      guard let room = Room.named(name) else { continue }
      let listed = manifest.target(name)?.dependencies ?? []
      for found in source.imports
      where room.mayDependOn(found.module) && !listed.contains(found.module) {
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
      ("Sources/GraphQL/Document.swift", "import JSONStream", 1),
      ("Sources/GraphQL/Document.swift", "// import JSONStream", 0),
      ("Sources/JSONStream/Parser.swift", "internal import CYajl", 0),
      ("Sources/JSONStream/Parser.swift", "import Foundation", 1),
      ("Sources/Cache/Merge.swift", "@testable import CYajl", 1),
      ("Sources/Cache/SQLite/Store.swift", "import GRDB", 0),
      ("Sources/Cache/Memory/Store.swift", "import GRDB", 1),
      ("Sources/Plugins/Fetch.swift", "public import struct NIOCore.ByteBuffer", 0),
      ("Sources/Cache/Merge.swift", "import NIOCore; import Foundation", 1),
      ("Sources/Kitchen/Stove.swift", "import Foundation", 1),
    ])
  func findsImports(path: String, text: String, count: Int) {
    #expect(Room.violations(in: SwiftSource(text), path: path).count == count)
  }

  @Test("a violation tells file and line")
  func violationsHavePlaces() {
    #expect(
      Room.violations(in: SwiftSource("\n\nimport Yams"), path: "Sources/Cache/Merge.swift")
        == ["Sources/Cache/Merge.swift:3: Cache may not import Yams"])
  }
}
