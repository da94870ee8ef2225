import Foundation
import GQLRunSupport
import Testing

@testable import GQLRunCache

/// Collects what stores have to say.
final class Notices: Sendable {
  private let all = Locked<[StoreNotice]>([])

  var codes: [StoreNotice.Code] { all.withLock { $0.map(\.code) } }
  var text: String { all.withLock { $0.map(\.message).joined(separator: "\n") } }

  func options() -> SQLiteStore.Options {
    var options = SQLiteStore.Options()
    options.report = { notice in self.all.withLock { $0.append(notice) } }
    return options
  }
}

/// A cache file that tests damage.
struct DamagedFile {
  let directory: TemporaryDirectory
  let path: String

  init() throws {
    directory = try TemporaryDirectory()
    path = directory.path("cache.db")
  }

  static let document = "{users{id name} list{x}}"

  /// Users named after `version`, and a list without identities, long enough for segments.
  static func response(_ version: String, users: Int = 20, elements: Int = 1500) -> String {
    let people = (0..<users).map {
      #"{"__typename":"User","id":"\#($0)","name":"\#(version) \#($0)"}"#
    }
    let padding = String(repeating: "-", count: 60)
    let list = (0..<elements).map { #"{"__typename":"X","x":"\#(version) \#($0)\#(padding)"}"# }
    return
      #"{"data":{"users":[\#(people.joined(separator: ","))],"list":[\#(list.joined(separator: ","))]}}"#
  }

  /// What the caller of ``response(_:users:elements:)`` gets.
  static func data(_ version: String) -> String {
    response(version).replacingOccurrences(of: #""__typename":"User","#, with: "")
      .replacingOccurrences(of: #""__typename":"X","#, with: "")
      .dropFirst(8).dropLast().description
  }

  func open(_ notices: Notices = Notices()) throws -> SQLiteStore {
    try SQLiteStore(path: path, options: notices.options())
  }

  func write(_ version: String, to store: SQLiteStore) async throws {
    try await CacheUnderTest(store: store).write(Self.response(version), Self.document)
  }

  func read(_ store: SQLiteStore) async throws -> String {
    try await CacheUnderTest(store: store).read(Self.document)
  }

  /// A file with one response in the database and a second in the log, whose user did not end well.
  static func afterACrash() async throws -> DamagedFile {
    let file = try DamagedFile()
    let store = try file.open()
    try await file.write("old", to: store)
    try await store.checkpoint()
    try await file.write("new", to: store)
    try file.leaveAsAfterACrash(store)
    return file
  }

  /// Copies the files as they are, as a crash would leave them.
  func leaveAsAfterACrash(_ store: SQLiteStore) throws {
    let aside = directory.path("crashed")
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(atPath: path + suffix, toPath: aside + suffix)
    }
    try store.close()
    for suffix in ["", "-wal"] {
      try? FileManager.default.removeItem(atPath: path + suffix)
      try FileManager.default.moveItem(atPath: aside + suffix, toPath: path + suffix)
    }
  }

  /// Fills a page of the database, counted from 1, with `byte`.
  func overwrite(page: Int, with byte: UInt8 = 0) throws {
    let handle = try #require(FileHandle(forUpdatingAtPath: path))
    try handle.seek(toOffset: UInt64((page - 1) * 16384))
    try handle.write(contentsOf: Data(repeating: byte, count: 16384))
    try handle.close()
  }

  var files: [String] {
    get throws {
      try FileManager.default.contentsOfDirectory(atPath: directory.url.path).sorted()
    }
  }
}

@Suite("Damage")
struct DamageTests {
  /// What is done to one record.
  enum Harm: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case data = #"UPDATE records SET data = replace(data, 'old 3"', 'odd 3"') WHERE key = 'User:3'"#
    case checksum = "UPDATE records SET checksum = checksum + 1 WHERE key = 'User:3'"
    case notJSON = "UPDATE records SET data = 'x' WHERE key = 'User:3'"
    case swapped = """
      UPDATE records SET (data, checksum) = (SELECT data, checksum FROM records WHERE key = 'User:4')
      WHERE key = 'User:3'
      """
    case segment = """
      UPDATE records SET data = replace(data, 'old 7-', 'odd 7-') WHERE key LIKE '$segment:%'
      """
    case list = """
      UPDATE records SET data = replace(data, '"count":1500', '"count":1499') WHERE key LIKE '%.list'
      """

    var testDescription: String { "\(self)" }
  }

  @Test("a checkpoint after the store was closed is an error")
  func closed() async throws {
    let store = try DamagedFile().open()
    try store.close()
    await #expect(throws: CacheError.self) { try await store.checkpoint() }
  }

  @Test(
    "a damaged record is treated as missing, and the next write replaces it",
    .enabled(if: SQLiteTool.isThere, "needs sqlite3"), arguments: Harm.allCases, ["old", "new"])
  func record(_ harm: Harm, _ next: String) async throws {
    let file = try DamagedFile()
    let first = try file.open()
    try await file.write("old", to: first)
    #expect(try await file.read(first) == DamagedFile.data("old"))
    try first.close()
    try SQLiteTool.run(harm.rawValue, on: file.path)

    let notices = Notices()
    let store = try file.open(notices)
    #expect(notices.codes == [])
    #expect(try await file.read(store).hasPrefix("miss at "))
    #expect(notices.codes == [.damagedRecord], "\(notices.text)")
    #expect(notices.text.contains("does not match its checksum"))
    let damaged = try await store.statistics().damagedRecords
    #expect(damaged == 1)
    // The same answer again, or another.
    try await file.write(next, to: store)
    #expect(try await file.read(store) == DamagedFile.data(next))
    // Segments are named after what they hold: the old one remains, and is not read.
    let left = harm == .segment && next == "new" ? 1 : 0
    #expect(try await store.statistics().damagedRecords == left)
    try store.close()
    #expect(try SQLiteTool.run("PRAGMA integrity_check", on: file.path) == "ok")
  }

  @Test(
    "a damaged record is excluded from dumps, and reported",
    .enabled(if: SQLiteTool.isThere, "needs sqlite3"))
  func dumps() async throws {
    let file = try DamagedFile()
    let first = try file.open()
    try await file.write("old", to: first)
    try first.close()
    try SQLiteTool.run(Harm.data.rawValue, on: file.path)
    let notices = Notices()
    let store = try file.open(notices)
    let text = try await dump(store)
    #expect(text.contains(#""key":"User:4""#) && !text.contains(#""key":"User:3""#))
    #expect(try await store.record(forKey: "User:3") == nil)
    #expect(notices.codes == [.damagedRecord], "once is enough: \(notices.text)")
    try store.close()
  }

  @Test("after an unclean shutdown the file is checked: an undamaged one is kept, with its log")
  func unclean() async throws {
    let file = try await DamagedFile.afterACrash()
    let notices = Notices()
    let store = try file.open(notices)
    #expect(try await file.read(store) == DamagedFile.data("new"))
    #expect(notices.codes == [])
    try store.close()
    #expect(try file.files == ["cache.db", "cache.db-lock"])
  }

  @Test("after an unclean shutdown a damaged file is renamed, and the cache is empty")
  func setAside() async throws {
    let file = try await DamagedFile.afterACrash()
    try file.overwrite(page: 4, with: 0x5a)
    let notices = Notices()
    let store = try file.open(notices)
    #expect(notices.codes == [.rebuilt])
    #expect(notices.text.contains("is damaged") && notices.text.contains(".damaged-"))
    #expect(try await file.read(store).hasPrefix("miss at "))
    try await file.write("new", to: store)
    #expect(try await file.read(store) == DamagedFile.data("new"))
    try store.close()
    let aside = try file.files.filter { $0.hasPrefix("cache.db.damaged-") }
    #expect(aside.contains { !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") })
  }

  @Test("a damaged file is an error and unchanged, if requested and for read-only stores")
  func refusal() async throws {
    let file = try await DamagedFile.afterACrash()
    try file.overwrite(page: 4, with: 0x5a)
    var refusing = SQLiteStore.Options()
    refusing.damage = .refuse
    var reading = SQLiteStore.Options()
    reading.access = .readOnly
    for options in [refusing, reading] {
      let found = try await code { try SQLiteStore(path: file.path, options: options).close() }
      #expect(found == .damagedDatabase)
      #expect(try file.files.allSatisfy { !$0.contains("damaged") })
    }
    // Still known when it is opened for writing.
    let notices = Notices()
    try file.open(notices).close()
    #expect(notices.codes == [.rebuilt])
  }

  @Test("a damaged file that others have open is not replaced")
  func others() async throws {
    let file = try DamagedFile()
    let first = try file.open()
    try await file.write("old", to: first)
    let lock = try #require(try DatabaseLock(of: OpenDatabases.canonical(file.path)))
    _ = lock.tryLock(.presence, exclusively: false)
    lock.setSuspect(true)
    try first.close()
    try file.overwrite(page: 4, with: 0x5a)
    // The check does not run while another process uses the file.
    let store = try file.open()
    try store.close()
    lock.unlock(.presence)
    let notices = Notices()
    try file.open(notices).close()
    #expect(notices.codes == [.rebuilt])
  }

  @Test("a normal opening does not read the file; damage that is met later is found at the next")
  func later() async throws {
    let file = try DamagedFile()
    let first = try file.open()
    try await file.write("old", to: first)
    try first.close()
    let size = try FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int ?? 0
    for page in 7...(size / 16384) { try file.overwrite(page: page, with: 0) }
    let notices = Notices()
    let store = try file.open(notices)
    #expect(notices.codes == [])
    let answer = try await file.read(store)
    #expect(answer.hasPrefix("miss at "), "\(answer.prefix(200))")
    try store.close()
    let again = try file.open(notices)
    #expect(notices.codes.last == .rebuilt, "\(notices.text)")
    try await file.write("new", to: again)
    #expect(try await file.read(again) == DamagedFile.data("new"))
    try again.close()
  }

  @Test("a damaged key is found when the file is opened after the record was missed")
  func key() async throws {
    let file = try DamagedFile()
    let first = try file.open()
    try await file.write("old", to: first)
    try first.close()
    // The key of the row, not one of the references to it: four bytes of time, and then the record.
    var bytes = try Data(contentsOf: URL(fileURLWithPath: file.path))
    let paths = bytes.indices.filter { path in
      bytes[path...].starts(with: Data("User:5".utf8))
        && bytes.dropFirst(path + 10).starts(with: Data("{".utf8))
    }
    let path = try #require(paths.count == 1 ? paths.first : nil)
    bytes[path] ^= 0x20
    try bytes.write(to: URL(fileURLWithPath: file.path))

    let notices = Notices()
    let store = try file.open(notices)
    #expect(try await file.read(store) == "miss at users[5]")
    #expect(notices.codes == [])
    try store.close()
    let again = try file.open(notices)
    #expect(notices.codes == [.rebuilt], "\(notices.text)")
    #expect(notices.text.contains("not in PRIMARY KEY order"))
    try await file.write("new", to: again)
    #expect(try await file.read(again) == DamagedFile.data("new"))
    try again.close()
  }

  @Test(
    "a missing record is suspicious only if none was ever removed",
    .enabled(if: SQLiteTool.isThere, "needs sqlite3"), arguments: [true, false])
  func lost(_ isRemoved: Bool) async throws {
    let file = try DamagedFile()
    let first = try file.open()
    try await file.write("old", to: first)
    if isRemoved { _ = try await CacheStore(first).remove(RecordSelection("User:3")) }
    try first.close()
    if !isRemoved { try SQLiteTool.run("DELETE FROM records WHERE key = 'User:3'", on: file.path) }
    let store = try file.open()
    #expect(try await file.read(store) == "miss at users[3]")
    try store.close()
    let lock = try #require(try DatabaseLock(of: OpenDatabases.canonical(file.path)))
    #expect(lock.isSuspect == !isRemoved)
    // The check finds nothing wrong with the file.
    let notices = Notices()
    try file.open(notices).close()
    #expect(notices.codes == [] && !lock.isSuspect)
  }

  @Test(
    "a file without its metadata is replaced by an empty one",
    .enabled(if: SQLiteTool.isThere, "needs sqlite3"))
  func metadata() async throws {
    let file = try DamagedFile()
    try file.open().close()
    try SQLiteTool.run("DELETE FROM meta", on: file.path)
    let notices = Notices()
    try file.open(notices).close()
    #expect(notices.codes == [.rebuilt])
    #expect(notices.text.contains("its metadata is missing"))
  }
}
