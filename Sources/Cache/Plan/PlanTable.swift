import GraphQL
import JSONStream

/// What one response key of an object becomes. Plain data behind pointers, for the hot paths.
struct FieldPlan {
  /// The response key's bytes, and its first and last 8 for comparing without a call.
  var key: Bytes
  var head: UInt64
  var tail: UInt64
  /// `"storedKey":` as record text.
  var storedPrefix: Bytes
  /// `"responseKey":` as result text.
  var resultPrefix: Bytes
  /// For root fields, the key of the record that holds the field alone.
  var rootKey: Bytes
  /// The selection of its value, or -1 for leaf fields.
  var child: Int32
  /// Its place among the values that may identify the object, or -1.
  var candidate: Int32
  /// The conditional fragments that ask for it while it is not known whether they apply; empty when
  /// the field is required. An index into ``PlanTable/fragmentLists``, or -1.
  var fragments: Int32
  var isTypename: Bool
  /// Whether the caller asked for it.
  var isAsked: Bool
  /// Whether it is a leaf whose key in the result is the stored one.
  var isVerbatim: Bool

  /// The quoted key under which its value is stored.
  var storedKey: [UInt8] { storedPrefix[0..<(storedPrefix.count - 1)].array }
}

/// Which of an object's candidate values make its key, for one type.
struct KeyEntry {
  var typename: Bytes
  /// `User:` as plain bytes.
  var prefix: Bytes
  /// Candidate numbers in the order of the rule.
  var parts: [Int32]
  /// A key field that the selection does not ask for, so that there is no identity.
  var missingField: String?
  /// The last use of the table in which it was told; all uses count as such when nothing is missing.
  var toldIn = UInt64.max
  /// The last use of the table in which there was an object of the type.
  var usedIn: UInt64
}

/// The fields an object of one type has under one selection.
struct ObjectPlan {
  var fields: UnsafeMutablePointer<FieldPlan>
  var fieldCount: Int
  var candidateCount: Int
  var seenWords: Int
  /// Two response keys share a stored key, so that the object's text must be folded at its end.
  var hasStoredDuplicates: Bool
  /// Some field stands in a fragment that may not apply.
  var hasFragments: Bool
  var keyEntries: [KeyEntry] = []
  var lastKeyEntry = 0
  /// Where the entries are that a short scan does not reach.
  var keyEntryIndex: [[UInt8]: Int] = [:]
}

/// A flattened selection set, as a part of a merged one.
struct SelectionPart: Hashable {
  var set: Int
  /// The fragment that asks for the set while it is not known whether it applies, or -1.
  var fragment: Int32 = -1
}

/// One merged selection set: which flattened sets it consists of, and its variants by type.
struct SelectionNode {
  var parts: [SelectionPart]
  /// A plan that holds whatever the type is, or -1 when two types give one key different meanings.
  var union: Int32
  /// Whether the type decides which fields there are.
  var isConditional: Bool
  var variants: [(typename: [UInt8], plan: Int32)] = []
  var lastVariant = 0
  /// Where the variants are that a short scan does not reach.
  var variantIndex: [[UInt8]: Int] = [:]
  /// Plans by which contributions apply: most types are like others.
  var plansByShape: [[UInt8]: Int32] = [:]
}

/// The variants of a plan, compiled as a response or a store shows the types of its objects.
///
/// Owned by one normalizer or reader. Everything that the hot paths read stands in memory that does not
/// move until the table goes.
struct PlanTable: ~Copyable {
  /// Nobody's while the table is kept for the next use: the plan owns it then.
  private var owner: OperationPlan?
  /// How often the table was taken into use.
  private(set) var use: UInt64 = 1
  private(set) var plans: UnsafeMutablePointer<ObjectPlan>
  private var planCapacity = 16
  private(set) var planCount = 0
  var nodes: [SelectionNode] = []
  private var nodesByParts: [[SelectionPart]: Int32] = [:]
  private var conflicts: [SetPair: Bool] = [:]

  private struct SetPair: Hashable {
    var sets: [Int]
    var isWhateverType: Bool
  }
  var fragmentLists: [[Int32]] = []
  /// Without a schema: type conditions that some object's type may or may not satisfy, and those that
  /// are the name of some object's type.
  private(set) var guessedConditions: Set<String> = []
  private(set) var metConditions: Set<String> = []
  private var blobs: [UnsafeMutablePointer<UInt8>] = []
  private var fieldBlocks: [UnsafeMutablePointer<FieldPlan>] = []
  private let candidateNames: Set<String>
  /// The root's plan, and its node.
  private(set) var root: Int32 = 0

