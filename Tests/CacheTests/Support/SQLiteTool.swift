import Foundation
import GQLRunTestSupport
import Testing

@testable import GQLRunCache

/// SQLite's own program, as a person would use it on the cache.
enum SQLiteTool {
  /// `nil` where it is not installed.
  static let path =
    ["/usr/bin/sqlite3", "/usr/local/bin/sqlite3", "/bin/sqlite3"].first {
      FileManager.default.isExecutableFile(atPath: $0)
    }
  static var isThere: Bool { path != nil }

  struct Failure: Error { var output: String }

  /// What the statements print, without the last line feed.
  @discardableResult
  static func run(_ sql: String, on file: String) throws -> String {
    let (status, text, errors) = try ChildProcess(path ?? "", ["-batch", file, sql]).finish()
    guard status == 0 else { throw Failure(output: errors) }
    return text.hasSuffix("\n") ? String(text.dropLast()) : text
  }
}

/// A lock on the file of a store, as another process has it.
func exclusiveLock(
  _ region: DatabaseLock.Region, ofStoreAt path: String
) throws -> DatabaseLock {
  let lock = try #require(try DatabaseLock(of: OpenDatabases.canonical(path)))
  let isLocked = if case .locked = lock.tryLock(region, exclusively: true) { true } else { false }
  try #require(isLocked, "the lock is not free")
  return lock
}

/// The number of transactions in the write-ahead log of a file: https://sqlite.org/fileformat2.html#the_write_ahead_log
func commits(inLogOf path: String) throws -> Int {
  let log = Array(try Data(contentsOf: URL(fileURLWithPath: path + "-wal")))
  func word(_ offset: Int) -> Int {
    log[offset..<(offset + 4)].reduce(0) { $0 << 8 | Int($1) }
  }
  let frame = 24 + word(8)
  return stride(from: 32, to: log.count - frame + 1, by: frame).count { word($0 + 4) > 0 }
}
