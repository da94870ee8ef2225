import Dispatch
import Foundation
import GQLRunLanguage
import GQLRunTestSupport
import Testing

@Suite struct HostileValidationTests {
  private func schema() throws -> Schema {
    try Schema(
      sdl: try Document(
        parsing: """
          type Query { f(a: Int): Query g: Query i: I a: Int b: Int list: [Query] }
          interface I { f: I a: Int }
          type A implements I { f: I a: Int b: Int }
          type B implements I { f: I a: Int b: String }
          """))
  }

  private func fragments(
    _ count: Int, _ name: String = "F", _ body: (Int) -> String
  ) -> String {
    (0..<count).map { "fragment \(name)\($0) on Query { \(body($0)) }" }
      .joined(separator: "\n")
  }

  /// Validates with a limit of steps that only work out of proportion to the text exceeds.
  private func errors(_ source: String, stepsPerByte: Int = 8) throws -> [ValidationError] {
    let options = ValidationOptions(maxSteps: stepsPerByte * source.utf8.count)
    return try Document(parsing: source).validate(against: schema(), options: options)
  }

  @Test func `a field selected many times is compared in linear time`() throws {
    #expect(try errors("{ " + String(repeating: "a ", count: 50_000) + "}").isEmpty)
    #expect(try errors("{ " + String(repeating: "f { a } ", count: 30_000) + "}").isEmpty)
    let aliases = (0..<20_000).map { "f { x\($0): a }" }.joined(separator: " ")
    #expect(try errors("{ \(aliases) }").isEmpty)
  }