  /// Whether pages go under names of their own, to be joined at the commit.
  let separatesPages: Bool

  /// - Parameter separatesPages: For writing responses. Readers look for the joined lists.
  init(_ plan: OperationPlan, separatesPages: Bool = false) {
    owner = plan
    self.separatesPages = separatesPages
    plans = .allocate(capacity: 16)
    candidateNames = plan.keys.allFields
    let node = self.node(of: [SelectionPart(set: plan.rootSet)])
    root = variant(of: node, typename: Array(plan.rootType.utf8))
  }

  deinit {
    for index in 0..<planCount { (plans + index).deinitialize(count: 1) }
    plans.deallocate()
    for blob in blobs { blob.deallocate() }
    for block in fieldBlocks { block.deallocate() }
  }

  /// A table of nothing, to stand where another was.
  init() {
    plans = .allocate(capacity: 1)
    planCapacity = 1
    candidateNames = []
    separatesPages = false
  }

  var plan: OperationPlan {
    guard let owner else { preconditionFailure("a table that is in use has a plan") }
    return owner
  }

  /// Whether it is worth keeping: not made large by types that a server invents, and without guesses,
  /// which are told of the response they were made for.
  var isWorthKeeping: Bool {
    planCount <= 1024 && blobs.count <= 1 << 14 && guessedConditions.isSubset(of: metConditions)
  }

  mutating func beginUse(of plan: OperationPlan) {
    owner = plan
    use += 1
    // So that the first object of each type is noted.
    for index in 0..<planCount { plans[index].lastKeyEntry = Int.max }
  }

  mutating func endUse() { owner = nil }

  // MARK: Lookup

  /// The plan of an object of the given type under `node`, compiled when it is new.
  @inline(__always)
  mutating func variant(of node: Int32, typename: Bytes) -> Int32 {
    let last = nodes[Int(node)].lastVariant
    if last < nodes[Int(node)].variants.count,
      typename.equals(nodes[Int(node)].variants[last].typename)
    {
      return nodes[Int(node)].variants[last].plan
    }
    return otherVariant(of: node, typename: typename)
  }

  @inline(never)
  private mutating func otherVariant(of node: Int32, typename: Bytes) -> Int32 {
    let count = nodes[Int(node)].variants.count
    var index = 0
    while index < min(count, Self.scanned),
      !typename.equals(nodes[Int(node)].variants[index].typename)
    { index += 1 }
    if index == Self.scanned { index = nodes[Int(node)].variantIndex[typename.array] ?? count }
    guard index < count else { return variant(of: node, typename: typename.array) }
    nodes[Int(node)].lastVariant = index
    return nodes[Int(node)].variants[index].plan
  }

  /// How many types are looked through before an index is asked: a server may invent type names
  /// without end.
  private static let scanned = 8

  /// The key rule of `typename` for objects under the plan numbered `plan`.
  @inline(__always)
  mutating func keyEntry(of plan: Int32, typename: Bytes) -> Int {
    let object = plans + Int(plan)
    let last = object.pointee.lastKeyEntry
    if last < object.pointee.keyEntries.count,
      object.pointee.keyEntries[last].typename.equals(typename)
    {
      return last
    }
    return otherKeyEntry(of: plan, typename: typename)
  }

  @inline(never)
  private mutating func otherKeyEntry(of plan: Int32, typename: Bytes) -> Int {
    let object = plans + Int(plan)
    let count = object.pointee.keyEntries.count
    var index = 0
    while index < min(count, Self.scanned),
      !object.pointee.keyEntries[index].typename.equals(typename)
    { index += 1 }
    if index == Self.scanned { index = object.pointee.keyEntryIndex[typename.array] ?? count }
    if index < count {
      object.pointee.lastKeyEntry = index
      if object.pointee.keyEntries[index].usedIn != use {
        object.pointee.keyEntries[index].usedIn = use
      }
      return index
    }
    let name = typename.string
    var entry = KeyEntry(
      typename: keep(typename.array),
      prefix: keep(Array((self.plan.keys.prefix(of: name) + ":").utf8)),
      parts: [], missingField: nil, usedIn: use)
    // What is not a GraphQL name could pass for a root or a segment; it identifies nothing.
    let isName = isName(name[...])
    for field in isName ? self.plan.keyFields(of: name) : [] {
      let match = (0..<object.pointee.fieldCount).first {
        let plan = object.pointee.fields[$0]
        return plan.candidate >= 0 && isStored(plan, as: field)
      }
      if let match {
        entry.parts.append(object.pointee.fields[match].candidate)
      } else {
        entry.missingField = entry.missingField ?? field
      }
    }
    if entry.missingField != nil {
      entry.parts = []
      entry.toldIn = 0
    }
    if count >= Self.scanned { object.pointee.keyEntryIndex[typename.array] = count }
    object.pointee.keyEntries.append(entry)
    object.pointee.lastKeyEntry = count
    return object.pointee.lastKeyEntry
  }

