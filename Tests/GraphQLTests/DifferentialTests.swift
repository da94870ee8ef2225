import Foundation
import GQLRunLanguage
import Testing

/// The cases of `Tests/Differential/generate.py`: `make differential` makes them and runs this.
private enum Cases {
  static let path = ProcessInfo.processInfo.environment["GQLRUN_DIFFERENTIAL"]

  static let whenGiven: any SuiteTrait & TestTrait = ConditionTrait.enabled(
    if: path != nil, "no cases; make differential makes them with Python's graphql-core")
}

private struct Problem: Decodable, Hashable, Comparable, CustomStringConvertible {
  var message: String
  var locations: [[Int]]

  init(_ message: String, _ locations: [GQLRunLanguage.SourceLocation]) {
    self.message = message
    self.locations = locations.map { [$0.line, $0.column] }
  }

  var description: String { "\(locations) \(message)" }

  static func < (a: Problem, b: Problem) -> Bool { a.description < b.description }
}

private struct Change: Decodable, Hashable, Comparable, CustomStringConvertible {
  var kind: String
  var description: String

  static func < (a: Change, b: Change) -> Bool {
    (a.kind, a.description) < (b.kind, b.description)
  }
}

private struct Case: Decodable {
  var kind: String
  var source: String
  var schema: String?
  var problems: [Problem]?
  var text: String?
  var changes: [Change]?
  /// The rules to be checked, by name; all when it is not given.
  var rules: [String]?
  /// Whether no schema comes out of it.
  var refused: Bool?
}

@Suite(Cases.whenGiven) struct DifferentialTests {
  @Test func `graphql-core has the same errors for mutated documents and schemas`() throws {
    let path = try #require(Cases.path)
    let lines = try Data(contentsOf: URL(fileURLWithPath: path)).split(separator: 10)
    var judge = Judge()
    var differences: [String] = []
    var kinds: [String: Int] = [:]
    for line in lines {
      let test = try JSONDecoder().decode(Case.self, from: Data(line))
      guard let difference = judge.difference(test) else { continue }
      kinds[test.kind, default: 0] += 1
      differences.append(
        "=== \(test.kind)\n\(test.schema.map { "--- schema\n\($0)\n" } ?? "")--- source\n"
          + "\(test.source)\n\(difference)\n")
    }
    let report = URL(fileURLWithPath: path).deletingLastPathComponent()
      .appendingPathComponent("differences.txt")
    try Data(differences.joined(separator: "\n").utf8).write(to: report)
    let summary = kinds.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
    #expect(lines.count > 0)
    #expect(
      differences.isEmpty,
      "\(differences.count) of \(lines.count) differ (\(summary)); see \(report.path)")
  }
}

/// Compares what this library says with what was expected, by the edition of graphql-core 3.2.
private struct Judge {
  private static let edition = Edition.september2025
  private var schemas: [String: Schema] = [:]

  mutating func difference(_ test: Case) -> String? {
    do {
      if test.refused == true { return refusal(test) }
      if let expected = test.text { return compare(expected, try text(test)) }
      if let expected = test.changes { return try changes(test, expected) }
      return try compare(test.problems ?? [], problems(test))
    } catch {
      return "--- thrown\n\(error)"
    }
  }

  private func syntaxProblems(_ source: String) -> [Problem] {
    do throws(GraphQLSyntaxError) {
      _ = try parsed(source)
      return []
    } catch {
      return [Problem(error.recorded, [error.location])]
    }
  }

  private func parsed(_ source: String) throws(GraphQLSyntaxError) -> Document {
    try Document(parsing: source, options: ParseOptions(edition: Self.edition))
  }

  private func clientProblems(_ source: String) throws -> [Problem] {
    do {
      _ = try introspectedSchema(source)
      return []
    } catch let error as SchemaError {
      return error.issues.map { Problem($0.message, []) }
    }
  }

  private func refusal(_ test: Case) -> String? {
    guard let schema = try? introspectedSchema(test.source) else { return nil }
    return "--- expected to be refused, found\n\(schema.printed())"
  }

  private mutating func text(_ test: Case) throws -> String {
    switch test.kind {
    case "client": return try introspectedSchema(test.source).printed()
    case "extended":
      let parts = try [test.schema ?? "", test.source].map { try parsed($0).definitions }
      return try Schema(sdl: Document(definitions: Array(parts.joined()))).printed()
    case "print": return try parsed(test.source).printed()
    case "strip": return try strippingIgnoredCharacters(of: test.source)
    case "printed": return try schema(test.source).printed()
    default: return try Schema(introspection: schema(test.source).introspection).printed()
    }
  }

