/// A Swift type for a selection set.
indirect enum SelectionModel {
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
struct ObjectModel {
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
struct Property {
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
struct VariantModel {
  struct Case {
    var name: String
    /// The object types of the case.
    var typenames: [String]
    var model: SelectionModel
  }

  var name: String
  var documentation: String?
  var cases: [Case]
}