  private func isStored(_ field: FieldPlan, as name: String) -> Bool {
    // The prefix is `"name":`.
    field.storedPrefix.count == name.utf8.count + 3
      && field.storedPrefix[1..<(field.storedPrefix.count - 2)].equals(Array(name.utf8))
  }

  // MARK: Compiling

  /// A contribution to an object of some type.
  private struct Applicable {
    var contribution: OperationPlan.Contribution
    /// Whether it is known to apply; `nil` when the object's type is not known either.
    var isCertain: Bool?
    var fragment: Int32
  }

  mutating func node(of parts: [SelectionPart]) -> Int32 {
    if let known = nodesByParts[parts] { return known }
    let index = Int32(nodes.count)
    nodes.append(SelectionNode(parts: parts, union: -1, isConditional: false))
    nodesByParts[parts] = index
    let all = parts.flatMap { plan.sets[$0.set] }
    // A rule for the field of some type makes the type decide as well.
    let isRuled = all.contains { !$0.ruledKeys.isEmpty }
    let isConditional = isRuled || all.contains { !$0.conditions.isEmpty }
    nodes[Int(index)].isConditional = isConditional
    // Without conditions the type decides nothing; if a key has two meanings even so, which no
    // server accepts, the first counts.
    if !isConditional || !isRuled && isUnambiguous(all) {
      let union = compile(
        all.map {
          Applicable(contribution: $0, isCertain: $0.conditions.isEmpty ? true : nil, fragment: -1)
        }, isRoot: false)
      nodes[Int(index)].union = union
    }
    return index
  }

  /// Whether every response key means the same for every type, also further down, and is shown for all.
  private mutating func isUnambiguous(_ all: [OperationPlan.Contribution]) -> Bool {
    var meanings: [String: [OperationPlan.Contribution]] = [:]
    for contribution in all {
      for other in meanings[contribution.responseKey] ?? [] {
        if conflict(contribution, other, isWhateverType: true) { return false }
      }
      meanings[contribution.responseKey, default: []].append(contribution)
    }
    // What the cache asks for, and the caller only of some types, is shown for these alone.
    return meanings.values.allSatisfy { same in
      let asked = same.filter { !$0.isAdded }
      return asked.count == same.count || asked.isEmpty
        || asked.contains { $0.conditions.isEmpty }
    }
  }

  /// Whether two contributions with the same response key mean different things.
  ///
  /// Under conditions that differ they may be those of two types, which the type will tell apart; that
  /// is no conflict unless the key shall mean the same whatever the type is.
  private mutating func conflict(
    _ one: OperationPlan.Contribution, _ other: OperationPlan.Contribution, isWhateverType: Bool
  ) -> Bool {
    let mayBeApart =
      !one.conditions.isEmpty && !other.conditions.isEmpty
      && !one.conditions.contains { other.conditions.contains($0) }
    if mayBeApart && !isWhateverType { return false }
    if one.storedKey != other.storedKey { return true }
    guard let child = one.childSet, let otherChild = other.childSet else { return false }
    return conflict(child, otherChild, isWhateverType: isWhateverType)
  }

  /// Whether a key means something else in one set than in the other.
  private mutating func conflict(_ one: Int, _ other: Int, isWhateverType: Bool) -> Bool {
    if one == other { return false }
    let pair = SetPair(sets: [min(one, other), max(one, other)], isWhateverType: isWhateverType)
    if let known = conflicts[pair] { return known }
    var result = false
    for left in plan.sets[one] where !result {
      for right in plan.sets[other] where left.responseKey == right.responseKey {
        if conflict(left, right, isWhateverType: isWhateverType) {
          result = true
          break
        }
      }
    }
    conflicts[pair] = result
    return result
  }

