import GQLRunSupport

/// The subscriptions of a client: their state, and whether they are paused.
///
/// At most ``maxBeginning`` connect at a time. An operation needs most of its memory while it is sent, and the
/// allocator keeps this memory: one that begins later uses it again.
package final class SubscriptionRegister: Sendable {
  /// The most subscriptions that begin to connect at a time.
  static let maxBeginning = 128

  fileprivate struct Entry {
    var state = ConnectionState.idle
    /// Whether it is one of those that begin to connect.
    var isBeginning = false
    /// Ends the connection with an error.
    var interrupt: (@Sendable (any Error) -> Void)?
    /// Continues a subscription that is paused, or that waits until others have begun.
    var resumption: CheckedContinuation<Void, Never>?
  }

  fileprivate struct State {
    var lastNumber = 0
    var entries: [Int: Entry] = [:]
    var isPaused = false
    var shown = ConnectionState.idle
    var failure: (any Error)?
    var hasConnected = false
    var watchers: [Int: AsyncStream<ConnectionState>.Continuation] = [:]
    /// The subscriptions that wait to begin, in their order.
    private var waiting = Ring<Int>()
    private(set) var beginningCount = 0
    private var openCount = 0
    private var connectingCount = 0
    /// The earliest end of all delays; `nil` if it has to be found, or if there is none.
    private var earliest: Double?

    /// The state of all entries together.
    mutating func together() -> ConnectionState {
      if isPaused { return .idle }
      if openCount > 0 { return .open }
      if connectingCount > 0 { return .connecting }
      earliest = earliest ?? entries.values.lazy.compactMap(\.state.delayEnd).min()
      return earliest.map { .waiting(until: $0) } ?? .idle
    }

    /// Sets the state of an entry, as long as it exists.
    mutating func set(_ number: Int, _ value: ConnectionState) {
      guard let old = entries[number]?.state else { return }
      count(old, -1)
      count(value, 1)
      entries[number]?.state = value
      if old.delayEnd == earliest { earliest = nil }
      if let known = earliest, let end = value.delayEnd { earliest = min(known, end) }
    }

    mutating func remove(_ number: Int) {
      endBeginning(number)
      set(number, .idle)
      entries[number] = nil
    }

    /// Begins to connect, if that is possible now.
    mutating func begin(_ number: Int) -> Bool {
      guard !isPaused, beginningCount < SubscriptionRegister.maxBeginning,
        entries[number]?.isBeginning == false
      else { return false }
      entries[number]?.isBeginning = true
      beginningCount += 1
      set(number, .connecting)
      return true
    }

    mutating func endBeginning(_ number: Int) {
      guard entries[number]?.isBeginning == true else { return }
      entries[number]?.isBeginning = false
      beginningCount -= 1
    }

    mutating func wait(_ number: Int, _ continuation: CheckedContinuation<Void, Never>) {
      set(number, .idle)
      entries[number]?.resumption = continuation
      waiting.append(number)
    }

    /// Lets those begin that can, and returns what continues them.
    mutating func next() -> [CheckedContinuation<Void, Never>] {
      var ready: [CheckedContinuation<Void, Never>] = []
      while !isPaused, beginningCount < SubscriptionRegister.maxBeginning,
        let number = waiting.popFirst()
      {
        // Others were cancelled, or removed.
        guard let resumption = entries[number]?.resumption.take() else { continue }
        _ = begin(number)
        ready.append(resumption)
      }
      return ready
    }

    private mutating func count(_ value: ConnectionState, _ change: Int) {
      if value == .open { openCount += change }
      if value == .connecting { connectingCount += change }
    }
  }

  fileprivate let state = Locked(State())

  /// The register of all runners with these services.
  package static func of(_ services: Services) -> SubscriptionRegister {
    services.shared.value(SubscriptionRegister.self, named: "") { SubscriptionRegister() }
  }

  /// The current state.
  package var current: ConnectionState { state.withLock(\.shown) }

  /// The number of subscriptions that begin to connect.
  var beginningCount: Int { state.withLock(\.beginningCount) }

  /// The number of subscriptions that are paused, or wait until others have begun.
  var waitingCount: Int { state.withLock { $0.entries.values.count { $0.resumption != nil } } }

  /// Whether a subscription was ever connected.
  package var hasConnected: Bool { state.withLock(\.hasConnected) }

  /// The error for which a subscription waits, or has waited; `nil` once one is connected.
  package var failure: (any Error)? { state.withLock(\.failure) }

  /// The current state, and each one that follows. A slow reader only gets the last ones.
  package func states() -> AsyncStream<ConnectionState> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: ConnectionState.self, bufferingPolicy: .bufferingNewest(16))
    let number = state.withLock { state in
      state.lastNumber += 1
      state.watchers[state.lastNumber] = continuation
      continuation.yield(state.shown)
      return state.lastNumber
    }
    continuation.onTermination = { [weak self] _ in
      self?.state.withLock { _ = $0.watchers.removeValue(forKey: number) }
    }
    return stream
  }

  /// Ends the connections of all subscriptions, which stay without one until ``resume()``.
  package func pause() {
    let interrupts = update { state in
      state.isPaused = true
      return state.entries.values.compactMap(\.interrupt)
    }
    for interrupt in interrupts { interrupt(Self.pauseError) }
  }

  /// Connects the paused subscriptions again.
  package func resume() {
    update { $0.isPaused = false }
  }

  fileprivate static let pauseError = ChainError(
    .transport, code: .subscriptionPaused, message: "the subscription was paused",
    delivery: .answered)

  @discardableResult
  fileprivate func update<Result: Sendable>(_ change: (inout State) -> Result) -> Result {
    let (result, ready) = state.withLock { state in
      let result = change(&state)
      let ready = state.next()
      let next = state.together()
      if next != state.shown {
        state.shown = next
        for watcher in state.watchers.values { watcher.yield(next) }
      }
      return (result, ready)
    }
    for continuation in ready { continuation.resume() }
    return result
  }
}

