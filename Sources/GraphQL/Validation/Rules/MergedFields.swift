/// Whether the fields of a document can be merged, computed on sets of fields instead of pairs.
///
/// Selection sets that are merged are checked together. Their fields are grouped by response key;
/// the fields of a group must have types of the same shape, and those that can apply to the same
/// object must have the same name and arguments; then the selection sets of the group are merged in
/// turn. Each merged set is checked once, and not at all if it is part of a checked set, which has
/// its conflicts at the same depth. The algorithm is Simon Adameit's.
struct MergedFields {
  enum Verdict: Equatable {
    case mergeable
    case conflict(Conflict)
    /// The step limit was reached.
    case unknown
  }

  /// The first conflict between two fields.
  struct Conflict: Equatable {
    var key: String
    var reason: String
    var first: Int
    var second: Int
  }

  private struct Merged: Hashable {
    var selectionSets: [Int]
    /// Whether only the shapes must agree, because the enclosing fields apply to different object
    /// types.
    var isShapeOnly: Bool
  }

  private let index: SelectionIndex
  private var open: [Merged] = []
  private var seen: Set<Merged> = []
  /// The merged sets that were or will be checked, and for each selection set the latest sets that
  /// it belongs to.
  private var mergedSets: [(count: Int, isShapeOnly: Bool)] = []
  private var memberships: [[Int]]
  private var visitedFragments: [Int]
  private var fragmentWasReached: [Bool]
  private var visit = 0
  private var steps: Int

  static func verdict(_ index: SelectionIndex, maxSteps: Int) -> Verdict {
    // Most documents need a few steps per field. For others, `MergedClasses` may give the answer in
    // about the same time.
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
    guard !isCovered(selectionSets, isShapeOnly) else { return }
    let merged = Merged(selectionSets: selectionSets.sorted(), isShapeOnly: isShapeOnly)
    guard seen.insert(merged).inserted else { return }
    open.append(merged)
    for selectionSet in selectionSets {
      if memberships[selectionSet].count == Self.memberships {
        memberships[selectionSet].removeFirst()
      }
      memberships[selectionSet].append(mergedSets.count)
    }
    mergedSets.append((selectionSets.count, isShapeOnly))
  }

  /// The number of merged sets remembered per selection set.
  private static let memberships = 8

  /// Whether all the selection sets belong to one merged set whose check covers this one.
  private func isCovered(_ selectionSets: [Int], _ isShapeOnly: Bool) -> Bool {
    var candidates = memberships[selectionSets[0]].filter {
      mergedSets[$0].count >= selectionSets.count && (isShapeOnly || !mergedSets[$0].isShapeOnly)
    }
    for selectionSet in selectionSets.dropFirst() where !candidates.isEmpty {
      candidates.removeAll { !memberships[selectionSet].contains($0) }
    }
    return !candidates.isEmpty
  }

  private mutating func conflict(in merged: Merged) -> Conflict? {
    let fields = collect(merged.selectionSets)
    steps -= fields.count
    if fields.count == 1 { return conflict(amongst: fields, isShapeOnly: merged.isShapeOnly) }
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
          key: first.key, reason: SelectionIndex.reason(first, other), first: group[0],
          second: field)
      }
    }
    return nil
  }

  private func selectionSets(of group: [Int]) -> [Int] {
    group.compactMap { index.fields[$0].selectionSet }
  }

  /// The fields of selection sets, including those of their fragments.
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

/// A fast sufficient check that the fields of a document do not conflict.
///
/// Takes about linear time for every document. Selection sets that are merged with each other form
/// equivalence classes; this check merges the fields of a whole class, even if two of its sets are
/// only merged with a third one. If these larger sets have no conflict, the document has none. The
/// converse does not hold: two operations may use the same fragment beside different fields.
struct MergedClasses {
  /// The fields of a class with the same response key.
  private struct Group {
    var shape: Int
    /// The field that all others agree with, if it applies to several object types.
    var shared: Int?
    /// A field for each object type that it applies to, if there is no such field.
    var byObject: [Int: Int]
    /// A selection set in the class of the subfields.
    var inner: Int?
  }

  private let index: SelectionIndex
  private var parents: [Int]
  private var groups: [[String: Group]]
  private var open: [(Int, Int)] = []

  static func areFreeOfConflicts(_ index: SelectionIndex) -> Bool {
    var classes = MergedClasses(index)
    return classes.areFreeOfConflicts()
  }

  private init(_ index: SelectionIndex) {
    self.index = index
    parents = Array(index.selectionSets.indices)
    groups = Array(repeating: [:], count: index.selectionSets.count)
  }

  private mutating func areFreeOfConflicts() -> Bool {
    for (selectionSet, items) in index.selectionSets.enumerated() {
      for item in items {
        switch item {
        case .inline(let inner, _): open.append((selectionSet, inner))
        case .spread(let name):
          if let fragment = index.fragments[name] {
            open.append((selectionSet, fragment.selectionSet))
          }
        case .field(let field):
          guard add(group(of: field), index.fields[field].key, to: root(of: selectionSet)) else {
            return false
          }
        }
      }
      while let (first, second) = open.popLast() {
        guard join(first, second) else { return false }
      }
    }
    return true
  }

  private func group(of field: Int) -> Group {
    let entry = index.fields[field]
    let isOfObject = index.typeIsObject[entry.parent]
    return Group(
      shape: entry.shape, shared: isOfObject ? nil : field,
      byObject: isOfObject ? [entry.parent: field] : [:], inner: entry.selectionSet)
  }

  private mutating func root(of selectionSet: Int) -> Int {
    var root = selectionSet
    while parents[root] != root {
      parents[root] = parents[parents[root]]
      root = parents[root]
    }
    return root
  }

  private mutating func join(_ first: Int, _ second: Int) -> Bool {
    var (kept, other) = (root(of: first), root(of: second))
    if kept == other { return true }
    if groups[kept].count < groups[other].count { swap(&kept, &other) }
    parents[other] = kept
    let moved = groups[other]
    groups[other] = [:]
    return moved.allSatisfy { add($0.value, $0.key, to: kept) }
  }

  /// Adds a group to a class. Returns `false` if it conflicts with the group of the same key.
  private mutating func add(_ group: Group, _ key: String, to root: Int) -> Bool {
    guard var known = groups[root].removeValue(forKey: key) else {
      groups[root][key] = group
      return true
    }
    guard known.shape == 0 || group.shape == 0 || known.shape == group.shape,
      merge(group, into: &known)
    else { return false }
    if known.shape == 0 { known.shape = group.shape }
    if let inner = known.inner, let other = group.inner { open.append((inner, other)) }
    known.inner = known.inner ?? group.inner
    groups[root][key] = known
    return true
  }

  /// Merges two groups. Fields of different object types may differ in name and arguments.
  private func merge(_ other: Group, into known: inout Group) -> Bool {
    guard let shared = known.shared ?? other.shared else {
      var few = other.byObject
      if few.count > known.byObject.count { swap(&few, &known.byObject) }
      for (object, field) in few {
        if let present = known.byObject[object], !areAlike(present, field) { return false }
        known.byObject[object] = field
      }
      return true
    }
    let fields =
      [known.shared, other.shared].compactMap { $0 } + known.byObject.values
      + other.byObject.values
    known.shared = shared
    known.byObject = [:]
    return fields.allSatisfy { areAlike(shared, $0) }
  }

  private func areAlike(_ first: Int, _ second: Int) -> Bool {
    let (a, b) = (index.fields[first], index.fields[second])
    return first == second || a.name == b.name && a.arguments == b.arguments
  }
}
