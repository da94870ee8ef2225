import Foundation
import GQLRunCache
import GQLRunJSON
import GQLRunLanguage
import HTTPTypes
import Testing

@testable import GQLRunPipeline

/// Requests with files, as bytes.
struct MultipartBodyTests {
  private static let document =
    "mutation M($a: Upload, $b: Upload, $l: [Upload], $i: In) { m(a: $a, b: $b, l: $l, i: $i) }"

  private func message(_ uploads: [String: Upload]) throws -> HTTPRequestMessage {
    let operation = try PreparedOperation(
      document: Document(parsing: Self.document), uploads: Array(uploads.keys))
    let endpoint = try Endpoint(url: "http://h/graphql", method: .get)
    return try HTTPRequestBuilder(endpoint: endpoint).message(
      for: GraphQLRequest(operation, uploads: uploads))
  }

  private func bytes(_ message: HTTPRequestMessage) throws -> [UInt8] {
    let reader = try #require(message.multipart).makeReader()
    var bytes: [UInt8] = []
    while let piece = try reader.next() {
      #expect(piece.count <= 64 << 10 && !piece.isEmpty)
      bytes += piece
    }
    return bytes
  }

  /// The whole text, with `B` for the boundary.
  private func text(_ uploads: [String: Upload]) throws -> String {
    let message = try message(uploads)
    let bytes = try bytes(message)
    #expect(message.multipart?.count == bytes.count)
    #expect(message.bodyCount == bytes.count && message.body == nil)
    #expect(message.head.method == .post)
    let type = try #require(message.head.headerFields[.contentType])
    let boundary = try #require(type.split(separator: "boundary=").last)
    return String(decoding: bytes, as: UTF8.self).replacing(boundary, with: "B")
  }

