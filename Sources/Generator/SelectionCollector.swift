import GQLRunLanguage
import GQLRunSupport

/// A condition of `@skip` or `@include`.
enum InclusionCondition: Hashable {
  case variable(String, isNegated: Bool)
  case never

  /// The conditions of directives; constant ones that are always true are dropped.
  static func of(_ directives: [Directive]) -> [InclusionCondition] {
    directives.compactMap { directive in
      let isSkip = directive.name.value == "skip"
      guard isSkip || directive.name.value == "include" else { return nil }
      switch directive.value(of: "if") {
      case .variable(let name): return .variable(name.value, isNegated: isSkip)
      case .boolean(let flag, _): return flag == isSkip ? .never : nil
      default: return nil
      }
    }
  }

  /// The condition in Swift.
  var expression: String {
    switch self {
    case .variable(let name, let isNegated): "\(isNegated ? "!" : "")object.isTrue(\"\(name)\")"
    case .never: "false"
    }
  }
}

/// Selections of one enclosing type, below the same conditions.
struct ConditionalSelections {
  var selections: [Selection]
  /// The enclosing type of the selections in the document.
  var type: String
  var conditions: [InclusionCondition] = []
}

/// The selections of one object, without inline fragments that always apply.
struct CollectedSelections {
  struct FieldUse {
    var field: Field
    var type: String
    var conditions: [InclusionCondition]
    var isConditional: Bool { !conditions.isEmpty }
  }

  struct SpreadUse {
    var spread: FragmentSpread
    /// The alternatives of conditions under which the fragment applies; empty if it always does.
    var conditions: [[InclusionCondition]]
    var isDeferred: Bool { spread.directives.contains { $0.name.value == "defer" } }
    var isAlways: Bool { conditions.isEmpty && !isDeferred }
  }

  /// Selections that apply to some of the possible object types.
  struct Conditional {
    var typeCondition: String
    var part: ConditionalSelections

    /// Whether objects of `type` have any of the selections, or `{ }` distinguishes them.
    func adds(to type: String, _ types: TypeSets) -> Bool {
      types.possible(typeCondition).contains(type)
        && (part.selections.isEmpty
          || !CollectedSelections([part], possible: [type], types: types).isEmpty)
    }
  }

  /// Whether nothing is selected, such as by a condition inside another that no type fulfills.
  var isEmpty: Bool { fields.all.isEmpty && spreads.isEmpty && deferred.isEmpty }

  /// The uses of each response key, in source order.
  private(set) var fields = OrderedGroups<String, FieldUse>()
  private(set) var spreads: [SpreadUse] = []
  private(set) var conditionals: [Conditional] = []
  private(set) var deferred: [(label: String, fragment: InlineFragment, type: String)] = []
  private let possible: Set<String>
  private let types: TypeSets

  /// Collects the selections that apply to objects of the `possible` types.
  init(_ parts: [ConditionalSelections], possible: Set<String>, types: TypeSets) {
    self.possible = possible
    self.types = types
    for part in parts { collect(part) }
  }

  private mutating func collect(_ part: ConditionalSelections) {
    for selection in part.selections {
      let conditions = part.conditions + InclusionCondition.of(selection.directives)
      var own = part
      own.selections = [selection]
      switch selection {
      case .field(let field):
        let use = FieldUse(field: field, type: part.type, conditions: conditions)
        fields.append(use, to: field.responseKey)
      case .fragmentSpread(let spread):
        guard let fragment = types.fragments[spread.name.value] else { continue }
        place(own, on: fragment.typeCondition.value) { $0.add(spread, conditions) }
      case .inlineFragment(let fragment):
        let type = fragment.typeCondition?.value ?? part.type
        let inner = ConditionalSelections(
          selections: fragment.selectionSet.selections, type: type, conditions: conditions)
        if let label = fragment.deferLabel(deferred.count) {
          place(own, on: type) { $0.deferred.append((label, fragment, type)) }
        } else {
          place(inner, on: type) { $0.collect(inner) }
        }
      }
    }
  }

  /// Applies selections whose type condition all possible types fulfill; keeps those that some fulfill.
  private mutating func place(
    _ part: ConditionalSelections, on type: String, apply: (inout Self) -> Void
  ) {
    let matching = types.possible(type)
    if possible.isSubset(of: matching) {
      apply(&self)
    } else if !possible.isDisjoint(with: matching) {
      conditionals.append(Conditional(typeCondition: type, part: part))
    }
  }

