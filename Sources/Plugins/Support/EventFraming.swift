import GQLRunLanguage
import GQLRunLive
import GQLRunPipeline
import HTTPTypes

/// How the events of a subscription, or the parts of a result, are found in the body of a response.
enum EventFraming: Sendable {
  /// Server-sent events: graphql-sse, "distinct connections mode".
  case eventStream
  /// Parts of a multipart response, each with a member `payload`.
  ///
  /// https://www.apollographql.com/docs/graphos/routing/operations/subscriptions/multipart-protocol
  case multipart(boundary: String)
  /// None: each chunk is a result. They arrive on a connection that operations share.
  case results
  /// Parts of one result, as with `@defer` and `@stream`.
  ///
  /// https://github.com/graphql/graphql-over-http/blob/main/rfcs/IncrementalDelivery.md
  case parts(boundary: String)

  /// The framing of a response by its content type; `nil` for a response with one result.
  init?(
    of response: HTTPResponseMessage, for request: GraphQLRequest, location: String
  ) throws(ChainError) {
    let type = ResponseCheck.mediaType(response.head)
    // A response that an interceptor has created for the same body has only the head.
    guard !response.deliversResults, type != HTTPResponseMessage.sequenceType else {
      self = .results
      return
    }
    let isSubscription = request.operationType == .subscription
    switch type {
    case "text/event-stream" where isSubscription:
      self = .eventStream
    case "multipart/mixed":
      let boundary = Self.boundary(of: response.head)
      guard (1...70).contains(boundary.utf8.count) else {
        throw ChainError(
          .transport, code: .malformedResponse,
          message:
            "the boundary of the multipart response has \(boundary.utf8.count) bytes; 1 to 70 are allowed",
          entry: location, delivery: .answered)
      }
      // Some servers send parts to clients that did not ask for them.
      self = isSubscription ? .multipart(boundary: boundary) : .parts(boundary: boundary)
    default:
      return nil
    }
  }

  /// Finds the parts of a body whose end is in its content; `nil` for other bodies.
  static func splitter(of head: HTTPResponse) -> (any StreamSplitter)? {
    switch ResponseCheck.mediaType(head) {
    case "text/event-stream": EventStreamSplitter()
    case "multipart/mixed": MultipartSplitter(boundary: boundary(of: head))
    default: nil
    }
  }

  private static func boundary(of head: HTTPResponse) -> String {
    parameter("boundary", of: head.headerFields.only(.contentType) ?? "") ?? "-"
  }

  /// A parameter of a media type. Some servers append another media type after a comma.
  ///
  /// https://www.rfc-editor.org/rfc/rfc9110#section-5.6.6
  static func parameter(_ name: String, of type: String) -> String? {
    // A delimiter and a combining character after it are one `Character`.
    var rest = type.unicodeScalars.drop { $0 != ";" }
    while rest.first == ";" {
      rest = rest.dropFirst().drop { $0 == " " || $0 == "\t" }
      let key = rest.prefix { $0 != "=" && $0 != ";" && $0 != "," }
      rest = rest[key.endIndex...]
      guard rest.first == "=" else { continue }
      rest = rest.dropFirst()
      var value = String.UnicodeScalarView()
      if rest.first == "\"" {
        rest = rest.dropFirst()
        while let scalar = rest.popFirst(), scalar != "\"" {
          value.append(scalar == "\\" ? rest.popFirst() ?? scalar : scalar)
        }
        rest = rest.drop { $0 != ";" && $0 != "," }
      } else {
        let text = rest.prefix { $0 != ";" && $0 != "," }
        rest = rest[text.endIndex...]
        value.append(contentsOf: text.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
      }
      if String(key).lowercased() == name { return String(value) }
    }
    return nil
  }
}
