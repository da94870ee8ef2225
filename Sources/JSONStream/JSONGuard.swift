/// Rejects invalid JSON that yajl accepts; runs over the same bytes before yajl.
///
/// Together they accept exactly RFC 8259. The guard rejects invalid UTF-8 (overlong forms,
/// surrogates, values above U+10FFFF), byte order marks, control characters other than tab, line
/// feed and carriage return, invalid backslash escapes, and escapes of lone surrogates. It does not
/// track strings: outside a string, yajl rejects every backslash and non-ASCII byte.
///
/// The text may be split at any byte. Clean ASCII is skipped 64 bytes at a time; complete escapes
/// and UTF-8 sequences take one step; only split or invalid ones go through the state machine.
package struct JSONGuard {
  /// What is wrong with the offending byte.
  enum Finding {
    case byteOrderMark
    case control
    case utf8
    case escape
    case hexDigit
    case loneHighSurrogate
    case loneLowSurrogate
  }

  /// The state between two bytes: in plain text, or inside a sequence.
  private enum State {
    case start
    case plain
    case continuation
    case escape
    case hex
    case lowBackslash
    case lowU
    case lowHex
  }

  private var state = State.start
  /// Hexadecimal digits that are still expected.
  private var remaining = 0
  private var character = UTF8State()
  /// The value of the hexadecimal digits read.
  private var unit: UInt16 = 0

  /// What is wrong at the index that the last scan returned.
  private(set) var finding: Finding?

  /// How many bytes shorter the text would be without escapes.
  private(set) var escapeOverhead = 0

  /// Whether the text read does not end inside an escape or a UTF-8 sequence.
  var isBetweenCharacters: Bool { state == .plain || state == .start }

  package init() {}

  /// Checks the next chunk. Returns the index of the offending byte, or the count if there is none.
  package mutating func scan(_ bytes: UnsafeRawBufferPointer) -> Int {
    guard let base = bytes.baseAddress else { return 0 }
    let count = bytes.count
    var index = 0
    while true {
      if state == .plain {
        index = skipPlain(base, from: index, to: count)
      }
      if index == count { return count }
      guard step(base.load(fromByteOffset: index, as: UInt8.self)) else { return index }
      index &+= 1
    }
  }
}

// MARK: - Whole sequences

extension JSONGuard {
  /// Skips valid, complete sequences. Returns the index of the first split or invalid one, or the
  /// count.
  private mutating func skipPlain(
    _ base: UnsafeRawPointer, from start: Int, to count: Int
  ) -> Int {
    var index = start
    while index &+ TextBlock.size <= count {
      var marks = TextBlock.suspects(in: base + index)
      let block = index
      index &+= TextBlock.size
      while marks != 0 {
        let suspect = block &+ marks.trailingZeroBitCount
        let next = skipSuspects(base, from: suspect, to: count)
        if next == suspect { return suspect }
        let done = next &- block
        if done >= TextBlock.size {
          index = next
          break
        }
        marks &= ~0 &<< UInt64(truncatingIfNeeded: done)
      }
    }
    while index < count {
      let byte = base.load(fromByteOffset: index, as: UInt8.self)
      if byte >= 0x80 || byte == 0x5C {
        let next = skipSuspects(base, from: index, to: count)
        if next == index { return index }
        index = next
      } else {
        if byte < 0x20 && !byte.isJSONWhiteSpace { return index }
        index &+= 1
      }
    }
    assert(index == count)
    return count
  }

  /// Skips consecutive escapes and UTF-8 sequences that are valid and complete.
  @inline(__always)
  private mutating func skipSuspects(
    _ base: UnsafeRawPointer, from start: Int, to count: Int
  ) -> Int {
    var index = start
    while index &+ 4 <= count {
      // The next four bytes, the first in the lowest bits.
      let word = UInt32(littleEndian: base.loadUnaligned(fromByteOffset: index, as: UInt32.self))
      let length: Int
      if word & 0xFF == 0x5C {
        length = wholeEscape(base, at: index, to: count)
      } else if word & 0x80 != 0 {
        length = wholeCharacter(word)
      } else {
        break
      }
      if length == 0 { break }
      index &+= length
    }
    return index
  }

