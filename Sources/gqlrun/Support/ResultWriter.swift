import Foundation
import JSONStream

/// Writes results as JSON: compact or indented, to standard output or a file, and with a line end.
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

  /// Writes one result, whose pieces `pieces` hands over.
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

  /// Makes everything written visible under the file's name.
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

/// A file that appears under its name only when it is complete.
final class OutputFile {
  private let path: String
  private let temporary: String
  private var descriptor: Int32

  init(_ path: String) throws {
    self.path = path
    temporary = "\(path).\(getpid()).part"
    descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
    guard descriptor >= 0 else {
      throw Failure(.failed, "cannot write \(path): \(String(cString: strerror(errno)))")
    }
  }

  deinit {
    guard descriptor >= 0 else { return }
    close(descriptor)
    unlink(temporary)
  }

  func write(_ bytes: UnsafeRawBufferPointer) throws {
    let code = Terminal.writeAll(bytes, to: descriptor)
    guard code == 0 else {
      throw Failure(.failed, "cannot write \(path): \(String(cString: strerror(code)))")
    }
  }

  func finish() throws {
    guard fsync(descriptor) == 0, close(descriptor) == 0, rename(temporary, path) == 0 else {
      throw Failure(.failed, "cannot write \(path): \(String(cString: strerror(errno)))")
    }
    descriptor = -1
  }
}
