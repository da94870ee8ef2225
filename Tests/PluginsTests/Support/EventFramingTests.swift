import HTTPTypes
import Testing

@testable import GQLRunPlugins

@Suite("Parameters of media types")
struct EventFramingTests {
  @Test(
    "are found by name, in quotes or without",
    arguments: [
      ("multipart/mixed; boundary=a", "a"), ("multipart/mixed;Boundary=\"a;\\\"b\" ; x=y", "a;\"b"),
      ("multipart/mixed; x=\"boundary=b\"; boundary= a ", " a"), ("multipart/mixed", nil),
      // A delimiter and a combining character after it are one `Character`.
      ("multipart/mixed;\u{301}; boundary=\"\u{301}a\"", "\u{301}a"),
      ("multipart/mixed; boundary=\u{301};\u{301}x", "\u{301}"),
    ] as [(String, String?)])
  func parameters(type: String, expected: String?) {
    #expect(EventFraming.parameter("boundary", of: type) == expected)
  }

  @Test("end the media type, also before a combining character")
  func mediaType() {
    for (field, expected) in [
      ("Application/JSON ;charset=utf-8", "application/json"),
      ("application/json;\u{301}x", "application/json"),
    ] {
      #expect(ResponseCheck.mediaType([.contentType: field]) == expected)
    }
    #expect(ResponseCheck.mediaType([:]) == nil)
    let form = BodyRedactor([.contentType: "application/x-www-form-urlencoded;\u{301}"])
    #expect(form.redact(Array("client_secret=a&b=1".utf8)) == Array("client_secret=•••&b=1".utf8))
  }
}
