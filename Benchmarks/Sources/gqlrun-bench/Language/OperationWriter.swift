import GQLRunLanguage

/// Writes operations that are valid against a schema, whatever schema it is: the same ones every time.
struct OperationWriter {
  private let schema: Schema
  private var random = Random(seed: 17)

  init(_ schema: Schema) { self.schema = schema }

  func operations(_ count: Int) -> [String] {
    var writer = self
    return (0..<count).map { writer.operation($0) }
  }

  private mutating func operation(_ number: Int) -> String {
    guard let root = schema.rootType(for: .query) else { return "{ __typename }" }
    return "query Q\(number) { \(selections(of: root.name, depth: 4)) }"
  }

  private mutating func selections(of name: String, depth: Int) -> String {
    var parts = ["__typename"]
    if let fields = schema.type(named: name)?.fields {
      let usable = fields.filter { $0.arguments.allSatisfy { !$0.isRequired } }
      for index in 0..<min(usable.count, 5) {
        let field = usable[random.below(usable.count)]
        // A name of its own, so that no two selections have to agree.
        if let text = selection(of: field, as: "f\(depth)_\(index)", depth) { parts.append(text) }
      }
    } else if let member = schema.possibleTypes(of: name).first, depth > 0 {
      parts.append("... on \(member) { \(selections(of: member, depth: depth - 1)) }")
    }
    return parts.joined(separator: " ")
  }

  private mutating func selection(
    of field: FieldDefinition, as alias: String, _ depth: Int
  ) -> String? {
    guard let type = schema.namedType(of: field.type) else { return nil }
    guard type.isComposite else { return "\(alias): \(field.name.value)" }
    guard depth > 0 else { return nil }
    return "\(alias): \(field.name.value) { \(selections(of: type.name, depth: depth - 1)) }"
  }
}

/// Writes a schema with every kind of type, for machines that have no published one at hand.
enum SchemaWriter {
  /// 3000 object types, with the rest that belongs to them, are 1.2 MB.
  static func schema(types: Int) -> String {
    var text = "interface Node { \"The identity.\" id: ID! }\ntype Query { node(id: ID!): Node"
    for number in 0..<types { text += " type\(number)(first: Int = 10): Type\(number)" }
    text += " }\n"
    for number in 0..<types {
      let next = (number * 7 + 1) % types
      text += """
        \"""
        What number \(number) is about, told in a sentence or two, as published schemas do.
        \"""
        type Type\(number) implements Node {
          id: ID!
          "The name."
          name(style: Style\(number % 50) = A): String!
          next(first: Int, after: String, filter: Filter\(number % 200)): Type\(next)
          members: [Member\(number % 100)!]! @deprecated(reason: "Ask for `next`.")
          score: Float
        }

        """
    }
    for number in 0..<min(50, types) { text += "enum Style\(number) { A B C }\n" }
    for number in 0..<min(200, types) {
      text += "input Filter\(number) { ids: [ID!] not: Filter\(number) text: String = \"x\" }\n"
    }
    for number in 0..<min(100, types) {
      text += "union Member\(number) = Type\(number) | Type\((number + 1) % types)\n"
    }
    return text
  }
}
