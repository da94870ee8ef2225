import NIOCore
import Testing

@testable import GQLRunPlugins

/// Results of an operation over WebSocket that wait to be read.
@Suite struct SocketResultsTests {
  private func chunks(_ results: inout SocketResults) -> [String] {
    var chunks: [String] = []
    while let chunk = results.popFirst() { chunks.append(String(buffer: chunk)) }
    return chunks
  }

  @Test func `small results are one chunk, each with its separator`() {
    var results = SocketResults()
    for text in ["{}", "[1]", "{}"] {
      let bytes = results.append(ByteBuffer(string: text))
      #expect(bytes == text.utf8.count + 1)
    }
    #expect(results.count == 3)
    #expect(results.readableBytes == 10)
    let joined = chunks(&results)
    #expect(joined == ["{}\u{1E}[1]\u{1E}{}\u{1E}"])
    #expect(results.isEmpty)
    #expect(results.readableBytes == 0)
    _ = results.append(ByteBuffer(string: "{}"))
    let next = chunks(&results)
    #expect(next == ["{}\u{1E}"])
  }

  @Test func `a large result is passed on as it is, and counts until its separator is read`() {
    let large = ByteBuffer(string: String(repeating: "x", count: 5_000))
    var results = SocketResults()
    for result in [ByteBuffer(string: "1"), large, ByteBuffer(string: "2")] {
      _ = results.append(result)
    }
    let first = results.popFirst()
    let second = results.popFirst()
    #expect(first == ByteBuffer(string: "1\u{1E}"))
    #expect(second == large)
    #expect(results.count == 2)
    #expect(results.readableBytes == 3)
    let rest = chunks(&results)
    #expect(rest == ["\u{1E}2\u{1E}"])
    #expect(results.isEmpty)
  }

  @Test func `many results are chunks of a bounded size, in their order`() {
    var results = SocketResults()
    let texts = (0..<1_000).map { "\($0)" + String(repeating: "x", count: 100) }
    for text in texts { _ = results.append(ByteBuffer(string: text)) }
    let found = chunks(&results)
    #expect(found.allSatisfy { $0.utf8.count <= 16 << 10 })
    #expect(found.count < 10)
    #expect(found.joined() == texts.map { $0 + "\u{1E}" }.joined())
    #expect(results.isEmpty)
  }
}
