import Foundation
import GQLRunJSON
import GQLRunLanguage

/// Reads the files named on the command line; `-` is standard input.
enum Input {
  /// The maximum size of a document or a variables file, in bytes.
  static let textLimit = 64 << 20

  static func bytes(_ path: String, _ what: String) throws -> [UInt8] {
    let file = try InputReader(path, what)
    var bytes: [UInt8] = []
    while let chunk = try file.next() {
      bytes.append(contentsOf: chunk)
      guard bytes.count <= textLimit else {
        throw Failure(.badInput, "\(what) \(path) is larger than \(textLimit >> 20) MiB")
      }
    }
    return bytes
  }

  /// Parses a document. The message of a syntax error has `file:line:column`, the line and a caret.
  static func document(_ path: String) throws -> Document {
    try document(bytes(path, "the document"), named: label(path))
  }

  /// Parses the bytes of a document with a name for messages.
  static func document(_ bytes: [UInt8], named name: String) throws -> Document {
    do {
      return try Document(parsingUTF8: bytes)
    } catch {
      if isBlank(bytes) {
        throw Failure(
          .badInput,
          "\(name): the document is empty; write an operation, such as query Name { field }")
      }
      throw Failure(error.message, at: error.location, in: bytes, name: name)
    }
  }

  /// The name of the file at `path` in messages.
  static func label(_ path: String) -> String { path == "-" ? "stdin" : path }

  /// Whether a document consists only of white space, commas and comments.
  private static func isBlank(_ bytes: [UInt8]) -> Bool {
    var isComment = false
    for byte in bytes.starts(with: [0xef, 0xbb, 0xbf]) ? bytes.dropFirst(3) : bytes[...] {
      switch byte {
      case UInt8(ascii: "\n"), UInt8(ascii: "\r"): isComment = false
      case UInt8(ascii: "#"): isComment = true
      case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: ","): break
      default: if !isComment { return false }
      }
    }
    return true
  }

  static func json(_ path: String, _ what: String) throws -> JSONValue {
    try json(bytes(path, what), what, named: label(path))
  }

  /// Parses JSON with a name for messages.
  static func json(_ bytes: [UInt8], _ what: String, named name: String) throws -> JSONValue {
    do {
      return try JSONValue(parsing: bytes)
    } catch {
      throw Failure(
        "\(what) is not JSON: \(error.message)", at: location(of: error.offset, in: bytes),
        in: bytes, name: name)
    }
  }

  static func location(of offset: Int, in bytes: [UInt8]) -> SourceLocation {
    let before = bytes.prefix(offset)
    let start = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    return SourceLocation(
      line: before.count { $0 == UInt8(ascii: "\n") } + 1,
      column: String(decoding: before[start...], as: UTF8.self).unicodeScalars.count + 1,
      offset: offset)
  }

  /// Waits until a descriptor has bytes, or has ended; a cancelled task does not wait for it.
  static func wait(for descriptor: Int32) throws {
    var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    // Short, because nothing else wakes the thread when the task is cancelled.
    while poll(&waiting, 1, 50) <= 0 { try Task.checkCancellation() }
  }
}

/// Reads a file in chunks.
final class InputReader {
  private let descriptor: Int32
  private let name: String
  private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 64)

  /// - Parameter flags: Further flags of open(2); with `O_NONBLOCK`, a pipe does not wait for its writer.
  init(_ path: String, _ what: String, flags: Int32 = 0) throws {
    name = "\(what) \(path == "-" ? "on standard input" : path)"
    if path.isEmpty { throw Failure(.usage, "the name of \(what) is empty") }
    descriptor = path == "-" ? dup(0) : open(path, O_RDONLY | O_CLOEXEC | flags)
    guard descriptor >= 0 else {
      throw Failure(.badInput, "cannot open \(name): \(String(cString: strerror(errno)))")
    }
    var status = stat()
    if fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
      throw Failure(.badInput, "cannot read \(name): it is a directory; name a file in it")
    }
  }

  deinit {
    close(descriptor)
    buffer.deallocate()
  }

  /// The next chunk, valid until the next call; `nil` at the end of the file.
  ///
  /// A cancelled task does not wait for a program that writes to a pipe.
  func next() throws -> UnsafeRawBufferPointer? {
    while true {
      try Input.wait(for: descriptor)
      let count = read(descriptor, buffer.baseAddress, buffer.count)
      if count < 0 && errno == EINTR { continue }
      guard count >= 0 else {
        throw Failure(.badInput, "cannot read \(name): \(String(cString: strerror(errno)))")
      }
      return count == 0 ? nil : UnsafeRawBufferPointer(rebasing: buffer[..<count])
    }
  }
}
