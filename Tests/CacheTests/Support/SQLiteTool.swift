import Foundation

/// SQLite's own program, as a person would use it on the cache.
enum SQLiteTool {
  /// `nil` where it is not installed, and with `GQLRUN_NO_TOOLS`: starting processes by Foundation is
  /// more than the address sanitizer bears.
  static let path =
    ProcessInfo.processInfo.environment["GQLRUN_NO_TOOLS"] != nil
    ? nil
    : ["/usr/bin/sqlite3", "/usr/local/bin/sqlite3", "/bin/sqlite3"].first {
      FileManager.default.isExecutableFile(atPath: $0)
    }
  static var isThere: Bool { path != nil }

  struct Failure: Error { var output: String }

  /// What the statements print, without the last line feed.
  @discardableResult
  static func run(_ sql: String, on file: String) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: path ?? "")
    process.arguments = ["-batch", file, sql]
    let (output, errors) = (Pipe(), Pipe())
    process.standardOutput = output
    process.standardError = errors
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    let complaint = String(
      decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw Failure(output: complaint) }
    return text.hasSuffix("\n") ? String(text.dropLast()) : text
  }
}
