import GQLRunLive
import Testing

/// The limit of what a server sends without content.
@Suite struct EmptyTrafficTests {
  @Test func `signs of life are no flood, however long there is nothing else`() throws {
    var traffic = EmptyTraffic()
    for second in 0..<100_000 { try traffic.add(1_000, at: .seconds(second)) }
  }

  @Test(arguments: [(1, EmptyTraffic.maxPieces), (1 << 10, EmptyTraffic.maxBytes >> 10)])
  func `a flood is an error after a number of bytes or pieces`(_ bytes: Int, _ count: Int) throws {
    var traffic = EmptyTraffic()
    for _ in 0..<count { try traffic.add(bytes, at: .zero) }
    let error = #expect(throws: StreamError.self) { try traffic.add(bytes, at: .zero) }
    #expect(error?.message.contains("it has no content") == true)
  }

  @Test func `content, and time, begin the counts again`() throws {
    var traffic = EmptyTraffic()
    for _ in 0..<3 {
      try traffic.add(EmptyTraffic.maxBytes, at: .zero)
      traffic.reset()
    }
    try traffic.add(EmptyTraffic.maxBytes, at: .zero)
    try traffic.add(EmptyTraffic.maxBytes, at: EmptyTraffic.window)
    #expect(throws: StreamError.self) { try traffic.add(1, at: EmptyTraffic.window) }
  }
}
