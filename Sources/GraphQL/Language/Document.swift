/// A parsed GraphQL document: its definitions in source order.
///
/// https://spec.graphql.org/September2025/#sec-Document
public struct Document: Sendable, Hashable {
  /// The definitions in source order.
  public var definitions: [Definition]

  /// Creates a document.
  public init(definitions: [Definition]) {
    self.definitions = definitions
  }

  /// The operations of the document, in source order.
  public var operations: [OperationDefinition] {
    definitions.compactMap { if case .operation(let operation) = $0 { operation } else { nil } }
  }

  /// The fragments of the document, in source order.
  public var fragments: [FragmentDefinition] {
    definitions.compactMap { if case .fragment(let fragment) = $0 { fragment } else { nil } }
  }
}

/// One top-level definition.
public enum Definition: Sendable, Hashable {
  /// A query, mutation or subscription.
  case operation(OperationDefinition)
  /// A fragment.
  case fragment(FragmentDefinition)
  /// A definition or extension of a type, directive or schema.
  case typeSystem(TypeSystemDefinition)
}

/// The type of an operation; the raw value is its keyword.
public enum OperationType: String, Sendable, Hashable, CaseIterable {
  /// Reads data, changes data, or delivers a stream of results.
  case query, mutation, subscription
}

extension OperationType {
  /// The name of the root type of a schema that does not define the names.
  ///
  /// https://spec.graphql.org/September2025/#sec-Root-Operation-Types.Default-Root-Operation-Type-Names
  package var defaultRootName: String {
    switch self {
    case .query: "Query"
    case .mutation: "Mutation"
    case .subscription: "Subscription"
    }
  }

  /// An operation of this type in messages: `query Country`, `the anonymous query`.
  ///
  /// - Parameter name: The name of the operation; `nil` for an anonymous one.
  package func label(of name: String?) -> String {
    name.map { "\(rawValue) \($0)" } ?? "the anonymous \(rawValue)"
  }
}

/// A name with its source location.
public struct Name: Sendable, Hashable {
  /// The name.
  public var value: String
  /// The source location of its first token.
  public var location: SourceLocation

  /// Creates a name.
  public init(_ value: String, at location: SourceLocation) {
    self.value = value
    self.location = location
  }
}

/// https://spec.graphql.org/September2025/#sec-Language.Operations
public struct OperationDefinition: Sendable, Hashable {
  /// The description; `nil` if there is none.
  public var description: StringValue?
  /// Whether it is a query, a mutation or a subscription.
  public var type: OperationType
  /// `nil` for an anonymous operation.
  public var name: Name?
  /// The declared variables, in source order.
  public var variables: [VariableDefinition]
  /// The applied directives, in source order.
  public var directives: [Directive]
  /// The selected fields and fragments.
  public var selectionSet: SelectionSet
  /// Whether the operation is written in the short form `{ … }`.
  public var isShorthand: Bool
  /// The source location of its first token.
  public var location: SourceLocation

  /// Creates an operation.
  public init(
    description: StringValue? = nil, type: OperationType, name: Name?,
    variables: [VariableDefinition], directives: [Directive], selectionSet: SelectionSet,
    isShorthand: Bool = false, location: SourceLocation
  ) {
    self.description = description
    self.type = type
    self.name = name
    self.variables = variables
    self.directives = directives
    self.selectionSet = selectionSet
    self.isShorthand = isShorthand
    self.location = location
  }
}

/// A variable that an operation declares.
public struct VariableDefinition: Sendable, Hashable {
  /// The description; `nil` if there is none.
  public var description: StringValue?
  /// The name without `$`; its location is that of the `$`.
  public var name: Name
  /// The declared type.
  public var type: TypeReference
  /// The default value; `nil` if there is none.
  public var defaultValue: Value?
  /// The applied directives, in source order.
  public var directives: [Directive]
  /// The source location of its first token.
  public var location: SourceLocation

  /// Creates a variable definition.
  public init(
    description: StringValue? = nil, name: Name, type: TypeReference, defaultValue: Value?,
    directives: [Directive], location: SourceLocation
  ) {
    self.description = description
    self.name = name
    self.type = type
    self.defaultValue = defaultValue
    self.directives = directives
    self.location = location
  }
}

/// https://spec.graphql.org/September2025/#sec-Type-References
public indirect enum TypeReference: Sendable, Hashable {
  /// A type by name.
  case named(Name)
  /// A list of a type, with the location of its `[`.
  case list(TypeReference, SourceLocation)
  /// The wrapped reference is never itself non-null.
  case nonNull(TypeReference)
}