  private mutating func variant(of node: Int32, typename: [UInt8]) -> Int32 {
    let name = String(decoding: typename, as: UTF8.self)
    let isRoot = node == 0
    var applicable: [Applicable] = []
    var shape: [UInt8] = []
    for part in nodes[Int(node)].parts {
      for contribution in plan.sets[part.set] {
        let applies = applies(contribution, to: name, isRoot: isRoot)
        if plan.facts == nil, !isRoot { note(contribution.conditions, for: name) }
        shape.append(applies.map { $0 ? 2 : 1 } ?? 0)
        guard let applies else { continue }
        var contribution = contribution
        if let ruled = plan.ruledKey(of: contribution, for: name) {
          contribution.storedKey = contribution.ruledKeys[ruled].storedKey
          contribution.page = contribution.ruledKeys[ruled].page
          shape += withUnsafeBytes(of: UInt32(truncatingIfNeeded: ruled)) { Array($0) }
        } else if !contribution.ruledKeys.isEmpty {
          shape.append(0xff)
        }
        applicable.append(
          Applicable(
            contribution: contribution, isCertain: applies && part.fragment < 0,
            fragment: contribution.fragment >= 0 ? contribution.fragment : part.fragment))
      }
    }
    let index = nodes[Int(node)].plansByShape[shape] ?? compile(applicable, isRoot: isRoot)
    nodes[Int(node)].plansByShape[shape] = index
    let number = nodes[Int(node)].variants.count
    if number >= Self.scanned { nodes[Int(node)].variantIndex[typename] = number }
    nodes[Int(node)].variants.append((typename, index))
    nodes[Int(node)].lastVariant = number
    return index
  }

  /// Notes which type conditions are guessed at, and which are met exactly.
  private mutating func note(_ conditions: [String], for type: String) {
    if conditions.contains(type) {
      metConditions.insert(type)
    } else {
      guessedConditions.formUnion(conditions)
    }
  }

  /// `nil` when the contribution does not apply to objects of type `type`; else whether that is certain.
  ///
  /// Without a schema, a condition that names the type is certain, and with it those around it: were
  /// they not to apply, the fragment could never be spread there. At the root every condition is.
  func applies(
    _ contribution: OperationPlan.Contribution, to type: String, isRoot: Bool
  ) -> Bool? {
    var isNamed = contribution.conditions.isEmpty || isRoot
    var isUnknown = false
    for condition in contribution.conditions {
      if condition == type {
        isNamed = true
      } else if let answer = plan.facts?.isPossible(type, for: condition) {
        if !answer { return nil }
      } else {
        isUnknown = true
      }
    }
    return isNamed || !isUnknown
  }

  /// The selection of the values of a field, merged from what its contributions select.
  ///
  /// Where some of them are certain, what the others ask for is optional, and left out when it
  /// contradicts: then they are those of another type.
  private mutating func child(of contributions: [Applicable]) -> Int32 {
    let hasCertain = contributions.contains { $0.isCertain == true }
    var accepted: [Int: Int32] = [:]
    for certain in [true, false] {
      for entry in contributions where (entry.isCertain == true) == certain {
        guard let set = entry.contribution.childSet, accepted[set] == nil else { continue }
        let known = Array(accepted.keys)
        if !certain, known.contains(where: { conflict($0, set, isWhateverType: false) }) {
          continue
        }
        accepted[set] = hasCertain && !certain ? entry.fragment : -1
      }
    }
    var parts: [SelectionPart] = []
    for set in contributions.compactMap(\.contribution.childSet) {
      guard let fragment = accepted.removeValue(forKey: set) else { continue }
      parts.append(SelectionPart(set: set, fragment: fragment))
    }
    return parts.isEmpty ? -1 : node(of: parts)
  }

