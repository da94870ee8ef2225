import GQLRunTestSupport
import Testing

@testable import GQLRunLanguage

/// Inputs that cannot have a finite value: https://github.com/graphql/graphql-spec/pull/1211
@Suite struct FiniteInputTests {
  private func issues(_ source: String) throws -> [String] {
    let schema = try Schema(unchecked: Document(parsing: source + " type Query { a: Int }"))
    return schema.validate().map { issue in
      issue.locations.map { "\($0.line):\($0.column)" }.joined(separator: " ") + " \(issue.message)"
    }
  }

  @Test(arguments: [
    SpecificationExample(
      "3.10 Circular References", "input Example { self: Example value: String }"),
    SpecificationExample(
      "3.10 Circular References", "input Example { self: [Example!]! value: String }"),
    SpecificationExample(
      "3.10 Circular References", "input Example { value: String self: Example! }",
      expected:
        "1:31 Input Object Example cannot be provided a finite value because it references itself "
        + "through fields: Example.self."),
    SpecificationExample(
      "3.10 Circular References",
      "input First { second: Second! value: String } input Second { first: First! value: String }",
      expected:
        "1:15 1:62 Input Object First cannot be provided a finite value because it references itself "
        + "through fields: First.second, Second.first."),
    SpecificationExample(
      "3.10 Circular References",
      "input First @oneOf { second: Second } input Second { first: First! }",
      expected:
        "1:22 1:54 Input Object First cannot be provided a finite value because it references itself "
        + "through fields: First.second, Second.first."),
    SpecificationExample(
      "3.10 Type Validation", "input A @oneOf { a: A }",
      expected:
        "1:18 Input Object A cannot be provided a finite value because it references itself through "
        + "fields: A.a."),
    SpecificationExample("3.10 Type Validation", "input A @oneOf { a: A b: Int }"),
    SpecificationExample("3.10 Type Validation", "input A @oneOf { a: [A] }"),
    SpecificationExample("3.10 Type Validation", "input A @oneOf { b: B } input B { a: A }"),
    SpecificationExample("3.10 Type Validation", "input A { b: B! } input B { c: [A!]! e: Int! }"),
    SpecificationExample(
      "3.10 Type Validation",
      "input A @oneOf { b: B c: C } input B { a: A! } input C { x: E! } enum E { V }"),
    SpecificationExample(
      "3.10 Type Validation",
      "input A @oneOf { a: A b: B } input B @oneOf { a: A b: B }",
      expected:
        "1:18 Input Object A cannot be provided a finite value because it references itself through "
        + "fields: A.a.",
      "1:23 1:47 Input Object A cannot be provided a finite value because it references itself "
        + "through fields: A.b, B.a.",
      "1:52 Input Object B cannot be provided a finite value because it references itself through "
        + "fields: B.b."),
    // One that only contains an impossible one is not reported: it is valid once the other is.
    SpecificationExample(
      "3.10 Type Validation", "input A { b: B! } input B { b: B! }",
      expected:
        "1:29 Input Object B cannot be provided a finite value because it references itself through "
        + "fields: B.b."),
    SpecificationExample(
      "3.10 Type Validation", "input A { a: Int } extend input A { self: A! }",
      expected:
        "1:37 Input Object A cannot be provided a finite value because it references itself through "
        + "fields: A.self."),
    SpecificationExample(
      "3.10 Type Validation", "input A @oneOf { self: A } extend input A { other: String }"),
  ])
  func `an input object has a finite value`(_ example: SpecificationExample) throws {
    #expect(try issues(example.source) == example.expected, "\(example.section)")
  }

  // MARK: - Random schemas

  private struct Input {
    struct Field {
      /// The index of the input object that is the type; `nil` for a scalar.
      var target: Int?
      var isList: Bool
      var isNonNull: Bool
    }

    var isOneOf: Bool
    var fields: [Field]
  }

  private func randomInputs(_ random: inout SeededRandom) -> [Input] {
    let count = 1 + random.upTo(6)
    return (0..<count).map { _ in
      let isOneOf = random.chance(45)
      return Input(
        isOneOf: isOneOf,
        fields: (0..<(1 + random.upTo(3))).map { _ in
          Input.Field(
            target: random.chance(80) ? random.upTo(count) : nil, isList: random.chance(10),
            isNonNull: !isOneOf && random.chance(60))
        })
    }
  }

  private func source(_ inputs: [Input], prefix: String) -> String {
    inputs.enumerated().map { index, input in
      let fields = input.fields.enumerated().map { number, field in
        let name = field.target.map { "\(prefix)\($0)" } ?? "Int"
        return "f\(number): \(field.isList ? "[\(name)]" : name)\(field.isNonNull ? "!" : "")"
      }
      return
        "input \(prefix)\(index)\(input.isOneOf ? " @oneOf" : "") { \(fields.joined(separator: " ")) }"
    }.joined(separator: "\n")
  }

