import Hummingbird
import NIOCore

/// Reads the parts of a `multipart/form-data` body as they arrive.
///
/// Holds the unread rest of one chunk, and the header fields of one part.
///
/// https://www.rfc-editor.org/rfc/rfc7578
struct FormReader {
  /// The header fields of a part.
  struct Part: Sendable, Equatable {
    let name: String
    /// The file name; `nil` if the part is no file.
    let fileName: String?
    let contentType: String?
  }

  /// The maximum size of the header fields of a part, in bytes.
  static let maxHeadBytes = 16 << 10

  private let delimiter: [UInt8]
  private var chunks: RequestBody.AsyncIterator
  /// The bytes that have arrived and are not read yet.
  private var buffer = ByteBuffer(string: "\r\n")

  /// - Parameters:
  ///   - body: The body.
  ///   - boundary: The parameter `boundary` of its media type.
  init(_ body: RequestBody, boundary: String) {
    delimiter = Array("\r\n--\(boundary)".utf8)
    chunks = body.makeAsyncIterator()
  }

  /// The next part, after the rest of the current one is skipped; `nil` after the last one.
  mutating func nextPart() async throws -> Part? {
    while try await nextBytes() != nil {}
    buffer.moveReaderIndex(forwardBy: delimiter.count)
    let first = try await line(upTo: Self.maxHeadBytes)
    guard !first.hasPrefix("--") else { return nil }
    guard first.allSatisfy({ $0 == " " || $0 == "\t" }) else {
      throw RequestError.badRequest("The form has text after the boundary of a part.")
    }
    var fields: [String: String] = [:]
    var left = Self.maxHeadBytes
    while true {
      let text = try await line(upTo: left)
      guard !text.isEmpty else { break }
      left -= text.utf8.count
      let sides = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      guard sides.count == 2 else {
        throw RequestError.badRequest("A header field in the form has no colon.")
      }
      fields[sides[0].lowercased()] = String(sides[1].drop { $0 == " " || $0 == "\t" })
    }
    let disposition = DispositionParameters(fields["content-disposition"] ?? "")
    guard let name = disposition["name"] else {
      throw RequestError.badRequest("A part of the form has no name.")
    }
    return Part(
      name: name, fileName: disposition["filename"], contentType: fields["content-type"])
  }

  /// The next bytes of the current part; `nil` at its end.
  mutating func nextBytes() async throws -> ByteBuffer? {
    while true {
      let view = buffer.readableBytesView
      var end = view.startIndex
      search: while true {
        guard let next = view[end...].firstIndex(of: UInt8(ascii: "\r")) else {
          end = view.endIndex
          break search
        }
        end = next
        let found = view[end...].prefix(delimiter.count)
        guard found.count == delimiter.count || !delimiter.starts(with: found) else {
          // The rest of the delimiter may arrive later.
          break search
        }
        guard !found.elementsEqual(delimiter) else {
          guard end > view.startIndex else { return nil }
          break search
        }
        end += 1
      }
      if end > view.startIndex { return buffer.readSlice(length: end - view.startIndex) }
      try await readChunk()
    }
  }

  /// The rest of the current part.
  ///
  /// - Parameter limit: The maximum number of bytes.
  mutating func bytes(upTo limit: Int, of part: String) async throws -> [UInt8] {
    var all: [UInt8] = []
    while let bytes = try await nextBytes() {
      all.append(contentsOf: bytes.readableBytesView)
      guard all.count <= limit else {
        throw RequestError.badRequest("The part \(part) of a form has at most \(limit) bytes.")
      }
    }
    return all
  }

  /// A line of the header fields, without its end.
  private mutating func line(upTo limit: Int) async throws -> String {
    while true {
      let view = buffer.readableBytesView
      if let end = view.firstIndex(of: UInt8(ascii: "\n")) {
        let bytes = view[..<end]
        buffer.moveReaderIndex(forwardBy: bytes.count + 1)
        return String(decoding: bytes.last == 0x0D ? bytes.dropLast() : bytes, as: UTF8.self)
      }
      // The closing delimiter need not end with a line.
      if view.starts(with: "--".utf8) { return "--" }
      guard view.count <= limit else {
        throw RequestError.badRequest(
          "The header fields of a part of a form have at most \(Self.maxHeadBytes) bytes.")
      }
      try await readChunk()
    }
  }

  private mutating func readChunk() async throws {
    guard var chunk = try await chunks.next() else {
      throw RequestError.badRequest("The form ends without its closing boundary.")
    }
    buffer.discardReadBytes()
    buffer.writeBuffer(&chunk)
  }
}

/// The parameters of a `Content-Disposition` field.
private struct DispositionParameters {
  private var values: [String: String] = [:]

  /// Browsers write `%22` for a quotation mark, and some programs `\"`; neither is decoded further.
  init(_ field: String) {
    var rest = field.drop { $0 != ";" }
    while rest.popFirst() != nil {
      let name = rest.prefix { $0 != "=" && $0 != ";" }
      rest = rest.dropFirst(name.count)
      guard rest.first == "=" else { continue }
      rest.removeFirst()
      let key = name.lowercased().filter { $0 != " " && $0 != "\t" }
      guard rest.first == "\"" else {
        values[key] = rest.prefix { $0 != ";" }.filter { !$0.isWhitespace }
        rest = rest.drop { $0 != ";" }
        continue
      }
      rest.removeFirst()
      var value = ""
      while let character = rest.popFirst(), character != "\"" {
        let isEscape = character == "\\" && rest.first == "\""
        value.append(isEscape ? rest.removeFirst() : character)
      }
      values[key] = value
      rest = rest.drop { $0 != ";" }
    }
  }

  subscript(name: String) -> String? { values[name] }
}
