import GQLRunJSON

/// The number of objects that an operation may return, by which servers limit its complexity.
///
/// A field with `first` returns that many, `nodes` one for each id, and any other field one. `edges`, `nodes` and the like
/// of a connection do not count again.
struct QueryCost {
  private static let wrappers = [".edges", ".node", ".nodes", ".pageInfo"]
  /// Above all limits; keeps the product of sizes from overflowing.
  private static let most = 1e15

  private var known: [ObjectIdentifier: Double] = [:]

  /// Throws unless an operation costs at most this.
  static func check(_ plan: PlannedObject, limit: Int) throws(RequestError) {
    var cost = QueryCost()
    let found = cost.of(plan)
    guard found > Double(limit) else { return }
    throw RequestError(
      code: "MAX_COST_EXCEEDED",
      "Query cost is \(Int(found)), which exceeds the single query max cost limit (\(limit)).")
  }

  private mutating func of(_ plan: PlannedObject) -> Double {
    if let cost = known[ObjectIdentifier(plan)] { return cost }
    let cost = plan.fields.filter { !$0.isLeaf }.reduce(0) { $0 + of($1) }
    known[ObjectIdentifier(plan)] = min(cost, Self.most)
    return min(cost, Self.most)
  }

  private mutating func of(_ field: PlannedField) -> Double {
    var below = 0.0
    for plan in field.children { below = max(below, of(plan)) }
    let size =
      field.arguments["first"]?.doubleValue
      ?? field.arguments["ids"]?.arrayValue.map { Double($0.count) }
    guard let size = size.map({ max($0, 0) }) else {
      let isWrapper = Self.wrappers.contains { field.coordinate.hasSuffix($0) }
      return (isWrapper ? 0 : 1) + below
    }
    return min(size + size * below, Self.most)
  }
}
