import GQLRunCache
import GQLRunJSON
import GQLRunSupport

@testable import GQLRunGenerator
@testable import GQLRunLanguage

/// Documents: parsed, printed and parsed again; without ignored characters; validated without a schema.
@Sendable func fuzzDocuments(_ input: FuzzInput) throws {
  guard let document = try? Document(parsingUTF8: input.bytes) else {
    _ = try? strippingIgnoredCharacters(of: input.text)
    return
  }
  let printed = document.printed()
  let again = outcome { try Document(parsing: printed) }
  guard let other = try? again.get() else { fail("printed text is refused: \(again)\n\(printed)") }
  expectEqual(other.printed(), printed, of: "printed again")
  expectEqual(shape(other), shape(document), of: "parsed again")
  let stripped = try strippingIgnoredCharacters(of: input.text)
  expectEqual(try Document(parsing: stripped).printed(), printed, of: "without ignored characters")
  expectEqual(try strippingIgnoredCharacters(of: stripped), stripped, of: "stripped twice")
  expectEqual(
    other.validateWithoutSchema().map(\.message), document.validateWithoutSchema().map(\.message),
    of: "errors without a schema")
  _ = document.warnings(against: nil)
  _ = document.validateTypeSystem()
}

/// The strings of a document, which printing may not change.
private func shape(_ document: Document) -> [String] {
  var strings: [String] = []
  func collect(_ value: Value) {
    switch value {
    case .string(let string): strings.append(string.value)
    case .list(let values, _): values.forEach(collect)
    case .object(let fields, _): for field in fields { collect(field.value) }
    case .int(let text, _), .float(let text, _): strings.append(text)
    default: break
    }
  }
  func collect(_ selection: Selection) {
    switch selection {
    case .field(let field):
      strings.append(field.responseKey)
      for argument in field.arguments { collect(argument.value) }
      field.selectionSet?.selections.forEach(collect)
    case .inlineFragment(let fragment): fragment.selectionSet.selections.forEach(collect)
    case .fragmentSpread(let spread): strings.append(spread.name.value)
    }
  }
  for definition in document.definitions {
    strings.append(definition.name?.value ?? "")
  }
  for operation in document.operations {
    for variable in operation.variables { variable.defaultValue.map(collect) }
    operation.selectionSet.selections.forEach(collect)
  }
  for fragment in document.fragments { fragment.selectionSet.selections.forEach(collect) }
  return strings
}

/// A schema with every kind of type.
let sampleSchema: Schema = {
  do { return try Schema(sdl: Document(parsing: sampleSDL)) } catch { fail("\(error)") }
}()

private let sampleTypeFacts = TypeFacts(sampleSchema)

let sampleSDL = """
  directive @tag(name: String! = "x") repeatable on FIELD | FRAGMENT_SPREAD | INLINE_FRAGMENT | QUERY
  scalar Money
  scalar Date @specifiedBy(url: "https://example.org")
  interface Node { id: ID! }
  interface Named implements Node { id: ID! name(lang: Lang = EN): String }
  enum Lang { EN PT DE @deprecated }
  type User implements Named & Node {
    id: ID! name(lang: Lang = EN): String friends(first: Int = 10, after: String): [User!]! best: User
    posts(filter: Filter): [Post] money: Money since: Date @deprecated(reason: "no")
  }
  type Post implements Node { id: ID! title: String! author: User! related: [Content!] grid: [[Int!]!] }
  type Tag { name: String! }
  union Content = User | Post | Tag
  input Filter { text: String = "a" tags: [String!] range: Range not: Filter lang: Lang }
  input Range { from: Int! = 0 to: Int }
  input One @oneOf { a: Int b: String }
  type Query {
    me: User user(id: ID!): User node(id: ID!): Node search(text: String!, one: One): [Content!]!
    named: Named posts(filter: Filter, ids: [ID!]): [Post!] count(a: Int, b: Float): Int!
  }
  type Mutation { add(filter: Filter!): Post }
  type Subscription { added(id: ID): Post ticks: Int }
  """

/// Documents against a schema: no crash, the same errors after printing, and a plan for whatever is valid.
@Sendable func fuzzValidation(_ input: FuzzInput) throws {
  guard let document = try? Document(parsingUTF8: input.bytes) else { return }
  let errors = document.validate(against: sampleSchema).map(\.message)
  let printed = try Document(parsing: document.printed())
  expectEqual(printed.validate(against: sampleSchema).map(\.message), errors, of: "printed errors")
  _ = document.warnings(against: sampleSchema)
  _ = document.validateForClient(against: sampleSchema)
  // A plan is made of documents that were not validated, too.
  for facts in [nil, sampleTypeFacts] {
    for name in document.operations.prefix(3).map({ $0.name?.value }) {
      let prepared = try? PreparedOperation(document: document, operationName: name, facts: facts)
      guard let prepared else { continue }
      let sent = outcome { try Document(parsing: prepared.document) }
      guard let sent = try? sent.get() else { fail("a document to send is refused: \(sent)") }
      if errors.isEmpty, facts != nil {
        expectEqual(
          sent.validate(against: sampleSchema).map(\.message), [], of: "errors of what is sent")
      }
    }
  }
}