  private mutating func add(_ spread: FragmentSpread, _ conditions: [InclusionCondition]) {
    let use = SpreadUse(spread: spread, conditions: conditions.isEmpty ? [] : [conditions])
    guard let index = spreads.firstIndex(where: { $0.spread.name.value == spread.name.value })
    else { return spreads.append(use) }
    if spreads[index].isAlways { return }
    if use.isAlways || use.isDeferred {
      // A deferred fragment is read if its fields are there, whatever has requested them.
      spreads[index] = use
    } else if !spreads[index].isDeferred {
      spreads[index].conditions.append(conditions)
    }
  }
}

extension InlineFragment {
  /// The label of `@defer` as a name, else a name with the number; `nil` if the fragment is not deferred.
  fileprivate func deferLabel(_ number: Int) -> String? {
    guard let directive = directives.first(where: { $0.name.value == "defer" }) else { return nil }
    guard let label = directive.text(of: "label") else {
      return number == 0 ? "deferred" : "deferred\(number + 1)"
    }
    // A label is any text, and not only a name.
    return String(label.map { $0.isLetter || $0.isASCII && $0.isNumber ? $0 : "_" })
  }
}

/// The possible object types of the schema's types, each computed once, and the fragments.
final class TypeSets {
  let schema: Schema
  let fragments: [String: FragmentDefinition]
  private var sets: [String: Set<String>] = [:]

  init(_ schema: Schema, _ fragments: [String: FragmentDefinition]) {
    self.schema = schema
    self.fragments = fragments
  }

  func possible(_ type: String) -> Set<String> {
    if let set = sets[type] { return set }
    let set = Set(schema.possibleTypes(of: type))
    sets[type] = set
    return set
  }

  func isAbstract(_ type: String) -> Bool { schema.type(named: type)?.isAbstract ?? false }
}

/// The names of types that all generated files share.
struct GlobalNames {
  /// The Swift types of the fragments.
  private let fragments: [String: String]
  /// The Swift types of enums, input objects and scalars.
  private let leaves: [String: String]
  /// All names that a nested type must not have.
  let all: Set<String>

  /// - Parameters:
  ///   - operationTypes: The Swift types of the operations.
  ///   - catchesErrors: Whether types have a `FieldError`.
  init(
    _ schema: Schema, fragmentNames: [String], operationTypes: [String], options: GeneratorOptions,
    catchesErrors: Bool
  ) {
    let reserved = SwiftNames.reservedTypes.union(catchesErrors ? ["FieldError"] : [])
    var fragments: [String: String] = [:]
    for name in fragmentNames {
      let type = SwiftNames.type(name)
      fragments[name] = reserved.contains(type) ? type + "Fragment" : type
    }
    let fragmentTypes = Set(fragments.values)
    let taken = reserved.union(fragmentTypes)
    var leaves: [String: String] = [:]
    var declared = taken.union(operationTypes)
    // `UserStatus` keeps its name if there is also a type `user_status`.
    let unchanged = schema.typeNames.filter { SwiftNames.type($0) == $0 }
    let changed = schema.typeNames.filter { SwiftNames.type($0) != $0 }
    for name in unchanged + changed {
      guard let type = schema.type(named: name) else { continue }
      switch type {
      case .enumeration, .inputObject:
        var leaf = SwiftNames.type(name)
        if declared.contains(leaf) { leaf += type.isLeaf ? "Enum" : "Input" }
        while !declared.insert(leaf).inserted { leaf += "_" }
        leaves[name] = leaf
      case .scalar(let scalar) where !scalar.isBuiltIn:
        let leaf = Self.scalar(name, taken: declared, options: options)
        declared.insert(leaf)
        leaves[name] = leaf
      case .scalar, .object, .interface, .union: break
      }
    }
    self.fragments = fragments
    self.leaves = leaves
    // A nested type `Shop` would hide the module of `Shop.Money`.
    let used = leaves.values.flatMap { leaf in
      SwiftNames.paths(in: leaf).map { path in String(path.prefix { $0 != "." }) }
    }
    all = taken.union(used)
  }

