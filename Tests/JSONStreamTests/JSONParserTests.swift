import GQLRunJSON
import Testing

@Suite("JSON parser")
struct JSONParserTests {
  private let one = JSONParser.Options(minimumPiece: 1)

  @Test("reports every kind of event in order")
  func events() {
    let reading = read(#" {"a":[null,true,false,-1.50e+3,"x\ny"],"b":{},"":[]} "#)
    #expect(reading.error == nil)
    #expect(
      String(decoding: reading.transcript, as: UTF8.self)
        == "{k1:a[ntf#8:-1.50e+3s3:x\ny]k1:b{}k0:[]}")
    #expect(reading.scope.events == 16)
    #expect(reading.scope.depth == 0)
  }

  @Test(
    "parses a scalar value, wherever the text is split",
    arguments: [
      ("null", "n"), ("true", "t"), ("false", "f"), ("0", "#1:0"), ("-12.5E-7", "#8:-12.5E-7"),
      (#""""#, "s0:"), (#""abc""#, "s3:abc"), (#""\u00e9\ud83d\ude00""#, "s6:é😀"),
      (" \t\n\r7 \t\n\r", "#1:7"), ("  \"a\"  ", "s1:a"), ("[]", "[]"), (" {} ", "{}"),
    ])
  func topLevel(_ text: String, _ transcript: String) {
    let bytes = Array(text.utf8)
    for first in 0...bytes.count {
      let cuts = Cuts(description: "cut at \(first)") { [first, $0 - first] }
      for options in [one, JSONParser.Options()] {
        let reading = read(bytes, cuts, options: options)
        #expect(reading.error == nil, "cut at \(first)")
        #expect(String(decoding: reading.transcript, as: UTF8.self) == transcript)
      }
    }
  }

  @Test(
    "rejects data after the value, with its offset",
    arguments: [
      ("{} x", 3), ("[]]", 2), ("1 2", 2), ("\"a\"\"b\"", 3), ("null\0", 4), ("true,", 4),
      ("{}\u{FEFF}", 2), ("[] \"unterminated", 3), ("{}\u{0C}", 2), ("1 \\", 2), ("[]/**/", 2),
    ])
  func trailing(_ text: String, _ offset: Int) {
    let bytes = Array(text.utf8)
    for position in 0...bytes.count {
      for options in [one, JSONParser.Options()] {
        let error = read(bytes, .at(position), options: options).error
        #expect(error?.code == .trailingData, "cut at \(position)")
        #expect(error?.offset == offset, "cut at \(position)")
      }
    }
  }

  @Test(
    "reports that a text ends too early",
    arguments: [
      "", " ", "\n\n", "[", "{", "{\"a\"", "{\"a\":", "{\"a\":1", "[1,", "\"", "\"abc", "\"\\",
      "\"\\u", "\"\\u12", "\"\\ud83d", "\"\\ud83d\\", "\"\\ud83d\\ud", "tru", "n", "-", "1.", "1e",
      "1e+", "[1.", "[[]", "[\"a\"", "[-",
    ])
  func early(_ text: String) {
    let bytes = Array(text.utf8)
    for position in 0...bytes.count {
      let error = read(bytes, .at(position), options: one).error
      #expect(error?.code == .unexpectedEnd, "cut at \(position)")
      #expect(error?.offset == bytes.count)
      #expect(error?.message == "unexpected end of JSON")
    }
  }

  @Test("reports that a text ends inside a character")
  func earlyCharacter() {
    for bytes: [UInt8] in [[0x22, 0xC3], [0x22, 0xF0, 0x9F], [0x22, 0xE2, 0x82]] {
      #expect(read(bytes).error?.code == .unexpectedEnd)
    }
  }

  @Test(
    "names the offending byte or token and where it starts",
    arguments: [
      ("[1 2]", 3, "expected ',' or ']' after an element, found a number"),
      ("[1 \"a\\\"b\"]", 3, "expected ',' or ']' after an element, found a string"),
      ("{\"a\":1 \"b\":2}", 7, "expected ',' or '}' after a member, found a string"),
      ("{\"a\":1 true}", 7, "expected ',' or '}' after a member, found a literal"),
      ("{\"a\" 12}", 5, "expected ':' after an object key, found a number"),
      ("{12:1}", 1, "expected an object key in quotes, found a number"),
      ("{\"a\":1,}", 7, "expected an object key in quotes, found '}'"),
      ("[1,]", 3, "expected a value, found ']'"),
      ("[1 -2.5e-7]", 3, "expected ',' or ']' after an element, found a number"),
      ("{\"a\":\"\" 12}", 8, "expected ',' or '}' after a member, found a number"),
      ("{\"a\":1 \"long key\":2}", 7, "expected ',' or '}' after a member, found a string"),
      ("{\"a\":1 \"\":2}", 7, "expected ',' or '}' after a member, found a string"),
      ("[,1]", 1, "expected a value, found ','"),
      ("}", 0, "expected a value, found '}'"),
      ("[x]", 1, "unexpected character, found 'x'"),
      ("['a']", 1, "unexpected character, found '''"),
      ("[é]", 1, "unexpected character, found byte 0xC3"),
      ("[+1]", 1, "unexpected character, found '+'"),
      ("[.5]", 1, "unexpected character, found '.'"),
      ("[-01]", 3, "expected ',' or ']' after an element, found a number"),
      ("[1.e]", 3, "expected a digit, found 'e'"),
      ("[0e+]", 4, "expected a digit, found ']'"),
      ("[-x]", 2, "expected a digit, found 'x'"),
      ("[tru]", 4, "expected true, false or null, found ']'"),
      ("[1 /* one */]", 3, "comments are not allowed in JSON"),
      ("[\"a\tb\"]", 3, "a control character in a string must be escaped, found byte 0x09"),
      ("[\"a\nb\"]", 3, "a control character in a string must be escaped, found byte 0x0A"),
      ("[\"a\u{1}b\"]", 3, "unexpected control character, byte 0x01"),
      ("[1,\u{0C}2]", 3, "unexpected control character, byte 0x0C"),
      ("[\"\\x\"]", 3, "'x' after a backslash is not an escape"),
      ("[\"\\u12g4\"]", 6, "expected four hexadecimal digits after \\u, found 'g'"),
      ("[\"\\ud800x\"]", 8, "a high surrogate escape has no low surrogate after it"),
      ("[\"\\ud800\\n\"]", 9, "a high surrogate escape has no low surrogate after it"),
      ("[\"\\ud800\\ud800\"]", 11, "a high surrogate escape has no low surrogate after it"),
      ("[\"\\udc00\"]", 5, "a low surrogate escape has no high surrogate before it"),
      (
        "\u{FEFF}[]", 0,
        "the text starts with a byte order mark (byte 0xEF); send UTF-8 without one"
      ),
      ("\0[", 0, "byte 0x00 at the start looks like UTF-16 or UTF-32; send UTF-8"),
      ("[\0", 1, "byte 0x00 at the start looks like UTF-16 or UTF-32; send UTF-8"),
    ])
  func messages(_ text: String, _ offset: Int, _ message: String) {
    let whole = read(text)
    #expect(whole.error?.message == message)
    #expect(whole.error?.offset == offset, "\(whole.error as Any)")
    let bytes = Array(text.utf8)
    for position in 0...bytes.count {
      let cut = read(bytes, .at(position), options: one)
      #expect(cut.agrees(with: whole), "cut at \(position): \(cut.error as Any)")
    }
  }

  @Test("counts offsets from the start of the text, not of the chunk")
  func longOffsets() {
    let bytes = Array(("[" + String(repeating: "1234567,", count: 40_000) + "?]").utf8)
    for cuts in [Cuts.whole, .every(1000), .every(16384), .every(70_001)] {
      #expect(read(bytes, cuts).error?.offset == bytes.count - 2)
    }
  }

  @Test("keeps U+0000 in strings and keys")
  func zero() {
    let reading = read(#"{"a\u0000b":"\u0000"}"#)
    #expect(reading.transcript == Array("{k3:a\0bs1:\0}".utf8))
  }

  @Test("keeps numbers as they were written")
  func numbers() {
    let texts = [
      "0", "-0", "1E+2", "1e-2", "9007199254740993", "123456789012345678901234567890", "1e400",
      "0.10", "-1.5e300", "1.7976931348623157e309",
    ]
    for text in texts {
      let reading = read("[\(text)]")
      #expect(reading.transcript == Array("[#\(text.utf8.count):\(text)]".utf8))
    }
  }

  @Test("throws the same error at every call after the first")
  func sticky() throws {
    var context = JSONEventScope()
    try withUnsafeMutableBytes(of: &context) { context throws in
      var parser = try JSONParser(handlers: .counting, context: context.baseAddress!)
      let first = #expect(throws: JSONError.self) { try parser.feed("[\u{1}") }
      let second = #expect(throws: JSONError.self) { try parser.feed("1]") }
      let third = #expect(throws: JSONError.self) { try parser.finish() }
      #expect(first == second && second == third && first != nil)
    }
  }

  @Test("counts the consumed bytes and detects the end of the value")
  func progress() throws {
    var context = JSONEventScope()
    try withUnsafeMutableBytes(of: &context) { context throws in
      var parser = try JSONParser(
        handlers: .counting, context: context.baseAddress!, options: .init(minimumPiece: 1))
      try parser.feed(#"["a""#)
      let before = (parser.bytesConsumed, parser.isComplete)
      #expect(before == (4, false))
      try parser.feed("]")
      let ended = parser.isComplete
      #expect(ended)
      try parser.feed(" \n")
      let consumed = parser.bytesConsumed
      #expect(consumed == 7)
      try parser.finish()
    }
  }

  @Test("stops when a handler cancels, and reports the handler's reason")
  func cancelled() {
    let bytes = Array("[1,2,3]".utf8)
    for position in 0...bytes.count {
      let reading = read(bytes, .at(position), options: one, cancelAt: 3)
      #expect(reading.error?.code == .cancelled)
      #expect(reading.transcript == Array("[#1:1#1:2".utf8))
    }
    // The last number of a text is only known to have ended when the text has.
    #expect(read(Array("7".utf8), cancelAt: 1).error?.code == .cancelled)
  }

  @Test("shows no raw bytes of the text in its errors")
  func harmlessErrors() {
    for byte in UInt8.min...UInt8.max {
      for text: [UInt8] in [[byte], [0x5B, byte], [0x22, byte, 0x22], [0x22, 0x5C, byte]] {
        guard let error = read(text).error else { continue }
        #expect(error.description.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F })
      }
    }
  }
}
