/// Input objects that no value can have, because each value would contain another one without end.
///
/// https://spec.graphql.org/September2026/#InputObjectHasUnbreakableCycle()
extension SchemaValidator {
  /// The maximum number of cycles that are reported, and of fields that a message lists.
  private static let maxCycles = 100
  private static let maxListedFields = 1_000

  mutating func checkFiniteInputs() {
    let inputs = FiniteInputs(schema, edition: edition)
    var search = CycleSearch<FiniteInputs.Edge>()
    var cycles = 0
    for (index, name) in inputs.names.enumerated() where !inputs.isFinite[index] {
      guard cycles < Self.maxCycles else { return }
      search.visit(
        name, edges: inputs.edges[index],
        target: { inputs.isFinite[$0.target] ? nil : inputs.names[$0.target] },
        successors: { inputs.edges[$0.target] },
        onCycle: { via, last in
          cycles += 1
          report(via, last, of: inputs)
          return cycles < Self.maxCycles
        })
    }
  }

  private mutating func report(
    _ via: ArraySlice<FiniteInputs.Edge>, _ last: FiniteInputs.Edge, of inputs: FiniteInputs
  ) {
    let listed = via.count < Self.maxListedFields ? via + [last] : via.prefix(Self.maxListedFields)
    let fields = listed.compactMap { inputs.field(of: $0) }
    let more = via.count + 1 - fields.count
    let list = fields.map(\.coordinate).joined(separator: ", ")
    report(
      "Input Object \(inputs.names[last.target]) cannot be provided a finite value because it "
        + "references itself through fields: \(list)\(more > 0 ? ", and \(more) more" : "").",
      fields.map(\.field.location))
  }
}

/// Which input objects have finite values.
///
/// Begins with those that need no other input object, and continues with those that need only these: each field of an
/// input object is examined once, and once more when the input object that it needs is known to be finite.
struct FiniteInputs {
  /// A field that needs a value of another input object.
  struct Edge {
    /// The index of the input object with the field, the field's index in it, and the index of the other.
    var owner: Int
    var field: Int
    var target: Int
  }

  private let schema: Schema
  /// The input objects in the order of the schema.
  let names: [String]
  /// The fields of each that need another input object: one of them suffices if it is `@oneOf`, else all are needed.
  private(set) var edges: [[Edge]] = []
  private(set) var isFinite: [Bool]
  /// The number of edges that were followed; for tests of the cost.
  private(set) var followed = 0

  init(_ schema: Schema, edition: Edition = .newest) {
    self.schema = schema
    names = schema.typeNames.filter {
      if case .inputObject? = schema.types[$0] { true } else { false }
    }
    isFinite = Array(repeating: false, count: names.count)
    let indices = Dictionary(uniqueKeysWithValues: names.enumerated().map { ($1, $0) })
    var dependents: [[Int]] = Array(repeating: [], count: names.count)
    /// The number of needed fields that are not known to be finite.
    var open: [Int] = []
    var found: [Int] = []
    for (index, name) in names.enumerated() {
      guard case .inputObject(let input)? = schema.types[name] else { continue }
      // Before this edition, every nullable field ended a cycle.
      let isOneOf = input.isOneOf && edition >= .september2026
      var own: [Edge] = []
      for (number, field) in input.fields.enumerated() where isOneOf || field.type.isNonNull {
        guard case .named(let type) = field.type.nullable, let target = indices[type.value] else {
          continue
        }
        own.append(Edge(owner: index, field: number, target: target))
        dependents[target].append(index)
      }
      edges.append(own)
      // An input object without fields has an error of its own.
      let isOpen = isOneOf ? own.count == input.fields.count && !own.isEmpty : !own.isEmpty
      open.append(!isOpen ? 0 : isOneOf ? 1 : own.count)
      if !isOpen { found.append(index) }
    }
    for index in found { isFinite[index] = true }
    while let next = found.popLast() {
      for dependent in dependents[next] where !isFinite[dependent] {
        followed += 1
        open[dependent] -= 1
        guard open[dependent] == 0 else { continue }
        isFinite[dependent] = true
        found.append(dependent)
      }
    }
  }

  /// The definition of the field and its schema coordinate.
  func field(of edge: Edge) -> (field: InputValueDefinition, coordinate: String)? {
    guard case .inputObject(let input)? = schema.types[names[edge.owner]] else { return nil }
    let field = input.fields[edge.field]
    return (field, "\(input.name).\(field.name.value)")
  }
}
