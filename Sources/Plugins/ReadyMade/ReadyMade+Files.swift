// Made by `make generated` from pipelines/; do not edit it.

extension ReadyMade {
  /// The files of pipelines/ by name.
  static let files: [(name: String, text: String)] = [
    (
      "apollo-1x-reference",
      #"""
      version: 1
      name: apollo-1x-reference
      # The reference chain of Apollo iOS 1.x: MaxRetry, CacheRead, UserManagement, RequestLogging,
      # NetworkFetch, ResponseLogging, ResponseCode, Parsing, AutomaticPersistedQuery, CacheWrite.
      # Two positions differ: `logging` surrounds the network, so that one entry logs request and response; and
      # `apq` is above the network, where it can change what is sent and see the answer.
      endpoint:
        url: "${env:GQL_URL}"
      store: { kind: memory }
      chain:
        - max-retry: { max_retries: 3 }
        - cache-read: { policy: returnCacheDataElseFetch }
        - token-refresh: { credential: gql }
        - apq: { query_method: POST, retry_method: POST }
        - logging: { level: debug, headers: true, body: true }
        - fetch
        - response-code
        - parse
        - cache-write

      """#
    ),
    (
      "apq",
      #"""
      version: 1
      name: apq
      # Sends the hash of a document by GET, so that caches between client and server can answer, and the document itself by
      # POST when the server does not know the hash yet.
      endpoint:
        url: "${env:GQL_URL}"
      store: { kind: memory, max_size: 256MiB }
      chain:
        - logging: { level: info }
        - timeout: { total: 5m }
        - max-retry: { max_retries: 3, backoff: { base: 300ms, factor: 2, max: 20s, jitter: equal } }
        - cache-read: { policy: cache-first }
        - apq: { query_method: GET, retry_method: POST }
        - fetch
        - response-code
        - parse
        - cache-write: { on_errors: skip-errored }

      """#
    ),
    (
      "auth",
      #"""
      version: 1
      name: auth
      # Sends the token in GQL_TOKEN, read for every request. Other sources are a file, a
      # command, or an OAuth 2 server; the token is then renewed before it expires and when it is rejected.
      endpoint:
        url: "${env:GQL_URL}"
      store: { kind: memory, max_size: 256MiB }
      chain:
        - correlation-id
        - logging: { level: info }
        - timeout: { total: 5m }
        - max-retry: { max_retries: 3, backoff: { base: 300ms, factor: 2, max: 20s, jitter: equal } }
        - cache-read: { policy: cache-first }
        - token-refresh: { credential: gql }
        - fetch
        - response-code
        - parse
        - cache-write: { on_errors: skip-errored }

      tests:
        - name: one renewal for 50 operations that are refused at the same time
          concurrent: 50
          upstream:
            - { when: { bearer: old }, status: 401 }
            - { when: { bearer: new }, body: { data: { ok: true } } }
          expect: { refreshes: 1, succeeded: 50 }

      """#
    ),
    (
      "ci",
      #"""
      version: 1
      name: ci
      # Answers from a recording, without a network; GQL_RECORD=record creates the recording, GQL_RECORD=auto
      # adds what is missing. The same operations get the same responses in every run.
      endpoint:
        url: "${env:GQL_URL}"
      store: { kind: none }
      chain:
        - logging: { level: info }
        - timeout: { total: 1m }
        - record-replay:
            file: "${env:GQL_RECORDING:-gqlrun.recording.ndjson}"
            mode: "${env:GQL_RECORD:-replay}"
        - fetch
        - response-code
        - parse

      """#
    ),
    (
      "default",
      #"""
      version: 1
      name: default
      # Answers from memory within one run, otherwise uses the network and stores the responses.
      endpoint:
        url: "${env:GQL_URL}"
      store: { kind: memory, max_size: 256MiB }
      chain:
        - logging: { level: info }
        - timeout: { total: 5m }
        - max-retry: { max_retries: 3, backoff: { base: 300ms, factor: 2, max: 20s, jitter: equal } }
        - cache-read: { policy: cache-first }
        - fetch
        - response-code
        - parse
        - cache-write: { on_errors: skip-errored }

      """#
    ),
    (
      "fresh",
      #"""
      version: 1
      name: fresh
      # Uses the network first, and answers from the file if the network or the server fails.
      endpoint:
        url: "${env:GQL_URL}"
      store: { kind: sqlite, path: "${env:GQL_CACHE:-gqlrun-cache.db}" }
      chain:
        - logging: { level: info }
        - cache-read: { policy: network-first }
        - timeout: { total: 30s }
        - max-retry: { max_retries: 1, backoff: { base: 200ms, max: 1s } }
        - fetch: { connect_timeout: 3s }
        - response-code
        - parse
        - cache-write: { on_errors: skip-errored }

      """#
    ),
    (
      "live",
      #"""
      version: 1
      name: live
      # Subscriptions that connect again, in a SQLite store, so that watched queries of all processes follow their events.
      endpoint:
        url: "${env:GQL_URL}"
      store: { kind: sqlite, path: "${env:GQL_CACHE:-gqlrun-cache.db}" }
      chain:
        - logging: { level: info }
        - timeout: { total: 30s }
        - max-retry: { max_retries: 10, backoff: { base: 500ms, factor: 2, max: 30s, jitter: full } }
        - cache-read: { policy: cache-and-network }
        - fetch: { connect_timeout: 5s, event_timeout: 45s }
        - response-code
        - parse
        - cache-write: { on_errors: skip-errored }

      """#
    ),
    (
      "offline",
      #"""
      version: 1
      name: offline
      # Stores all responses in a file and reads it first: data that was fetched once needs no network.
      endpoint:
        url: "${env:GQL_URL}"
      store: { kind: sqlite, path: "${env:GQL_CACHE:-gqlrun-cache.db}" }
      chain:
        - logging: { level: info }
        - timeout: { total: 5m }
        - max-retry: { max_retries: 3, backoff: { base: 300ms, factor: 2, max: 20s, jitter: equal } }
        - cache-read: { policy: cache-first }
        - fetch
        - response-code
        - parse
        - cache-write: { on_errors: skip-errored }

      """#
    ),
    (
      "plain",
      #"""
      version: 1
      name: plain
      # No cache: every operation uses the network, and nothing is stored.
      endpoint:
        url: "${env:GQL_URL}"
      store: { kind: none }
      chain:
        - logging: { level: info }
        - timeout: { total: 5m }
        - max-retry: { max_retries: 3, backoff: { base: 300ms, factor: 2, max: 20s, jitter: equal } }
        - fetch
        - response-code
        - parse

      """#
    ),
  ]
}
