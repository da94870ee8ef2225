import GQLRunJSON
import GQLRunSupport
import GQLRunTestSupport
import Testing

@testable import GQLRunCache

/// Large responses, whose events a second thread normalizes. The other tests of the cache write small ones in this way.
@Suite("Two threads for a response")
struct EventTapeTests {
  static let document = "{ users { __typename id name note { text } tags json on } }"

  /// A user of about 150 bytes.
  static func user(_ number: Int, note: String = #"{"text":null}"#) -> String {
    #"{"__typename":"User","id":"\#(number)","name":"n\u00e9 \"\#(number)\"","note":\#(note),"#
      + #""tags":["a","b\\c",""],"json":{"a":[1.50,-2e3,true,null]},"on":\#(number % 2 == 0)}"#
  }

  static func response(_ users: [String]) -> String {
    #"{"data":{"users":["# + users.joined(separator: ",") + "]}}"
  }

  @Test(
    "a response of many pieces of memory, with a string that is longer than one, is that of one thread",
    arguments: StoreKind.allCases, [Int.max, 100_000, 10_007, 997])
  func large(kind: StoreKind, piece: Int) async throws {
    let long = String(repeating: "long \u{1F600} ", count: 40_000)
    var users = (0..<6000).map { Self.user($0) }
    users.insert(Self.user(-1, note: #"{"text":"\#(long)"}"#), at: 2000)
    // Its text has an escape in each word.
    users.append(
      Self.user(-2, note: #"{"text":"\#(String(repeating: #"\n\u0041 "#, count: 30_000))"}"#))
    let response = Self.response(users)
    let operation = try prepare(Self.document)
    var results: [String?] = []
    var statistics: [ResponseStatistics] = []
    var dumps: [String] = []
    for isTaped in [false, true] {
      try await kind.withStore { store in
        let written = try await normalize(
          response.utf8, operation, into: store,
          arrival: Arrival(pieces: [piece], flushThreshold: 100_000, isTaped: isTaped))
        results.append(written.data)
        statistics.append(written.response.statistics)
        dumps.append(try await dump(store))
        #expect(written.changes.count > 6000 * 5)
      }
    }
    #expect(results[0] == results[1] && results[0]?.utf8.count ?? 0 > 800_000)
    #expect(statistics[0] == statistics[1])
    #expect(dumps[0] == dumps[1])
  }

  @Test(
    "an error has the same text and offset, wherever it is",
    arguments: [
      #"{"__typename":"User","id":"1","name":"a","name":"b"}"#, #"{"__typename":1}"#, "17",
      #"{"__typename":"User","note":[{"text":1},2]}"#, #"{"__typename":"User","note":"n\u00e9"}"#,
      #"{"__typename":"User","note":tru}"#, #"{"__typename":"User","tags":[}"#, "\"\u{1}\"",
      #"{"__typename":"User","name":"\ud800"}"#, "{", "",
    ], [0, 1, 1400, 4000])
  func errors(wrong: String, before: Int) async throws {
    let text = Self.response((0..<before).map { Self.user($0) } + [wrong, Self.user(-1)])
    // An empty object ends the text too early.
    let response = wrong.isEmpty ? String(text.dropLast(3)) : text
    let operation = try prepare(Self.document)
    for piece in [Int.max, 50_000, 61] {
      var errors: [CacheError] = []
      for isTaped in [false, true] {
        try await StoreKind.memory.withStore { store in
          errors.append(
            try await #require(throws: CacheError.self) {
              try await normalize(
                response.utf8, operation, into: store,
                arrival: Arrival(pieces: [piece], isTaped: isTaped))
            })
          #expect(try await dump(store).isEmpty)
        }
      }
      #expect(errors[0].shown == errors[1].shown)
      #expect(errors[0].byteOffset != nil || errors[0].code == .truncatedResponse)
    }
  }

  @Test("after an error, the same error is thrown again", arguments: [#"{"__typename":1}"#, "nul"])
  func again(wrong: String) async throws {
    var options = ResponseNormalizer.Options()
    options.minTapeBytes = 0
    options.forcesTape = true
    let store = CacheStore.memory()
    let normalizer = try ResponseNormalizer(
      try prepare(Self.document), store: store, options: options)
    // Text without `]}}`, which is longer than what the parser collects.
    let text = Self.response(
      (0..<100).map { Self.user($0) } + [wrong + String(repeating: " ", count: 5000)])
    var errors: [CacheError] = []
    do throws(CacheError) { try normalizer.feed(text) } catch { errors.append(error) }
    do throws(CacheError) { try normalizer.feed("}") } catch { errors.append(error) }
    // The other thread may find its error later.
    let count = errors.count
    for _ in 0..<2 {
      do throws(CacheError) { _ = try await normalizer.finish() } catch { errors.append(error) }
    }
    #expect(errors.count == count + 2 && Set(errors.map(\.shown)).count == 1)
    #expect(try await dump(store).isEmpty)
  }

  @Test(
    "a normalizer that is released before the end of its response writes nothing",
    arguments: StoreKind.allCases)
  func released(kind: StoreKind) async throws {
    let text = Self.response((0..<9000).map { Self.user($0) })
    try await kind.withStore { store in
      for count in [1, 100_000, 900_000] {
        var options = ResponseNormalizer.Options()
        options.minTapeBytes = 0
        options.forcesTape = true
        options.flushThreshold = 50_000
        let normalizer = try ResponseNormalizer(
          try prepare(Self.document), store: store, options: options)
        try normalizer.feed(String(text.prefix(count)))
        if normalizer.needsFlush { try await normalizer.flush() }
        try normalizer.feed(String(text.dropFirst(count).prefix(100_000)))
      }
      #expect(try await dump(store).isEmpty)
      try await normalize(Self.response([Self.user(1)]).utf8, prepare(Self.document), into: store)
    }
  }
}

extension ResponseNormalizer {
  fileprivate func feed(_ text: String) throws(CacheError) {
    let bytes = Array(text.utf8)
    let result = bytes.withUnsafeBytes { bytes in
      Result { () throws(CacheError) in try feed(bytes) }
    }
    try result.get()
  }
}

extension CacheError {
  fileprivate var shown: [String?] { ["\(code)", message, path, byteOffset.map { "\($0)" }] }
}
