import Foundation
import GQLRunLanguage
import Testing

@Suite struct ValidationTests {
  private static let schemaSource = """
    type Query { dog: Dog pet: Pet any: CatOrDog args(of: Filter, list: [Int!], one: One): Int
      old(gone: Int @deprecated): Int @deprecated(reason: "never again") }
    type Subscription { news: Int more: Int }
    interface Pet { name(long: Boolean = false): String mood: Mood }
    type Dog implements Pet { name(long: Boolean = false): String mood: Mood barks: Boolean friend: Dog }
    type Cat implements Pet { name(long: Boolean = false): String mood: Mood lives: Int }
    union CatOrDog = Cat | Dog
    enum Mood { CALM ANGRY @deprecated }
    input Filter { name: String! age: Int = 3 old: Int @deprecated(reason: "too old") }
    input One @oneOf { a: Int b: String }
    directive @many repeatable on FIELD
    """

  static func schema() throws -> Schema { try Schema(sdl: try Document(parsing: schemaSource)) }

  private func errors(_ source: String, _ rules: [ValidationRule]? = nil) throws -> [String] {
    let options = rules.map { ValidationOptions(rules: $0) } ?? ValidationOptions()
    return try Document(parsing: source).validate(against: Self.schema(), options: options)
      .map(\.description)
  }

  // MARK: - Incremental delivery

  @Test(
    arguments: [
      "{ list @stream(label: \"a\") ... @defer(label: \"b\") { one } }": [],
      "{ list @stream(label: \"a\") ... @defer(label: \"a\") { one } }": [
        "1:8, 1:32: Defer/Stream directive label argument must be unique."
      ],
      "query($l: String) { ... @defer(label: $l) { one } }": [
        "1:25: Defer directive label argument must be a static string."
      ],
      "{ one @stream }": [
        "1:7: Stream directive cannot be used on non-list field 'one' on type 'Query'."
      ],
      "mutation { list @stream ...F } fragment F on Mutation { ... @defer { one } }": [
        "1:17: Stream directive cannot be used on root mutation type 'Mutation'.",
        "1:61: Defer directive cannot be used on root mutation type 'Mutation'.",
      ],
      "mutation { query { ... @defer { one } } }": [],
      "subscription { ...F @defer } fragment F on Subscription { one }": [
        "1:21: Defer directive cannot be used on root subscription type 'Subscription'."
      ],
    ] as [String: [String]])
  func `@defer and @stream follow the rules of graphql-js`(
    source: String, expected: [String]
  ) throws {
    let types = """
      type Query { one: Int list: [Int]! }
      type Mutation { one: Int list: [Int] query: Query }
      type Subscription { one: Int }
      directive @defer(if: Boolean! = true, label: String) on FRAGMENT_SPREAD | INLINE_FRAGMENT
      directive @stream(if: Boolean! = true, label: String, initialCount: Int! = 0) on FIELD
      """
    let schema = try Schema(sdl: Document(parsing: types))
    let found = try Document(parsing: source).validate(against: schema).map { error in
      error.locations.map { "\($0.line):\($0.column)" }.joined(separator: ", ")
        + ": \(error.message)"
    }
    #expect(found == expected)
  }

  // MARK: - The reference implementation

  @Test(Shared.whenPresent)
  func `recorded validations have the same errors at the same locations`() throws {
    let vectors: [ValidationVector] = try Shared.lines("validate.jsonl")
    for (number, vector) in vectors.enumerated() {
      let schema = try Schema(sdl: try Document(parsing: vector.schema))
      let document = try Document(parsing: vector.document)
      var options = ValidationOptions()
      var own: [any RuleVisitor] = []
      if let rules = vector.rules {
        options.rules = rules.compactMap(ValidationRule.init)
        if rules == ["CustomRule"] { own = [ReportingDirectives()] }
        #expect(options.rules.count + own.count == rules.count, "line \(number): \(rules)")
      }
      let errors = document.validate(schema, options: options, own: own)
      #expect(errors.map(\.message) == vector.errors.map(\.message), "line \(number)")
      let locations = errors.map { $0.locations.map { [$0.line, $0.column] } }
      #expect(locations == RecordedLocations.byLine[number] ?? [], "line \(number)")
      // The document is the recorded source in another layout, so places keep their order.
      let pairs = zip(locations.joined(), vector.errors.flatMap(\.locations)).map(Moved.init)
      #expect(locations.map(\.count) == vector.errors.map(\.locations.count), "line \(number)")
      for (a, b) in zip(pairs.sorted(), pairs.sorted().dropFirst()) {
        #expect(a.keepsOrder(with: b), "line \(number): \(a), \(b)")
      }
    }
  }

