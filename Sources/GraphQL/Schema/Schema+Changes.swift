extension Schema {
  /// The changes since an older version of the schema: types in the order of the older version,
  /// then directives.
  ///
  /// Breaking and dangerous changes are those of the reference implementation, with its messages,
  /// and a few additional ones.
  public func changes(from old: Schema) -> [SchemaChange] {
    var comparison = SchemaComparison(old: old, new: self)
    return comparison.run()
  }
}

/// Compares two versions of a schema; see ``Schema/changes(from:)``.
struct SchemaComparison {
  let old: Schema
  let new: Schema
  private(set) var changes: [SchemaChange] = []
  /// The schema coordinate of what is compared.
  var subject = ""

  mutating func run() -> [SchemaChange] {
    compareRoots()
    compareTypes()
    compareDirectives()
    return changes
  }

  /// Adds a change of the subject.
  ///
  /// - Parameter scope: The schema coordinate of which each use is concerned.
  mutating func report(
    _ kind: SchemaChange.Kind, _ description: String, scope: String? = nil
  ) {
    var change = SchemaChange(kind, description, coordinate: subject)
    change.scope = scope
    changes.append(change)
  }

  // MARK: - Types

  private mutating func compareRoots() {
    for operation in OperationType.allCases {
      let before = old.rootType(for: operation)?.name
      let after = new.rootType(for: operation)?.name
      switch (before, after) {
      case (let before?, let after?) where before != after:
        report(
          .rootTypeChanged, "The \(operation.rawValue) root changed from \(before) to \(after).")
      case (let before?, nil):
        report(.rootTypeChanged, "The \(operation.rawValue) root \(before) was removed.")
      case (nil, let after?):
        report(.rootTypeAdded, "The \(operation.rawValue) root \(after) was added.")
      default: break
      }
    }
    compareDescriptions(old.description, after: new.description, coordinate: "the schema")
  }

  private mutating func compareTypes() {
    let standard = Schema.builtInScalars.sorted()
    let names = old.typeNames + standard.filter(old.isReferenced)
    for name in names where !new.isReferenced(name) {
      subject = name
      report(
        .typeRemoved,
        Schema.builtInScalars.contains(name)
          ? "Standard scalar \(name) was removed because it is not referenced anymore."
          : "\(name) was removed.")
    }
    for name in names {
      subject = name
      if let before = old.types[name], let after = new.types[name] { compare(before, after) }
    }
    for name in new.typeNames where !old.isReferenced(name) {
      subject = name
      report(.typeAdded, "\(name) was added.")
      guard case .object(let type)? = new.types[name] else { continue }
      for interface in type.interfaces where old.isReferenced(interface.value) {
        report(
          .typeAddedToInterface, "The new type \(name) implements interface \(interface.value).",
          scope: interface.value)
      }
    }
  }

  private mutating func compare(_ before: SchemaType, _ after: SchemaType) {
    switch (before, after) {
    case (.enumeration(let before), .enumeration(let after)): compare(before, after)
    case (.union(let before), .union(let after)): compare(before, after)
    case (.inputObject(let before), .inputObject(let after)): compare(before, after)
    case (.object, .object), (.interface, .interface):
      compareFields(
        before.name, before: before.fields ?? NamedList([]), after: after.fields ?? NamedList([]))
      compareInterfaces(before, after)
    case (.scalar, .scalar): break
    default:
      report(
        .typeChangedKind,
        "\(before.name) changed from \(before.kindWithArticle) to \(after.kindWithArticle).")
    }
    subject = before.name
    compareDescriptions(before.description, after: after.description, coordinate: before.name)
  }

  private mutating func compare(_ before: InputObjectType, _ after: InputObjectType) {
    let type = before.name
    compareInputs(of: type, before: before.fields, after: after.fields, position: .inputField)
    subject = type
    if after.isOneOf, !before.isOneOf {
      report(.oneOfAdded, "\(type) now takes exactly one field.")
    } else if before.isOneOf, !after.isOneOf {
      report(.oneOfRemoved, "\(type) no longer takes exactly one field.")
    }
  }

