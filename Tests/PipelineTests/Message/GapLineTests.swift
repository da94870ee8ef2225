import GQLRunJSON
import GQLRunPipeline
import Testing

/// Gaps of subscriptions as lines of NDJSON.
@Suite struct GapLineTests {
  @Test func `a gap is a line with its time, its cause and what else is known`() {
    var gap = SubscriptionGap(since: 784_111_777, dropped: 3)
    gap.catchUp = .succeeded
    let line = gap.gapLine(cause: "a \"b\"\n", until: 784_111_778, others: ["op": "live"])
    #expect(
      String(decoding: line, as: UTF8.self)
        == #"{"gap":{"op":"live","since":"1994-11-06T08:49:37Z","until":"1994-11-06T08:49:38Z","#
        + #""lostConnection":true,"cause":"a \"b\"\n","dropped":3,"catchUp":"succeeded"}}"#)
  }

  @Test func `what is not known is left out`() {
    let line = SubscriptionGap(since: 0, lostConnection: false).gapLine()
    #expect(
      String(decoding: line, as: UTF8.self)
        == #"{"gap":{"since":"1970-01-01T00:00:00Z","lostConnection":false}}"#)
  }
}
