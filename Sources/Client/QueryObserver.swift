public import GQLRunPipeline
public import GQLRunTyped
public import Observation

/// The current data of a query, for a user interface: it follows the cache.
///
/// ```swift
/// struct CountryView: View {
///   @State var country: QueryObserver<CountryQuery>
///   var body: some View {
///     if let name = country.data?.country?.name { Text(name) } else if country.isLoading { ProgressView() }
///   }
/// }
/// ```
/// Data in the cache is shown at once: ``isLoading`` stays false on a cache hit. The watch ends when the
/// observer is released.
@MainActor @Observable
public final class QueryObserver<Query: GraphQLQuery> {
  /// The latest data; `nil` until there is any.
  public private(set) var data: Query.Data?
  /// The GraphQL errors of the latest result.
  public private(set) var errors: [GraphQLError] = []
  /// The latest error of the pipeline; `nil` after a result.
  public private(set) var failure: (any Error)?
  /// Whether there is no data yet and the pipeline is fetching it.
  public private(set) var isLoading = false

  /// The query that is observed.
  public let query: Query
  @ObservationIgnored private let client: PipelineClient
  @ObservationIgnored private var task: Task<Void, Never>?

  /// Creates an observer, which starts at once.
  ///
  /// - Parameters:
  ///   - query: The query with its variables.
  ///   - client: The client; its pipeline has a store.
  ///   - cachePolicy: How the first result uses cache and network; `cache-first` by default.
  public init(
    _ query: Query, client: PipelineClient, cachePolicy: CachePolicy = .cacheFirst
  ) {
    self.query = query
    self.client = client
    task = Task { [weak self] in
      do {
        if let cached = try await client.read(query) {
          self?.data = cached
        } else {
          self?.isLoading = true
        }
        for try await update in client.watch(query, cachePolicy: cachePolicy, refetches: true) {
          guard let self else { return }
          receive(update)
        }
      } catch {
        self?.failure = error
        self?.isLoading = false
      }
    }
  }

  deinit { task?.cancel() }

  /// Fetches from the server again, keeping the data until there is a new result.
  public func refetch() async {
    do {
      show(try await client.fetch(query, cachePolicy: .networkOnly))
    } catch {
      failure = error
    }
  }

  private func receive(_ update: OperationUpdate<Query.Data>) {
    switch update {
    case .result(let result): show(result)
    case .failure(let error):
      failure = error
      isLoading = false
    // The watch fetches what the cache lacks.
    case .missing: break
    }
  }

  private func show(_ result: OperationResult<Query.Data>) {
    data = result.data ?? data
    errors = result.errors
    failure = nil
    isLoading = false
  }
}
