import GQLRunLanguage
import Testing

@Suite struct ParsingTests {
  /// Recorded with graphql-core 3.2.8, whose language is that of September 2025.
  @Test(Shared.whenPresent)
  func `every recorded document is accepted or rejected as by the reference`() throws {
    let vectors: [ParseVector] = try Shared.lines("parse.jsonl")
    #expect(vectors.count > 400)
    let options = ParseOptions(edition: .september2025)
    for vector in vectors {
      if vector.ok == true {
        #expect(throws: Never.self, "\(vector.source)") {
          try Document(parsing: vector.source, options: options)
        }
        #expect(throws: Never.self, "\(vector.source)") { try Document(parsing: vector.source) }
      } else {
        let error = syntaxError(vector.source, options: options)
        #expect(error?.recorded == vector.error, "\(vector.source)")
        #expect(error.map { [[$0.location.line, $0.location.column]] } == vector.locations)
      }
    }
  }

  @Test func `an operation keeps every part and its location`() throws {
    let source = """
      query Q($id: ID! = "x" @d) @e {
        a: b(c: $id) @skip(if: true) { ...F ... on T { x } ... { y } }
      }
      """
    let document = try Document(parsing: source)
    let operation = try #require(document.operations.first)
    #expect(operation.type == .query)
    #expect(operation.name == Name("Q", at: .init(line: 1, column: 7, offset: 6)))
    let variable = try #require(operation.variables.first)
    #expect(variable.name == Name("id", at: .init(line: 1, column: 9, offset: 8)))
    #expect(variable.type.printed() == "ID!")
    #expect(variable.defaultValue?.printed() == "\"x\"")
    #expect(variable.directives.map(\.name.value) == ["d"])
    guard case .field(let field) = operation.selectionSet.selections[0] else {
      Issue.record("not a field")
      return
    }
    #expect(field.responseKey == "a")
    #expect(field.name.value == "b")
    #expect(field.location == .init(line: 2, column: 3, offset: 34))
    #expect(field.arguments.first?.value.variables.map(\.location.column) == [11])
    let kinds = field.selectionSet?.selections.map { selection in
      switch selection {
      case .field: "field"
      case .fragmentSpread: "spread"
      case .inlineFragment: "inline"
      }
    }
    #expect(kinds == ["spread", "inline", "inline"])
  }

  @Test func `operations, fragments and variables have descriptions`() throws {
    let document = try Document(
      parsing: """
        "what it asks"
        query Q("which one" $id: ID) { a }
        \"\"\"
        shared
        \"\"\"
        fragment F on T { b }
        """)
    #expect(document.operations.first?.description?.value == "what it asks")
    #expect(document.operations.first?.variables.first?.description?.value == "which one")
    #expect(document.fragments.first?.description?.value == "shared")
    #expect(document.fragments.first?.description?.isBlock == true)
  }

  @Test func `a description before a shorthand query or an extension is an error`() {
    #expect(
      syntaxError("\n \"x\" { a }")?.description
        == "2:6: Syntax Error: Unexpected '{'.")
    #expect(
      syntaxError("\"x\" extend type A { b: C }")?.message
        == "Syntax Error: Unexpected description, descriptions are supported only on type "
        + "definitions.")
  }

  @Test func `a type system document keeps every part`() throws {
    let document = try Document(
      parsing: """
        "root" schema @s { query: Q mutation: M }
        "an object" type A implements & B & C @d { "a field" f("an argument" x: Int = 1 @e): [A!]! @g }
        interface B implements C { f: A }
        union U @d = | A | B
        enum E { "a value" X @d Y }
        input I @oneOf { a: Int = 2 b: [I!] }
        scalar S @specifiedBy(url: "https://example.com")
        directive @d(a: Int) repeatable on | FIELD | ENUM_VALUE
        extend schema { subscription: T }
        extend union U = C
        """)
    let definitions = document.definitions.compactMap { definition in
      if case .typeSystem(let definition) = definition { definition } else { nil }
    }
    #expect(definitions.map(\.name?.value) == [nil, "A", "B", "U", "E", "I", "S", "d", nil, "U"])
    #expect(definitions.map(\.isExtension) == [Bool](repeating: false, count: 8) + [true, true])
    #expect(definitions[0].description?.value == "root")
    guard case .object(let object) = definitions[1], case .directive(let directive) = definitions[7]
    else {
      Issue.record("other kinds")
      return
    }
    #expect(object.interfaces.map(\.value) == ["B", "C"])
    #expect(object.fields[0].description?.value == "a field")
    #expect(object.fields[0].type.printed() == "[A!]!")
    #expect(object.fields[0].arguments[0].defaultValue?.printed() == "1")
    #expect(directive.isRepeatable)
    #expect(directive.locations == [.field, .enumValue])
  }

  @Test(
    arguments: [
      "{ a(b: 0123) }": "1:9: Syntax Error: Invalid number, unexpected digit after 0: '1'.",
      "{ a(b: 1.) }": "1:10: Syntax Error: Invalid number, expected digit but got: ')'.",
      "{ a(b: 1x) }": "1:9: Syntax Error: Invalid number, expected digit but got: 'x'.",
      "{ a(b: -) }": "1:9: Syntax Error: Invalid number, expected digit but got: ')'.",
      "{ a(b: 1e": "1:10: Syntax Error: Invalid number, expected digit but got: <EOF>.",
      "{ a(b: \"x\ny\") }": "1:10: Syntax Error: Unterminated string.",
      "{ a(b: \"\"\"x": "1:12: Syntax Error: Unterminated string.",
      #"{ a(b: "\q") }"#: #"1:9: Syntax Error: Invalid character escape sequence: '\q'."#,
      #"{ a(b: "\"#: #"1:9: Syntax Error: Invalid character escape sequence: '\'."#,
      #"{ a(b: "\u12") }"#: #"1:9: Syntax Error: Invalid Unicode escape sequence: '\u12")'."#,
      #"{ a(b: "\uDEAD") }"#: #"1:9: Syntax Error: Invalid Unicode escape sequence: '\uDEAD'."#,
      #"{ a(b: "\u{}") }"#: #"1:9: Syntax Error: Invalid Unicode escape sequence: '\u{}'."#,
      #"{ a(b: "\u{110000}") }"#:
        #"1:9: Syntax Error: Invalid Unicode escape sequence: '\u{110000}'."#,
      "{ a(b: 'x') }": "1:8: Syntax Error: Unexpected single quote character ('), "
        + "did you mean to use a double quote (\")?",
      "{ é }": "1:3: Syntax Error: Unexpected character: U+00E9.",
      "{ 😀 }": "1:3: Syntax Error: Unexpected character: U+1F600.",
      "{ a\u{0} }": "1:4: Syntax Error: Unexpected character: U+0000.",
      "{ .. }": "1:3: Syntax Error: Unexpected character: '.'.",
      "": "1:1: Syntax Error: Unexpected <EOF>.",
      "{ a(b: $) }": "1:9: Syntax Error: Expected Name, found ')'.",
      "query ($a: Int = [$b]) { c }":
        "1:19: Syntax Error: Unexpected variable '$b' in constant value.",
      "extend type A": "1:14: Syntax Error: Unexpected <EOF>.",
      "directive @a on WHERE": "1:17: Syntax Error: Unexpected Name 'WHERE'.",
    ] as [String: String])
  func `an error has a message and a source location`(source: String, description: String) {
    #expect(syntaxError(source)?.description == description)
  }

  @Test func `columns count scalars, and CR, LF and CRLF each end a line`() {
    let error = syntaxError("# é😀\r\n{ a(b: \"é😀\") # ü\r c: ? }")
    #expect(error?.location == .init(line: 3, column: 5, offset: 36))
    #expect(syntaxError("\u{FEFF}{ a(b: \"é😀\") ?")?.location.column == 15)
  }

  @Test func `a byte order mark is ignored`() throws {
    #expect(try Document(parsingUTF8: [0xEF, 0xBB, 0xBF] + "{ a }".utf8).operations.count == 1)
  }

  @Test func `invalid UTF-8 is an error at its location`() {
    for bytes: [UInt8] in [[0xFF], [0xC3], [0xED, 0xA0, 0x80], [0xF0, 0x9F, 0x98]] {
      let source = Array("{\n  a(b: \"é".utf8) + bytes + "\") }".utf8
      let error = #expect(throws: GraphQLSyntaxError.self) { try Document(parsingUTF8: source) }
      let digits = String(bytes[0], radix: 16, uppercase: true)
      #expect(
        error?.description == "2:10: Syntax Error: Invalid UTF-8: unexpected byte 0x\(digits).")
    }
  }

  @Test func `a value and a type parse on their own`() throws {
    #expect(try Value(parsing: " {a: [1, $b]} ").printed() == "{a: [1, $b]}")
    #expect(try TypeReference(parsing: "[ID!]!").namedType.value == "ID")
    #expect(throws: GraphQLSyntaxError.self) { try Value(parsing: "1 2") }
    #expect(throws: GraphQLSyntaxError.self) { try TypeReference(parsing: "") }
  }
}
