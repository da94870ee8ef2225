import GQLRunPipeline
import Testing

@Suite("Errors in pipeline files")
struct PipelineFileErrorsTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var name: String
    var yaml: String
    var expected: String

    init(_ name: String, _ yaml: String, _ expected: String) {
      self.name = name
      self.yaml = yaml
      self.expected = expected
    }

    var testDescription: String { name }
  }

  @Test("are shown as a compiler shows them", arguments: cases)
  func rendering(_ test: Case) {
    #expect(check(test.yaml).rendered(as: .human()) == test.expected)
  }

  static let cases = [
    Case(
      "an unknown option, with a suggestion",
      """
      version: 1
      name: ci
      endpoint: { url: "${env:GQL_URL}" }
      chain:
        - logging
        - max-retry: { max_retires: 1 }
        - fetch
        - parse
      """,
      """
      error[P001]: `max-retry` has no option `max_retires`
        --> dir/x.pipeline.yaml:6:18
         |
       6 |   - max-retry: { max_retires: 1 }
         |                  ^^^^^^^^^^^ did you mean `max_retries`?
         = options: max_retries, on, backoff, respect_retry_after, share, mutations

      """),
    Case(
      "everything in one line at once",
      file(
        chain: """
            - max-retry: { max_retries: 30, backoff: { bas: 1s, max: 30, jitter: ful } }
            - fetch: { timeout: 2d, http2: yes, max_body: 10mb }
            - parse
          """),
      """
      error[P003]: `max_retries` of `max-retry` takes an integer from 0 to 24
        --> dir/x.pipeline.yaml:6:31
         |
       6 |   - max-retry: { max_retries: 30, backoff: { bas: 1s, max: 30, jitter: ful } }
         |                               ^^ at most 24

      error[P001]: `backoff` of `max-retry` has no option `bas`
        --> dir/x.pipeline.yaml:6:46
         |
       6 |   - max-retry: { max_retries: 30, backoff: { bas: 1s, max: 30, jitter: ful } }
         |                                              ^^^ did you mean `base`?
         = options: base, factor, max, jitter

      error[P003]: `max` of `backoff` of `max-retry` takes a duration from 1ms to 1h
        --> dir/x.pipeline.yaml:6:60
         |
       6 |   - max-retry: { max_retries: 30, backoff: { bas: 1s, max: 30, jitter: ful } }
         |                                                            ^^ the unit is missing: write `30s` or `30ms`

      error[P003]: `jitter` of `backoff` of `max-retry` takes none, equal or full
        --> dir/x.pipeline.yaml:6:72
         |
       6 |   - max-retry: { max_retries: 30, backoff: { bas: 1s, max: 30, jitter: ful } }
         |                                                                        ^^^ did you mean `full`?

      error[P003]: `timeout` of `fetch` takes a duration from 1ms to 24h
        --> dir/x.pipeline.yaml:7:23
         |
       7 |   - fetch: { timeout: 2d, http2: yes, max_body: 10mb }
         |                       ^^ `d` is not a unit of time: ms, s, m and h

      error[P003]: `http2` of `fetch` takes true or false
        --> dir/x.pipeline.yaml:7:34
         |
       7 |   - fetch: { timeout: 2d, http2: yes, max_body: 10mb }
         |                                  ^^^ write `true`

      error[P003]: `max_body` of `fetch` takes a size such as 512KiB, 64MiB or 10MB
        --> dir/x.pipeline.yaml:7:49
         |
       7 |   - fetch: { timeout: 2d, http2: yes, max_body: 10mb }
         |                                                 ^^^^ write `10MB`

      """),
    Case(
      "an unknown plugin hides what only seems to be missing",
      file(chain: "  - fetch\n  - pars"),
      """
      error[P001]: unknown plugin `pars`
        --> dir/x.pipeline.yaml:7:5
         |
       7 |   - pars
         |     ^^^^ did you mean `parse`?
         = plugins: apq, cache-read, cache-write, fetch, headers, logging, max-retry, parse, picky, record-replay, response-code, token-refresh

      """),
    Case(
      "keys given twice, all of them",
      """
      version: 1
      "version": 1
      name: a
      name: b
      endpoint: { url: "http://x", url: "http://y" }
      chain:
        - fetch: { timeout: 1s, timeout: 2s, timeout: 3s }
        - parse
      name: c
      """,
      """
      error[P002]: `version` is repeated
        --> dir/x.pipeline.yaml:2:1
         |
       2 | "version": 1
         | ^^^^^^^^^ first used in line 1

      error[P002]: `name` is repeated
        --> dir/x.pipeline.yaml:4:1
         |
       4 | name: b
         | ^^^^ first used in line 3

      error[P002]: `url` is repeated
        --> dir/x.pipeline.yaml:5:30
         |
       5 | endpoint: { url: "http://x", url: "http://y" }
         |                              ^^^ first used in line 5

      error[P002]: `timeout` is repeated
        --> dir/x.pipeline.yaml:7:27
         |
       7 |   - fetch: { timeout: 1s, timeout: 2s, timeout: 3s }
         |                           ^^^^^^^ first used in line 7

      error[P002]: `timeout` is repeated
        --> dir/x.pipeline.yaml:7:40
         |
       7 |   - fetch: { timeout: 1s, timeout: 2s, timeout: 3s }
         |                                        ^^^^^^^ first used in line 7

      error[P002]: `name` is repeated
        --> dir/x.pipeline.yaml:9:1
         |
       9 | name: c
         | ^^^^ first used in line 3

      """),
    Case(
      "unknown keys of the file, its parts and its entries",
      """
      version: 1
      includes: ./other.pipeline.yaml
      plugins: []
      endpoint: { uri: x, url: "http://x" }
      store: { knid: memory }
      keys: { defaults: [id] }
      chain:
        - fetch:
          timeout: 30s
        - parse:
          when: { operations: [A], type: qury }
          wen: x
      """,
      """
      error[P001]: a pipeline file has no key `includes`
        --> dir/x.pipeline.yaml:2:1
         |
       2 | includes: ./other.pipeline.yaml
         | ^^^^^^^^
         = keys: version, name, extends, endpoint, subscriptions, schema, store, keys, fields, types, tests, chain

      error[P001]: a pipeline file has no key `plugins`
        --> dir/x.pipeline.yaml:3:1
         |
       3 | plugins: []
         | ^^^^^^^
         = keys: version, name, extends, endpoint, subscriptions, schema, store, keys, fields, types, tests, chain

      error[P001]: `endpoint` has no key `uri`
        --> dir/x.pipeline.yaml:4:13
         |
       4 | endpoint: { uri: x, url: "http://x" }
         |             ^^^ did you mean `url`?
         = keys: url, headers, method, subscriptions

      error[P001]: `store` has no key `knid`
        --> dir/x.pipeline.yaml:5:10
         |
       5 | store: { knid: memory }
         |          ^^^^ did you mean `kind`?
         = keys: kind, path, url, max_size, memory, required

      error[P001]: `keys` has no key `defaults`
        --> dir/x.pipeline.yaml:6:9
         |
       6 | keys: { defaults: [id] }
         |         ^^^^^^^^ did you mean `default`?
         = keys: default, types, groups

      error[P001]: `timeout` is next to `fetch` instead of in it
        --> dir/x.pipeline.yaml:9:5
         |
       9 |     timeout: 30s
         |     ^^^^^^^ indent it further, or write `fetch: { timeout: … }`

      error[P001]: `when` has no key `operations`
         --> dir/x.pipeline.yaml:11:13
          |
       11 |     when: { operations: [A], type: qury }
          |             ^^^^^^^^^^ did you mean `operation`?
          = keys: operation, type

      error[P003]: `type` of `when` takes query, mutation or subscription
         --> dir/x.pipeline.yaml:11:36
          |
       11 |     when: { operations: [A], type: qury }
          |                                    ^^^^ did you mean `query`?

      error[P001]: an entry of `chain` has no key `wen`
         --> dir/x.pipeline.yaml:12:5
          |
       12 |     wen: x
          |     ^^^ did you mean `when`?
          = keys: a plugin, id, when

      """),
    Case(
      "a newer version, and the chain misspelt",
      "version: 2\nchian: []\n",
      """
      error[P003]: `version`: this gqlrun reads version 1
        --> dir/x.pipeline.yaml:1:10
         |
       1 | version: 2
         |          ^ a newer gqlrun may read it

      error[P001]: a pipeline file has no key `chian`
        --> dir/x.pipeline.yaml:2:1
         |
       2 | chian: []
         | ^^^^^ did you mean `chain`?
         = keys: version, name, extends, endpoint, subscriptions, schema, store, keys, fields, types, tests, chain

      """),
    Case(
      "what is required",
      "endpoint: { headers: {} }\nchain:\n",
      """
      error[P003]: a pipeline file requires the key `version`
        --> dir/x.pipeline.yaml:1:1
         |
       1 | endpoint: { headers: {} }
         | ^^^^^^^^ add `version`: an integer

      error[P003]: `endpoint` requires the key `url`
        --> dir/x.pipeline.yaml:1:11
         |
       1 | endpoint: { headers: {} }
         |           ^^^^^^^^^^^^^^^ add `url`: text

      error[P003]: `chain` is a list of plugins
        --> dir/x.pipeline.yaml:2:1
         |
       2 | chain:
         | ^^^^^ write `- plugin` lines

      """),
    Case(
      "lists, mappings and scalars in each other's place",
      file(
        chain: """
            - max-retry: { on: transport, backoff: 3s, max_retries: [1] }
            - headers: [a]
            - fetch: 30s
            - parse: { }
            -
            - [parse]
            - { id: x }
            - { parse: {}, logging: {} }
          """, settings: "schema:"),
      """
      error[P003]: `schema` takes a path
        --> dir/x.pipeline.yaml:4:8
         |
       4 | schema:
         |        ^ write a value

      error[P003]: `on` of `max-retry` takes a list of text
        --> dir/x.pipeline.yaml:6:22
         |
       6 |   - max-retry: { on: transport, backoff: 3s, max_retries: [1] }
         |                      ^^^^^^^^^ write a list: `[transport]`

      error[P003]: `backoff` of `max-retry` takes options, not a scalar
        --> dir/x.pipeline.yaml:6:42
         |
       6 |   - max-retry: { on: transport, backoff: 3s, max_retries: [1] }
         |                                          ^^ write `{ base: … }`
         = options: base, factor, max, jitter

      error[P003]: `max_retries` of `max-retry` takes an integer from 0 to 24
        --> dir/x.pipeline.yaml:6:59
         |
       6 |   - max-retry: { on: transport, backoff: 3s, max_retries: [1] }
         |                                                           ^^^ this is a list

      error[P003]: `headers` takes options, not a list
        --> dir/x.pipeline.yaml:7:14
         |
       7 |   - headers: [a]
         |              ^^^ write `{ set: … }`
         = options: set, default, remove

      error[P003]: `fetch` takes options, not a scalar
        --> dir/x.pipeline.yaml:8:12
         |
       8 |   - fetch: 30s
         |            ^^^ write `{ timeout: … }`
         = options: timeout, max_body, http2, proxy, ca_file

      error[P003]: an entry of `chain` is `- plugin` or `- plugin: {options}`, not nothing
         --> dir/x.pipeline.yaml:10:4
          |
       10 |   -
          |    ^ name a plugin

      error[P003]: an entry of `chain` is `- plugin` or `- plugin: {options}`, not a list
         --> dir/x.pipeline.yaml:11:5
          |
       11 |   - [parse]
          |     ^^^^^^^ name a plugin

      error[P003]: this entry has no plugin
         --> dir/x.pipeline.yaml:12:5
          |
       12 |   - { id: x }
          |     ^^^^^^^^^ write `- plugin: {options}`

      error[P011]: a chain parses once, and `parse` (line 9) already does
         --> dir/x.pipeline.yaml:13:7
          |
       13 |   - { parse: {}, logging: {} }
          |       ^^^^^ remove one of them

      error[P003]: an entry of `chain` has one plugin
         --> dir/x.pipeline.yaml:13:18
          |
       13 |   - { parse: {}, logging: {} }
          |                  ^^^^^^^ begin a new entry: `- logging`

      """),
    Case(
      "URLs and fields that cannot be sent",
      """
      version: 1
      endpoint:
        url: ftp://x
        headers: { "a b": x, X-A: "a\\nb", content-length: x }
      store: { kind: sqlite }
      chain: [fetch, parse]
      """,
      """
      error[P003]: `url` of `endpoint` is not an http, https, ws or wss URL
        --> dir/x.pipeline.yaml:3:8
         |
       3 |   url: ftp://x
         |        ^^^^^^^ only the schemes http, https, ws and wss are supported

      error[P003]: `a b` is not the name of an HTTP field
        --> dir/x.pipeline.yaml:4:14
         |
       4 |   headers: { "a b": x, X-A: "a\\nb", content-length: x }
         |              ^^^^^ use letters, digits and `-`

      error[P003]: the value of `X-A` cannot be sent in an HTTP field
        --> dir/x.pipeline.yaml:4:29
         |
       4 |   headers: { "a b": x, X-A: "a\\nb", content-length: x }
         |                             ^^^^^^ line breaks and control characters are not allowed

      error[P003]: `content-length` follows from the body that is sent
        --> dir/x.pipeline.yaml:4:37
         |
       4 |   headers: { "a b": x, X-A: "a\\nb", content-length: x }
         |                                     ^^^^^^^^^^^^^^ leave it out

      error[P003]: a store of kind `sqlite` requires a `path`
        --> dir/x.pipeline.yaml:5:16
         |
       5 | store: { kind: sqlite }
         |                ^^^^^^ add `path: cache.db`

      """),
    Case(
      "a database without a URL",
      """
      version: 1
      endpoint: { url: "http://x" }
      store: { kind: postgres }
      chain: [fetch, parse]
      """,
      """
      error[P003]: a store of kind `postgres` requires a `url`
        --> dir/x.pipeline.yaml:3:16
         |
       3 | store: { kind: postgres }
         |                ^^^^^^^^ add `url: "postgresql://host/database"`, or `url: "postgresql://"` to use the PG* variables

      """),
    Case(
      "a file with the URL of a database",
      """
      version: 1
      endpoint: { url: "http://x" }
      store: { kind: sqlite, path: a.db, url: "postgresql://host/a" }
      chain: [fetch, parse]
      """,
      """
      error[P003]: a store of kind `sqlite` has no `url`
        --> dir/x.pipeline.yaml:3:41
         |
       3 | store: { kind: sqlite, path: a.db, url: "postgresql://host/a" }
         |                                         ^^^^^^^^^^^^^^^^^^^^^ write `kind: postgres`, or remove the url

      """),
    Case(
      "a memory tier of a store in memory",
      """
      version: 1
      endpoint: { url: "http://x" }
      store: { kind: memory, memory: 64MiB }
      chain: [fetch, parse]
      """,
      """
      error[P003]: a store of kind `memory` has no memory tier (`memory`)
        --> dir/x.pipeline.yaml:3:32
         |
       3 | store: { kind: memory, memory: 64MiB }
         |                                ^^^^^ write `max_size` to limit it, or `kind: sqlite` for a file with a memory tier

      """),
    Case(
      "a size of a store that evicts nothing",
      """
      version: 1
      endpoint: { url: "http://x" }
      store: { kind: sqlite, path: a.db, max_size: 64MiB }
      chain: [fetch, parse]
      """,
      """
      warning[P003]: a store of kind `sqlite` has no `max_size`: nothing is evicted
        --> dir/x.pipeline.yaml:3:46
         |
       3 | store: { kind: sqlite, path: a.db, max_size: 64MiB }
         |                                              ^^^^^ `memory` limits its memory tier, and `gqlrun cache trim` its file

      """),
  ]

  @Test("point at the option that a plugin refuses")
  func pluginRefusal() {
    let found = check(
      file(
        chain: """
            - picky: { range: { low: 2, high: 1 } }
            - picky: { range: { low: 2 } }
            - fetch
            - parse
          """))
    #expect(
      found.rendered(as: .human()) == """
        error[P003]: `picky`: `high` is below `low`
          --> dir/x.pipeline.yaml:6:37
           |
         6 |   - picky: { range: { low: 2, high: 1 } }
           |                                     ^ swap them

        error[P003]: `range` of `picky` requires the option `high`
          --> dir/x.pipeline.yaml:7:21
           |
         7 |   - picky: { range: { low: 2 } }
           |                     ^^^^^^^^^^ add `high`: an integer

        """)
  }

  @Test("are counted")
  func summary() {
    #expect(check("version: 2\nchian: []\n").summary == "2 errors")
    #expect(check(file(chain: "  - fetch\n  - parse")).summary == "")
    #expect(
      check(file(chain: "  - cache-read\n  - fetch\n  - parse\n  - parse")).summary
        == "1 error, 1 warning")
  }

  @Test("allow as many header fields as can be sent")
  func manyFields() {
    for (count, summary) in [(1_000, ""), (1_001, "1 error")] {
      let headers = (0..<count).map { "X-\($0): a" }.joined(separator: ", ")
      let yaml = """
        version: 1
        endpoint: { url: "https://x", headers: { \(headers) } }
        chain: [fetch, parse]
        """
      #expect(check(yaml).summary == summary)
    }
  }

  @Test("name a file that is not there")
  func noFile() {
    let found = PipelineFile.check(
      path: "no/such.yaml", registry: TestPlugins.registry, environment: testEnvironment)
    #expect(
      found.rendered(as: .human()) == """
        error[P000]: the pipeline file cannot be read
          --> no/such.yaml:1:1
           = there is no such file

        """)
  }
}