  private mutating func compare(_ before: UnionType, _ after: UnionType) {
    let (added, removed) = difference(before.types.map(\.value), after.types.map(\.value))
    for name in added {
      report(.typeAddedToUnion, "\(name) was added to union type \(before.name).")
    }
    for name in removed {
      report(.typeRemovedFromUnion, "\(name) was removed from union type \(before.name).")
    }
  }

  private mutating func compare(_ before: EnumType, _ after: EnumType) {
    for value in after.values where before.values[value.name.value] == nil {
      subject = "\(before.name).\(value.name.value)"
      report(.valueAddedToEnum, "\(value.name.value) was added to enum type \(before.name).")
    }
    for value in before.values {
      let coordinate = "\(before.name).\(value.name.value)"
      subject = coordinate
      guard let other = after.values[value.name.value] else {
        report(
          .valueRemovedFromEnum,
          "\(value.name.value) was removed from enum type \(before.name).")
        continue
      }
      compareDescriptions(
        value.description?.value, after: other.description?.value, coordinate: coordinate)
      compareDeprecations(
        value.deprecationReason, after: other.deprecationReason, coordinate: coordinate)
    }
  }

  private mutating func compareInterfaces(_ before: SchemaType, _ after: SchemaType) {
    subject = before.name
    let (added, removed) = difference(
      before.interfaces.map(\.value), after.interfaces.map(\.value))
    for name in added {
      report(
        .implementedInterfaceAdded, "\(name) added to interfaces implemented by \(before.name).",
        // An object type is another possible type of the interface.
        scope: before.isAbstract ? nil : name)
    }
    for name in removed {
      report(
        .implementedInterfaceRemoved, "\(before.name) no longer implements interface \(name).")
    }
  }

  // MARK: - Fields and arguments

  private mutating func compareFields(
    _ type: String, before: NamedList<FieldDefinition>, after: NamedList<FieldDefinition>
  ) {
    for field in before where after[field.name.value] == nil {
      subject = "\(type).\(field.name.value)"
      report(.fieldRemoved, "\(type).\(field.name.value) was removed.")
    }
    for field in before {
      guard let other = after[field.name.value] else { continue }
      let coordinate = "\(type).\(field.name.value)"
      compareInputs(
        of: coordinate, before: NamedList(field.arguments), after: NamedList(other.arguments),
        position: .argument)
      subject = coordinate
      if !field.type.isSameType(as: other.type) {
        report(
          other.type.isSubtype(of: field.type) ? .fieldChangedKindSafe : .fieldChangedKind,
          "\(coordinate) changed type from \(field.type.printed()) to \(other.type.printed()).")
      }
      compareDescriptions(
        field.description?.value, after: other.description?.value, coordinate: coordinate)
      compareDeprecations(
        field.deprecationReason, after: other.deprecationReason, coordinate: coordinate)
    }
    for field in after where before[field.name.value] == nil {
      subject = "\(type).\(field.name.value)"
      report(.fieldAdded, "\(type).\(field.name.value) was added.")
    }
  }

  // MARK: - Helpers

  mutating func compareDescriptions(_ before: String?, after: String?, coordinate: String) {
    guard before ?? "" != after ?? "" else { return }
    report(.descriptionChanged, "The description of \(coordinate) changed.")
  }

  mutating func compareDeprecations(_ before: String?, after: String?, coordinate: String) {
    switch (before, after) {
    case (nil, let reason?):
      report(.deprecationChanged, "\(coordinate) is now deprecated: \(reason)")
    case (_?, nil): report(.deprecationChanged, "\(coordinate) is no longer deprecated.")
    case (let before?, let after?) where before != after:
      report(.deprecationChanged, "The reason why \(coordinate) is deprecated changed: \(after)")
    default: break
    }
  }

  private func difference(
    _ before: [String], _ after: [String]
  ) -> (added: [String], removed: [String]) {
    let (known, kept) = (Set(before), Set(after))
    return (after.filter { !known.contains($0) }, before.filter { !kept.contains($0) })
  }
}

