// Made by `make generated` from pipelines/; do not edit it.

extension ReadyMade {
  /// The files of pipelines/ by name.
  static let files: [(name: String, text: String)] = [
    (
      "default",
      #"""
      version: 1
      name: default
      # Answers from memory within one run, asks the network otherwise, and keeps what comes.
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
      # Asks the network first, and answers from the file when the network or the server fails.
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
      "offline",
      #"""
      version: 1
      name: offline
      # Keeps everything in a file and asks it first: what was fetched once is there without a network.
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
      # No cache: every operation goes to the network, and nothing is kept.
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
