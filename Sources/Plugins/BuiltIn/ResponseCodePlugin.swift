public import GQLRunPipeline
import HTTPTypes

/// Refuses responses by their status.
public struct ResponseCodePlugin: Plugin {
  public static let description = PluginDescription(
    name: "response-code",
    summary: "Refuses responses whose status is not a success, unless their body is GraphQL's own",
    kind: .step, stages: [.http], roles: [.responseCode],
    options: [
      OptionDescription(
        "accept", .list(.int(in: 100...599)),
        "Further statuses whose body is read as a GraphQL response")
    ],
    examples: ["response-code", "response-code: { accept: [400] }"])

  public static func make(
    options: PluginOptions, environment: PluginEnvironment
  ) throws(PluginOptionError) -> PluginInstance {
    .http(ResponseCodeInterceptor(accepted: Set(options.ints("accept"))))
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
