import Foundation
import GQLRunJSON
import GQLRunTestSupport
import GQLRunTyped
import Testing

@Suite("Scalars of Foundation")
struct FoundationScalarsTests {
  @Test(
    "times in all forms of RFC 3339 are what Foundation reads",
    arguments: [
      "2026-01-31T12:00:00Z", "2026-01-31T12:00:00.5Z", "2026-01-31T12:00:00.123456789Z",
      "2024-02-29T23:59:59Z", "2026-02-30T00:00:00Z", "1900-03-01T00:00:00Z",
      "2000-12-31T23:59:59.999Z",
      // What the general parser reads.
      "2026-01-31T12:00:00+01:00", "2026-01-31T12:00:00.25-0330", "2016-12-31T23:59:60Z",
      "2026-01-31T24:00:00Z", "1582-10-10T00:00:00Z", "0001-01-01T00:00:00Z",
      "2026-1-31T12:00:00Z", "10000-01-01T00:00:00Z", "2026-01-31T12:00:00+01",
    ])
  func times(text: String) throws {
    let date = try Date(json: .string(text))
    #expect(date == (try foundation(text)), "\(date.timeIntervalSinceReferenceDate)")
  }

  @Test("random times have the bits that Foundation reads")
  func randomTimes() throws {
    var random = SeededRandom(1)
    func number(_ range: ClosedRange<Int>, digits: Int) -> String {
      let text = String(Int.random(in: range, using: &random))
      return String(repeating: "0", count: digits - text.count) + text
    }
    for _ in 0..<2000 {
      let digits = Int.random(in: 0...9, using: &random)
      let fraction = digits == 0 ? "" : "." + number(0...999_999_999, digits: 9).prefix(digits)
      let day =
        "\(number(1500...9999, digits: 4))-\(number(1...12, digits: 2))-\(number(1...31, digits: 2))"
      let time =
        "\(number(0...23, digits: 2)):\(number(0...59, digits: 2)):\(number(0...59, digits: 2))"
      let text = "\(day)T\(time)\(fraction)Z"
      #expect(try Date(json: .string(text)) == foundation(text), "\(text)")
    }
  }

  @Test(
    "other texts are errors",
    arguments: [
      "", "today", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-01-00T00:00:00Z",
      "2026-01-31 12:00:00Z", "2026-01-31t12:00:00Z", "2026-01-31T12:00Z", "2026-01-31T12:00:00.Z",
      "2026-01-31T12:00:00", "+026-01-31T12:00:00Z", "2026-01-31T12:0:00:0Z",
      // Foundation reads these.
      "2026-01-31T12:00:00Zjunk", "2026-01-31T12:00:00+01:00x", "2026-01-31T12:00:00GMT+1",
      "000-01-1T1:0:00.1+2*000:00m:00Z", "0000-01-01T00:00:00+10:00",
    ])
  func noTimes(text: String) {
    #expect(throws: ScalarError.self) { try Date(json: .string(text)) }
  }

  private func foundation(_ text: String) throws -> Date {
    try Date.ISO8601FormatStyle(includingFractionalSeconds: text.contains(".")).parse(text)
  }
}
