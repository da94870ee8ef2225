public import GQLRunJSON
import GQLRunSupport

/// The body of a request with files, as `multipart/form-data`: the GraphQL request, the map of
/// its files, then the files.
///
/// The length is known before anything is read, and files are read in pieces while they are sent.
///
/// https://github.com/jaydenseric/graphql-multipart-request-spec
public struct MultipartBody: Sendable {
  /// The GraphQL request as JSON, with null in place of each file.
  public let operations: [UInt8]
  /// The variables of each file: `{"0": ["variables.file"]}`.
  public let map: JSONObject
  /// The files, in the order of ``map``.
  public let files: [Upload]
  /// The number of bytes of the whole body.
  public let count: Int
  private let boundary: String
  private let segments: [Segment]

  /// Creates the body of one request.
  ///
  /// - Parameters:
  ///   - operations: The GraphQL request as JSON.
  ///   - uploads: The files by the paths of their variables. Equal files are sent once.
  package init(operations: [UInt8], uploads: [String: Upload]) {
    var files: [Upload] = []
    var paths: [[JSONValue]] = []
    for (path, upload) in uploads.sorted(by: { $0.key < $1.key }) {
      let index = files.firstIndex(of: upload) ?? files.count
      if index == files.count {
        files.append(upload)
        paths.append([])
      }
      paths[index].append(.string("variables.\(path)"))
    }
    var map = JSONObject()
    for (index, paths) in paths.enumerated() { map[String(index)] = .array(paths) }
    self.operations = operations
    self.map = map
    self.files = files
    // 128 random bits occur in no file.
    boundary =
      "gqlrun-" + String(UInt64.random(in: 0...UInt64.max), radix: 36)
      + String(UInt64.random(in: 0...UInt64.max), radix: 36)
    segments = Self.segments(boundary, operations: operations, map: map, files: files)
    count = segments.reduce(0) { $0 + $1.count }
  }

  /// The value of the header field `Content-Type`.
  public var contentType: String { "multipart/form-data; boundary=\(boundary)" }

  /// Throws if a file has changed since its ``Upload`` was created, or can no longer be read.
  public func checkFiles() throws(ChainError) {
    for upload in files {
      guard let (file, version) = try upload.opened() else { continue }
      try file.check(against: version, delivery: .notSent)
    }
  }

  /// Returns a reader of the whole body, for one attempt. It opens the files again.
  public func makeReader() -> Reader { Reader(segments) }

  // MARK: Parts

  fileprivate enum Segment: Sendable {
    case bytes([UInt8])
    case file(Upload)

    var count: Int {
      switch self {
      case .bytes(let bytes): bytes.count
      case .file(let upload): upload.count
      }
    }
  }

  private static func segments(
    _ boundary: String, operations: [UInt8], map: JSONObject, files: [Upload]
  ) -> [Segment] {
    let map = JSONValue.object(map).jsonBytes()
    var head =
      field(boundary, name: "operations", value: operations)
      + field(boundary, name: "map", value: map)
    var segments: [Segment] = []
    for (index, upload) in files.enumerated() {
      head += Array(
        """
        --\(boundary)\r\nContent-Disposition: form-data; name="\(index)"; \
        filename="\(quoted(upload.fileName))"\r\nContent-Type: \(upload.contentType)\r\n\r\n
        """.utf8)
      segments += [.bytes(head), .file(upload)]
      head = Array("\r\n".utf8)
    }
    return segments + [.bytes(head + Array("--\(boundary)--\r\n".utf8))]
  }

  private static func field(_ boundary: String, name: String, value: [UInt8]) -> [UInt8] {
    let head =
      "--\(boundary)\r\nContent-Disposition: form-data; name=\"\(name)\"\r\n"
      + "Content-Type: application/json\r\n\r\n"
    return Array(head.utf8) + value + Array("\r\n".utf8)
  }

  /// A file name inside quotes. UTF-8 is sent as it is, as browsers do; what would end the value or
  /// the line is percent-encoded, and so is a backslash, which some servers take as an escape.
  ///
  /// https://www.rfc-editor.org/rfc/rfc7578#section-2
  static func quoted(_ name: String) -> String {
    var text = ""
    for scalar in name.unicodeScalars {
      switch scalar {
      case "\"", "\\", "\u{00}"..."\u{1F}", "\u{7F}":
        let digits = String(scalar.value, radix: 16, uppercase: true)
        text += digits.count == 1 ? "%0\(digits)" : "%\(digits)"
      default: text.unicodeScalars.append(scalar)
      }
    }
    return text
  }
}

extension MultipartBody {
  /// Reads a body in pieces of at most 64 KiB.
  ///
  /// Sendable so that threads can take turns; not for concurrent calls.
  public final class Reader: Sendable {
    private struct Position: Sendable {
      var segments: ArraySlice<Segment>
      /// The number of bytes of the first segment that were read.
      var offset = 0
      /// The first segment's file.
      var file: (file: OpenUpload, version: FileVersion)?
    }

    private static let pieceSize = 64 << 10
    private let position: Locked<Position>

    fileprivate init(_ segments: [Segment]) {
      position = Locked(Position(segments: segments[...]))
    }

    /// The next bytes, or `nil` at the end. Blocks while a file is read.
    ///
    /// - Throws: ``ChainError`` with code `upload_failed`.
    public func next() throws(ChainError) -> [UInt8]? {
      var position = position.withLock { $0 }
      defer { self.position.withLock { $0 = position } }
      while let segment = position.segments.first {
        let size = min(segment.count - position.offset, Self.pieceSize)
        let piece: [UInt8]
        switch segment {
        case .bytes(let bytes): piece = Array(bytes[position.offset..<(position.offset + size)])
        case .file(let upload): piece = try Self.read(size, of: upload, at: &position)
        }
        position.offset += size
        if position.offset == segment.count {
          position.segments.removeFirst()
          position.offset = 0
          position.file = nil
        }
        if !piece.isEmpty { return piece }
      }
      return nil
    }

    private static func read(
      _ size: Int, of upload: Upload, at position: inout Position
    ) throws(ChainError) -> [UInt8] {
      if case .bytes(let bytes) = upload.source {
        return Array(bytes[position.offset..<(position.offset + size)])
      }
      if position.file == nil { position.file = try upload.opened() }
      guard let (file, version) = position.file else { return [] }
      let piece = try file.read(size, at: position.offset)
      // At the end, for all pieces; a file that became shorter would otherwise never end.
      if piece.count < size || position.offset + size == upload.count || position.offset == 0 {
        try file.check(against: version, delivery: .unknown)
      }
      return piece
    }
  }
}
