import Testing

@testable import GQLRunCache

@Suite("Record text")
struct RecordTextTests {
  private static func nested(_ depth: Int, opaque: Bool = false) -> [UInt8] {
    let space = opaque ? " " : ""
    let value = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    return Array((space + value).utf8)
  }

  @Test("a value that is nested deeper than any response is damage")
  func depth() {
    for (depth, isValid) in [(1, true), (1024, true), (1025, false), (100_000, false)] {
      let text = Self.nested(depth)
      #expect(text.withBytes { RecordText.endOfValue($0, from: 0) } == (isValid ? text.count : nil))
    }
  }

  @Test("a custom scalar, which is not read, may have any depth")
  func opaque() {
    let text = Self.nested(100_000, opaque: true)
    #expect(text.withBytes { RecordText.endOfValue($0, from: 0) } == text.count)
  }
}
