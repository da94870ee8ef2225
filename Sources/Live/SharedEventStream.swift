/// Reads an event stream that several operations share: "single connection mode" of graphql-sse.
///
/// The data of an event is a message with the ID of its operation, and for `next` with the payload.
///
/// https://github.com/enisdenjo/graphql-sse/blob/master/PROTOCOL.md#single-connection-mode
package struct SharedEventStream: Sendable {
  /// An event of one operation. Operations of this client have numbers; events of others are ignored.
  package enum Event: Sendable, Hashable {
    /// A result, as JSON text.
    case next(Int, payload: ArraySlice<UInt8>)
    /// The operation has ended.
    case complete(Int)
  }

  private var splitter = EventStreamSplitter(isShared: true)
  /// The data of the current event, as far as it has arrived, or of the one before.
  private var data: [UInt8] = []
  private let maxBytes: Int

  /// Whether a part of an event's data has arrived.
  package private(set) var isInEvent = false

  /// - Parameter maxBytes: The size of the largest event.
  package init(maxBytes: Int) { self.maxBytes = maxBytes }

  /// The next event in a chunk, or `nil` if the chunk is used up.
  ///
  /// - Parameters:
  ///   - bytes: The chunk; the same one until `nil` is returned.
  ///   - offset: The position in the chunk; 0 for a new chunk.
  package mutating func next(
    _ bytes: UnsafeRawBufferPointer, from offset: inout Int
  ) throws(StreamError) -> Event? {
    while let piece = try splitter.next(bytes, from: &offset) {
      switch piece {
      case .begin: data.removeAll(keepingCapacity: true)
      case .bytes(let range): try append(UnsafeRawBufferPointer(rebasing: bytes[range]))
      case .held(let held): try append(held)
      case .end: if let event = try event(isComplete: false) { return event }
      case .complete: if let event = try event(isComplete: true) { return event }
      }
    }
    return nil
  }

  /// A larger buffer is released after its event.
  private static let keptBytes = 64 << 10

  private mutating func append(_ bytes: some Collection<UInt8>) throws(StreamError) {
    guard data.count + bytes.count <= maxBytes else {
      throw StreamError(.tooLarge, "an event is larger than \(maxBytes) bytes")
    }
    data += bytes
    isInEvent = true
  }

  private mutating func event(isComplete: Bool) throws(StreamError) -> Event? {
    let name = isComplete ? "complete" : "next"
    defer {
      isInEvent = false
      // A small buffer is emptied when the next event begins: until then, the payload is a part of it.
      if data.capacity > Self.keptBytes { data = [] }
    }
    guard isInEvent else {
      throw StreamError(
        .malformed, "an event `\(name)` has no data, where an operation's id was expected")
    }
    let message = try data.withUnsafeBytes { bytes in
      Result { () throws(StreamError) in try SocketMessage(bytes) }
    }.get()
    guard message.hasID else {
      throw StreamError(.malformed, "an event `\(name)` has no id of an operation")
    }
    guard let id = message.id else { return nil }
    if isComplete { return .complete(id) }
    guard let payload = message.payload, message.hasObject else {
      throw StreamError(.malformed, "the payload of an event `next` is not an object")
    }
    return .next(id, payload: data[payload])
  }
}