  @Test func `operations, map and files are sent in this order`() throws {
    let text = try text([
      "a": Upload(bytes: Array("one".utf8), fileName: "a.txt"),
      "i.files.0": Upload(bytes: [], fileName: "b", contentType: "image/png"),
    ])
    let printed = try #require(
      JSONValue.string(Document(parsing: Self.document).printed()).canonicalText as String?)
    #expect(
      text
        == [
          "--B", #"Content-Disposition: form-data; name="operations""#,
          "Content-Type: application/json", "",
          #"{"query":\#(printed),"variables":{"a":null,"i":{"files":[null]}},"operationName":"M"}"#,
          "--B", #"Content-Disposition: form-data; name="map""#, "Content-Type: application/json",
          "",
          #"{"0":["variables.a"],"1":["variables.i.files.0"]}"#,
          "--B", #"Content-Disposition: form-data; name="0"; filename="a.txt""#,
          "Content-Type: text/plain", "", "one",
          "--B", #"Content-Disposition: form-data; name="1"; filename="b""#,
          "Content-Type: image/png", "", "", "--B--", "",
        ].joined(separator: "\r\n"))
  }

  @Test func `one file for several variables is sent once`() throws {
    let folder = try TemporaryFolder()
    try folder.write("x", to: "x.txt")
    let first = try Upload(path: folder.path("x.txt"))
    let second = try Upload(path: folder.path("x.txt"))
    let other = try Upload(path: folder.path("x.txt"), fileName: "y.txt")
    let body = try #require(
      try message(["a": first, "l.0": second, "l.1": other, "b": first]).multipart)
    #expect(body.files == [first, other])
    #expect(
      body.map == ["0": ["variables.a", "variables.b", "variables.l.0"], "1": ["variables.l.1"]])
  }

  @Test(
    arguments: [
      ("report \"final\".pdf", "report %22final%22.pdf"),
      ("a\r\nContent-Type: text/html", "a%0D%0AContent-Type: text/html"),
      ("back\\", "back%5C"), ("Ünïcödé 名.txt", "Ünïcödé 名.txt"),
      ("../../etc/passwd", "../../etc/passwd"),
      ("nul\u{0}del\u{7F}", "nul%00del%7F"), (";filename=x", ";filename=x"),
    ])
  func `hostile file names stay inside their quotes`(_ name: String, _ sent: String) throws {
    let text = try text(["a": Upload(bytes: [1], fileName: name)])
    #expect(text.contains("; name=\"0\"; filename=\"\(sent)\"\r\nContent-Type: "))
    // Compares bytes: strings treat CR LF as one character.
    #expect(text.components(separatedBy: "Content-Disposition").count == 4)
  }

  @Test func `a large file arrives in pieces, again for each reader`() throws {
    let folder = try TemporaryFolder()
    let contents = String(repeating: "0123456789abcdef", count: 20_000)
    try folder.write(contents, to: "large.bin")
    let message = try message(["a": Upload(path: folder.path("large.bin"))])
    for _ in 0..<2 {
      #expect(String(decoding: try bytes(message), as: UTF8.self).contains("\r\n\(contents)\r\n--"))
    }
  }

  @Test(arguments: ["longer", ""])
  func `a file that changes fails the attempt`(_ later: String) throws {
    let folder = try TemporaryFolder()
    try folder.write("short", to: "f.txt")
    let message = try message(["a": Upload(path: folder.path("f.txt"))])
    try message.multipart?.checkFiles()
    try folder.write(later, to: "f.txt")
    let before = #expect(throws: ChainError.self) { try message.multipart?.checkFiles() }
    #expect(before?.code == .uploadFailed && before?.delivery == .notSent)
    let during = #expect(throws: ChainError.self) { _ = try bytes(message) }
    #expect(during?.code == .uploadFailed && during?.delivery == .unknown)
    #expect(during?.message.contains("it had 5 bytes, now it has \(later.utf8.count)") == true)
  }

  @Test func `a file of another time is a changed file`() throws {
    let folder = try TemporaryFolder()
    try folder.write("short", to: "f.txt")
    let message = try message(["a": Upload(path: folder.path("f.txt"))])
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: 1)], ofItemAtPath: folder.path("f.txt"))
    let error = #expect(throws: ChainError.self) { try message.multipart?.checkFiles() }
    #expect(error?.message.contains("changed while it was sent; run the operation again") == true)
  }

  @Test func `what is no file is refused when the upload is created`() throws {
    let folder = try TemporaryFolder()
    #expect(throws: ChainError.self) { try Upload(path: folder.path("absent")) }
    let error = #expect(throws: ChainError.self) { try Upload(path: folder.path("")) }
    #expect(error?.message.contains("is not a regular file") == true)
    #expect(mkfifo(folder.path("pipe"), 0o600) == 0)
    #expect(throws: ChainError.self) { try Upload(path: folder.path("pipe")) }
    #expect(throws: ChainError.self) { try Upload(bytes: [], fileName: "") }
    for type in ["png", "image/", "image/png\r\nX: y", "a b/c", "image/png/x"] {
      #expect(throws: ChainError.self, "\(type)") { try Upload(bytes: [], contentType: type) }
    }
    #expect(try Upload(bytes: [], contentType: "text/plain; charset=utf-8").fileName == "blob")
    #expect(try Upload(bytes: [], fileName: "A.PDF").contentType == "application/pdf")
    #expect(try Upload(bytes: [], fileName: "pdf.").contentType == "application/octet-stream")
  }

  /// Whether /dev/shm has files of any size. Few file systems have, even without contents.
  private static var hasLargeFiles: Bool {
    let path = "/dev/shm/trial-\(UUID().uuidString)"
    defer { unlink(path) }
    return FileManager.default.createFile(atPath: path, contents: nil)
      && truncate(path, off_t.max) == 0
  }

  @Test(.enabled(if: MultipartBodyTests.hasLargeFiles, "/dev/shm has no files of this size"))
  func `a file whose size is no possible part of a length is refused`() throws {
    let path = "/dev/shm/upload-\(UUID().uuidString)"
    defer { unlink(path) }
    #expect(FileManager.default.createFile(atPath: path, contents: nil))
    try #require(truncate(path, off_t.max) == 0)
    let error = #expect(throws: ChainError.self) { _ = try message(["a": Upload(path: path)]) }
    #expect(error?.code == .uploadFailed && error?.delivery == .notSent)
  }
}

/// A folder that is deleted with this value.
private final class TemporaryFolder {
  private let folder = NSTemporaryDirectory() + "uploads-\(UUID().uuidString)"

  init() throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  func path(_ name: String) -> String { "\(folder)/\(name)" }

  func write(_ text: String, to name: String) throws {
    try Data(text.utf8).write(to: URL(filePath: path(name)))
  }
}
