import Foundation
import GQLRunPipeline
import HTTPTypes

/// The text of a pipeline file that fits an endpoint.
struct DoctorPipeline {
  let endpoint: Endpoint
  let examination: Examination

  /// The file. Secret values are references to environment variables.
  var text: String {
    var lines = [
      "version: 1", "# Written by gqlrun doctor; comments say what the endpoint can, too.",
      "endpoint:", "  url: \(url)",
    ]
    let fields = endpoint.headers.filter { $0.name != .authorization }
    if !fields.isEmpty {
      lines.append("  headers:")
      lines += fields.map { "    \($0.name.rawName): \"${env:\(Self.variable($0.name.rawName))}\"" }
    }
    let isOverHTTP = [.eventStream, .multipart].contains { examination.verdict(of: $0) == .yes }
    if !isOverHTTP, let subprotocol = examination.subprotocols.first {
      lines.append("  subscriptions: { transport: \(subprotocol) }")
    }
    if examination.verdict(of: .introspection) == .yes {
      lines += [
        "# With the schema, variables and operations are checked before they are sent:",
        "# gqlrun schema fetch -e URL -o schema.graphql", "# schema: schema.graphql",
      ]
    }
    lines += ["store: { kind: memory, max_size: 256MiB }", "chain:"]
    lines += entries.map { "  \($0)" }
    return lines.joined(separator: "\n") + "\n"
  }

  /// The environment variables that the file refers to, sorted.
  var variables: [String] {
    var names = endpoint.path.contains("?") ? ["GQL_URL"] : []
    names += endpoint.headers.map {
      $0.name == .authorization ? "GQL_TOKEN" : Self.variable($0.name.rawName)
    }
    return names.sorted()
  }

  /// A query in the URL may contain keys.
  private var url: String {
    endpoint.path.contains("?") ? "\"${env:GQL_URL}\"" : "\"\(endpoint.shownURL)\""
  }

  private var entries: [String] {
    var entries = [
      "- logging: { level: info }", "- timeout: { total: 5m }",
      "- max-retry: { max_retries: 3, backoff: { base: 300ms, factor: 2, max: 20s, jitter: equal } }",
    ]
    if let authorization = endpoint.headers[.authorization] {
      let isBearer = authorization.lowercased().hasPrefix("bearer ")
      entries.append(
        isBearer
          ? "- token-refresh: { env: GQL_TOKEN }"
          : "- token-refresh: { env: GQL_TOKEN, scheme: Basic }")
    }
    entries.append("- cache-read: { policy: cache-first }")
    if examination.verdict(of: .persistedQueries) == .yes {
      entries.append(
        examination.verdict(of: .get) == .yes ? "- apq: { query_method: GET }" : "- apq")
    }
    entries += [
      "- fetch", "- response-code", "- parse", "- cache-write: { on_errors: skip-errored }",
    ]
    let remarks = examination.findings.filter {
      $0.verdict == .yes && [.arrays, .uploads, .incremental, .depth, .size].contains($0.feature)
    }
    return entries + remarks.map { "# \($0.feature.rawValue): \($0.detail)" }
  }

  /// `X-Api-Key` → `X_API_KEY`
  private static func variable(_ name: String) -> String {
    String(name.uppercased().map { $0.isLetter || $0.isNumber ? $0 : "_" })
  }
}
