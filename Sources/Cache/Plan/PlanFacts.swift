import GQLRunLanguage

/// What a plan knows about an operation before anything was answered, for people.
public struct PlanFacts: Sendable, Hashable {
  /// The fields of all selection sets, once per set and type condition.
  public var fields: Int
  /// Those of them that the caller did not ask for: names of types, and identifying fields.
  public var addedFields: Int
  public var selectionSets: Int
  /// What the root's fields are stored under, `user({"id":"1"})`.
  public var rootKeys: [String]
}

extension PreparedOperation {
  public var planFacts: PlanFacts {
    let all = plan.sets.joined()
    return PlanFacts(
      fields: all.count, addedFields: all.count(where: \.isAdded), selectionSets: plan.sets.count,
      rootKeys: plan.sets[plan.rootSet].filter { !$0.isAdded }.map(\.storedKey))
  }
}
