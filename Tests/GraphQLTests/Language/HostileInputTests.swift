import GQLRunTestSupport
import Testing

@testable import GQLRunLanguage

@Suite struct HostileInputTests {
  private static let document = """
    "d" query Q($a: [T!]! = {b: [1, -2.5e3, "x\\u{1F600}\\uD83D\\uDE00", true, null, E]} @d) {
      a: b(c: $a, d: \"\"\"\n  block \\\"\"\" é\n   x\n\"\"\") @s(t: 1) { ...F ... on T { x } }
    }
    fragment F on T @d { y }
    schema @d { query: Q }
    "o" type A implements B & C @d { "f" f(x: Int = 1): [A!]! @d }
    union U = A | B  enum E { X @d }  input I { a: Int }  scalar S
    directive @d(a: Int) repeatable on FIELD | ENUM
    extend interface B { g: Int } # end 😀
    """

  @Test func `every prefix of a document parses or has an error at its end or before`() {
    let bytes = Array(Self.document.utf8)
    for length in 0...bytes.count {
      let prefix = Array(bytes.prefix(length))
      do throws(GraphQLSyntaxError) {
        _ = try Document(parsingUTF8: prefix)
      } catch {
        #expect(error.location.offset <= length)
      }
    }
  }

  @Test func `no mutation of a document crashes, and what parses prints and parses again`() throws {
    let original = Array(Self.document.utf8)
    let salt = Array("{}()[]\"\\$@!|&:=.#-+eE019 \n\r\tunion\u{0}".utf8) + [0xFF, 0xC3, 0xEF]
    var random = SeededRandom(42)
    var parsed = 0
    for _ in 0..<6_000 {
      var bytes = original
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        let index = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: bytes[index] = salt.randomElement(using: &random) ?? 0
        case 1: bytes.remove(at: index)
        case 2: bytes.insert(salt.randomElement(using: &random) ?? 0, at: index)
        default:
          let end = Int.random(in: index..<min(index + 40, bytes.count), using: &random)
          bytes.append(contentsOf: bytes[index...end])
        }
      }
      do throws(GraphQLSyntaxError) {
        let document = try Document(parsingUTF8: bytes)
        parsed += 1
        let printed = document.printed()
        #expect(try Document(parsing: printed).printed() == printed)
      } catch {
        #expect(error.location.offset <= bytes.count)
      }
    }
    #expect(parsed > 100)
  }

  @Test(arguments: [
    ("", "{a"), ("{", "...{"), ("{", "...on T{"), ("{a(b:", "["), ("{a(b:", "{c:"),
    ("query($a:", "["), ("query($a:T=", "["), ("type A{b(c:Int=", "["), ("scalar S@d(a:", "{b:"),
  ])
  func `nesting beyond the limit is an error`(opening: String, level: String) {
    let error = syntaxError(opening + String(repeating: level, count: 100_000))
    #expect(
      error?.message
        == "Syntax Error: Document is nested more than 256 levels deep. Parsing aborted.")
  }

  @Test func `nesting up to the limit parses and prints`() throws {
    let source =
      String(repeating: "{a", count: 256) + String(repeating: "}", count: 256)
    let document = try Document(parsing: source)
    #expect(try Document(parsing: document.printed()).structure == document.structure)
    let options = ParseOptions(maxDepth: 2)
    #expect(throws: Never.self) { try Document(parsing: "{ a { b } c { d } }", options: options) }
    #expect(syntaxError("{ a { b { c } } }", options: options)?.location.column == 9)
  }

  @Test func `tokens beyond the limit are an error`() {
    let options = ParseOptions(maxTokens: 5)
    #expect(throws: Never.self) { try Document(parsing: "{ a b c }", options: options) }
    #expect(
      syntaxError("{ a b c d }", options: options)?.description
        == "1:11: Syntax Error: Document contains more than 5 tokens. Parsing aborted.")
  }

  @Test func `parsing examines each byte and takes each token a few times`() throws {
    let count = 40_000
    let strings = String(repeating: "a(b:\"\"\"\n x\n\"\"\") # é\n", count: count)
    let source = Array("{\(strings)}".utf8)
    let (examined, tokens) = try Parser.parse(source, options: ParseOptions()) {
      parser throws(GraphQLSyntaxError) in
      _ = try parser.document()
      return (parser.lexer.examined, parser.tokenCount)
    }
    #expect(examined >= source.count && examined <= 2 * source.count, "\(examined)")
    #expect(tokens == 2 + 6 * count)
  }
}
