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
      if definition.type.isList {
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
    return unknownArgument(name, of: definition, "\(type).\(field)")
  }

  private func unknownArgument(
    _ name: String, of field: FieldDefinition, _ coordinate: String
  ) -> Problem {
    let names = field.arguments.map(\.name.value)
    return Problem(
      message: "the field `\(coordinate)` has no argument `\(name)`",
      hint: names.isEmpty ? "it takes no arguments" : Self.hint(name, names))
  }

  /// The problem of joining the pages of a field, which must exist.
  public func merge(_ policy: PagePolicy, of field: String, in type: String) -> Problem? {
    guard let definition = schema.field(field, on: type) else { return nil }
    let isList = definition.type.isList
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

extension RuleCheck {
  /// The part of a redirect that a problem is about.
  public enum RedirectPart: Sendable, Hashable {
    /// The argument with this index.
    case argument(Int)
    /// The returned type.
    case type
    /// The arguments together.
    case arguments
  }

  /// What is wrong with a redirect of a field: the arguments must exist, the field must return an object or a
  /// list of objects, and the arguments must be its key fields, in their order. The field must exist.
  ///
  /// - Parameters:
  ///   - redirect: The redirect.
  ///   - field: The name of the field.
  ///   - type: The type that has the field.
  ///   - keys: The rules for key fields, including those of the schema.
  public func redirect(
    _ redirect: CacheRedirect, of field: String, in type: String, keys: KeyRules
  ) -> [(part: RedirectPart, problem: Problem)] {
    guard let definition = schema.field(field, on: type) else { return [] }
    let coordinate = "\(type).\(field)"
    let wrong = redirect.arguments.enumerated().compactMap { index, path in
      argument(path: path, of: definition, coordinate).map { (RedirectPart.argument(index), $0) }
    }
    if !wrong.isEmpty { return wrong }
    if let problem = returned(redirect, by: definition, coordinate) { return [problem] }
    let name = redirect.type ?? definition.type.namedType.value
    if let problem =
      lists(redirect, of: definition, coordinate) ?? prefixes(of: name, coordinate, keys)
      ?? covered(redirect, name: name, coordinate: coordinate, keys: keys)
    {
      return [(.arguments, problem)]
    }
    return []
  }

  /// The type of `input.code`.
  private func type(
    ofPath path: String, of field: FieldDefinition, _ coordinate: String
  ) throws(Problem) -> TypeReference {
    let names = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard let argument = field.argument(named: names[0]) else {
      throw unknownArgument(names[0], of: field, coordinate)
    }
    var type = argument.type
    for name in names.dropFirst() {
      guard case .inputObject(let object)? = schema.type(named: type.namedType.value),
        type.listDepth == 0
      else {
        throw Problem(
          message: "`\(path)` of `\(coordinate)`: \(type.printed()) has no field `\(name)`",
          hint: "a path leads through input objects")
      }
      guard let next = object.fields[name] else {
        throw Problem(
          message: "`\(path)` of `\(coordinate)`: \(object.name) has no field `\(name)`",
          hint: Self.hint(name, object.fields.names))
      }
      type = next.type
    }
    return type
  }

  /// What is wrong with `input.code`.
  private func argument(
    path: String, of field: FieldDefinition, _ coordinate: String
  ) -> Problem? {
    let type: TypeReference
    do { type = try self.type(ofPath: path, of: field, coordinate) } catch { return error }
    guard case .inputObject(let object)? = schema.type(named: type.namedType.value) else {
      return nil
    }
    return Problem(
      message: "`\(path)` of `\(coordinate)` is \(type.printed()), an input object",
      hint: object.fields.names.first.map { "name one of its fields, such as `\(path).\($0)`" })
  }

  /// What is wrong with the type that the field returns.
  private func returned(
    _ redirect: CacheRedirect, by field: FieldDefinition, _ coordinate: String
  ) -> (part: RedirectPart, problem: Problem)? {
    let declared = field.type.namedType.value
    func problem(_ text: String, hint: String?) -> Problem {
      Problem(message: "`\(coordinate)` is \(field.type.printed()), \(text)", hint: hint)
    }
    guard schema.type(named: declared)?.isComposite ?? false else {
      let hint = "`field_key_args` names the arguments of a field key"
      return (.arguments, problem("and only objects are records", hint: hint))
    }
    if field.type.listDepth > 1 {
      let hint = "`key_args` is for an object or a list of objects"
      return (.arguments, problem("a list of lists", hint: hint))
    }
    guard let type = redirect.type else { return nil }
    if let problem = self.type(type) { return (.type, problem) }
    let possible = [declared] + schema.possibleTypes(of: declared)
    guard possible.contains(type) else {
      return (.type, problem("and not `\(type)`", hint: Self.hint(type, possible)))
    }
    if redirect.isList == (field.type.listDepth == 1) { return nil }
    let hint = "write `\(redirect.isList ? type : "[\(type)]")`"
    return (.type, problem("which is \(redirect.isList ? "no list" : "a list")", hint: hint))
  }

  /// A list is identified by exactly one list, an object by none.
  private func lists(
    _ redirect: CacheRedirect, of field: FieldDefinition, _ coordinate: String
  ) -> Problem? {
    let depth = redirect.arguments.reduce(0) { depth, path in
      depth + ((try? type(ofPath: path, of: field, coordinate).listDepth) ?? 0)
    }
    guard depth != field.type.listDepth else { return nil }
    return Problem(
      message: "`\(coordinate)` is \(field.type.printed()), and its key arguments contain "
        + (depth == 0 ? "no list" : "a list"),
      hint: field.type.listDepth == 1
        ? "exactly one argument must be a list" : "no argument may be a list")
  }

  /// The records of an abstract type must have its prefix.
  private func prefixes(of name: String, _ coordinate: String, _ keys: KeyRules) -> Problem? {
    let prefix = keys.prefix(of: name)
    let other = schema.possibleTypes(of: name).first { keys.prefix(of: $0) != prefix }
    guard let other, schema.type(named: name)?.isAbstract ?? false else { return nil }
    return Problem(
      message:
        "`\(coordinate)` returns `\(name)`, whose objects have the keys of their own types, such as "
        + "`\(keys.prefix(of: other)):…`",
      hint: "name the object type with `type`, or put the types of `\(name)` into one group")
  }

  private func covered(
    _ redirect: CacheRedirect, name: String, coordinate: String, keys: KeyRules
  ) -> Problem? {
    let owner =
      schema.type(named: name)?.isAbstract ?? false
      ? schema.possibleTypes(of: name).first ?? name : name
    let interface = keys.types.keys.sorted().first { schema.isSubtype(owner, of: $0) }
    let fields = keys.types[owner] ?? interface.flatMap { keys.types[$0] } ?? keys.defaultFields
    let lasts = redirect.arguments.map { String($0.split(separator: ".").last ?? "") }
    let isOtherOrder = lasts != fields && Set(lasts) == Set(fields)
    let known = schema.type(named: owner)?.fields
    if let missing = fields.first(where: { known?[$0] == nil && $0 != "__typename" }) {
      return Problem(
        message: "`\(coordinate)` returns `\(owner)`, which has no key field `\(missing)`",
        hint:
          "declare its key fields: `keys: { types: { \(owner): [\(lasts.joined(separator: ", "))] } }`"
      )
    }
    if fields.count == lasts.count, !isOtherOrder { return nil }
    return Problem(
      message: isOtherOrder
        ? "the key arguments of `\(coordinate)` are not in the order of the key fields of `\(owner)`"
        : "the key arguments of `\(coordinate)` do not cover the key fields of `\(owner)`",
      hint: fields.isEmpty
        ? "objects of `\(owner)` have no key"
        : "the key fields are [\(fields.joined(separator: ", "))]")
  }
}
