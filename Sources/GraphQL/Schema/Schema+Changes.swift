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
  private var changes: [SchemaChange] = []
  /// The schema coordinate of what is compared.
  var subject = ""

  init(old: Schema, new: Schema) {
    self.old = old
    self.new = new
  }

  mutating func run() -> [SchemaChange] {
    compareRoots()
    compareTypes()
    compareDirectives()
    return changes
  }

  mutating func report(_ kind: SchemaChange.Kind, _ description: String) {
    changes.append(SchemaChange(kind, description, coordinate: subject))
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
    compareDescriptions(old.description, new.description, "the schema")
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
          .typeAddedToInterface, "The new type \(name) implements interface \(interface.value).")
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
        before.name, before.fields ?? NamedList([]), after.fields ?? NamedList([]))
      compareInterfaces(before, after)
    case (.scalar, .scalar): break
    default:
      report(
        .typeChangedKind,
        "\(before.name) changed from \(before.kindWithArticle) to \(after.kindWithArticle).")
    }
    subject = before.name
    compareDescriptions(before.description, after.description, before.name)
  }

  private mutating func compare(_ before: InputObjectType, _ after: InputObjectType) {
    let type = before.name
    for field in after.fields where before.fields[field.name.value] == nil {
      let name = field.name.value
      subject = "\(type).\(name)"
      if field.isRequired {
        report(
          .requiredInputFieldAdded, "A required field \(name) on input type \(type) was added.")
      } else {
        report(
          .optionalInputFieldAdded, "An optional field \(name) on input type \(type) was added.")
      }
    }
    for field in before.fields where after.fields[field.name.value] == nil {
      subject = "\(type).\(field.name.value)"
      report(.fieldRemoved, "\(type).\(field.name.value) was removed.")
    }
    for field in before.fields {
      guard let other = after.fields[field.name.value] else { continue }
      subject = "\(type).\(field.name.value)"
      compare(field, other, subject, .inputField)
    }
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
      compareDescriptions(value.description?.value, other.description?.value, coordinate)
      compareDeprecations(value.deprecationReason, other.deprecationReason, coordinate)
    }
  }

  private mutating func compareInterfaces(_ before: SchemaType, _ after: SchemaType) {
    subject = before.name
    let (added, removed) = difference(
      before.interfaces.map(\.value), after.interfaces.map(\.value))
    for name in added {
      report(
        .implementedInterfaceAdded, "\(name) added to interfaces implemented by \(before.name).")
    }
    for name in removed {
      report(
        .implementedInterfaceRemoved, "\(before.name) no longer implements interface \(name).")
    }
  }

  // MARK: - Fields and arguments

  private mutating func compareFields(
    _ type: String, _ before: NamedList<FieldDefinition>, _ after: NamedList<FieldDefinition>
  ) {
    for field in before where after[field.name.value] == nil {
      subject = "\(type).\(field.name.value)"
      report(.fieldRemoved, "\(type).\(field.name.value) was removed.")
    }
    for field in before {
      guard let other = after[field.name.value] else { continue }
      let coordinate = "\(type).\(field.name.value)"
      compareArguments(coordinate, NamedList(field.arguments), NamedList(other.arguments))
      subject = coordinate
      if !field.type.isSameType(as: other.type) {
        report(
          field.type.isSafeAsOutput(other.type) ? .fieldChangedKindSafe : .fieldChangedKind,
          "\(coordinate) changed type from \(field.type.printed()) to \(other.type.printed()).")
      }
      compareDescriptions(field.description?.value, other.description?.value, coordinate)
      compareDeprecations(field.deprecationReason, other.deprecationReason, coordinate)
    }
    for field in after where before[field.name.value] == nil {
      subject = "\(type).\(field.name.value)"
      report(.fieldAdded, "\(type).\(field.name.value) was added.")
    }
  }

  // MARK: - Helpers

  mutating func compareDescriptions(_ before: String?, _ after: String?, _ coordinate: String) {
    guard before ?? "" != after ?? "" else { return }
    report(.descriptionChanged, "The description of \(coordinate) changed.")
  }

  mutating func compareDeprecations(_ before: String?, _ after: String?, _ coordinate: String) {
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
    var use = SchemaUse(schema: self)
    for operation in document.operations {
      for variable in operation.variables { use.note(input: variable.type.namedType.value) }
      use.note(operation.directives)
      use.note(operation.selectionSet, of: rootType(for: operation.type)?.name)
    }
    for fragment in document.fragments {
      use.coordinates.insert(fragment.typeCondition.value)
      use.note(fragment.directives)
      use.note(fragment.selectionSet, of: fragment.typeCondition.value)
    }
    return changes.filter { change in
      guard !change.coordinate.isEmpty else { return true }
      if use.coordinates.contains(change.coordinate) { return true }
      // What is added and required concerns all uses of its field, input object or directive.
      let isRequired = [
        SchemaChange.Kind.requiredArgumentAdded, .requiredInputFieldAdded,
        .requiredDirectiveArgumentAdded,
      ].contains(change.kind)
      let end = change.coordinate.lastIndex { "(.".contains($0) }
      return isRequired
        && end.map { use.coordinates.contains(String(change.coordinate[..<$0])) } == true
    }
  }
}