  /// The alias of a scalar type, or its Swift type if it can have none.
  private static func scalar(
    _ name: String, taken: Set<String>, options: GeneratorOptions
  ) -> String {
    let swift = options.swiftType(ofScalar: name)
    // An alias would hide the type `Upload` of the client.
    if swift == "GraphQLUpload" { return swift }
    let alias = SwiftNames.type(name)
    return taken.contains(alias) || alias == swift ? swift : alias
  }

  func type(ofFragment name: String) -> String { fragments[name] ?? SwiftNames.type(name) }

  /// The Swift type of an enum, input object or scalar.
  func leaf(_ name: String) -> String {
    switch name {
    case "Int": "Int"
    case "Float": "Double"
    case "Boolean": "Bool"
    case "String", "ID": "String"
    case "__TypeKind", "__DirectiveLocation": "Introspection\(SwiftNames.type(name))"
    default: leaves[name] ?? SwiftNames.type(name)
    }
  }
}

/// The enums, input objects and scalars that operations use.
final class UsedTypes {
  private(set) var all: Set<String> = []
  /// The types that the current file uses.
  private var inFile: Set<String> = []
  private let schema: Schema
  private let names: GlobalNames

  init(_ schema: Schema, _ names: GlobalNames) {
    self.schema = schema
    self.names = names
  }

  /// The Swift type of an enum, input object or scalar, which is used from now on.
  func leaf(_ name: String) -> String {
    inFile.insert(name)
    var pending = [name]
    while let next = pending.popLast() {
      guard all.insert(next).inserted, case .inputObject(let input)? = schema.type(named: next)
      else {
        continue
      }
      pending += input.fields.map(\.type.namedType.value)
    }
    return names.leaf(name)
  }

  /// Starts a file, whose imports are those of the types that it uses.
  func beginFile() { inFile = [] }

  /// The modules that the current file needs.
  ///
  /// - Parameter isSchema: Whether the file declares the types.
  func modules(isSchema: Bool, _ options: GeneratorOptions) -> [String] {
    var modules: Set<String> = ["GQLRunTyped"]
    for name in isSchema ? all : inFile where !Schema.builtInScalars.contains(name) {
      let swift = options.knownType(ofScalar: name)
      let hasAlias = names.leaf(name) != options.swiftType(ofScalar: name)
      if !isSchema, hasAlias, let module = options.schemaModule { modules.insert(module) }
      guard let swift, isSchema == hasAlias else { continue }
      for path in SwiftNames.paths(in: swift) {
        let parts = path.split(separator: ".")
        if parts.count > 1 {
          modules.insert(String(parts[0]))
        } else if options.scalars[name] != nil {
          modules.formUnion(options.imports)
        }
      }
    }
    return modules.sorted()
  }

  /// Warnings about the used scalars of which nothing tells the Swift type.
  func warnings(_ options: GeneratorOptions) -> [String] {
    inOrder.compactMap { type in
      guard case .scalar(let scalar) = type, !scalar.isBuiltIn,
        options.knownType(ofScalar: scalar.name) == nil
      else { return nil }
      return
        "the scalar `\(scalar.name)` is a String in Swift; set another type, or this one, with --scalar "
        + "\(scalar.name)=TYPE or `scalars: { \(scalar.name): TYPE }` in graphql.config.yaml"
    }
  }

  /// The used types in the order of the schema.
  var inOrder: [SchemaType] {
    let introspection = all.filter { $0.hasPrefix("__") }.sorted()
    return (schema.typeNames.filter(all.contains) + introspection)
      .compactMap { schema.type(named: $0) }
  }
}

/// A variable of an operation or a field of an input object.
struct InputProperty: GeneratedProperty {
  var name: String
  var key: String
  var type: String
  var defaultValue: String?
  /// The method of the writer.
  var method: String
  var documentation: String?
  var deprecation: String?
  var storage: String?

  init(
    _ key: String, _ type: TypeReference, hasDefault: Bool, name: String, used: UsedTypes,
    isInputObject: Bool
  ) {
    self.name = name
    self.key = key
    let base = type.swiftNonNull(used.leaf(type.namedType.value))
    method = "write"
    if type.isNonNull, !hasDefault {
      self.type = base
    } else if type.isNonNull, !isInputObject {
      self.type = base + "?"
      defaultValue = "nil"
      method = "writeIfPresent"
    } else {
      // An indirect enumeration, so that input objects may contain each other.
      self.type = "GraphQLNullable<\(base)>"
      defaultValue = ".absent"
    }
  }
}
