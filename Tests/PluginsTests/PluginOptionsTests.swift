import GQLRunPipeline
import GQLRunPlugins
import Testing

/// The options of the plugins: their defaults, and which values are accepted.
@Suite(.timeLimit(.minutes(10))) struct PluginOptionsTests {
  /// The default of each option, by plugins.
  static let defaults: [String: [String: String?]] = [
    "audit": ["file": nil, "user": "user", "tenant": "tenant", "values": nil, "required": "true"],
    "cache-read": [
      "errors": "refuse", "max_age": nil, "max_stale": nil, "policy": "cache-first",
    ],
    "cache-write": ["on_errors": "skip-errored", "write_roots": "true"],
    "correlation-id": ["header": "X-Correlation-ID", "idempotency_key": "false"],
    "error-tap": ["log": "true", "level": "error", "rules": nil],
    "exec": [
      "command": nil, "stage": "graphql", "events": "[request]", "max_body": "0B", "max_data": "0B",
      "options": nil, "timeout": "5s", "restarts": "3",
    ],
    "fetch": [
      "timeout": "5m", "connect_timeout": "10s", "idle_timeout": "30s", "event_timeout": "5m",
      "max_body": "1GiB", "max_message": "16MiB", "max_ratio": nil, "max_headers": "64KiB",
      "min_throughput": "0B", "redirects": "none", "max_redirects": "3", "tls": "{}",
      "proxy": "environment", "no_proxy": nil, "unix_socket": nil, "http2": "true",
      "max_connections": "256", "keep_alive": "1m", "decompress": "true", "on_error": nil,
      "force_on_error": "false",
    ],
    "headers": ["set": nil, "add": nil, "default": nil, "remove": nil],
    "http-batch": ["window": "10ms", "max": "10", "mutations": "false"],
    "logging": [
      "level": "info", "headers": "false", "body": "false", "max_body": "4KiB", "redact": nil,
    ],
    "max-retry": [
      "max_retries": "3", "on": "[network, 429, 502, 503, 504]", "backoff": "{}",
      "respect_retry_after": "true", "retry_after_max": "1m", "budget": "10%",
      "mutations": "unsent",
    ],
    "parse": [
      "check_shape": "false", "max_depth": "512", "max_event": "64MiB", "max_string": "16MiB",
    ],
    "apq": [
      "query_method": "POST", "retry_method": "POST", "manifest": nil, "persisted_only": "false",
      "protocol": "extensions",
    ],
    "rate-limit": [
      "requests": nil, "per": "1s", "burst": "1", "budget": "headers", "reserve": "0",
      "max_wait": "5m", "credential": "",
    ],
    "record-replay": ["file": nil, "mode": "replay", "redact": nil, "max_body": "16MiB"],
    "require-context": ["values": nil, "headers": nil],
    "response-code": ["accept": nil],
    "timeout": ["total": "5m"],
    "token-refresh": [
      "credential": "api", "env": nil, "file": nil, "command": nil, "oauth2": nil,
      "header": "Authorization", "scheme": "Bearer", "statuses": "[401]",
      "codes": "[UNAUTHENTICATED]", "skew": "1m", "timeout": "30s",
    ],
  ]

  @Test(arguments: defaults) func `the options have these defaults`(
    _ name: String, _ options: [String: String?]
  ) throws {
    #expect(optionTable(try #require(PluginRegistry.builtIn[name])) == options)
  }

  @Test func `every built-in plugin with options is among these`() {
    let names = PluginRegistry.builtIn.descriptions.filter { !$0.options.isEmpty }.map(\.name)
    #expect(Set(names) == Set(Self.defaults.keys))
  }

  /// Entries of a chain, and what the message about a refused one has.
  static let entries: [(entry: String, refusal: String?)] = [
    ("cache-read: { errors: replay }", nil), ("cache-read: { errors: keep }", nil),
    ("cache-read: { errors: discard }", "errors"),
    ("cache-write: { on_errors: discard, write_roots: false }", nil),
    ("cache-write: { on_errors: skip }", "on_errors"),
    ("cache-write: { write_roots: no }", "write `false`"),
    ("correlation-id", nil), ("correlation-id: { header: \"\" }", nil),
    ("correlation-id: { header: \"X Y\" }", "is not the name of an HTTP field"),
    ("correlation-id: { header: Content-Length }", "follows from the body that is sent"),
    ("error-tap", nil), ("error-tap: { log: false }", nil),
    ("error-tap: { rules: [{ then: suppress }] }", nil),
    ("error-tap: { rules: [{ codes: [x] }] }", "then"),
    ("error-tap: { rules: [{ then: ignore }] }", "then"),
    ("error-tap: { rules: [{ then: replace }] }", "needs a `message`"),
    ("error-tap: { rules: [{ then: recover, data: \"{\" }] }", "is not JSON"),
    ("error-tap: { rules: [{ then: recover, data: '[1]' }] }", "is not an object"),
    ("error-tap: { rules: [{ then: suppress, data: '{}' }] }", "only a rule that recovers"),
    ("error-tap: { rules: [{ then: recover, message: m }] }", "only a rule that replaces errors"),
    ("error-tap: { rules: [{ then: rethrow, statuses: [99] }] }", "statuses"),
    ("fetch: { timeout: 1ms, connect_timeout: 1h, idle_timeout: 1h, max_body: 1B }", nil),
    ("fetch: { timeout: 0s }", "at least 1ms"), ("fetch: { timeout: 25h }", "at most 24h"),
    ("fetch: { connect_timeout: 2h }", "at most 1h"),
    ("fetch: { idle_timeout: 30 }", "the unit is missing"),
    ("fetch: { event_timeout: 24h }", nil), ("fetch: { event_timeout: 0s }", "at least 1ms"),
    ("fetch: { max_body: 0B }", "at least 1B"), ("fetch: { max_ratio: 0 }", "at least 1"),
    ("fetch: { max_headers: 100B }", "at least 256B"),
    ("fetch: { max_headers: 3MiB }", "at most 2MiB"),
    ("fetch: { proxies: x }", "no option `proxies`"),
    ("headers: { set: { X-A: b } }", nil), ("headers: { remove: [X-A] }", nil),
    ("headers: { set: { \"X A\": b } }", "is not the name of an HTTP field"),
    ("headers: { add: { \"\": b } }", "is not the name of an HTTP field"),
    ("headers: { remove: [\"X:A\"] }", "is not the name of an HTTP field"),
    ("headers: { set: { content-length: \"3\" } }", "follows from the body that is sent"),
    ("headers: { remove: [Transfer-Encoding] }", "follows from the body that is sent"),
    ("headers: { put: { X-A: b } }", "no option `put`"),
    ("headers: { set: { Authorization: \"Bearer abc\" } }", "secret"),
    ("logging: { level: debug }", nil), ("logging: { level: trace }", nil),
    ("logging: { level: loud }", "not one of these"), ("logging: { headers: yes }", "true"),
    ("logging: { body: true, max_body: 1KiB, redact: [email] }", nil),
    ("logging: { max_body: 17MiB }", "at most 16MiB"),
    ("logging: { bodies: true }", "no option `bodies`"),
    ("max-retry: { max_retries: 0 }", nil), ("max-retry: { max_retries: 24 }", nil),
    ("max-retry: { max_retries: 25 }", "at most 24"),
    ("max-retry: { max_retries: -1 }", "at least 0"),
    ("max-retry: { on: [] }", nil), ("max-retry: { on: [500] }", "`on` of `max-retry`"),
    ("max-retry: { backoff: { factor: 1 } }", nil),
    ("max-retry: { backoff: { factor: 0.5 } }", "at least 1"),
    ("max-retry: { backoff: { base: 300 } }", "unit"),
    ("max-retry: { backoff: { jitter: some } }", "jitter"),
    ("max-retry: { retry_after_max: 25h }", "at most 24h"),
    ("max-retry: { mutations: never }", "mutations"),
    ("max-retry: { budget: 101% }", "at most 100%"),
    ("parse: { max_depth: 1, max_string: 1B }", nil), ("parse: { max_depth: 2000 }", nil),
    ("parse: { max_depth: 0 }", "at least 1"), ("parse: { max_depth: 2001 }", "at most 2000"),
    ("parse: { max_event: 1KiB }", nil), ("parse: { max_event: 1B }", "at least 1KiB"),
    ("parse: { max_string: 2GiB }", "at most 1GiB"), ("parse: { max_string: 16 }", "unit"),
    ("apq", nil), ("apq: { query_method: GET, retry_method: GET }", nil),
    ("apq: { query_method: PUT }", "query_method"),
    ("apq: { manifest: nowhere.json }", "the file does not exist"),
    ("apq: { protocol: document-id }", nil), ("apq: { protocol: hash }", "protocol"),
    ("apq: { protocol: document-id, persisted_only: true, query_method: QUERY }", nil),
    ("rate-limit", nil), ("rate-limit: { requests: 10, per: 1m, burst: 5 }", nil),
    ("rate-limit: { requests: 0 }", "at least 1"), ("rate-limit: { budget: all }", "budget"),
    ("rate-limit: { burst: 5 }", "no effect without `requests`"),
    ("rate-limit: { per: 1m, reserve: 5 }", "no effect without `requests`"),
    ("record-replay: { file: x.ndjson }", nil), ("record-replay", "file"),
    ("record-replay: { file: x, mode: write }", "mode"),
    ("record-replay: { file: x, max_body: 2GiB }", "at most 1GiB"),
    ("require-context: { values: [user] }", nil),
    ("require-context: { headers: { X-User: user } }", nil),
    ("require-context", "no value is required"),
    ("require-context: { headers: { \"X User\": user } }", "is not the name of an HTTP field"),
    (
      "require-context: { headers: { Transfer-Encoding: user } }",
      "follows from the body that is sent"
    ),
    ("response-code: { accept: [400, 500] }", nil), ("response-code: { accept: [] }", nil),
    ("response-code: { accept: [99] }", "at least 100"),
    ("response-code: { accept: [600] }", "at most 599"),
    ("response-code: { accept: 4xx }", "list"),
    ("timeout: { total: 1ms }", nil), ("timeout: { total: 24h }", nil),
    ("timeout: { total: 0s }", "at least 1ms"), ("timeout: { total: 25h }", "at most 24h"),
    ("timeout: { total: 30 }", "unit"),
    ("token-refresh", nil), ("token-refresh: { env: API_TOKEN }", nil),
    ("token-refresh: { env: A, file: b }", "a token has one source"),
    ("token-refresh: { header: \"X Y\" }", "is not the name of an HTTP field"),
    ("token-refresh: { header: content-length }", "follows from the body that is sent"),
    ("token-refresh: { statuses: [500] }", "statuses"),
    ("token-refresh: { oauth2: { client_id: c } }", "token_url"),
    ("token-refresh: { oauth2: { token_url: \"http://example.com/\", client_id: c } }", "https"),
    ("token-refresh: { oauth2: { token_url: \"http://127.0.0.1:1/\", client_id: c } }", nil),
    ("token-refresh: { oauth2: { token_url: \"http://[::1]:1/\", client_id: c } }", nil),
    (
      "token-refresh: { oauth2: { token_url: \"http://127.example.com/\", client_id: c } }",
      "without encryption"
    ),
    ("token-refresh: { oauth2: { token_url: \"ftp://x/\", client_id: c } }", "http and https"),
    (
      "token-refresh: { oauth2: { token_url: \"https://x/\", client_id: c, client_secret: s } }",
      "is a secret, and the file contains its value"
    ),
    (
      "token-refresh: { oauth2: { token_url: \"https://x/\", client_id: c, grant: refresh-token } }",
      "store: token.json"
    ),
  ]

  @Test(arguments: ["set", "add", "default"])
  func `headers gives at most a thousand fields`(_ option: String) {
    for (count, refusal) in [(1_000, nil), (1_001, "more than 1000 header fields")]
      as [(Int, String?)]
    {
      let fields = (0..<count).map { "X-\($0): a" }.joined(separator: ", ")
      expectEntry("headers: { \(option): { \(fields) } }", refusedWith: refusal)
    }
  }

  @Test(arguments: entries) func `options are checked`(_ entry: String, _ refusal: String?) {
    expectEntry(entry, refusedWith: refusal)
  }
}
