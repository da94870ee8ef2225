import GQLRunJSON
public import GQLRunPipeline

extension OnError: ExpressibleByOption {}

/// Adds `onError` to requests, if the server announces that it supports it.
///
/// The innermost GraphQL interceptor of a chain, so that its question has the header fields of the request.
struct OnErrorInterceptor: GraphQLInterceptor, RequestPreviewing {
  let value: OnError
  /// Whether the server is not asked.
  let isForced: Bool

  func intercept(
    _ request: GraphQLRequest, context: ChainContext, next: NextGraphQL
  ) async throws -> ResponseStream {
    if !isForced, let refusal = try await refusal(of: request, context: context, next: next) {
      return ResponseStream(refusal)
    }
    return await next(preview(of: request))
  }

  func preview(of request: GraphQLRequest) -> GraphQLRequest {
    var request = request
    request.onError = value
    return request
  }

  // MARK: Support

  /// https://github.com/graphql/graphql-spec/pull/1208
  private static let question = "{__service{capabilities{identifier}}}"
  private static let capability = "graphql.onError"

  /// What a server answers to the question for its capabilities.
  private enum Answer: Sendable {
    case isSupported(Bool)
    /// Errors that are not about the question, such as those of credentials.
    case refusal(GraphQLResponse)
  }

  /// Asks the endpoint once, and remembers its answer; concurrent requests wait for the same one.
  ///
  /// - Returns: The server's refusal to answer, which it would also give to the request; `nil` if it supports `onError`.
  private func refusal(
    of request: GraphQLRequest, context: ChainContext, next: NextGraphQL
  ) async throws -> GraphQLResponse? {
    let support = EndpointSupport.of(Self.capability, context)
    if support.isSupported == nil {
      let flights = context.services.shared.value(
        SingleFlight<String, Answer>.self, named: Self.capability, make: { SingleFlight() })
      let answer = try await flights.value(for: context.endpoint?.shownURL ?? "") {
        try await Self.answer(to: request, next)
      }
      switch answer {
      case .refusal(let response): return response
      case .isSupported(let isSupported): support.note(isSupported: isSupported)
      }
    }
    guard support.isSupported != true else { return nil }
    throw ChainError(
      .request, code: .onErrorNotSupported,
      message:
        "\(request.label) is not sent with `on_error: \(value.rawValue)`: the server does not announce the "
        + "capability \(Self.capability); remove the option, or add `force_on_error: true` if the server "
        + "supports it nevertheless",
      entry: context.entryID, delivery: .notSent)
  }

  private static func answer(
    to request: GraphQLRequest, _ next: NextGraphQL
  ) async throws -> Answer {
    // With the credentials of the request.
    var query = GraphQLRequest(document: question, cachePolicy: .noCache)
    query.additionalHeaders = request.additionalHeaders
    query.context.named = request.context.named
    do {
      guard let response = try await next(query).next() else { return .isSupported(false) }
      let text = try response.data?.bytes() ?? []
      guard !text.isEmpty, !text.elementsEqual("null".utf8) else {
        return isUnknown(response.errors) ? .isSupported(false) : .refusal(response)
      }
      let capabilities = try JSONValue(parsing: text)["__service"]?["capabilities"]
      return .isSupported(
        (capabilities?.arrayValue ?? []).contains {
          $0["identifier"]?.stringValue == capability
        })
    } catch let error as ChainError {
      let errors = error.refusedErrors
      guard let status = error.http?.status, [400, 422].contains(status),
        errors.isEmpty || isUnknown(errors)
      else { throw error }
      return .isSupported(false)
    }
  }

  /// Whether a server without the field `__service` refuses the question as invalid.
  private static func isUnknown(_ errors: [GraphQLError]) -> Bool {
    errors.contains {
      $0.message.contains("__service") || $0.code == "GRAPHQL_VALIDATION_FAILED"
    }
  }
}

extension ChainError.Code {
  /// The server does not announce that it supports `onError`, which the pipeline requires.
  public static let onErrorNotSupported = Self(rawValue: "on_error_not_supported")
}
