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
  let quality: Double
  private let parameters: FieldParameters

  /// The elements in their order.
  static func all(in accept: String) -> [Self] {
    accept.split(separator: ",").map(Self.init).filter { !$0.pattern.isEmpty }
  }

  private init(_ text: Substring) {
    parameters = FieldParameters(text)
    pattern = parameters.value
    quality = parameters["q"].map { Double($0) ?? 0 } ?? 1
  }

  /// Whether the range has a parameter, `name=value` in lower case.
  func has(_ parameter: String) -> Bool {
    let sides = parameter.split(separator: "=", maxSplits: 1).map(String.init)
    return parameters[sides[0]]?.lowercased() == sides.last
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
    let parameters = FieldParameters(field)
    essence = parameters.value
    charset = parameters["charset"]?.lowercased()
    boundary = parameters["boundary"]
  }

  /// Whether this is a form, which may have files.
  var isForm: Bool { essence == "multipart/form-data" }

  /// Whether this is JSON in UTF-8, the request body without files.
  var isJSON: Bool {
    essence == ResponseMediaType.json.rawValue && (charset == nil || charset == "utf-8")
  }
}

/// The value of a header field and its parameters: `text/html; charset=utf-8`.
struct FieldParameters {
  /// The value before the parameters, in lower case.
  let value: String
  private var parameters: [String: String] = [:]

  /// Parses a field, of whose parameters with one name the first counts.
  ///
  /// Browsers write `%22` for a quotation mark, and some programs `\"`; neither is decoded further.
  init(_ field: some StringProtocol) {
    value = field.prefix { $0 != ";" }.lowercased().filter { $0 != " " && $0 != "\t" }
    var rest = Substring(field.drop { $0 != ";" })
    while rest.popFirst() != nil {
      let name = rest.prefix { $0 != "=" && $0 != ";" }
      rest = rest.dropFirst(name.count)
      guard rest.first == "=" else { continue }
      rest.removeFirst()
      let key = name.lowercased().filter { $0 != " " && $0 != "\t" }
      var value = ""
      if rest.first == "\"" {
        rest.removeFirst()
        while let character = rest.popFirst(), character != "\"" {
          let isEscape = character == "\\" && rest.first == "\""
          value.append(isEscape ? rest.removeFirst() : character)
        }
      } else {
        value = rest.prefix { $0 != ";" }.filter { !$0.isWhitespace }
      }
      parameters[key] = parameters[key] ?? value
      rest = rest.drop { $0 != ";" }
    }
  }

  /// The value of a parameter, whose name is in lower case, without quotation marks.
  subscript(name: String) -> String? { parameters[name] }
}
