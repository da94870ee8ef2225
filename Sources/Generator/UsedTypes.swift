import GQLRunLanguage

/// The names of types that all generated files share.
struct GlobalNames {
  /// The Swift types of the fragments.
  private let fragments: [String: String]
  /// The Swift types of enums, input objects and scalars.
  private let leaves: [String: String]
  /// All names that a nested type must not have.
  let all: Set<String>

  init(_ schema: Schema, _ fragmentNames: [String], _ options: GeneratorOptions) {
    var fragments: [String: String] = [:]
    for name in fragmentNames {
      let type = SwiftNames.type(name)
      fragments[name] = SwiftNames.reservedTypes.contains(type) ? type + "Fragment" : type
    }
    let fragmentTypes = Set(fragments.values)
    var leaves: [String: String] = [:]
    for name in schema.typeNames {
      guard let type = schema.type(named: name) else { continue }
      switch type {
      case .enumeration, .inputObject:
        let plain = SwiftNames.type(name)
        let isTaken = SwiftNames.reservedTypes.contains(plain) || fragmentTypes.contains(plain)
        leaves[name] = isTaken ? plain + (type.isLeaf ? "Enum" : "Input") : plain
      case .scalar(let scalar) where !scalar.isBuiltIn:
        leaves[name] = Self.scalar(name, fragmentTypes, options)
      case .scalar, .object, .interface, .union: break
      }
    }
    self.fragments = fragments
    self.leaves = leaves
    all = SwiftNames.reservedTypes.union(fragmentTypes).union(leaves.values)
  }

  /// The alias of a scalar type, or its Swift type if it can have none.
  private static func scalar(
    _ name: String, _ fragmentTypes: Set<String>, _ options: GeneratorOptions
  ) -> String {
    let swift = options.swiftType(ofScalar: name)
    // An alias would hide the type `Upload` of the client.
    if swift == "GraphQLUpload" { return swift }
    let alias = SwiftNames.type(name)
    let isTaken = SwiftNames.reservedTypes.contains(alias) || fragmentTypes.contains(alias)
    return isTaken || alias == swift ? swift : alias
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
      let parts = swift.split(separator: ".")
      if parts.count > 1 {
        modules.insert(String(parts[0]))
      } else if options.scalars[name] != nil {
        modules.formUnion(options.imports)
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
struct InputProperty {
  var name: String
  var key: String
  var type: String
  /// The default value of the parameter; `nil` if it is required.
  var defaultValue: String?
  /// The method of the writer.
  var method: String
  var documentation: String?
  var deprecation: String?

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