/// A fragment with a name.
public struct FragmentDefinition: Sendable, Hashable {
  /// The description; `nil` if there is none.
  public var description: StringValue?
  /// The name.
  public var name: Name
  /// The type that the fragment applies to.
  public var typeCondition: Name
  /// The applied directives, in source order.
  public var directives: [Directive]
  /// The selected fields and fragments.
  public var selectionSet: SelectionSet
  /// The source location of its first token.
  public var location: SourceLocation

  /// Creates a fragment.
  public init(
    description: StringValue? = nil, name: Name, typeCondition: Name, directives: [Directive],
    selectionSet: SelectionSet, location: SourceLocation
  ) {
    self.description = description
    self.name = name
    self.typeCondition = typeCondition
    self.directives = directives
    self.selectionSet = selectionSet
    self.location = location
  }
}

/// https://spec.graphql.org/September2025/#sec-Selection-Sets
public struct SelectionSet: Sendable, Hashable {
  /// The selections in source order; empty for `{ }`, which is not the same as a field without a selection set.
  public var selections: [Selection]
  /// The source location of its first token.
  public var location: SourceLocation

  /// Creates a selection set.
  public init(selections: [Selection], location: SourceLocation) {
    self.selections = selections
    self.location = location
  }
}

/// One entry of a selection set.
public indirect enum Selection: Sendable, Hashable {
  /// A field.
  case field(Field)
  /// A reference to a named fragment.
  case fragmentSpread(FragmentSpread)
  /// A selection set with an optional type condition.
  case inlineFragment(InlineFragment)
}

/// A field that an operation or fragment selects.
public struct Field: Sendable, Hashable {
  /// The name for the field in the response; `nil` if that is the field's own name.
  public var alias: Name?
  /// The name.
  public var name: Name
  /// The arguments, in source order.
  public var arguments: [Argument]
  /// The applied directives, in source order.
  public var directives: [Directive]
  /// The fields selected from the field's value, which may be none; `nil` for leaf fields.
  public var selectionSet: SelectionSet?
  /// The source location of its first token.
  public var location: SourceLocation

  /// Creates a field.
  public init(
    alias: Name? = nil, name: Name, arguments: [Argument] = [], directives: [Directive] = [],
    selectionSet: SelectionSet? = nil, location: SourceLocation
  ) {
    self.alias = alias
    self.name = name
    self.arguments = arguments
    self.directives = directives
    self.selectionSet = selectionSet
    self.location = location
  }

  /// The key of the field's value in the response: its alias, else its name.
  public var responseKey: String { alias?.value ?? name.value }
}

/// A reference to a named fragment: `...Name`.
public struct FragmentSpread: Sendable, Hashable {
  /// The name of the fragment.
  public var name: Name
  /// The applied directives, in source order.
  public var directives: [Directive]
  /// The source location of its first token.
  public var location: SourceLocation

  /// Creates a fragment spread.
  public init(name: Name, directives: [Directive], location: SourceLocation) {
    self.name = name
    self.directives = directives
    self.location = location
  }
}

/// A fragment without a name: `... on Type { … }`.
public struct InlineFragment: Sendable, Hashable {
  /// The type that the fragment applies to; `nil` for the enclosing type.
  public var typeCondition: Name?
  /// The applied directives, in source order.
  public var directives: [Directive]
  /// The selected fields and fragments.
  public var selectionSet: SelectionSet
  /// The source location of its first token.
  public var location: SourceLocation

  /// Creates an inline fragment.
  public init(
    typeCondition: Name?, directives: [Directive], selectionSet: SelectionSet,
    location: SourceLocation
  ) {
    self.typeCondition = typeCondition
    self.directives = directives
    self.selectionSet = selectionSet
    self.location = location
  }
}

/// A directive applied to a part of a document: `@name(arguments)`.
public struct Directive: Sendable, Hashable {
  /// The name without `@`.
  public var name: Name
  /// The arguments, in source order.
  public var arguments: [Argument]
  /// The source location of its first token.
  public var location: SourceLocation

  /// Creates a directive.
  public init(name: Name, arguments: [Argument] = [], location: SourceLocation) {
    self.name = name
    self.arguments = arguments
    self.location = location
  }
}

/// A named value for a field or directive.
public struct Argument: Sendable, Hashable {
  /// The name.
  public var name: Name
  /// The value.
  public var value: Value
  /// The source location of its first token.
  public var location: SourceLocation

  /// Creates an argument.
  public init(name: Name, value: Value, location: SourceLocation) {
    self.name = name
    self.value = value
    self.location = location
  }
}

