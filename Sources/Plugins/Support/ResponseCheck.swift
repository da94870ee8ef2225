import HTTPTypes
import Pipeline

/// Whether a response can be read as GraphQL, by its status and content type.
///
/// https://graphql.github.io/graphql-over-http/draft/#sec-Processing-a-response
enum ResponseCheck {
  /// How many bytes of a refused body are kept for the message.
  static let keptBytes = 1024

  static func mediaType(_ head: HTTPResponse) -> String? {
    head.headerFields[.contentType]?.prefix { $0 != ";" }.lowercased()
      .filter { !$0.isWhitespace }
  }

  /// Refuses what says of itself that it is not JSON. A server that says nothing is believed.
  static func requireJSON(_ response: HTTPResponseMessage, place: String) async throws {
    guard let type = mediaType(response.head), !type.isEmpty else { return }
    let isJSON =
      type == "application/json" || type == "text/json" || type == "text/plain"
      || type.hasSuffix("+json")
    guard !isJSON else { return }
    throw await refusal(
      response, .unexpectedContentType,
      "the server answered \(describe(response.head)) of type \(type), where JSON was asked for",
      place)
  }

  /// `503 Service Unavailable`
  static func describe(_ head: HTTPResponse) -> String {
    let phrase = head.status.reasonPhrase
    return phrase.isEmpty ? "\(head.status.code)" : "\(head.status.code) \(phrase)"
  }

  /// The error for a response that is not read any further, with the first line of its body.
  static func refusal(
    _ response: HTTPResponseMessage, _ code: ChainError.Code, _ message: String, _ place: String
  ) async -> ChainError {
    let prefix = (try? await response.body.prefix(keptBytes)) ?? []
    let line = String(decoding: prefix, as: UTF8.self)
      .split(whereSeparator: \.isNewline).first { !$0.allSatisfy(\.isWhitespace) }
    return ChainError(
      .transport, code, message + (line.map { ": \($0.prefix(200))" } ?? ""), place: place,
      http: .init(
        status: response.head.status.code, headers: response.head.headerFields, bodyPrefix: prefix),
      delivery: .answered)
  }
}
