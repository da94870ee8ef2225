import Foundation
import GQLRunSupport

/// A file that is sent with a request, as the value of a variable of type `Upload`.
///
/// ```swift
/// let result = try await client.perform(
///   "mutation Attach($file: Upload!) { attach(file: $file) { id } }",
///   uploads: ["file": Upload(path: "report.pdf")])
/// ```
/// The contents of a file are read in pieces while they are sent, and again by each retry. A file
/// that changes after the value was created is an error, because its parts would not fit together.
///
/// https://github.com/jaydenseric/graphql-multipart-request-spec
public struct Upload: Sendable, Hashable {
  enum Source: Sendable, Hashable {
    case bytes([UInt8])
    case file(path: String, FileVersion)
    case spool(OpenUpload)
  }

  let source: Source
  /// The file name that the server receives.
  public let fileName: String
  /// The media type that the server receives.
  public let contentType: String
  /// The number of bytes.
  public let count: Int

  /// Creates an upload of a regular file.
  ///
  /// - Parameters:
  ///   - path: The path of the file. The file is inspected, and read when it is sent.
  ///   - fileName: The file name that the server receives; `nil` is the last part of `path`.
  ///   - contentType: The media type; `nil` derives it from the end of the file name, and is
  ///     `application/octet-stream` for unknown ones.
  /// - Throws: ``ChainError`` with code `upload_failed` if the file cannot be read or is not a
  ///   regular file, and with code `invalid_request` for an invalid name or media type.
  public init(path: String, fileName: String? = nil, contentType: String? = nil) throws(ChainError)
  {
    let file = try OpenUpload(path: path)
    try self.init(
      .file(path: path, file.version), count: file.version.size,
      fileName: fileName ?? path.split(separator: "/").last.map(String.init) ?? path, contentType)
  }

  /// Creates an upload of bytes in memory.
  ///
  /// - Parameters:
  ///   - bytes: The contents.
  ///   - fileName: The file name that the server receives.
  ///   - contentType: The media type; `nil` derives it from the end of the file name.
  /// - Throws: ``ChainError`` with code `invalid_request` for an invalid name or media type.
  public init(
    bytes: [UInt8], fileName: String = "blob", contentType: String? = nil
  ) throws(ChainError) {
    try self.init(.bytes(bytes), count: bytes.count, fileName: fileName, contentType)
  }

  /// Creates an upload of everything that a pipe delivers, which is copied to a private temporary
  /// file, because the length must be known and retries read it again.
  package init(
    spooling descriptor: Int32, fileName: String, contentType: String?
  ) throws(ChainError) {
    let spool = try OpenUpload(copying: descriptor)
    try self.init(.spool(spool), count: spool.version.size, fileName: fileName, contentType)
  }

  private init(
    _ source: Source, count: Int, fileName: String, _ contentType: String?
  ) throws(ChainError) {
    guard !fileName.isEmpty else {
      throw ChainError(
        notSent: .invalidRequest,
        "an upload needs a file name; servers do not take a part without one as a file")
    }
    let type = contentType ?? Self.mediaType(of: fileName)
    guard Self.isMediaType(type) else {
      throw ChainError(
        notSent: .invalidRequest,
        "the media type of the upload \(fileName) is \"\(Printable.line(type))\"; write one such as image/png"
      )
    }
    self.source = source
    self.count = count
    self.fileName = fileName
    self.contentType = type
  }

  /// The path of the file; `nil` for bytes and pipes.
  package var path: String? {
    if case .file(let path, _) = source { path } else { nil }
  }
}

// MARK: Media types

extension Upload {
  /// `type/subtype`, with parameters of printable ASCII.
  ///
  /// https://www.rfc-editor.org/rfc/rfc9110#section-8.3.1
  private static func isMediaType(_ text: String) -> Bool {
    guard text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else { return false }
    let parts = text.prefix { $0 != ";" }.split(separator: "/", omittingEmptySubsequences: false)
    return parts.count == 2
      && parts.allSatisfy { part in
        !part.isEmpty
          && part.allSatisfy { $0.isLetter || $0.isNumber || "!#$&-^_.+".contains($0) }
      }
  }

  private static func mediaType(of fileName: String) -> String {
    let parts = fileName.split(separator: ".", omittingEmptySubsequences: false)
    let end = parts.count > 1 ? parts[parts.count - 1].lowercased() : ""
    return mediaTypes[end] ?? "application/octet-stream"
  }

  /// The usual ends of names; for others the caller names the type.
  private static let mediaTypes = [
    "avif": "image/avif", "csv": "text/csv", "gif": "image/gif", "gz": "application/gzip",
    "htm": "text/html", "html": "text/html", "jpeg": "image/jpeg", "jpg": "image/jpeg",
    "json": "application/json", "md": "text/markdown", "mp3": "audio/mpeg", "mp4": "video/mp4",
    "pdf": "application/pdf", "png": "image/png", "svg": "image/svg+xml", "txt": "text/plain",
    "wav": "audio/wav", "webm": "video/webm", "webp": "image/webp", "xml": "application/xml",
    "zip": "application/zip",
  ]
}

