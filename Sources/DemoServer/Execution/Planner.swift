import GQLRunJSON
import GQLRunLanguage

/// Creates the plan of an operation: collects and merges fields for each possible object type, and
/// evaluates directives and arguments.
///
/// https://spec.graphql.org/September2025/#sec-Executing-Selection-Sets
struct Planner {
  /// The maximum number of fields of a plan and their maximum depth, because fragments can expand
  /// small documents to large plans.
  static let maxFields = 20_000
  static let maxDepth = 200

  private let schema: Schema
  private let fragments: [String: FragmentDefinition]
  private let coercion: LiteralCoercion
  private var fieldCount = 0
  private var known: [Key: ObjectPlan] = [:]
  /// Whether `@defer` and `@stream` have an effect.
  private let isIncremental: Bool
  /// Whether a plan has deferred fragments or streamed lists.
  private(set) var hasParts = false

  /// Identical selections on the same type share a plan.
  private struct Key: Hashable {
    let type: String
    let selections: [Int]
    let delivered: [Int]
    let mode: Mode
  }

  /// The effect of `@defer` and `@stream`.
  private enum Mode: Hashable {
    case none
    /// Not for the fields of this object, only for those of its objects and lists.
    case below
    case all

    var below: Self { self == .none ? .none : .all }
  }

  init(
    schema: Schema, fragments: [String: FragmentDefinition], variables: JSONObject,
    isIncremental: Bool = false
  ) {
    self.isIncremental = isIncremental
    self.schema = schema
    self.fragments = fragments
    coercion = LiteralCoercion(schema: schema, variables: variables)
  }

  /// Creates the plan for the root of an operation.
  mutating func plan(
    _ operation: OperationDefinition, on rootType: String
  ) throws(RequestError) -> ObjectPlan {
    let mode: Mode =
      switch operation.type {
      case .query where isIncremental: .all
      // Fields of a mutation are executed in order.
      case .mutation where isIncremental: .below
      default: .none
      }
    return try plan([operation.selectionSet], on: rootType, depth: 0, mode)
  }

  /// Creates the plan of an object.
  ///
  /// - Parameter delivered: The selection sets whose fields the object has already, if this is the
  ///   plan of a deferred fragment. Their leaves are left out, and selections of their objects are
  ///   repeated, so that a client may merge or replace them.
  private mutating func plan(
    _ selectionSets: [SelectionSet], on type: String, depth: Int, _ mode: Mode,
    delivered: [SelectionSet] = []
  ) throws(RequestError) -> ObjectPlan {
    let key = Key(
      type: type, selections: selectionSets.map(\.location.offset),
      delivered: delivered.map(\.location.offset), mode: mode)
    if let plan = known[key] { return plan }
    guard depth < Self.maxDepth else { throw Self.tooDeep }
    var earlier = CollectedFields()
    for set in delivered {
      try collect(set, on: type, into: &earlier, depth: 0, defers: mode == .all)
    }
    var collected = CollectedFields()
    for set in selectionSets {
      try collect(set, on: type, into: &collected, depth: 0, defers: mode == .all)
    }
    var plans: [FieldPlan] = []
    for (responseKey, fields) in collected.inOrder {
      let other = earlier[responseKey]
      if !other.isEmpty, fields[0].selectionSet == nil { continue }
      plans.append(try plan(other + fields, responseKey, on: type, depth: depth, mode))
    }
    var deferred: [DeferredPlan] = []
    for (label, set) in collected.deferred {
      let plan = try plan(
        [set], on: type, depth: depth + 1, mode, delivered: delivered + selectionSets)
      if !plan.fields.isEmpty || !plan.deferred.isEmpty {
        deferred.append(DeferredPlan(label: label, plan: plan))
      }
    }
    hasParts = hasParts || !deferred.isEmpty
    let whole =
      deferred.isEmpty
      ? nil : try plan(selectionSets, on: type, depth: depth, .none, delivered: delivered)
    let plan = ObjectPlan(typeName: type, fields: plans, deferred: deferred, whole: whole)
    known[key] = plan
    return plan
  }

  private mutating func plan(
    _ fields: [Field], _ responseKey: String, on type: String, depth: Int, _ mode: Mode
  ) throws(RequestError) -> FieldPlan {
    fieldCount += 1
    guard fieldCount <= Self.maxFields else {
      throw RequestError(.validationFailed, "The operation has too many fields.")
    }
    let field = fields[0]
    let name = field.name.value
    let coordinate = "\(type).\(name)"
    guard let definition = schema.field(name, on: type),
      let behaviour = Resolvers.behaviour(of: name, in: type)
    else {
      throw RequestError(.internalServerError, "The field \(coordinate) has no behaviour.")
    }
    var children: [ObjectPlan] = []
    let selectionSets = fields.compactMap(\.selectionSet)
    for possible in schema.possibleTypes(of: definition.type.namedType.value) {
      children.append(try plan(selectionSets, on: possible, depth: depth + 1, mode.below))
    }
    let arguments: Result<Arguments, RequestError>
    do throws(RequestError) {
      arguments = .success(
        try coercion.arguments(
          field.arguments, for: definition.arguments, at: field.location))
    } catch {
      arguments = .failure(error)
    }
    return FieldPlan(
      responseKey: responseKey, coordinate: coordinate, locations: fields.map(\.location),
      behaviour: behaviour, arguments: arguments, type: definition.type, children: children,
      stream: mode == .none ? nil : try stream(of: field, definition.type))
  }