extension ConnectionState {
  /// The end of the delay before the next connection; `nil` in other states.
  fileprivate var delayEnd: Double? {
    if case .waiting(let until) = self { until } else { nil }
  }
}

/// One subscription in the register, until it is released.
package final class SubscriptionHandle: RequestContextKey, Sendable {
  package typealias Value = SubscriptionHandle

  private let register: SubscriptionRegister
  private let number: Int

  init(_ register: SubscriptionRegister) {
    self.register = register
    number = register.state.withLock { state in
      state.lastNumber += 1
      state.entries[state.lastNumber] = SubscriptionRegister.Entry()
      return state.lastNumber
    }
  }

  deinit { end() }

  /// Notes that the subscription waits before it connects again.
  package func wait(until time: Double, after failure: any Error) {
    register.update { state in
      state.endBeginning(number)
      state.set(number, .waiting(until: time))
      state.entries[number]?.interrupt = nil
      state.failure = failure
    }
  }

  /// Suspends while subscriptions are paused or many others begin, and notes that the subscription connects.
  func connect() async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let waits = register.update { state in
          state.endBeginning(number)
          guard !Task.isCancelled, state.entries[number] != nil, !state.begin(number) else {
            return false
          }
          state.wait(number, continuation)
          return true
        }
        if !waits { continuation.resume() }
      }
    } onCancel: {
      register.state.withLock { $0.entries[number]?.resumption.take() }?.resume()
    }
  }

  /// Notes that the caller has a result before the connection, such as that of the cache. Lets others begin: the caller
  /// decides when it continues.
  func delivered() { register.update { $0.endBeginning(number) } }

  /// Notes that the subscription is connected. Ends the connection at once if subscriptions are paused.
  ///
  /// - Parameter interrupt: Ends the connection with an error; `nil` if that is not possible.
  func connected(_ interrupt: (@Sendable (any Error) -> Void)?) {
    let isPaused = register.update { state in
      state.endBeginning(number)
      state.set(number, .open)
      state.entries[number]?.interrupt = interrupt
      state.failure = nil
      state.hasConnected = true
      return state.isPaused
    }
    if isPaused { interrupt?(SubscriptionRegister.pauseError) }
  }

  func end() { register.update { $0.remove(number) } }
}
