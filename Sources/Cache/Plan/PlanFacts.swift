import GQLRunLanguage

/// Facts about an operation's plan, for display.
public struct PlanFacts: Sendable, Hashable {
  /// The number of fields of all selection sets, once per set and type condition.
  public var fields: Int
  /// The number of added fields: type names and key fields.
  public var addedFields: Int
  /// The number of selection sets.
  public var selectionSets: Int
  /// The stored keys of the root fields: `user({"id":"1"})`.
  public var rootKeys: [String]
}

extension PreparedOperation {
  /// Facts about the operation's plan.
  public var planFacts: PlanFacts {
    let all = plan.sets.joined()
    return PlanFacts(
      fields: all.count, addedFields: all.count(where: \.isAdded), selectionSets: plan.sets.count,
      rootKeys: plan.sets[plan.rootSet].filter { !$0.isAdded }.map(\.storedKey))
  }
}
