import Foundation
import GQLRunJSON

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

/// Reads rows given in the manifest.
final class InlineSource: RowSource {
  private let rows: [JSONObject]
  private var location = 0

  init(_ rows: [JSONObject]) { self.rows = rows }

  func next() -> Row? {
    guard location < rows.count else { return nil }
    location += 1
    return Row(number: location, content: .values(rows[location - 1]))
  }
}

/// Reads one row from each line of JSON.
///
/// https://jsonlines.org
final class JSONLinesSource: RowSource {
  private let reader: ByteReader
  private var held: [UInt8] = []
  private var start = 0
  private var line = 0
  private var hasEnded = false
  /// The maximum length of a line in bytes.
  private static let longest = 16 << 20

  init(_ reader: ByteReader) { self.reader = reader }

  func next() throws -> Row? {
    while let bytes = try nextLine() {
      let text = bytes.drop { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
      if text.isEmpty { continue }
      let value: JSONValue
      do {
        value = try JSONValue(parsing: Array(text))
      } catch {
        throw InputProblem(
          file: reader.name, line: line,
          message: "the line is not JSON: \(error.message); each line holds one value")
      }
      if let object = value.objectValue { return Row(number: line, content: .values(object)) }
      return Row(number: line, content: .values(["value": value]))
    }
    return nil
  }

  private func nextLine() throws(InputProblem) -> ArraySlice<UInt8>? {
    var searched = start
    while true {
      if let end = held[searched...].firstIndex(of: 0x0A) {
        defer { start = end + 1 }
        line += 1
        return withoutMark(held[start..<end])
      }
      searched = held.count
      guard !hasEnded else {
        guard start < held.count else { return nil }
        defer { start = held.count }
        line += 1
        return withoutMark(held[start...])
      }
      guard held.count - start <= Self.longest else {
        throw InputProblem(
          file: reader.name, line: line + 1, message: "the line is longer than 16 MiB")
      }
      searched -= start
      held.removeFirst(start)
      start = 0
      let block = try reader.block()
      if block.isEmpty { hasEnded = true } else { held += block }
    }
  }

  /// Removes the byte order mark at the start of the input.
  private func withoutMark(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    line == 1 && bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes
  }
}
