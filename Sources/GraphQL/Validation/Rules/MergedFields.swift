/// Whether the fields of a document can be merged, judged on sets of fields instead of pairs.
///
/// Selection sets that are merged into one are judged together: their fields are grouped by
/// response key, a group must agree on the shape of its values, and those fields in it that can
/// apply to one object must agree on name and arguments; then the selection sets of the group are
/// merged in turn. A merged set is judged once, however often it comes up, and not at all as part
/// of one that was judged: what conflicts in it conflicts there, too, as many levels below. The idea
/// is Simon Adameit's.
struct MergedFields {
  enum Verdict: Equatable {
    case mergeable
    case conflict(Conflict)
    /// There was too much to do.
    case unknown
  }

  /// The first conflict found, between two fields.
  struct Conflict: Equatable {
    var key: String
    var reason: String
    var first: Int
    var second: Int
  }

  private struct Merged: Hashable {
    var selectionSets: [Int]
    /// Whether only shapes have to agree, since the fields around apply to different objects.
    var isShapeOnly: Bool
  }

  private let index: SelectionIndex
  private var open: [Merged] = []
  private var seen: Set<Merged> = []
  /// The merged sets that were judged or are about to be, and by selection set, which of them it
  /// belongs to: the latest few.
  private var taken: [(count: Int, isShapeOnly: Bool)] = []
  private var memberships: [[Int]]
  private var visitedFragments: [Int]
  private var fragmentWasReached: [Bool]
  private var visit = 0
  private var steps: Int

  static func verdict(_ index: SelectionIndex, maxSteps: Int) -> Verdict {
    // Most documents need a few steps for each of their parts. For those that need more, there is
    // an answer that takes about as long as a few steps more.
    let few = 16 * (index.fields.count + index.selectionSets.count) + 1_000
    var merged = MergedFields(index, min(few, maxSteps))
    let verdict = merged.verdict()
    guard verdict == .unknown, few < maxSteps else {
      assert(verdict == .mergeable || !MergedClasses.areFreeOfConflicts(index))
      return verdict
    }
    if MergedClasses.areFreeOfConflicts(index) { return .mergeable }
    merged = MergedFields(index, maxSteps)
    return merged.verdict()
  }

  private init(_ index: SelectionIndex, _ maxSteps: Int) {
    self.index = index
    steps = maxSteps
    memberships = Array(repeating: [], count: index.selectionSets.count)
    visitedFragments = Array(repeating: 0, count: index.fragments.count)
    fragmentWasReached = Array(repeating: false, count: index.selectionSets.count)
  }

  private mutating func verdict() -> Verdict {
    for root in index.roots where !fragmentWasReached[root] {
      merge([root], isShapeOnly: false)
      while let merged = open.popLast() {
        if let conflict = conflict(in: merged) { return .conflict(conflict) }
        if steps < 0 { return .unknown }
      }
    }
    return .mergeable
  }

  private mutating func merge(_ selectionSets: [Int], isShapeOnly: Bool) {
    guard !selectionSets.isEmpty else { return }
    steps -= selectionSets.count
    guard !isPartOfTaken(selectionSets, isShapeOnly) else { return }
    let merged = Merged(selectionSets: selectionSets.sorted(), isShapeOnly: isShapeOnly)
    guard seen.insert(merged).inserted else { return }
    open.append(merged)
    for selectionSet in selectionSets {
      if memberships[selectionSet].count == Self.memberships {
        memberships[selectionSet].removeFirst()
      }
      memberships[selectionSet].append(taken.count)
    }
    taken.append((selectionSets.count, isShapeOnly))
  }

  /// How many merged sets are remembered for each selection set.
  private static let memberships = 8

