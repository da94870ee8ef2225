import GQLRunJSON
import Testing

@Suite("JSON pretty printer")
struct JSONPrettyPrinterTests {
  private func pretty(_ text: [UInt8], _ cuts: Cuts) -> String {
    var printer = JSONPrettyPrinter()
    var output: [UInt8] = []
    var position = 0
    for length in cuts.lengths(text.count) {
      Array(text[position..<position + length]).withUnsafeBytes { printer.append($0, to: &output) }
      position += length
    }
    return String(decoding: output, as: UTF8.self)
  }

  @Test(
    "indents like the writer, however the text is split",
    arguments: [
      "{}", "[]", "null", "\"a b\"", "[[],{},[[]]]", #"{"a":[1,2,{"b":"x,y:{}[]\"\\"}],"c":{}}"#,
      #"["\\","\"","a\\\\\"b",-1.5e3,true]"#, "[[[[[[1]]]]]]", #"{"é":"東京\n","":[{},{"a":null}]}"#,
    ])
  func like(_ text: String) throws {
    let bytes = Array(text.utf8)
    let expected = try JSONValue(parsing: text).jsonText(pretty: true)
    for position in 0...bytes.count {
      #expect(pretty(bytes, .at(position)) == expected)
    }
    #expect(pretty(bytes, .every(1)) == expected)
    #expect(pretty(Array(expected.utf8), .every(3)) == expected)
  }

  @Test("replaces existing white space, also in empty containers")
  func spaces() {
    let text = Array(" { \"a\" :\t[ ] , \"b\" : { \n } }\r\n".utf8)
    #expect(pretty(text, .every(1)) == "{\n  \"a\": [],\n  \"b\": {}\n}")
  }

  @Test("indents random texts like the writer does", arguments: 0..<20)
  func random(_ seed: Int) throws {
    var fuzz = JSONFuzz(seed: UInt64(seed))
    for _ in 0..<20 {
      let value = try JSONValue(parsing: fuzz.text())
      let expected = value.jsonText(pretty: true)
      #expect(pretty(value.jsonBytes(), fuzz.cuts()) == expected)
    }
  }
}
