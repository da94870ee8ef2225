import GQLRunCache
import GQLRunLanguage
import GQLRunSupport
import Logging
import Synchronization

/// Executes one request: runs its attempts, commits the results that are delivered and rolls back
/// the others.
///
/// The reader drives it: nothing happens until a result is read, and only the beginning of a subscription has a task of its
/// own.
final class Execution: Sendable {
  struct Progress: Sendable {
    var request: GraphQLRequest
    var attempt: Attempt?
    var stream: ResponseStream?
    var number = 1
    /// The number of attempts before the one from which ``number`` counts.
    var earlierAttempts = 0
    var retryCause: (any Error)?
    var hasEnded = false
    /// Whether the current attempt has delivered an event.
    var hasEvents = false
    /// The time from which events of a subscription are missing, until the caller knows it.
    var gap: SubscriptionGap?
    /// The query that fetches what was missed, and its result until the caller has it.
    var catchUp: GraphQLRequest?
    var caughtUp: GraphQLResponse?
    /// The parts that were stored together with the last one, in reverse order, and the error after them.
    var stored: [GraphQLResponse] = []
    var failure: (any Error)?
  }

  /// The request as the caller made it.
  let original: GraphQLRequest
  let routes: Routes
  /// A separate object, so that attempts do not retain the execution that retains them.
  private let state: ExecutionState
  let progress: Locked<Progress>
  /// `nil` for other operations than subscriptions.
  private let subscription: SubscriptionHandle?

  init(_ request: GraphQLRequest, routes: Routes) {
    var request = request
    let isSubscription = request.operationType == .subscription
    subscription =
      isSubscription ? SubscriptionHandle(SubscriptionRegister.of(routes.services)) : nil
    let reconnection = isSubscription ? Reconnection(patience: routes.patience) : nil
    state = ExecutionState(reconnection: reconnection)
    if let subscription { request.context[SubscriptionHandle.self] = subscription }
    if let reconnection { request.context[Reconnection.self] = reconnection }
    request.cachePolicy = routes.route(for: request).policy(of: request)
    original = request
    progress = Locked(Progress(request: request))
    self.routes = routes
  }

  /// The number of attempts so far, at least 1.
  var attempts: Int { progress.withLock { $0.earlierAttempts + $0.number } }

  /// The next result for the caller, or `nil` at the end.
  ///
  /// What it calls is not inlined, because every waiting subscription has its frame.
  func next() async throws -> GraphQLResponse? {
    while !progress.withLock({ $0.hasEnded }) {
      do {
        let (attempt, stream) = try await current()
        if let result = try await kept() { return result }
        guard let response = try await stream.next() else {
          await end()
          return nil
        }
        return try await deliver(response, from: stream, attempt)
      } catch {
        if let result = try await recover(from: error) { return result }
      }
    }
    return nil
  }

  /// Begins again after a retry or a pause; after another error, ends with it, or with the result that replaces it.
  @inline(never)
  private func recover(from error: any Error) async throws -> GraphQLResponse? {
    if let retry = error as? ChainRetry {
      await state.rollBackOpenWrites()
      do {
        try restart(retry)
      } catch {
        return try await conclude(error)
      }
    } else if (error as? ChainError)?.code == .subscriptionPaused {
      await state.rollBackOpenWrites()
      pause(error)
    } else {
      return try await conclude(error)
    }
    return nil
  }

  /// The current attempt. Starts the first one, and the next one after a retry.
  ///
  /// A subscription begins in a task of its own, which ends before the first event: a task keeps the memory of its deepest call,
  /// and a subscription waits for long.
  private func current() async throws -> (Attempt, ResponseStream) {
    let going = progress.withLock { progress in
      progress.attempt.flatMap { attempt in progress.stream.map { (attempt, $0) } }
    }
    if let going { return going }
    guard let subscription else { return await begin() }
    try prepareCatchUp()
    await subscription.connect()
    async let begun = begin()
    return await begun
  }

