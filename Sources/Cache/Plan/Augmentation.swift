import GQLRunLanguage

/// Adds the fields that identify objects to an operation. Added fields have the source location
/// ``GraphQL/SourceLocation/added``, and are not shown to the caller.
///
/// `__typename` is the first field of every selection set except the root's. Key fields follow
/// where the type is known to have them: with a schema everywhere, without one in fragments on a
/// type with a key rule (a server would reject an operation with an unknown field).
struct Augmentation {
  let keys: KeyRules
  let facts: TypeFacts?
  /// The type conditions of fragments, by name.
  private var fragmentTypes: [String: String] = [:]

  init(keys: KeyRules, facts: TypeFacts?) {
    self.keys = keys
    self.facts = facts
  }

  func augment(_ document: Document) -> Document {
    var augmentation = self
    for fragment in document.fragments {
      augmentation.fragmentTypes[fragment.name.value] = fragment.typeCondition.value
    }
    return augmentation.augmented(document)
  }

  private func augmented(_ document: Document) -> Document {
    var result = document
    result.definitions = document.definitions.map { definition in
      switch definition {
      case .operation(var operation):
        let root = facts?.rootType(operation.type)
        operation.selectionSet = augment(operation.selectionSet, type: root, isRoot: true)
        return .operation(operation)
      case .fragment(var fragment):
        let type = fragment.typeCondition.value
        fragment.selectionSet = augment(
          fragment.selectionSet, type: type, isRoot: isRootType(type))
        return .fragment(fragment)
      case .typeSystem: return definition
      }
    }
    return result
  }

  private func isRootType(_ type: String) -> Bool {
    OperationType.allCases.contains { (facts ?? TypeFacts()).rootType($0) == type }
  }

  private func augment(
    _ set: SelectionSet, type: String?, isRoot: Bool, isInline: Bool = false
  ) -> SelectionSet {
    var result = set
    result.selections = set.selections.map { selection in
      switch selection {
      case .field(var field):
        if let inner = field.selectionSet {
          let fieldType = type.flatMap { facts?.fields[$0]?[field.name.value] }
          field.selectionSet = augment(inner, type: fieldType, isRoot: false)
        }
        return .field(field)
      case .inlineFragment(var fragment):
        let condition = fragment.typeCondition?.value
        fragment.selectionSet = augment(
          fragment.selectionSet, type: condition ?? type,
          isRoot: isRoot && (condition.map { isRootType($0) } ?? true), isInline: true)
        return .inlineFragment(fragment)
      case .fragmentSpread: return selection
      }
    }
    guard !isRoot else { return result }
    var added: [Selection] = []
    // The enclosing selection set of an inline fragment already selects the type's name.
    if !isInline, !asksPlainly(for: "__typename", in: set) {
      added.append(field("__typename", in: set))
    }
    for name in type.map({ addedKeyFields(of: $0) }) ?? []
    where !asksPlainly(for: name, in: set, anyAlias: true) { added.append(field(name, in: set)) }
    result.selections = added + identities(ofDeferredIn: set, on: type) + result.selections
    return result
  }

  /// The key fields of the types of deferred fragments: objects must be identified before the fragments arrive.
  private func identities(ofDeferredIn set: SelectionSet, on type: String?) -> [Selection] {
    var types: [String] = []
    for selection in set.selections {
      let (directives, condition): ([Directive], String?) =
        switch selection {
        case .field: ([], nil)
        case .inlineFragment(let fragment): (fragment.directives, fragment.typeCondition?.value)
        case .fragmentSpread(let spread):
          (spread.directives, fragmentTypes[spread.name.value])
        }
      guard let condition, condition != type, !types.contains(condition),
        directives.contains(where: { $0.name.value == "defer" })
      else { continue }
      types.append(condition)
    }
    return types.compactMap { type in
      let fields = addedKeyFields(of: type).map { field($0, in: set) }
      if fields.isEmpty { return nil }
      return .inlineFragment(
        InlineFragment(
          typeCondition: Name(type, at: .added), directives: [],
          selectionSet: SelectionSet(selections: fields, location: .added), location: .added))
    }
  }

  private func addedKeyFields(of type: String) -> [String] {
    let fields = keys.fields(of: type, facts: facts)
    guard let facts else { return keys.types[type] ?? [] }
    guard let known = facts.fields[type] else { return [] }
    return fields.allSatisfy { known[$0] != nil } ? fields : []
  }

  /// Whether `set` itself selects `name`, unconditionally and without arguments.
  private func asksPlainly(
    for name: String, in set: SelectionSet, anyAlias: Bool = false
  ) -> Bool {
    set.selections.contains {
      guard case .field(let field) = $0 else { return false }
      return field.name.value == name && field.arguments.isEmpty && field.directives.isEmpty
        && (anyAlias || field.responseKey == name)
    }
  }

  /// The field to add; with an alias if another field has the response key.
  private func field(_ name: String, in set: SelectionSet) -> Selection {
    let isTaken = set.selections.contains {
      guard case .field(let field) = $0 else { return false }
      return field.responseKey == name && field.name.value != name
    }
    return .field(
      Field(
        alias: isTaken ? Name("gqlrun_\(name)", at: .added) : nil,
        name: Name(name, at: .added), location: .added))
  }
}

extension SourceLocation {
  /// The source location of fields that the cache adds.
  static let added = SourceLocation(line: 0, column: 0, offset: -1)
}
