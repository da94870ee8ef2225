import GQLRunSupport
import Synchronization
import Testing

@testable import GQLRunPipeline

@Suite("Events that wait for a slow caller", .timeLimit(.minutes(10)))
struct EventBufferTests {
  /// Counts the events that exist.
  private final class Living: Sendable {
    private let counts = Locked((now: 0, most: 0))

    var now: Int { counts.withLock { $0.now } }
    var most: Int { counts.withLock { $0.most } }

    func change(by difference: Int) {
      counts.withLock { counts in
        counts.now += difference
        counts.most = max(counts.most, counts.now)
      }
    }
  }

  private final class Event: ResultData {
    let number: Int
    let count: Int
    private let living: Living

    init(_ number: Int, size: Int, _ living: Living) {
      self.number = number
      self.living = living
      count = size
      living.change(by: 1)
    }

    deinit { living.change(by: -1) }

    func forEachChunk(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {}
  }

  /// A source of numbered events, which tells when all of them were taken.
  private final class Source: Sendable {
    let living = Living()
    private let count: Int
    private let size: Int
    private let gaps: Set<Int>
    private let next = Atomic(0)
    private let isTaken = Locked<(isTaken: Bool, waiter: CheckedContinuation<Void, Never>?)>(
      (false, nil))

    /// - Parameter gaps: The numbers in whose place the connection was lost.
    init(_ count: Int, size: Int = 10, gaps: Set<Int> = []) {
      self.count = count
      self.size = size
      self.gaps = gaps
    }

    /// The number of events that were asked for.
    var pulls: Int { next.load(ordering: .sequentiallyConsistent) }

    var stream: ResponseStream {
      ResponseStream(pull: { [self] in
        let number = next.wrappingAdd(1, ordering: .sequentiallyConsistent).oldValue
        guard number < count else {
          take()
          return nil
        }
        if gaps.contains(number) {
          return GraphQLResponse(gap: SubscriptionGap(since: Double(number)))
        }
        return GraphQLResponse(source: .server, data: Event(number, size: size, living))
      })
    }

    private func take() {
      isTaken.withLock { state in
        state.isTaken = true
        return state.waiter.take()
      }?.resume()
    }

    /// Waits until all events were taken.
    func taken() async {
      await withCheckedContinuation { continuation in
        let isTaken = isTaken.withLock { state in
          if !state.isTaken { state.waiter = continuation }
          return state.isTaken
        }
        if isTaken { continuation.resume() }
      }
    }
  }

  private func buffer(
    _ source: Source, _ overflow: SubscriptionSettings.Overflow, most: Int = 1_000,
    bytes: ByteSize = .mebibytes(64)
  ) -> EventBuffer {
    var settings = SubscriptionSettings()
    settings.overflow = overflow
    settings.maxWaiting = most
    settings.maxWaitingBytes = bytes
    return EventBuffer(
      source.stream, label: "Counted", settings, secondsSince1970: { 784_111_777 })
  }

  private func number(_ response: GraphQLResponse?) -> Int? {
    (response?.data as? Event)?.number
  }

  /// Everything that a caller gets who reads nothing until all events have arrived.
  private func late(_ buffer: EventBuffer, _ source: Source) async throws -> [GraphQLResponse] {
    async let first = buffer.next()
    await source.taken()
    var found: [GraphQLResponse] = []
    if let first = try await first { found.append(first) }
    while let response = try await buffer.next() { found.append(response) }
    return found
  }

  private func dropped(_ found: [GraphQLResponse]) -> Int {
    found.reduce(0) { $0 + ($1.gap?.dropped ?? 0) }
  }

  @Test(
    "of 100,000 waiting events, only the newest are kept, and a gap has the number of the others")
  func dropOldest() async throws {
    let source = Source(100_000)
    var found = try await late(buffer(source, .dropOldest), source)
    #expect(source.living.most <= 1_002)
    // The first event may have been read before the others arrived.
    let numbers = found.compactMap(number)
    #expect(numbers.suffix(1_000) == Array(99_000..<100_000)[...])
    #expect(numbers.count + dropped(found) == 100_000)
    let gap = try #require(found.lazy.compactMap(\.gap).first)
    #expect(gap.since == 784_111_777 && !gap.lostConnection)
    found = []
    #expect(source.living.now == 0)
  }