  @inline(never)
  private func begin() async -> (Attempt, ResponseStream) {
    var (request, number, retryCause) = progress.withLock {
      ($0.request, $0.number, $0.retryCause)
    }
    let route = routes.route(for: request)
    if request.attempt != number { request.attempt = number }
    if request.cachePolicy == nil { request.cachePolicy = route.policy(of: request) }
    let attempt = Attempt(
      routes, route, state: state, number: number, retryCause: retryCause,
      start: routes.services.clock.now())
    let stream = await attempt.run(request)
    progress.withLock {
      $0.request = request
      $0.attempt = attempt
      $0.stream = stream
      // That of an attempt whose parts could not be stored.
      $0.failure = nil
    }
    return (attempt, stream)
  }

  /// What there is before the next result of the stream: the end of a gap, a result that was kept, or the error after it.
  @inline(never)
  private func kept() async throws -> GraphQLResponse? {
    if let gap = takeGap() { return try await announce(gap) }
    let (result, failure) = progress.withLock { progress -> (GraphQLResponse?, (any Error)?) in
      if let result = progress.caughtUp.take() ?? progress.stored.popLast() { return (result, nil) }
      return (nil, progress.failure.take())
    }
    if let failure { throw failure }
    return result
  }

  private func noteEvent(_ delivered: GraphQLResponse) {
    guard let subscription, let reconnection else { return }
    progress.withLock { $0.hasEvents = true }
    if delivered.source == .server { reconnection.received() }
    if !reconnection.isConnected { subscription.delivered() }
  }

  private func restart(_ retry: ChainRetry) throws {
    try progress.withLock { progress in
      var isLost = false
      if let reconnection {
        reconnection.failed(retry.cause, at: routes.services.clock.now())
        let connection = noteGap(&progress, retry.cause)
        // After a connection that lasted, all attempts are available again; ``Reconnection`` has a limit of its own.
        let isPermitted = reconnection.takePermission()
        if isPermitted || connection?.isLasting ?? false {
          return restartAnew(&progress, retry.cause)
        }
        isLost = connection != nil
        progress.hasEvents = false
      }
      guard progress.number < PipelineRunner.maxAttempts else {
        throw ChainError(
          .chain, code: .tooManyAttempts,
          message:
            "\(progress.request.label) was attempted \(progress.number) times, the maximum of a "
            + "chain; an interceptor keeps asking for a retry: bound it with `max-retry`",
          cause: retry.cause)
      }
      progress.number += 1
      progress.request = retry.request
      if isLost { progress.request.context[LostConnection.self] = routes.services.clock.now() }
      progress.retryCause = retry.cause
      progress.stream = nil
    }
  }

  /// The policy of a subscription; `nil` for other operations.
  private var reconnection: Reconnection? { state.reconnection }

  /// Notes from when events are missing. Returns the connection that was lost; `nil` if there was none.
  private func noteGap(
    _ progress: inout Progress, _ cause: (any Error)?
  ) -> Reconnection.Connection? {
    let connection = reconnection?.takeConnection()
    if progress.gap == nil, connection != nil || progress.hasEvents {
      progress.gap = SubscriptionGap(
        since: connection?.loss?.date ?? routes.services.secondsSince1970(), cause: cause)
    }
    return connection
  }

  private func pause(_ error: any Error) {
    progress.withLock { progress in
      _ = noteGap(&progress, error)
      reconnection?.reset()
      restartAnew(&progress, error)
    }
  }

  /// Begins again with the first attempt of the request.
  private func restartAnew(_ progress: inout Progress, _ cause: (any Error)?) {
    progress.earlierAttempts += progress.number
    progress.number = 1
    progress.request = original
    progress.retryCause = cause
    progress.stream = nil
    progress.hasEvents = false
  }

  /// What the caller has to know, once the subscription is connected again.
  private func takeGap() -> SubscriptionGap? {
    guard let reconnection else { return nil }
    return progress.withLock { progress in
      guard progress.gap != nil, reconnection.isConnected else { return nil }
      return progress.gap.take()
    }
  }

