import GQLRunSupport
import Testing

@Suite("Quantities in messages")
struct QuantityTests {
  @Test(
    "counts are singular for one only",
    arguments: [
      (0, "0 records"), (1, "1 record"), (2, "2 records"), (1_000_000, "1000000 records"),
    ])
  func counts(_ number: Int, _ text: String) {
    #expect(Quantity.count(number, "record") == text)
  }

  @Test("a noun may have a plural of its own")
  func plural() {
    #expect(Quantity.count(1, "query", plural: "queries") == "1 query")
    #expect(Quantity.count(2, "query", plural: "queries") == "2 queries")
  }

  @Test(
    "times have two units at most",
    arguments: [
      (-1, "0s"), (0, "0s"), (0.2, "1s"), (59, "59s"), (60, "1m0s"), (272, "4m32s"),
      (3_600, "1h0m"), (7_325, "2h2m"), (.nan, "0s"),
    ] as [(Double, String)])
  func times(_ seconds: Double, _ text: String) {
    #expect(Quantity.clockTime(seconds) == text)
  }

  @Test(
    "sizes have decimal units",
    arguments: [
      (1, "1 byte"), (999, "999 bytes"), (1_500, "1.5 kB"), (2_540, "2.5 kB"),
      (1_300_000, "1.3 MB"),
      (2_000_000_000, "2.00 GB"),
    ])
  func sizes(_ bytes: Int, _ text: String) {
    #expect(Quantity.size(bytes) == text)
    #expect(Quantity.size(Double(bytes)) == text)
  }

  @Test(
    "measured times have three digits, and no unit reaches the next one",
    arguments: [
      (0, "0 µs"), (0.000_31, "310 µs"), (0.001_18, "1.18 ms"), (0.0242, "24.2 ms"),
      (0.999_94, "999.9 ms"), (0.999_97, "1.00 s"), (272, "272.00 s"),
    ] as [(Double, String)])
  func measuredTimes(_ seconds: Double, _ text: String) {
    #expect(Quantity.time(seconds) == text)
  }

  @Test(
    "numbers of axes have three digits at least",
    arguments: [
      (0, "0"), (0.009, "0.009"), (1.6, "1.6"), (99.96, "100"), (999.7, "1,000"),
      (12_345.6, "12,346"), (.infinity, "inf"), (.nan, "nan"),
    ] as [(Double, String)])
  func numbers(_ value: Double, _ text: String) {
    #expect(Quantity.number(value) == text)
  }

  @Test("numbers of reports have groups of three digits")
  func groups() {
    #expect(
      [0, 999, 1_000, 1_234_567].map { Quantity.count($0) } == ["0", "999", "1,000", "1,234,567"])
  }

  @Test(
    "a duration of any number of seconds can be added to a time",
    arguments: [
      (1.5, 1.5), (-1.5, -1.5), (.infinity, 1e9), (-.infinity, -1e9), (1e300, 1e9), (.nan, 0),
    ] as [(Double, Double)])
  func durations(_ seconds: Double, _ bounded: Double) {
    #expect((Duration.bounded(seconds: seconds) + .seconds(1e9)).seconds == bounded + 1e9)
  }
}