/// The schema coordinates that documents use.
private struct SchemaUse {
  let schema: Schema
  var coordinates: Set<String> = []

  mutating func note(_ set: SelectionSet, of type: String?) {
    for selection in set.selections {
      switch selection {
      case .field(let field):
        note(field.directives)
        let coordinate = "\(type ?? "").\(field.name.value)"
        guard let type, let definition = schema.types[type]?.fields?[field.name.value] else {
          continue
        }
        coordinates.formUnion([type, coordinate])
        for argument in field.arguments {
          let name = argument.name.value
          coordinates.insert("\(coordinate)(\(name):)")
          if let given = definition.argument(named: name) {
            note(input: given.type.namedType.value)
          }
        }
        let result = definition.type.namedType.value
        coordinates.insert(result)
        // A client may receive each value of an enum.
        if case .enumeration(let type)? = schema.types[result] {
          coordinates.formUnion(type.values.map { "\(result).\($0.name.value)" })
        }
        if let inner = field.selectionSet { note(inner, of: result) }
      case .inlineFragment(let fragment):
        note(fragment.directives)
        if let condition = fragment.typeCondition { coordinates.insert(condition.value) }
        note(fragment.selectionSet, of: fragment.typeCondition?.value ?? type)
      case .fragmentSpread(let spread): note(spread.directives)
      }
    }
  }

  mutating func note(_ directives: [Directive]) {
    for directive in directives {
      coordinates.insert("@\(directive.name.value)")
      for argument in directive.arguments {
        coordinates.insert("@\(directive.name.value)(\(argument.name.value):)")
      }
    }
  }

  /// An input type with all that a value of it may have, because variables are not known.
  mutating func note(input name: String) {
    guard coordinates.insert(name).inserted else { return }
    switch schema.types[name] {
    case .inputObject(let type)?:
      for field in type.fields {
        coordinates.insert("\(name).\(field.name.value)")
        note(input: field.type.namedType.value)
      }
    case .enumeration(let type)?:
      coordinates.formUnion(type.values.map { "\(name).\($0.name.value)" })
    default: break
    }
  }
}

extension Schema {
  /// Whether the schema contains the type, except for unreferenced standard scalars.
  fileprivate func isReferenced(_ name: String) -> Bool {
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

extension TypeReference {
  /// Whether a field of this type may become `other`: every value of that type is a value of this
  /// one.
  fileprivate func isSafeAsOutput(_ other: TypeReference) -> Bool {
    switch (self, other) {
    case (.nonNull(let inner), .nonNull(let otherInner)): inner.isSafeAsOutput(otherInner)
    case (.nonNull, _): false
    case (_, .nonNull(let otherInner)): isSafeAsOutput(otherInner)
    case (.list(let inner, _), .list(let otherInner, _)): inner.isSafeAsOutput(otherInner)
    case (.named(let name), .named(let otherName)): name.value == otherName.value
    default: false
    }
  }
}
