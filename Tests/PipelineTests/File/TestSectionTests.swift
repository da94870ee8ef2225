import GQLRunJSON
import Testing

@testable import GQLRunPipeline

@Suite("The tests of a pipeline file")
struct TestSectionTests {
  private static func file(_ tests: String) -> String {
    """
    version: 1
    endpoint: { url: "https://api.example.com/graphql" }
    store: { kind: memory }
    chain: [fetch, parse]
    tests:
    \(tests)
    """
  }

  @Test("are read with everything they say")
  func reading() throws {
    let pipeline = try load(
      Self.file(
        """
          - name: everything
            document: "{ a }"
            variables: { n: 1, s: "1", l: [true, null, no] }
            policy: networkOnly
            context: { tenant: acme }
            concurrent: 3
            rounds: 2
            upstream:
              - when: { bearer: old, operation: [A], header: { X: "*" }, attempt: 2, method: GET }
                times: 4
                status: 401
                headers: { Retry-After: "3" }
                body: plain text
                delay: 2s
              - body: { data: { a: 1.50 } }
              - fail: closed
            expect:
              succeeded: 6
              source: server
              data: { a: 1.50 }
              stages: { fetch: 6 }
              within: 5s
        """))
    let test = try #require(pipeline.tests.first)
    #expect(test.name == "everything" && test.concurrent == 3 && test.rounds == 2)
    #expect(
      test.variables?.objectValue?.map { $0.value.jsonText() } == [
        "1", #""1""#, #"[true,null,"no"]"#,
      ])
    #expect(test.policy == .networkOnly && test.context == ["tenant": "acme"])
    #expect(test.upstream.map(\.status) == [401, 200, 200])
    #expect(
      test.upstream.map { String(decoding: $0.bytes, as: UTF8.self) }
        == ["plain text", #"{"data":{"a":1.50}}"#, ""])
    #expect(test.upstream[0].delay == .seconds(2) && test.upstream[0].times == 4)
    #expect(test.upstream[0].when?.bearer == "old" && test.upstream[2].fail == .closed)
    #expect(test.expect.succeeded == 6 && test.expect.failed == nil)
    #expect(test.expect.source == .server && test.expect.within == .seconds(5))
    #expect(test.expect.data?.jsonText() == #"{"a":1.50}"#)
    #expect(test.expect.calls.map { "\($0.entry) \($0.count)" } == ["fetch 6"])
  }

  @Test(
    "are checked like everything else",
    arguments: [
      "  - name: x\n    upstream: []\n    expect: { stages: { fecth: 1 } }":
        "P031 8:25: a test names the entry `fecth`, which the chain does not have → did you mean `fetch`?",
      "  - name: x\n    upstream: [{ stauts: 200 }]\n    expect: { requests: 0 }":
        "P001 7:18: an element of `upstream` of the test `x` has no key `stauts` → did you mean `status`?",
      "  - name: x\n    upstream: [{ events: [], body: a }]\n    expect: { requests: 0 }":
        "P003 7:26: `events` of `upstream`: an answer with `events` has no `body` → write another answer for it, or `end: lost`",
      "  - name: x\n    upstream: [{ end: lost }]\n    expect: { requests: 0 }":
        "P003 7:23: `end` of `upstream`: `end` is the end of `events` → add `events`, or remove it",
      "  - name: x\n    document: '{ a }'\n    document_file: a.graphql\n    upstream: []\n    expect: { requests: 0 }":
        "P003 8:20: `document_file` of the test `x`: `document` is given, too → remove one of them",
      "  - name: x\n    upstream: []\n    expect: {}":
        "P003 8:13: `expect` of the test `x`: a test that expects nothing always passes → add what must hold, such as `succeeded: 1`",
      "  - name: x\n    upstream: []\n    expect: { stages: {} }":
        "P003 8:23: `stages` of `expect`: no entry is named → name one, such as `fetch: 1`",
      "  - upstream: []\n    expect: { requests: 0 }":
        "P003 6:5: an element of `tests` requires the key `name` → add `name`: text",
      "  - name: x\n    upstream: [{ delay: 5 }]\n    expect: { requests: 0 }":
        "P003 7:25: `delay` of an element of `upstream` of the test `x` takes a duration from 0s to 24h → the unit is missing: write `5s` or `5ms`",
    ] as [String: String])
  func checks(tests: String, expected: String) {
    let found = check(Self.file(tests)).all.map {
      "\($0.code.rawValue) \($0.location.line):\($0.location.column): \($0.message) → \($0.hint ?? "")"
    }
    #expect(found == [expected])
  }

  @Test("without expectations have one error")
  func withoutExpectations() {
    let messages = check(Self.file("  - name: x\n    upstream: []")).all.map(\.message)
    #expect(messages.map { $0.hasSuffix("requires the key `expect`") } == [true], "\(messages)")
  }

  @Test("have answers with at most a thousand header fields")
  func manyFields() {
    for (count, found) in [(1_000, []), (1_001, [true])] as [(Int, [Bool])] {
      let headers = (0..<count).map { "X-\($0): a" }.joined(separator: ", ")
      let tests =
        "  - name: x\n    upstream: [{ headers: { \(headers) } }]\n    expect: { requests: 0 }"
      let messages = check(Self.file(tests)).all.map(\.message)
      #expect(messages.map { $0.hasSuffix("at most 1000 header fields") } == found, "\(messages)")
    }
  }
}
