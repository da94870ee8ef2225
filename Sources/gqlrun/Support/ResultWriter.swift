import Foundation
import GQLRunJSON

/// Writes results as JSON, compact or indented, to standard output or a file.
final class ResultWriter {
  private let destination: Destination
  private let isPretty: Bool
  /// Whether the results are the elements of one array.
  private let isArray: Bool
  private var printer = JSONPrettyPrinter()
  private var isEmpty = true

  private enum Destination {
    case output
    case file(OutputFile)
  }

  init(isPretty: Bool, isArray: Bool = false, path: String? = nil) throws {
    self.isPretty = isPretty
    self.isArray = isArray
    destination = try path.map { .file(try OutputFile($0)) } ?? .output
  }

  /// Writes one result, followed by a line end. `pieces` passes its chunks to the given closure.
  func write(_ pieces: ((UnsafeRawBufferPointer) throws -> Void) throws -> Void) throws {
    if isArray { try append(isEmpty ? "[" : ",") }
    isEmpty = false
    try pieces { try append($0) }
    if !isArray { try endLine() }
  }

  private func append(_ text: String) throws {
    try Array(text.utf8).withUnsafeBytes { try append($0) }
  }

  private func append(_ piece: UnsafeRawBufferPointer) throws {
    guard isPretty else { return try put(piece) }
    var text: [UInt8] = []
    printer.append(piece, to: &text)
    try text.withUnsafeBytes { try put($0) }
  }

  private func endLine() throws {
    printer = JSONPrettyPrinter()
    try Array("\n".utf8).withUnsafeBytes { try put($0) }
  }

  /// Completes the array and the output file.
  func finish() throws {
    if isArray {
      try append(isEmpty ? "[]" : "]")
      try endLine()
    }
    if case .file(let file) = destination { try file.finish() }
  }

  private func put(_ bytes: UnsafeRawBufferPointer) throws {
    switch destination {
    case .output: try Terminal.write(bytes)
    case .file(let file): try file.write(bytes)
    }
  }
}
