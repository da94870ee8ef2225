import AsyncHTTPClient
import HTTPTypes
import NIOCore
import NIOHTTP1
import Pipeline

/// One request and its response, under limits of time and size.
///
/// A watch sleeps until the next limit is due and ends the reading that passes it. The total time
/// always counts; silence counts only while somebody reads: a server is not slow when we are. Dropping
/// an exchange whose body was not read to its end closes the connection.
actor Exchange {
  private enum Expiry {
    case total, silence
  }

  private struct Waiting {
    var since: Duration
    var cancel: @Sendable () -> Void
  }

  private let limits: HTTPLimits
  private let clock: ServiceClock
  private let failures: TransportFailures
  private let deadline: Duration
  /// Told at the end of the body whether the connection stays open.
  private let onEnd: @Sendable (_ connectionIsKept: Bool) async -> Void

  private var iterator: HTTPClientResponse.Body.AsyncIterator?
  private var hasHead = false
  private var keepsConnection = true
  /// The length of the body where it is known before.
  private var announced = 0
  private var received = 0
  /// The time spent waiting for the body.
  private var waited = Duration.zero
  private var waiting: Waiting?
  private var expiry: Expiry?
  private var watch: Task<Void, Never>?

  init(
    limits: HTTPLimits, clock: ServiceClock, failures: TransportFailures,
    onEnd: @escaping @Sendable (_ connectionIsKept: Bool) async -> Void
  ) {
    self.limits = limits
    self.clock = clock
    self.failures = failures
    self.onEnd = onEnd
    deadline = clock.now() + limits.total
  }

  deinit { watch?.cancel() }

  /// Sends the request and waits for the head of its response.
  func head(
    _ execute: @escaping @Sendable () async throws -> HTTPClientResponse
  ) async throws -> HTTPTypes.HTTPResponse {
    watch = Task { [weak self, clock] in
      while let pause = await self?.nextLook() {
        do { try await clock.sleep(for: pause) } catch { return }
      }
    }
    do {
      let response = try await guarded(execute)
      let head = try checkedHead(of: response)
      iterator = response.body.makeAsyncIterator()
      hasHead = true
      return head
    } catch {
      end()
      switch expiry {
      case .total: throw failures.noHeadInTime()
      case .silence: throw failures.noHead(for: silence)
      case nil: throw failures.beforeHead(error)
      }
    }
  }

  private func checkedHead(of response: HTTPClientResponse) throws -> HTTPTypes.HTTPResponse {
    let code = Int(response.status.code)
    guard (100...999).contains(code) else { throw failures.badStatus(code) }
    var head = HTTPTypes.HTTPResponse(
      status: .init(code: code, reasonPhrase: response.status.reasonPhrase))
    var bytes = 0
    for (name, value) in response.headers {
      bytes += name.utf8.count + value.utf8.count + 4
      guard let name = HTTPField.Name(name) else { continue }
      head.headerFields.append(HTTPField(name: name, value: value))
    }
    guard bytes <= limits.headerBytes.bytes else { throw failures.headTooLarge() }
    keepsConnection = head.headerFields[.connection]?.lowercased() != "close"
    if head.headerFields[.contentEncoding] == nil {
      announced = head.headerFields[.contentLength].flatMap { Int($0) } ?? 0
    }
    return head
  }

  /// The next piece of the body, or `nil` at its end.
  func next() async throws -> ByteBuffer? {
    if expiry != nil, iterator != nil {
      end()
      throw failures.tookTooLong(received: received)
    }
    guard iterator != nil else { return nil }
    do {
      guard announced <= limits.bodyBytes.bytes else { throw failures.tooLarge() }
      guard let chunk = try await guarded({ try await self.pull() }) else {
        end()
        await onEnd(keepsConnection)
        return nil
      }
      received += chunk.readableBytes
      guard received <= limits.bodyBytes.bytes else { throw failures.tooLarge() }
      guard clock.now() < deadline else { throw failures.tookTooLong(received: received) }
      try checkThroughput()
      return chunk
    } catch {
      end()
      switch expiry {
      case .total: throw failures.tookTooLong(received: received)
      case .silence: throw failures.fellSilent(received: received)
      case nil: throw failures.inBody(error, received: received)
      }
    }
  }

  /// The iterator is out while it runs, so that nobody else disturbs it.
  private func pull() async throws -> ByteBuffer? {
    guard var iterator = iterator.take() else { return nil }
    guard let chunk = try await iterator.next(isolation: self) else { return nil }
    self.iterator = iterator
    return chunk
  }

  private func checkThroughput() throws {
    let fewest = limits.minimumThroughput.bytes
    // As long as a server may be silent, it may also be slow.
    guard fewest > 0, waited > limits.idle else { return }
    guard Double(received) >= Double(fewest) * (waited / .seconds(1)) else {
      throw failures.tooSlow(received: received)
    }
  }
}

// MARK: Time

extension Exchange {
  /// Runs a piece of work that the watch can end.
  private func guarded<Value: Sendable>(
    _ work: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    let task = Task { try await work() }
    let start = clock.now()
    waiting = Waiting(since: start, cancel: { task.cancel() })
    defer {
      waiting = nil
      if hasHead { waited += clock.now() - start }
    }
    return try await withTaskCancellationHandler {
      try await task.value
    } onCancel: {
      task.cancel()
    }
  }

  /// How long nothing may come. Before the head, the time to connect is part of it; that has its own
  /// limit, which tells more.
  private var silence: Duration {
    hasHead ? limits.idle : max(limits.idle, limits.connect + .seconds(1))
  }

  /// Ends what is over its time. Returns how long there is nothing to do; `nil` when it is over.
  private func nextLook() -> Duration? {
    let now = clock.now()
    if now >= deadline { return expire(.total) }
    guard let waiting else { return min(deadline - now, limits.idle) }
    let silenceEnd = waiting.since + silence
    if now >= silenceEnd { return expire(.silence) }
    return min(deadline, silenceEnd) - now
  }

  private func expire(_ reason: Expiry) -> Duration? {
    expiry = reason
    waiting?.cancel()
    return nil
  }

  /// Gives the connection back, or up.
  private func end() {
    iterator = nil
    watch?.cancel()
    watch = nil
  }
}
