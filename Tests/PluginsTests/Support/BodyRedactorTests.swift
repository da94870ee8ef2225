import Testing

@testable import GQLRunPlugins

@Suite struct BodyRedactorTests {
  private let redactor = BodyRedactor(names: ["token", "client_secret"])

  private func redact(_ text: String) -> String {
    String(decoding: redactor.redact(Array(text.utf8)), as: UTF8.self)
  }

  @Test(arguments: [
    (#"{"token":"abc","a":1}"#, #"{"token":"•••","a":1}"#),
    (#"{"token" : 12 , "a":1}"#, #"{"token" : "•••" , "a":1}"#),
    (#"{"token":null}"#, #"{"token":"•••"}"#),
    (#"{"token":{"a":["}"]},"b":2}"#, #"{"token":"•••","b":2}"#),
    (#"{"token":[1,[2]],"b":2}"#, #"{"token":"•••","b":2}"#),
    (
      #"[{"clientSecret":"a"},{"Client-Secret":"b"}]"#,
      #"[{"clientSecret":"•••"},{"Client-Secret":"•••"}]"#
    ),
    (#"{"tok\u0065n":"abc"}"#, #"{"tok\u0065n":"•••"}"#),
    (#"{"tokens":"abc","x":"token"}"#, #"{"tokens":"abc","x":"token"}"#),
    (#"{"a":"\"token\":\"no\"","token":"a\"b"}"#, #"{"a":"\"token\":\"no\"","token":"•••"}"#),
    // Cut off, or no JSON at all.
    (#"{"token":"abc"#, #"{"token":"•••""#), (#"{"token":"#, #"{"token":"#),
    (#"{"token":{"a":"b"#, #"{"token":"•••""#), (#"{"tok"#, #"{"tok"#),
    ("token: abc", "token: abc"), ("", ""),
  ]) func `hidden members lose their values, and everything else stays as it is`(
    _ text: String, _ expected: String
  ) {
    #expect(redact(text) == expected)
  }

  @Test func `a text cut at any byte shows no part of a secret`() {
    let text =
      #"{"a":1,"token":"SECRET-1","b":{"client_secret":["SECRET-2",{"x":"SECRET-3"}]},"c":2}"#
    for count in 0...text.utf8.count {
      let shown = String(
        decoding: redactor.redact(Array(text.utf8.prefix(count))), as: UTF8.self)
      #expect(!shown.contains("SEC"), "\(shown)")
    }
  }
}
