import GQLRunJSON
import Testing

@Suite("JSON fuzz")
struct FuzzTests {
  @Test(
    "agrees with the strict reference parser on damaged texts, however they are split",
    arguments: 0..<40)
  func damaged(_ seed: Int) {
    var fuzz = JSONFuzz(seed: UInt64(seed))
    for _ in 0..<150 {
      let text = fuzz.damaged(fuzz.text())
      check(text, &fuzz)
    }
  }

  @Test("accepts random valid texts, and writes back what it read", arguments: 0..<10)
  func valid(_ seed: Int) throws {
    var fuzz = JSONFuzz(seed: UInt64(1000 + seed))
    for _ in 0..<100 {
      let text = fuzz.text()
      #expect(StrictOracle.accepts(text))
      check(text, &fuzz)
      let value = try JSONValue(parsing: text)
      let written = value.jsonBytes()
      #expect(try JSONValue(parsing: written) == value)
      #expect(try JSONValue(parsing: value.jsonBytes(pretty: true)) == value)
      #expect(try JSONValue(parsing: value.canonicalText) == value)
      #expect(read(written).transcript == read(text).transcript)
    }
  }

  private func check(_ text: [UInt8], _ fuzz: inout JSONFuzz) {
    let whole = read(text)
    #expect((whole.error == nil) == StrictOracle.accepts(text), "\(shown(text))")
    let one = JSONParser.Options(minimumPiece: 1, slice: 3)
    for (cuts, options) in [
      (Cuts.every(1), one), (.every(1), JSONParser.Options()), (fuzz.cuts(), one),
      (fuzz.cuts(), JSONParser.Options(minimumPiece: 5)), (fuzz.cuts(), JSONParser.Options()),
    ] {
      let cut = read(text, cuts, options: options)
      #expect(
        cut.agrees(with: whole), "\(shown(text)) \(cuts): \(cut.error as Any) \(whole.error as Any)"
      )
    }
  }

  private func shown(_ text: [UInt8]) -> String {
    String(decoding: text, as: UTF8.self).debugDescription
  }
}