extension Upload: CustomStringConvertible {
  /// File name, media type and size, without the contents.
  public var description: String {
    Printable.line("\(fileName) (\(contentType), \(Quantity.count(count, "byte")))")
  }
}

extension ChainError.Code {
  /// A file that is to be sent cannot be read, or has changed.
  public static let uploadFailed = Self(rawValue: "upload_failed")
}

/// Size and time of change of a file; a file with another version is another file.
struct FileVersion: Sendable, Hashable {
  var size: Int
  var seconds: Int
  var nanoseconds: Int

  init(_ status: stat) {
    size = Int(status.st_size)
    seconds = Int(status.st_mtim.tv_sec)
    nanoseconds = Int(status.st_mtim.tv_nsec)
  }
}

/// An open file whose contents are sent.
final class OpenUpload: Sendable {
  /// The size of the largest file that is sent, in bytes, so that the sum of a request's files is a number.
  private static let maxSize = 1 << 44

  private let descriptor: Int32
  private let label: String
  let version: FileVersion

  /// Opens a regular file.
  convenience init(path: String) throws(ChainError) {
    // A FIFO without a writer would block.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw Self.failure("cannot open \(path)", code: errno) }
    try self.init(descriptor, path)
  }

  private init(_ descriptor: Int32, _ label: String) throws(ChainError) {
    self.descriptor = descriptor
    self.label = label
    var status = stat()
    let result = fstat(descriptor, &status)
    version = FileVersion(status)
    guard result == 0 else { throw Self.failure("cannot read \(label)", code: errno) }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw refusal("it is not a regular file; send a pipe as standard input (@-)")
    }
    guard version.size <= Self.maxSize else {
      throw refusal("it has \(version.size) bytes, and at most \(Self.maxSize) are sent")
    }
    // Files of /proc and /sys have contents, but no size.
    if version.size == 0, try !read(1, at: 0).isEmpty {
      throw refusal("the system does not tell its size; copy it to a file first")
    }
  }

  /// The contents of a pipe up to its end, in an unnamed temporary file, which is deleted when this is released.
  convenience init(copying source: Int32) throws(ChainError) {
    let target: Int32
    do throws(SystemError) {
      target = try UnnamedFile.create()
    } catch {
      throw Self.failure("cannot spool standard input in \(error.path)", code: error.code)
    }
    var written: Int32 = 0
    let read = SystemIO.forEachPiece(of: source) { piece in
      written = piece.withUnsafeBytes { SystemIO.writeAll($0, to: target) }
      return written == 0
    }
    guard read == 0, written == 0 else {
      close(target)
      throw Self.failure("cannot spool standard input", code: max(read, written))
    }
    try self.init(target, "the copy of standard input")
  }

  deinit { close(descriptor) }

  /// Throws if the file is no longer the one that was inspected.
  func check(
    against expected: FileVersion, delivery: ChainError.Delivery
  ) throws(ChainError) {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else {
      throw Self.failure("cannot read \(label)", code: errno)
    }
    let found = FileVersion(status)
    guard found != expected else { return }
    throw ChainError(
      .request, code: .uploadFailed,
      message: "\(label) changed while it was sent"
        + (found.size == expected.size
          ? "" : ": it had \(Quantity.count(expected.size, "byte")), now it has \(found.size)")
        + "; run the operation again when it is complete", delivery: delivery)
  }

  /// Reads at most `count` bytes at an offset; fewer only at the end of the file.
  func read(_ count: Int, at offset: Int) throws(ChainError) -> [UInt8] {
    var code: Int32 = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      while filled < count {
        let result = pread(
          descriptor, buffer.baseAddress.map { $0 + filled }, count - filled,
          off_t(offset + filled))
        if result < 0, errno == EINTR { continue }
        if result < 0 { code = errno }
        guard result > 0 else { return }
        filled += result
      }
    }
    guard code == 0 else {
      throw Self.failure("cannot read \(label)", code: code, delivery: .unknown)
    }
    return bytes
  }

  private func refusal(_ reason: String) -> ChainError {
    ChainError(notSent: .uploadFailed, "cannot send \(label): \(reason)")
  }

  private static func failure(
    _ what: String, code: Int32, delivery: ChainError.Delivery = .notSent
  ) -> ChainError {
    ChainError(
      .request, code: .uploadFailed, message: "\(what): \(String(cString: strerror(code)))",
      delivery: delivery)
  }
}

extension OpenUpload: Hashable {
  static func == (left: OpenUpload, right: OpenUpload) -> Bool { left === right }

  func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension Upload {
  /// Opens the source for one attempt; `nil` for bytes in memory.
  func opened() throws(ChainError) -> (file: OpenUpload, version: FileVersion)? {
    switch source {
    case .bytes: return nil
    case .spool(let spool): return (spool, spool.version)
    case .file(let path, let version): return (try OpenUpload(path: path), version)
    }
  }
}
