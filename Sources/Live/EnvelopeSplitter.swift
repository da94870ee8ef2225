import GQLRunJSON

/// Finds one member of a JSON object while its bytes arrive, and keeps the other members.
///
/// The member is a payload that is parsed while it arrives; the others are short: an id, a type, errors. Only the
/// structure is read: the values are checked by the parser that receives them. A member that occurs twice is an error:
/// one of its values would be lost.
package struct EnvelopeSplitter: StreamSplitter {
  private enum State {
    case start
    /// Before a key, or at the end of the object.
    case key(isFirst: Bool)
    case keyText
    case colon
    /// Before a value.
    case value
    case scalar
    /// In a value that is a string, an object or a list.
    case nested
    /// Behind a value.
    case separator
    case end
  }

  /// The most bytes of all other members together, unless another limit is given.
  package static let maxBytes = 1 << 20

  private let member: [UInt8]?
  private let limit: Int
  private var state = State.start
  /// Reads the key, or the value.
  private var scanner = JSONScanner()
  /// The key as JSON text without its quotation marks, and unescaped when its value begins.
  private var key: [UInt8] = []
  private var isPayload = false
  private var keptBytes = 0
  /// The keys of a message with many members.
  private var seenKeys: Set<[UInt8]> = []

  /// The members beside the payload, in their order: the key without its quotation marks and needless escapes, and the
  /// JSON text of the value.
  package private(set) var others: [(key: [UInt8], value: [UInt8])] = []
  /// Whether the member exists and is null; it then is no payload.
  package private(set) var isNull = false
  /// Whether the member exists and is not null.
  package private(set) var hasPayload = false

  /// - Parameters:
  ///   - member: The name of the member; `nil` keeps all members.
  ///   - limit: The most bytes of all other members together.
  package init(member: String?, limit: Int = maxBytes) {
    self.member = member.map { Array($0.utf8) }
    self.limit = limit
  }

  /// Whether the object has begun.
  package var hasBegun: Bool { if case .start = state { false } else { true } }

  /// Whether the object has ended.
  package var hasEnded: Bool { if case .end = state { true } else { false } }

  package mutating func next(
    _ bytes: UnsafeRawBufferPointer, from offset: inout Int
  ) throws(StreamError) -> StreamPiece? {
    while offset < bytes.count {
      let byte = bytes[offset]
      switch state {
      case .scalar, .nested:
        if let piece = try valueBytes(bytes, &offset) { return piece }
        continue
      case .keyText:
        let start = offset
        offset = scanner.skip(bytes, from: start)
        if !scanner.isOpen { state = .colon }
        let part = bytes[start..<(scanner.isOpen ? offset : offset - 1)]
        try keep(part.count)
        key.append(contentsOf: part)
        continue
      default: break
      }
      if byte.isJSONWhiteSpace {
        offset += 1
        continue
      }
      switch (state, byte) {
      case (.start, UInt8(ascii: "{")):
        state = .key(isFirst: true)
      case (.key, UInt8(ascii: "\"")):
        key.removeAll(keepingCapacity: true)
        state = .keyText
        scanner = .inString
      case (.key(isFirst: true), UInt8(ascii: "}")), (.separator, UInt8(ascii: "}")):
        state = .end
        offset += 1
        return .end
      case (.colon, UInt8(ascii: ":")):
        state = .value
      case (.separator, UInt8(ascii: ",")):
        state = .key(isFirst: false)
      case (.value, _):
        if let piece = try begin(byte) { return piece }
        continue
      case (.end, _):
        throw StreamError(.malformed, "a message is followed by more than white space")
      case (.start, _):
        throw StreamError(.malformed, "a message is not a JSON object")
      default:
        throw StreamError(
          .malformed, "a message is not valid JSON near \(Self.shown(byte))")
      }
      offset += 1
    }
    return nil
  }

  package mutating func finish() throws(StreamError) {
    guard !hasEnded else { return }
    throw StreamError(.truncated, "a message ended before its JSON object")
  }

  private mutating func begin(_ byte: UInt8) throws(StreamError) -> StreamPiece? {
    scanner = JSONScanner()
    if key.contains(UInt8(ascii: "\\")) { key = Self.unescaped(key) }
    guard isNew(key) else {
      throw StreamError(
        .malformed,
        "a message has the member `\(String(decoding: key.prefix(80), as: UTF8.self))` twice")
    }
    switch byte {
    case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "\""): state = .nested
    default: state = .scalar
    }
    isPayload = key == member && byte != UInt8(ascii: "n")
    guard !isPayload else {
      hasPayload = true
      return .begin
    }
    isNull = isNull || key == member
    others.append((key, []))
    return nil
  }

  /// Whether no member before has this key.
  private mutating func isNew(_ key: [UInt8]) -> Bool {
    if hasPayload && key == member { return false }
    guard others.count >= Self.scannedKeys else { return !others.contains { $0.key == key } }
    if seenKeys.isEmpty { seenKeys = Set(others.map(\.key)) }
    return seenKeys.insert(key).inserted
  }

  /// The number of members up to which the keys are compared one by one.
  private static let scannedKeys = 16

  /// The key without escapes: `"d\u0061ta"` is `data`. A key that needs escapes, or is not valid, stays as it is: no
  /// member that is read has one.
  private static func unescaped(_ key: [UInt8]) -> [UInt8] {
    guard let text = try? JSONValue(parsing: "\"".utf8 + key + "\"".utf8).stringValue,
      !text.utf8.contains(where: { $0 < 0x20 || "\"\\".utf8.contains($0) })
    else { return key }
    return Array(text.utf8)
  }

  /// The bytes of the value in this chunk.
  private mutating func valueBytes(
    _ bytes: UnsafeRawBufferPointer, _ offset: inout Int
  ) throws(StreamError) -> StreamPiece? {
    let start = offset
    if case .scalar = state {
      // A bracket here is an error that the parser of the value finds.
      while offset < bytes.count,
        bytes[offset] == UInt8(ascii: "]") || !bytes[offset].endsJSONScalar
      { offset += 1 }
      if offset < bytes.count { state = .separator }
    } else {
      offset = scanner.skip(bytes, from: start)
      if !scanner.isOpen { state = .separator }
    }
    guard isPayload else {
      try keepValue(UnsafeRawBufferPointer(rebasing: bytes[start..<offset]))
      return nil
    }
    guard offset > start else { return nil }
    return .bytes(start..<offset)
  }

  private mutating func keepValue(_ bytes: UnsafeRawBufferPointer) throws(StreamError) {
    try keep(bytes.count)
    others[others.count - 1].value.append(contentsOf: bytes)
    // No parser receives the value of a payload that seems to be null.
    guard case .separator = state, isNull, others[others.count - 1].key == member,
      !others[others.count - 1].value.elementsEqual("null".utf8)
    else { return }
    throw StreamError(.malformed, "a message is not valid JSON near `n`")
  }

  /// Counts bytes that are kept.
  private mutating func keep(_ count: Int) throws(StreamError) {
    keptBytes += count
    guard keptBytes <= limit else {
      throw StreamError(
        .tooLarge,
        member == nil
          ? "a message is longer than \(limit) bytes"
          : "the members of a message beside its payload are longer than \(limit) bytes")
    }
  }

  private static func shown(_ byte: UInt8) -> String {
    (0x21...0x7E).contains(byte) ? "`\(Character(Unicode.Scalar(byte)))`" : "the byte \(byte)"
  }
}

