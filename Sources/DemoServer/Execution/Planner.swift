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

  /// Identical selections on the same type share a plan.
  private struct Key: Hashable {
    let type: String
    let selections: [Int]
  }

  init(
    schema: Schema, fragments: [String: FragmentDefinition], variables: JSONObject
  ) {
    self.schema = schema
    self.fragments = fragments
    coercion = LiteralCoercion(schema: schema, variables: variables)
  }

  /// Creates the plan for the root of an operation.
  mutating func plan(
    _ operation: OperationDefinition, on rootType: String
  ) throws(RequestError) -> ObjectPlan {
    try plan([operation.selectionSet], on: rootType, depth: 0)
  }

  private mutating func plan(
    _ selectionSets: [SelectionSet], on type: String, depth: Int
  ) throws(RequestError) -> ObjectPlan {
    let key = Key(type: type, selections: selectionSets.map(\.location.offset))
    if let plan = known[key] { return plan }
    guard depth < Self.maxDepth else { throw Self.tooDeep }
    var collected = CollectedFields()
    for set in selectionSets { try collect(set, on: type, into: &collected, depth: 0) }
    var plans: [FieldPlan] = []
    for (responseKey, fields) in collected.inOrder {
      plans.append(try plan(fields, responseKey, on: type, depth: depth))
    }
    let plan = ObjectPlan(typeName: type, fields: plans)
    known[key] = plan
    return plan
  }

  private mutating func plan(
    _ fields: [Field], _ responseKey: String, on type: String, depth: Int
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
      children.append(try plan(selectionSets, on: possible, depth: depth + 1))
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
      behaviour: behaviour, arguments: arguments, type: definition.type, children: children)
  }

  private func collect(
    _ set: SelectionSet, on type: String, into collected: inout CollectedFields, depth: Int
  ) throws(RequestError) {
    guard depth < Self.maxDepth else { throw Self.tooDeep }
    for selection in set.selections {
      guard try isIncluded(selection.directives) else { continue }
      switch selection {
      case .field(let field): collected.append(field)
      case .fragmentSpread(let spread):
        guard collected.visited.insert(spread.name.value).inserted,
          let fragment = fragments[spread.name.value],
          schema.possibleTypes(of: fragment.typeCondition.value).contains(type)
        else { continue }
        try collect(fragment.selectionSet, on: type, into: &collected, depth: depth + 1)
      case .inlineFragment(let fragment):
        if let condition = fragment.typeCondition,
          !schema.possibleTypes(of: condition.value).contains(type)
        {
          continue
        }
        try collect(fragment.selectionSet, on: type, into: &collected, depth: depth + 1)
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
