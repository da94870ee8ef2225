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
    case spool(UploadSpool)
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
    let spool = try UploadSpool(copying: descriptor)
    try self.init(.spool(spool), count: spool.count, fileName: fileName, contentType)
  }

  private init(
    _ source: Source, count: Int, fileName: String, _ contentType: String?
  ) throws(ChainError) {
    guard !fileName.isEmpty else {
      throw Self.invalid(
        "an upload needs a file name; servers do not take a part without one as a file")
    }
    let type = contentType ?? Self.mediaType(of: fileName)
    guard Self.isMediaType(type) else {
      throw Self.invalid(
        "the media type of the upload \(fileName) is \"\(Printable.line(type))\"; write one such as image/png"
      )
    }
    self.source = source
    self.count = count
    self.fileName = fileName
    self.contentType = type
  }

  private static func invalid(_ message: String) -> ChainError {
    ChainError(.request, .invalidRequest, message, delivery: .notSent)
  }

  /// The path of the file; `nil` for bytes and pipes.
  package var path: String? {
    if case .file(let path, _) = source { path } else { nil }
  }

  /// The source in messages.
  var label: String {
    switch source {
    case .bytes: "the upload \(fileName)"
    case .file(let path, _): path
    case .spool: "the upload of standard input"
    }
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
