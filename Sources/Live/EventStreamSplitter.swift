/// Splits server-sent events into the payloads of a subscription, as "distinct connections" of graphql-sse.
///
/// Events named `next`, and those without a name, are payloads; `complete` ends the operation. Comments, other
/// fields and events of other names are ignored. In a shared stream, the data of `complete` is a payload, too, which
/// ``StreamPiece/complete`` ends, and the stream continues.
///
/// - https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
/// - https://the-guild.dev/graphql/sse
package struct EventStreamSplitter: StreamSplitter {
  private enum State {
    /// At a possible byte order mark, with the number of its bytes that were found.
    case mark(Int)
    case lineStart
    case name
    /// After the colon, at a possible space.
    case space
    case data, event, ignored
  }

  private enum Event {
    case next, complete, other
  }

  private static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
  /// Names of fields and events that are longer are unknown.
  private static let longestName = 16
  private static let lineFeed = UInt8(ascii: "\n")
  private static let carriageReturn = UInt8(ascii: "\r")

  private var state = State.mark(0)
  /// The name of the field or the value of the field `event`, as far as it was read.
  private var text: [UInt8] = []
  private var event: Event?
  private var hasPayload = false
  private var isComplete = false
  private var isAfterCarriageReturn = false
  private let isShared: Bool

  /// - Parameter isShared: Whether the stream has the events of several operations.
  package init(isShared: Bool = false) { self.isShared = isShared }

  /// Whether the data of the current event is a payload.
  private var isPayload: Bool {
    switch event {
    case nil, .next: true
    case .complete: isShared
    case .other: false
    }
  }

  package mutating func next(
    _ bytes: UnsafeRawBufferPointer, from offset: inout Int
  ) throws(StreamError) -> StreamPiece? {
    while offset < bytes.count, !isComplete {
      let byte = bytes[offset]
      if isAfterCarriageReturn {
        isAfterCarriageReturn = false
        if byte == Self.lineFeed {
          offset += 1
          continue
        }
      }
      switch state {
      case .mark(let count):
        if byte == Self.mark[count] {
          offset += 1
          state = count == 2 ? .lineStart : .mark(count + 1)
        } else {
          guard count == 0 else {
            throw StreamError(
              .malformed, "the event stream begins with a part of a byte order mark")
          }
          state = .lineStart
        }
      case .lineStart:
        if endsLine(byte, &offset) {
          if let piece = dispatch() { return piece }
        } else {
          text.removeAll(keepingCapacity: true)
          state = .name
        }
      case .name:
        if byte == UInt8(ascii: ":") {
          offset += 1
          state = .space
        } else if endsLine(byte, &offset) {
          // A field without a value has an empty one.
          let piece = beginValue()
          try endValue()
          if let piece { return piece }
        } else {
          offset += 1
          if text.count <= Self.longestName { text.append(byte) }
        }
      case .space:
        if byte == UInt8(ascii: " ") { offset += 1 }
        if let piece = beginValue() { return piece }
      case .data:
        let end = Self.lineEnd(bytes, offset)
        guard end == offset else {
          defer { offset = end }
          if isPayload { return .bytes(offset..<end) }
          continue
        }
        _ = endsLine(byte, &offset)
        state = .lineStart
      case .event:
        if endsLine(byte, &offset) {
          try endValue()
        } else {
          offset += 1
          if text.count <= Self.longestName { text.append(byte) }
        }
      case .ignored:
        offset = Self.lineEnd(bytes, offset)
        if offset < bytes.count, endsLine(bytes[offset], &offset) { state = .lineStart }
      }
    }
    return nil
  }

  package mutating func finish() throws(StreamError) {
    guard !isComplete else { return }
    throw StreamError(
      .truncated,
      hasPayload
        ? "the event stream ended inside an event"
        : "the event stream ended without the event `complete`")
  }

  /// Consumes the end of a line, if there is one here: CR, LF or CRLF.
  private mutating func endsLine(_ byte: UInt8, _ offset: inout Int) -> Bool {
    guard byte == Self.lineFeed || byte == Self.carriageReturn else { return false }
    offset += 1
    isAfterCarriageReturn = byte == Self.carriageReturn
    return true
  }

  private static func lineEnd(_ bytes: UnsafeRawBufferPointer, _ start: Int) -> Int {
    var end = start
    while end < bytes.count, bytes[end] != lineFeed, bytes[end] != carriageReturn { end += 1 }
    return end
  }

  private mutating func beginValue() -> StreamPiece? {
    if text.elementsEqual("data".utf8) {
      state = .data
      guard isPayload else { return nil }
      // Several lines of data are one value with line feeds in between.
      if hasPayload { return .held([Self.lineFeed]) }
      hasPayload = true
      return .begin
    }
    state = text.elementsEqual("event".utf8) ? .event : .ignored
    text.removeAll(keepingCapacity: true)
    return nil
  }

  private mutating func endValue() throws(StreamError) {
    defer { state = .lineStart }
    guard case .event = state else { return }
    event =
      text.isEmpty || text.elementsEqual("next".utf8) || text.elementsEqual("message".utf8)
      ? .next : text.elementsEqual("complete".utf8) ? .complete : .other
    if hasPayload, !isPayload {
      throw StreamError(
        .malformed, "the name of an event follows its data; it must precede them")
    }
  }

  /// Ends the event at an empty line.
  private mutating func dispatch() -> StreamPiece? {
    defer {
      event = nil
      hasPayload = false
    }
    if event == .complete {
      isComplete = !isShared
      return .complete
    }
    return hasPayload ? .end : nil
  }
}

