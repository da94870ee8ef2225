import GQLRunJSON
import Testing

@testable import GQLRunCache

/// Lists of many segments that grow part by part.
@Suite("Growing lists")
struct GrowingListTests {
  private static let document = "query Feed($n: Int) { feed(n: $n) @stream { t } }"

  private static func element(_ index: Int) -> String {
    #"{"t":"\#(index) \#(String(repeating: "x", count: 60))"}"#
  }

  private static func list(_ range: Range<Int>) -> String {
    "[" + range.map(element).joined(separator: ",") + "]"
  }

  /// The messages of a stream of `count` elements, with `sizes` elements each in turn.
  private static func messages(_ count: Int, first: Int, sizes: [Int]) -> [String] {
    var messages = [#"{"data":{"feed":\#(list(0..<first))},"hasNext":true}"#]
    var position = first
    while position < count {
      let end = min(count, position + sizes[messages.count % sizes.count])
      messages.append(
        #"{"incremental":[{"path":["feed",\#(position)],"items":\#(list(position..<end))}],"#
          + #""hasNext":\#(end < count)}"#)
      position = end
    }
    return messages
  }

  @Test(
    "a stream of any parts leaves the list of the whole response, and few segments",
    arguments: StoreKind.allCases, [1, 40])
  func whole(kind: StoreKind, together: Int) async throws {
    for (count, first, sizes) in [
      (4_000, 1, [7]), (6_000, 0, [1, 300, 20]), (9_000, 2_000, [1_500, 3, 3]),
    ] {
      try await kind.withStore { store in
        let operation = try prepare(Self.document, variables: #"{"n":1}"#)
        _ = try await receive(
          Self.messages(count, first: first, sizes: sizes), operation, into: store,
          together: together)
        let cache = CacheUnderTest(store: store)
        #expect(
          try await cache.read(operation) == #"{"feed":\#(Self.list(0..<count))}"#)
        // 80 bytes an element. The first part, and parts that are longer than a segment, are not joined with others.
        let segments = try await store.statistics().segments
        let whole = sizes.contains { $0 * 80 > Segments.size } ? count : first
        #expect(
          segments <= whole * 80 / Segments.size * 2 + count * 80 / ListGrowth.maxSize * 2
            + ListGrowth.maxShortSegments)
      }
    }
  }

  @Test(
    "a list keeps its segments while another one with the same elements grows",
    arguments: StoreKind.allCases)
  func shared(kind: StoreKind) async throws {
    try await kind.withStore { store in
      let other = try prepare("query Feed($n: Int) { feed(n: $n) { t } }", variables: #"{"n":2}"#)
      let cache = CacheUnderTest(store: store)
      for count in [1_000, 1_500, 2_000] {
        let whole = #"{"feed":\#(Self.list(0..<count))}"#
        try await normalize(#"{"data":\#(whole)}"#.utf8, other, into: store)
        _ = try await receive(
          Self.messages(2_500, first: 1_000, sizes: [500]),
          prepare(Self.document, variables: #"{"n":1}"#), into: store)
        #expect(try await cache.read(other) == whole)
      }
    }
  }

  @Test("a part writes as much as its own elements, however long the list is")
  func cost() throws {
    let steps = [RecordStep.field(Array("\"feed\"".utf8))]
    let part = Array("[\"\(String(repeating: "x", count: 4000))\"]".utf8)
    var written: [Int] = []
    for count in [512, 1024, 2048] {
      let segments = CountedSegments()
      var list = Array("[]".utf8)
      for index in 0..<count {
        let growth = ListGrowth(owner: Array("QUERY".utf8), steps: steps, access: segments)
        list = try #require(growth.appended(part, to: list, count: index))
        segments.written += list.count
      }
      #expect(ListReader(list, access: segments)?.count == count)
      written.append(segments.written)
    }
    // Each element is written again when the segment that has it is absorbed: 6 times until that has 256 KiB.
    #expect(written[2] < 8 * 2048 * part.count)
    #expect(Double(written[2] - written[1]) < 2.1 * Double(written[1] - written[0]))
  }

  @Test("a damaged list of segments does not grow")
  func damaged() {
    let growth = ListGrowth(
      owner: Array("QUERY".utf8), steps: [.field(Array("\"feed\"".utf8))], access: CountedSegments()
    )
    for (names, count) in [("5", 0), ("[]", 0), (#"["0123456789abcdef"]"#, Int.max)] {
      let list = Array(#"{"$segments":\#(names),"count":\#(count)}"#.utf8)
      #expect(growth.appended(Array(#"[{"a":1}]"#.utf8), to: list, count: count) == nil)
    }
  }
}

/// Segments in memory, and the number of bytes that were written.
private final class CountedSegments: SegmentAccess {
  let segmentSeed: UInt64 = 1
  var written = 0
  private var texts: [[UInt8]: [UInt8]] = [:]

  func text(of key: [UInt8]) -> [UInt8]? { texts[key] }

  func storeSegment(_ key: Bytes, _ text: Bytes) -> Bool {
    texts[key.array] = text.array
    written += text.count
    return true
  }

  func removeSegment(_ key: [UInt8]) { texts[key] = nil }
}
