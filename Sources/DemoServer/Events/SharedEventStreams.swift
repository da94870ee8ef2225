import AsyncAlgorithms
import GQLRunSupport

/// The event streams that clients have reserved, by their tokens.
///
/// https://github.com/enisdenjo/graphql-sse/blob/master/PROTOCOL.md#single-connection-mode
final class ReservedEventStreams: Sendable {
  /// The maximum number of reservations; a further one replaces the oldest that is not open.
  static let most = 1_000
  /// The names of the parameters in the URL of a request.
  static let parameterNames = ["token", "operationId"]

  private struct State {
    var streams: [String: ReservedEventStream] = [:]
    /// The tokens in the order of their reservations.
    var tokens: [String] = []
  }

  private let state = Locked(State())

  /// Reserves a stream. Returns its token, or `nil` if all reservations are in use.
  func reserve() -> String? {
    let token = (0..<2).map { _ in
      let digits = String(UInt64.random(in: 0...UInt64.max), radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }.joined()
    return state.withLock { state in
      if state.streams.count >= Self.most {
        guard let old = state.tokens.firstIndex(where: { state.streams[$0]?.isOpen != true }) else {
          return nil
        }
        state.streams.removeValue(forKey: state.tokens.remove(at: old))?.close()
      }
      state.streams[token] = ReservedEventStream()
      state.tokens.append(token)
      return token
    }
  }

  func stream(_ token: String) -> ReservedEventStream? { state.withLock { $0.streams[token] } }

  /// Ends a stream and its operations.
  func remove(_ token: String) {
    let stream = state.withLock { state in
      state.tokens.removeAll { $0 == token }
      return state.streams.removeValue(forKey: token)
    }
    stream?.close()
  }
}

/// An event stream for several operations, which may begin before it is open.
final class ReservedEventStream: Sendable {
  private struct State {
    var isOpen = false
    var isOver = false
    var tasks: [String: Task<Void, Never>] = [:]
  }

  /// The messages of all operations. Each one waits until the one before it was written.
  let messages = AsyncThrowingChannel<[UInt8], any Error>()
  private let state = Locked(State())

  var isOpen: Bool { state.withLock { $0.isOpen } }

  /// Opens the stream. Returns `false` if it is open already.
  func open() -> Bool {
    state.withLock { state in
      defer { state.isOpen = true }
      return !state.isOpen
    }
  }

  /// What `start` does.
  enum Start {
    case started, exists, tooMany
  }

  /// Starts an operation. It ends itself with ``complete(_:)``.
  func start(
    _ id: String, most: Int, _ body: @escaping @Sendable (ReservedEventStream) async -> Void
  ) -> Start {
    state.withLock { state in
      guard state.tasks[id] == nil else { return .exists }
      guard state.tasks.count < most, !state.isOver else { return .tooMany }
      state.tasks[id] = Task { await body(self) }
      return .started
    }
  }

  /// Sends the event `next`, with a response that has no line breaks.
  func next(_ response: [UInt8], of id: String) async {
    await messages.send(
      Array(#"event: next\#ndata: {"id":"\#(id)","payload":"#.utf8) + response
        + Array("}\n\n".utf8))
  }

  /// Sends the event `complete`.
  func complete(_ id: String) async {
    state.withLock { state in state.tasks[id] = nil }
    await messages.send(Array("event: complete\ndata: {\"id\":\"\(id)\"}\n\n".utf8))
  }

  /// Stops an operation without an event. Returns `false` if there is none.
  func stop(_ id: String) -> Bool {
    let task = state.withLock { $0.tasks.removeValue(forKey: id) }
    task?.cancel()
    return task != nil
  }

  /// Stops all operations.
  func close() {
    let tasks = state.withLock { state in
      state.isOver = true
      defer { state.tasks = [:] }
      return state.tasks.values
    }
    for task in tasks { task.cancel() }
    messages.finish()
  }
}