extension Schema {
  /// The changes that concern a document: those of the fields, arguments, types, enum values and directives that it
  /// uses, and what it must give now.
  ///
  /// - Parameters:
  ///   - changes: Changes from this version of the schema.
  ///   - document: Operations and fragments that are valid against this version.
  public func changes(_ changes: [SchemaChange], concerning document: Document) -> [SchemaChange] {
    let use = SchemaUse(schema: self)
    _ = document.validate(self, options: ValidationOptions(rules: []), own: [use])
    return changes.filter { change in
      guard !change.coordinate.isEmpty else { return true }
      return use.coordinates.contains(change.coordinate)
        || (change.scope ?? change.ownerOfRequired).map(use.coordinates.contains) == true
    }
  }
}

/// The schema coordinates that a document uses.
private final class SchemaUse: RuleVisitor {
  private let schema: Schema
  private(set) var coordinates: Set<String> = []

  init(schema: Schema) { self.schema = schema }

  func enter(namedType name: Name, _ context: ValidationContext) { note(name.value) }

  func enter(field: Field, _ context: ValidationContext) {
    guard let type = context.types.parentType,
      let definition = type.fields?[field.name.value]
    else { return }
    let coordinate = "\(type.name).\(field.name.value)"
    coordinates.formUnion([type.name, coordinate])
    for argument in field.arguments {
      let name = argument.name.value
      coordinates.insert("\(coordinate)(\(name):)")
      if let given = definition.argument(named: name) { note(given.type.namedType.value) }
    }
    note(definition.type.namedType.value)
  }

  func enter(
    directive: Directive, at location: DirectiveLocation, _ context: ValidationContext
  ) {
    let coordinate = "@\(directive.name.value)"
    coordinates.insert(coordinate)
    for argument in directive.arguments {
      coordinates.insert("\(coordinate)(\(argument.name.value):)")
    }
  }

  /// A type: an input object with all that a value of it may have, because variables are not known, and an enum with
  /// its values, because a client may receive each of them.
  private func note(_ name: String) {
    guard coordinates.insert(name).inserted else { return }
    switch schema.types[name] {
    case .inputObject(let type)?:
      for field in type.fields {
        coordinates.insert("\(name).\(field.name.value)")
        note(field.type.namedType.value)
      }
    case .enumeration(let type)?:
      coordinates.formUnion(type.values.map { "\(name).\($0.name.value)" })
    default: break
    }
  }
}

extension Schema {
  /// Whether the schema contains the type, except for unreferenced standard scalars.
  func isReferenced(_ name: String) -> Bool {
    types[name] != nil && !unreferencedScalars.contains(name)
  }
}

extension SchemaType {
  fileprivate var kindWithArticle: String {
    switch self {
    case .scalar: "a Scalar type"
    case .object: "an Object type"
    case .interface: "an Interface type"
    case .union: "a Union type"
    case .enumeration: "an Enum type"
    case .inputObject: "an Input type"
    }
  }
}

/// A difference between two versions of a schema, with its effect on clients.
public struct SchemaChange: Sendable, Hashable, CustomStringConvertible {
  /// The effect of a change on clients.
  public enum Severity: String, Sendable, Hashable, CaseIterable, Comparable {
    /// Valid operations may become invalid, or their results may have a different shape.
    case breaking
    /// Operations stay valid, but may behave in ways that clients do not expect.
    case dangerous
    /// Operations stay valid and behave as before.
    case safe

    /// The more severe one is less.
    public static func < (lhs: Severity, rhs: Severity) -> Bool { lhs.rank < rhs.rank }

    private var rank: Int {
      switch self {
      case .breaking: 0
      case .dangerous: 1
      case .safe: 2
      }
    }
  }