  /// The algorithm of the specification, as it is written there.
  private func hasUnbreakableCycle(
    _ inputs: [Input], _ index: Int, visited: Set<Int> = []
  ) -> Bool {
    guard !visited.contains(index) else { return true }
    let visited = visited.union([index])
    func fieldHasCycle(_ field: Input.Field) -> Bool {
      guard !field.isList, let target = field.target else { return false }
      return hasUnbreakableCycle(inputs, target, visited: visited)
    }
    let input = inputs[index]
    if input.isOneOf { return input.fields.allSatisfy(fieldHasCycle) }
    return input.fields.contains { $0.isNonNull && fieldHasCycle($0) }
  }

  /// A value of at most this depth; `nil` if there is none.
  private func value(_ inputs: [Input], _ index: Int, depth: Int) -> String? {
    guard depth > 0 else { return nil }
    func value(_ field: Input.Field) -> String? {
      if field.isList { return "[]" }
      return field.target.map { self.value(inputs, $0, depth: depth - 1) } ?? "1"
    }
    let input = inputs[index]
    if input.isOneOf {
      for (number, field) in input.fields.enumerated() {
        if let value = value(field) { return "{f\(number): \(value)}" }
      }
      return nil
    }
    var members: [String] = []
    for (number, field) in input.fields.enumerated() where field.isNonNull {
      guard let value = value(field) else { return nil }
      members.append("f\(number): \(value)")
    }
    return "{\(members.joined(separator: ", "))}"
  }

  @Test func `20,000 random schemas have the input objects with values that a search finds`() throws
  {
    var random = SeededRandom(20_260_901)
    var impossible = 0
    for round in 0..<200 {
      // A hundred at a time: they do not refer to each other.
      let all = (0..<100).map { _ in randomInputs(&random) }
      let texts = all.enumerated().map { source($1, prefix: "S\($0)x") }
      var builder = SchemaBuilder(document: try Document(parsing: texts.joined(separator: "\n")))
      builder.build()
      let schema = builder.schema()
      let finite = FiniteInputs(schema)
      var isFinite = finite.isFinite[...]
      for (number, inputs) in all.enumerated() {
        let found = isFinite.popFirst(inputs.count)
        let hasValue = inputs.indices.map { value(inputs, $0, depth: inputs.count) != nil }
        let isBreakable = inputs.indices.map { !hasUnbreakableCycle(inputs, $0) }
        #expect(found == hasValue, "round \(round): \(texts[number])")
        #expect(found == isBreakable, "\(texts[number])")
        impossible += found.contains(false) ? 1 : 0
      }
      var validator = SchemaValidator(schema: schema)
      validator.checkFiniteInputs()
      #expect(validator.issues.isEmpty != finite.isFinite.contains(false))
    }
    // The schemas are of both kinds.
    #expect((4_000...16_000).contains(impossible), "\(impossible)")
  }

  @Test func `a chain of 200,000 input objects takes a step for each field`() {
    let count = 200_000
    func schema(last: Int?) -> Schema {
      let definitions = (0..<count).map { index -> Definition in
        let location = SourceLocation(line: 1, column: 1, offset: index)
        let next = index + 1 < count ? index + 1 : last
        let type = TypeReference.named(Name(next.map { "I\($0)" } ?? "Int", at: location))
        let isOneOf = index % 2 == 0
        return .typeSystem(
          .inputObject(
            InputObjectTypeDefinition(
              name: Name("I\(index)", at: location),
              directives: isOneOf ? [Directive("oneOf")] : [],
              fields: [
                InputValueDefinition(
                  name: Name("n", at: location), type: isOneOf ? type : .nonNull(type),
                  location: location)
              ], location: location)))
      }
      var builder = SchemaBuilder(document: Document(definitions: definitions))
      builder.build()
      return builder.schema()
    }
    let open = FiniteInputs(schema(last: nil))
    #expect(open.isFinite.allSatisfy { $0 })
    #expect(open.followed == count - 1)
    var validator = SchemaValidator(schema: schema(last: 0))
    validator.checkFiniteInputs()
    #expect(validator.issues.count == 1)
    #expect(
      validator.issues[0].message.hasPrefix("Input Object I0 cannot be provided a finite value"))
    #expect(validator.issues[0].message.hasSuffix(", and 199000 more."))
  }

  @Test func `cycles of which each is long are reported up to a limit`() throws {
    let count = 20_000
    let types = (0..<count).map { "input I\($0) { n: I\(($0 + 1) % count)! b: I0! }" }
    var builder = SchemaBuilder(document: try Document(parsing: types.joined(separator: " ")))
    builder.build()
    var validator = SchemaValidator(schema: builder.schema())
    validator.checkFiniteInputs()
    #expect(validator.issues.count == 100)
  }
}

extension ArraySlice {
  /// Removes the first elements, and returns them.
  fileprivate mutating func popFirst(_ count: Int) -> [Element] {
    let first = Array(prefix(count))
    removeFirst(count)
    return first
  }
}
