public import GQLRunPipeline
import HTTPTypes

/// Rejects responses by their status.
public struct ResponseCodePlugin: Plugin {
  /// What `response-code` does, in one sentence.
  public static let summary =
    "Rejects responses whose status is not a success, unless their body is a GraphQL response"
  /// When to use `response-code`, where it belongs in a chain, and examples.
  public static let documentation = PluginDocumentation(
    use: "Every chain that fetches should have one: without it, an HTML error page is parsed.",
    position: "It belongs between `fetch`, whose responses it checks, and `parse`.",
    example: "response-code: { accept: [400] }",
    narration:
      "A response with status 502 fails the operation, with the status and the start of the body "
      + "in the message. A response with status 400 is parsed, as is any with the content type "
      + "application/graphql-response+json.",
    subscriptions:
      "Checks the status of the response that opens the stream of events.",
    moreExamples: ["response-code"])

  @Option(100...599, "Further statuses whose body is parsed as a GraphQL response")
  var accept: [Int] = []

  /// Creates the plugin with the defaults of its options.
  public init() {}

  /// Checks the status of responses.
  public var traits: PluginTraits { .checksStatus }

  /// In the HTTP stage, between the fetch and the parser.
  public var placement: Placement {
    .step(
      .http,
      rules: [
        .below(.fetches, or: .answers, code: .responseCode, reason: "before there is a response"),
        .above(.parses, code: .responseCode, reason: "when the response has already been parsed"),
      ])
  }

  /// Creates the interceptor that checks the status.
  public func parts(_ environment: PluginEnvironment) -> [ChainPart] {
    [.http(ResponseCodeInterceptor(accepted: Set(accept)))]
  }
}

private struct ResponseCodeInterceptor: HTTPInterceptor {
  let accepted: Set<Int>

  func intercept(
    _ request: HTTPRequestMessage, context: ChainContext, next: NextHTTP
  ) async throws -> HTTPResponseMessage {
    let response = try await next(request)
    let status = response.head.status.code
    if (200..<300).contains(status) || accepted.contains(status) { return response }
    let type = ResponseCheck.mediaType(response.head)
    // A body of this type is a GraphQL response, whatever the status is.
    if type == "application/graphql-response+json" { return response }
    throw try await ResponseCheck.refusal(
      response, code: .httpStatus,
      message: "the server answered \(response.head.status.shown)"
        + (type.map { " (\($0))" } ?? "") + remedy(status, response.head), location: context.entryID
    )
  }

  private func remedy(_ status: Int, _ head: HTTPResponse) -> String {
    switch status {
    case 300..<400 where status != 304:
      "; the redirect\(head.shownLocation.map { " to \($0)" } ?? "") is not followed: set the endpoint's url to "
        + "its target"
    case 401: "; the server requires credentials, or rejected those that were sent"
    case 403: "; the credentials do not allow this"
    case 404: "; is the path of the endpoint right?"
    default: ""
    }
  }
}
