package import GQLRunLanguage

/// The fields of an operation by response key, through all fragments.
///
/// Found on demand, because fragments in fragments may select more fields than a document has.
package struct SelectionTree: Sendable {
  /// A field of an object.
  package struct Entry: Sendable {
    package var field: Field
    /// The type that has the field: that of the innermost fragment that says something of the type, or that of the
    /// schema; `nil` if neither is known.
    package var parent: String?
    /// The fragments around the field, the outermost first, without those that each object of the type has.
    package var conditions: [Condition] = []

    /// The response key.
    package var key: String { field.responseKey }
    package var name: String { field.name.value }
  }

  /// A fragment around a field.
  package struct Condition: Sendable, Equatable {
    /// `nil` if the fragment says nothing of the type.
    package var type: Name?
    package var directives: [Directive]

    package static func == (left: Self, right: Self) -> Bool {
      // Directives of different fragments have different locations.
      left.type?.value == right.type?.value && left.directives == right.directives
    }
  }

  /// A selection set of an object.
  package struct Scope: Sendable {
    package var set: SelectionSet
    /// The type of the object; `nil` if it is not known.
    package var type: String?

    package init(set: SelectionSet, type: String? = nil) {
      self.set = set
      self.type = type
    }
  }

  /// `nil` if the operation was prepared without one.
  package let schema: Schema?
  /// The selection set of the data.
  package let root: Scope
  private let fragments: [String: FragmentDefinition]

  /// - Parameter operation: An operation of the document, whose fragments do not contain themselves.
  package init(_ document: Document, operation: OperationDefinition, schema: Schema?) {
    self.schema = schema
    root = Scope(set: operation.selectionSet, type: schema?.rootType(for: operation.type)?.name)
    fragments = Dictionary(document.fragments.map { ($0.name.value, $0) }) { first, _ in first }
  }

  /// The operation as the caller wrote it.
  package init(_ template: OperationTemplate) {
    self.init(
      template.callerDocument, operation: template.definition, schema: template.schema)
  }

  // MARK: One object

  /// The fields of an object.
  package func fields(of scopes: Scope...) -> [Entry] { fields(of: scopes) }

  /// The fields of an object with several selection sets.
  package func fields(of scopes: [Scope]) -> [Entry] {
    var found = Collection()
    for scope in scopes { collect(scope.set, at: Place(type: scope.type), into: &found) }
    return found.entries
  }

  /// The selection sets of the objects that fields have as their values.
  package func below(_ entries: [Entry]) -> [Scope] {
    entries.compactMap { entry in
      entry.field.selectionSet.map { Scope(set: $0, type: type(of: entry)?.namedType.value) }
    }
  }

  /// The type of a field; `nil` without a schema.
  package func type(of entry: Entry) -> TypeReference? {
    entry.parent.flatMap { schema?.field(entry.name, on: $0)?.type }
  }

  /// Where a selection set is.
  private struct Place: Equatable {
    var type: String?
    var conditions: [Condition] = []
  }

  /// The fields of an object while they are collected.
  private struct Collection {
    var entries: [Entry] = []
    /// Where fragments were found, by name: fragments may have others several times, and these others again.
    var spreads: [String: [Place]] = [:]
  }

  private func collect(_ set: SelectionSet, at place: Place, into found: inout Collection) {
    for selection in set.selections {
      switch selection {
      case .field(let field):
        found.entries.append(
          Entry(field: field, parent: place.type, conditions: place.conditions))
      case .inlineFragment(let fragment):
        let condition = Condition(type: fragment.typeCondition, directives: fragment.directives)
        collect(fragment.selectionSet, at: inside(condition, place), into: &found)
      case .fragmentSpread(let spread):
        guard let fragment = fragments[spread.name.value] else { continue }
        let inner = inside(
          Condition(type: fragment.typeCondition, directives: spread.directives), place)
        let known = found.spreads[spread.name.value, default: []]
        guard !known.contains(inner) else { continue }
        found.spreads[spread.name.value] = known + [inner]
        collect(fragment.selectionSet, at: inner, into: &found)
      }
    }
  }

  private func inside(_ given: Condition, _ place: Place) -> Place {
    var (inner, condition) = (place, given)
    if let name = given.type?.value, covers(name, place.type) { condition.type = nil }
    if condition.type != nil || !condition.directives.isEmpty { inner.conditions.append(condition) }
    inner.type = condition.type?.value ?? place.type
    return inner
  }

  /// Whether each object of `type` fulfills a condition, and the type has the fields of the condition.
  private func covers(_ condition: String, _ type: String?) -> Bool {
    guard let type, condition != type else { return type != nil }
    guard let schema else { return false }
    return schema.type(named: type)?.fields != nil && schema.isSubtype(type, of: condition)
  }

  // MARK: Paths

  /// The selection sets of the objects at a path of response keys.
  package func scopes(at keys: some Sequence<String>) -> [Scope] {
    keys.reduce([root]) { scopes, key in below(fields(of: scopes).filter { $0.key == key }) }
  }

  /// The fields at a path of response keys.
  package func fields(at keys: [String]) -> [Entry] {
    fields(of: scopes(at: keys.dropLast())).filter { $0.key == keys.last }
  }

  /// The response keys of the objects at a path, in the document's order.
  ///
  /// - Parameter isIncluded: Whether the key of a field is among them.
  package func columns(
    at keys: [String], where isIncluded: (Entry) -> Bool = { _ in true }
  ) -> [String] {
    var seen: Set<String> = []
    return fields(of: scopes(at: keys)).filter(isIncluded).map(\.key)
      .filter { seen.insert($0).inserted }
  }

  /// The fields from the data to the first one at a path; `nil` if the document does not select it.
  package func way(to keys: [String]) -> [Entry]? { way(to: keys[...], from: [root]) }

  private func way(to keys: ArraySlice<String>, from scopes: [Scope]) -> [Entry]? {
    guard let key = keys.first else { return [] }
    for entry in fields(of: scopes) where entry.key == key {
      if let rest = way(to: keys.dropFirst(), from: below([entry])) { return [entry] + rest }
    }
    return nil
  }
}
