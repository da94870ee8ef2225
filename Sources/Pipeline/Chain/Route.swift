import GQLRunLanguage

/// The interceptors of one request, by stage: those of the entries whose condition holds.
final class Route: Sendable {
  /// An interceptor with its entry.
  struct Step<Interceptor: Sendable>: Sendable {
    /// The identifier of the entry.
    var id: String
    var interceptor: Interceptor
  }

  enum GraphQLStep: Sendable {
    case graphQL(Step<any GraphQLInterceptor>)
    case cacheRead(Step<any CacheInterceptor>)
  }

  /// The GraphQL interceptors and cache reads, in chain order.
  let graphQLSteps: [GraphQLStep]
  /// The HTTP interceptors, from the outermost to the fetch.
  let http: [Step<any HTTPInterceptor>]
  let parser: Step<any ResponseParsingInterceptor>?
  let cacheWrite: Step<any CacheInterceptor>?
  let taps: [Step<any ErrorTap>]

  init(_ entries: [PipelineEntry], where applies: (PipelineEntry) -> Bool) {
    var graphQLSteps: [GraphQLStep] = []
    var http: [Step<any HTTPInterceptor>] = []
    var parser: Step<any ResponseParsingInterceptor>?
    var cacheWrite: Step<any CacheInterceptor>?
    var taps: [Step<any ErrorTap>] = []
    // An HTTP interceptor below the fetch encloses those above it: it receives a response after
    // them.
    var below: [Step<any HTTPInterceptor>] = []
    var fetch: Step<any HTTPInterceptor>?
    for entry in entries where applies(entry) {
      for part in entry.parts {
        switch part {
        case .graphQL(let interceptor):
          graphQLSteps.append(.graphQL(.init(id: entry.id, interceptor: interceptor)))
        case .cacheRead(let interceptor):
          graphQLSteps.append(.cacheRead(.init(id: entry.id, interceptor: interceptor)))
        case .http(let interceptor):
          let step = Step(id: entry.id, interceptor: interceptor)
          if fetch != nil || entry.placement?.kind == .step {
            below.insert(step, at: 0)
          } else {
            http.append(step)
          }
        case .fetch(let interceptor): fetch = .init(id: entry.id, interceptor: interceptor)
        case .parsing(let interceptor): parser = .init(id: entry.id, interceptor: interceptor)
        case .cacheWrite(let interceptor):
          cacheWrite = .init(id: entry.id, interceptor: interceptor)
        case .errorTap(let tap): taps.append(.init(id: entry.id, interceptor: tap))
        }
      }
    }
    self.graphQLSteps = graphQLSteps
    self.http = below + http + [fetch].compactMap { $0 }
    self.parser = parser
    self.cacheWrite = cacheWrite
    self.taps = taps
  }

  /// The policy of a request; for one that has none, that of the cache read. Subscriptions only read
  /// the cache if their request asks for it.
  func policy(of request: GraphQLRequest) -> CachePolicy {
    if let policy = request.cachePolicy { return policy }
    var policy = CachePolicy.networkOnly
    for case .cacheRead(let step) in graphQLSteps {
      policy = step.interceptor.defaultPolicy ?? .cacheFirst
    }
    let isForSubscriptions = policy == .noCache || policy == .cacheOnly
    return request.operationType == .subscription && !isForSubscriptions ? .networkOnly : policy
  }

  /// Whether a request reads the cache before it uses the network.
  func readsCacheFirst(_ request: GraphQLRequest) -> Bool {
    let hasCacheRead = graphQLSteps.contains { if case .cacheRead = $0 { true } else { false } }
    return hasCacheRead && request.operationType == .query && policy(of: request).readsCacheFirst
  }
}

/// The routes of a pipeline, and the values that its requests share.
///
/// Without conditions in its entries, one route serves all requests.
final class Routes: Sendable {
  /// Builds HTTP requests; `nil` without an endpoint.
  let builder: HTTPRequestBuilder?
  let services: Services
  /// Whether a store that cannot be written is an error of the request.
  let isStoreRequired: Bool
  /// The query that fetches what subscriptions have missed.
  let catchUp: SubscriptionSettings.CatchUp?
  /// How long subscriptions try to connect again.
  let patience: Duration
  private let entries: [PipelineEntry]
  private let common: (route: Route, shared: Shareable<ChainContext.Shared>)?
  /// The shared values, without the error taps of a route.
  private let sharedValues: ChainContext.Shared

  init(_ pipeline: Pipeline, _ services: Services) {
    builder = pipeline.endpoint.map { HTTPRequestBuilder(endpoint: $0) }
    self.services = services
    isStoreRequired = pipeline.store.isRequired
    catchUp = pipeline.subscriptions.catchUp
    patience = pipeline.subscriptions.patience
    entries = pipeline.entries
    sharedValues = ChainContext.Shared(
      services: services, endpoint: pipeline.endpoint, keys: pipeline.keys, ages: pipeline.ages)
    guard entries.allSatisfy({ $0.condition == .always }) else {
      common = nil
      return
    }
    let route = Route(entries) { _ in true }
    common = (route, Shareable(sharedValues.with(tapsOf: route)))
  }

  func route(for request: GraphQLRequest) -> Route {
    common?.route ?? Route(entries) { $0.condition.holds(for: request) }
  }

  /// The shared context of a route's interceptors.
  func shared(by route: Route) -> Shareable<ChainContext.Shared> {
    common?.shared ?? Shareable(sharedValues.with(tapsOf: route))
  }
}

extension ChainContext.Shared {
  fileprivate func with(tapsOf route: Route) -> Self {
    var shared = self
    shared.taps = route.taps
    return shared
  }
}
