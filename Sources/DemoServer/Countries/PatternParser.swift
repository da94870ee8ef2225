/// What one character of a text has to be.
indirect enum CharacterTest: Sendable {
  case any
  case one(Unicode.Scalar)
  case range(Unicode.Scalar, Unicode.Scalar)
  case digit, word, space
  case anyOf([CharacterTest])
  case not(CharacterTest)

  func accepts(_ scalar: Unicode.Scalar) -> Bool {
    switch self {
    case .any: true
    case .one(let expected): scalar == expected
    case .range(let first, let last): first <= scalar && scalar <= last
    case .digit: ("0"..."9").contains(scalar)
    case .word: scalar == "_" || scalar.properties.isAlphabetic || ("0"..."9").contains(scalar)
    case .space: scalar.properties.isWhitespace
    case .anyOf(let tests): tests.contains { $0.accepts(scalar) }
    case .not(let test): !test.accepts(scalar)
    }
  }
}

/// A parsed regular expression.
indirect enum PatternNode {
  case empty
  case character(CharacterTest)
  case start, end
  case sequence([PatternNode])
  case either(PatternNode, PatternNode)
  /// At least `minimum` times; at most `maximum` times, or any number of times when it is nil.
  case repetition(PatternNode, minimum: Int, maximum: Int?)
}

/// Reads the text of a regular expression.
struct PatternParser {
  private let scalars: [Unicode.Scalar]
  private var position = 0
  private var depth = 0

  init(_ text: String) {
    scalars = Array(text.unicodeScalars)
  }

  mutating func parse() throws(StringPattern.Failure) -> PatternNode {
    let node = try alternatives()
    guard position == scalars.count else { throw failure("Unmatched )") }
    return node
  }

  private mutating func alternatives() throws(StringPattern.Failure) -> PatternNode {
    var branches = [try sequence()]
    while take("|") { branches.append(try sequence()) }
    return branches.dropLast().reversed().reduce(branches[branches.count - 1]) {
      .either($1, $0)
    }
  }

  private mutating func sequence() throws(StringPattern.Failure) -> PatternNode {
    var nodes: [PatternNode] = []
    while let scalar = peek, scalar != "|", scalar != ")" {
      nodes.append(try repeated(try atom()))
    }
    return nodes.isEmpty ? .empty : .sequence(nodes)
  }

  private mutating func atom() throws(StringPattern.Failure) -> PatternNode {
    guard let scalar = next() else { throw failure("Unexpected end") }
    switch scalar {
    case "(":
      guard depth < StringPattern.maxDepth else { throw failure("Groups are nested too deep") }
      depth += 1
      if take("?"), !take(":") { throw failure("Only (?: is supported after ( and ?") }
      let node = try alternatives()
      guard take(")") else { throw failure("Missing )") }
      depth -= 1
      return node
    case "[": return .character(try set())
    case ".": return .character(.any)
    case "^": return .start
    case "$": return .end
    case "\\": return .character(try escape())
    case "*", "+", "?": throw failure("Nothing to repeat")
    default: return .character(.one(scalar))
    }
  }

  private mutating func repeated(_ node: PatternNode) throws(StringPattern.Failure) -> PatternNode {
    var node = node
    while let scalar = peek {
      switch scalar {
      case "*": node = .repetition(node, minimum: 0, maximum: nil)
      case "+": node = .repetition(node, minimum: 1, maximum: nil)
      case "?": node = .repetition(node, minimum: 0, maximum: 1)
      case "{":
        guard let (minimum, maximum) = try bounds() else { return node }
        node = .repetition(node, minimum: minimum, maximum: maximum)
        continue
      default: return node
      }
      position += 1
    }
    return node
  }

  /// The bounds in `{m}`, `{m,}` or `{m,n}`; nil, and nothing read, when the brace is a literal.
  private mutating func bounds() throws(StringPattern.Failure) -> (Int, Int?)? {
    let start = position
    position += 1
    guard let minimum = number() else {
      position = start
      throw failure("A repetition is written {m}, {m,} or {m,n}")
    }
    var maximum: Int? = minimum
    if take(",") { maximum = number() }
    guard take("}") else { throw failure("A repetition is written {m}, {m,} or {m,n}") }
    if let maximum, maximum < minimum { throw failure("Repetition bounds are out of order") }
    return (minimum, maximum)
  }

  private mutating func number() -> Int? {
    var value: Int?
    while let scalar = peek, ("0"..."9").contains(scalar) {
      value = min((value ?? 0) * 10 + Int(scalar.value) - 48, StringPattern.maxParts + 1)
      position += 1
    }
    return value
  }

  private mutating func set() throws(StringPattern.Failure) -> CharacterTest {
    let isNegated = take("^")
    var tests: [CharacterTest] = []
    while let scalar = next() {
      if scalar == "]", !tests.isEmpty {
        return isNegated ? .not(.anyOf(tests)) : .anyOf(tests)
      }
      let first: CharacterTest = scalar == "\\" ? try escape() : .one(scalar)
      guard peek == "-", position + 1 < scalars.count, scalars[position + 1] != "]",
        case .one(let low) = first
      else {
        tests.append(first)
        continue
      }
      position += 1
      guard let bound = next(), case .one(let high) = bound == "\\" ? try escape() : .one(bound),
        low <= high
      else { throw failure("A range in [] is out of order") }
      tests.append(.range(low, high))
    }
    throw failure("Missing ]")
  }

  private mutating func escape() throws(StringPattern.Failure) -> CharacterTest {
    guard let scalar = next() else { throw failure("\\ at the end") }
    switch scalar {
    case "d": return .digit
    case "D": return .not(.digit)
    case "w": return .word
    case "W": return .not(.word)
    case "s": return .space
    case "S": return .not(.space)
    case "n": return .one("\n")
    case "t": return .one("\t")
    default:
      guard !scalar.properties.isAlphabetic, !("0"..."9").contains(scalar) else {
        throw failure("\\\(scalar) is not supported")
      }
      return .one(scalar)
    }
  }

  private var peek: Unicode.Scalar? {
    position < scalars.count ? scalars[position] : nil
  }

  private mutating func next() -> Unicode.Scalar? {
    guard let scalar = peek else { return nil }
    position += 1
    return scalar
  }

  private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
    guard peek == scalar else { return false }
    position += 1
    return true
  }

  private func failure(_ message: String) -> StringPattern.Failure {
    StringPattern.Failure(message: "\(message), at character \(position + 1) of the pattern.")
  }
}
