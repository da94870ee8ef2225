import GQLRunGenerator
import GQLRunLanguage
import Testing

@Suite("Options of the generator")
struct GeneratorOptionsTests {
  private static let sdl = """
    scalar Money
    scalar Moment
    enum Color { DARK_RED blue_green @deprecated(reason: "Say \\"teal\\".") }
    input Paint { base_color: Color! price: Money }
    type Query { walls(paint: Paint, since: Moment): [Wall!]! }
    type Wall { id: ID! base_color: Color price: Money built_at: Moment }
    """

  private func files(
    _ options: GeneratorOptions,
    _ document: String = """
    query Walls($paint: Paint) { walls(paint: $paint) { id base_color price built_at } }
    """
  ) throws -> [String: String] {
    let files = try generate(document, sdl: Self.sdl, options: options)
    return Dictionary(uniqueKeysWithValues: files.map { ($0.path, $0.text) })
  }

  @Test("access levels are on every declaration, and internal is the absence of one")
  func access() throws {
    let internals = try files(GeneratorOptions())
    #expect(!internals.values.contains { $0.contains("public") || $0.contains("package") })
    let packages = try files(GeneratorOptions(access: .package))
    #expect(packages["Operations/WallsQuery.swift"]?.contains("package struct WallsQuery") == true)
    #expect(packages["Operations/WallsQuery.swift"]?.contains("\nimport GQLRunTyped") == true)
    let publics = try files(GeneratorOptions(access: .public))
    #expect(publics["SchemaTypes.swift"]?.contains("public enum Color") == true)
    #expect(publics["SchemaTypes.swift"]?.contains("public import GQLRunTyped") == true)
  }