/// An input value literal or a variable.
///
/// https://spec.graphql.org/September2025/#sec-Input-Values
public indirect enum Value: Sendable, Hashable {
  /// A variable: `$name`.
  case variable(Name)
  /// An integer literal. Its text is kept, so that integers of any size stay exact.
  case int(String, SourceLocation)
  /// A float literal. Its text is kept, so that decimals stay exact.
  case float(String, SourceLocation)
  /// A quoted string or a block string.
  case string(StringValue)
  /// `true` or `false`.
  case boolean(Bool, SourceLocation)
  /// `null`.
  case null(SourceLocation)
  /// An enum value.
  case enumeration(Name)
  /// A list of values.
  case list([Value], SourceLocation)
  /// An input object.
  case object([ObjectField], SourceLocation)
}

/// A string literal: its value, and whether it is a block string.
public struct StringValue: Sendable, Hashable {
  /// The value, with escape sequences and block string indentation resolved.
  public var value: String
  /// Whether the literal is a block string (`"""`).
  public var isBlock: Bool
  /// The source location of its first quote.
  public var location: SourceLocation

  /// Creates a string literal.
  public init(_ value: String, isBlock: Bool = false, at location: SourceLocation) {
    self.value = value
    self.isBlock = isBlock
    self.location = location
  }
}

/// A field of an input object literal.
public struct ObjectField: Sendable, Hashable {
  /// The name of the field.
  public var name: Name
  /// The value of the field.
  public var value: Value
  /// The source location of its first token.
  public var location: SourceLocation

  /// Creates a field.
  public init(name: Name, value: Value, location: SourceLocation) {
    self.name = name
    self.value = value
    self.location = location
  }
}

extension Value {
  /// The source location of the value's first token.
  public var location: SourceLocation {
    switch self {
    case .variable(let name), .enumeration(let name): name.location
    case .int(_, let location), .float(_, let location), .boolean(_, let location),
      .null(let location), .list(_, let location), .object(_, let location):
      location
    case .string(let string): string.location
    }
  }

  /// The names of the variables in the value, at any depth, in source order.
  public var variables: [Name] {
    switch self {
    case .variable(let name): [name]
    case .list(let values, _): values.flatMap(\.variables)
    case .object(let fields, _): fields.flatMap(\.value.variables)
    case .int, .float, .string, .boolean, .null, .enumeration: []
    }
  }

  /// Whether the value contains no variable.
  public var isConstant: Bool { variables.isEmpty }
}

extension TypeReference {
  /// The source location of the reference's first token.
  public var location: SourceLocation {
    switch self {
    case .named(let name): name.location
    case .list(_, let location): location
    case .nonNull(let inner): inner.location
    }
  }

  /// The name inside all list and non-null wrappers.
  public var namedType: Name {
    switch self {
    case .named(let name): name
    case .list(let inner, _), .nonNull(let inner): inner.namedType
    }
  }

  /// Whether the reference ends with `!`.
  public var isNonNull: Bool {
    if case .nonNull = self { true } else { false }
  }
}

extension Definition {
  /// The source location of the definition's first token.
  public var location: SourceLocation {
    switch self {
    case .operation(let operation): operation.location
    case .fragment(let fragment): fragment.location
    case .typeSystem(let definition): definition.location
    }
  }

  /// The name of the definition; `nil` for anonymous operations and `schema`.
  public var name: Name? {
    switch self {
    case .operation(let operation): operation.name
    case .fragment(let fragment): fragment.name
    case .typeSystem(let definition): definition.name
    }
  }

  /// The selection set of an operation or fragment; `nil` for type system definitions.
  package var selectionSet: SelectionSet? {
    switch self {
    case .operation(let operation): operation.selectionSet
    case .fragment(let fragment): fragment.selectionSet
    case .typeSystem: nil
    }
  }
}

extension Selection {
  /// The source location of the selection's first token.
  public var location: SourceLocation {
    switch self {
    case .field(let field): field.location
    case .fragmentSpread(let spread): spread.location
    case .inlineFragment(let fragment): fragment.location
    }
  }

  /// The directives applied to the selection, in source order.
  public var directives: [Directive] {
    switch self {
    case .field(let field): field.directives
    case .fragmentSpread(let spread): spread.directives
    case .inlineFragment(let fragment): fragment.directives
    }
  }

  /// The selection set inside the selection; `nil` for a leaf field or a fragment spread.
  package var selectionSet: SelectionSet? {
    switch self {
    case .field(let field): field.selectionSet
    case .fragmentSpread: nil
    case .inlineFragment(let fragment): fragment.selectionSet
    }
  }
}