/// A piece of a stream of payloads, found in one chunk of its bytes.
package enum StreamPiece: Sendable, Hashable {
  /// A payload begins.
  case begin
  /// The next bytes of the payload, as positions in the chunk.
  case bytes(Range<Int>)
  /// The next bytes of the payload, which are in an earlier chunk or in none.
  case held([UInt8])
  /// The payload ends.
  case end
  /// The server has completed the operation.
  case complete
}

/// The error of a stream that does not follow its protocol.
package struct StreamError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of a failure.
  package enum Code: String, Sendable, Hashable {
    /// The stream does not follow its protocol.
    case malformed
    /// The stream ended before its operation was complete.
    case truncated
    /// A part of the stream exceeds a limit.
    case tooLarge
  }

  package var code: Code
  /// What was found, and what was expected.
  package var message: String

  package init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  package var description: String { message }
}

/// Splits the bytes of a response into the payloads of its events, without copying them.
///
/// ```swift
/// var offset = 0
/// while let piece = try splitter.next(chunk, from: &offset) { … }
/// ```
package protocol StreamSplitter: Sendable {
  /// The next piece in a chunk, or `nil` if the chunk is used up.
  ///
  /// - Parameters:
  ///   - bytes: The chunk; the same one until `nil` is returned.
  ///   - offset: The position in the chunk; 0 for a new chunk.
  mutating func next(
    _ bytes: UnsafeRawBufferPointer, from offset: inout Int
  ) throws(StreamError) -> StreamPiece?

  /// Checks that the stream may end here.
  mutating func finish() throws(StreamError)
}

/// Limits what a server sends without content: comments and other ignored fields of an event stream, what is between the
/// parts of a multipart response, empty and control frames, messages of unknown operations.
///
/// Servers send such signs of life every few seconds. One that sends nothing else, as fast as it can, would keep a
/// processor busy for ever.
package struct EmptyTraffic: Sendable {
  /// The most bytes without content within ``window``.
  package static let maxBytes = 1 << 20
  /// The most pieces without content within ``window``: chunks, frames or messages.
  package static let maxPieces = 10_000
  /// The time after which the counts begin again.
  package static let window = Duration.seconds(10)

  private var begin: Duration?
  private var bytes = 0
  private var pieces = 0

  package init() {}

  /// Adds a piece without content.
  ///
  /// - Parameters:
  ///   - count: The size of the piece in bytes.
  ///   - now: The time, on any clock.
  /// - Throws: ``StreamError`` if a limit is exceeded.
  package mutating func add(_ count: Int, at now: Duration) throws(StreamError) {
    if begin.map({ now - $0 >= Self.window }) ?? true {
      begin = now
      (bytes, pieces) = (0, 0)
    }
    bytes += count
    pieces += 1
    guard bytes <= Self.maxBytes, pieces <= Self.maxPieces else {
      throw StreamError(
        .malformed,
        "it has no content: more than \(bytes > Self.maxBytes ? "\(Self.maxBytes) bytes" : "\(Self.maxPieces) pieces") "
          + "without an event within \(Self.window.components.seconds) seconds, where signs of life were expected every few "
          + "seconds")
    }
  }

  /// Begins to count again, because content has arrived.
  package mutating func reset() { begin = nil }
}