  /// Ends the execution with an error, unless a tap suppresses or replaces it.
  private func conclude(_ error: any Error) async throws -> GraphQLResponse? {
    var error = error
    if let reconnection {
      error = reconnection.concluded(error, at: routes.services.clock.now())
    }
    let (attempt, request, number) = progress.withLock { ($0.attempt, $0.request, $0.number) }
    await end()
    guard let attempt else { throw error }
    for tap in attempt.route.taps {
      let context = attempt.context(tap.id, request)
      switch await tap.interceptor.tap(error, request: request, context: context) {
      case .error(let next): error = next
      case .suppressed: return nil
      case .result(var response):
        response.pendingWrite = nil
        response.attempt = number
        return response
      }
    }
    throw error
  }

  @inline(never)
  private func end() async {
    progress.withLock {
      $0.hasEnded = true
      $0.stream = nil
    }
    subscription?.end()
    await state.rollBackOpenWrites()
  }
}

/// The time at which the connection of a subscription was lost, on the services' clock.
///
/// Time limits for the connection start again then.
package enum LostConnection: RequestContextKey {
  package typealias Value = Duration
}

// MARK: Steps 9 and 10

extension Execution {
  /// A part of a response with those after it that have arrived, too, to be stored together.
  private func arrived(
    with first: GraphQLResponse, in stream: ResponseStream, _ attempt: Attempt
  ) async -> [GraphQLResponse] {
    var parts = [first]
    guard attempt.route.cacheWrite?.interceptor.joinsParts == true else { return parts }
    let maxBytes = first.timing.receivedBytes + Self.maxJoinedBytes
    let maxTime = first.timing.total + Self.maxJoiningTime
    while let last = parts.last, last.part?.isFollowed == true, last.joinableWrite != nil,
      last.timing.receivedBytes < maxBytes, last.timing.total < maxTime,
      parts.count < Self.maxJoinedParts
    {
      do {
        guard let next = try await stream.next() else { break }
        parts.append(next)
      } catch {
        progress.withLock { $0.failure = error }
        break
      }
    }
    return parts
  }

  /// The most parts that are stored together, and the size from which no other one is taken, in bytes.
  private static let maxJoinedParts = 1024
  private static let maxJoinedBytes = 256 << 10
  /// The time from which no other part is taken, so that slow interceptors do not delay the first one.
  private static let maxJoiningTime = Duration.milliseconds(10)

  /// Stores a result, with the parts that have arrived with it, and returns it.
  @inline(never)
  private func deliver(
    _ response: consuming GraphQLResponse, from stream: ResponseStream, _ attempt: Attempt
  ) async throws -> GraphQLResponse {
    let delivered =
      response.part?.isFollowed == true
      ? try await deliver(arrived(with: response, in: stream, attempt), attempt)
      : try await deliver(response, attempt)
    noteEvent(delivered)
    if delivered.part?.hasNext == true { state.noteUnfinishedParts() }
    return delivered
  }

  /// Stores parts of a response together; returns the first one, and keeps the others for the next calls of ``next()``.
  private func deliver(
    _ parts: [GraphQLResponse], _ attempt: Attempt
  ) async throws -> GraphQLResponse {
    var first = parts[0]
    if parts.count == 1 { return try await deliver(first, attempt) }
    // An interceptor may have ended a write when it got a later part.
    let writes = parts.compactMap(\.joinableWrite)
    if let request = writes.first?.request {
      first.pendingWrite = TrackedWrite(JoinedWrite(writes: writes), request: request)
    }
    first = try await deliver(first, attempt)
    var others: [GraphQLResponse] = []
    do {
      for var part in parts.dropFirst() {
        if (part.pendingWrite as? TrackedWrite)?.hasEnded == true { part.pendingWrite = nil }
        others.append(try await deliver(part, attempt))
      }
    } catch {
      progress.withLock { $0.failure = error }
    }
    progress.withLock { $0.stored = others.reversed() }
    return first
  }

