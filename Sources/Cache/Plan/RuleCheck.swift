public import GQLRunLanguage
import GQLRunSupport

/// Checks the names in cache rules against a schema: key fields, groups, key arguments, pages, ages.
///
/// A rule for a type or field that the schema does not have is never applied, and objects are
/// stored twice without a message. So such a rule is an error where the schema is known.
public struct RuleCheck: Sendable {
  /// A name in a rule that does not fit the schema.
  public struct Problem: Error, Sendable, Hashable {
    /// What was found: "the schema has no type `Contry`".
    public var message: String
    /// What would work: "did you mean `Country`?"
    public var hint: String?
  }

  let schema: Schema

  /// Creates a check against `schema`.
  public init(_ schema: Schema) { self.schema = schema }

  /// The problem of a rule for a type: the type must be an object, an interface or a union.
  public func type(_ name: String) -> Problem? {
    guard let type = schema.type(named: name) else {
      let composite = schema.typeNames.filter { schema.type(named: $0)?.isComposite ?? false }
      for operation in OperationType.allCases where TypeFacts().rootType(operation) == name {
        guard let root = schema.rootType(for: operation)?.name else { continue }
        return Problem(
          message: "the schema has no type `\(name)`",
          hint: "its \(operation.rawValue) root is `\(root)`")
      }
      return Problem(
        message: "the schema has no type `\(name)`", hint: Self.hint(name, composite))
    }
    guard !type.isComposite else { return nil }
    return Problem(
      message: "`\(name)` is \(type.shortKind), which has no fields",
      hint: "rules are for objects, interfaces and unions")
  }

  /// The problem of a key field of a type: the type, or all members of a union, must have it,
  /// and its value must be a scalar or an enum value.
  public func keyField(_ field: String, of type: String) -> Problem? {
    if field == "__typename" { return nil }
    let owners = schema.type(named: type)?.fields == nil ? schema.possibleTypes(of: type) : [type]
    for owner in owners {
      if let problem = self.field(field, of: owner) { return problem }
      guard let definition = schema.field(field, on: owner) else { continue }
      if case .list = definition.type.withoutNonNull {
        return Problem(
          message: "`\(owner).\(field)` is a list, which cannot identify an object",
          hint: Self.keyHint)
      }
      if schema.namedType(of: definition.type)?.isComposite ?? false {
        return Problem(
          message: "`\(owner).\(field)` is an object, which cannot identify another one",
          hint: Self.keyHint)
      }
    }
    return nil
  }

  private static let keyHint = "key fields are scalars or enum values"

  /// The problem of a rule for a field.
  public func field(_ field: String, of type: String) -> Problem? {
    if let problem = self.type(type) { return problem }
    guard let fields = schema.type(named: type)?.fields else {
      return Problem(
        message: "`\(type)` is a union, which has no fields of its own",
        hint: "write a rule for each of its types")
    }
    if fields[field] != nil { return nil }
    return Problem(
      message: "the type `\(type)` has no field `\(field)`", hint: Self.hint(field, fields.names))
  }

  /// The problem of a key argument of a field, which must exist.
  public func argument(_ name: String, of field: String, in type: String) -> Problem? {
    guard let definition = schema.field(field, on: type), definition.argument(named: name) == nil
    else { return nil }
    let names = definition.arguments.map(\.name.value)
    return Problem(
      message: "the field `\(type).\(field)` has no argument `\(name)`",
      hint: names.isEmpty ? "it takes no arguments" : Self.hint(name, names))
  }

  /// The problem of joining the pages of a field, which must exist.
  public func merge(_ policy: PagePolicy, of field: String, in type: String) -> Problem? {
    guard let definition = schema.field(field, on: type) else { return nil }
    let isList = if case .list = definition.type.withoutNonNull { true } else { false }
    switch policy {
    case .connection:
      let fields = isList ? nil : schema.namedType(of: definition.type)?.fields
      if let fields, ["edges", "nodes"].contains(where: { fields[$0] != nil }) { return nil }
      return Problem(
        message: "`\(type).\(field)` is \(definition.type.printed()), which is no connection",
        hint: isList
          ? "`merge: offset` or `merge: append` join lists" : "a connection has `edges` or `nodes`")
    case .offset, .append:
      if isList { return nil }
      return Problem(
        message: "`\(type).\(field)` is \(definition.type.printed()), which is no list",
        hint: "`merge: connection` joins the pages of connections")
    }
  }

  /// The problem of the key fields of a type.
  public func keys(_ fields: [String], of type: String) -> [Problem] {
    if let problem = self.type(type) { return [problem] }
    return fields.compactMap { keyField($0, of: type) }
  }

  /// The problem of a key field of types without a rule: some object type must have it.
  public func defaultKeyField(_ field: String) -> Problem? {
    if field == "__typename" { return nil }
    var names: Set<String> = []
    for name in schema.typeNames {
      guard case .object(let type)? = schema.type(named: name) else { continue }
      if type.fields[field] != nil { return nil }
      names.formUnion(type.fields.names)
    }
    return Problem(
      message: "no object of the schema has a field `\(field)`",
      hint: Self.hint(field, names.sorted()))
  }

  static func hint(_ name: String, _ known: [String]) -> String? {
    suggestion(for: name, in: known).map { "did you mean `\($0)`?" }
  }
}

extension TypeReference {
  var withoutNonNull: TypeReference {
    if case .nonNull(let inner) = self { inner } else { self }
  }
}

extension SchemaType {
  fileprivate var shortKind: String {
    switch self {
    case .scalar: "a scalar"
    case .object: "an object"
    case .interface: "an interface"
    case .union: "a union"
    case .enumeration: "an enum"
    case .inputObject: "an input object"
    }
  }
}