  /// The kind of change; the raw value is graphql-js's name for it.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// A type was removed.
    case typeRemoved = "TYPE_REMOVED"
    /// A type became one of another kind.
    case typeChangedKind = "TYPE_CHANGED_KIND"
    /// A member was removed from a union.
    case typeRemovedFromUnion = "TYPE_REMOVED_FROM_UNION"
    /// A value was removed from an enum.
    case valueRemovedFromEnum = "VALUE_REMOVED_FROM_ENUM"
    /// A required field was added to an input object.
    case requiredInputFieldAdded = "REQUIRED_INPUT_FIELD_ADDED"
    /// A type no longer implements an interface.
    case implementedInterfaceRemoved = "IMPLEMENTED_INTERFACE_REMOVED"
    /// A field was removed.
    case fieldRemoved = "FIELD_REMOVED"
    /// A field's type changed in an incompatible way.
    case fieldChangedKind = "FIELD_CHANGED_KIND"
    /// A required argument was added to a field.
    case requiredArgumentAdded = "REQUIRED_ARG_ADDED"
    /// An argument was removed from a field.
    case argumentRemoved = "ARG_REMOVED"
    /// An argument's type changed in an incompatible way.
    case argumentChangedKind = "ARG_CHANGED_KIND"
    /// A directive was removed.
    case directiveRemoved = "DIRECTIVE_REMOVED"
    /// An argument was removed from a directive.
    case directiveArgumentRemoved = "DIRECTIVE_ARG_REMOVED"
    /// A required argument was added to a directive.
    case requiredDirectiveArgumentAdded = "REQUIRED_DIRECTIVE_ARG_ADDED"
    /// A directive is no longer repeatable.
    case directiveRepeatableRemoved = "DIRECTIVE_REPEATABLE_REMOVED"
    /// A location was removed from a directive.
    case directiveLocationRemoved = "DIRECTIVE_LOCATION_REMOVED"
    /// A root operation type changed or was removed. Not in graphql-js.
    case rootTypeChanged = "ROOT_TYPE_CHANGED"
    /// An input object became a OneOf input object. Not in graphql-js.
    case oneOfAdded = "ONE_OF_ADDED"
    /// An argument lost its default value and is non-null, so that every document must give it.
    /// graphql-js calls it `ARG_DEFAULT_VALUE_CHANGE`, which is dangerous only.
    case argumentBecameRequired = "ARG_BECAME_REQUIRED"
    /// The same for a field of an input object. Not in graphql-js.
    case inputFieldBecameRequired = "INPUT_FIELD_BECAME_REQUIRED"
    /// The same for an argument of a directive. Not in graphql-js.
    case directiveArgumentBecameRequired = "DIRECTIVE_ARG_BECAME_REQUIRED"
    /// An argument of a directive has another type. Not in graphql-js.
    case directiveArgumentChangedKind = "DIRECTIVE_ARG_CHANGED_KIND"

    /// A value was added to an enum.
    case valueAddedToEnum = "VALUE_ADDED_TO_ENUM"
    /// A member was added to a union.
    case typeAddedToUnion = "TYPE_ADDED_TO_UNION"
    /// An optional field was added to an input object.
    case optionalInputFieldAdded = "OPTIONAL_INPUT_FIELD_ADDED"
    /// An optional argument was added to a field.
    case optionalArgumentAdded = "OPTIONAL_ARG_ADDED"
    /// A type implements another interface.
    case implementedInterfaceAdded = "IMPLEMENTED_INTERFACE_ADDED"
    /// The default value of an argument changed.
    case argumentDefaultValueChange = "ARG_DEFAULT_VALUE_CHANGE"
    /// A field of an input object has another default value, or none. Not in graphql-js.
    case inputFieldDefaultValueChange = "INPUT_FIELD_DEFAULT_VALUE_CHANGE"
    /// An argument of a directive has another default value, or none. Not in graphql-js.
    case directiveArgumentDefaultValueChange = "DIRECTIVE_ARG_DEFAULT_VALUE_CHANGE"
    /// A new object type implements an interface that existed before, as a new member of a union
    /// does. Not in graphql-js.
    case typeAddedToInterface = "TYPE_ADDED_TO_INTERFACE"

