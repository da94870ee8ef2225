import GQLRunLanguage

/// How the time grows with the size of documents, ordinary ones and those that are made to be hard:
/// four times the size may take about four times as long.
struct GrowthSuite {
  let rounds: Int

  /// Beyond it, the time grows faster than the document: four times the size is `4`, and sorting and
  /// memory that no longer fits the processor's caches cost something.
  private static let limit = 7.0

  func run() throws {
    print(
      "\n  " + "growth; processor ms at n, 2n and 4n".padded(48) + "n".leftPadded(8)
        + "t(n)".leftPadded(10)
        + "t(2n)".leftPadded(10) + "t(4n)".leftPadded(10) + "4n / n".leftPadded(9))
    for growth in Growth.all {
      let times = try [1, 2, 4].map { factor in
        let work = try growth.prepare(growth.size * factor)
        // The best of some rounds: what others do on the machine must not look like growth.
        return try (0..<max(3, rounds / 3)).map { _ in
          try LanguageTime.measure { try work() }.cpuSeconds
        }.min() ?? .nan
      }
      let ratio = times[2] / times[0]
      print(
        "  " + growth.title.padded(48) + "\(growth.size)".leftPadded(8)
          + times.map { ($0 * 1e3).text(2).leftPadded(10) }.joined()
          + ratio.text(1).leftPadded(9) + (ratio > Self.limit ? "  not linear" : ""))
    }
  }
}

/// A kind of document, of any size.
private struct Growth {
  var title: String
  var size: Int
  /// What is to be timed, for a size.
  var prepare: (Int) throws -> () throws -> Void

  static var all: [Growth] {
    [
      parsing("parse: fields in one selection set", 20_000) { n in
        "{ " + (0..<n).map { "field\($0)(a: 1) " }.joined() + "}"
      },
      parsing("parse: block strings of many lines", 5_000) { n in
        "{ f(a: \"\"\"\n" + String(repeating: "   a line of a block string\n", count: n)
          + "\"\"\") }"
      },
      parsing("parse: comments and blanks", 20_000) { n in
        "{ a " + String(repeating: "# nothing\n,,,   ", count: n) + "}"
      },
      building("build a schema: objects of one interface", 1_000) { n in
        "type Query { a: I } interface I { a: Int } "
          + (0..<n).map { "type T\($0) implements I { a: Int b: T\(($0 + 1) % n) } " }.joined()
      },
      building("build a schema: one union, one enum, one chain", 1_000) { n in
        "type Query { u: U e: E c(i: I0): Int } "
          + (0..<n).map { "type T\($0) { a: Int } input I\($0) { n: I\(($0 + 1) % n) } " }.joined()
          + "union U = " + (0..<n).map { "T\($0)" }.joined(separator: " | ") + " enum E { "
          + (0..<n).map { "V\($0) " }.joined() + "}"
      },
      validating("validate: different fields", 2_000) { n in
        "{ " + (0..<n).map { "f\($0): f { a } " }.joined() + "}"
      },
      validating("validate: the same field repeated", 2_000) { n in
        "{ " + String(repeating: "f { a } ", count: n) + "}"
      },
      validating("validate: the same object, other fields", 2_000) { n in
        "{ " + (0..<n).map { "f { x\($0): a } " }.joined() + "}"
      },
      validating("validate: fragments that spread the next twice", 250) { n in
        "{ ...F0 } " + fragments(n) { "f { ...F\($0) } f { ...F\($0) b }" }
      },
      validating("validate: fragments beside and inside each other", 250) { n in
        "{ ...F0 } " + fragments(n) { "...F\($0) f { a ...F\($0) }" }
      },
      validating("validate: the same with another chain beside", 250) { n in
        "{ ...F0 ...G0 } " + fragments(n) { "...F\($0) f { a ...F\($0) }" }
          + fragments(n, "G") { "f { b ...G\($0) }" }
      },
      validating("validate: fragments in one long chain", 2_000) { n in
        "{ ...F0 } " + fragments(n) { "...F\($0)" }
      },
      validating("validate: objects that exclude each other", 15) { n in
        "{ i { " + exclusive(n) + " } }"
      },
      validating("validate: operations with variables", 500) { n in
        (0..<n).map { "query Q\($0)($v: Int) { f(a: $v) { a ...F } } " }.joined()
          + "fragment F on Query { a b }"
      },
      validating("validate: one large list of values", 5_000, isValid: false) { n in
        "{ f(a: [" + String(repeating: "1 ", count: n) + "]) { a } }"
      },
    ]
  }

  private static func fragments(
    _ count: Int, _ name: String = "F", _ body: (Int) -> String
  ) -> String {
    (0..<count).map { "fragment \(name)\($0) on Query { \(body($0 + 1)) } " }.joined()
      + "fragment \(name)\(count) on Query { a } "
  }

  private static func exclusive(_ depth: Int) -> String {
    guard depth > 0 else { return "a" }
    let inner = exclusive(depth - 1)
    return "f { \(inner) } ... on A { f { ... on B { f { a } } \(depth % 2 == 0 ? "a" : "") } }"
  }

  private static func parsing(_ title: String, _ size: Int, _ text: @escaping (Int) -> String)
    -> Growth
  {
    Growth(title: title, size: size) { size in
      let bytes = Array(text(size).utf8)
      return { _ = try Document(parsingUTF8: bytes) }
    }
  }

  private static func building(_ title: String, _ size: Int, _ text: @escaping (Int) -> String)
    -> Growth
  {
    Growth(title: title, size: size) { size in
      let document = try Document(parsing: text(size))
      return { _ = try Schema(sdl: document) }
    }
  }

  private static func validating(
    _ title: String, _ size: Int, isValid: Bool = true, _ text: @escaping (Int) -> String
  ) -> Growth {
    Growth(title: title, size: size) { size in
      let schema = try Schema(
        sdl: Document(
          parsing: """
            type Query { f(a: Int): Query i: I a: Int b: Int }
            interface I { f: I a: Int }
            type A implements I { f: I a: Int }
            type B implements I { f: I a: Int }
            """))
      let document = try Document(parsing: text(size))
      return {
        let errors = document.validate(against: schema)
        guard errors.isEmpty == isValid, errors.last?.rule != .limit || !isValid else {
          throw BenchError("\(title), \(size): \(errors.first?.message ?? "no error")")
        }
      }
    }
  }
}
