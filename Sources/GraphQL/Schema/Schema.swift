/// A type system: the operations that a server supports and the types of their results.
///
/// Every schema contains the standard scalars and directives and the introspection types. Lookups
/// take constant time.
///
/// https://spec.graphql.org/September2025/#sec-Schema
public struct Schema: Sendable {
  /// The description; `nil` if there is none.
  public let description: String?
  /// The directives applied to the schema definition.
  public let directives: [Directive]
  /// Harmless problems of the document: a repeated definition (the first is used), an invalid
  /// default value (removed), or one type as the root of several operation types.
  public internal(set) var warnings: [SchemaError.Issue]
  /// The names of the document's types in source order, without the standard ones.
  public let typeNames: [String]

  var types: [String: SchemaType]
  /// The definition and extensions of each type, in source order; empty for standard types.
  let definitions: [String: [TypeSystemDefinition]]
  /// The schema definition and its extensions, in source order.
  let parts: [SchemaDefinition]
  /// Standard scalars that the schema does not refer to; the reference implementation excludes
  /// them.
  let unreferencedScalars: Set<String>
  var directiveDefinitions: [String: DirectiveDefinition]
  /// The names of all directives: the document's in source order, then the standard ones.
  let directiveNamesInOrder: [String]
  let rootTypeNames: [OperationType: String]
  /// The possible object types of each interface and union, in source order.
  let possible: [String: [String]]
  /// The object types and interfaces that implement each interface or belong to each union.
  let subtypes: [String: Set<String>]
  /// The edition of the server whose introspection result the schema is made from, by the introspection types in it;
  /// `nil` for type definitions, and for a result without these types.
  public internal(set) var serverEdition: Edition?

  /// The type with that name, standard types included; `nil` if there is none.
  public func type(named name: String) -> SchemaType? { types[name] }

  /// The directive with that name (without `@`); `nil` if there is none.
  public func directive(named name: String) -> DirectiveDefinition? { directiveDefinitions[name] }

  /// The names of all directives, in alphabetical order.
  public var directiveNames: [String] { directiveDefinitions.keys.sorted() }

  /// The root operation type; `nil` if the schema does not support that type of operation.
  public func rootType(for operation: OperationType) -> ObjectType? {
    guard let name = rootTypeNames[operation], case .object(let type) = types[name] else {
      return nil
    }
    return type
  }

  /// The names of the possible object types: those that implement the interface or belong to the
  /// union, in source order; an object type's own name.
  public func possibleTypes(of name: String) -> [String] {
    if case .object = types[name] { return [name] }
    return possible[name] ?? []
  }

  /// Whether `name` is a subtype of `supertype`: the same type, an implementation or a member of
  /// it.
  public func isSubtype(_ name: String, of supertype: String) -> Bool {
    name == supertype || subtypes[supertype]?.contains(name) == true
  }

  /// Whether an object type exists that is possible for both types.
  public func doTypesOverlap(_ first: String, _ second: String) -> Bool {
    if first == second { return true }
    switch (possible[first], possible[second]) {
    case (nil, nil): return false
    case (_?, nil): return isSubtype(second, of: first)
    case (nil, _?): return isSubtype(first, of: second)
    case (let few?, let many?):
      let (shorter, longer) = few.count <= many.count ? (few, second) : (many, first)
      return shorter.contains { isSubtype($0, of: longer) }
    }
  }

  /// The field with that name on a type, including `__typename` on composite types and `__schema`
  /// and `__type` on the query root.
  public func field(_ name: String, on typeName: String) -> FieldDefinition? {
    guard let type = types[typeName] else { return nil }
    if let field = type.fields?[name] { return field }
    switch name {
    case "__typename": return type.isComposite ? BuiltIns.typenameField : nil
    case "__schema": return rootTypeNames[.query] == typeName ? BuiltIns.schemaField : nil
    case "__type": return rootTypeNames[.query] == typeName ? BuiltIns.typeField : nil
    case "__service" where types["__Service"] != nil:
      return rootTypeNames[.query] == typeName ? ServiceCapabilities.field : nil
    default: return nil
    }
  }