  /// Whether all the selection sets are in one merged set, of which as much is asked.
  private func isPartOfTaken(_ selectionSets: [Int], _ isShapeOnly: Bool) -> Bool {
    var candidates = memberships[selectionSets[0]].filter {
      taken[$0].count >= selectionSets.count && (isShapeOnly || !taken[$0].isShapeOnly)
    }
    for selectionSet in selectionSets.dropFirst() where !candidates.isEmpty {
      candidates.removeAll { !memberships[selectionSet].contains($0) }
    }
    return !candidates.isEmpty
  }

  private mutating func conflict(in merged: Merged) -> Conflict? {
    let fields = collect(merged.selectionSets)
    steps -= fields.count
    if fields.count == 1 {
      if let inner = index.fields[fields[0]].selectionSet {
        merge([inner], isShapeOnly: merged.isShapeOnly)
      }
      return nil
    }
    var groups: [String: [Int]] = [:]
    groups.reserveCapacity(fields.count)
    for field in fields { groups[index.fields[field].key, default: []].append(field) }
    for group in groups.values {
      if let conflict = conflict(amongst: group, isShapeOnly: merged.isShapeOnly) {
        return conflict
      }
    }
    return nil
  }

  private mutating func conflict(amongst group: [Int], isShapeOnly: Bool) -> Conflict? {
    if group.count == 1 {
      if let inner = index.fields[group[0]].selectionSet {
        merge([inner], isShapeOnly: isShapeOnly)
      }
      return nil
    }
    var shaped: Int?
    for field in group where index.fields[field].shape != 0 {
      guard let first = shaped else {
        shaped = field
        continue
      }
      let (a, b) = (index.fields[first], index.fields[field])
      if a.shape != b.shape {
        let (type, other) = (a.type?.printed() ?? "", b.type?.printed() ?? "")
        return Conflict(
          key: a.key, reason: "they return conflicting types '\(type)' and '\(other)'",
          first: first, second: field)
      }
    }
    guard !isShapeOnly else {
      merge(selectionSets(of: group), isShapeOnly: true)
      return nil
    }

    var shared: [Int] = []
    var byObject: [Int: [Int]] = [:]
    for field in group {
      let parent = index.fields[field].parent
      if index.typeIsObject[parent] {
        byObject[parent, default: []].append(field)
      } else {
        shared.append(field)
      }
    }
    if byObject.count <= 1 {
      if let conflict = conflictOfNames(group) { return conflict }
      merge(selectionSets(of: group), isShapeOnly: false)
      return nil
    }
    for fields in byObject.values {
      let together = shared + fields
      steps -= together.count
      if let conflict = conflictOfNames(together) { return conflict }
      merge(selectionSets(of: together), isShapeOnly: false)
    }
    merge(selectionSets(of: group), isShapeOnly: true)
    return nil
  }

  private func conflictOfNames(_ group: [Int]) -> Conflict? {
    let first = index.fields[group[0]]
    for field in group.dropFirst() {
      let other = index.fields[field]
      if other.name != first.name {
        return Conflict(
          key: first.key, reason: "'\(first.name)' and '\(other.name)' are different fields",
          first: group[0], second: field)
      }
      if other.arguments != first.arguments {
        return Conflict(
          key: first.key, reason: "they have differing arguments", first: group[0], second: field)
      }
    }
    return nil
  }

  private func selectionSets(of group: [Int]) -> [Int] {
    group.compactMap { index.fields[$0].selectionSet }
  }

  /// The fields of selection sets, also of the fragments in them.
  private mutating func collect(_ selectionSets: [Int]) -> [Int] {
    visit += 1
    var fields: [Int] = []
    var open = selectionSets
    while let selectionSet = open.popLast() {
      steps -= 1
      for item in index.selectionSets[selectionSet] {
        switch item {
        case .field(let field): fields.append(field)
        case .inline(let inner, _): open.append(inner)
        case .spread(let name):
          guard visitedFragments[name] != visit, let fragment = index.fragments[name] else {
            continue
          }
          visitedFragments[name] = visit
          fragmentWasReached[fragment.selectionSet] = true
          open.append(fragment.selectionSet)
        }
      }
    }
    return fields
  }
}
