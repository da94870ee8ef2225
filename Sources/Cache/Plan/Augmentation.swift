import GQLRunLanguage

/// Adds the fields that identify objects to an operation. Added fields have the source location
/// ``GraphQL/SourceLocation/added``, and are not shown to the caller.
///
/// `__typename` is the first field of every selection set except the root's. Key fields follow
/// where the type is known to have them: with a schema everywhere, without one in fragments on a
/// type with a key rule (a server would reject an operation with an unknown field).
///
/// `@catch` and `@catchByDefault` are removed: they are for types of the client.
struct Augmentation {
  let keys: KeyRules
  let facts: TypeFacts?
  private let document: Document
  private let shared: SharedIdentities
  /// Whether each key field has an alias with the name of its type.
  private var hasOwnAliases = false
  private var hasAddedKeyFields = false

  init(_ document: Document, keys: KeyRules, facts: TypeFacts?) {
    self.document = document.withoutCatches()
    self.keys = keys
    self.facts = facts
    shared = SharedIdentities(document, keys: keys, facts: facts)
  }

  /// The document with the added fields.
  ///
  /// An added field may conflict with a field of the document that is merged with it, in a fragment or under the same
  /// response key: the key field `id` with `id: name`, or with the `id` of another type of a union.
  func augmented() -> Document {
    var plain = self
    let result = plain.withAddedFields()
    guard plain.hasAddedKeyFields, result.hasConflicts(in: facts?.schema),
      !document.hasConflicts(in: facts?.schema)
    else { return result }
    var distinct = self
    distinct.hasOwnAliases = true
    return distinct.withAddedFields()
  }

  private mutating func withAddedFields() -> Document {
    var result = document
    result.definitions = result.definitions.map { definition in
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

  private mutating func augment(
    _ set: SelectionSet, type: String?, isRoot: Bool, isInline: Bool = false,
    field name: String? = nil
  ) -> SelectionSet {
    var result = set
    result.selections = set.selections.map { selection in
      switch selection {
      case .field(var field):
        if let inner = field.selectionSet {
          let fieldType = type.flatMap { facts?.fields[$0]?[field.name.value] }
          field.selectionSet = augment(
            inner, type: fieldType, isRoot: false, field: field.name.value)
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
    for name in type.map({ keys.selectableFields(of: $0, facts: facts) }) ?? []
    where !asksPlainly(for: name, in: set, anyAlias: true) {
      added.append(field(name, in: set, of: type))
    }
    result.selections = added + identities(in: set, of: name, on: type) + result.selections
    return result
  }

  /// The key fields of further types, so that every part of a response identifies the same objects.
  private mutating func identities(
    in set: SelectionSet, of field: String?, on type: String?
  ) -> [Selection] {
    guard let field else { return [] }
    return shared.types(for: set, of: field, on: type).compactMap { type in
      let fields = keys.selectableFields(of: type, facts: facts).map {
        self.field($0, in: set, of: type)
      }
      if fields.isEmpty { return nil }
      return SyntaxMaker(at: .added).fragment(on: type, fields)
    }
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
  private mutating func field(
    _ name: String, in set: SelectionSet, of type: String? = nil
  ) -> Selection {
    if type != nil { hasAddedKeyFields = true }
    if hasOwnAliases, let type {
      return SyntaxMaker(at: .added).field(name, as: ObjectKeys.alias(of: "\(type)_\(name)"))
    }
    let isTaken = set.selections.contains {
      guard case .field(let field) = $0 else { return false }
      return field.responseKey == name && field.name.value != name
    }
    return SyntaxMaker(at: .added).field(name, as: isTaken ? ObjectKeys.alias(of: name) : nil)
  }
}

extension Document {
  /// Whether fields with the same response key cannot be merged.
  fileprivate func hasConflicts(in schema: Schema?) -> Bool {
    let options = ValidationOptions(rules: [.overlappingFieldsCanBeMerged], maxErrors: 1)
    return validate(schema, options: options, own: []).contains {
      $0.rule == .overlappingFieldsCanBeMerged
    }
  }
}

extension SourceLocation {
  /// The source location of fields that the cache adds.
  static let added = SourceLocation(line: 0, column: 0, offset: -1)
}
