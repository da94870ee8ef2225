import Foundation
import GQLRunJSON
import Testing

@testable import GQLRunPipeline

@Suite struct SecretHidingTests {
  private static let secret = "s3cret/é+ \"x\"\n"

  private func hide(_ text: String, _ secrets: String...) -> String {
    SecretHiding(secrets.map { SecretString($0) }).text(text)
  }

  @Test(arguments: [
    "s3cret/é+ \"x\"\n",
    "s3cret%2F%C3%A9%2B%20%22x%22%0A", "s3cret%2f%c3%a9%2b+%22x%22%0a",
    #"s3cret/é+ \"x\"\n"#, #"s3cret\/\u00e9+ \"x\"\n"#,
    #"\u0073\u0033cret\u002F\u00E9\u002b\u0020\u0022x\u0022\u000A"#,
    #"s3cret%5C%2F%C3%A9%2B+%5C%22x%5C%22%5Cn"#,
  ]) func `a secret is hidden in every spelling`(_ spelling: String) {
    #expect(hide("a=\(spelling)&b", Self.secret) == "a=•••&b", "\(spelling)")
  }

  @Test func `a character of a secret beyond the basic plane is found as a pair of escapes`() {
    #expect(hide(#"x \ud83d\udd11-key-1 y"#, "🔑-key-1") == "x ••• y")
    #expect(hide("x %F0%9F%94%91-key-1 y", "🔑-key-1") == "x ••• y")
  }

  @Test func `a percent sign in a secret is found raw and encoded`() {
    #expect(hide("x 100%25-safe y", "100%-safe") == "x ••• y")
    #expect(hide("x 100%-safe y", "100%-safe") == "x ••• y")
    #expect(hide("x 100%25-safe y 100%2525-safe", "100%25-safe") == "x ••• y •••")
  }

  @Test(arguments: ["", "a", "ab", "abc", "abcd", "name with space"])
  func `a secret inside Base64 is hidden at every alignment`(_ name: String) {
    for pad in ["", "!", "!!"] {
      let pair = Data("\(name):hunter2-hunter2\(pad)".utf8).base64EncodedString()
      for text in [pair, pair.replacing("+", with: "-").replacing("/", with: "_")] {
        let shown = hide("Basic \(text).", "hunter2-hunter2")
        #expect(shown.contains("•••") && shown.hasPrefix("Basic "), "\(text): \(shown)")
        let rest = shown.replacing("•••", with: "").dropFirst(6)
        #expect(!text.contains(rest.dropLast()) || rest.count < text.count - 16)
      }
    }
  }

  @Test func `the longest secret wins, and neighbours are hidden each`() {
    #expect(hide("abcdef abcdefgh abcdefghabcdef", "abcdef", "abcdefgh") == "••• ••• ••••••")
  }

  @Test func `a mark after a secret does not keep it visible`() {
    #expect(hide("token abcdef\u{301}.", "abcdef") == "token •••\u{301}.")
  }

  @Test func `what is no secret stays byte for byte`() {
    let text = "a % %2 %zz \\ \\u \\u12 \\ud83d + é \u{1F511}"
    #expect(hide(text, "abcdef", "%zz-no", "\\u12-no") == text)
    #expect(SecretHiding([SecretString("abcdef")]).bytes([0xFF, 0xC3]) == [0xFF, 0xC3])
  }

  @Test func `a short secret is hidden as a whole value of a field, and not in texts`() {
    let hiding = SecretHiding([SecretString("ab1")])
    #expect(hiding.text("cab1e") == "cab1e")
    #expect(hiding.value("ab1", ofField: "X-Plain") == "•••")
    #expect(hiding.value("id=ab1; x", ofField: "X-Plain") == "•••")
    #expect(hiding.value("cab1e", ofField: "X-Plain") == "cab1e")
  }

  @Test func `a long secret of characters with several spellings takes no more than linear time`() {
    let secret = String(repeating: #"\"#, count: 1 << 14)
    #expect(hide("x" + String(repeating: #"\"#, count: 1 << 15), secret).hasPrefix("x•••"))
  }

  @Test func `names and strings of JSON are hidden, and numbers stay`() throws {
    let value = try JSONValue(parsing: #"{"abcdef":[1,"xabcdefx",{"a":null}]}"#)
    #expect(
      SecretHiding([SecretString("abcdef")]).json(value).jsonText()
        == #"{"•••":[1,"x•••x",{"a":null}]}"#)
  }

  @Test func `known secrets are bounded, and the newest are kept`() {
    let known = KnownSecrets()
    for number in 0...KnownSecrets.capacity { known.insert(SecretString("secret-\(number)-end")) }
    #expect(known.hide(in: "secret-0-end secret-1-end") == "secret-0-end •••")
    #expect(known.hide(in: "secret-\(KnownSecrets.capacity)-end") == "•••")
    known.insert(SecretString(""))
    #expect(known.hide(in: "") == "")
  }
}