extension SelectionSet {
  /// Calls `body` with the selections at any depth in source order, each before those inside it. Does not follow
  /// fragment spreads.
  package func forEachSelection(_ body: (Selection) -> Void) {
    for selection in selections {
      body(selection)
      selection.selectionSet?.forEachSelection(body)
    }
  }
}

extension Document {
  /// Parses a GraphQL document: operations, fragments, type system definitions and extensions.
  ///
  /// Accepts the full grammar of the September 2026 specification, in linear time.
  ///
  /// - Throws: ``GraphQLSyntaxError`` with the location of the first error.
  public init(
    parsing source: String, options: ParseOptions = ParseOptions()
  ) throws(GraphQLSyntaxError) {
    self = try Parser.parse(Array(source.utf8), options: options) {
      parser throws(GraphQLSyntaxError) in
      try parser.document()
    }
  }

  /// Parses a GraphQL document in UTF-8, with or without a byte order mark.
  ///
  /// - Throws: ``GraphQLSyntaxError`` with the location of the first error; invalid UTF-8 is one.
  public init(
    parsingUTF8 bytes: [UInt8], options: ParseOptions = ParseOptions()
  ) throws(GraphQLSyntaxError) {
    try Parser.requireUTF8(bytes)
    self = try Parser.parse(bytes, options: options) { parser throws(GraphQLSyntaxError) in
      try parser.document()
    }
  }
}

extension Value {
  /// Parses a single input value, such as `{name: "x", tags: [A, B]}`. Variables are allowed.
  ///
  /// - Throws: ``GraphQLSyntaxError`` with the location of the first error.
  public init(
    parsing source: String, options: ParseOptions = ParseOptions()
  ) throws(GraphQLSyntaxError) {
    self = try Parser.parse(Array(source.utf8), options: options) {
      parser throws(GraphQLSyntaxError) in
      try parser.value(isConstant: false)
    }
  }
}

extension TypeReference {
  /// Parses a single type reference, such as `[String!]!`.
  ///
  /// - Throws: ``GraphQLSyntaxError`` with the location of the first error.
  public init(
    parsing source: String, options: ParseOptions = ParseOptions()
  ) throws(GraphQLSyntaxError) {
    self = try Parser.parse(Array(source.utf8), options: options) {
      parser throws(GraphQLSyntaxError) in
      try parser.typeReference()
    }
  }
}

extension Document {
  /// The document in the canonical layout of graphql-js, without a trailing newline.
  ///
  /// Parsing the result gives an equal document, except for source locations. Comments are lost.
  public func printed() -> String { Printer.print { $0.document(self) } }
}

extension Definition {
  /// The definition in the canonical layout, without a trailing newline.
  public func printed() -> String { Printer.print { $0.definition(self) } }
}

extension OperationDefinition {
  /// The operation in the canonical layout, without a trailing newline.
  public func printed() -> String { Printer.print { $0.operation(self) } }
}

extension FragmentDefinition {
  /// The fragment in the canonical layout, without a trailing newline.
  public func printed() -> String { Printer.print { $0.fragment(self) } }
}

extension VariableDefinition {
  /// The variable definition in the canonical layout.
  public func printed() -> String { Printer.print { $0.variable(self) } }
}

extension TypeSystemDefinition {
  /// The definition in the canonical layout, without a trailing newline.
  public func printed() -> String { Printer.print { $0.typeSystemDefinition(self) } }
}

extension FieldDefinition {
  /// The field definition in the canonical layout, without a trailing newline.
  public func printed() -> String { Printer.print { $0.fieldDefinition(self) } }
}

extension InputValueDefinition {
  /// The argument or input field in the canonical layout.
  public func printed() -> String { Printer.print { $0.inputValueDefinition(self) } }
}

extension SelectionSet {
  /// The selection set with its braces, in the canonical layout.
  public func printed() -> String { Printer.print { $0.selectionSet(self) } }
}

extension Selection {
  /// The selection in the canonical layout.
  public func printed() -> String { Printer.print { $0.selection(self) } }
}

extension Field {
  /// The field in the canonical layout.
  public func printed() -> String { Printer.print { $0.field(self) } }
}

extension Directive {
  /// The directive with its `@` and arguments.
  public func printed() -> String { Printer.print { $0.directive(self) } }
}

extension Argument {
  /// The argument as `name: value`.
  public func printed() -> String { Printer.print { $0.argument(self) } }
}

extension Value {
  /// The value as a GraphQL literal.
  public func printed() -> String { Printer.print { $0.value(self) } }
}

extension TypeReference {
  /// The type in GraphQL syntax: `[String!]!`.
  public func printed() -> String { Printer.print { $0.type(self) } }
}
