import Foundation
import GQLRunJSON
import Testing

@testable import GQLRunCache

/// What is not a GraphQL response, or not the one that was asked for.
@Suite("Malformed responses")
struct MalformedResponseTests {
  static let document = """
    query Q { v { id name tags json friends { ... on User { id name } ... on Bot { id name: url } } late { x } } n }
    """
  static let before = #"""
    {"data":{"v":{"__typename":"V","id":"1","name":"before","tags":["x"],"json":{"a":[1]},"friends":[],"late":{"__typename":"L","x":0}},"n":0}}
    """#
  static let response = #"""
    {"extensions":{"cost":{"a":[1,{"b":null}]}},"data":{"v":{"__typename":"V","id":"1","name":"né\u00e9 \ud83d\ude80\n","tags":["a","\u0000",null],
     "json":{"k":[1,-0.5e+3,{"$ref":"x"}],"\u006b2":true},"unknown":{"a":[{"b":{}}]},
     "friends":[{"__typename":"User","id":2,"name":"Ada"},null,{"name":"url","id":3,"__typename":"Bot"}],
     "late":{"x":1,"__typename":"L"}},"n":12345},"errors":[{"message":"no","path":["v","tags",2]}],"hasNext":false}
    """#

  // MARK: Cut off

  @Test("a response cut off at any byte leaves the store as it was", arguments: Way.allCases)
  func cutOff(way: Way) async throws {
    let operation = try prepare(Self.document)
    let bytes = Array(Self.response.utf8)
    let whole = bytes.count - (Self.response.hasSuffix("\n") ? 1 : 0)
    try await way.withCache { cache in
      try await cache.write(Self.before, operation)
      let dump = try await cache.dump()
      for count in 0..<whole {
        let normalizer = try await feed(
          bytes[..<count], operation, into: cache.store, arrival: cache.arrival)
        let code = try await code { _ = try await normalizer.finish() }
        #expect(code == (count == 0 ? .malformedResponse : .truncatedResponse), "cut at \(count)")
        if count % 10 == 0 || count > whole - 20 {
          #expect(try await cache.dump() == dump, "cut at \(count)")
        }
      }
      #expect(try await cache.dump() == dump)
      // The store is as usable as before.
      let written = try await cache.write(Self.response, operation)
      #expect(written.changes.contains("V:1.name"))
      #expect(written.changes.contains("V:1.tags") == false)
      #expect(try await cache.dump() != dump)
    }
  }

  @Test(
    "a normalizer dropped in the middle leaves the store as it was, and the writer free",
    arguments: Way.allCases)
  func dropped(way: Way) async throws {
    let operation = try prepare(Self.document)
    let bytes = Array(Self.response.utf8)
    try await way.withCache { cache in
      try await cache.write(Self.before, operation)
      let dump = try await cache.dump()
      for count in stride(from: 0, to: bytes.count, by: 25) {
        _ = try await feed(bytes[..<count], operation, into: cache.store, arrival: cache.arrival)
        // Whole, and given up only after it has ended.
        let ended = try await feed(bytes, operation, into: cache.store, arrival: cache.arrival)
        let response = try await ended.finish()
        if count % 50 == 0 { await response.write?.rollback() }
      }
      #expect(try await cache.dump() == dump)
      let last = try await cache.write(Self.response, operation)
      #expect(last.changes != [])
    }
  }

  @Test(
    "data after the response is an error", arguments: Way.allCases,
    ["x", "{}", "\u{0}", "\"", ",", "\u{feff}", "]"])
  func trailing(way: Way, tail: String) async throws {
    let operation = try prepare(Self.document)
    try await way.withCache { cache in
      let code = try await code { try await cache.write(Self.response + tail, operation) }
      #expect(code == .invalidJSON)
      try await cache.expectDump()
      try await cache.write(Self.response + " \n\r\t", operation)
    }
  }

  // MARK: Not a response

  @Test(
    "a body that is not a GraphQL response is an error", arguments: Way.allCases,
    [
      "[]", "1", "\"data\"", "null", "true", "[{\"data\":{}}]", "{}", #"{"errors":null}"#,
      #"{"errors":[]}"#, #"{"extensions":{}}"#, #"{"hasNext":true}"#, #"{"data":[]}"#,
      #"{"data":1}"#, #"{"data":"x"}"#, #"{"data":true}"#, #"{"data":{},"errors":{}}"#,
      #"{"data":{},"errors":"x"}"#, #"{"errors":true}"#, #"{"data":{},"extensions":[]}"#,
      #"{"data":{},"extensions":1}"#, #"{"Data":{}}"#, #"{"data ":{}}"#, " ", "\n\r\t ",
    ])
  func notAResponse(way: Way, body: String) async throws {
    try await way.withCache { cache in
      let code = try await code { try await cache.write(body, "{ a }") }
      let isBlank = body.allSatisfy { $0.isWhitespace }
      #expect(code == (isBlank ? .truncatedResponse : .malformedResponse))
      try await cache.expectDump()
    }
  }

  @Test("an empty body is an error, never an empty success", arguments: Way.allCases)
  func empty(way: Way) async throws {
    try await way.withCache { cache in
      let code = try await code { try await cache.write("", "{ a }") }
      #expect(code == .malformedResponse)
    }
  }

  @Test(
    "text that is not JSON is an error with its offset",
    arguments: Way.allCases,
    [
      ("{\"data\":{\"a\":1,}}", 15), ("{\"data\":{\"a\":.5}}", 13),
      ("{'data':{}}", 1), ("{\"data\":{\"a\":\"\u{1}\"}}", 14), ("\u{feff}{\"data\":{}}", 0),
      (#"{"data":{"a":"\ud800"}}"#, 20), (#"{"data":{"a":"\x"}}"#, 15), ("<html>", 0),
      ("{\"data\":{\"a\":1]}", 14), ("{\"data\":{\"a\":nul}}", 16), ("{\"data\":NaN}", 8),
      ("// c\n{}", 0),
    ])
  func notJSON(way: Way, body: (text: String, offset: Int)) async throws {
    try await way.withCache { cache in
      let error = try await #require(throws: CacheError.self) {
        try await cache.write(body.text, "{ a }")
      }
      #expect(error.code == .invalidJSON)
      #expect(error.byteOffset == body.offset, "\(error.message)")
      try await cache.expectDump()
    }
  }

  @Test(
    "bytes that are not UTF-8 are refused", arguments: Way.allCases,
    [[0x80], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xff], [0xc3]]
      as [[UInt8]])
  func notUTF8(way: Way, bytes: [UInt8]) async throws {
    try await way.withCache { cache in
      let body = Array(#"{"data":{"a":""#.utf8) + bytes + Array(#""}}"#.utf8)
      let code = try await code {
        try await normalize(body, prepare("{ a }"), into: cache.store, arrival: cache.arrival)
      }
      #expect(code == .invalidJSON)
      try await cache.expectDump()
    }
  }

  // MARK: Without data

  @Test(
    "without data nothing is written, and errors reach the caller", arguments: Way.allCases,
    [
      (#"{"data":null}"#, 0), (#"{"data":null,"errors":[{"message":"no"}]}"#, 1),
      (#"{"errors":[{"message":"no"},{"message":"nor this"}]}"#, 2),
      (#"{"errors":[{"message":"no"}],"data":null,"extensions":null}"#, 1),
      (#"{"errors":[1],"other":[{"a":[]}]}"#, 1), (#"{"data":null,"errors":[]}"#, 0),
    ])
  func withoutData(way: Way, body: (text: String, errors: Int)) async throws {
    try await way.withCache { cache in
      try await cache.write(Self.before, Self.document)
      let dump = try await cache.dump()
      let written = try await cache.write(body.text, Self.document)
      #expect(written.response.errors.count == body.errors)
      #expect(!written.response.hasData && written.summary == nil)
      // A response without `data` differs from one whose data is null.
      #expect(written.data == (body.text.contains(#""data":null"#) ? "null" : nil))
      #expect(try await cache.dump() == dump)
    }
  }

  @Test("an empty object of data is a response", arguments: Way.allCases)
  func emptyData(way: Way) async throws {
    try await way.withCache { cache in
      let written = try await cache.write(#"{"data":{},"extensions":{"a":{"b":[1]}}}"#, "{ a }")
      #expect(written.data == "{}")
      #expect(written.response.hasData)
      #expect(written.response.extensions == ["a": ["b": [1]]])
      try await cache.expectDump()
    }
  }

  // MARK: Duplicate keys

  @Test(
    "a duplicate key in an object is an error, wherever it is", arguments: Way.allCases,
    [
      #"{"data":{},"data":{}}"#, #"{"data":null,"data":{}}"#, #"{"data":{},"d\u0061ta":{}}"#,
      #"{"errors":[],"data":{},"errors":[]}"#, #"{"extensions":{},"data":{},"extensions":{}}"#,
      #"{"data":{},"x":1,"x":1}"#, #"{"data":{},"x":[],"y":{},"\u0078":{}}"#,
      #"{"data":{},"x":{"a":1,"a":1}}"#, #"{"data":{},"x":[[{"a":{"b":1,"b":1}}]]}"#,
      #"{"data":{"n":1,"n":1}}"#, #"{"data":{"n":1,"v":null,"\u006e":2}}"#,
      #"{"data":{"unknown":1,"n":1,"unknown":1}}"#,
      #"{"data":{"v":{"__typename":"V","id":1,"id":1}}}"#,
      #"{"data":{"v":{"__typename":"V","__typename":"V","id":1}}}"#,
      #"{"data":{"v":{"id":1,"__typename":"V","__typename":"V"}}}"#,
      #"{"data":{"v":{"__typename":"V","id":1,"z":1,"name":"","z":1}}}"#,
      #"{"data":{"v":{"__typename":"V","id":1,"z":{"a":1,"b":{},"a":1}}}}"#,
      #"{"data":{"v":{"__typename":"V","id":1,"z":[{"a":1,"b":{},"a":1}]}}}"#,
      #"{"data":{"v":{"__typename":"V","json":{"a":1,"a":2}}}}"#,
      #"{"data":{"v":{"__typename":"V","json":[{"a":{"b":1,"c":{"b":1},"b":1}}]}}}"#,
      #"{"data":{"v":{"__typename":"V","tags":[{"a":1,"\u0061":2}]}}}"#,
      #"{"data":{"v":{"__typename":"V","late":{"x":1,"x":1,"__typename":"L"}}}}"#,
      #"{"data":{"v":{"friends":[{"id":1,"name":"","id":1,"__typename":"User"}]}}}"#,
      #"{"data":{"v":{"friends":[{"id":1,"z":1,"z":1,"__typename":"User"}]}}}"#,
      #"{"data":{"v":{"friends":[{"__typename":"User","__typename":"User"}]}}}"#,
      #"{"data":{"v":{"friends":[{"id":1,"__typename":"User","__typename":"User"}]}}}"#,
      #"{"data":{"v":{"friends":[{"__typename":"Bot","z":1,"z":1}]}}}"#,
      #"{"data":{"n":1},"errors":[{"message":"a","message":"b"}]}"#,
      #"{"data":{"n":1},"errors":[{"message":"a","extensions":{"x":{"y":1,"y":1}}}]}"#,
      #"{"data":{"n":1},"extensions":{"a":1,"a":1}}"#,
    ])
  func duplicateKeys(way: Way, body: String) async throws {
    try await way.withCache { cache in
      let code = try await code { try await cache.write(body, Self.document) }
      #expect(code == .malformedResponse || code == .invalidJSON)
      try await cache.expectDump()
    }
  }

  @Test("the same key in different objects is none twice", arguments: Way.allCases)
  func sameKeys(way: Way) async throws {
    _ = try await way.withCache { cache in
      try await cache.write(
        #"""
        {"x":{"a":{"a":1},"b":[{"a":1},{"a":1}]},"data":{"z":{"a":1},"y":{"a":{"a":{}}},"n":1,
         "v":{"z":1,"y":1,"__typename":"V","id":1,"json":{"a":{"a":1},"b":[{"a":1},{"a":1}]},
           "friends":[{"z":1,"__typename":"User","id":1},{"z":1,"__typename":"User","id":1},{"z":1,"id":1,"__typename":"User"}],
           "late":{"z":1,"x":1}}}}
        """#, Self.document)
    }
  }

  // MARK: Wrong shapes

  @Test(
    "a leaf value where fields are selected is an error that names the path",
    arguments: Way.allCases,
    [
      (#"{"data":{"v":1}}"#, "v"), (#"{"data":{"v":"x"}}"#, "v"), (#"{"data":{"v":true}}"#, "v"),
      (#"{"data":{"n":1,"v":[1]}}"#, "v[0]"), (#"{"data":{"v":[null,[null,"x"]]}}"#, "v[1][1]"),
      (
        #"{"data":{"v":{"__typename":"V","friends":[null,{"__typename":"User","id":1},false]}}}"#,
        "v.friends[2]"
      ),
      (
        #"{"data":{"v":{"__typename":"V","late":{"x":1,"__typename":"L"},"friends":3}}}"#,
        "v.friends"
      ),
      (#"{"data":{"v":{"friends":[{"id":1,"name":"x","__typename":5}]}}}"#, "v.friends[0]"),
    ])
  func wrongShapes(way: Way, body: (text: String, path: String)) async throws {
    try await way.withCache { cache in
      let error = try await #require(throws: CacheError.self) {
        try await cache.write(body.text, Self.document)
      }
      #expect(error.code == .malformedResponse)
      #expect(error.path == body.path)
      #expect(error.message.contains(body.path), "\(error.message)")
      #expect(error.byteOffset != nil)
      try await cache.expectDump()
    }
  }

  @Test(
    "an object instead of a list, or the reverse, is accepted without a schema",
    arguments: Way.allCases
  )
  func otherShapes(way: Way) async throws {
    try await way.withCache { cache in
      let operation = try prepare("{ v { id name friends { id } } }")
      let written = try await cache.write(
        #"{"data":{"v":[{"__typename":"V","id":1,"name":[{"a":1}],"friends":{"__typename":"User","id":2}},[]]}}"#,
        operation)
      #expect(written.data == #"{"v":[{"id":1,"name":[{"a":1}],"friends":{"id":2}},[]]}"#)
      #expect(try await cache.read(operation) == written.data)
    }
  }

  // MARK: After an error

  @Test(
    "after an error, a normalizer throws the same error again and writes nothing",
    arguments: StoreKind.allCases)
  func afterError(kind: StoreKind) async throws {
    try await kind.withStore { store in
      let normalizer = try ResponseNormalizer(prepare("{ a { b } }"), store: store)
      let feed = { (text: String) in
        try Array(text.utf8).withUnsafeBytes { try normalizer.feed($0) }
      }
      let wrong = #"{"data":{"a":1"# + String(repeating: " ", count: 5000)
      let codes = [
        try await code { try feed(wrong) }, try await code { try feed("}}") },
        try await code { _ = try await normalizer.finish() },
      ]
      #expect(codes == [.malformedResponse, .malformedResponse, .malformedResponse])
      #expect(try await dump(store) == "")
      try await normalize(#"{"data":{"a":null}}"#.utf8, prepare("{ a { b } }"), into: store)
    }
  }

  @Test("a JSON error does not contain text of the response", arguments: Way.allCases)
  func harmlessMessages(way: Way) async throws {
    try await way.withCache { cache in
      let error = try await #require(throws: CacheError.self) {
        try await cache.write(#"{"data":{"\u001b[31mred":1,"\u001b[31mred":1}}"#, "{ a }")
      }
      #expect(!error.message.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7f })
    }
  }

  // MARK: Limits

  @Test("limits hold everywhere in a response", arguments: StoreKind.allCases)
  func limits(kind: StoreKind) async throws {
    var limits = ResponseLimits()
    limits.json.maxDepth = 6
    limits.json.maxStringBytes = 50
    limits.json.maxKeyBytes = 20
    limits.json.maxNumberBytes = 10
    limits.maxOpaqueBytes = 200
    let long = String(repeating: "x", count: 51)
    let deep = #"{"a":[[[[1]]]]}"#
    let wide = "[" + Array(repeating: #""1234567""#, count: 25).joined(separator: ",") + "]"
    let cases: [(String, CacheError.Code?)] = [
      (#"{"data":{"v":{"json":[[[1]]]}}}"#, nil),
      (#"{"data":{"v":{"json":[[[[1]]]]}}}"#, .invalidJSON),
      (#"{"data":{"z":[[[[1]]]]}}"#, nil), (#"{"data":{"z":[[[[[1]]]]]}}"#, .invalidJSON),
      (#"{"data":null,"z":\#(deep)}"#, nil), (#"{"data":null,"z":[\#(deep)]}"#, .invalidJSON),
      (#"{"data":{"v":{"name":"\#(long)"}}}"#, .invalidJSON),
      (#"{"data":{"z":"\#(long)"}}"#, .invalidJSON),
      (#"{"data":{"v":{"json":{"\#(long.dropFirst(25))":1}}}}"#, .invalidJSON),
      (#"{"data":{"z":{"\#(long.dropFirst(25))":1}}}"#, .invalidJSON),
      (#"{"data":{"n":12345678901}}"#, .invalidJSON), (#"{"data":{"n":1234567890}}"#, nil),
      (#"{"data":{"v":{"json":\#(wide)}}}"#, nil),
      (#"{"data":{"v":{"json":{"a":\#(wide)}}}}"#, .malformedResponse),
      (#"{"data":null,"errors":\#(wide)}"#, .malformedResponse),
      (#"{"data":null,"extensions":{"a":\#(wide)}}"#, .malformedResponse),
    ]
    try await kind.withStore { store in
      for (body, expected) in cases {
        for arrival in [Arrival(), .byteByByte] {
          let code = try await code {
            try await normalize(
              body.utf8, prepare(Self.document), into: store, arrival: arrival, limits: limits)
          }
          #expect(code == expected, "\(body)")
        }
      }
    }
  }
}
