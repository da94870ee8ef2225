import Foundation
import GraphQL
import JSONStream

/// Reading files that the command line names. `-` is standard input.
enum Input {
  /// The most bytes of a document or a variables file. Larger ones are refused: they are not what they seem.
  static let textLimit = 64 << 20

  static func bytes(_ path: String, _ what: String) throws -> [UInt8] {
    let file = try InputFile(path, what)
    var bytes: [UInt8] = []
    while let chunk = try file.next() {
      bytes.append(contentsOf: chunk)
      guard bytes.count <= textLimit else {
        throw Failure(.badInput, "\(what) \(path) is larger than \(textLimit >> 20) MiB")
      }
    }
    return bytes
  }

  /// Parses a document; a syntax error comes as `file:line:column` with the line and a caret.
  static func document(_ path: String) throws -> Document {
    let bytes = try bytes(path, "the document")
    do {
      return try Document(parsingUTF8: bytes)
    } catch {
      throw Failure(
        .badInput,
        located(error.message, at: error.location, in: bytes, name: path == "-" ? "stdin" : path))
    }
  }

  /// `file:line:column: message`, the line it is about, and a caret.
  static func located(
    _ message: String, at location: SourceLocation, in bytes: [UInt8], name: String
  ) -> String {
    let head = "\(name):\(location.line):\(location.column): \(message)"
    var line: [UInt8] = []
    var number = 1
    var index = 0
    while index < bytes.count {
      let byte = bytes[index]
      index += 1
      if byte == UInt8(ascii: "\r") || byte == UInt8(ascii: "\n") {
        if byte == UInt8(ascii: "\r"), index < bytes.count, bytes[index] == UInt8(ascii: "\n") {
          index += 1
        }
        if number == location.line { break }
        number += 1
      } else if number == location.line {
        line.append(byte)
      }
    }
    guard number == location.line, line.count <= 400 else { return head }
    let text = String(decoding: line, as: UTF8.self)
    let lead = text.unicodeScalars.prefix(max(location.column - 1, 0)).map { $0 == "\t" ? "\t" : " " }
    return "\(head)\n  \(text)\n  \(lead.joined())^"
  }

  static func json(_ path: String, _ what: String) throws -> JSONValue {
    let bytes = try bytes(path, what)
    do {
      return try JSONValue(parsing: bytes)
    } catch {
      throw Failure(.badInput, "\(what) \(path): \(error)")
    }
  }
}

/// A file read in pieces.
final class InputFile {
  private let descriptor: Int32
  private let name: String
  private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 64)

  init(_ path: String, _ what: String) throws {
    name = "\(what) \(path == "-" ? "on standard input" : path)"
    descriptor = path == "-" ? dup(0) : open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw Failure(.badInput, "cannot open \(name): \(String(cString: strerror(errno)))")
    }
  }

  deinit {
    close(descriptor)
    buffer.deallocate()
  }

  /// The next bytes, valid until the next call; `nil` at the end.
  func next() throws -> UnsafeRawBufferPointer? {
    while true {
      let count = read(descriptor, buffer.baseAddress, buffer.count)
      if count < 0 && errno == EINTR { continue }
      guard count >= 0 else {
        throw Failure(.badInput, "cannot read \(name): \(String(cString: strerror(errno)))")
      }
      return count == 0 ? nil : UnsafeRawBufferPointer(rebasing: buffer[..<count])
    }
  }
}
