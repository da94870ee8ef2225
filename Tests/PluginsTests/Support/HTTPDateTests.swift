import GQLRunPipeline
import Testing

@testable import GQLRunPlugins

@Suite("Dates of header fields")
struct HTTPDateTests {
  @Test(
    "are read in any form of the standard, and refused if there is no such date",
    arguments: [
      ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
      ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
      ("Sun Nov  6 08:49:37 1994", 784_111_777), ("6-november-1994x 8:49:37.5", 784_111_777),
      ("29 Feb 2000 00:00:00", 951_782_400), ("29 Feb 1900 00:00:00", nil),
      ("29 Feb 2025 00:00:00", nil), ("31 Apr 2026 00:00:00", nil), ("0 May 2026 00:00:00", nil),
      ("1 Jan 1600 00:00:00", nil), ("1 Jan 2026 24:00:00", nil), ("1 Jan 2026 00:00", nil),
      // The time is at the beginning of its token, and only its end has other characters.
      ("6 Nov 1994 08:49:37:99", 784_111_777), ("6 Nov 1994 8x:49:37", nil),
      // Delimiters are bytes; a combining character is no delimiter.
      ("6 Nov 1994;\u{301}08:49:37", nil), ("6 Nov 1994;08:49:37", 784_111_777), ("", nil),
    ] as [(String, Double?)])
  func seconds(text: String, expected: Double?) {
    #expect(HTTPDate.seconds(text) == expected)
  }

  @Test(
    "delays are seconds or dates, and print",
    arguments: [
      ("120", 0, "2m"), (" 120 ", 0, "2m"), ("99999999999999999999", 0, "1099511627776s"),
      ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_700, "77s"),
      ("Sun, 06 Nov 1994 08:49:37 GMT", 800_000_000, "0s"),
      // Of a duration with more nanoseconds than an Int64 has, whole seconds are shown.
      ("Thu, 11 Apr 2262 23:47:17 GMT", 0.1, "9223372036s"),
      ("-1", 0, nil), ("soon", 0, nil),
    ] as [(String, Double, String?)])
  func delays(text: String, now: Double, expected: String?) {
    #expect(RetryAfter.delay(text, now: now)?.optionText == expected)
  }
}
