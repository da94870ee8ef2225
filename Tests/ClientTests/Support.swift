import Foundation
import GQLRun
import GQLRunDemoServer

/// A folder of one test, removed with it.
final class Folder: Sendable {
  let path: String

  init() throws {
    path = NSTemporaryDirectory() + "client-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// Writes a file and returns its path.
  func write(_ text: String, to name: String) throws -> String {
    let file = "\(path)/\(name)"
    try text.write(toFile: file, atomically: true, encoding: .utf8)
    return file
  }

  /// A chain with time enough for a busy machine.
  static let chain =
    "[cache-read, fetch: { connect_timeout: 1h, idle_timeout: 1h }, response-code, parse, "
    + "cache-write]"

  /// A pipeline file for a server.
  func pipeline(
    _ url: String, store: String = "{ kind: memory }", chain: String = Folder.chain,
    more: String = ""
  ) throws -> String {
    try write(
      """
      version: 1
      endpoint: { url: "\(url)" }
      store: \(store)
      \(more)
      chain: \(chain)

      """, to: "demo.pipeline.yaml")
  }
}

/// Calls `body` with a client of a demo server, which have the pipeline file of a folder.
///
/// - Parameter more: Further sections of the pipeline file.
func withClient(
  _ configuration: DemoServer.Configuration = .init(), more: String = "",
  _ body: (PipelineClient, LiveDemoServer) async throws -> Void
) async throws {
  try await DemoServer.withServer(configuration) { server in
    let folder = try Folder()
    try await PipelineClient(file: folder.pipeline(server.url, more: more)).shutdown {
      try await body($0, server)
    }
  }
}

struct CountryData: Decodable, Equatable {
  struct Country: Decodable, Equatable { let name: String }
  let country: Country?
}

struct PostData: Decodable, Equatable {
  struct Post: Decodable, Equatable {
    var title: String
    var likeCount: Int
  }
  var post: Post?
}

enum Documents {
  static let country = "query C($code: ID!) { country(code: $code) { name } }"
  static let post = "query Post($id: ID!) { post(id: $id) { id title likeCount } }"
  static let like = "mutation Like($id: ID!) { likePost(id: $id) { id likeCount } }"
}

/// A transport that answers every request with one body.
struct FixedAnswer: HTTPTransport {
  var body: String
  var status = 200

  func send(
    _ request: HTTPRequestMessage, limits: HTTPLimits
  ) async throws -> HTTPResponseMessage {
    var head = HTTPResponse(status: .init(code: status))
    head.headerFields[.contentType] = "application/json"
    return HTTPResponseMessage(head: head, body: HTTPBody([Array(body.utf8)]))
  }
}

/// A transport that answers nothing, and reports when it has been asked.
struct Silence: HTTPTransport {
  let asked: AsyncStream<Void>.Continuation

  func send(
    _ request: HTTPRequestMessage, limits: HTTPLimits
  ) async throws -> HTTPResponseMessage {
    asked.yield()
    // Ends when the task is cancelled.
    let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
    defer { continuation.finish() }
    for await _ in stream {}
    throw CancellationError()
  }
}
