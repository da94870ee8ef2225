public import GQLRunPipeline
import HTTPTypes

/// Refuses responses by their status.
public struct ResponseCodePlugin: Plugin {
  public static let summary =
    "Refuses responses whose status is not a success, unless their body is a GraphQL response"
  public static let documentation = PluginDocumentation(
    use: "Every chain that fetches should have one: without it, an HTML error page is parsed.",
    position: "It belongs between `fetch`, whose responses it checks, and `parse`.",
    example: "response-code: { accept: [400] }",
    narration:
      "A response with status 502 fails the operation, with the status and the start of the body "
      + "in the message. A response with status 400 is parsed, as is any with the content type "
      + "application/graphql-response+json.",
    moreExamples: ["response-code"])

  @Option(100...599, "Further statuses whose body is parsed as a GraphQL response")
  var accept: [Int] = []

  public init() {}

  public var traits: PluginTraits { .checksStatus }

  public var placement: Placement {
    .step(
      .http,
      rules: [
        .below(.fetches, or: .answers, .responseCode, "before there is a response"),
        .above(.parses, .responseCode, "when the response has already been parsed"),
      ])
  }

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
    // A body of this type is GraphQL's own word at any status.
    if type == "application/graphql-response+json" { return response }
    throw try await ResponseCheck.refusal(
      response, .httpStatus,
      "the server answered \(ResponseCheck.describe(response.head))"
        + (type.map { " (\($0))" } ?? "") + remedy(status, response.head), context.entryID)
  }

  private func remedy(_ status: Int, _ head: HTTPResponse) -> String {
    switch status {
    case 300..<400:
      // The query of an address may hold keys.
      let target =
        head.headerFields[.location].map { " to \($0.prefix { $0 != "?" }.prefix(200))" } ?? ""
      return "; it sends requests on\(target), which is not followed: set the endpoint's url to it"
    case 401: return "; it wants credentials, or does not take those that were sent"
    case 403: return "; the credentials do not allow this"
    case 404: return "; is the path of the endpoint right?"
    default: return ""
    }
  }
}
