import GQLRunJSON
import Testing

@Suite("JSON number")
struct JSONNumberTests {
  @Test("keeps its text through reading and writing")
  func roundTrip() throws {
    let texts = [
      "0", "-0", "1E+2", "1e-2", "0.10", "9007199254740993", "18446744073709551616", "1e400",
      "-123456789.123456789e-99",
    ]
    for text in texts {
      #expect(try JSONValue(parsing: text).jsonText() == text)
      #expect(JSONNumber(text: text)?.text == text)
    }
  }

  @Test(
    "has an integer value in every notation, if it fits",
    arguments: [
      ("0", 0), ("-0", 0), ("7", 7), ("-12", -12), ("1.0", 1), ("12e1", 120), ("1.2E+1", 12),
      ("1200e-2", 12), ("0.0", 0), ("0e99999999999", 0), ("0.000e-7", 0), ("-1.50e1", -15),
      ("9223372036854775807", Int.max), ("-9223372036854775808", Int.min),
      ("-922337203685477580.8e1", Int.min), ("9223372036854775808", nil), ("1.5", nil),
      ("1e-1", nil),
      ("1e19", nil), ("1e400", nil), ("1e99999999999999999999999", nil), ("12e-3", nil),
    ] as [(String, Int?)])
  func whole(_ text: String, _ expected: Int?) {
    #expect(JSONNumber(text: text)?.intValue == expected)
  }

  @Test("is the nearest double, if that is finite")
  func double() {
    #expect(JSONNumber(text: "0.1")?.doubleValue == 0.1)
    #expect(JSONNumber(text: "-1E+2")?.doubleValue == -100)
    #expect(JSONNumber(text: "1e400")?.doubleValue == nil)
    #expect(JSONNumber(text: "1e-400")?.doubleValue == 0)
  }

  @Test("is created only from JSON numbers")
  func grammar() {
    for text in [
      "", "-", "+1", "01", "-01", "1.", ".5", "1.e1", "1e", "1e+", "0x1", "NaN", "Infinity", " 1",
      "1 ", "1a", "--1", "1.2.3", "1e5.0", "１",
    ] {
      #expect(JSONNumber(text: text) == nil, "\(text)")
    }
  }

  @Test("is made of Swift numbers")
  func values() {
    #expect(JSONNumber(UInt64.max).text == "18446744073709551615")
    #expect(JSONNumber(1.5)?.text == "1.5")
    #expect(JSONNumber(3.0)?.text == "3")
    #expect(JSONNumber(-0.0)?.text == "-0.0")
    #expect(JSONNumber(Double.infinity) == nil)
    #expect(JSONNumber(Double.nan) == nil)
    for value in [1e300, 2.5e-300, 1e15, 1e16, 0.1, -2.5e-7, Double.greatestFiniteMagnitude] {
      let number = JSONNumber(value)
      #expect(number?.doubleValue == value)
      #expect(number.flatMap { JSONNumber(text: $0.text) } == number)
    }
  }

  @Test("detects integer notation")
  func integer() {
    #expect(JSONNumber(text: "-12")!.isInteger)
    #expect(!JSONNumber(text: "1.0")!.isInteger)
    #expect(!JSONNumber(text: "1e2")!.isInteger)
  }
}
