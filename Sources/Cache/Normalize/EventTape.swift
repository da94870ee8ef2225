import Foundation
import GQLRunJSON
import GQLRunSupport

/// Normalizes the events of a large response on a second thread, while the caller's thread parses the next bytes.
///
/// The events are written to pieces of memory: see ``PieceQueue``.
///
/// Sendable: only the thread that parses uses the writer. Only the queue uses the state of the normalizer, or, after it has
/// waited for the queue in ``settle()``, the thread that parses, until it sends the next piece.
final class EventTape: @unchecked Sendable {
  /// The size at which a piece is given to the other thread, in bytes.
  static let pieceBytes = 128 << 10
  /// The number of tapes in use.
  private static let running = Locked(0)

  private struct Progress {
    /// Where the event ends that the normalizer refused.
    var failureOffset: Int?
    var hasFailed = false
  }

  private let memory: NormalizerMemory
  private let maxStagedBytes: Int
  private let writer: UnsafeMutablePointer<TapeWriter>
  private let pieces = PieceQueue("gqlrun.normalizer", capacity: EventTape.pieceBytes + 1024)
  private let progress = Locked(Progress())

  /// Begins a tape, if a processor is free for it.
  ///
  /// - Parameters:
  ///   - memory: The context of the handlers of `parser`.
  ///   - maxStagedBytes: The size of staged records that are discarded, in bytes.
  ///   - isForced: Whether it begins on any machine; for tests.
  static func begin(
    _ parser: borrowing JSONParser, _ memory: NormalizerMemory, maxStagedBytes: Int, isForced: Bool
  ) -> EventTape? {
    let processors = ProcessInfo.processInfo.activeProcessorCount
    let mayBegin = running.withLock { running in
      guard isForced || running + 1 < processors else { return false }
      running += 1
      return true
    }
    guard mayBegin else { return nil }
    let tape = EventTape(memory, position: parser.position, maxStagedBytes: maxStagedBytes)
    memory.context.pointee.writer = tape.writer
    return tape
  }

  private init(_ memory: NormalizerMemory, position: JSONPosition, maxStagedBytes: Int) {
    self.memory = memory
    self.maxStagedBytes = maxStagedBytes
    writer = .allocate(capacity: 1)
    writer.initialize(to: TapeWriter(position: position, tape: Unmanaged.passUnretained(self)))
  }

  deinit {
    Self.running.withLock { $0 -= 1 }
    writer.deinitialize(count: 1)
    writer.deallocate()
  }
}

// MARK: - The thread that parses

extension EventTape {
  /// Gives the events to the other thread. Returns false if the normalizer has refused one.
  ///
  /// - Parameter start: The offset in the response from which the events count.
  func send(_ events: inout ByteStack, from start: Int) -> Bool {
    if hasFailed { return false }
    pieces.send(&events) { [self] in normalize($0, from: start) }
    return true
  }

  /// Waits until all events are normalized. Until the next one, the state belongs to the caller.
  func settle() {
    _ = writer.pointee.send()
    pieces.settle()
  }

  /// Ends the tape; the next events go to the normalizer itself.
  func finish() {
    settle()
    memory.context.pointee.writer = nil
  }

  /// Whether the normalizer has refused an event.
  var hasFailed: Bool { progress.withLock { $0.hasFailed } }

  /// Where the event ends that the normalizer refused, as an offset in the response.
  var failureOffset: Int? { progress.withLock { $0.failureOffset } }
}

// MARK: - The thread that normalizes

extension EventTape {
  private func normalize(_ events: Bytes, from start: Int) {
    if hasFailed { return }
    let failure = memory.state.pointee.process(events)
    let isSpooled = failure == nil && memory.spoolLargeResult()
    if failure != nil || !isSpooled {
      progress.withLock {
        $0.hasFailed = true
        $0.failureOffset = failure.map { start + $0 }
      }
    } else if memory.state.pointee.staging.table.arenaBytes >= maxStagedBytes {
      memory.state.pointee.staging.discard()
    }
  }
}

