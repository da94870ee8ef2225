/// Checks, over the same bytes as yajl and before it, what yajl lets pass.
///
/// Together they accept exactly RFC 8259. The guard refuses wrong UTF-8 (overlong, surrogates, above
/// U+10FFFF), byte order marks, control characters other than tab, line feed and carriage return, and
/// backslash escapes that are wrong or lone surrogates. It needs no knowledge of strings: a backslash
/// or a non-ASCII byte outside a string is an error of yajl's anyway.
///
/// The text may be cut anywhere. Clean ASCII is skipped 32 bytes at a time; whole escapes and UTF-8
/// sequences are taken in one step; only those that are cut or wrong go through the state machine.
struct JSONGuard {
  /// What was wrong at the offending byte.
  enum Finding {
    case byteOrderMark
    case control
    case utf8
    case escape
    case hexDigit
    case loneHighSurrogate
    case loneLowSurrogate
  }

  /// Where the guard is between two bytes: in plain text, or inside a sequence.
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
  /// Continuation bytes or hexadecimal digits that are still to come.
  private var remaining = 0
  /// The range of the next continuation byte.
  private var lowest: UInt8 = 0x80
  private var highest: UInt8 = 0xBF
  /// The hexadecimal digits so far.
  private var unit: UInt16 = 0

  /// What was wrong where the last scan stopped.
  private(set) var finding: Finding?

  /// How many bytes shorter the text so far would be without its escapes.
  private(set) var escapeOverhead = 0

  /// Whether the text so far does not end within an escape or a UTF-8 sequence.
  var isBetweenCharacters: Bool { state == .plain || state == .start }

  /// Checks the next piece. Returns the index of the offending byte, or the count if there is none.
  mutating func scan(_ bytes: UnsafeRawBufferPointer) -> Int {
    guard let base = bytes.baseAddress else { return 0 }
    let count = bytes.count
    var place = 0
    while true {
      if state == .plain {
        place = skipPlain(base, from: place, to: count)
      }
      if place == count { return count }
      guard step(base.load(fromByteOffset: place, as: UInt8.self)) else { return place }
      place &+= 1
    }
  }
}

// MARK: - Whole sequences

extension JSONGuard {
  /// Skips everything that is right and whole. Returns where something is cut or wrong, or the count.
  private mutating func skipPlain(
    _ base: UnsafeRawPointer, from start: Int, to count: Int
  ) -> Int {
    var place = start
    while true {
      place = skipClean(base, from: place, to: count)
      if place == count { return count }
      let byte = base.load(fromByteOffset: place, as: UInt8.self)
      let length: Int
      if byte >= 0x80 {
        length = wholeCharacters(base, at: place, to: count)
      } else if byte == 0x5C {
        length = wholeEscape(base, at: place, to: count)
      } else {
        length = 0
      }
      if length == 0 { return place }
      place &+= length
      assert(place <= count)
    }
  }

  /// Skips ASCII that is neither a backslash nor a refused control character.
  @inline(__always)
  private func skipClean(_ base: UnsafeRawPointer, from start: Int, to count: Int) -> Int {
    var place = start
    while place &+ 32 <= count {
      let low = suspects(base.loadUnaligned(fromByteOffset: place, as: SIMD16<Int8>.self))
      let high = suspects(base.loadUnaligned(fromByteOffset: place &+ 16, as: SIMD16<Int8>.self))
      let either = low | high
      if either[0] | either[1] != 0 {
        if low[0] != 0 { return place &+ low[0].trailingZeroBitCount &>> 3 }
        if low[1] != 0 { return place &+ 8 &+ low[1].trailingZeroBitCount &>> 3 }
        if high[0] != 0 { return place &+ 16 &+ high[0].trailingZeroBitCount &>> 3 }
        return place &+ 24 &+ high[1].trailingZeroBitCount &>> 3
      }
      place &+= 32
    }
    while place < count {
      let byte = base.load(fromByteOffset: place, as: UInt8.self)
      if byte >= 0x80 || byte == 0x5C || (byte < 0x20 && !isWhiteSpace(byte)) { return place }
      place &+= 1
    }
    return count
  }

