import GQLRunCrypto
import GQLRunJSON
import GQLRunSupport
import HTTPTypes
import Hummingbird
import NIOCore

/// The description of a file that a request contained.
struct UploadedFile: Sendable, Hashable {
  let fileName: String
  let contentType: String
  let size: Int
  let sha256: String
}

extension UploadedFile {
  /// The value of a variable of type `Upload`.
  var json: JSONValue {
    [
      "fileName": .string(fileName), "contentType": .string(contentType),
      "size": .number(JSONNumber(size)), "sha256": .string(sha256),
    ]
  }

  /// The file that is the coerced value of an argument; `nil` for null.
  init?(_ value: JSONValue?) {
    guard let fileName = value?["fileName"]?.stringValue,
      let contentType = value?["contentType"]?.stringValue, let size = value?["size"]?.intValue,
      let sha256 = value?["sha256"]?.stringValue
    else { return nil }
    self.init(fileName: fileName, contentType: contentType, size: size, sha256: sha256)
  }
}

/// Reads a request with files: a form with the parts `operations` and `map`, then the files.
///
/// Each file is hashed as it arrives and then forgotten, so that its size does not matter.
///
/// https://github.com/jaydenseric/graphql-multipart-request-spec
struct UploadForm {
  /// The maximum number of files in a request.
  static let maxFiles = 1000
  /// Web pages of other origins cannot send these header fields without the server's permission.
  private static let preflightFields = [
    "Apollo-Require-Preflight", "GraphQL-Preflight", "GraphQL-Require-Preflight",
  ].compactMap { HTTPField.Name($0) }

  private var reader: FormReader
  private let limit: Int

  /// - Parameter limit: The maximum size of `operations` and of `map`, in bytes.
  init(_ request: Request, limit: Int) throws(RequestError) {
    guard Self.preflightFields.contains(where: { request.headers[$0] != nil }) else {
      throw .badRequest(
        "A form needs one of the header fields "
          + "\(Self.preflightFields.map(\.rawName).joined(separator: ", ")), "
          + "which web pages of other origins cannot send.")
    }
    let boundary = ContentType(request.headers[.contentType] ?? "").boundary ?? ""
    guard (1...70).contains(boundary.utf8.count) else {
      throw .badRequest("The media type of a form needs a boundary of 1 to 70 bytes.")
    }
    reader = FormReader(request.body, boundary: boundary)
    self.limit = limit
  }

  /// Reads the whole form.
  ///
  /// - Returns: The request, and the bytes of its part `operations`.
  mutating func read() async throws -> (request: OperationRequest, operations: [UInt8]) {
    let operations = try await part("operations")
    guard operations.first(where: { !$0.isJSONWhiteSpace }) != UInt8(ascii: "[") else {
      throw RequestError.badRequest("A form has one operation, not an array.")
    }
    var request = try OperationRequest(body: operations)
    let paths = try Self.paths(in: try await part("map"), request.variables)
    var missing = Set(paths.keys)
    while let part = try await reader.nextPart() {
      guard missing.remove(part.name) != nil else {
        throw RequestError.badRequest(
          "The form has a part \(InputCoercion.shown(.string(part.name))) that its map does not name, "
            + "or has it twice.")
      }
      let file = try await file(part)
      for path in paths[part.name] ?? [] { request.files[path] = file }
    }
    guard missing.isEmpty else {
      throw RequestError.badRequest(
        "The form lacks \(missing.count) of the files that its map names.")
    }
    return (request, operations)
  }

  private mutating func part(_ name: String) async throws -> [UInt8] {
    guard try await reader.nextPart()?.name == name else {
      throw RequestError.badRequest(
        "A form has the parts operations and map, in this order, and then the files.")
    }
    return try await reader.bytes(upTo: limit, of: name)
  }

  private mutating func file(_ part: FormReader.Part) async throws -> UploadedFile {
    var hash = Hash()
    var size = 0
    while let bytes = try await reader.nextBytes() {
      bytes.withUnsafeReadableBytes { hash.update($0) }
      size += bytes.readableBytes
    }
    return UploadedFile(
      fileName: part.fileName ?? "", contentType: part.contentType ?? "text/plain", size: size,
      sha256: QuotedText.hexadecimal(hash.finalize()))
  }

  /// The paths in the variables, without `variables.`, by the names of the files.
  private static func paths(
    in map: [UInt8], _ variables: JSONObject
  ) throws(RequestError) -> [String: [String]] {
    guard let members = (try? JSONValue(parsing: map))?.objectValue,
      members.count <= maxFiles
    else {
      throw .badRequest("The part map of a form is a JSON object of at most \(maxFiles) files.")
    }
    var result: [String: [String]] = [:]
    var known: Set<String> = []
    for name in members.keys {
      var paths: [String] = []
      for value in members[name]?.arrayValue ?? [] {
        guard let text = value.stringValue, text.hasPrefix("variables.") else {
          throw .badRequest("A path of the map is a string such as \"variables.file\".")
        }
        let path = String(text.dropFirst("variables.".count))
        guard known.insert(path).inserted, JSONValue.object(variables).isNull(at: path) else {
          throw .badRequest(
            "The value of \(InputCoercion.shown(value)) is not null, or has two files.")
        }
        paths.append(path)
      }
      guard !paths.isEmpty else {
        throw .badRequest("The map names no path for \(InputCoercion.shown(.string(name))).")
      }
      result[name] = paths
    }
    return result
  }
}

extension JSONValue {
  /// Whether there is a null at a path such as `input.attachments.0`.
  fileprivate func isNull(at path: String) -> Bool {
    var value = self
    for step in path.split(separator: ".", omittingEmptySubsequences: false) {
      let elements = value.arrayValue ?? []
      if let index = Int(step), elements.indices.contains(index) {
        value = elements[index]
      } else if let member = value[String(step)] {
        value = member
      } else {
        return false
      }
    }
    return value.isNull
  }
}

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
    let first = try await line(upTo: Self.maxHeadBytes, mayClose: true)
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
    let disposition = FieldParameters(fields["content-disposition"] ?? "")
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
  ///
  /// - Parameter mayClose: Whether the line is that of a delimiter, which may be the closing one.
  private mutating func line(upTo limit: Int, mayClose: Bool = false) async throws -> String {
    while true {
      let view = buffer.readableBytesView
      if let end = view.firstIndex(of: UInt8(ascii: "\n")) {
        let bytes = view[..<end]
        buffer.moveReaderIndex(forwardBy: bytes.count + 1)
        return String(decoding: bytes.last == 0x0D ? bytes.dropLast() : bytes, as: UTF8.self)
      }
      // The closing delimiter need not end with a line.
      if mayClose, view.starts(with: "--".utf8) { return "--" }
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
