import GQLRunConfiguration
import Testing

@Suite("Durations in whole seconds")
struct WholeSecondsTests {
  @Test(
    "are exact, or refused with what works",
    arguments: [
      ("1s", "1s", nil), ("1.0s", "1s", nil), ("2000ms", "2s", nil), ("1.5m", "90s", nil),
      ("0s", "0s", nil), ("100ms", nil, "write `1s`"), ("1.5s", nil, "write `1s` or `2s`"),
      ("0.01m", nil, "write `1s`"), ("59999ms", nil, "write `59s` or `1m`"),
    ] as [(String, String?, String?)])
  func exact(text: String, expected: String?, hint: String?) throws {
    let duration = Result { () throws(OptionTextError) in
      try Duration(optionText: text, wholeSeconds: true)
    }
    // The same text is read exactly where fractions are kept.
    let exact = try Duration(optionText: text)
    switch duration {
    case .success(let duration):
      #expect(duration == exact && duration.optionText == expected)
    case .failure(let error):
      #expect(expected == nil)
      #expect(error.hint == hint.map { "this is counted in whole seconds: \($0)" })
    }
  }
}