  /// Marks with ones the bytes that are not clean.
  @inline(__always)
  private func suspects(_ bytes: SIMD16<Int8>) -> SIMD2<UInt64> {
    // As signed numbers, non-ASCII bytes are below the space, too.
    let belowSpace = bytes .< SIMD16(repeating: 0x20)
    let backslash = bytes .== SIMD16(repeating: 0x5C)
    let whiteSpace =
      (bytes .== SIMD16(repeating: 0x0A)) .| (bytes .== SIMD16(repeating: 0x0D))
      .| (bytes .== SIMD16(repeating: 0x09))
    return unsafeBitCast((belowSpace .& .!whiteSpace) .| backslash, to: SIMD2<UInt64>.self)
  }

  /// The length of the right and whole UTF-8 sequences of more than one byte that start here.
  @inline(__always)
  private func wholeCharacters(_ base: UnsafeRawPointer, at start: Int, to count: Int) -> Int {
    var place = start
    while place &+ 4 <= count {
      // The next four bytes, the first of them lowest.
      let word = UInt32(littleEndian: base.loadUnaligned(fromByteOffset: place, as: UInt32.self))
      if word & 0xC0E0 == 0x80C0 {
        if word & 0x1E == 0 { break }  // overlong
        place &+= 2
      } else if word & 0xC0C0F0 == 0x8080E0 {
        let second = word & 0x200F
        if second == 0 || second == 0x200D { break }  // overlong, surrogate
        place &+= 3
      } else if word & 0xC0C0_C0F8 == 0x8080_80F0 {
        let second = word & 0x3007
        if second == 0 { break }  // overlong
        if second & 7 > 4 || (second & 7 == 4 && second & 0x3000 != 0) { break }  // > U+10FFFF
        place &+= 4
      } else {
        break
      }
    }
    return place &- start
  }

  /// The length of the right and whole escape that starts here; 0 if it is cut or wrong.
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
  private func hexUnit(_ base: UnsafeRawPointer, at place: Int) -> UInt16? {
    var unit: UInt16 = 0
    var wrong: UInt16 = 0
    for digit in 0..<4 {
      let value = hexValue(base.load(fromByteOffset: place &+ digit, as: UInt8.self))
      wrong |= value
      unit = unit &<< 4 | value & 0xF
    }
    return wrong > 0xF ? nil : unit
  }
}

// MARK: - Byte by byte

extension JSONGuard {
  /// Takes one byte. Returns false, and sets `finding`, if it is wrong here.
  private mutating func step(_ byte: UInt8) -> Bool {
    switch state {
    case .start:
      state = .plain
      if byte == 0xEF || byte == 0xFE || byte == 0xFF { return refuse(.byteOrderMark) }
      return stepPlain(byte)
    case .plain:
      return stepPlain(byte)
    case .continuation:
      guard byte >= lowest && byte <= highest else { return refuse(.utf8) }
      lowest = 0x80
      highest = 0xBF
      remaining -= 1
      if remaining == 0 { state = .plain }
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
    case 0xC2...0xDF: expectContinuation(1)
    case 0xE0: expectContinuation(2, from: 0xA0)
    case 0xED: expectContinuation(2, to: 0x9F)
    case 0xE1...0xEF: expectContinuation(2)
    case 0xF0: expectContinuation(3, from: 0x90)
    case 0xF1...0xF3: expectContinuation(3)
    case 0xF4: expectContinuation(3, to: 0x8F)
    case 0x80...0xFF: return refuse(.utf8)
    default: return refuse(.control)
    }
    return true
  }

  private mutating func stepHex(_ byte: UInt8) -> Bool {
    let value = hexValue(byte)
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

  private mutating func expectContinuation(
    _ count: Int, from lowest: UInt8 = 0x80, to highest: UInt8 = 0xBF
  ) {
    state = .continuation
    remaining = count
    self.lowest = lowest
    self.highest = highest
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

@inline(__always)
private func isWhiteSpace(_ byte: UInt8) -> Bool {
  byte == 0x0A || byte == 0x0D || byte == 0x09
}

@inline(__always)
private func isEscapeLetter(_ byte: UInt8) -> Bool {
  switch byte {
  case UInt8(ascii: "n"), UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"),
    UInt8(ascii: "b"), UInt8(ascii: "f"), UInt8(ascii: "r"), UInt8(ascii: "t"):
    true
  default: false
  }
}

/// The value of a hexadecimal digit, or more than 15.
@inline(__always)
private func hexValue(_ byte: UInt8) -> UInt16 {
  let digit = byte &- UInt8(ascii: "0")
  if digit < 10 { return UInt16(digit) }
  let letter = (byte | 0x20) &- UInt8(ascii: "a")
  return letter < 6 ? UInt16(letter) + 10 : 0xFF
}
