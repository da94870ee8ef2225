import GQLRunLanguage
import GQLRunSupport

/// A Swift type for a selection set.
indirect enum SelectionModel: Hashable {
  /// A structure with the selected fields.
  case object(ObjectModel)
  /// An enumeration of the type conditions of a selection set.
  case variants(VariantModel)

  var name: String {
    switch self {
    case .object(let object): object.name
    case .variants(let variants): variants.name
    }
  }
}

/// A structure with the selected fields of an object.
struct ObjectModel: Hashable {
  var name: String
  var documentation: String?
  var properties: [Property] = []
  /// The object type, if it is the only possible one and the selection does not store it.
  var typename: String?
  var types: [SelectionModel] = []

  /// Whether a field `id` identifies the object.
  var isIdentifiable: Bool {
    properties.contains { property in
      property.name == "id" && property.reading == .field && !property.type.hasSuffix("?")
        && !property.type.hasPrefix("Result<")
    }
  }
}

/// One stored property of a structure.
struct Property: Hashable, GeneratedProperty {
  /// How the property is read from the object.
  enum Reading: Hashable {
    /// The value of a member.
    case field
    /// The value of a member that may be excluded.
    case conditionalField
    /// A type that reads the same object: a fragment, or the enumeration of type conditions.
    case part
    /// The same, if a Swift expression is true.
    case conditionalPart(String)
    /// The same, once the server has sent it.
    case deferredPart
  }

  var name: String
  /// The response key.
  var key: String
  /// The type in Swift.
  var type: String
  /// The type in the schema.
  var schemaType: String
  var reading: Reading
  /// The expression that reads the value from a `ValueReader`, if its errors are caught; `nil` if the type says how.
  var caught: String?
  var documentation: String?
  var deprecation: String?
  var storage: String?

  var defaultValue: String? { nil }
}

/// An enumeration of the type conditions of a selection set, each with the fields that it adds.
struct VariantModel: Hashable {
  struct Case: Hashable {
    var name: String
    /// The object types of the case.
    var typenames: [String]
    var model: SelectionModel
  }

  var name: String
  var documentation: String?
  var cases: [Case]
  /// Types that several cases have.
  var types: [SelectionModel] = []

  /// Moves types that are equal in all cases that have them into the enumeration: one type instead of
  /// one for each case.
  mutating func shareTypes() {
    let taken = Set(cases.map(\.model.name) + [name])
    for (name, equal) in OrderedGroups(cases.flatMap(\.types), by: \.name).all
    where !taken.contains(name) && equal.count > 1 && Set(equal).count == 1 {
      types.append(equal[0])
      for index in cases.indices { cases[index].types.removeAll { $0.name == name } }
    }
  }
}

extension VariantModel.Case {
  /// The types in the structure of the case; none in an enumeration.
  fileprivate var types: [SelectionModel] {
    get { if case .object(let object) = model { object.types } else { [] } }
    set {
      guard case .object(var object) = model else { return }
      object.types = newValue
      model = .object(object)
    }
  }
}

/// Builds the Swift types of selection sets.
struct SelectionModelBuilder {
  let documents: CheckedDocuments
  let types: TypeSets
  let options: GeneratorOptions
  let names: GlobalNames
  /// Receives the leaf types that properties use.
  let used: UsedTypes
  /// What the current definition has for errors of nullable positions without `@catch`.
  var catchByDefault: CatchTarget?
  /// The conformances of the current definition.
  var conformances: Set<GeneratorOptions.Conformance> = []

  /// The builder for an operation or fragment with these directives and conformances.
  func within(
    _ directives: [Directive], _ conformances: Set<GeneratorOptions.Conformance>
  ) -> Self {
    var builder = self
    builder.catchByDefault = directives.catchByDefault ?? types.schema.catchByDefault
    builder.conformances = conformances
    return builder
  }

  /// The object types that a selection set applies to.
  struct Scope {
    var possible: Set<String>
    /// Whether a value is of one known object type.
    var typename: String?
  }

  /// The scope of a selection set with that enclosing type.
  func scope(_ type: String) -> Scope {
    Scope(possible: types.possible(type), typename: types.isAbstract(type) ? nil : type)
  }

