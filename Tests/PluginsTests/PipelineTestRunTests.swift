import GQLRunPipeline
import GQLRunPlugins
import Testing

/// The tests of pipeline files, run with the real plugins.
@Suite(.timeLimit(.minutes(10))) struct PipelineTestRunTests {
  private func failures(
    _ test: String, chain: String = Self.chain, store: String = "{ kind: memory }"
  ) async throws -> [String] {
    let pipeline = try Bench.load(
      """
      version: 1
      endpoint: { url: "http://localhost/graphql" }
      store: \(store)
      chain:
      \(chain)
      tests:
        - name: test
      \(test.split(separator: "\n").map { "    \($0)" }.joined(separator: "\n"))
      """)
    let test = try #require(pipeline.tests.first)
    let equipment = PipelineTest.Equipment { test, services in
      services[TokenScript.self] = TokenScript(test.tokens)
    }
    return await test.run(pipeline, equipment: equipment).failures.map {
      "\($0.location.line): \($0.message)"
    }
  }

  private static let chain = """
      - timeout: { total: 1m }
      - max-retry: { backoff: { base: 1s, jitter: none } }
      - cache-read
      - fetch: { timeout: 10s }
      - response-code
      - parse
      - cache-write
    """

  /// Tests that are met, by what they show.
  static let met: [String: String] = [
    "an answer is asked for with the fields it has": """
    upstream:
      - body: { data: { user: { __typename: User, id: "1", tags: [{ name: a }] } } }
    expect:
      succeeded: 1
      failed: 0
      requests: 1
      attempts: 1
      source: server
      data: { user: { __typename: User, id: "1", tags: [{ name: a }] } }
      stages: { fetch: 1, cache-read: 1, cache-write: 1 }
    """,
    "a time limit of the operation does not end a subscription that was connected": """
    upstream:
      - { times: 1, events: [{ data: { n: 1 } }], end: lost }
      - { times: 7, fail: refused }
      - events: [{ data: { n: 2 } }]
    expect: { succeeded: 1, events: 2, gaps: 1, requests: 9, within: 3m }
    """,
    "retries wait on a clock of their own": """
    upstream:
      - { when: { attempt: 1 }, status: 503 }
      - { when: { attempt: 2 }, fail: refused }
      - { delay: 2s, body: { data: { ok: true } } }
    expect: { succeeded: 1, requests: 3, attempts: 3, within: 5s, stages: { max-retry: 3 } }
    """,
    "later rounds are answered from the cache, an empty one at first": """
    rounds: 3
    upstream: [{ times: 1, body: { data: { ok: true } } }]
    expect: { succeeded: 3, requests: 1, source: cache, stages: { fetch: 1, cache-read: 3 } }
    """,
    "many operations run at a time": """
    concurrent: 200
    policy: network-only
    upstream: [{ delay: 3s, body: { data: { ok: true } } }]
    expect: { succeeded: 200, requests: 200, within: 3s }
    """,
    "an error in a result is a failure": """
    upstream: [{ body: { data: null, errors: [{ message: no, extensions: { code: FORBIDDEN } }] } }]
    expect: { failed: 1, requests: 1, error: FORBIDDEN }
    """,
    "a body that breaks off is a failure": """
    upstream: [{ fail: dropped, body: { data: { ok: true } } }]
    expect: { failed: 1, requests: 4, error: truncated_response }
    """,
    "other text is a failure": """
    upstream: [{ status: 502, headers: { Content-Type: text/html }, body: "<h1>Bad</h1>" }]
    expect: { failed: 1, requests: 4, error: http_status }
    """,
  ]

  @Test(arguments: met) func `a test is met`(_ name: String, _ test: String) async throws {
    #expect(try await failures(test) == [], "\(name)")
  }

  @Test func `scripted connections send events, are lost, and end`() async throws {
    #expect(
      try await failures(
        """
        upstream:
          - times: 1
            events:
              - { data: { post: { __typename: Post, id: "1", likes: 1 } } }
              - { delay: 1m, data: { post: { __typename: Post, id: "1", likes: 2 } } }
            end: lost
          - events: [{ delay: 30m, data: { post: { __typename: Post, id: "1", likes: 3 } } }]
        expect:
          succeeded: 1
          requests: 2
          events: 3
          gaps: 1
          delivered:
            - { post: { __typename: Post, id: "1", likes: 1 } }
            - { post: { __typename: Post, id: "1", likes: 2 } }
            - { post: { __typename: Post, id: "1", likes: 3 } }
          data: { post: { __typename: Post, id: "1", likes: 3 } }
          stages: { fetch: 2, cache-write: 3 }
          within: 32m
        """, chain: Self.chain.replacing("timeout: 10s", with: "event_timeout: 1h")) == [])
  }

  @Test func `a silent connection ends with event_timeout, and a test may end a subscription`()
    async throws
  {
    #expect(
      try await failures(
        """
        first: 2
        upstream:
          - events: [{ data: { n: 1 } }]
            end: silent
        expect: { succeeded: 1, events: 2, gaps: 1, requests: 2, within: 62s }
        """, chain: Self.chain.replacing("timeout: 10s", with: "event_timeout: 1m")) == [])
    // The time to connect starts again, also if there was no event.
    #expect(
      try await failures(
        """
        upstream:
          - { times: 1, events: [], end: silent }
          - events: [{ data: { n: 1 } }]
        expect: { succeeded: 1, events: 1, gaps: 1, requests: 2 }
        """,
        chain: Self.chain.replacing("timeout: 10s", with: "event_timeout: 20s")
          .replacing("total: 1m", with: "total: 15s")) == [])
    #expect(
      try await failures(
        """
        upstream:
          - times: 1
            events: [{ data: { n: 1 } }, { errors: [{ message: no, extensions: { code: NO } }] }]
          - events: []
        expect: { failed: 1, error: NO, message: "no", events: 2, gaps: 0 }
        """) == [])
  }

  /// The table of the reference client.
  ///
  /// https://github.com/enisdenjo/graphql-ws/blob/master/src/client.ts
  @Test(arguments: [
    (1000, true), (1001, true), (1002, false), (1006, true), (1011, false), (1012, true),
    (4005, false), (4400, false), (4401, false), (4403, true), (4406, false), (4408, true),
    (4409, false), (4429, false), (4499, true), (4500, false), (4999, true),
  ]) func `a close with a code is retried, or ends the subscription`(
    _ code: Int, _ isRetried: Bool
  ) async throws {
    for events in ["[]", "[{ data: { n: 1 } }]"] {
      let count = events == "[]" ? 0 : 1
      let expected =
        isRetried
        ? "{ succeeded: 1, requests: 2, events: \(count + 1), gaps: \(count), within: 2s }"
        : "{ failed: 1, requests: 1, events: \(count), gaps: 0, message: \"with \(code)\" }"
      #expect(
        try await failures(
          """
          upstream:
            - { times: 1, events: \(events), close: \(code) }
            - events: [{ data: { n: 2 } }]
          expect: \(expected)
          """) == [], "\(code), \(events)")
    }
  }

  @Test func `a close that rejects the credentials is an error, or gets a new token`() async throws
  {
    #expect(
      try await failures(
        """
        upstream: [{ events: [], close: 4403 }]
        expect: { failed: 1, requests: 4, error: connection_rejected, message: "with 4403" }
        """) == [])
    #expect(
      try await failures(
        """
        upstream:
          - { when: { bearer: old }, events: [{ data: { n: 1 } }], close: 4401 }
          - { when: { bearer: new }, events: [{ data: { n: 2 } }] }
        expect: { succeeded: 1, requests: 2, events: 2, gaps: 1 }
        """, chain: Self.chain.replacing("- fetch", with: "- token-refresh: { env: T }\n  - fetch"))
        == [])
  }

  @Test func `a wrong expectation about events says what came`() async throws {
    let found = try await failures(
      """
      upstream: [{ events: [{ data: { n: 1 } }, { data: { n: 2 } }] }]
      expect: { events: 3, gaps: 1, dropped: 1, delivered: [{ n: 1 }] }
      """)
    #expect(found.count == 4)
    for text in [
      "events: expected 3, found 2", "gaps: expected 1, found 0", "dropped: expected 1, found 0",
      #"delivered: expected [{"n":1}], found [{"n":1},{"n":2}]"#,
    ] {
      #expect(found.contains { $0.contains(text) }, "\(found)")
    }
  }

  @Test func `a subscription that has more events than expected is ended`() async throws {
    let found = try await failures(
      """
      upstream: [{ events: [{ data: { n: 1 } }], end: lost }]
      expect: { events: 2 }
      """)
    #expect(found == ["15: events: expected 2, found 3"])
  }

  @Test func `the first limit that is exceeded ends the test`() async throws {
    #expect(
      try await failures(
        """
        upstream: [{ delay: 11s, body: { data: { ok: true } } }]
        expect: { failed: 1, requests: 4, error: timed_out, message: within 10s }
        """) == [])
    #expect(
      try await failures(
        """
        upstream: [{ delay: 9s, status: 503 }]
        expect: { failed: 1, requests: 4, error: http_status, within: 43s }
        """) == [])
    #expect(
      try await failures(
        """
        upstream: [{ delay: 9s, body: { data: { ok: true } } }]
        expect: { failed: 1, requests: 1, error: timed_out, message: longer than 5s, within: 5s }
        """,
        chain: Self.chain.replacing("1m", with: "5s")) == [])
  }

  @Test func `an unmet expectation is reported with its line`() async throws {
    #expect(
      try await failures(
        """
        upstream: [{ when: { bearer: new }, body: { data: { ok: true } } }]
        expect:
          succeeded: 1
          refreshes: 1
          data: { ok: true }
        """) == [
          "16: succeeded: expected 1, found 0 (the first failure: no answer of `upstream` matches POST of Test, attempt 1)",
          "17: refreshes: expected 1, and no plugin of the chain fetches a token",
          "18: data: expected {\"ok\":true}, and there is no result (the first failure: no answer of `upstream` matches POST of Test, attempt 1)",
          "13: no answer of `upstream` matches request 1: POST of Test, attempt 1",
        ])
    #expect(
      try await failures(
        """
        upstream: [{ body: { data: { ok: true } } }]
        expect: { source: cache, data: { ok: false }, error: x, attempts: 2, stages: { fetch: 2 } }
        """)
        == [
          "15: attempts: expected 2, found 1",
          "15: source: expected cache, found server",
          "15: data: expected {\"ok\":false}, found {\"ok\":true}",
          "15: error: expected x, and nothing failed",
          "15: passes of fetch: expected 2, found 1",
        ])
  }

  @Test func `without a store nothing is kept`() async throws {
    #expect(
      try await failures(
        """
        rounds: 2
        upstream: [{ body: { data: { ok: true } } }]
        expect: { requests: 2, source: server }
        """, chain: "  - fetch\n  - parse", store: "{ kind: none }") == [])
  }
}
