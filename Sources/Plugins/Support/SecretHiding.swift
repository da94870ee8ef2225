import GQLRunPipeline

/// Texts that must not be seen, wherever a server repeats them.
struct SecretHiding: Sendable {
  private let secrets: [String]

  /// Secrets of fewer than six characters are left alone: they would be found in any text.
  init(_ secrets: [SecretString]) {
    self.secrets = Set(secrets.map { $0.reveal() }).filter { $0.utf8.count >= 6 }
      .sorted { $0.utf8.count > $1.utf8.count }
  }

  func text(_ text: String) -> String {
    secrets.reduce(text) { text, secret in
      text.contains(secret) ? text.replacing(secret, with: SecretString.redacted) : text
    }
  }

  func error(_ error: any Error) -> any Error {
    (error as? ChainError).map { chainError($0) } ?? error
  }

  func chainError(_ error: ChainError) -> ChainError {
    var error = error
    error.message = text(error.message)
    error.cause = error.cause.map { self.error($0) }
    error.graphQLErrors = error.graphQLErrors.map { graphQLError($0) }
    if let prefix = error.http?.bodyPrefix {
      error.http?.bodyPrefix = Array(text(String(decoding: prefix, as: UTF8.self)).utf8)
    }
    return error
  }

  func graphQLError(_ error: GraphQLError) -> GraphQLError {
    var error = error
    error.message = text(error.message)
    return error
  }
}