    /// A type was added.
    case typeAdded = "TYPE_ADDED"
    /// A field was added.
    case fieldAdded = "FIELD_ADDED"
    /// A field's type changed in a compatible way.
    case fieldChangedKindSafe = "FIELD_CHANGED_KIND_SAFE"
    /// An argument's type changed in a compatible way.
    case argumentChangedKindSafe = "ARG_CHANGED_KIND_SAFE"
    /// A default value was added to an argument.
    case argumentDefaultValueAdded = "ARG_DEFAULT_VALUE_ADDED"
    /// A default value was added to a field of an input object.
    case inputFieldDefaultValueAdded = "INPUT_FIELD_DEFAULT_VALUE_ADDED"
    /// A default value was added to an argument of a directive.
    case directiveArgumentDefaultValueAdded = "DIRECTIVE_ARG_DEFAULT_VALUE_ADDED"
    /// The type of a directive argument changed in a compatible way.
    case directiveArgumentChangedKindSafe = "DIRECTIVE_ARG_CHANGED_KIND_SAFE"
    /// An operation type has a root that it did not have.
    case rootTypeAdded = "ROOT_TYPE_ADDED"
    /// An input object no longer takes exactly one field: what was valid still is.
    case oneOfRemoved = "ONE_OF_REMOVED"
    /// A directive was added.
    case directiveAdded = "DIRECTIVE_ADDED"
    /// An optional argument was added to a directive.
    case optionalDirectiveArgumentAdded = "OPTIONAL_DIRECTIVE_ARG_ADDED"
    /// A directive became repeatable.
    case directiveRepeatableAdded = "DIRECTIVE_REPEATABLE_ADDED"
    /// A location was added to a directive.
    case directiveLocationAdded = "DIRECTIVE_LOCATION_ADDED"
    /// A description changed.
    case descriptionChanged = "DESCRIPTION_CHANGED"
    /// A deprecation was added, removed or changed. Not in graphql-js.
    case deprecationChanged = "DEPRECATION_CHANGED"

    /// The effect of this kind of change on clients.
    public var severity: Severity {
      switch self {
      case .typeRemoved, .typeChangedKind, .typeRemovedFromUnion, .valueRemovedFromEnum,
        .requiredInputFieldAdded, .implementedInterfaceRemoved, .fieldRemoved, .fieldChangedKind,
        .requiredArgumentAdded, .argumentRemoved, .argumentChangedKind, .directiveRemoved,
        .directiveArgumentRemoved, .requiredDirectiveArgumentAdded, .directiveRepeatableRemoved,
        .directiveLocationRemoved, .rootTypeChanged, .oneOfAdded, .argumentBecameRequired,
        .inputFieldBecameRequired, .directiveArgumentBecameRequired,
        .directiveArgumentChangedKind:
        .breaking
      case .valueAddedToEnum, .typeAddedToUnion, .optionalInputFieldAdded, .optionalArgumentAdded,
        .implementedInterfaceAdded, .argumentDefaultValueChange, .inputFieldDefaultValueChange,
        .directiveArgumentDefaultValueChange, .typeAddedToInterface:
        .dangerous
      case .typeAdded, .fieldAdded, .fieldChangedKindSafe, .argumentChangedKindSafe,
        .argumentDefaultValueAdded, .directiveAdded, .optionalDirectiveArgumentAdded,
        .directiveRepeatableAdded, .directiveLocationAdded, .descriptionChanged,
        .deprecationChanged, .inputFieldDefaultValueAdded, .directiveArgumentDefaultValueAdded,
        .directiveArgumentChangedKindSafe, .rootTypeAdded, .oneOfRemoved:
        .safe
      }
    }
  }

  /// The kind of change.
  public var kind: Kind
  /// The change as a sentence: `Query.a was removed.`
  public var description: String
  /// The schema coordinate of what changed, such as `Query.a(b:)`; empty for the schema itself. What was removed has
  /// one, too.
  ///
  /// https://spec.graphql.org/draft/#sec-Schema-Coordinates
  public var coordinate: String
  /// The schema coordinate of which each use is concerned, also without a use of ``coordinate``: the field of an
  /// argument that documents leave out, or the interface that another type implements.
  var scope: String?

  /// The effect of the change on clients.
  public var severity: Severity { kind.severity }

  /// Creates a change.
  public init(_ kind: Kind, _ description: String, coordinate: String = "") {
    self.kind = kind
    self.description = description
    self.coordinate = coordinate
  }

  /// Whether kind, description and coordinate are the same.
  public static func == (lhs: SchemaChange, rhs: SchemaChange) -> Bool {
    lhs.kind == rhs.kind && lhs.description == rhs.description && lhs.coordinate == rhs.coordinate
  }

  /// Hashes kind, description and coordinate.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(kind)
    hasher.combine(description)
    hasher.combine(coordinate)
  }

  /// The field, input object or directive that what was added and required belongs to: all its uses are concerned.
  fileprivate var ownerOfRequired: String? {
    let isRequired = [
      Kind.requiredArgumentAdded, .requiredInputFieldAdded, .requiredDirectiveArgumentAdded,
    ].contains(kind)
    return isRequired ? Self.owner(of: coordinate) : nil
  }

  /// The field, directive or input object of the coordinate of an argument or input field.
  fileprivate static func owner(of coordinate: String) -> String? {
    coordinate.lastIndex { "(.".contains($0) }.map { String(coordinate[..<$0]) }
  }
}