  private struct Moved: Comparable {
    var coordinate: [Int]
    var recorded: [Int]

    static func < (a: Moved, b: Moved) -> Bool {
      a.coordinate.lexicographicallyPrecedes(b.coordinate)
    }

    func keepsOrder(with next: Moved) -> Bool {
      coordinate == next.coordinate
        ? recorded == next.recorded : recorded.lexicographicallyPrecedes(next.recorded)
    }
  }

  private final class ReportingDirectives: RuleVisitor {
    func enter(directive: Directive, at _: DirectiveLocation, _ context: ValidationContext) {
      let name = context.types.directive.map { "@\($0.name.value)" } ?? "None"
      context.report(.knownDirectives, "Reporting directive: \(name)", at: directive.location)
    }
  }

  // MARK: - Rules that the recorded validations say little of

  @Test(
    arguments: [
      "subscription { news @skip(if: true) ...F } fragment F on Subscription { more @include(if: true) }":
        [
          "1:21: Anonymous Subscription must not use `@skip` or `@include` directives in the top "
            + "level selection."
        ],
      "{ dog { name @many @many } }": [],
      "{ dog { name @skip(if: true) @skip(if: true) } }": [
        "1:14: The directive '@skip' can only be used once at this location."
      ],
      "{ args(one: {a: 1}) }": [],
      "{ args(one: {a: 1, b: null}) }": [
        "1:13: OneOf Input Object 'One' must specify exactly one key."
      ],
      "{ args(one: {b: null}) }": ["1:13: Field 'One.b' must be non-null."],
      "{ args(of: {name: \"a\", size: 1}) }": [
        "1:24: Field 'size' is not defined by type 'Filter'."
      ],
      "query($d: Dog) { dog { name(long: $d) } }": [
        "1:11: Variable '$d' cannot be non-input type 'Dog'.",
        "1:7: Variable '$d' of type 'Dog' used in position expecting type 'Boolean'.",
      ],
      "query A { pet { ...F } } fragment F on Dog { ...G } fragment G on Cat { lives }": [
        "1:46: Fragment 'G' cannot be spread here as objects of type 'Dog' can never be of type "
          + "'Cat'."
      ],
      "mutation { dog }": ["1:1: The mutation operation is not supported by the schema."],
      "fragment F on Query { args(one: {a: $x}) } query A($x: Int) { ...F } query B($x: Int!) { ...F }":
        ["1:52: Variable 'x' must be non-nullable to be used for OneOf Input Object 'One'."],
      "{ dog { ...Missing } }": ["1:12: Unknown fragment 'Missing'."],
      "query($a: Int!, $a: Int) { args(list: [$a]) }": [
        "1:8: There can be only one variable named '$a'.",
        "1:17: Variable '$a' of type 'Int' used in position expecting type 'Int!'.",
      ],
    ] as [String: [String]])
  func `an error has a message and a source location`(source: String, expected: [String]) throws {
    #expect(try errors(source) == expected)
  }