  /// How a field is streamed; `nil` if it is no list or has no `@stream`.
  private mutating func stream(
    of field: Field, _ type: TypeReference
  ) throws(RequestError) -> StreamPlan? {
    guard type.isList, let arguments = try arguments(of: "stream", in: field.directives)
    else { return nil }
    let count = arguments["initialCount"]?.intValue ?? 0
    guard count >= 0 else {
      throw RequestError(
        .badUserInput, "Argument \"initialCount\" must be at least 0; it is \(count).",
        at: [field.location])
    }
    hasParts = true
    return StreamPlan(label: arguments["label"]?.stringValue, initialCount: count)
  }

  /// The arguments of `@defer` or `@stream`; `nil` without the directive, or if it is switched off.
  private func arguments(
    of name: String, in directives: [Directive]
  ) throws(RequestError) -> Arguments? {
    guard let directive = directives.first(where: { $0.name.value == name }),
      let definition = schema.directive(named: name)
    else { return nil }
    let arguments = try coercion.arguments(
      directive.arguments, for: definition.arguments, at: directive.location)
    return arguments["if"]?.boolValue == false ? nil : arguments
  }

  private func collect(
    _ set: SelectionSet, on type: String, into collected: inout CollectedFields, depth: Int,
    defers: Bool
  ) throws(RequestError) {
    guard depth < Self.maxDepth else { throw Self.tooDeep }
    for selection in set.selections {
      guard try isIncluded(selection.directives) else { continue }
      switch selection {
      case .field(let field): collected.append(field)
      case .fragmentSpread(let spread):
        guard let fragment = fragments[spread.name.value],
          schema.possibleTypes(of: fragment.typeCondition.value).contains(type)
        else { continue }
        if defers, let arguments = try arguments(of: "defer", in: spread.directives) {
          collected.deferred.append((arguments["label"]?.stringValue, fragment.selectionSet))
          continue
        }
        guard collected.visited.insert(spread.name.value).inserted else { continue }
        try collect(
          fragment.selectionSet, on: type, into: &collected, depth: depth + 1, defers: defers)
      case .inlineFragment(let fragment):
        if let condition = fragment.typeCondition,
          !schema.possibleTypes(of: condition.value).contains(type)
        {
          continue
        }
        if defers, let arguments = try arguments(of: "defer", in: fragment.directives) {
          collected.deferred.append((arguments["label"]?.stringValue, fragment.selectionSet))
          continue
        }
        try collect(
          fragment.selectionSet, on: type, into: &collected, depth: depth + 1, defers: defers)
      }
    }
  }

  private static let tooDeep = RequestError(
    .validationFailed, "The operation is nested too deep.")

  /// Whether `@skip` and `@include` include a selection.
  private func isIncluded(_ directives: [Directive]) throws(RequestError) -> Bool {
    for directive in directives {
      guard let definition = schema.directive(named: directive.name.value) else {
        continue
      }
      let name = directive.name.value
      guard name == "skip" || name == "include" else { continue }
      let condition = try coercion.arguments(
        directive.arguments, for: definition.arguments, at: directive.location)["if"]
      if condition?.boolValue != (name == "include") { return false }
    }
    return true
  }
}

/// Fields by response key, in the order of the keys' first occurrence.
private struct CollectedFields {
  private(set) var inOrder: [(key: String, fields: [Field])] = []
  private var positions: [String: Int] = [:]
  /// The fragments spread so far.
  var visited: Set<String> = []
  /// The fragments with `@defer`, with their labels.
  var deferred: [(label: String?, SelectionSet)] = []

  /// The fields with a response key.
  subscript(key: String) -> [Field] { positions[key].map { inOrder[$0].fields } ?? [] }

  mutating func append(_ field: Field) {
    let key = field.responseKey
    if let position = positions[key] {
      inOrder[position].fields.append(field)
    } else {
      positions[key] = inOrder.count
      inOrder.append((key, [field]))
    }
  }
}

extension TypeReference {
  /// Whether it is a list, or a list that must not be null.
  fileprivate var isList: Bool {
    switch self {
    case .list: true
    case .nonNull(let inner): inner.isList
    case .named: false
    }
  }
}
