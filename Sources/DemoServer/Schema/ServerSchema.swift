import GraphQL

/// The schema the server answers by: the definitions of ``SchemaSDL`` and of the language itself.
final class ServerSchema: Sendable {
  /// Every type by its name, those of the language included.
  let types: [String: TypeSystemDefinition]
  /// The names of the types in the order of their definitions.
  let typeNames: [String]
  let directives: [DirectiveDefinition]
  let schemaDefinition: SchemaDefinition?

  private let fieldsByType: [String: [String: FieldDefinition]]
  private let possibleTypesByName: [String: [String]]

  private let metaFields: [String: FieldDefinition]

  /// The demo's schema.
  static let demo = ServerSchema(sdl: SchemaSDL.text)

  /// Reads a schema; what does not parse is left out, which the tests of the schema would notice.
  init(sdl: String) {
    func parsed(_ text: String) -> [TypeSystemDefinition] {
      let document = (try? Document(parsing: text)) ?? Document(definitions: [])
      return document.definitions.compactMap { definition in
        if case .typeSystem(let definition) = definition { definition } else { nil }
      }
    }
    let definitions = parsed(sdl) + parsed(BuiltInSDL.text)
    let meta = parsed(BuiltInSDL.metaFields).flatMap(\.fields)
    metaFields = Dictionary(meta.map { ($0.name.value, $0) }) { first, _ in first }
    var types: [String: TypeSystemDefinition] = [:]
    var typeNames: [String] = []
    var directives: [DirectiveDefinition] = []
    var schemaDefinition: SchemaDefinition?
    var fields: [String: [String: FieldDefinition]] = [:]
    var possible: [String: [String]] = [:]
    for definition in definitions {
      switch definition {
      case .schema(let schema):
        schemaDefinition = schema
        continue
      case .directive(let directive):
        directives.append(directive)
        continue
      case .object(let object):
        for interface in object.interfaces {
          possible[interface.value, default: []].append(object.name.value)
        }
        possible[object.name.value] = [object.name.value]
      case .union(let union):
        possible[union.name.value] = union.types.map(\.value)
      case .scalar, .interface, .enumeration, .inputObject: break
      }
      guard let name = definition.name?.value else { continue }
      types[name] = definition
      typeNames.append(name)
      fields[name] = Dictionary(definition.fields.map { ($0.name.value, $0) }) { first, _ in first }
    }
    self.types = types
    self.typeNames = typeNames
    self.directives = directives
    self.schemaDefinition = schemaDefinition
    fieldsByType = fields
    possibleTypesByName = possible
  }

  /// The name of the root type for a kind of operation; nil when there are none of that kind.
  func rootType(_ operation: OperationType) -> String? {
    schemaDefinition?.operationTypes.first { $0.operation == operation }?.type.value
  }

  /// A field of an object or interface type.
  func field(_ name: String, of type: String) -> FieldDefinition? {
    fieldsByType[type]?[name]
  }

  /// A field that can be selected from a type: one of its own, or one of introspection.
  func selectableField(_ name: String, of type: String) -> FieldDefinition? {
    if name.hasPrefix("__") {
      guard isComposite(type), name == "__typename" || type == rootType(.query) else { return nil }
      return metaFields[name]
    }
    return field(name, of: type)
  }

  /// The object types a value of this type can have; the type itself for an object type.
  func possibleTypes(of type: String) -> [String] {
    possibleTypesByName[type] ?? []
  }

  /// Whether values of this type are objects, so that fields must be selected from them.
  func isComposite(_ type: String) -> Bool {
    switch types[type] {
    case .object, .interface, .union: true
    default: false
    }
  }
}

extension TypeSystemDefinition {
  /// The fields of an object or interface type; empty for others.
  var fields: [FieldDefinition] {
    switch self {
    case .object(let definition): definition.fields
    case .interface(let definition): definition.fields
    default: []
    }
  }
}