  private mutating func compile(_ contributions: [Applicable], isRoot: Bool) -> Int32 {
    var order: [String] = []
    var groups: [String: [Applicable]] = [:]
    for entry in contributions {
      let key = entry.contribution.responseKey
      if groups[key] == nil { order.append(key) }
      groups[key, default: []].append(entry)
    }
    var fields: [FieldPlan] = []
    var candidates: Int32 = 0
    for key in order {
      let group = groups[key] ?? []
      let chosen = group.first { $0.isCertain == true } ?? group.first
      guard let meaning = chosen?.contribution else { continue }
      let same = group.filter { $0.contribution.storedKey == meaning.storedKey }
      let isCertain = same.contains { $0.isCertain != false }
      var fragments: Int32 = -1
      if !isCertain {
        fragmentLists.append(same.map(\.fragment))
        fragments = Int32(fragmentLists.count - 1)
      }
      let isPage = separatesPages && meaning.page >= 0
      let textKey =
        isPage ? PageRule.waitingKey(Int(meaning.page), meaning.storedKey) : meaning.storedKey
      var candidate: Int32 = -1
      if candidateNames.contains(meaning.fieldName), meaning.storedKey == meaning.fieldName {
        candidate = candidates
        candidates += 1
      }
      let keyBytes = keep(Array(key.utf8))
      let words = keyWords(keyBytes)
      let stored = Array(JSONValue.string(textKey).canonicalText.utf8) + [58]
      let response = Array(JSONValue.string(key).canonicalText.utf8) + [58]
      let child = child(of: same)
      fields.append(
        FieldPlan(
          key: keyBytes, head: words.head, tail: words.tail,
          storedPrefix: keep(stored),
          resultPrefix: keep(response),
          rootKey: isRoot
            ? keep(Array((RootRecord.prefix(of: plan.operationType) + meaning.storedKey).utf8))
            : .empty,
          child: child, candidate: candidate,
          fragments: fragments, isTypename: meaning.fieldName == "__typename",
          isAsked: same.contains { !$0.contribution.isAdded },
          isVerbatim: child < 0 && stored == response))
    }
    let block = UnsafeMutablePointer<FieldPlan>.allocate(capacity: max(fields.count, 1))
    block.initialize(from: fields, count: fields.count)
    fieldBlocks.append(block)
    let stored = Set(fields.map { $0.storedPrefix.array })
    return append(
      ObjectPlan(
        fields: block, fieldCount: fields.count, candidateCount: Int(candidates),
        seenWords: (fields.count + 63) / 64, hasStoredDuplicates: stored.count < fields.count,
        hasFragments: fields.contains { $0.fragments >= 0 }))
  }

  private mutating func append(_ object: ObjectPlan) -> Int32 {
    if planCount == planCapacity {
      let bigger = UnsafeMutablePointer<ObjectPlan>.allocate(capacity: planCapacity * 2)
      bigger.moveInitialize(from: plans, count: planCount)
      plans.deallocate()
      plans = bigger
      planCapacity *= 2
    }
    (plans + planCount).initialize(to: object)
    planCount += 1
    return Int32(planCount - 1)
  }

  /// Copies bytes to where they stay as long as the table.
  private mutating func keep(_ bytes: [UInt8]) -> Bytes {
    let blob = UnsafeMutablePointer<UInt8>.allocate(capacity: max(bytes.count, 1))
    blob.initialize(from: bytes, count: bytes.count)
    blobs.append(blob)
    return Bytes(start: UnsafePointer(blob), count: bytes.count)
  }
}

/// The first and last 8 bytes of a key; of shorter keys, all bytes in two overlapping words.
@inline(__always)
func keyWords(_ key: Bytes) -> (head: UInt64, tail: UInt64) {
  let raw = UnsafeRawPointer(key.start)
  if key.count >= 8 {
    return (
      raw.loadUnaligned(as: UInt64.self),
      raw.loadUnaligned(fromByteOffset: key.count &- 8, as: UInt64.self)
    )
  }
  if key.count >= 4 {
    return (
      UInt64(raw.loadUnaligned(as: UInt32.self)),
      UInt64(raw.loadUnaligned(fromByteOffset: key.count &- 4, as: UInt32.self))
    )
  }
  if key.count == 0 { return (0, 0) }
  return (
    UInt64(key.start[0]) << 8 | UInt64(key.start[key.count &>> 1]),
    UInt64(key.start[key.count &- 1])
  )
}

/// The records of the operation roots.
///
/// Every root field is a record of its own, `QUERY_ROOT.country({"code":"DE"})`, so that ten thousand
/// different queries do not rewrite one ever larger record. Dumps and lookups join them again.
package enum RootRecord {
  package static let queryKey = "QUERY_ROOT"

  /// What stands before the field in the keys of root fields. Those of mutations and subscriptions
  /// are not stored, and must not pass for those of queries.
  static func prefix(of operation: OperationType) -> String {
    switch operation {
    case .query: "QUERY_ROOT."
    case .mutation: "MUTATION_ROOT."
    case .subscription: "SUBSCRIPTION_ROOT."
    }
  }
}
