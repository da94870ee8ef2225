/// The media types of GraphQL responses, and which of them a client prefers.
///
/// https://graphql.github.io/graphql-over-http/draft/#sec-Media-Types
enum ResponseMediaType: String, Sendable, CaseIterable {
  case graphQLResponse = "application/graphql-response+json"
  case json = "application/json"

  /// The value of the `Content-Type` field.
  var contentType: String { "\(rawValue); charset=utf-8" }

  /// The best type for an `Accept` field; nil when the client accepts none.
  ///
  /// Without the field, and for wildcards, it is `application/graphql-response+json`, as for all
  /// servers since 2025.
  static func preferred(accept: String?) -> Self? {
    guard let accept, accept.contains(where: { $0 != " " }) else { return .graphQLResponse }
    let ranges = accept.split(separator: ",").map(AcceptedRange.init)
    let rated = allCases.map { type in (type, quality: quality(of: type, in: ranges)) }
    let best = rated.max { $0.quality < $1.quality }
    return best.flatMap { $0.quality > 0 ? $0.0 : nil }
  }

  /// The most specific range decides (RFC 9110, section 12.5.1).
  private static func quality(of type: Self, in ranges: [AcceptedRange]) -> Double {
    for pattern in [type.rawValue, "application/*", "*/*"] {
      if let range = ranges.first(where: { $0.pattern == pattern }) { return range.quality }
    }
    return 0
  }
}

/// One part of an `Accept` field: a type or wildcard, and how welcome it is.
private struct AcceptedRange {
  let pattern: String
  let quality: Double

  init(_ text: Substring) {
    let parts = text.split(separator: ";").map { trimmed($0).lowercased() }
    pattern = parts.first ?? ""
    let weight = parts.dropFirst().first { $0.hasPrefix("q=") }
    quality = weight.map { Double($0.dropFirst(2)) ?? 0 } ?? 1
  }
}

/// The type of a request body, from a `Content-Type` field.
struct ContentType {
  /// Such as `application/json`, in lower case.
  let essence: String
  let charset: String?

  init(_ field: String) {
    let parts = field.split(separator: ";").map { trimmed($0).lowercased() }
    essence = parts.first ?? ""
    charset = parts.dropFirst().first { $0.hasPrefix("charset=") }.map { parameter in
      String(parameter.dropFirst(8).filter { $0 != "\"" })
    }
  }

  /// Whether this is JSON in UTF-8, the one form of request body that is understood.
  var isJSON: Bool {
    essence == ResponseMediaType.json.rawValue && (charset == nil || charset == "utf-8")
  }
}

private func trimmed(_ text: Substring) -> Substring {
  var text = text.drop { $0 == " " || $0 == "\t" }
  while text.last == " " || text.last == "\t" { text.removeLast() }
  return text
}