/// Schemas: printed, introspected and read again; without changes.
@Sendable func fuzzSchemas(_ input: FuzzInput) throws {
  guard let document = try? Document(parsingUTF8: input.bytes) else { return }
  _ = document.validateTypeSystem(extending: sampleSchema)
  guard let schema = try? Schema(sdl: document) else { return }
  let printed = schema.printed()
  let again = outcome { try Schema(sdl: Document(parsing: printed)) }
  guard let other = try? again.get() else {
    fail("a printed schema is refused: \(again)\n\(printed)")
  }
  expectEqual(other.printed(), printed, of: "printed again")
  expectEqual(other.changes(from: schema).map(\.description), [], of: "changes")
  let introspected = outcome { try Schema(introspection: schema.introspection) }
  guard let introspected = try? introspected.get() else {
    fail("an introspected schema is refused: \(introspected)\n\(printed)")
  }
  // Introspection has no directives that are applied, apart from the standard ones.
  expectEqual(
    introspected.changes(from: schema).filter { $0.severity == .breaking }.map(\.description), [],
    of: "changes by introspection")
  _ = schema.changes(from: sampleSchema)
  _ = sampleSchema.changes(from: schema)
}

/// Introspection results: any JSON is refused or becomes a schema that can be printed.
@Sendable func fuzzIntrospection(_ input: FuzzInput) throws {
  guard let value = try? JSONValue(parsing: input.bytes) else { return }
  guard let schema = try? Schema(introspection: introspection(value)) else { return }
  let printed = schema.printed()
  let again = outcome { try Schema(sdl: Document(parsing: printed)).printed() }
  expectEqual(try? again.get(), printed, of: "printed: \(again)")
}

private func introspection(_ value: JSONValue) -> IntrospectionValue {
  switch value {
  case .null: .null
  case .boolean(let flag): .boolean(flag)
  case .number(let number): .number(number.text)
  case .string(let text): .string(text)
  case .array(let elements): .list(elements.map(introspection))
  case .object(let object):
    .object(Dictionary(object.map { ($0.key, introspection($0.value)) }) { $1 })
  }
}

/// Generated code of valid documents and schemas: its brackets match, outside of literals and comments.
@Sendable func fuzzGenerator(_ input: FuzzInput) throws {
  let (first, second) = input.parts
  var schema = sampleSchema
  if !second.isEmpty {
    guard let own = try? Schema(sdl: Document(parsingUTF8: Array(second))) else { return }
    schema = own
  }
  let files = try? Generator(schema: schema).files(from: [(path: "a.graphql", text: Array(first))])
  for file in files ?? [] {
    if let problem = SwiftBrackets.problem(in: file.text) {
      fail("\(file.path): \(problem)\n\(file.text)")
    }
    SwiftBrackets.keep(file.text)
  }
}

/// Variables: any JSON and any text is refused or becomes a value that is read again.
@Sendable func fuzzVariables(_ input: FuzzInput) throws {
  let (first, second) = input.parts
  let reader = variablesReader
  let text = String(decoding: second, as: UTF8.self)
  let value = try? JSONValue(parsing: Array(first))
  for name in reader.names {
    if let value, let checked = try? reader.value(value, for: name) {
      expectEqual(try reader.value(checked, for: name), checked, of: "checked again")
    }
    for empty in VariableReader.Empty.allCases {
      if let read = try? reader.value(ofText: text, for: name, empty: empty) {
        expectEqual(try reader.value(read, for: name), read, of: "text \(name)")
      }
    }
    _ = reader.jsonSpelling(of: text, for: name)
  }
  let path = VariablePath(text)
  _ = try? reader.value(ofText: text, at: path)
  if let object = value?.objectValue {
    _ = try? PreparedOperation(document: variablesDocument, variables: object)
    _ = try? PreparedOperation(
      document: variablesDocument, variables: object, facts: sampleTypeFacts)
  }
}

private let variablesReader: VariableReader = {
  do { return try VariableReader(document: variablesDocument, schema: sampleSchema) } catch {
    fail("\(error)")
  }
}()

private let variablesDocument: Document = {
  do {
    return try Document(
      parsing: """
        query Q($id: ID! = 1, $n: Int, $f: Float, $b: Boolean, $s: String, $l: [Int!], $g: [[Float]],
          $filter: Filter, $lang: Lang = EN, $one: One, $m: Money)
        { user(id: $id) { id friends(first: $n, after: $s) { name(lang: $lang) @include(if: $b) } }
          posts(filter: $filter) { id } count(a: $n, b: $f) search(text: "a", one: $one) { __typename } }
        """)
  } catch { fail("\(error)") }
}()
