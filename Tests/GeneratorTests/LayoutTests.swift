import GQLRunGenerator
import GQLRunLanguage
import Testing

@Suite("Layout of generated files")
struct LayoutTests {
  /// The faults of a file: `12: a body starts with an empty line`.
  private func faults(_ text: String) -> [String] {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    var faults: [String] = []
    for (number, (line, next)) in zip(lines, lines.dropFirst()).enumerated() {
      func note(_ fault: String) { faults.append("\(number + 1): \(fault)") }
      if line.last == " " { note("a line ends with a space") }
      if line.contains("\t") { note("a tab") }
      if line.hasSuffix("{"), next.isEmpty { note("a body starts with an empty line") }
      if line.isEmpty, next.drop(while: { $0 == " " }).first == "}" {
        note("a body ends with an empty line")
      }
      // The text ends with a line break, which is not an empty line.
      if line.isEmpty, next.isEmpty { note("two empty lines") }
      if line == "}", !next.isEmpty { note("no empty line after a declaration") }
    }
    if lines.last != "" || lines.dropLast().last == "" {
      faults.append("the file does not end with one line break")
    }
    return faults
  }

  private func expectNoFaults(_ files: [GeneratedFile]) {
    #expect(!files.isEmpty)
    for file in files {
      let found = faults(file.text)
      #expect(found.isEmpty, "\(file.path): \(found)")
    }
  }

  @Test(
    "all documents have the layout of handwritten code",
    arguments: GeneratorOptions.Access.allCases, GeneratorOptions.Naming.allCases)
  func documents(access: GeneratorOptions.Access, naming: GeneratorOptions.Naming) throws {
    let options = GeneratorOptions(
      access: access, fields: naming, enumCases: naming,
      scalars: ["DateTime": "Foundation.Date", "JSON": "JSONValue"])
    expectNoFaults(
      try Generator(schema: Fixtures.schema(), options: options).files(from: Fixtures.documents()))
  }

  @Test("the name of a document and the texts of a schema cannot add lines of code")
  func hostile() throws {
    let text =
      #"a */ \" \"\"\" \\(fatalError()) \n import Evil \u2028 import Evil \u0000 \r import Evil"#
    let schema = try Schema(
      sdl: Document(
        parsing: """
          "\(text)" type Query { "\(text)" x(a: String = "\(text)"): String @deprecated(reason: "\(text)") e(i: I): E }
          "\(text)" enum E { "\(text)" A @deprecated(reason: "\(text)") self init Type }
          "\(text)" input I { "\(text)" default: String = "\(text)" x: Int }
          """))
    let files = try Generator(schema: schema, options: GeneratorOptions()).files(from: [
      (
        path: "a\nimport Evil\u{2028}\u{1b}.graphql",
        text: Array(
          ###"query Q($i: I) { x(a: "\###(text)") y: x(a: "\"\"\"##") e(i: $i) }"###.utf8)
      )
    ])
    #expect(files.count == 2)
    for file in files {
      #expect(!file.text.contains("\0"))
      // A U+2028 ends no line of Swift.
      for line in file.text.split(whereSeparator: { ["\n", "\r", "\r\n"].contains($0) }) {
        let code = line.drop { $0 == " " }
        #expect(!code.hasPrefix("import") || code == "import GQLRunTyped", "\(file.text)")
      }
      for line in file.text.split(separator: "\n") where line.hasPrefix("//") {
        #expect(!line.unicodeScalars.contains { $0.value < 0x20 || $0 == "\u{2028}" })
      }
    }
  }

  @Test("the label of a deferred fragment is any text, and becomes a name")
  func labels() throws {
    let sdl = """
      directive @defer(if: Boolean! = true, label: String) on FRAGMENT_SPREAD | INLINE_FRAGMENT
      type Query { node: Query a: Int }
      """
    let document = """
      query Q { node { ... @defer(label: "a-slow part; }") { a } ... @defer(label: "") { b: a }
        ... @defer(label: "a slow part") { c: a } ... @defer(label: "größe") { d: a } } }
      """
    let text = try #require(generate(document, sdl: sdl).first?.text)
    for line in [
      "let aSlowPart: Deferred<ASlowPart>\n", "let underscore: Deferred<TypeObject>\n",
      "let a_slow_part: Deferred<ASlowPartObject>\n", "let größe: Deferred<Größe>\n",
      "struct ASlowPart: GraphQLObject {\n",
    ] {
      #expect(text.contains(line), "\(text)")
    }
  }

  @Test(
    "types without a property have no empty line", arguments: GeneratorOptions.Access.allCases)
  func withoutProperties(access: GeneratorOptions.Access) throws {
    let sdl = """
      directive @defer(if: Boolean! = true, label: String) on FRAGMENT_SPREAD | INLINE_FRAGMENT
      type Query { node: Node }
      interface Node { id: ID! }
      interface Other { size: Int }
      type User implements Node { id: ID! }
      type Box implements Node & Other { id: ID! size: Int }
      """
    let files = try generate(
      "query Nothing { node { ... on User @defer { ... on Node { ... on Other { size } } } } }",
      sdl: sdl, options: GeneratorOptions(access: access))
    #expect(files.contains { $0.text.contains("throws -> Self { Self() }") })
    expectNoFaults(files)
  }

  @Test("faults are found")
  func control() {
    let text = "struct A {\n\n  let a: Int \n\n\n}\nstruct B {}"
    #expect(
      faults(text) == [
        "1: a body starts with an empty line", "3: a line ends with a space", "4: two empty lines",
        "5: a body ends with an empty line", "6: no empty line after a declaration",
        "the file does not end with one line break",
      ])
  }
}
