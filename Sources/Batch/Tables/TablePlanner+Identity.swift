import GQLRunCache
import GQLRunLanguage

extension TablePlanner {
  /// The maximum number of types whose key fields are added one by one to a selection of an abstract type.
  private static let maxTypes = 40

  /// Adds `__typename` and the key fields to a selection; `nil` if nothing identifies its objects.
  mutating func identify(_ object: SelectedObject) -> TableShape.Identity? {
    var fields: [String: String] = [:]
    if let schema {
      for part in object.parts.indices {
        add(to: object, part: part, schema: schema, into: &fields)
      }
    } else {
      addWithoutSchema(to: object, &fields)
    }
    guard !fields.isEmpty || rules.resolver != nil else { return nil }
    var key = "__typename"
    for part in object.parts.indices { key = object.add("__typename", to: part) }
    return TableShape.Identity(typename: key, fields: fields)
  }

  private mutating func add(
    to object: SelectedObject, part: Int, schema: Schema, into fields: inout [String: String]
  ) {
    guard let declared = object.parts[part].type else { return }
    func add(_ type: String, isCondition: Bool) {
      for name in keys.selectableFields(of: type) {
        guard let field = schema.field(name, on: type) else { continue }
        fields[name] = object.add(
          name, to: part, on: isCondition ? type : nil, type: field.type)
      }
    }
    let own = keys.selectableFields(of: declared)
    var rest = schema.possibleTypes(of: declared).filter {
      !keys.selectableFields(of: $0).isEmpty && keys.selectableFields(of: $0) != own
    }
    if !own.isEmpty { add(declared, isCondition: false) }
    // One fragment on an interface for all types that have its key fields.
    let interface = schema.rootType(for: .query).flatMap { schema.field("node", on: $0.name) }?
      .type.namedType.value
    if let interface {
      let shared = keys.selectableFields(of: interface)
      let covered = rest.filter {
        schema.isSubtype($0, of: interface) && keys.selectableFields(of: $0) == shared
      }
      if !covered.isEmpty {
        add(interface, isCondition: true)
        rest.removeAll { covered.contains($0) }
      }
    }
    if rest.count > Self.maxTypes {
      let named = Set(
        object.fields.flatMap(\.uses).flatMap(\.conditions).compactMap(\.type?.value))
      rest.removeAll { !named.contains($0) }
      note(
        "`\(declared)` has many types: objects of those that no fragment names have keys by their position"
      )
    }
    for type in rest { add(type, isCondition: true) }
  }

  /// The key fields that the document selects, and those of rules for types that it has fragments on.
  private func addWithoutSchema(
    to object: SelectedObject, _ fields: inout [String: String]
  ) {
    for type in Set(object.fields.flatMap(\.uses).compactMap { $0.conditions.last?.type?.value })
      .sorted()
    {
      for name in keys.selectableFields(of: type) {
        for part in object.parts.indices {
          fields[name] = object.add(name, to: part, on: type)
        }
      }
    }
    for name in Set(rules.types.values.joined()).union(rules.defaultFields).sorted()
    where fields[name] == nil {
      fields[name] = selectedKey(name, of: object)
    }
  }
}