  /// Consumes the response: changing another reference to it would copy it.
  private func deliver(
    _ response: consuming GraphQLResponse, _ attempt: Attempt
  ) async throws -> GraphQLResponse {
    guard let pending = response.pendingWrite else { return response }
    let write =
      pending as? TrackedWrite ?? TrackedWrite(pending, request: progress.withLock { $0.request })
    if response.source == .server, let step = attempt.route.cacheWrite {
      response.pendingWrite = write
      try await commit(response, request: write.request, step: step, attempt: attempt)
    }
    // Has no effect after a commit; otherwise the cache interceptor has refused the write.
    if !write.hasEnded { await write.rollback() }
    response.pendingWrite = nil
    response.writeSummary = write.summary
    return response
  }

  private func commit(
    _ response: GraphQLResponse, request: GraphQLRequest,
    step: Route.Step<any CacheInterceptor>, attempt: Attempt
  ) async throws {
    do {
      try Task.checkCancellation()
      try await step.interceptor.write(
        response, for: request, context: attempt.context(step.id, request))
    } catch let error where error.isOfChain {
      throw error
    } catch let error as CacheError where error.code == .cancelled {
      throw CancellationError()
    } catch let error as CacheError where error.isStoreFailure && !routes.isStoreRequired {
      // The caller gets its result although it was not stored. That a file is read-only was already
      // logged when it was opened.
      routes.services.logger.log(
        level: error.code == .readOnly ? .debug : .warning,
        "the result was not stored: \(error)", metadata: ["operation": "\(request.label)"])
    } catch {
      throw ChainError(
        .cache, code: .cacheWriteFailed,
        message: "the result of \(request.label) could not be stored",
        entry: step.id, cause: error)
    }
  }
}

// A subscription whose connection was lost does not know what it has missed. A query through the same
// chain and store fetches the current state before events continue.
extension Execution {
  /// Prepares the query before the subscription is sent, so that a wrong declaration is noticed then.
  func prepareCatchUp() throws {
    guard let declared = routes.catchUp, progress.withLock({ $0.catchUp == nil }) else { return }
    do {
      guard let operation = original.operation else {
        throw CacheError(.invalidOperation, "\(original.label) was not prepared")
      }
      var request = GraphQLRequest(
        try operation.companion(declared.query, in: declared.document), cachePolicy: .networkOnly)
      request.context = original.context
      request.context[SubscriptionHandle.self] = nil
      request.context[Reconnection.self] = nil
      request.additionalHeaders = original.additionalHeaders
      progress.withLock { $0.catchUp = request }
    } catch let error as CacheError {
      throw ChainError(
        notSent: .invalidRequest,
        "cannot prepare the query that `catch_up` of `subscriptions` declares for \(original.label): "
          + "\(error.message)")
    }
  }

  /// The element that announces a gap, after the query has run. Its result, if it is delivered, is the
  /// next element.
  func announce(_ gap: SubscriptionGap) async throws -> GraphQLResponse {
    var gap = gap
    if let declared = routes.catchUp, let request = progress.withLock({ $0.catchUp }) {
      do {
        var result = try await Execution(request, routes: routes).result()
        gap.catchUp = result.errors.first.map { .failed($0) } ?? .succeeded
        if declared.isDelivered {
          result.isCatchUp = true
          progress.withLock { $0.caughtUp = result }
        }
      } catch {
        if Task.isCancelled { throw CancellationError() }
        gap.catchUp = .failed(error)
      }
    }
    return GraphQLResponse(gap: gap)
  }

  /// The last result.
  private func result() async throws -> GraphQLResponse {
    var last: GraphQLResponse?
    while let response = try await next() { last = response }
    guard let last else {
      throw ChainError(
        .chain, code: .noResult, message: "the pipeline delivered no result of \(original.label)")
    }
    return last
  }
}

