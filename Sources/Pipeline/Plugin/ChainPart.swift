/// A part that a plugin contributes to a chain: an interceptor and its role.
public enum ChainPart: Sendable {
  case graphQL(any GraphQLInterceptor)
  /// A cache interceptor that reads before the network.
  case cacheRead(any CacheInterceptor)
  /// A cache interceptor that receives results.
  case cacheWrite(any CacheInterceptor)
  /// An HTTP interceptor. One below the fetch sees a response after all those above the fetch.
  case http(any HTTPInterceptor)
  /// The innermost HTTP interceptor, which sends the request and calls no other.
  case fetch(any HTTPInterceptor)
  case parsing(any ResponseParsingInterceptor)
  case errorTap(any ErrorTap)

  /// The interceptor as a credential holder; `nil` if it is none.
  var credentials: (any CredentialHolder)? {
    switch self {
    case .graphQL(let interceptor): interceptor as? any CredentialHolder
    case .cacheRead(let interceptor), .cacheWrite(let interceptor):
      interceptor as? any CredentialHolder
    case .http(let interceptor), .fetch(let interceptor): interceptor as? any CredentialHolder
    case .parsing(let interceptor): interceptor as? any CredentialHolder
    case .errorTap(let tap): tap as? any CredentialHolder
    }
  }
}