  /// The names of the standard scalars.
  public static let builtInScalars: Set<String> = ["Int", "Float", "String", "Boolean", "ID"]
}

extension Schema {
  /// The type inside all list and non-null wrappers; `nil` if the schema does not define it.
  public func namedType(of reference: TypeReference) -> SchemaType? {
    types[reference.namedType.value]
  }

  /// Whether a field of type `reference` is valid where one of type `supertype` is expected.
  ///
  /// https://spec.graphql.org/September2025/#IsSubType()
  public func isSubtype(_ reference: TypeReference, of supertype: TypeReference) -> Bool {
    reference.isSubtype(of: supertype) { isSubtype($0, of: $1) }
  }
}

extension TypeReference {
  /// Whether every value of this type is a value of `supertype`.
  ///
  /// - Parameter isSubtype: Whether every value of a named type is a value of another one.
  func isSubtype(
    of supertype: TypeReference, where isSubtype: (String, String) -> Bool = { $0 == $1 }
  ) -> Bool {
    switch (self, supertype) {
    case (.nonNull(let inner), .nonNull(let superInner)):
      inner.isSubtype(of: superInner, where: isSubtype)
    case (.nonNull(let inner), _): inner.isSubtype(of: supertype, where: isSubtype)
    case (_, .nonNull): false
    case (.list(let inner, _), .list(let superInner, _)):
      inner.isSubtype(of: superInner, where: isSubtype)
    case (.named(let name), .named(let superName)): isSubtype(name.value, superName.value)
    case (.list, .named), (.named, .list): false
    }
  }

  /// Whether both references denote the same type; source locations are ignored.
  public func isSameType(as other: TypeReference) -> Bool {
    switch (self, other) {
    case (.named(let name), .named(let otherName)): name.value == otherName.value
    case (.list(let inner, _), .list(let otherInner, _)): inner.isSameType(as: otherInner)
    case (.nonNull(let inner), .nonNull(let otherInner)): inner.isSameType(as: otherInner)
    default: false
    }
  }
}

extension FieldDefinition {
  /// The argument with that name; `nil` if there is none.
  public func argument(named name: String) -> InputValueDefinition? {
    arguments.first { $0.name.value == name }
  }

  /// The reason for the field's deprecation; `nil` if it is not deprecated.
  public var deprecationReason: String? { directives.deprecationReason }
}

extension EnumValueDefinition {
  /// The reason for the value's deprecation; `nil` if it is not deprecated.
  public var deprecationReason: String? { directives.deprecationReason }
}

extension InputValueDefinition {
  /// The reason for the deprecation of the argument or input field; `nil` if it is not deprecated.
  public var deprecationReason: String? { directives.deprecationReason }

  /// Whether a value is required: the type is non-null and there is no default value. A schema has
  /// no default values of the wrong type.
  public var isRequired: Bool { type.isNonNull && defaultValue == nil }
}

extension DirectiveDefinition {
  /// The reason for the directive's deprecation; `nil` if it is not deprecated.
  public var deprecationReason: String? { directives.deprecationReason }

  /// The argument with that name; `nil` if there is none.
  public func argument(named name: String) -> InputValueDefinition? {
    arguments.first { $0.name.value == name }
  }
}

extension [Directive] {
  static let defaultDeprecationReason = "No longer supported"

  /// In the reference implementation, `reason: null` does not deprecate.
  ///
  /// https://spec.graphql.org/September2025/#sec--deprecated
  var deprecationReason: String? {
    guard let directive = first(where: { $0.name.value == "deprecated" }) else { return nil }
    for argument in directive.arguments where argument.name.value == "reason" {
      switch argument.value {
      case .string(let reason): return reason.value
      case .null: return nil
      default: break
      }
    }
    return Self.defaultDeprecationReason
  }
}

