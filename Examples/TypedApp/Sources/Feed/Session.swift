import Foundation
public import GQLRun

/// The login of the user: a token in a file that only its owner can read.
///
/// The pipeline's `token-refresh` reads the file for every request, so a login needs no new client.
public struct Session: Sendable {
  private let file: String

  /// Creates a session.
  ///
  /// - Parameter file: The path of the token's file, the same as in the pipeline file.
  public init(file: String) {
    self.file = file
  }

  /// Stores a token, and checks that the server accepts it.
  ///
  /// - Throws: ``FeedError/loginRequired`` if the server rejects the token, which is removed then.
  public func logIn(token: String, _ posts: some PostRepository) async throws {
    guard
      FileManager.default.createFile(
        atPath: file, contents: Data(token.utf8), attributes: [.posixPermissions: 0o600])
    else { throw FeedError.failed("The token cannot be written to \(file).") }
    do {
      _ = try await posts.page(after: nil)
    } catch FeedError.loginRequired {
      try removeToken()
      throw FeedError.loginRequired
    }
  }

  /// Removes the token and everything that was received with it.
  public func logOut(_ client: PipelineClient) async throws {
    try removeToken()
    try await client.logOut()
  }

  private func removeToken() throws {
    guard FileManager.default.fileExists(atPath: file) else { return }
    try FileManager.default.removeItem(atPath: file)
  }
}
