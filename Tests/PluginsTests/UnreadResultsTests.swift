import NIOCore
import Testing

@testable import GQLRunPlugins

/// Results of an operation on a shared connection that wait to be read.
@Suite struct UnreadResultsTests {
  private func texts(_ results: inout UnreadResults) -> [String] {
    var texts: [String] = []
    while let result = results.popFirst() { texts.append(String(buffer: result)) }
    return texts
  }

  @Test func `small results are read one by one, and counted without anything between them`() {
    var results = UnreadResults()
    for text in ["{}", "[1]", "{}"] { results.append(ByteBuffer(string: text)) }
    #expect(results.count == 3)
    #expect(results.readableBytes == 7)
    let first = results.popFirst()
    #expect(first == ByteBuffer(string: "{}"))
    #expect(results.count == 2)
    #expect(results.readableBytes == 5)
    let rest = texts(&results)
    #expect(rest == ["[1]", "{}"])
    #expect(results.isEmpty)
    #expect(results.readableBytes == 0)
    results.append(ByteBuffer(string: "{}"))
    let next = texts(&results)
    #expect(next == ["{}"])
  }

  @Test func `small results are in one buffer, and a large one is not copied`() throws {
    let large = ByteBuffer(string: String(repeating: "x", count: 5_000))
    var results = UnreadResults()
    for result in [ByteBuffer(string: "1"), ByteBuffer(string: "2"), large] {
      results.append(result)
    }
    results.append(ArraySlice([UInt8](repeating: 0x33, count: 5_000)))
    var read: [ByteBuffer] = []
    while let result = results.popFirst() { read.append(result) }
    try #require(read.count == 4)
    #expect(read[0] == ByteBuffer(string: "1"))
    #expect(read[1] == ByteBuffer(string: "2"))
    #expect(address(read[0]) + 1 == address(read[1]))
    #expect(read[2] == large)
    #expect(address(read[2]) == address(large))
    #expect(String(buffer: read[3]) == String(repeating: "3", count: 5_000))
    #expect(results.isEmpty)
  }

  private func address(_ buffer: ByteBuffer) -> UInt {
    buffer.withUnsafeReadableBytes { UInt(bitPattern: $0.baseAddress) }
  }

  @Test func `a result that was read does not change when others arrive`() {
    var results = UnreadResults()
    results.append(ByteBuffer(string: "{1}"))
    results.append(ByteBuffer(string: "{2}"))
    let first = results.popFirst()
    results.append(ByteBuffer(string: "{3}"))
    let rest = texts(&results)
    #expect(first == ByteBuffer(string: "{1}"))
    #expect(rest == ["{2}", "{3}"])
  }

  @Test func `nothing is no result`() {
    var results = UnreadResults()
    results.append(ByteBuffer())
    let result = results.popFirst()
    #expect(result == nil)
    #expect(results.isEmpty)
  }

  @Test func `many results keep their order, read at once or while others arrive`() {
    let texts = (0..<1_000).map {
      "\($0)" + String(repeating: "x", count: $0 % 7 == 0 ? 4_200 : 100)
    }
    var results = UnreadResults()
    for text in texts { results.append(ByteBuffer(string: text)) }
    let found = self.texts(&results)
    #expect(found == texts)
    #expect(results.isEmpty)
    var read: [String] = []
    for (index, text) in texts.enumerated() {
      results.append(ByteBuffer(string: text))
      // Less is read than arrives, up to the middle.
      for _ in 0..<(index < 500 ? index % 2 : 2) {
        if let result = results.popFirst() { read.append(String(buffer: result)) }
      }
    }
    read += self.texts(&results)
    #expect(read == texts)
    #expect(results.readableBytes == 0)
  }
}
