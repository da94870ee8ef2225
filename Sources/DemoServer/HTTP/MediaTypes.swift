/// The media types of GraphQL responses.
///
/// https://graphql.github.io/graphql-over-http/draft/#sec-Media-Types
enum ResponseMediaType: String, Sendable, CaseIterable {
  case graphQLResponse = "application/graphql-response+json"
  case json = "application/json"

  /// The value of the `Content-Type` field.
  var contentType: String { "\(rawValue); charset=utf-8" }

  /// The preferred type of an `Accept` field; `nil` if the client accepts none.
  ///
  /// Without the field, and for wildcards, `application/graphql-response+json`, as required of
  /// servers since 2025.
  static func preferred(accept ranges: [AcceptedRange]?) -> Self? {
    guard let ranges, !ranges.isEmpty else { return .graphQLResponse }
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

/// One element of an `Accept` field: a media range, its parameters and its quality.
struct AcceptedRange {
  let pattern: String
  /// The parameters as `name=value`, without quotation marks and in lower case.
  let parameters: [String]
  let quality: Double

  /// The elements in their order.
  static func all(in accept: String) -> [Self] {
    accept.split(separator: ",").map(Self.init).filter { !$0.pattern.isEmpty }
  }

  private init(_ text: Substring) {
    let parts = text.split(separator: ";").map { part in
      trimmed(part).lowercased().filter { $0 != "\"" }
    }
    pattern = parts.first ?? ""
    parameters = Array(parts.dropFirst())
    let weight = parameters.first { $0.hasPrefix("q=") }
    quality = weight.map { Double($0.dropFirst(2)) ?? 0 } ?? 1
  }
}

extension [AcceptedRange] {
  /// The format of the range with the highest quality, the first one of equal quality; `nil` if the
  /// client accepts none.
  func preferred<Format>(_ format: (AcceptedRange) -> Format?) -> Format? {
    var best: (format: Format, quality: Double)?
    for range in self {
      guard let format = format(range), range.quality > best?.quality ?? 0 else { continue }
      best = (format, range.quality)
    }
    return best?.format
  }
}

/// The media type of a request body, from a `Content-Type` field.
struct ContentType {
  /// The type and subtype in lower case, such as `application/json`.
  let essence: String
  let charset: String?
  /// The boundary of a form, as it is written.
  let boundary: String?

  init(_ field: String) {
    guard field != ResponseMediaType.json.rawValue else {
      // Nearly every request; the rest works with characters, which takes long.
      (essence, charset, boundary) = (field, nil, nil)
      return
    }
    let parts = field.split(separator: ";").map { trimmed($0).lowercased() }
    essence = parts.first ?? ""
    charset = parts.dropFirst().first { $0.hasPrefix("charset=") }.map { parameter in
      String(parameter.dropFirst(8).filter { $0 != "\"" })
    }
    boundary = field.split(separator: ";").dropFirst().map { trimmed($0) }
      .first { $0.lowercased().hasPrefix("boundary=") }
      .map { $0.dropFirst(9).filter { $0 != "\"" } }
  }

  /// Whether this is a form, which may have files.
  var isForm: Bool { essence == "multipart/form-data" }

  /// Whether this is JSON in UTF-8, the request body without files.
  var isJSON: Bool {
    essence == ResponseMediaType.json.rawValue && (charset == nil || charset == "utf-8")
  }
}

private func trimmed(_ text: Substring) -> Substring {
  var text = text.drop { $0 == " " || $0 == "\t" }
  while text.last == " " || text.last == "\t" { text.removeLast() }
  return text
}
