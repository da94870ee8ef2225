import Foundation
import GQLRunTestSupport

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
