import Foundation

// Measures the cache engine against yajl's own bare parse. See docs/benchmarks.md.
do {
  try await Command.run(Array(CommandLine.arguments.dropFirst()))
} catch let error as BenchError {
  FileHandle.standardError.write(Data("gqlrun-bench: \(error.message)\n".utf8))
  exit(error.isUsage ? 64 : 1)
} catch {
  FileHandle.standardError.write(Data("gqlrun-bench: \(error)\n".utf8))
  exit(1)
}