  private mutating func problems(_ test: Case) throws -> [Problem] {
    if test.kind == "parse" { return syntaxProblems(test.source) }
    if test.kind == "client" { return try clientProblems(test.source) }
    let document = try parsed(test.source)
    switch test.kind {
    case "sdl":
      return try document.validateTypeSystem(options: options(test, Self.typeSystemRules))
        .map { Problem($0.message, $0.locations) }
    case "schema": return try typeProblems(test.source)
    case "extend":
      return try document.validateTypeSystem(
        extending: schema(try #require(test.schema)),
        options: options(test, Self.typeSystemRules)
      ).map { Problem($0.message, $0.locations) }
    case "deprecated", "hidden":
      let rule: ValidationRule = test.kind == "hidden" ? .noSchemaIntrospection : .noDeprecated
      return try document.validate(
        against: schema(try #require(test.schema)), options: ValidationOptions(rules: [rule])
      ).map { Problem($0.message, $0.locations) }
    default:
      let schema = try schema(try #require(test.schema))
      // graphql-core 3.2 does not have this rule of the specification yet.
      let rules = ValidationRule.specified.filter { $0 != .knownOperationTypes }
      return try document.validate(against: schema, options: options(test, rules))
        .map { Problem($0.message, $0.locations) }
    }
  }

  /// Without the rule that graphql-core 3.2 does not have.
  private static let typeSystemRules = ValidationRule.typeSystem.filter {
    $0 != .noDirectiveDefinitionCycles
  }

  private func options(_ test: Case, _ rules: [ValidationRule]) throws -> ValidationOptions {
    ValidationOptions(
      rules: try test.rules?.map { try #require(ValidationRule(rawValue: $0)) } ?? rules)
  }

  private mutating func schema(_ source: String) throws -> Schema {
    if let known = schemas[source] { return known }
    let schema = try Schema(sdl: parsed(source))
    schemas[source] = schema
    return schema
  }

  private func typeProblems(_ source: String) throws -> [Problem] {
    let document = try parsed(source)
    let schema: Schema
    do throws(SchemaError) {
      schema = try Schema(unchecked: document, ignoring: [.noDirectiveDefinitionCycles])
    } catch {
      return error.issues.map { Problem($0.message, $0.locations) }
    }
    return schema.validate(edition: Self.edition).map {
      Problem(Self.formerMessage($0.message), $0.locations)
    }
  }

  /// graphql-core 3.2 reports an input object without a finite value in other words.
  private static func formerMessage(_ message: String) -> String {
    let middle = " cannot be provided a finite value because it references itself through fields: "
    guard let range = message.range(of: middle), message.hasPrefix("Input Object ") else {
      return message
    }
    let name = message[..<range.lowerBound].dropFirst("Input Object ".count)
    let fields = message[range.upperBound...].dropLast().components(separatedBy: ", ").map {
      $0.split(separator: ".").last ?? ""
    }
    return
      "Cannot reference Input Object '\(name)' within itself through a series of non-null fields: "
      + "'\(fields.joined(separator: "."))'."
  }

  private func changes(_ test: Case, _ wanted: [Change]) throws -> String? {
    // Schemas are compared even where they are not valid.
    let old = try Schema(unchecked: parsed(try #require(test.schema)))
    let own: Set<SchemaChange.Kind> = [
      .rootTypeChanged, .oneOfAdded, .inputFieldBecameRequired, .directiveArgumentBecameRequired,
      .directiveArgumentChangedKind, .inputFieldDefaultValueChange,
      .directiveArgumentDefaultValueChange, .typeAddedToInterface,
    ]
    let found = try Schema(unchecked: parsed(test.source)).changes(from: old)
      .filter { $0.severity != .safe && !own.contains($0.kind) }
      .map { change in
        // The reference implementation takes it for one of the dangerous changes of default values.
        guard change.kind == .argumentBecameRequired else {
          return Change(kind: change.kind.rawValue, description: change.description)
        }
        return Change(
          kind: SchemaChange.Kind.argumentDefaultValueChange.rawValue,
          description: change.description.replacing(", so a value is required.", with: "."))
      }
    return compare(
      wanted.sorted().map { "\($0.kind) \($0.description)" }.joined(separator: "\n"),
      found.sorted().map { "\($0.kind) \($0.description)" }.joined(separator: "\n"))
  }

  /// The order in which the types of a schema are looked at is not part of what is compared.
  private func compare(_ expected: [Problem], _ found: [Problem]) -> String? {
    compare(
      expected.sorted().map(\.description).joined(separator: "\n"),
      found.sorted().map(\.description).joined(separator: "\n"))
  }

  private func compare(_ expected: String, _ found: String) -> String? {
    Array(expected.utf8) == Array(found.utf8)
      ? nil : "--- expected\n\(expected)\n--- found\n\(found)"
  }
}
