import Foundation
import GQLRunJSON

/// Writes results as JSON, compact or indented, to standard output or a file.
final class ResultWriter {
  private let destination: Destination
  private let isPretty: Bool

  private enum Destination {
    case output
    case file(OutputFile)
  }

  init(isPretty: Bool, path: String? = nil) throws {
    self.isPretty = isPretty
    destination = try path.map { .file(try OutputFile($0)) } ?? .output
  }

  /// Writes one result, followed by a line end. `pieces` passes its chunks to the given closure.
  func write(_ pieces: ((UnsafeRawBufferPointer) throws -> Void) throws -> Void) throws {
    if isPretty {
      var printer = JSONPrettyPrinter()
      try pieces { piece in
        var text: [UInt8] = []
        printer.append(piece, to: &text)
        try text.withUnsafeBytes { try put($0) }
      }
    } else {
      try pieces { try put($0) }
    }
    try Array("\n".utf8).withUnsafeBytes { try put($0) }
  }

  /// Completes the output file.
  func finish() throws {
    if case .file(let file) = destination { try file.finish() }
  }

  private func put(_ bytes: UnsafeRawBufferPointer) throws {
    switch destination {
    case .output: try Terminal.write(bytes)
    case .file(let file): try file.write(bytes)
    }
  }
}
