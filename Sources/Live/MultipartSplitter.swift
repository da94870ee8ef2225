/// Splits a response of the type `multipart/mixed` into the bodies of its parts.
///
/// The header fields of the parts, the preamble and the epilogue are ignored. Lines may end with LF alone.
///
/// https://www.rfc-editor.org/rfc/rfc2046#section-5.1
package struct MultipartSplitter: StreamSplitter {
  private enum State {
    /// Before the first delimiter, which may begin the stream.
    case preamble
    /// In the body of a part.
    case body
    /// Behind the boundary; `dashes` were found so far.
    case delimiter(dashes: Int)
    /// Behind the delimiter, up to the end of its line.
    case padding
    /// In the header fields of a part, with the length of the current line.
    case fields(length: Int)
    case epilogue
  }

  /// The most bytes of the header fields of a part.
  package static let maxFieldBytes = 16 << 10

  /// The delimiter. A carriage return before it is taken for white space of the JSON text before.
  private let delimiter: [UInt8]
  private var state = State.preamble
  /// The number of bytes of the delimiter that were found.
  private var matched = 1
  private var fieldBytes = 0

  /// - Parameter boundary: The parameter `boundary` of the content type.
  package init(boundary: String) {
    delimiter = Array("\n--\(boundary)".utf8)
  }

  package mutating func next(
    _ bytes: UnsafeRawBufferPointer, from offset: inout Int
  ) throws(StreamError) -> StreamPiece? {
    while offset < bytes.count {
      switch state {
      case .preamble, .body:
        if let piece = content(bytes, &offset) { return piece }
      case .delimiter(let dashes):
        if let piece = afterBoundary(bytes[offset], dashes: dashes, offset: &offset) {
          return piece
        }
      case .padding:
        if bytes[offset] == UInt8(ascii: "\n") {
          state = .fields(length: 0)
          fieldBytes = 0
          matched = 1
        }
        offset += 1
      case .fields(let length):
        let byte = bytes[offset]
        offset += 1
        fieldBytes += 1
        // Some servers end with an empty part that has no fields either.
        if matched == length + 1, byte == delimiter[matched] {
          matched += 1
          state = matched == delimiter.count ? .delimiter(dashes: 0) : .fields(length: length + 1)
          continue
        }
        guard fieldBytes <= Self.maxFieldBytes else {
          throw StreamError(
            .tooLarge,
            "the header fields of a part are longer than \(Self.maxFieldBytes) bytes")
        }
        if byte == UInt8(ascii: "\n") {
          guard length == 0 else {
            state = .fields(length: 0)
            matched = 1
            continue
          }
          // The line feed may begin the delimiter of an empty part.
          matched = 1
          state = .body
          return .begin
        }
        if byte != UInt8(ascii: "\r") { state = .fields(length: length + 1) }
      case .epilogue:
        offset = bytes.count
      }
    }
    return nil
  }

  package mutating func finish() throws(StreamError) {
    if case .epilogue = state { return }
    throw StreamError(.truncated, "the response ended without its last boundary")
  }

  /// Looks for the delimiter, up to which everything is content.
  private mutating func content(
    _ bytes: UnsafeRawBufferPointer, _ offset: inout Int
  ) -> StreamPiece? {
    let isBody = if case .body = state { true } else { false }
    if matched == 0 {
      let start = offset
      while offset < bytes.count, bytes[offset] != delimiter[0] { offset += 1 }
      if offset > start { return isBody ? .bytes(start..<offset) : nil }
    }
    while offset < bytes.count, matched < delimiter.count, bytes[offset] == delimiter[matched] {
      matched += 1
      offset += 1
    }
    if matched == delimiter.count {
      state = .delimiter(dashes: 0)
      return isBody ? .end : nil
    }
    guard offset < bytes.count else { return nil }
    defer { matched = 0 }
    return isBody ? .held(Array(delimiter[..<matched])) : nil
  }

  /// Looks at the byte behind the boundary: two dashes end the response, and white space the line.
  private mutating func afterBoundary(
    _ byte: UInt8, dashes: Int, offset: inout Int
  ) -> StreamPiece? {
    if byte == UInt8(ascii: "-") {
      offset += 1
      guard dashes == 1 else {
        state = .delimiter(dashes: dashes + 1)
        return nil
      }
      state = .epilogue
      return .complete
    }
    state = .padding
    return nil
  }
}