  @Test func `errors have all their locations and the name of the rule`() throws {
    let error = try #require(
      try Document(parsing: "query A { dog { x: name x: mood } }")
        .validate(against: Self.schema()).first)
    #expect(error.rule == .overlappingFieldsCanBeMerged)
    #expect(error.rule.rawValue == "OverlappingFieldsCanBeMergedRule")
    #expect(error.locations.map(\.column) == [17, 25])
  }

  @Test func `deprecated fields and anonymous operations are warnings`() throws {
    let document = try Document(
      parsing: "{ old(gone: 1) args(of: {name: \"a\", old: 1}) } query B { dog { mood } }")
    #expect(try errors("{ old(gone: 1) }") == [])
    #expect(
      document.warnings(against: try Self.schema()).map(\.description) == [
        "1:1: This query has no name; name it to identify it in logs and on the server.",
        "1:3: The field Query.old is deprecated. never again",
        "1:7: Field 'Query.old' argument 'gone' is deprecated. No longer supported",
        "1:37: The input field Filter.old is deprecated. too old",
      ])
    #expect(document.warnings(against: nil).count == 1)
  }

  // MARK: - Without a schema

  @Test(
    arguments: [
      "query A { x(y: $a) ...F } fragment F on T { z @unknown(a: $b) }": [
        "1:16: Variable '$a' is not defined by operation 'A'.",
        "1:59: Variable '$b' is not defined by operation 'A'.",
      ],
      "query A($v: Anything) { x } { y }": [
        "1:9: Variable '$v' is never used in operation 'A'.",
        "1:29: This anonymous operation must be the only defined operation.",
      ],
      "{ a ...F } fragment F on T { ...G } fragment G on T { ...F } fragment G on T { b }": [
        "1:46: There can be only one fragment named 'G'."
      ],
      "{ ...F } fragment F on T { a { ...F } } fragment G on T { a }": [
        "1:32: Cannot spread fragment 'F' within itself.",
        "1:41: Fragment 'G' is never used.",
      ],
      "query A @skip(if: true) { a @skip b @include(iff: true) @include(if: false) }": [
        "1:9: Directive '@skip' may not be used on query.",
        "1:29: Directive '@skip' argument 'if' of type 'Boolean!' is required, but it was not provided.",
        "1:37: The directive '@include' can only be used once at this location.",
        "1:46: Unknown argument 'iff' on directive '@include'. Did you mean 'if'?",
        "1:37: Directive '@include' argument 'if' of type 'Boolean!' is required, but it was not provided.",
      ],
      "query A { a(b: 1, b: {c: 1, c: 2}) } query A { a } type T { a: Int }": [
        "1:52: The 'T' definition is not executable.",
        "1:13: There can be only one argument named 'b'.",
        "1:23: There can be only one input field named 'c'.",
        "1:7: There can be only one operation named 'A'.",
      ],
    ] as [String: [String]])
  func `without a schema, the rules that need none are checked`(
    source: String, expected: [String]
  ) throws {
    let errors = try Document(parsing: source).validateWithoutSchema()
    #expect(errors.map(\.description) == expected)
  }

  // MARK: - Type systems

  @Test func `type systems are validated without a schema`() throws {
    let document = try Document(
      parsing: """
        schema { query: A query: B } schema { mutation: A } type A { a(b: Int b: Int): C a: Int }
        type A { b: String @deprecated(why: 1) } extend enum A { X } extend type D { a: Int }
        enum E { X X } directive @d(a: Int!) on ENUM directive @d on ENUM enum F @d @x { Y @d }
        """)
    #expect(
      document.validateTypeSystem().map(\.message) == [
        "There can be only one query type in schema.",
        "Unknown type 'B'. Did you mean 'A', 'E', or 'F'?",
        "Must provide only one schema definition.",
        "Field 'A.a' can only be defined once.",
        "Argument 'A.a(b:)' can only be defined once.",
        "Unknown type 'C'. Did you mean 'A', 'E', or 'F'?",
        "There can be only one type named 'A'.",
        "Unknown argument 'why' on directive '@deprecated'.",
        "Cannot extend non-enum type 'A'.",
        "Cannot extend type 'D' because it is not defined. Did you mean 'A', 'E', or 'F'?",
        "Enum value 'E.X' can only be defined once.",
        "There can be only one directive named '@d'.",
        "Unknown directive '@x'.",
        "Directive '@d' may not be used on enum value.",
      ])
  }

  @Test func `extensions of a schema cannot redefine its types`() throws {
    let document = try Document(
      parsing: "type Dog { a: Int } extend type Cat { lives: Int x: Mood } schema { query: Cat }")
    #expect(
      document.validateTypeSystem(extending: try Self.schema()).map(\.message) == [
        "Type 'Dog' already exists in the schema. It cannot also be defined in this type definition.",
        "Field 'Cat.lives' already exists in the schema. It cannot also be defined in this type extension.",
        "Cannot define a new schema within a schema extension.",
        "Type for query already defined in the schema. It cannot be redefined.",
      ])
  }
}
