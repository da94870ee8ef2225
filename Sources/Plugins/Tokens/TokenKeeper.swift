import GQLRunPipeline

/// Keeps the token of one credential, and renews it once for all who need it.
actor TokenKeeper {
  private let source: any TokenSource
  private let skew: Duration
  /// How long a renewal may take.
  private let timeout: Duration
  private var current: Token?
  /// A token that took the place of a refused one and was not taken by the server yet.
  private var unproven: (value: SecretString, since: Duration)?
  private let flights = SingleFlight<String, Token>()
  /// The last renewal that failed, and how many did.
  private var failure: (count: Int, error: any Error)?

  /// How soon after a renewal a refused token is not worth another one.
  static let settlingTime = Duration.seconds(10)

  init(source: any TokenSource, skew: Duration, timeout: Duration) {
    self.source = source
    self.skew = skew
    self.timeout = timeout
  }

  nonisolated var label: String { source.label }

  /// How many renewals have failed so far.
  var failures: Int { failure?.count ?? 0 }

  /// A token to send now; renewed first when it is about to end.
  func token(_ services: Services, _ error: @Sendable (any Error) -> ChainError) async throws
    -> Token
  {
    if source.isReadEachTime { return try await read(services, error) }
    if let current, current.isGood(at: services.clock.now(), skew: skew) { return current }
    return try await renew(services, isRefused: false, error)
  }

  /// A token to send after the server did not take `refused`; `nil` when there is no other.
  ///
  /// Somebody whose token was renewed in the meantime gets the new one at once, and somebody whose
  /// renewal has failed in the meantime that failure.
  ///
  /// - Parameter failures: How many renewals had failed when the refused request went out.
  func token(
    after refused: SecretString, failures: Int, _ services: Services,
    _ error: @Sendable (any Error) -> ChainError
  ) async throws -> Token? {
    if source.isReadEachTime {
      let token = try await read(services, error)
      return token.value == refused ? nil : token
    }
    if let current, current.value != refused { return current }
    if let failure, failures < failure.count { throw error(failure.error) }
    if let unproven, unproven.value == refused,
      services.clock.now() - unproven.since < Self.settlingTime
    {
      return nil
    }
    let token = try await renew(services, isRefused: true, error)
    return token.value == refused ? nil : token
  }

  /// The server took the token.
  func noteAccepted(_ token: SecretString) {
    if unproven?.value == token { unproven = nil }
  }

  func forget(_ services: Services) async throws {
    current = nil
    unproven = nil
    try await source.forget(services)
  }

  private func read(
    _ services: Services, _ error: @Sendable (any Error) -> ChainError
  ) async throws -> Token {
    do {
      return try await source.token(replacing: nil, services)
    } catch let failure {
      throw error(failure)
    }
  }

  private func renew(
    _ services: Services, isRefused: Bool, _ error: @Sendable (any Error) -> ChainError
  ) async throws -> Token {
    let replaced = current
    do {
      return try await flights.value(for: replaced?.value.reveal() ?? "") { [self] in
        do {
          return try await fetch(replacing: replaced, services, isRefused: isRefused)
        } catch {
          await note(error)
          throw error
        }
      }
    } catch let cancellation as CancellationError {
      throw cancellation
    } catch let failure {
      throw error(failure)
    }
  }

  private func note(_ error: any Error) {
    guard !(error is CancellationError) else { return }
    failure = (failures + 1, error)
  }

  private func fetch(
    replacing replaced: Token?, _ services: Services, isRefused: Bool
  ) async throws -> Token {
    // Another flight may have landed before this one began.
    if let current, current.value != replaced?.value { return current }
    let (source, timeout) = (source, timeout)
    let bound = TimeBound(
      deadline: services.clock.now() + timeout, clock: services.clock,
      error: ChainError(
        .transport, .timedOut,
        "\(source.label) brought no token within \(timeout.optionText); raise the option timeout of "
          + "token-refresh", delivery: .notSent))
    var token = try await bound.run { try await source.token(replacing: replaced, services) }
    let now = services.clock.now()
    // New, and ended by our clock: the clocks differ, so the server is the one to say when.
    if let end = token.end, end <= now { token.end = nil }
    if isRefused, token.value != current?.value { unproven = (token.value, now) }
    current = token
    return token
  }
}
