import Testing

@testable import GQLRunJSON

@Suite("JSON limits")
struct LimitsTests {
  private func nested(_ open: String, _ close: String, _ depth: Int) -> [UInt8] {
    Array(
      (String(repeating: open, count: depth) + "1" + String(repeating: close, count: depth)).utf8)
  }

  @Test("accept 512 levels and reject the next", arguments: [("[", "]"), ("{\"a\":", "}")])
  func depth(_ open: String, _ close: String) {
    for cuts in [Cuts.whole, .every(1), .every(7)] {
      #expect(read(nested(open, close, 512), cuts).error == nil)
      let deep = read(nested(open, close, 513), cuts)
      #expect(deep.error?.code == .limitExceeded)
      #expect(deep.error?.message == "nested deeper than the limit of 512 levels")
      #expect(deep.error?.offset == 512 * open.utf8.count + 1)
      #expect(deep.scope.failure == .depthExceeded)
    }
  }

  @Test("hold in subtrees that the handlers skip")
  func skipped() throws {
    // These handlers do nothing with any value; the scope counts all the same.
    var scope = JSONEventScope(limits: JSONLimits(maxDepth: 3, maxStringBytes: 5))
    try withUnsafeMutableBytes(of: &scope) { scope throws in
      var parser = try JSONParser(handlers: .counting, context: scope.baseAddress!)
      try parser.feed("{\"skipped\":[[[1]]]}")
      let error = #expect(throws: JSONError.self) { try parser.finish() }
      #expect(error?.code == .limitExceeded)
      #expect(error?.offset == 14)
    }
    #expect(scope.failure == .depthExceeded)
    #expect(scope.depth == 4)
  }

  @Test("reject a hundred thousand levels without recursion")
  func veryDeep() {
    let text = [UInt8](repeating: UInt8(ascii: "["), count: 100_000)
    #expect(throws: JSONError.self) { try JSONValue(parsing: text) }
    #expect(read(text).error?.code == .limitExceeded)
  }

  @Test(
    "accept a token of the maximum length and reject one byte more",
    arguments: [
      ("[\"", "abcdefghij", "\"]", JSONFailureCode.stringTooLong),
      ("{\"", "abcdefgh", "\":1}", .keyTooLong),
      ("[", "123456", "]", .numberTooLong), ("", "123456", "", .numberTooLong),
      ("[\"", "\\u0041\\n23456789", "\"]", .stringTooLong),
    ])
  func tokens(_ before: String, _ token: String, _ after: String, _ failure: JSONFailureCode) {
    let limits = JSONLimits(maxStringBytes: 10, maxKeyBytes: 8, maxNumberBytes: 6)
    for cuts in [Cuts.whole, .every(1), .every(3)] {
      for options in [JSONParser.Options(), .init(minimumPiece: 1)] {
        let fits = read(
          Array((before + token + after).utf8), cuts, limits: limits, options: options)
        #expect(fits.error == nil)
        let long = read(
          Array((before + token + "7" + after).utf8), cuts, limits: limits, options: options)
        #expect(long.error?.code == .limitExceeded)
        #expect(long.scope.failure == failure)
      }
    }
  }

  @Test("stop an endless string before it fills the memory", arguments: [1, 1000, 16384, 1 << 20])
  func endless(_ piece: Int) {
    let limits = JSONLimits(maxStringBytes: 50_000)
    let text =
      [UInt8](repeating: UInt8(ascii: "\""), count: 1)
      + [UInt8](repeating: UInt8(ascii: "x"), count: 1_000_000)
    let reading = read(text, .every(piece), limits: limits)
    #expect(reading.error?.code == .limitExceeded)
    #expect(reading.scope.failure == .stringTooLong)
    #expect(reading.error!.offset <= 4 * 50_000)
  }

  @Test("count a string without its escapes", arguments: [1, 1000, 16384, 1 << 20])
  func escapes(_ piece: Int) {
    for (escape, length) in [
      ("\\n", 1), ("\\u0041", 1), ("\\u00e9", 2), ("\\u4e2d", 3), ("\\ud83d\\ude00", 4),
    ] {
      let limits = JSONLimits(maxStringBytes: 20_000)
      let count = 20_000 / length
      let fits = "[1,\"" + String(repeating: escape, count: count) + "\"]"
      #expect(read(Array(fits.utf8), .every(piece), limits: limits).error == nil)
      let long = "[1,\"" + String(repeating: escape, count: count + 1) + "\"]"
      #expect(read(Array(long.utf8), .every(piece), limits: limits).error?.code == .limitExceeded)
    }
  }

  @Test("keep the first failure")
  func firstFailure() {
    var scope = JSONEventScope(limits: JSONLimits(maxDepth: 0, maxKeyBytes: 1))
    let (entered, fits) = (scope.enter(), scope.checkKey(2))
    #expect(!entered && !fits)
    #expect(scope.failure == .depthExceeded)
    #expect(scope.events == 2)
  }
}
