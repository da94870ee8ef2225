import Foundation

/// Measures the cache engine against `json_verify`, yajl's own bare parse, on the same file.
///
/// Every figure is a ratio inside one run: all commands are run in turn, round after round, and the
/// medians compared, because machines are shared and noisy. Times are those of whole processes.
///
///     gqlrun-bench FILE DOCUMENT [--rounds N]
let arguments = CommandLine.arguments
if arguments.count == 6, arguments[1] == "--stage", let stage = Stage(rawValue: arguments[2]) {
  do {
    try await stage.run(file: arguments[3], document: arguments[4], database: arguments[5])
    exit(0)
  } catch {
    FileHandle.standardError.write(Data("gqlrun-bench: \(error)\n".utf8))
    exit(1)
  }
}
guard arguments.count >= 3 else {
  FileHandle.standardError.write(Data("usage: gqlrun-bench FILE DOCUMENT [--rounds N]\n".utf8))
  exit(64)
}
let rounds =
  arguments.firstIndex(of: "--rounds").flatMap { Int(arguments[$0 + 1]) } ?? 5
try Comparison(file: arguments[1], document: arguments[2], rounds: rounds).run()