  @Test("a Swift type for a scalar that the schema does not have is a warning")
  func unknownScalars() throws {
    let schema = try Schema(sdl: Document(parsing: Self.sdl))
    func warnings(_ scalars: [String: String]) -> [String] {
      Generator(schema: schema, options: GeneratorOptions(scalars: scalars)).warnings
    }
    #expect(warnings(["Money": "Decimal", "Moment": "Foundation.Date"]).isEmpty)
    #expect(
      warnings(["Monny": "Decimal", "Color": "Shade", "String": "Text"]) == [
        "the schema has no custom scalar `Color`; its Swift type Shade is not used",
        "the schema has no custom scalar `Monny`; its Swift type Decimal is not used; did you mean `Money`?",
        "the schema has no custom scalar `String`; its Swift type Text is not used",
      ])
  }

  @Test("names are converted as the options say; response keys are unchanged")
  func naming() throws {
    let camel = try #require(
      files(GeneratorOptions(fields: .camel))["Operations/WallsQuery.swift"])
    #expect(camel.contains("let baseColor: Color?"))
    #expect(camel.contains("object.read(\"base_color\", \"Color\")"))
    let schema = try #require(files(GeneratorOptions(enumCases: .verbatim))["SchemaTypes.swift"])
    #expect(schema.contains("case DARK_RED"))
    #expect(schema.contains("var base_color: Color"))
    let plain = try #require(files(GeneratorOptions())["SchemaTypes.swift"])
    #expect(plain.contains("case darkRed"))
    #expect(plain.contains("case \"DARK_RED\": self = .darkRed"))
    #expect(plain.contains("@available(*, deprecated, message: \"Say \\\"teal\\\".\")"))
  }

  @Test("scalars have the Swift types of the options, and their modules are imported where needed")
  func scalars() throws {
    let files = try files(
      GeneratorOptions(scalars: ["Money": "Money", "Moment": "Foundation.Date"], imports: ["Shop"]))
    let schema = try #require(files["SchemaTypes.swift"])
    #expect(schema.contains("typealias Moment = Foundation.Date"))
    #expect(schema.contains("import Foundation\n"))
    #expect(!schema.contains("typealias Money"))
    let operation = try #require(files["Operations/WallsQuery.swift"])
    #expect(operation.contains("let price: Money?"))
    #expect(operation.contains("import Shop\n"))
    #expect(!operation.contains("import Foundation"))
  }

  @Test(
    "the modules in a Swift type of a scalar are imported, at any depth",
    arguments: [
      ("[Shop.Money]", ["GQLRunTyped", "Shop"]), ("Shop.Money?", ["GQLRunTyped", "Shop"]),
      ("Tagged<Shop.User, Bank.Money>", ["Bank", "GQLRunTyped", "More", "Shop"]),
      ("[Price]", ["GQLRunTyped", "More"]), ("Shop.Money", ["GQLRunTyped", "Shop"]),
    ])
  func nestedModules(_ type: String, _ modules: [String]) throws {
    let files = try files(
      GeneratorOptions(scalars: ["Money": type, "Moment": "JSONValue"], imports: ["More"]),
      "query Walls { walls { price } }")
    let schema = try #require(files["SchemaTypes.swift"])
    let imports = schema.split(separator: "\n").filter { $0.hasPrefix("import ") }
      .map(String.init)
    #expect(imports == modules.map { "import \($0)" })
    #expect(schema.contains("typealias Money = \(type)\n"))
  }

  @Test("types of the schema and operations have different names in Swift")
  func differentNames() throws {
    let sdl = """
      enum user_status { A }
      enum UserStatus { A }
      enum Result { A }
      enum ResultEnum { A }
      input SearchQuery { text: String }
      scalar day_time
      scalar DayTime
      type Query {
        search(q: SearchQuery): Int a: user_status b: UserStatus c: Result d: ResultEnum e: day_time f: DayTime
      }
      """
    let document = "query Search($q: SearchQuery) { search(q: $q) a b c d e f }"
    let files = try generate(
      document, sdl: sdl, options: GeneratorOptions(scalars: ["day_time": "Int"]))
    let types = files.flatMap { $0.text.split(separator: "\n") }.compactMap { line -> String? in
      let words = line.split(separator: " ").prefix(2)
      guard !line.hasPrefix(" "), ["enum", "struct", "typealias"].contains(words[0]) else {
        return nil
      }
      return words.joined(separator: " ")
    }
    #expect(
      types == [
        "struct SearchQuery:", "enum UserStatusEnum:", "enum UserStatus:", "enum ResultEnum:",
        "enum ResultEnumEnum:",
        "struct SearchQueryInput:", "typealias DayTime",
      ])
    let operation = try #require(files.first?.text)
    for line in [
      "var q: GraphQLNullable<SearchQueryInput> = .absent\n", "let a: UserStatusEnum?\n",
      "let b: UserStatus?\n",
      "let c: ResultEnum?\n", "let d: ResultEnumEnum?\n", "let e: Int?\n", "let f: DayTime?\n",
    ] {
      #expect(operation.contains(line), "\(line)")
    }
  }

  @Test("a selection set does not hide the module in the Swift type of a scalar")
  func hiddenModule() throws {
    let files = try generate(
      "query Q { shop { day } list { day } }",
      sdl: "scalar Date type Query { shop: Shop list: Shop } type Shop { day: Date }",
      options: GeneratorOptions(scalars: ["Date": "[Shop.Day]"]))
    let text = try #require(files.first?.text)
    #expect(text.contains("let shop: ShopObject?\n"))
    #expect(text.contains("struct ShopObject: GraphQLObject {\n"))
    #expect(text.contains("let list: List?\n"))
    #expect(text.ranges(of: "let day: [Shop.Day]?\n").count == 2)
  }

  @Test("types of the schema may be in another module")
  func modules() throws {
    let files = try files(GeneratorOptions(access: .public, schemaModule: "WallTypes"))
    #expect(files["Operations/WallsQuery.swift"]?.contains("public import WallTypes") == true)
    #expect(files["SchemaTypes.swift"]?.contains("import WallTypes") == false)
  }

  @Test("only used types of the schema are generated")
  func used() throws {
    let files = try files(GeneratorOptions(), "query Walls { walls { id } }")
    #expect(files.keys.sorted() == ["Operations/WallsQuery.swift"])
  }

  @Test("a deprecation with the reason null deprecates nothing")
  func nullReason() throws {
    let files = try generate(
      "query AB { a b }", sdl: "type Query { a: Int @deprecated(reason: null) b: Int @deprecated }")
    let text = try #require(files.first?.text)
    #expect(text.contains("let a: Int?"))
    #expect(text.ranges(of: "@available(*, deprecated").count == 1)
  }

  @Test(
    "the private property of a deprecated field has a name that no other property and no accessor has"
  )
  func deprecatedNames() throws {
    let sdl = """
      type Query { a: Int @deprecated _a: Int read(i: In): Int @deprecated b: Int @deprecated }
      input In { a: Int @deprecated _a: Int }
      """
    let files = try generate("query Q($i: In) { a _a read(i: $i) b }", sdl: sdl)
    let text = files.map(\.text).joined()
    for line in [
      "var a: Int? { __a }\n", "private let __a: Int?\n", "let _a: Int?\n", "var b: Int? { _b }\n",
      "var read: Int? { __read }\n", "\"a\": __a, \"_a\": _a, \"read\": __read, \"b\": _b",
      "private var __a: GraphQLNullable<Int>\n", "var _a: GraphQLNullable<Int> = .absent\n",
    ] {
      #expect(text.contains(line), "\(line)")
    }
  }

  @Test(
    "a field does not replace a property of the runtime's protocols",
    arguments: ["isAbsent", "is_absent"])
  func witnesses(_ name: String) throws {
    let files = try generate(
      "query Q($i: In) { a(i: $i) { \(name) } }",
      sdl: "type Query { a(i: In): Query \(name): Boolean! } input In { \(name): Boolean! }",
      options: GeneratorOptions(fields: .camel))
    let text = files.map(\.text).joined()
    let property = name == "isAbsent" ? "isAbsent_" : name
    #expect(!text.contains("isAbsent: Bool"))
    #expect(text.contains("let \(property): Bool\n"))
    #expect(text.contains("\(property): object.read(\"\(name)\", \"Boolean!\")"))
    #expect(text.contains("var \(property): Bool\n"))
    #expect(text.contains("object.write(\"\(name)\", \(property))"))
  }

  @Test("the type of an operation has the name of no protocol of the runtime")
  func reservedOperation() throws {
    let files = try files(GeneratorOptions(), "query GraphQL { walls { id } }")
    let text = try #require(files["Operations/GraphQLQueryOperation.swift"])
    #expect(text.contains("struct GraphQLQueryOperation: GraphQLQuery {\n"))
    #expect(text.contains("static let operationName = \"GraphQL\"\n"))
  }

  @Test("conformances may be those of all types")
  func conformances() throws {
    let files = try files(GeneratorOptions(conformances: [.hashable, .identifiable]))
    let operation = try #require(files["Operations/WallsQuery.swift"])
    #expect(operation.contains("struct Wall: GraphQLObject, Hashable, Identifiable {"))
    #expect(operation.contains("struct Data: GraphQLObject, Hashable {"))
    #expect(
      files["SchemaTypes.swift"]?.contains("struct Paint: GraphQLInputObject, Hashable {") == true)
  }

  @Test("a comment directive is above its definition, whatever the lines before it have")
  func commentLines() throws {
    for start in [
      "", "# a\u{2028}b\u{85}\n", "# a\u{0C}\r",
      "\"\"\"a\u{0B}\r\nb\"\"\" query A { walls { id } }\r",
    ] {
      let document = "\(start)# gqlrun: hashable\r\nquery Walls { walls { id } }"
      let files = try generate(document, sdl: Self.sdl)
      #expect(
        files.last?.text.contains("struct Data: GraphQLObject, Hashable {") == true, "\(start)")
    }
  }

  @Test("the edition is a year of the project file")
  func edition() throws {
    #expect(try GeneratorOptions(settings: ["edition": ["2025"]]).edition == .september2025)
    #expect(try GeneratorOptions(settings: [:]).edition == .newest)
    let error = #expect(throws: GenerationFailure.self) {
      try GeneratorOptions(settings: ["edition": ["2024"]])
    }
    #expect(error?.description == "`edition` cannot be \"2024\"; use 2021, 2025, 2026")
  }
}
