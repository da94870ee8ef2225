import Testing

@testable import GQLRunJSON

@Suite("Buffering of small chunks")
struct CoalescingTests {
  /// A text that is mostly one token of `count` bytes.
  private func text(_ kind: String, _ count: Int) -> [UInt8] {
    let filling = [UInt8](repeating: UInt8(ascii: "7"), count: count)
    return switch kind {
    case "string": Array("[\"".utf8) + filling + Array("\"]".utf8)
    case "key": Array("{\"".utf8) + filling + Array("\":1}".utf8)
    case "number": Array("[".utf8) + filling + Array("]".utf8)
    default: Array("[".utf8) + filling.map { _ in UInt8(ascii: " ") } + Array("1]".utf8)
    }
  }

  @Test(
    "costs time in proportion to a token, not to its square",
    arguments: ["string", "key", "number", "white space"], [1, 1000, 16384])
  func linear(_ kind: String, _ piece: Int) {
    let limits = JSONLimits(maxKeyBytes: 1 << 20, maxNumberBytes: 1 << 20)
    let count = 150_000
    let once = read(text(kind, count), .every(piece), limits: limits)
    let twice = read(text(kind, 2 * count), .every(piece), limits: limits)
    #expect(once.error == nil && twice.error == nil)
    #expect(Double(twice.scanned) / Double(once.scanned) < 2.3)
    #expect(once.scanned < 3 * count + 10_000)
  }

  @Test(
    "scans ordinary text hardly more than once", arguments: [1, 100, 1000, 5000, 16384, 100_000])
  func ordinary(_ piece: Int) {
    let item = #"{"id":"User:12345","name":"Ada \"Countess\" Lovelace","n":[1,2.5,null]},"#
    let bytes = Array(("[" + String(repeating: item, count: 3000) + "0]").utf8)
    let reading = read(bytes, .every(piece))
    #expect(reading.error == nil)
    #expect(Double(reading.scanned) < 1.1 * Double(bytes.count))
  }

  @Test("parses a last chunk where it is, with the same events and errors", arguments: 0..<30)
  func last(_ seed: Int) {
    var fuzz = JSONFuzz(seed: UInt64(seed))
    for _ in 0..<20 {
      let (whole, cuts) = (fuzz.text(), fuzz.cuts())
      for text in [whole, Array(whole.dropLast()), whole + [0xFF], whole + [UInt8(ascii: "]")]] {
        let (held, inPlace) = (read(text, cuts), read(text, cuts, marksLast: true))
        #expect(inPlace.agrees(with: held))
      }
    }
  }

  @Test("never underestimates the length of an unfinished token", arguments: 0..<30)
  func bound(_ seed: Int) throws {
    var fuzz = JSONFuzz(seed: UInt64(seed))
    for _ in 0..<20 {
      let text = fuzz.text()
      var scope = JSONEventScope()
      try withUnsafeMutableBytes(of: &scope) { scope throws in
        var parser = try JSONParser(
          handlers: .counting, context: scope.baseAddress!, options: .init(minimumPiece: 1))
        var position = 0
        for length in fuzz.cuts().lengths(text.count) {
          let piece = text[position..<position + length]
          try Array(piece).withUnsafeBytes { try parser.feed($0) }
          position += length
          let (parsed, pending, isComplete) = (parser.parsed, parser.pending, parser.isComplete)
          #expect(isComplete || pending >= unfinishedToken(text[..<parsed]))
        }
        try parser.finish()
      }
    }
  }

  /// How long the token is that has not ended at the end of a text, found by going through it.
  private func unfinishedToken(_ text: ArraySlice<UInt8>) -> Int {
    var rest = text
    while let byte = rest.first {
      let start = rest
      rest = rest.dropFirst()
      switch byte {
      case UInt8(ascii: "\""):
        while let next = rest.first, next != UInt8(ascii: "\"") {
          rest = rest.dropFirst(next == UInt8(ascii: "\\") ? 2 : 1)
        }
        if rest.isEmpty { return start.count }
        rest = rest.dropFirst()
      case UInt8(ascii: "t"), UInt8(ascii: "n"):
        if start.count < 4 { return start.count }
        rest = start.dropFirst(4)
      case UInt8(ascii: "f"):
        if start.count < 5 { return start.count }
        rest = start.dropFirst(5)
      case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
        rest = start.drop { "+-.eE0123456789".utf8.contains($0) }
        if rest.isEmpty { return start.count }
      default: break
      }
    }
    return 0
  }
}
