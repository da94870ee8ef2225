/// The pipeline that runs when no file is named; the same text as `pipelines/default.pipeline.yaml`.
enum ReadyMade {
  static let defaultPipeline = """
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

    """
}
