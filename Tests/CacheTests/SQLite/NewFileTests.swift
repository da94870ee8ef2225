import Foundation
import Testing

@testable import GQLRunCache

@Suite("New database files")
struct NewFileTests {
  /// The names of new files that are not complete.
  private func remains(beside file: StoreFile) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: file.directory.url.path).filter {
      $0.contains("-incomplete")
    }
  }

  /// The header: https://www.sqlite.org/fileformat2.html#the_database_header
  private func header(_ path: String) throws -> [UInt8] {
    try [UInt8](Data(contentsOf: URL(fileURLWithPath: path)).prefix(100))
  }

  @Test("a new file is complete and private, and leaves no other file")
  func made() async throws {
    let file = try StoreFile()
    let store = try file.open()
    let header = try header(file.path)
    // Pages of 16 KiB, a write-ahead log, and whose file it is: all in the file itself.
    #expect(header[16...17] == [0x40, 0x00])
    #expect(header[18...19] == [2, 2])
    #expect(header[68...71] == [0x47, 0x51, 0x4c, 0x52])
    let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
    #expect(attributes[.posixPermissions] as? Int == 0o600)
    #expect(try remains(beside: file) == [])
    try store.close()
  }

  @Test("the remains of a new file of a killed process are harmless")
  func leftovers() async throws {
    let file = try StoreFile()
    for suffix in ["-incomplete", "-incomplete-journal", "-incomplete-wal"] {
      try Data("half a file".utf8).write(to: URL(fileURLWithPath: file.path + suffix))
    }
    let cache = CacheUnderTest(store: try file.open())
    try await cache.write(
      #"{"data":{"me":{"__typename":"User","id":"1","name":"Ada"}}}"#, "{me{id name}}")
    #expect(try await cache.read("{me{name}}") == #"{"me":{"name":"Ada"}}"#)
    #expect(try remains(beside: file) == [])
  }

  @Test("an empty file with other permissions keeps them")
  func permissions() async throws {
    let file = try StoreFile()
    #expect(
      FileManager.default.createFile(
        atPath: file.path, contents: nil, attributes: [.posixPermissions: 0o640]))
    let store = try file.open()
    #expect(try header(file.path)[16...17] == [0x40, 0x00])
    let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
    #expect(attributes[.posixPermissions] as? Int == 0o640)
    try store.close()
  }
}
