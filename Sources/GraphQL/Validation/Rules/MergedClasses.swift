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