  @Test("the size of waiting events is limited, but one is always kept")
  func size() async throws {
    let source = Source(50, size: 100_000)
    let found = try await late(
      buffer(source, .dropOldest, bytes: ByteSize(bytes: 1_000)), source)
    let numbers = found.compactMap(number)
    #expect(numbers.last == 49 && numbers.count <= 2)
    #expect(numbers.count + dropped(found) == 50)
    #expect(source.living.most <= 4)
  }

  @Test("a lost connection among dropped events is not forgotten")
  func droppedGap() async throws {
    let source = Source(21, gaps: [5])
    let found = try await late(buffer(source, .dropOldest, most: 10), source)
    #expect(found.compactMap(\.gap).count { $0.lostConnection } == 1)
    #expect(found.compactMap(number).count + dropped(found) == 20)
  }

  @Test("`fail` ends with an error after the events that waited")
  func fail() async throws {
    let source = Source(100_001)
    let buffer = buffer(source, .fail, most: 20)
    var numbers: [Int] = []
    let error = await #expect(throws: ChainError.self) {
      while let response = try await buffer.next() {
        numbers += number(response).map { [$0] } ?? []
      }
    }
    #expect(error?.code == .limitExceeded)
    #expect(error?.message.contains("20 events wait to be read") == true)
    #expect(numbers == Array(0..<numbers.count) && numbers.count >= 20)
    #expect(source.living.most <= 22)
  }

  @Test("a fast caller gets every event, and the error at the end")
  func fast() async throws {
    let events = ResponseStream(
      GraphQLResponse(source: .server), GraphQLResponse(source: .server))
    let end = ChainError(.transport, code: .connectionClosed, message: "the end")
    let failing = ResponseStream(pull: {
      guard let response = try await events.next() else { throw end }
      return response
    })
    var settings = SubscriptionSettings()
    settings.overflow = .dropOldest
    let buffer = EventBuffer(failing, label: "Counted", settings, secondsSince1970: { 0 })
    #expect(try await buffer.next() != nil)
    #expect(try await buffer.next() != nil)
    let error = await #expect(throws: ChainError.self) { try await buffer.next() }
    #expect(error?.code == .connectionClosed)
  }

  @Test(
    "cancelling the caller, or releasing the buffer, cancels the source", arguments: [true, false])
  func cancellation(isReleased: Bool) async throws {
    let pulls = Atomic(0)
    let (begun, begin) = AsyncStream.makeStream(of: Void.self)
    let (cancelled, cancel) = AsyncStream.makeStream(of: Void.self)
    let source = ResponseStream(pull: {
      if pulls.wrappingAdd(1, ordering: .relaxed).oldValue == 0 {
        return GraphQLResponse(source: .server)
      }
      begin.finish()
      let (silence, end) = AsyncStream.makeStream(of: Void.self)
      for await _ in silence {}
      end.finish()
      cancel.finish()
      throw CancellationError()
    })
    var settings = SubscriptionSettings()
    settings.overflow = .dropOldest
    let reading = Task { [settings] in
      let buffer = Owned(
        EventBuffer(source, label: "Counted", settings, secondsSince1970: { 0 })
      ) { $0.cancel() }
      #expect(try await buffer.value.next() != nil)
      for await _ in begun {}
      if !isReleased { _ = try await buffer.value.next() }
    }
    if isReleased {
      try await reading.value
    } else {
      for await _ in begun {}
      reading.cancel()
      await #expect(throws: CancellationError.self) { try await reading.value }
    }
    for await _ in cancelled {}
  }

  @Test("a ring keeps the order over its end, and releases what was removed")
  func ring() {
    var ring = Ring<Int>()
    var expected: [Int] = []
    for number in 0..<1_000 {
      ring.append(number)
      expected.append(number)
      if number % 3 != 0 { #expect(ring.popFirst() == expected.removeFirst()) }
      #expect(ring.count == expected.count && ring.first == expected.first)
    }
    while let next = ring.popFirst() { #expect(next == expected.removeFirst()) }
    #expect(expected.isEmpty && ring.isEmpty)
  }
}