/// What documents give to a server: arguments, fields of input objects, directives.
extension SchemaComparison {
  // MARK: - Arguments and input fields

  /// Compares the arguments of a field or directive, or the fields of an input object.
  private mutating func compareInputs(
    of owner: String, before: NamedList<InputValueDefinition>,
    after: NamedList<InputValueDefinition>, position: InputPosition
  ) {
    if position.isAdditionFirst { reportAdded() }
    for value in before {
      let name = value.name.value
      guard after[name] == nil else { continue }
      subject = position.coordinate(owner, name)
      report(position.removed, position.removal(owner, name))
    }
    for value in before {
      let name = value.name.value
      guard let other = after[name] else { continue }
      subject = position.coordinate(owner, name)
      compare(value, after: other, coordinate: position.title(owner, name), position: position)
    }
    if !position.isAdditionFirst { reportAdded() }

    func reportAdded() {
      for value in after where before[value.name.value] == nil {
        let name = value.name.value
        subject = position.coordinate(owner, name)
        report(
          value.isRequired ? position.requiredAdded : position.optionalAdded,
          "\(value.isRequired ? "A required" : "An optional") \(position.noun) \(name) on "
            + "\(position.owner)\(owner) was added.")
      }
    }
  }

  // MARK: - Directives

  mutating func compareDirectives() {
    for name in old.directiveNamesInOrder {
      guard let before = old.directiveDefinitions[name] else { continue }
      subject = "@\(name)"
      guard let after = new.directiveDefinitions[name] else {
        report(.directiveRemoved, "\(name) was removed.")
        continue
      }
      // Type definitions have no standard directives: how a server defines them depends on its edition only.
      if let standard = BuiltIns.directives[name], before == standard || after == standard {
        continue
      }
      compare(before, after)
    }
    for name in new.directiveNamesInOrder where old.directiveDefinitions[name] == nil {
      subject = "@\(name)"
      report(.directiveAdded, "\(name) was added.")
    }
  }

  private mutating func compare(_ before: DirectiveDefinition, _ after: DirectiveDefinition) {
    let name = before.name.value
    compareInputs(
      of: name, before: NamedList(before.arguments), after: NamedList(after.arguments),
      position: .directiveArgument)
    subject = "@\(name)"
    if before.isRepeatable, !after.isRepeatable {
      report(.directiveRepeatableRemoved, "Repeatable flag was removed from \(name).")
    } else if after.isRepeatable, !before.isRepeatable {
      report(.directiveRepeatableAdded, "Repeatable flag was added to \(name).")
    }
    // Whether a standard directive may be applied to directives depends on the server's edition only.
    func isCompared(_ location: DirectiveLocation) -> Bool {
      location != .directiveDefinition || BuiltIns.directives[name] == nil
    }
    for location in before.locations
    where isCompared(location) && !after.locations.contains(location) {
      report(.directiveLocationRemoved, "\(location.rawValue) was removed from \(name).")
    }
    for location in after.locations
    where isCompared(location) && !before.locations.contains(location) {
      report(.directiveLocationAdded, "\(location.rawValue) was added to \(name).")
    }
    compareDescriptions(
      before.description?.value, after: after.description?.value, coordinate: "@\(name)")
    compareDeprecations(
      before.deprecationReason, after: after.deprecationReason, coordinate: "@\(name)")
  }

  // MARK: - Input values