extension Schema {
  /// The default value as servers print it: a single value as a list where the type is a list, and
  /// input objects with every field that has a value, in definition order; `nil` if there is no
  /// default value.
  func defaultValue(of definition: InputValueDefinition) -> Value? {
    guard let value = definition.defaultValue else { return nil }
    var filler = DefaultFiller(schema: self)
    return filler.filled(value, definition.type) ?? value
  }
}

private struct DefaultFiller {
  let schema: Schema
  /// A limit, because default values can contain each other or double with every level.
  var remaining = 10_000
  var depth = 0

  /// Returns `nil` if the value becomes too large.
  mutating func filled(_ value: Value, _ type: TypeReference) -> Value? {
    remaining -= 1
    guard remaining > 0, depth < 64 else { return nil }
    depth += 1
    defer { depth -= 1 }
    switch (type, value) {
    case (.nonNull(let inner), _):
      return filled(value, inner)
    case (_, .null), (_, .variable):
      return value
    case (.list(let item, _), .list(let values, let location)):
      var items: [Value] = []
      for value in values {
        guard let item = filled(value, item) else { return nil }
        items.append(item)
      }
      return .list(items, location)
    case (.list(let item, let location), _):
      return filled(value, item).map { .list([$0], location) }
    case (.named(let name), .object(let fields, let location)):
      guard case .inputObject(let input)? = schema.types[name.value] else { return value }
      return filled(fields, input).map { .object($0, location) }
    case (.named(let name), _):
      return scalar(value, name.value)
    }
  }

  private mutating func filled(_ fields: [ObjectField], _ input: InputObjectType) -> [ObjectField]?
  {
    var given: [String: ObjectField] = [:]
    for field in fields { given[field.name.value] = field }
    var all: [ObjectField] = []
    for definition in input.fields {
      let own = given[definition.name.value]
      guard let value = own?.value ?? definition.defaultValue else { continue }
      guard let filled = filled(value, definition.type) else { return nil }
      all.append(
        ObjectField(
          name: definition.name, value: filled, location: own?.location ?? definition.location))
    }
    return all
  }

  private func scalar(_ value: Value, _ type: String) -> Value {
    switch (type, value) {
    case ("ID", .string(let string)) where string.value.isIntegerLiteral:
      .int(string.value, string.location)
    case ("Float", .float(let text, let location)):
      .float(text.shortestFloat ?? text, location)
    case (_, .string(let string)):
      .string(StringValue(string.value, at: string.location))
    default: value
    }
  }
}

extension String {
  /// `-?(0|[1-9][0-9]*)`
  fileprivate var isIntegerLiteral: Bool {
    let digits = hasPrefix("-") ? dropFirst() : self[...]
    guard let first = digits.utf8.first, digits.utf8.allSatisfy(\.isDigit) else { return false }
    return first != UInt8(ascii: "0") || digits.utf8.count == 1
  }

  /// The number with at most six digits, like C's `%g`; `nil` if it needs more.
  fileprivate var shortestFloat: String? {
    guard let number = Double(self), number.isFinite else { return nil }
    if number == 0 { return hasPrefix("-") ? "-0" : "0" }
    var text = number.magnitude.description
    var exponent = 0
    if let mark = text.firstIndex(of: "e") {
      exponent = Int(text[text.index(after: mark)...]) ?? 0
      text = String(text[..<mark])
    }
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    var digits = Array(parts.joined().utf8)
    exponent += parts[0].utf8.count - 1
    while digits.first == UInt8(ascii: "0") {
      digits.removeFirst()
      exponent -= 1
    }
    while digits.last == UInt8(ascii: "0") { digits.removeLast() }
    guard digits.count <= 6 else { return nil }
    let sign = number < 0 ? "-" : ""
    let all = String(decoding: digits, as: UTF8.self)
    func zeros(_ count: Int) -> String { String(repeating: "0", count: count) }
    if exponent < -4 || exponent >= 6 {
      let magnitude = String(abs(exponent))
      return sign + all.prefix(1) + (all.count > 1 ? "." : "") + all.dropFirst() + "e"
        + (exponent < 0 ? "-" : "+") + (magnitude.count < 2 ? "0" : "") + magnitude
    }
    if exponent < 0 { return sign + "0." + zeros(-exponent - 1) + all }
    if all.count <= exponent + 1 { return sign + all + zeros(exponent + 1 - all.count) }
    return sign + all.prefix(exponent + 1) + "." + all.dropFirst(exponent + 1)
  }
}