/// The state that the attempts of one execution share.
///
/// Guarded by locks and not by actors: entering and leaving an actor enqueues a job each time,
/// several dozen of them per request.
final class ExecutionState: Sendable {
  private let hasConsultedCache = Atomic(false)
  private let hasParts = Atomic(false)
  /// The connections of a subscription; `nil` for other operations.
  let reconnection: Reconnection?
  private let writes = Locked<[TrackedWrite]>([])

  init(reconnection: Reconnection?) { self.reconnection = reconnection }

  /// `true` for the first call only: `cache-and-network` reads the cache once, however many retries
  /// there are.
  func consultCacheOnce() -> Bool {
    !hasConsultedCache.exchange(true, ordering: .acquiringAndReleasing)
  }

  /// Whether parts of a response that is not complete may be in the cache: what it has of the operation is no answer to it.
  var hasUnfinishedParts: Bool { hasParts.load(ordering: .acquiring) }

  func noteUnfinishedParts() { hasParts.store(true, ordering: .releasing) }

  func add(_ write: TrackedWrite) {
    writes.withLock { writes in
      // A subscription has any number of writes, one after the other; parts that are stored together end together.
      if writes.last?.hasEnded == true { writes.removeAll { $0.hasEnded } }
      writes.append(write)
    }
  }

  /// Rolls back every write that was neither committed nor rolled back.
  func rollBackOpenWrites() async {
    let open = writes.withLock { writes in
      defer { writes = [] }
      return writes
    }
    for write in open { await write.rollback() }
  }
}

extension GraphQLResponse {
  /// The write of a part that can be committed together with those of other parts.
  fileprivate var joinableWrite: TrackedWrite? {
    (pendingWrite as? TrackedWrite).flatMap { $0.isJoinable ? $0 : nil }
  }
}

/// The writes of parts of a response that are committed together.
private struct JoinedWrite: PendingCacheWrite {
  let writes: [TrackedWrite]

  func commit() async throws -> WriteSummary {
    let parts = writes.compactMap { $0.takeRecords() }
    do {
      return try await PendingWrite.commit(parts)
    } catch {
      for part in parts { await part.rollback() }
      throw error
    }
  }

  func rollback() async {
    for write in writes { await write.rollback() }
  }
}

/// A pending write that ends once, however often `commit` and `rollback` are called.
final class TrackedWrite: PendingCacheWrite {
  private struct Content: Sendable {
    var base: (any PendingCacheWrite)?
    var summary: WriteSummary?
  }

  /// The request as it was sent.
  let request: GraphQLRequest
  private let content: Locked<Content>

  /// The changes of the commit; `nil` if there was none.
  var summary: WriteSummary? { content.withLock { $0.summary } }

  /// Whether it consists of records that other ones can be committed with.
  var isJoinable: Bool {
    request.context[OptimisticLayerKey.self] == nil && content.withLock { $0.base is PendingWrite }
  }

  /// Removes the records, for a commit together with others.
  func takeRecords() -> PendingWrite? { content.withLock { $0.base.take() } as? PendingWrite }

  /// Whether it was committed or rolled back.
  var hasEnded: Bool { content.withLock { $0.base == nil } }

  init(_ base: any PendingCacheWrite, request: GraphQLRequest) {
    content = Locked(Content(base: base))
    self.request = request
  }

  func commit() async throws -> WriteSummary {
    guard let write = content.withLock({ $0.base.take() }) else {
      return summary ?? WriteSummary()
    }
    do {
      let summary = try await commit(write)
      content.withLock { $0.summary = summary }
      return summary
    } catch {
      await write.rollback()
      throw error
    }
  }

  /// Commits and removes the request's optimistic layer in one step.
  private func commit(_ write: any PendingCacheWrite) async throws -> WriteSummary {
    guard let layer = request.context[OptimisticLayerKey.self], let write = write as? PendingWrite
    else { return try await write.commit() }
    return try await write.commit(settling: layer)
  }

  func rollback() async {
    await content.withLock { $0.base.take() }?.rollback()
  }
}
