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
    properties.contains { $0.name == "id" && $0.reading == .field && !$0.type.hasSuffix("?") }
  }
}

/// One stored property of a structure.
struct Property: Hashable {
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
  var documentation: String?
  var deprecation: String?

  var isOptional: Bool { type.hasSuffix("?") }
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
    var found: [String: [SelectionModel]] = [:]
    var order: [String] = []
    for type in cases.flatMap(\.types) {
      if found[type.name] == nil { order.append(type.name) }
      found[type.name, default: []].append(type)
    }
    let taken = Set(cases.map(\.model.name) + [name])
    for name in order where !taken.contains(name) {
      guard let equal = found[name], equal.count > 1, Set(equal).count == 1 else { continue }
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
