import Testing

@testable import GQLRunCache

/// What is pending after each part of a response.
@Suite("Pending fragments")
struct PendingFragmentsTests {
  private static func fragment(_ name: String) -> PendingFragment {
    PendingFragment(path: [.field(name)])
  }

  @Test("a result lists what was pending at its part, whatever follows")
  func results() {
    let log = PendingLog()
    #expect(log.isEmpty)
    for name in ["a", "b"] { #expect(log.add(name, Self.fragment(name))) }
    #expect(!log.add("b", Self.fragment("other")), "the id is pending")
    let first = log.result()
    log.end("a")
    #expect(log.add("c", Self.fragment("c")))
    let second = log.result()
    #expect(log.add("a", Self.fragment("again")))
    log.end("b")
    #expect(first.all == ["a", "b"].map(Self.fragment))
    #expect(second.all == ["b", "c"].map(Self.fragment))
    #expect(log.fragments == ["c", "again"].map(Self.fragment))
    #expect(log["a"] == Self.fragment("again") && log["b"] == nil)
  }

  @Test("entries that have ended are forgotten, except by the results that list them")
  func compacting() {
    var log = PendingLog()
    let original = log
    #expect(log.add("stays", Self.fragment("stays")))
    let early = log.result()
    for number in 0..<2_000 {
      #expect(log.add("\(number)", Self.fragment("\(number)")))
      log.end("\(number)")
      log = log.compacted()
    }
    #expect(log !== original)
    #expect(log.fragments == [Self.fragment("stays")])
    #expect(log.result().all == [Self.fragment("stays")] && early.all == [Self.fragment("stays")])
  }
}
