import GQLRunJSON
import Testing

@Suite("JSON writer")
struct JSONWriterTests {
  private func sample(_ layout: JSONWriter.Layout) -> String {
    var writer = JSONWriter(layout: layout)
    writer.beginObject()
    writer.key("a")
    writer.beginArray()
    writer.writeNumber(1)
    writer.writeNull()
    writer.beginArray()
    writer.endArray()
    writer.beginObject()
    writer.endObject()
    writer.writeBool(true)
    writer.endArray()
    writer.key("é\n")
    writer.writeString("x")
    writer.key("n")
    writer.beginObject()
    writer.key("deep")
    writer.writeRaw("[1,2]")
    writer.endObject()
    writer.endObject()
    return writer.text
  }

  @Test("writes without white space")
  func compact() {
    #expect(sample(.compact) == #"{"a":[1,null,[],{},true],"é\n":"x","n":{"deep":[1,2]}}"#)
  }

  @Test("writes like jq")
  func pretty() {
    #expect(
      sample(.pretty) == """
        {
          "a": [
            1,
            null,
            [],
            {},
            true
          ],
          "é\\n": "x",
          "n": {
            "deep": [1,2]
          }
        }
        """)
  }

  @Test("escapes what must be escaped, and nothing else", arguments: 0..<20)
  func escapes(_ before: Int) {
    let expected: [UInt8: String] = [
      0x08: "\\b", 0x09: "\\t", 0x0A: "\\n", 0x0C: "\\f", 0x0D: "\\r", 0x22: "\\\"", 0x5C: "\\\\",
      0x00: "\\u0000", 0x01: "\\u0001", 0x0B: "\\u000b", 0x1F: "\\u001f", 0x10: "\\u0010",
    ]
    let padding = [UInt8](repeating: 0x61, count: before)
    for byte in UInt8.min...UInt8.max {
      let text = padding + [byte] + padding
      var output: [UInt8] = []
      text.withUnsafeBytes { JSONWriter.appendEscaped($0, to: &output) }
      let first = text.withUnsafeBytes { JSONWriter.firstToEscape(in: $0) }
      if byte < 0x20 || byte == 0x22 || byte == 0x5C {
        #expect(first == before)
        if let escape = expected[byte] { #expect(output == padding + Array(escape.utf8) + padding) }
        #expect(output.count > text.count)
      } else {
        #expect(first == text.count)
        #expect(output == text)
      }
    }
  }

  @Test("finds the first of several bytes to escape")
  func first() {
    for position in 0..<40 {
      for gap in 1..<12 {
        var text = [UInt8](repeating: 0xC3, count: 60)
        text[position] = [0x00, 0x1F, 0x22, 0x5C][gap % 4]
        text[position + gap] = 0x22
        #expect(text.withUnsafeBytes { JSONWriter.firstToEscape(in: $0) } == position)
      }
    }
    #expect(JSONWriter.firstToEscape(in: UnsafeRawBufferPointer(start: nil, count: 0)) == 0)
  }

  @Test(
    "writes whole numbers with all their digits",
    arguments: [0, 1, -1, 9, 10, 99, -100, 123_456_789, .max, .min])
  func wholeNumbers(_ number: Int) {
    var writer = JSONWriter()
    writer.beginArray()
    writer.writeNumber(number)
    writer.writeNumber(number)
    writer.endArray()
    #expect(writer.text == "[\(number),\(number)]")
  }

  @Test("returns its bytes in chunks")
  func pieces() {
    var writer = JSONWriter()
    var text: [UInt8] = []
    writer.beginArray()
    for number in 0..<5 {
      writer.writeNumber(number)
      text += writer.takeBytes()
      #expect(writer.bytes.isEmpty)
    }
    writer.endArray()
    text += writer.takeBytes()
    #expect(text == Array("[0,1,2,3,4]".utf8))
  }

  @Test("parses bytes and slices")
  func sources() {
    var writer = JSONWriter()
    writer.beginObject()
    Array("k\"".utf8).withUnsafeBytes { writer.key(utf8: $0) }
    Array("v\t".utf8).withUnsafeBytes { writer.writeString(utf8: $0) }
    writer.key("abc".dropFirst())
    Array("1e5".utf8).withUnsafeBytes { writer.writeNumber(text: $0) }
    writer.endObject()
    #expect(writer.text == #"{"k\"":"v\t","bc":1e5}"#)
  }
}