  @Test func `a conflict amongst many fields is found, and errors end at the limit`() throws {
    let errors = try errors("{ x: b " + String(repeating: "x: a ", count: 20_000) + "}")
    #expect(errors.count == 101)
    #expect(errors.first?.locations.map(\.column) == [3, 8])
    #expect(errors.last?.rule == .limit)
    #expect(
      errors.last?.message
        == "Too many validation errors, error limit reached. Validation aborted.")
  }

  @Test func `fragments that spread others several times do not multiply`() throws {
    let chain = fragments(300) { $0 == 299 ? "a" : "f { ...F\($0 + 1) } f { ...F\($0 + 1) b }" }
    #expect(try errors("{ ...F0 } \(chain)").isEmpty)
    let siblings = fragments(300) { $0 == 299 ? "a" : "...F\($0 + 1) f { a ...F\($0 + 1) }" }
    #expect(try errors("{ ...F0 } \(siblings)").isEmpty)
    let conflict = fragments(60) {
      $0 == 59 ? "x: a" : "f { ...F\($0 + 1) } f { ...F\($0 + 1) f { x: b } }"
    }
    #expect(try !errors("{ ...F0 } \(conflict)").isEmpty)
  }

  @Test func `sets of fragments that change at every level do not take a step for each pair`()
    throws
  {
    func source(_ count: Int, _ last: String) -> String {
      let siblings = fragments(count) {
        $0 == count - 1 ? "a" : "...F\($0 + 1) f { a ...F\($0 + 1) }"
      }
      let beside = fragments(count, "G") { $0 == count - 1 ? last : "f { b ...G\($0 + 1) }" }
      return "{ ...F0 ...G0 } \(siblings)\n\(beside)"
    }
    #expect(try errors(source(4_000, "a")).isEmpty)
    let found = try errors(source(60, "a: b"))
    #expect(found.contains { $0.rule == .overlappingFieldsCanBeMerged })
    // Both operations use the fragment, and do not meet.
    let apart = "query A { ...F f { x: a } } query B { ...F f { x: b } } "
    #expect(try errors(apart + "fragment F on Query { f { c: a } }").isEmpty)
  }

  @Test func `objects that exclude each other do not multiply`() throws {
    func level(_ depth: Int) -> String {
      guard depth > 0 else { return "a" }
      let inner = level(depth - 1)
      return "f { \(inner) } ... on A { f { ... on B { f { a } } \(depth % 2 == 0 ? "a" : "") } }"
    }
    #expect(try errors("{ i { \(level(60)) } }").isEmpty)
    #expect(
      try errors("{ i { ... on A { x: b } ... on B { x: b } } }").map(\.message).first?
        .hasPrefix("Fields 'x' conflict because they return conflicting types 'Int' and 'String'")
        == true)
  }

  @Test func `chains of fragments can be as long as a document`() throws {
    let chain = fragments(40_000) { $0 == 39_999 ? "a" : "...F\($0 + 1)" }
    #expect(try errors("{ ...F0 } \(chain)").isEmpty)
    let circle = fragments(40_000) { "...F\($0 == 39_999 ? 0 : $0 + 1)" }
    let error = try #require(try errors("{ ...F0 } \(circle)").first)
    #expect(error.message.hasPrefix("Cannot spread fragment 'F0' within itself via 'F1', 'F2'"))
    #expect(error.locations.count == 1_000)
    let deep = fragments(3_000) { $0 == 2_999 ? "a x: b" : "f { ...F\($0 + 1) }" }
    #expect(try errors("{ ...F0 } \(deep)").isEmpty)
    let deepConflict = fragments(3_000) { $0 == 2_999 ? "x: b" : "f { ...F\($0 + 1) }" }
    #expect(
      try !errors(
        "{ ...F0 ...G0 } \(deepConflict)"
          + deepConflict.split(separator: "\n").joined(separator: "\n")
          .split(separator: "F").joined(separator: "G").split(separator: "x: b")
          .joined(separator: "x: a")
      ).isEmpty)
  }

  @Test func `every rule terminates for fragments that contain themselves`() throws {
    let source = "{ f { ...F x: a } } fragment F on Query { x: b f { ...F f { ...F } } }"
    let messages = try errors(source).map(\.message)
    #expect(messages.contains("Cannot spread fragment 'F' within itself."))
    #expect(messages.contains { $0.hasPrefix("Fields 'x' conflict because 'a' and 'b'") })
  }

  @Test func `introspection through fragments does not multiply`() throws {
    let chain = (0..<60)
      .map { "fragment T\($0) on __Type { ...T\($0 + 1) ...T\($0 + 1) ofType { ...T\($0 + 1) } }" }
      .joined(separator: "\n")
    let source = "{ __schema { types { ...T0 } } } \(chain) fragment T60 on __Type { name }"
    #expect(try errors(source).isEmpty)
  }

  @Test func `many operations that use many fragments end at the limit`() throws {
    let operations = (0..<4_000).map { "query Q\($0) { ...F0 }" }.joined(separator: "\n")
    let chain = fragments(4_000) { $0 == 3_999 ? "a" : "...F\($0 + 1)" }
    let options = ValidationOptions(maxSteps: 1_000_000)
    let errors = try Document(parsing: "\(operations) \(chain)")
      .validate(against: schema(), options: options)
    #expect(
      errors.map(\.message) == [
        "Document needs more than 1000000 validation steps. Validation aborted."
      ])
    #expect(ValidationOptions().maxSteps == 10_000_000)
  }

  @Test func `validation fits the stack that parsing fits`() throws {
    func nested(_ inner: String) -> String {
      String(repeating: "{ f ", count: 254) + "{ \(inner) }" + String(repeating: "}", count: 254)
    }
    let chain = fragments(600) { $0 == 599 ? "x: b" : "f { ...F\($0 + 1) }" }
    let other = fragments(600) { $0 == 599 ? "x: a" : "f { ...G\($0 + 1) }" }
      .replacing("fragment F", with: "fragment G")
    let schema = try schema()
    #if DEBUG
      let stack = 2 << 20
    #else
      let stack = 512 << 10
    #endif
    for source in [
      "query A \(nested("a")) query B \(nested("x: a x: b"))",
      "query A { f \(nested("x: a")) f \(nested("x: b")) }",
      "{ ...F0 ...G0 } \(chain) \(other)",
    ] {
      let document = try Document(parsing: source, options: ParseOptions(maxDepth: 260))
      let done = DispatchSemaphore(value: 0)
      let thread = Thread {
        #expect(!document.validate(against: schema).isEmpty)
        done.signal()
      }
      thread.stackSize = stack
      thread.start()
      done.wait()
    }
  }

  @Test func `values nested deeply are validated`() throws {
    let nested = String(repeating: "[", count: 250) + "1" + String(repeating: "]", count: 250)
    #expect(try errors("{ f(a: \(nested)) { a } }").count == 1)
  }

  @Test func `documents created in code need no distinct locations`() throws {
    let nowhere = GQLRunLanguage.SourceLocation(line: 1, column: 1, offset: 0)
    func field(_ name: String, _ alias: String? = nil, _ inner: [Selection] = []) -> Selection {
      .field(
        Field(
          alias: alias.map { Name($0, at: nowhere) }, name: Name(name, at: nowhere),
          selectionSet: inner.isEmpty ? nil : SelectionSet(selections: inner, location: nowhere),
          location: nowhere))
    }
    let operation = OperationDefinition(
      type: .query, name: nil, variables: [], directives: [],
      selectionSet: SelectionSet(
        selections: [
          field("f", nil, [field("a", "x")]), field("g", nil, [field("b", "x")]),
          field("f", nil, [field("b", "x")]),
        ],
        location: nowhere),
      location: nowhere)
    let errors = Document(definitions: [.operation(operation)]).validate(against: try schema())
    #expect(errors.count == 1)
    #expect(errors.first?.locations.count == 4)
  }

  @Test func `no mutation of a document crashes its validation`() throws {
    let original = Array(
      """
      query Q($a: Int = 1, $b: [Int!]) @skip(if: true) { x: f(a: $a) { ...F @include(if: $b) }
        i { ... on A { b } ... on B { f { a } } } __schema { types { fields { name } } } }
      fragment F on Query { list { a b ...G } } fragment G on Query { g { ...F } }
      subscription { a ...F } type T @d { a(b: Int = 1): [T!] } extend schema { query: T }
      """.utf8)
    let salt = Array("{}()[]\"$@!:=. \nQFGABabfi0".utf8)
    var random = SeededRandom(7)
    let schema = try schema()
    var validated = 0
    for _ in 0..<3_000 {
      var bytes = original
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        let index = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<3, using: &random) {
        case 0: bytes[index] = salt.randomElement(using: &random) ?? 0
        case 1: bytes.remove(at: index)
        default:
          let end = Int.random(in: index..<min(index + 40, bytes.count), using: &random)
          bytes.insert(contentsOf: Array(bytes[index...end]), at: index)
        }
      }
      guard let document = try? Document(parsingUTF8: bytes) else { continue }
      validated += 1
      for error in document.validate(against: schema) + document.validateWithoutSchema()
        + document.validateTypeSystem() + document.warnings(against: schema)
      {
        #expect(error.locations.allSatisfy { $0.offset <= bytes.count })
        #expect(!error.message.isEmpty)
      }
    }
    #expect(validated > 300)
  }
}
