import Foundation
import GQLRunJSON

/// Rows, one after the other, without holding them all.
///
/// Not Sendable: whoever reads owns it.
protocol RowSource: AnyObject {
  /// The next row, or `nil` at the end.
  func next() throws -> Row?
}

/// Something wrong with an input, at its place.
public struct InputProblem: Error, Sendable, CustomStringConvertible {
  public var file: String
  /// Counted from 1; `nil` for the file as a whole.
  public var line: Int?
  public var message: String

  public var description: String { "\(file)\(line.map { ":\($0)" } ?? ""): \(message)" }
}

/// Blocks of bytes of a file or of standard input.
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

  /// Empty at the end.
  func block() throws(InputProblem) -> [UInt8] {
    do {
      return [UInt8](try handle.read(upToCount: blockSize) ?? Data())
    } catch {
      throw InputProblem(file: name, line: nil, message: "the input cannot be read")
    }
  }

  deinit { try? handle.close() }
}

/// Rows that stand in the manifest, or that other operations captured.
final class InlineSource: RowSource {
  private let rows: [JSONObject]
  private var place = 0

  init(_ rows: [JSONObject]) { self.rows = rows }

  func next() -> Row? {
    guard place < rows.count else { return nil }
    place += 1
    return Row(number: place, content: .values(rows[place - 1]))
  }
}

/// One JSON value per line.
///
/// https://jsonlines.org
final class JSONLinesSource: RowSource {
  private let reader: ByteReader
  private var held: [UInt8] = []
  private var start = 0
  private var line = 0
  private var hasEnded = false
  /// The longest line; a longer one is no row.
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

  /// Without the byte order mark that some programs put before the first line.
  private func withoutMark(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    line == 1 && bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes
  }
}