// MARK: - The events

/// The kinds of events of a tape.
private enum TapeEvent: UInt64 {
  case null, `false`, `true`, number, startObject, endObject, startArray, endArray
  /// Strings and keys, which had escapes or may need them, and those that are written as they are.
  case string, plainString, key, plainKey
}

/// Writes events into memory.
///
/// An event is one word, and the bytes of a string, key or number. The word has the kind (4 bits), the number of these
/// bytes (28), and the distance of the token's end from where the piece begins (32), for the offsets of errors.
struct TapeWriter: ~Copyable {
  /// The length of a string, key or number that does not fit into the word.
  static let maxTextBytes = 1 << 28

  fileprivate let position: JSONPosition
  fileprivate var events = ByteStack(capacity: EventTape.pieceBytes + 1024)
  fileprivate var start = 0
  fileprivate let tape: Unmanaged<EventTape>

  /// Gives the events to the other thread. Returns false if the normalizer has refused one.
  mutating func send() -> Bool {
    guard events.count > 0 else { return true }
    return tape.takeUnretainedValue().send(&events, from: start)
  }

  @inline(__always)
  fileprivate mutating func add(_ event: TapeEvent) -> Bool {
    let end = position.offset
    guard prepare(end) else { return false }
    append(event, count: 0, end: end)
    return true
  }

  /// Adds a number, or a string or key, whose plain form is `event` if it is in the bytes of the response as it is.
  @inline(__always)
  fileprivate mutating func add(_ event: TapeEvent, plain: TapeEvent, _ bytes: Bytes) -> Bool {
    let quotes = event == .number ? 0 : 1
    let plainEnd = position.offset(after: bytes.start, count: bytes.count, quotes: quotes)
    let end = plainEnd ?? position.offset
    guard prepare(end) else { return false }
    append(plainEnd == nil ? event : plain, count: bytes.count, end: end)
    events.append(bytes.start, bytes.count)
    return true
  }

  @inline(__always)
  private mutating func append(_ event: TapeEvent, count: Int, end: Int) {
    let distance = UInt64(truncatingIfNeeded: end &- start) &<< 32
    events.append(word: event.rawValue | UInt64(truncatingIfNeeded: count) &<< 4 | distance)
  }

  /// Makes room for an event that ends at `end`.
  @inline(__always)
  private mutating func prepare(_ end: Int) -> Bool {
    events.count < EventTape.pieceBytes && end &- start < 1 &<< 32 || begin(at: end)
  }

  @inline(never)
  private mutating func begin(at end: Int) -> Bool {
    guard send() else { return false }
    start = end
    return true
  }
}

extension NormalizerState {
  /// Processes the events of a tape. Returns the distance of the end of the one that was refused.
  fileprivate mutating func process(_ tape: Bytes) -> Int? {
    let raw = UnsafeRawPointer(tape.start)
    text.setChunk(tape.raw)
    defer { text.setChunk(nil) }
    var index = 0
    while index < tape.count {
      let word = raw.loadUnaligned(fromByteOffset: index, as: UInt64.self)
      index &+= 8
      let count = Int(truncatingIfNeeded: word &>> 4 & (1 &<< 28 &- 1))
      let bytes = Bytes(start: tape.start + index, count: count)
      index &+= count
      guard index <= tape.count, let event = TapeEvent(rawValue: word & 0xF) else {
        preconditionFailure("a tape is what its writer has written")
      }
      let isPlain = event != .key && event != .string
      if !isPlain { text.setChunk(nil) }
      guard process(event, bytes) else { return Int(truncatingIfNeeded: word &>> 32) }
      if !isPlain { text.setChunk(tape.raw) }
    }
    return nil
  }

