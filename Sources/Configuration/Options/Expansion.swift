/// A scalar, divided at its `${…}` into literal text and expansions.
struct Expansion {
  enum Part: Equatable {
    case text(String)
    case variable(name: String, fallback: String?)
    case file(String)
    case command(String)
    case context(name: String, fallback: String?)
  }

  enum Failure: Error, Equatable {
    case unclosed
    case withoutScheme(String)
    case unknownScheme(String)
    case unnamed(scheme: String)
  }

  static let schemes = ["env", "file", "exec", "context"]

  var parts: [Part]

  /// Whether the scalar contains expansions.
  var isLiteral: Bool {
    parts.allSatisfy { if case .text = $0 { true } else { false } }
  }

  /// `$$` is a literal `$`; a `$` before other characters than `{` and `$` is text.
  init(_ text: String) throws(Failure) {
    var parts: [Part] = []
    var literal = ""
    var rest = Substring(text)
    while let dollar = rest.firstIndex(of: "$") {
      literal += rest[..<dollar]
      rest = rest[dollar...].dropFirst()
      if rest.first == "$" {
        literal += "$"
        rest.removeFirst()
      } else if rest.first == "{" {
        guard let end = Self.closingBrace(in: rest) else { throw .unclosed }
        if !literal.isEmpty { parts.append(.text(literal)) }
        literal = ""
        parts.append(try Self.part(rest[rest.startIndex..<end].dropFirst()))
        rest = rest[end...].dropFirst()
      } else {
        literal += "$"
      }
    }
    literal += rest
    if !literal.isEmpty || parts.isEmpty { parts.append(.text(literal)) }
    self.parts = parts
  }

  /// The index of the brace that closes the first one; nested braces, as in a command, are counted.
  private static func closingBrace(in text: Substring) -> String.Index? {
    var depth = 0
    for index in text.indices {
      if text[index] == "{" { depth += 1 }
      if text[index] == "}" { depth -= 1 }
      if depth == 0 { return index }
    }
    return nil
  }

  private static func part(_ body: Substring) throws(Failure) -> Part {
    guard let colon = body.firstIndex(of: ":") else { throw .withoutScheme(String(body)) }
    let scheme = String(body[..<colon])
    let rest = String(body[colon...].dropFirst())
    switch scheme {
    case "env":
      let (name, fallback) = try named(rest, scheme)
      return .variable(name: name, fallback: fallback)
    case "context":
      let (name, fallback) = try named(rest, scheme)
      return .context(name: name, fallback: fallback)
    case "file":
      guard !rest.isEmpty else { throw .unnamed(scheme: scheme) }
      return .file(rest)
    case "exec":
      guard !rest.isEmpty else { throw .unnamed(scheme: scheme) }
      return .command(rest)
    default:
      throw .unknownScheme(scheme)
    }
  }

  private static func named(
    _ text: String, _ scheme: String
  ) throws(Failure) -> (name: String, fallback: String?) {
    let name: Substring
    let fallback: String?
    if let mark = text.firstRange(of: ":-") {
      name = text[..<mark.lowerBound]
      fallback = String(text[mark.upperBound...])
    } else {
      name = text[...]
      fallback = nil
    }
    guard !name.isEmpty else { throw .unnamed(scheme: scheme) }
    return (String(name), fallback)
  }
}
