import Foundation
import Testing

@testable import GQLRunCache

@Suite("New database files")
struct NewFileTests {
  private func names(in directory: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: directory).filter {
      $0.contains("-incomplete")
    }
  }

  /// The header: https://www.sqlite.org/fileformat2.html#the_database_header
  private func header(_ path: String) throws -> [UInt8] {
    try [UInt8](Data(contentsOf: URL(fileURLWithPath: path)).prefix(100))
  }

  @Test("a new file is complete and private, and leaves no other file")
  func made() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("cache.db")
    let store = try SQLiteStore(path: path)
    let header = try header(path)
    // Pages of 16 KiB, a write-ahead log, and whose file it is: all in the file itself.
    #expect(header[16...17] == [0x40, 0x00])
    #expect(header[18...19] == [2, 2])
    #expect(header[68...71] == [0x47, 0x51, 0x4c, 0x52])
    let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    #expect(mode == 0o600)
    #expect(try names(in: (path as NSString).deletingLastPathComponent) == [])
    try store.close()
  }

  @Test("the remains of a new file of a killed process are harmless")
  func leftovers() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("cache.db")
    for suffix in ["-incomplete", "-incomplete-journal", "-incomplete-wal"] {
      try Data("half a file".utf8).write(to: URL(fileURLWithPath: path + suffix))
    }
    let cache = CacheUnderTest(store: try SQLiteStore(path: path))
    try await cache.write(
      #"{"data":{"me":{"__typename":"User","id":"1","name":"Ada"}}}"#, "{me{id name}}")
    #expect(try await cache.read("{me{name}}") == #"{"me":{"name":"Ada"}}"#)
    #expect(try names(in: (path as NSString).deletingLastPathComponent) == [])
  }

  @Test("an empty file with other permissions keeps them")
  func permissions() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("cache.db")
    #expect(
      FileManager.default.createFile(
        atPath: path, contents: nil, attributes: [.posixPermissions: 0o640]))
    let store = try SQLiteStore(path: path)
    #expect(try header(path)[16...17] == [0x40, 0x00])
    let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    #expect(mode == 0o640)
    try store.close()
  }
}
