import Crypto
import GQLRunJSON
import GQLRunSupport

/// The documents that clients have registered by hash: automatic persisted queries.
///
/// A request refers to a document with `extensions.persistedQuery`; if it also has the document, it
/// registers it. Stored in memory with a limit, so a client may have to register a document again.
final class PersistedQueries: Sendable {
  static let maxDocuments = 256
  static let maxDocumentBytes = 64 << 10

  private let documents = Locked<[String: String]>([:])

  /// The document of a request, after registering it or looking it up by hash.
  func document(of request: OperationRequest) throws(RequestError) -> String {
    guard let entry = request.extensions["persistedQuery"] else {
      guard let query = request.query else {
        throw .badRequest("The parameter query is missing.")
      }
      return query
    }
    guard entry["version"]?.intValue == 1, let hash = entry["sha256Hash"]?.stringValue else {
      throw RequestError(
        .badUserInput, "extensions.persistedQuery needs the version 1 and a sha256Hash.")
    }
    guard let query = request.query else {
      guard let known = documents.withLock({ $0[hash] }) else {
        throw RequestError(.persistedQueryNotFound, "PersistedQueryNotFound")
      }
      return known
    }
    guard QuotedText.hexadecimal(SHA256.hash(data: Array(query.utf8))) == hash else {
      throw RequestError(.badUserInput, "provided sha does not match query")
    }
    if query.utf8.count <= Self.maxDocumentBytes {
      documents.withLock { documents in
        if documents.count >= Self.maxDocuments { documents.removeAll() }
        documents[hash] = query
      }
    }
    return query
  }
}
