import GQLRunSupport

/// Reads the events of a subscription ahead of a slower caller, up to a limit.
///
/// The chain has stored the records of these events, so that a dropped event is missing in the caller's
/// sequence, not in the cache. A value of ``SubscriptionSettings/Overflow`` other than `block` uses it.
final class EventBuffer: Sendable {
  private struct State: Sendable {
    var events = Ring<GraphQLResponse>()
    var bytes = 0
    /// The events that were dropped since the last element.
    var gap: SubscriptionGap?
    var end: Result<Void, any Error>?
    var task: Task<Void, Never>?
    var isCancelled = false
  }

  private let state = Monitor(State())
  private let source: ResponseStream
  private let label: String
  private let settings: SubscriptionSettings
  private let secondsSince1970: @Sendable () -> Double

  /// - Parameters:
  ///   - source: The events.
  ///   - label: The operation in messages.
  ///   - settings: The limits, and what happens beyond.
  ///   - secondsSince1970: Returns the time of day, for the times of gaps.
  init(
    _ source: ResponseStream, label: String, _ settings: SubscriptionSettings,
    secondsSince1970: @escaping @Sendable () -> Double
  ) {
    self.source = source
    self.label = label
    self.settings = settings
    self.secondsSince1970 = secondsSince1970
  }

  /// The next event, or `nil` after the last one. Dropped events are announced by a gap before it.
  func next() async throws -> GraphQLResponse? {
    begin()
    do {
      return try await state.take { state -> GraphQLResponse?? in
        if state.isCancelled { throw CancellationError() }
        if let gap = state.gap.take() { return GraphQLResponse(gap: gap) }
        if let response = state.events.popFirst() {
          state.bytes -= response.waitingBytes
          return response
        }
        guard let end = state.end else { return nil }
        try end.get()
        return .some(nil)
      }
    } catch is CancellationError {
      cancel()
      throw CancellationError()
    }
  }

  /// Ends reading ahead. The task that reads retains the buffer, so that an owner has to cancel it.
  func cancel() {
    state.update { state in
      state.isCancelled = true
      return state.task
    }?.cancel()
  }

  // MARK: Reading ahead

  private func begin() {
    state.withLock { state in
      guard state.task == nil, state.end == nil else { return }
      state.task = Task { await self.readAhead() }
    }
  }

  private func readAhead() async {
    do {
      while let response = try await source.next() { try add(response) }
      end(.success(()))
    } catch {
      end(.failure(error))
    }
  }

  private func end(_ result: Result<Void, any Error>) {
    state.update { state in
      state.end = result
      state.task = nil
    }
  }

  /// Adds an event.
  ///
  /// - Throws: ``ChainError`` with code `limitExceeded` if there is no space and events must not be
  ///   dropped.
  private func add(_ response: GraphQLResponse) throws {
    try state.update { state in
      let bytes = response.waitingBytes
      while isFull(state, adding: bytes), let oldest = state.events.first {
        guard settings.overflow == .dropOldest else { throw overflow(state.events.count) }
        _ = state.events.popFirst()
        state.bytes -= oldest.waitingBytes
        note(oldest, &state)
      }
      state.events.append(response)
      state.bytes += bytes
    }
  }

  private func isFull(_ state: State, adding bytes: Int) -> Bool {
    state.events.count >= settings.maxWaiting
      || state.bytes + bytes > settings.maxWaitingBytes.bytes
  }

  /// Counts a dropped element. A gap that no caller has seen becomes part of the new one.
  private func note(_ dropped: GraphQLResponse, _ state: inout State) {
    var gap =
      state.gap
      ?? SubscriptionGap(
        since: dropped.gap?.since ?? secondsSince1970(), lostConnection: false)
    if let inner = dropped.gap {
      gap.cause = inner.cause ?? gap.cause
      gap.catchUp = inner.catchUp ?? gap.catchUp
      gap.lostConnection = gap.lostConnection || inner.lostConnection
      gap.dropped += inner.dropped
    } else {
      gap.dropped += 1
    }
    state.gap = gap
  }

  private func overflow(_ count: Int) -> ChainError {
    ChainError(
      .chain, code: .limitExceeded,
      message:
        "\(label) was ended: \(count) \(count == 1 ? "event waits" : "events wait") to be read, and the "
        + "server sends more; read faster, raise `max_waiting` or `max_waiting_size` of `subscriptions`, "
        + "or choose another `overflow`")
  }
}

extension GraphQLResponse {
  /// The size of an event that waits, in bytes: its data, and what every element needs.
  fileprivate var waitingBytes: Int { (data?.count ?? 0) + 512 }
}

/// A queue whose elements are released when they are removed.
struct Ring<Element> {
  private var storage: [Element?] = []
  private var head = 0
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }
  var first: Element? { isEmpty ? nil : storage[head] }

  mutating func append(_ element: Element) {
    if count == storage.count { grow() }
    storage[(head + count) % storage.count] = element
    count += 1
  }

  mutating func popFirst() -> Element? {
    guard !isEmpty else { return nil }
    defer {
      head = (head + 1) % storage.count
      count -= 1
    }
    return storage[head].take()
  }

  private mutating func grow() {
    let size = max(storage.count * 2, 16)
    storage =
      Array(storage[head...] + storage[..<head]) + Array(repeating: nil, count: size - count)
    head = 0
  }
}

extension Ring: Sendable where Element: Sendable {}