/// A definition with a name: a field, an argument, an enum value.
public protocol NamedDefinition: Sendable, Hashable {
  /// The name.
  var name: Name { get }
}

extension FieldDefinition: NamedDefinition {}
extension InputValueDefinition: NamedDefinition {}
extension EnumValueDefinition: NamedDefinition {}

/// Definitions in source order, with lookup by name in constant time.
public struct NamedList<Element: NamedDefinition>: RandomAccessCollection, Sendable, Hashable {
  private let elements: [Element]
  private let positions: [String: Int]

  /// Creates a list; keeps the first of several elements with the same name.
  public init(_ elements: [Element]) {
    var known: [String: Int] = [:]
    known.reserveCapacity(elements.count)
    var kept: [Element] = []
    kept.reserveCapacity(elements.count)
    for element in elements where known[element.name.value] == nil {
      known[element.name.value] = kept.count
      kept.append(element)
    }
    self.elements = kept
    self.positions = known
  }

  /// The index of the first element.
  public var startIndex: Int { elements.startIndex }
  /// The index after the last element.
  public var endIndex: Int { elements.endIndex }
  /// The element at an index.
  public subscript(position: Int) -> Element { elements[position] }

  /// The element with that name; `nil` if there is none.
  public subscript(name: String) -> Element? { positions[name].map { elements[$0] } }

  /// The names in source order.
  public var names: [String] { elements.map(\.name.value) }
}

/// Why a document is not a valid schema: up to a hundred issues, in source order.
public struct SchemaError: Error, Sendable, Hashable, CustomStringConvertible {
  /// One problem of a schema, with its source locations.
  public struct Issue: Sendable, Hashable, CustomStringConvertible {
    /// The message, as in the reference implementation: `Unknown type 'Foo'. Did you mean 'Food'?`
    public var message: String
    /// The source locations, in the order of the reference implementation; empty if the issue
    /// concerns the whole document.
    public var locations: [SourceLocation]

    /// The first source location.
    public var location: SourceLocation? { locations.first }

    /// Creates an issue with at most one source location.
    public init(message: String, location: SourceLocation?) {
      self.init(message: message, locations: location.map { [$0] } ?? [])
    }

    /// Creates an issue.
    public init(message: String, locations: [SourceLocation]) {
      self.message = message
      self.locations = locations
    }

    /// `line:column: message`; the message alone without a source location.
    public var description: String {
      location.map { "\($0.line):\($0.column): \(message)" } ?? message
    }
  }

  /// The issues; never empty.
  public var issues: [Issue]

  /// Creates an error.
  public init(issues: [Issue]) {
    self.issues = issues
  }

  /// The issues, one per line.
  public var description: String { issues.map(\.description).joined(separator: "\n") }
}

extension [SchemaError.Issue] {
  /// At most a hundred issues in source order, those without a location last.
  func listed() -> [SchemaError.Issue] {
    let sorted = enumerated().sorted {
      let left = $0.element.location?.offset ?? .max
      let right = $1.element.location?.offset ?? .max
      return (left, $0.offset) < (right, $1.offset)
    }
    return sorted.prefix(100).map(\.element)
  }
}
