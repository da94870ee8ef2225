/// Whether the response keys in the selection sets of a plan denote the same field for every type
/// of object.
///
/// Remembers the result for each pair of sets, because repeated comparison would take exponential
/// time.
struct KeyMeanings {
  private struct SetPair: Hashable {
    var sets: [Int]
    var isWhateverType: Bool
  }

  private var conflicts: [SetPair: Bool] = [:]

  /// Whether every response key denotes the same field for all types, at every depth, and is shown
  /// for all.
  mutating func areUnambiguous(
    _ all: [OperationPlan.Contribution], in plan: OperationPlan
  ) -> Bool {
    var meanings: [String: [OperationPlan.Contribution]] = [:]
    for contribution in all {
      for other in meanings[contribution.responseKey] ?? [] {
        if conflict(contribution, other, in: plan, isWhateverType: true) { return false }
      }
      meanings[contribution.responseKey, default: []].append(contribution)
    }
    // A field that the cache adds and the caller selects only for some types is shown only for
    // these.
    return meanings.values.allSatisfy { same in
      let asked = same.filter { !$0.isAdded }
      return asked.count == same.count || asked.isEmpty
        || asked.contains { $0.conditions.isEmpty }
    }
  }

  /// Whether two contributions with the same response key denote different fields.
  ///
  /// Under different conditions they may belong to two types, which is no conflict unless the key
  /// must denote the same field for every type.
  private mutating func conflict(
    _ one: OperationPlan.Contribution, _ other: OperationPlan.Contribution, in plan: OperationPlan,
    isWhateverType: Bool
  ) -> Bool {
    let mayBeApart =
      !one.conditions.isEmpty && !other.conditions.isEmpty
      && !one.conditions.contains { other.conditions.contains($0) }
    if mayBeApart && !isWhateverType { return false }
    if one.storedKey != other.storedKey { return true }
    guard let child = one.childSet, let otherChild = other.childSet else { return false }
    return conflict(child, otherChild, in: plan, isWhateverType: isWhateverType)
  }

  /// Whether a key denotes different fields in the two sets.
  mutating func conflict(
    _ one: Int, _ other: Int, in plan: OperationPlan, isWhateverType: Bool = false
  ) -> Bool {
    if one == other { return false }
    let pair = SetPair(sets: [min(one, other), max(one, other)], isWhateverType: isWhateverType)
    if let known = conflicts[pair] { return known }
    var result = false
    for left in plan.sets[one] where !result {
      for right in plan.sets[other] where left.responseKey == right.responseKey {
        if conflict(left, right, in: plan, isWhateverType: isWhateverType) {
          result = true
          break
        }
      }
    }
    conflicts[pair] = result
    return result
  }
}