  /// The type of the given selections.
  ///
  /// - Parameter hasTypename: Whether values contain the object's `__typename`. Those of root types do not,
  ///   nor do deferred fields, which are part of an object that has it.
  func model(
    _ name: String, parts: [ConditionalSelections], scope: Scope, documentation: String? = nil,
    hasTypename: Bool = true
  ) throws(GeneratorError) -> SelectionModel {
    let selections = CollectedSelections(parts, possible: scope.possible, types: types)
    let hasOwn =
      selections.fields.all.contains {
        $0.elements[0].field.name.value != "__typename" || $0.key != "__typename"
      }
      || !selections.spreads.isEmpty || !selections.deferred.isEmpty
    if !hasOwn, !selections.conditionals.isEmpty {
      return .variants(
        try variants(name, selections: selections, scope: scope, documentation: documentation))
    }
    var object = ObjectModel(name: name, documentation: documentation)
    var taken = SwiftNames.witnesses
    // A type must not have the name of a property, which may begin with a capital.
    var typeNames = names.all.union(
      selections.fields.all.map { SwiftNames.member($0.key, options.fields) })
    if hasTypename, scope.typename == nil, selections.conditionals.isEmpty {
      object.properties.append(.typename)
      taken.insert("__typename")
    }
    for (key, uses) in selections.fields.all {
      if key == "__typename", hasTypename, scope.typename == nil { continue }
      object.properties.append(
        try property(key, uses: uses, object: &object, taken: &taken, typeNames: &typeNames))
    }
    for use in selections.spreads { object.properties.append(property(use, &taken)) }
    for (label, fragment, type) in selections.deferred {
      let typeName = unique(SwiftNames.type(label), &typeNames)
      let part = ConditionalSelections(selections: fragment.selectionSet.selections, type: type)
      object.types.append(try model(typeName, parts: [part], scope: scope, hasTypename: false))
      object.properties.append(
        Property(
          name: SwiftNames.member(label, .camel, avoiding: &taken), key: "",
          type: "Deferred<\(typeName)>", schemaType: "", reading: .deferredPart))
    }
    if !selections.conditionals.isEmpty {
      let variants = try variants(
        unique("Variant", &typeNames), selections: selections, scope: scope)
      object.types.append(.variants(variants))
      object.properties.append(
        Property(
          name: SwiftNames.member("variant", .verbatim, avoiding: &taken), key: "",
          type: variants.name, schemaType: "", reading: .part))
    }
    object.properties.nameStorage()
    let storesTypename = selections.fields.all.contains { $0.key == "__typename" }
    if hasTypename, !storesTypename { object.typename = scope.typename }
    return .object(object)
  }