  /// Where an input value is declared: which kinds its changes have, and how they are worded.
  struct InputPosition {
    var typeChanged: SchemaChange.Kind
    var typeChangedSafely: SchemaChange.Kind
    var typeVerb: String
    var defaultChanged: SchemaChange.Kind
    var defaultAdded: SchemaChange.Kind
    var becameRequired: SchemaChange.Kind
    var removed: SchemaChange.Kind
    var requiredAdded: SchemaChange.Kind
    var optionalAdded: SchemaChange.Kind
    /// Whether additions are reported before other changes, as in the reference implementation.
    var isAdditionFirst = true
    var noun = "arg"
    /// What precedes the name of the owner in messages.
    var owner = ""
    /// The schema coordinate of a value, by its owner and name, and how messages call it.
    var coordinate: @Sendable (String, String) -> String
    var title: @Sendable (String, String) -> String
    var removal: @Sendable (String, String) -> String

    static let argument = InputPosition(
      typeChanged: .argumentChangedKind, typeChangedSafely: .argumentChangedKindSafe,
      typeVerb: "has changed type", defaultChanged: .argumentDefaultValueChange,
      defaultAdded: .argumentDefaultValueAdded, becameRequired: .argumentBecameRequired,
      removed: .argumentRemoved, requiredAdded: .requiredArgumentAdded,
      optionalAdded: .optionalArgumentAdded, isAdditionFirst: false,
      coordinate: { "\($0)(\($1):)" }, title: { "\($0) arg \($1)" },
      removal: { "\($0) arg \($1) was removed." })
    static let inputField = InputPosition(
      typeChanged: .fieldChangedKind, typeChangedSafely: .fieldChangedKindSafe,
      typeVerb: "changed type", defaultChanged: .inputFieldDefaultValueChange,
      defaultAdded: .inputFieldDefaultValueAdded, becameRequired: .inputFieldBecameRequired,
      removed: .fieldRemoved, requiredAdded: .requiredInputFieldAdded,
      optionalAdded: .optionalInputFieldAdded, noun: "field", owner: "input type ",
      coordinate: { "\($0).\($1)" }, title: { "\($0).\($1)" },
      removal: { "\($0).\($1) was removed." })
    static let directiveArgument = InputPosition(
      typeChanged: .directiveArgumentChangedKind,
      typeChangedSafely: .directiveArgumentChangedKindSafe, typeVerb: "has changed type",
      defaultChanged: .directiveArgumentDefaultValueChange,
      defaultAdded: .directiveArgumentDefaultValueAdded,
      becameRequired: .directiveArgumentBecameRequired, removed: .directiveArgumentRemoved,
      requiredAdded: .requiredDirectiveArgumentAdded,
      optionalAdded: .optionalDirectiveArgumentAdded, owner: "directive ",
      coordinate: { "@\($0)(\($1):)" }, title: { "@\($0) arg \($1)" },
      removal: { "\($1) was removed from \($0)." })
  }

  /// Compares an input value that both versions have.
  mutating func compare(
    _ before: InputValueDefinition, after: InputValueDefinition, coordinate: String,
    position: InputPosition
  ) {
    let isSafe = before.type.isSubtype(of: after.type)
    // Documents that leave the value out have no use of its coordinate.
    let owner = SchemaChange.owner(of: subject)
    if !before.type.isSameType(as: after.type) {
      report(
        isSafe ? position.typeChangedSafely : position.typeChanged,
        "\(coordinate) \(position.typeVerb) from \(before.type.printed()) to \(after.type.printed()).",
        scope: after.isRequired && !before.isRequired ? owner : nil)
    }
    if isSafe {
      let value = old.defaultValue(of: before)?.sorted.printed()
      let other = new.defaultValue(of: after)?.sorted.printed()
      switch (value, other) {
      case (let value?, let other?) where value != other:
        report(
          position.defaultChanged,
          "\(coordinate) has changed defaultValue from \(value) to \(other).", scope: owner)
      // Documents that leave it out were valid, and are no longer.
      case (_?, nil) where after.isRequired:
        report(
          position.becameRequired,
          "\(coordinate) defaultValue was removed, so a value is required.",
          scope: owner)
      case (_?, nil):
        report(position.defaultChanged, "\(coordinate) defaultValue was removed.", scope: owner)
      case (nil, let other?):
        report(
          position.defaultAdded, "\(coordinate) defaultValue \(other) was added.", scope: owner)
      default:
        break
      }
    }
    compareDescriptions(
      before.description?.value, after: after.description?.value, coordinate: coordinate)
    compareDeprecations(
      before.deprecationReason, after: after.deprecationReason, coordinate: coordinate)
  }
}
