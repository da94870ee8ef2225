import Foundation

/// A sequence of rows that is read in constant memory.
///
/// Not `Sendable`: it has one reader.
protocol RowSource: AnyObject {
  /// The next row, or `nil` at the end.
  func next() throws -> Row?
}

/// An error in an input, with its file and line.
public struct InputProblem: Error, Sendable, CustomStringConvertible {
  /// The path of the input; `stdin` for standard input.
  public var file: String
  /// The line of the error, from 1; `nil` if it concerns the whole file.
  public var line: Int?
  /// What is wrong.
  public var message: String

  /// `file:line: message`.
  public var description: String { "\(file)\(line.map { ":\($0)" } ?? ""): \(message)" }
}

/// Reads a file or standard input in blocks.
final class ByteReader {
  let name: String
  private let handle: FileHandle
  private let blockSize = 128 << 10

  init(path: String) throws(InputProblem) {
    name = path
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      let reason = errno
      throw InputProblem(
        file: path, line: nil,
        message: reason == ENOENT
          ? "there is no such file"
          : "the input cannot be opened: \(String(cString: strerror(reason)))")
    }
    handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
  }

  init(standardInput: Void) {
    name = "stdin"
    handle = .standardInput
  }

  /// The next block; empty at the end of the input.
  func block() throws(InputProblem) -> [UInt8] {
    do {
      return [UInt8](try handle.read(upToCount: blockSize) ?? Data())
    } catch {
      throw InputProblem(file: name, line: nil, message: "the input cannot be read")
    }
  }

  deinit { try? handle.close() }
}