  /// The enumeration of the type conditions: one case for all object types that the same conditions add
  /// selections to.
  private func variants(
    _ name: String, selections: CollectedSelections, scope: Scope, documentation: String? = nil
  ) throws(GeneratorError) -> VariantModel {
    var groups: [[Int]: [String]] = [:]
    for type in scope.possible.sorted() {
      let matching = selections.conditionals.indices.filter {
        selections.conditionals[$0].adds(to: type, types)
      }
      if !matching.isEmpty { groups[matching, default: []].append(type) }
    }
    var variants = VariantModel(name: name, documentation: documentation, cases: [])
    var taken: Set<String> = ["other"]
    var typeNames = names.all
    for (conditions, members) in groups.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
      let conditionals = conditions.map { selections.conditionals[$0] }
      let conditionTypes = OrderedGroups(conditionals, by: \.typeCondition).all.map(\.key)
      let schemaName = members.count == 1 ? members[0] : conditionTypes.joined(separator: "And")
      let typeName = unique(SwiftNames.type(schemaName), &typeNames)
      let inner = Scope(possible: Set(members), typename: members.count == 1 ? members[0] : nil)
      variants.cases.append(
        VariantModel.Case(
          name: SwiftNames.member(
            SwiftNames.lowerCaseStart(SwiftNames.type(schemaName)), .verbatim, avoiding: &taken),
          typenames: members,
          model: try model(typeName, parts: conditionals.map(\.part), scope: inner)))
    }
    variants.shareTypes()
    return variants
  }

  // MARK: Properties

  private func property(
    _ key: String, uses: [CollectedSelections.FieldUse], object: inout ObjectModel,
    taken: inout Set<String>, typeNames: inout Set<String>
  ) throws(GeneratorError) -> Property {
    let first = uses[0]
    guard let definition = types.schema.field(first.field.name.value, on: first.type) else {
      preconditionFailure("validated documents select fields that exist")
    }
    let named = definition.type.namedType.value
    let isConditional = uses.allSatisfy(\.isConditional)
    var base: String
    if first.field.selectionSet == nil {
      base = used.leaf(named)
    } else if let fragment = try flattened(first.field, type: named, uses: uses.count) {
      base = names.type(ofFragment: fragment)
    } else {
      let keyName = definition.type.isList ? SwiftNames.singular(key) : key
      base = unique(SwiftNames.type(keyName), &typeNames, else: SwiftNames.type(key))
      let parts = uses.map { use in
        ConditionalSelections(
          selections: use.field.selectionSet?.selections ?? [], type: named,
          // Below an unconditional field, only the fields of a conditional use are conditional.
          conditions: isConditional ? [] : use.conditions)
      }
      object.types.append(
        try model(
          base, parts: parts, scope: scope(named),
          documentation: types.schema.type(named: named)?.description))
    }
    let caught = CaughtField(
      first.field, definition,
      semantic: types.schema.semanticLevels(of: definition, on: first.type), default: catchByDefault
    )
    if caught?.hasResult == true { try checkCoding(of: first.field) }
    var type = caught?.swift(base) ?? definition.type.swift(base)
    var reading = caught?.reading
    if isConditional, !type.hasSuffix("?") {
      // Otherwise, Swift infers that an included field may be null, too.
      reading = reading.map { "\($0) as \(type)" }
      type += "?"
    }
    return Property(
      name: SwiftNames.member(key, options.fields, avoiding: &taken), key: key, type: type,
      schemaType: caught?.schemaType ?? definition.type.printed(),
      reading: isConditional ? .conditionalField : .field, caught: reading,
      documentation: definition.description?.value,
      deprecation: definition.deprecationReason)
  }

  /// A type with a `Result` cannot be `Codable`.
  private func checkCoding(of field: Field) throws(GeneratorError) {
    guard conformances.contains(.codable) else { return }
    throw documents.sources.error([
      (
        "the field '\(field.responseKey)' is a Result, which is not Codable; remove `codable`, or catch its "
          + "errors with @catch(to: NULL) or @catch(to: THROW)", field.location
      )
    ])
  }

  private func property(
    _ use: CollectedSelections.SpreadUse, _ taken: inout Set<String>
  ) -> Property {
    let type = names.type(ofFragment: use.spread.name.value)
    var property = Property(
      name: SwiftNames.member(
        SwiftNames.lowerCaseStart(use.spread.name.value), options.fields, avoiding: &taken),
      key: "",
      type: type, schemaType: "", reading: .part)
    if use.isDeferred {
      property.type = "Deferred<\(type)>"
      property.reading = .deferredPart
    } else if !use.conditions.isEmpty {
      property.type += "?"
      let alternatives = use.conditions.map { $0.map(\.expression).joined(separator: " && ") }
      property.reading = .conditionalPart(
        alternatives.count == 1
          ? alternatives[0] : alternatives.map { "(\($0))" }.joined(separator: " || "))
    }
    return property
  }

  /// The fragment whose type a field has directly, with the comment directive `flatten`.
  private func flattened(
    _ field: Field, type: String, uses: Int
  ) throws(GeneratorError) -> String? {
    let directives = try documents.commentDirectives(above: field.location, known: ["flatten"])
    guard directives.contains("flatten") else { return nil }
    guard uses == 1, let selections = field.selectionSet?.selections, selections.count == 1,
      case .fragmentSpread(let spread) = selections[0], spread.directives.isEmpty,
      let condition = types.fragments[spread.name.value]?.typeCondition.value,
      types.possible(type).isSubset(of: types.possible(condition))
    else {
      throw documents.sources.error([
        (
          "the field '\(field.responseKey)' cannot be flattened: it needs exactly one fragment, which applies "
            + "to all of its types, and nothing else; remove the comment directive or the other selections",
          field.location
        )
      ])
    }
    return spread.name.value
  }

  private func unique(
    _ name: String, _ taken: inout Set<String>, else alternative: String? = nil
  ) -> String {
    var candidate = name
    if taken.contains(candidate), let alternative { candidate = alternative }
    if taken.contains(candidate) { candidate = (alternative ?? name) + "Object" }
    while !taken.insert(candidate).inserted { candidate += "_" }
    return candidate
  }
}

extension Property {
  /// The type of an object of an interface or union.
  static var typename: Property {
    Property(
      name: "__typename", key: "__typename", type: "String", schemaType: "String!", reading: .field)
  }
}

extension TypeReference {
  /// The type in Swift, with `base` for the named type.
  func swift(_ base: String) -> String {
    if case .nonNull(let inner) = self { return inner.swiftNonNull(base) }
    return swiftNonNull(base) + "?"
  }

  /// The type in Swift without the question mark of a nullable type.
  func swiftNonNull(_ base: String) -> String {
    switch self {
    case .named: base
    case .list(let inner, _): "[\(inner.swift(base))]"
    case .nonNull(let inner): inner.swiftNonNull(base)
    }
  }
}