  /// The length of the UTF-8 sequence in these four bytes; 0 if it is invalid or a single byte.
  @inline(__always)
  private func wholeCharacter(_ word: UInt32) -> Int {
    if word & 0xC0E0 == 0x80C0 {
      return word & 0x1E == 0 ? 0 : 2  // overlong
    }
    if word & 0xC0C0F0 == 0x8080E0 {
      let high = word & 0x200F
      return high == 0 || high == 0x200D ? 0 : 3  // overlong, surrogate
    }
    if word & 0xC0C0_C0F8 == 0x8080_80F0 {
      let high = (word & 0x07) << 2 | (word & 0x3000) >> 12
      return high == 0 || high > 0x10 ? 0 : 4  // overlong, above U+10FFFF
    }
    return 0
  }

  /// The length of the escape at `start`; 0 if it is incomplete or invalid.
  @inline(__always)
  private mutating func wholeEscape(
    _ base: UnsafeRawPointer, at start: Int, to count: Int
  ) -> Int {
    guard start &+ 2 <= count else { return 0 }
    let letter = base.load(fromByteOffset: start &+ 1, as: UInt8.self)
    if isEscapeLetter(letter) {
      escapeOverhead &+= 1
      return 2
    }
    guard letter == UInt8(ascii: "u"), start &+ 6 <= count,
      let unit = hexUnit(base, at: start &+ 2)
    else { return 0 }
    if unit & 0xF800 != 0xD800 {
      escapeOverhead &+= Self.overhead(of: unit)
      return 6
    }
    guard unit < 0xDC00, start &+ 12 <= count,
      base.load(fromByteOffset: start &+ 6, as: UInt8.self) == 0x5C,
      base.load(fromByteOffset: start &+ 7, as: UInt8.self) == UInt8(ascii: "u"),
      let low = hexUnit(base, at: start &+ 8), low & 0xFC00 == 0xDC00
    else { return 0 }
    escapeOverhead &+= 8
    return 12
  }

  @inline(__always)
  private func hexUnit(_ base: UnsafeRawPointer, at index: Int) -> UInt16? {
    var unit: UInt16 = 0
    var wrong: UInt16 = 0
    for digit in 0..<4 {
      let value = base.load(fromByteOffset: index &+ digit, as: UInt8.self).hexadecimalValue
      wrong |= value
      unit = unit &<< 4 | value & 0xF
    }
    return wrong > 0xF ? nil : unit
  }
}

// MARK: - Byte by byte

extension JSONGuard {
  /// Processes one byte. Returns false and sets `finding` if it is invalid.
  private mutating func step(_ byte: UInt8) -> Bool {
    switch state {
    case .start:
      state = .plain
      if byte == 0xEF || byte == 0xFE || byte == 0xFF { return refuse(.byteOrderMark) }
      return stepPlain(byte)
    case .plain:
      return stepPlain(byte)
    case .continuation:
      return stepCharacter(byte)
    case .escape:
      if byte == UInt8(ascii: "u") {
        expectHex(.hex)
      } else if isEscapeLetter(byte) {
        escapeOverhead += 1
        state = .plain
      } else {
        return refuse(.escape)
      }
    case .hex:
      return stepHex(byte)
    case .lowBackslash:
      guard byte == 0x5C else { return refuse(.loneHighSurrogate) }
      state = .lowU
    case .lowU:
      guard byte == UInt8(ascii: "u") else { return refuse(.loneHighSurrogate) }
      expectHex(.lowHex)
    case .lowHex:
      return stepHex(byte)
    }
    return true
  }

