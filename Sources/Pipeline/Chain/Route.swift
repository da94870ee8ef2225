import GraphQL

/// The interceptors that one request passes: those of its pipeline whose condition holds, sorted
/// into stages.
struct Route: Sendable {
  struct Stop<Interceptor: Sendable>: Sendable {
    /// The identifier of the entry.
    var id: String
    var interceptor: Interceptor
  }

  enum Link: Sendable {
    case graphQL(Stop<any GraphQLInterceptor>)
    case cacheRead(Stop<any CacheInterceptor>)
  }

  /// What a request meets before the network, from the first.
  private(set) var links: [Link] = []
  /// The HTTP interceptors from the outermost to the fetch.
  private(set) var http: [Stop<any HTTPInterceptor>] = []
  private(set) var parser: Stop<any ResponseParsingInterceptor>?
  private(set) var cacheWrite: Stop<any CacheInterceptor>?
  private(set) var taps: [Stop<any ErrorTap>] = []

  init(_ entries: [PipelineEntry], for request: GraphQLRequest) {
    // An HTTP interceptor below the fetch surrounds those above it: it sees a response after all of
    // them have.
    var below: [Stop<any HTTPInterceptor>] = []
    var fetch: Stop<any HTTPInterceptor>?
    for entry in entries where entry.condition.holds(for: request) {
      for part in entry.instance.parts {
        switch part {
        case .graphQL(let interceptor):
          links.append(.graphQL(.init(id: entry.id, interceptor: interceptor)))
        case .cacheRead(let interceptor):
          links.append(.cacheRead(.init(id: entry.id, interceptor: interceptor)))
        case .http(let interceptor):
          let stop = Stop(id: entry.id, interceptor: interceptor)
          if fetch != nil || entry.description?.kind == .step {
            below.insert(stop, at: 0)
          } else {
            http.append(stop)
          }
        case .fetch(let interceptor): fetch = .init(id: entry.id, interceptor: interceptor)
        case .parsing(let interceptor): parser = .init(id: entry.id, interceptor: interceptor)
        case .cacheWrite(let interceptor):
          cacheWrite = .init(id: entry.id, interceptor: interceptor)
        case .errorTap(let tap): taps.append(.init(id: entry.id, interceptor: tap))
        }
      }
    }
    http = below + http + [fetch].compactMap { $0 }
  }

  /// The policy of requests that have none: the one of the cache read, but a subscription reads the
  /// cache only when it asks to itself.
  func defaultPolicy(for type: OperationType) -> CachePolicy {
    var policy = CachePolicy.networkOnly
    for case .cacheRead(let stop) in links {
      policy = stop.interceptor.defaultPolicy ?? .cacheFirst
    }
    let isForSubscriptions = policy == .noCache || policy == .cacheOnly
    return type == .subscription && !isForSubscriptions ? .networkOnly : policy
  }
}
