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
    /// Neither a list of capabilities nor an error about the question, as from a proxy.
    case unclear
    /// Errors that are not about the question, such as those of credentials.
    case refusal(GraphQLResponse)
    case failure(any Error)
  }

  /// A request that asks, compared by identity.
  private final class Asker: Sendable {}

  /// Asks the endpoint until it has said whether it supports `onError`, and remembers that.
  ///
  /// - Returns: The server's refusal to answer, which it would also give to the request; `nil` if it supports `onError`.
  private func refusal(
    of request: GraphQLRequest, context: ChainContext, next: NextGraphQL
  ) async throws -> GraphQLResponse? {
    let support = EndpointSupport.of(Self.capability, context)
    if support.isSupported == nil {
      switch try await answer(to: request, context: context, next: next) {
      case .isSupported(let isSupported): support.note(isSupported: isSupported)
      case .unclear: break
      case .refusal(let response): return response
      case .failure(let error): throw error
      }
    }
    guard support.isSupported != true else { return nil }
    throw ChainError(
      notSent: .onErrorNotSupported,
      "\(request.label) is not sent with `on_error: \(value.rawValue)`: the server does not announce the "
        + "capability \(Self.capability); remove the option, or add `force_on_error: true` if the server "
        + "supports it nevertheless",
      entry: context.entryID)
  }

  /// The answer to this request, or to a concurrent one if it is about the server.
  private func answer(
    to request: GraphQLRequest, context: ChainContext, next: NextGraphQL
  ) async throws -> Answer {
    let flights = context.services.shared.value(
      SingleFlight<String, (asker: Asker, answer: Answer)>.self, named: Self.capability,
      make: { SingleFlight() })
    let asker = Asker()
    let first = try await flights.value(for: context.endpoint?.shownURL ?? "") {
      (asker, await Self.answer(to: request, next))
    }
    if case .isSupported = first.answer { return first.answer }
    // Another request may have other credentials.
    return first.asker === asker ? first.answer : await Self.answer(to: request, next)
  }

  private static func answer(to request: GraphQLRequest, _ next: NextGraphQL) async -> Answer {
    // With the credentials of the request.
    var query = GraphQLRequest(document: question, cachePolicy: .noCache)
    query.additionalHeaders = request.additionalHeaders
    query.context.named = request.context.named
    do {
      guard let response = try await next(query).next() else { return .unclear }
      guard let data = response.data.unlessNull else {
        return isUnknown(response.errors) ? .isSupported(false) : .refusal(response)
      }
      let service = try JSONValue(parsing: data.bytes())["__service"]
      guard let capabilities = service?["capabilities"]?.arrayValue else { return .unclear }
      return .isSupported(capabilities.contains { $0["identifier"]?.stringValue == capability })
    } catch let error as ChainError {
      let errors = error.refusedErrors
      guard let status = error.http?.status, [400, 422].contains(status) else {
        return .failure(error)
      }
      if isUnknown(errors) { return .isSupported(false) }
      return errors.isEmpty ? .unclear : .failure(error)
    } catch {
      return .failure(error)
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