  private mutating func stepPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x5C: state = .escape
    case 0x20...0x7F, 0x09, 0x0A, 0x0D: break
    case 0x80...0xFF: return stepCharacter(byte)
    default: return refuse(.control)
    }
    return true
  }

  private mutating func stepHex(_ byte: UInt8) -> Bool {
    let value = byte.hexadecimalValue
    guard value <= 0xF else { return refuse(.hexDigit) }
    unit = unit << 4 | value
    remaining -= 1
    if state == .hex {
      if remaining == 2 && unit & 0xFC == 0xDC { return refuse(.loneLowSurrogate) }
      if remaining > 0 { return true }
      if unit & 0xFC00 == 0xD800 {
        state = .lowBackslash
      } else {
        escapeOverhead += Self.overhead(of: unit)
        state = .plain
      }
    } else {
      if remaining == 2 && unit & 0xFC != 0xDC { return refuse(.loneHighSurrogate) }
      if remaining > 0 { return true }
      escapeOverhead += 8
      state = .plain
    }
    return true
  }

  private mutating func stepCharacter(_ byte: UInt8) -> Bool {
    character.read(byte)
    if character.isInvalid { return refuse(.utf8) }
    state = character.isBetweenCharacters ? .plain : .continuation
    return true
  }

  private mutating func expectHex(_ state: State) {
    self.state = state
    remaining = 4
    unit = 0
  }

  private mutating func refuse(_ finding: Finding) -> Bool {
    self.finding = finding
    return false
  }

  private static func overhead(of unit: UInt16) -> Int {
    unit < 0x80 ? 5 : unit < 0x800 ? 4 : 3
  }
}

/// Whether `byte` is one of `"/\bfnrt`. A lookup in two words, because a branch would often be
/// mispredicted.
@inline(__always)
private func isEscapeLetter(_ byte: UInt8) -> Bool {
  let low: UInt64 = 1 << 0x22 | 1 << 0x2F
  let high: UInt64 = 1 << 0x1C | 1 << 0x22 | 1 << 0x26 | 1 << 0x2E | 1 << 0x32 | 1 << 0x34
  let letters = byte & 0x40 == 0 ? low : high
  return byte < 0x80 && letters &>> UInt64(byte & 0x3F) & 1 != 0
}

extension JSONGuard.Finding {
  /// The code of the error.
  var code: JSONError.Code {
    switch self {
    case .byteOrderMark, .utf8, .loneHighSurrogate, .loneLowSurrogate: .invalidText
    case .control, .escape, .hexDigit: .syntax
    }
  }

  /// The error message for the offending byte.
  func explanation(of byte: UInt8, at offset: Int) -> String {
    switch self {
    case .byteOrderMark:
      return "the text starts with a byte order mark (\(byte.shownName)); send UTF-8 without one"
    case .control where byte == 0 && offset < 4:
      return "\(byte.shownName) at the start looks like UTF-16 or UTF-32; send UTF-8"
    case .control:
      return "unexpected control character, \(byte.shownName)"
    case .utf8:
      return "\(byte.shownName) is not valid UTF-8 here"
    case .escape:
      return "\(byte.shownName) after a backslash is not an escape"
    case .hexDigit:
      return "expected four hexadecimal digits after \\u, found \(byte.shownName)"
    case .loneHighSurrogate:
      return "a high surrogate escape has no low surrogate after it"
    case .loneLowSurrogate:
      return "a low surrogate escape has no high surrogate before it"
    }
  }
}

/// Limits of a JSON text. The parser rejects a text that exceeds one.
///
/// They apply to the whole text, including subtrees that a handler skips.
@frozen
public struct JSONLimits: Hashable, Sendable {
  /// The maximum number of open objects and arrays. 512 by default.
  public var maxDepth: Int32
  /// The maximum length of a string value, in bytes after unescaping. 16 MiB by default.
  public var maxStringBytes: Int
  /// The maximum length of an object key, in bytes after unescaping. 64 KiB by default.
  public var maxKeyBytes: Int
  /// The maximum length of a number, in bytes of its text. 1 KiB by default.
  public var maxNumberBytes: Int

  /// Creates limits; see the properties for the units and defaults.
  @inlinable
  public init(
    maxDepth: Int32 = 512,
    maxStringBytes: Int = 16 << 20,
    maxKeyBytes: Int = 64 << 10,
    maxNumberBytes: Int = 1 << 10
  ) {
    self.maxDepth = maxDepth
    self.maxStringBytes = maxStringBytes
    self.maxKeyBytes = maxKeyBytes
    self.maxNumberBytes = maxNumberBytes
  }
}
