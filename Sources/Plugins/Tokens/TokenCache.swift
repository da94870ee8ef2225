import GQLRunPipeline

/// Caches the token of one credential, and renews it once for all concurrent requests.
package actor TokenCache {
  private let source: any TokenSource
  /// Time limit for a renewal.
  private let timeout: Duration
  private var current: AccessToken?
  /// A renewed token that the server has not accepted yet.
  private var unconfirmed: (value: SecretString, since: Duration)?
  private let renewals: SingleFlight<String, AccessToken>
  /// The last failed renewal with its time, and the number of failed ones.
  private var failure: (count: Int, error: any Error, since: Duration)?
  /// The number of calls of ``forget(_:)``. The token of a renewal that began before the last one is not kept.
  private var signOuts = 0

  /// The time after a renewal, or a failed one, in which a rejected token does not cause another renewal.
  static let settlingTime = Duration.seconds(10)

  init(source: any TokenSource, timeout: Duration) {
    self.source = source
    self.timeout = timeout
    renewals = SingleFlight(outlivesCallers: source.endsCredentials)
  }

  /// The number of failed renewals so far.
  var failures: Int { failure?.count ?? 0 }

  /// Returns a token to send; renews it first if it expires within `skew`.
  func token(_ services: Services, skew: Duration) async throws -> AccessToken {
    if source.isReadEachTime { return try await source.token(replacing: nil, services) }
    if let current, current.isUsable(at: services.clock.now(), skew: skew) { return current }
    return try await renew(services, isRefused: false)
  }

  /// Returns a token to send after the server has rejected `refused`; `nil` if there is no other.
  ///
  /// If the token was renewed meanwhile, returns the new one at once; if a renewal has failed
  /// meanwhile, and a short time ago, throws its error.
  ///
  /// - Parameter failures: The number of failed renewals when the rejected request was sent.
  func token(
    after refused: SecretString, failures: Int, _ services: Services
  ) async throws -> AccessToken? {
    if source.isReadEachTime {
      let token = try await source.token(replacing: nil, services)
      return token.value == refused ? nil : token
    }
    if let current, current.value != refused { return current }
    let now = services.clock.now()
    if let failure, failures < failure.count, now - failure.since < Self.settlingTime {
      throw failure.error
    }
    if let unconfirmed, unconfirmed.value == refused, now - unconfirmed.since < Self.settlingTime {
      return nil
    }
    let token = try await renew(services, isRefused: true)
    return token.value == refused ? nil : token
  }

  /// Records that the server has accepted the token.
  func confirm(_ token: SecretString) {
    if unconfirmed?.value == token { unconfirmed = nil }
  }

  func forget(_ services: Services) async throws {
    signOuts += 1
    current = nil
    unconfirmed = nil
    try await source.forget(services)
  }

  /// Waits for the end of a renewal that may run although no request needs it. A client that is shut down calls it
  /// before it closes the connections.
  package nonisolated func finish() async {
    if source.endsCredentials { await renewals.finish() }
  }

  private func renew(_ services: Services, isRefused: Bool) async throws -> AccessToken {
    let (replaced, signOuts) = (current, signOuts)
    // A request after a sign-out does not wait for a renewal that began before it.
    let key = "\(signOuts) \(replaced?.value.reveal() ?? "")"
    return try await renewals.value(for: key) { [self] in
      do {
        return try await fetch(
          replacing: replaced, services, isRefused: isRefused, signOuts: signOuts)
      } catch {
        await recordFailure(error, at: services.clock.now())
        throw error
      }
    }
  }

  private func recordFailure(_ error: any Error, at time: Duration) {
    guard !(error is CancellationError) else { return }
    failure = (failures + 1, error, time)
  }

  private func fetch(
    replacing replaced: AccessToken?, _ services: Services, isRefused: Bool, signOuts: Int
  ) async throws -> AccessToken {
    // Another renewal may have finished before this one started.
    if let current, current.value != replaced?.value { return current }
    let (source, timeout) = (source, timeout)
    let bound = DeadlineScope(
      deadline: services.clock.now() + timeout, clock: services.clock,
      error: ChainError(
        .transport, code: .timedOut,
        message:
          "\(source.label) returned no token within \(timeout.optionText); raise the option timeout "
          + "of token-refresh", delivery: .notSent))
    var token = try await bound.run { try await source.token(replacing: replaced, services) }
    let now = services.clock.now()
    // A new token that has expired by the local clock: the clocks differ, so the server decides.
    if let end = token.end, end <= now { token.end = nil }
    // The requests that wait for it are sent with it.
    guard signOuts == self.signOuts else { return token }
    if isRefused, token.value != current?.value { unconfirmed = (token.value, now) }
    current = token
    return token
  }
}
