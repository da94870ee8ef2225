import GQLRunJSON
import Testing

@Suite("JSON value")
struct JSONValueTests {
  @Test("members and elements are set in place, and only in containers")
  func setting() {
    var value: JSONValue = ["a": ["b": [1, 2]]]
    value["a"]?["b"]?[1] = 3
    value["a"]?["b"]?.arrayValue?.append(4)
    value["a"]?["c"] = "new"
    #expect(value == ["a": ["b": [1, 3, 4], "c": "new"]])
    value["a"]?["b"]?[0] = nil
    value["a"]?["c"] = nil
    value["a"]?["b"]?[9] = 1
    value["a"]?["b"]?["x"] = 1
    value["x"]?["y"] = 1
    #expect(value == ["a": ["b": [3, 4]]])
  }

  @Test("reads every kind of value")
  func kinds() throws {
    let value = try JSONValue(parsing: #"{"a":[null,true,1.50,"x"],"b":{"c":-7}}"#)
    #expect(value["a"]?[0]?.isNull == true)
    #expect(value["a"]?[1]?.boolValue == true)
    #expect(value["a"]?[2]?.numberValue?.text == "1.50")
    #expect(value["a"]?[2]?.doubleValue == 1.5)
    #expect(value["a"]?[3]?.stringValue == "x")
    #expect(value["a"]?[4] == nil)
    #expect(value["b"]?["c"]?.intValue == -7)
    #expect(value["b"]?["d"] == nil)
    #expect(value["b"]?.objectValue?.count == 1)
    #expect(value["a"]?.arrayValue?.count == 4)
    #expect(value.kind == "object")
    #expect(
      value == ["a": [nil, true, .number(JSONNumber(text: "1.50")!), "x"], "b": ["c": -7]])
  }

  @Test("writes members in their order, and canonically in the order of their bytes")
  func texts() throws {
    let text = #"{"b":1,"a":[{"z":"é\n","y":1.0}],"é":2,"Z":{},"\uff5e":3,"😀":4}"#
    let value = try JSONValue(parsing: text)
    #expect(value.jsonText() == #"{"b":1,"a":[{"z":"é\n","y":1.0}],"é":2,"Z":{},"～":3,"😀":4}"#)
    #expect(
      value.canonicalText == #"{"Z":{},"a":[{"y":1.0,"z":"é\n"}],"b":1,"é":2,"～":3,"😀":4}"#)
    #expect(value.description == value.jsonText())
    #expect(String(decoding: value.jsonBytes(), as: UTF8.self) == value.jsonText())
  }

  @Test("compares strings by their bytes, not by canonical equivalence")
  func bytewise() throws {
    let composed = JSONValue.string("\u{E9}")
    let decomposed = JSONValue.string("e\u{301}")
    #expect(composed != decomposed)
    #expect(Set([composed, decomposed]).count == 2)
    #expect(composed == JSONValue.string("\u{E9}"))
    #expect(UTF8Text("\u{E9}") != UTF8Text("e\u{301}"))
    #expect(UTF8Text("e\u{301}") < UTF8Text("\u{E9}"))
    #expect(utf8Equal("abc".dropFirst() + "", "bc"))
  }

  @Test("compares objects without regard to the order of members, numbers by their text")
  func equality() throws {
    let one = try JSONValue(parsing: #"{"a":1,"b":{"c":2,"d":[3]}}"#)
    let other = try JSONValue(parsing: #"{"b":{"d":[3],"c":2},"a":1}"#)
    #expect(one == other)
    #expect(one.hashValue == other.hashValue)
    #expect(one.canonicalText == other.canonicalText)
    for different in [
      #"{"a":1}"#, #"{"a":1.0,"b":{"c":2,"d":[3]}}"#, #"{"a":1,"b":{"c":2,"e":[3]}}"#, "[1]", "1",
      #"{"a":{"c":2,"d":[3]},"b":1}"#, #"{"a":1,"b":{"c":2,"d":[3]},"e":null}"#, "null",
    ] {
      #expect(try JSONValue(parsing: different) != one)
    }
    #expect(try JSONValue(parsing: #"{"a":1,"b":2}"#) != JSONValue(parsing: #"{"b":1,"a":2}"#))
  }

  @Test("rejects duplicate keys by default", arguments: [0, 3, 30])
  func duplicates(_ others: Int) throws {
    let filling = (0..<others).map { "\"k\($0)\":\($0)," }.joined()
    let text = #"{"x":{\#(filling)"é":1,"e\u0301":2,"é":3}}"#
    let error = #expect(throws: JSONError.self) { try JSONValue(parsing: text) }
    #expect(error?.code == .duplicateKey)
    let value = try JSONValue(parsing: text, options: .init(allowsDuplicateKeys: true))
    #expect(value["x"]?["\u{E9}"] == 3)
    #expect(value["x"]?["e\u{301}"] == 2)
    #expect(value["x"]?.objectValue?.count == others + 2)
    #expect(Array(value["x"]!.objectValue!.keys).dropFirst(others).first == "\u{E9}")
  }

  @Test("keeps U+0000 and every other character")
  func characters() throws {
    let value = try JSONValue(parsing: #"{"\u0000":"a\u0000b\ud83d\ude00\/"}"#)
    #expect(value["\0"]?.stringValue == "a\0b😀/")
    #expect(value.jsonText() == #"{"\u0000":"a\u0000b😀/"}"#)
  }

  @Test("enforces the given limits")
  func limits() {
    let options = JSONValue.ParsingOptions(limits: JSONLimits(maxDepth: 1))
    #expect(throws: JSONError.self) { try JSONValue(parsing: "[[]]", options: options) }
    #expect(throws: Never.self) { try JSONValue(parsing: "[1]", options: options) }
  }

  @Test("is built from chunks")
  func pieces() throws {
    var builder = try JSONValueBuilder()
    for byte in #"{"a":[1,"two",null]} "#.utf8 {
      try withUnsafeBytes(of: byte) { try builder.feed($0) }
    }
    let value = try builder.finish()
    #expect(value == ["a": [1, "two", nil]])
  }

  @Test("is built and freed at the deepest level that is read")
  func deep() throws {
    let text = String(repeating: "[", count: 512) + String(repeating: "]", count: 512)
    #expect(try JSONValue(parsing: text).jsonText() == text)
  }
}
