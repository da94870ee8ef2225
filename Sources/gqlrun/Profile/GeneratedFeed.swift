import Foundation
import GQLRunCache
import GQLRunDemoServer
import GQLRunJSON
import GQLRunLanguage
import GQLRunSupport

/// A reproducible response for profiling: posts with authors, tags and comments.
struct GeneratedFeed {
  var posts: Int

  init(_ text: String) throws {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0] == "feed", let posts = Int(parts[1]), posts > 0,
      posts <= 10_000_000
    else {
      throw Failure(
        .usage,
        "cannot read --generate \(text); write feed:N with N posts, 1 to 10000000, such as feed:25000"
      )
    }
    self.posts = posts
  }

  static let document = """
    query Feed($first: Int!) {
      feed(first: $first) {
        totalCount
        edges {
          cursor
          node {
            id title body publishedAt likeCount ratio isPinned
            author { ...UserFields }
            tags { id name color }
            comments(first: 10) {
              totalCount
              edges { cursor node { id body createdAt score author { ...UserFields } } }
              pageInfo { hasNextPage endCursor }
            }
          }
        }
        pageInfo { hasNextPage endCursor }
      }
    }
    fragment UserFields on User { id login name bio avatarUrl followers reputation }

    """

  /// Writes the response to an operation on the demo server's schema.
  func write(_ operation: PreparedOperation, to path: String) throws {
    let file = try OutputFile(path, replacing: .anything)
    try DemoExecutor(feedSize: posts + 1).stream(
      operation.document, operationName: operation.name, variables: .object(operation.variables)
    ) { piece in
      try Task.checkCancellation()
      try piece.withUnsafeBytes { try file.write($0) }
    }
    try file.finish()
  }
}

/// A folder for the files of a profile, removed at the end unless the user keeps it.
struct ScratchFolder {
  private let folder: URL
  private let isKept: Bool

  /// - Parameter kept: A folder that is not removed; created if it does not exist.
  init(_ kept: String? = nil) throws {
    isKept = kept != nil
    folder =
      kept.map { URL(fileURLWithPath: $0) }
      ?? FileManager.default.temporaryDirectory
      .appendingPathComponent("gqlrun-profile-\(UUID().uuidString)")
    try SystemIO.createFolder(folder.path, permissions: 0o700)
  }

  /// Checks that a file which is kept replaces nothing but an earlier one.
  func check(_ name: String, replacing form: OutputForm) throws {
    if isKept { try OutputFile.check(path(name), replacing: form) }
  }

  func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

  /// A path with the contents of `path` that can be read many times: standard input and pipes are
  /// copied.
  func kept(_ path: String, _ what: String) throws -> String {
    var status = stat()
    let kind = stat(path, &status) == 0 ? status.st_mode & S_IFMT : S_IFREG
    guard path == "-" || [S_IFIFO, S_IFSOCK, S_IFCHR].contains(kind) else { return path }
    let input = try InputFile(path, what)
    let name = path == "-" ? "stdin" : String(path.split(separator: "/").last ?? "copy")
    let copy = try OutputFile(self.path(name), replacing: .anything)
    while let piece = try input.next() { try copy.write(piece) }
    try copy.finish()
    return self.path(name)
  }

  func remove() {
    guard !isKept else { return }
    try? FileManager.default.removeItem(at: folder)
  }
}