/// Splits complete JSON texts into the texts of their members and elements, without parsing the values.
///
/// Only the structure is read: the values are checked by the parser that receives them.
package enum JSONMembers {
  /// The members of an object, in their order.
  package static func members(
    ofObject text: [UInt8]
  ) throws(StreamError) -> [(key: [UInt8], value: [UInt8])] {
    var splitter = EnvelopeSplitter(member: nil, limit: text.count)
    try text.withUnsafeBufferPointer { text throws(StreamError) in
      var offset = 0
      while try splitter.next(UnsafeRawBufferPointer(text), from: &offset) != nil {}
    }
    try splitter.finish()
    return splitter.others
  }

  /// The elements of a list, in their order.
  package static func elements(ofList text: [UInt8]) throws(StreamError) -> [[UInt8]] {
    try text.withUnsafeBufferPointer { text throws(StreamError) in
      var cursor = JSONCursor(UnsafeRawBufferPointer(text))
      guard cursor.take("[") else {
        throw StreamError(.malformed, "a member of a message is not a list")
      }
      var elements: [[UInt8]] = []
      var start = cursor.offset
      while cursor.skipValue(), let byte = cursor.next() {
        let element = text[start..<cursor.offset]
        switch byte {
        case UInt8(ascii: ","): elements.append(Array(element))
        case UInt8(ascii: "]"), UInt8(ascii: "}"):
          if !elements.isEmpty || !element.allSatisfy(\.isJSONWhiteSpace) {
            elements.append(Array(element))
          }
          return elements
        default: continue
        }
        cursor.offset += 1
        start = cursor.offset
      }
      throw StreamError(.malformed, "a list in a message does not end")
    }
  }
}