  /// Processes an event.
  @inline(__always)
  fileprivate mutating func process(_ event: TapeEvent, _ bytes: Bytes) -> Bool {
    switch event {
    case .key, .plainKey: onKey(bytes)
    case .string, .plainString: onString(bytes)
    case .number: onLiteral(bytes, "a number")
    case .startObject: onStartObject()
    case .endObject: onEndObject()
    case .startArray: onStartArray()
    case .endArray: onEndArray()
    case .null: onNull()
    case .true: onBoolean(true)
    case .false: onBoolean(false)
    }
  }
}

// MARK: - Handlers

/// What the parser's handlers get: where the events of one text go.
struct EventContext {
  /// Must be the first property: the parser reads it.
  var scope: JSONEventScope
  let state: UnsafeMutablePointer<NormalizerState>
  /// Where events are written that another thread normalizes.
  var writer: UnsafeMutablePointer<TapeWriter>?

  /// Normalizes an event or writes it to the tape; returns what a handler does.
  @inline(__always)
  fileprivate mutating func take(_ event: TapeEvent) -> Int32 {
    guard let writer else { return result(state.pointee.process(event, .empty)) }
    return result(writer.pointee.add(event))
  }

  /// The same for a number, or a string or key, whose plain form is `plain`.
  @inline(__always)
  fileprivate mutating func take(_ event: TapeEvent, plain: TapeEvent, _ bytes: Bytes) -> Int32 {
    guard let writer else { return result(state.pointee.process(event, bytes)) }
    return result(writer.pointee.add(event, plain: plain, bytes))
  }

  /// The result of a handler, which cancels the parse if the event was refused.
  @inline(__always)
  private mutating func result(_ isAccepted: Bool) -> Int32 {
    if isAccepted { return 1 }
    scope.fail(JSONFailureCode(rawValue: JSONFailureCode.firstHandlerCode))
    return 0
  }
}

extension JSONEventHandlers {
  /// Each lets the scope count the event and enforce the limits, and gives the event to the context.
  static let normalizing = JSONEventHandlers(
    null: { context in
      guard let context = events(context) else { return 0 }
      context.pointee.scope.count()
      return context.pointee.take(.null)
    },
    boolean: { context, value in
      guard let context = events(context) else { return 0 }
      context.pointee.scope.count()
      return context.pointee.take(value != 0 ? .true : .false)
    },
    number: { context, text, count in
      guard let context = events(context), let text, context.pointee.scope.checkNumber(count) else {
        return 0
      }
      return context.pointee.take(.number, plain: .number, bytes(text, count))
    },
    string: { context, text, count in
      guard let context = events(context), context.pointee.scope.checkString(count) else {
        return 0
      }
      return context.pointee.take(.string, plain: .plainString, bytes(text, count))
    },
    startObject: { context in
      guard let context = events(context), context.pointee.scope.enter() else { return 0 }
      return context.pointee.take(.startObject)
    },
    key: { context, text, count in
      guard let context = events(context), context.pointee.scope.checkKey(count) else { return 0 }
      return context.pointee.take(.key, plain: .plainKey, bytes(text, count))
    },
    endObject: { context in
      guard let context = events(context) else { return 0 }
      context.pointee.scope.leave()
      return context.pointee.take(.endObject)
    },
    startArray: { context in
      guard let context = events(context), context.pointee.scope.enter() else { return 0 }
      return context.pointee.take(.startArray)
    },
    endArray: { context in
      guard let context = events(context) else { return 0 }
      context.pointee.scope.leave()
      return context.pointee.take(.endArray)
    })
}

@inline(__always)
private func events(_ context: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<EventContext>? {
  context?.assumingMemoryBound(to: EventContext.self)
}

@inline(__always)
private func bytes(_ text: UnsafePointer<UInt8>?, _ count: Int) -> Bytes {
  Bytes(start: text ?? Bytes.emptyStart, count: count)
}

@inline(__always)
private func bytes(_ text: UnsafePointer<CChar>, _ count: Int) -> Bytes {
  Bytes(start: UnsafeRawPointer(text).assumingMemoryBound(to: UInt8.self), count: count)
}
