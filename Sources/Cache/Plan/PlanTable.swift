import GQLRunJSON
import GQLRunLanguage
import GQLRunSupport

/// The variants of a plan by object type, compiled on demand.
///
/// Owned by one normalizer or reader. Everything that the hot paths read is in memory that does not
/// move while the table exists.
struct PlanTable: ~Copyable {
  /// `nil` while the table is unused: the plan owns it then.
  private var owner: OperationPlan?
  /// The number of times the table was taken into use.
  private(set) var use: UInt64 = 1
  private(set) var plans: UnsafeMutablePointer<ObjectPlan>
  private var planCapacity = 16
  private(set) var planCount = 0
  var nodes: [SelectionNode] = []
  /// The nodes by the numbers of their parts: each type of a key costs a new process a search of all conformances.
  private var nodesByParts: [[Int]: Int32] = [:]
  private var meanings = KeyMeanings()
  var fragmentLists: [[Int32]] = []
  /// Without a schema: type conditions that some object's type may or may not satisfy. Once one
  /// turns out to be a concrete type, it is in ``concreteConditions`` instead.
  private(set) var guessedConditions: Set<String> = []
  /// Type conditions that are the names of concrete types: they hold for that type and no other.
  private(set) var concreteConditions: Set<String> = []
  private var blobs: [UnsafeMutablePointer<UInt8>] = []
  private var fieldBlocks: [UnsafeMutablePointer<FieldPlan>] = []
  private let candidateNames: Set<String>
  /// The numbers of plans and blobs before the first response.
  private var ownPlans = 0
  private var ownBlobs = 0
  /// The root's plan, and its node.
  private(set) var root: Int32 = 0

  /// Whether pages have separate names, to be joined at the commit.
  let separatesPages: Bool

  /// - Parameter separatesPages: For writing responses. Readers read the joined lists.
  init(_ plan: OperationPlan, separatesPages: Bool = false) {
    owner = plan
    self.separatesPages = separatesPages
    plans = .allocate(capacity: 16)
    candidateNames = plan.keys.allFields
    let node = self.node(of: [SelectionPart(set: plan.rootSet)])
    root = variant(of: node, typename: Array(plan.rootType.utf8))
    ownPlans = planCount
    ownBlobs = blobs.count
  }

  deinit {
    for index in 0..<planCount { (plans + index).deinitialize(count: 1) }
    plans.deallocate()
    for blob in blobs { blob.deallocate() }
    for block in fieldBlocks { block.deallocate() }
  }

  /// An empty table, as a placeholder.
  init() {
    separatesPages = false
    plans = .allocate(capacity: 1)
    planCapacity = 1
    candidateNames = []
  }

  var plan: OperationPlan {
    guard let owner else { preconditionFailure("a table that is in use has a plan") }
    return owner
  }

  /// Whether the table is worth keeping: types of responses have not made it too large, and it contains no inferred types,
  /// which belong to one response. The size that the operation itself has would be compiled again for each response.
  var isWorthKeeping: Bool {
    planCount <= ownPlans + 1024 && blobs.count <= ownBlobs + (1 << 14) && guessedConditions.isEmpty
  }

  mutating func beginUse(of plan: OperationPlan) {
    owner = plan
    use += 1
    // So that the first object of each type is counted.
    for index in 0..<planCount { plans[index].lastKeyEntry = Int.max }
  }

  mutating func endUse() { owner = nil }

  /// Warnings about type conditions that were decided by the fields, because there is no schema.
  var guessWarnings: [String] {
    if guessedConditions.isEmpty { return [] }
    return guessedConditions.sorted().prefix(20).map {
      "without a schema the types that can be a \($0) are unknown: the fields of fragments on it "
        + "belong to each object that has them; name a schema with --schema FILE or the pipeline's "
        + "key `schema`"
    }
  }

  // MARK: Concrete types

  /// Takes over which type conditions a store knows to be concrete types.
  mutating func learn(_ types: ConcreteTypes) {
    for condition in plan.openConditions where !concreteConditions.contains(condition) {
      if types.contains(condition) { noteConcrete(condition) }
    }
  }

  /// Notes that some object has the type `name`.
  ///
  /// Variants that were compiled on the assumption that a condition on it may hold for other types are
  /// compiled again. Objects that are open keep theirs.
  mutating func noteConcrete(_ name: String) {
    guard plan.openConditions.contains(name), concreteConditions.insert(name).inserted,
      guessedConditions.remove(name) != nil
    else { return }
    for index in nodes.indices {
      nodes[index].variants = []
      nodes[index].variantIndex = [:]
      nodes[index].plansByShape = [:]
      nodes[index].contributions = nil
      nodes[index].lastVariant = 0
    }
  }

  // MARK: Lookup

  /// The plan of an object with this type under `node`; compiles a new one.
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

  /// The number of types that are scanned before a hash table is used, because a server may have
  /// any number of types.
  private static let scanned = 8

  /// The key rule of `typename` for objects under the plan with this index.
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
    noteConcrete(name)
    var entry = KeyEntry(
      typename: keep(typename.array),
      prefix: keep(Array((self.plan.keys.prefix(of: name) + ":").utf8)),
      parts: [], missingField: nil, usedIn: use)
    var names: [String] = []
    // Text that is not a GraphQL name could equal a root or segment key, so it identifies nothing.
    let isName = Name.isValid(name)
    for field in isName ? self.plan.keyFields(of: name) : [] {
      let match = (0..<object.pointee.fieldCount).first {
        let plan = object.pointee.fields[$0]
        return plan.candidate >= 0 && isStored(plan, as: field)
      }
      if let match {
        entry.parts.append(object.pointee.fields[match].candidate)
        names.append(field)
      } else {
        entry.missingField = entry.missingField ?? field
      }
    }
    if isName, self.plan.keys.resolver != nil {
      entry.partNames = names
    } else if entry.missingField != nil {
      entry.parts = []
      entry.reportedIn = 0
    }
    entry.isJoined = self.plan.keys.hasJoinedKeys(with: name, facts: self.plan.facts)
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

  /// A contribution that applies to objects of a type.
  private struct Applicable {
    var contribution: OperationPlan.Contribution
    /// Whether it certainly applies; `nil` if the object's type is unknown.
    var isCertain: Bool?
    var fragment: Int32
    var isDeferred = false
  }

  mutating func node(of parts: [SelectionPart]) -> Int32 {
    let key = parts.flatMap { [$0.set, Int($0.fragment), $0.isDeferred ? 1 : 0] }
    if let known = nodesByParts[key] { return known }
    let index = Int32(nodes.count)
    nodes.append(SelectionNode(parts: parts, union: -1, isConditional: false))
    nodesByParts[key] = index
    let all = parts.flatMap { plan.sets[$0.set] }
    // A rule for the field of a type makes the type relevant as well.
    let isRuled = all.contains { !$0.ruledKeys.isEmpty }
    let isConditional = isRuled || all.contains { !$0.conditions.isEmpty }
    nodes[Int(index)].isConditional = isConditional
    // Several deferred fragments, or one of them and the selection set itself, may share an object.
    nodes[Int(index)].isExtensible =
      all.contains { $0.deferral >= 0 } || parts.count > 1 && parts.contains(where: \.isDeferred)
    // Without conditions, the type does not matter; if a key has two meanings, which no server
    // accepts, the first one is used.
    if !isConditional || !isRuled && meanings.areUnambiguous(all, in: plan) {
      let union = compile(
        parts.flatMap { part in
          plan.sets[part.set].map {
            Applicable(
              contribution: $0, isCertain: $0.conditions.isEmpty ? true : nil, fragment: -1,
              isDeferred: part.isDeferred || $0.deferral >= 0)
          }
        }, isRoot: false)
      nodes[Int(index)].union = union
    }
    return index
  }

  private mutating func variant(of node: Int32, typename: [UInt8]) -> Int32 {
    let name = String(decoding: typename, as: UTF8.self)
    let isRoot = node == 0
    if !isRoot { noteConcrete(name) }
    var applicable: [Applicable] = []
    var shape: [Int] = []
    for position in contributions(of: node, for: name) {
      let part = nodes[Int(node)].parts[position.part]
      var contribution = plan.sets[part.set][position.index]
      guard let applies = applies(contribution, to: name, isRoot: isRoot) else { continue }
      shape.append(position.number << 1 | (applies ? 1 : 0))
      if plan.facts == nil, !isRoot, !contribution.conditions.contains(name) {
        guessedConditions.formUnion(contribution.conditions)
      }
      if let ruled = plan.ruledKey(of: contribution, for: name) {
        contribution.storedKey = contribution.ruledKeys[ruled].storedKey
        contribution.page = contribution.ruledKeys[ruled].page
        contribution.isJoined = contribution.ruledKeys[ruled].isJoined
        contribution.redirect = contribution.ruledKeys[ruled].redirect
        shape.append(ruled)
      } else if !contribution.ruledKeys.isEmpty {
        shape.append(.max)
      }
      applicable.append(
        Applicable(
          contribution: contribution, isCertain: applies && part.fragment < 0,
          fragment: contribution.fragment >= 0 ? contribution.fragment : part.fragment,
          isDeferred: part.isDeferred || contribution.deferral >= 0))
    }
    let index = nodes[Int(node)].plansByShape[shape] ?? compile(applicable, isRoot: isRoot)
    nodes[Int(node)].plansByShape[shape] = index
    let number = nodes[Int(node)].variants.count
    if number >= Self.scanned { nodes[Int(node)].variantIndex[typename] = number }
    nodes[Int(node)].variants.append((typename, index))
    nodes[Int(node)].lastVariant = number
    return index
  }

  /// The contributions that may apply to objects of type `type`, in their order.
  private mutating func contributions(
    of node: Int32, for type: String
  ) -> [NodeContributions.Position] {
    let all = nodes[Int(node)].contributions ?? contributions(of: node)
    nodes[Int(node)].contributions = all
    // An object without `__typename` may have any type.
    let own = type.isEmpty ? all.ofType.values.flatMap { $0 } : all.ofType[type] ?? []
    return own.isEmpty ? all.open : (all.open + own).sorted { $0.number < $1.number }
  }

  private func contributions(of node: Int32) -> NodeContributions {
    var all = NodeContributions()
    var number = 0
    for (part, selection) in nodes[Int(node)].parts.enumerated() {
      for (index, contribution) in plan.sets[selection.set].enumerated() {
        let position = NodeContributions.Position(number: number, part: part, index: index)
        let type = contribution.conditions.first { isObjectType($0, isRoot: node == 0) }
        if let type {
          all.ofType[type, default: []].append(position)
        } else {
          all.open.append(position)
        }
        number += 1
      }
    }
    return all
  }

  /// Whether a type condition excludes all other types, as ``applies(_:to:isRoot:)`` decides.
  private func isObjectType(_ condition: String, isRoot: Bool) -> Bool {
    plan.facts?.possibleTypes[condition]?.contains(condition)
      ?? (!isRoot && concreteConditions.contains(condition))
  }

  /// `nil` when the contribution does not apply to objects of type `type`; else whether that is
  /// certain.
  ///
  /// The conditions begin with the innermost one. Without a schema, a condition that names the type is certain, and with it
  /// those around it: were they not to apply, the fragment could never be spread there. At the root every condition is. A
  /// condition on another concrete type does not apply. An object without `__typename`, whose type is empty, may satisfy
  /// every condition.
  func applies(
    _ contribution: OperationPlan.Contribution, to type: String, isRoot: Bool
  ) -> Bool? {
    var isNamed = isRoot
    var isUnknown = false
    for condition in contribution.conditions {
      if condition == type {
        isNamed = true
      } else if let answer = isPossible(type, for: condition) {
        if !answer { return nil }
      } else if !isRoot, !type.isEmpty, concreteConditions.contains(condition) {
        return nil
      } else if !isNamed {
        isUnknown = true
      }
    }
    return !isUnknown
  }

  /// What the schema says of a type condition; `nil` without a schema, for an object of unknown type, and for an
  /// object type that the schema does not have: servers add types, and these may implement any interface.
  private func isPossible(_ type: String, for condition: String) -> Bool? {
    guard let facts = plan.facts, !type.isEmpty else { return nil }
    if facts.possibleTypes[type] != nil { return facts.isPossible(type, for: condition) }
    guard let possible = facts.possibleTypes[condition] else { return nil }
    return possible.contains(condition) ? false : nil
  }

  /// Which of the fragments whose type condition is undecided an object does not satisfy, judging by its fields.
  struct UndecidedFragments {
    /// Those of which a selected field is missing.
    var unmatched: Set<Int32> = []
    /// Those of them that also have a field which is stored, and which no other fragment selects. To omit it would lose
    /// it, so the missing field counts.
    var torn: Set<Int32> = []

    /// Whether a field with these fragments is omitted.
    func omit(_ fragments: [Int32]) -> Bool {
      fragments.allSatisfy { unmatched.contains($0) && !torn.contains($0) }
    }
  }

  /// Decides about the fragments of an object under the plan with this index.
  ///
  /// Fields that only the cache adds are not compared: a response that was fetched without them has none.
  @inline(never)
  func undecidedFragments(of plan: Int32, isStored: (Int) -> Bool) -> UndecidedFragments {
    var result = UndecidedFragments()
    let object = plans[Int(plan)]
    var stored: [Int32] = []
    for index in 0..<object.fieldCount {
      let field = object.fields[index]
      guard field.fragments >= 0, field.isAsked else { continue }
      if isStored(index) {
        stored.append(field.fragments)
      } else {
        result.unmatched.formUnion(fragmentLists[Int(field.fragments)])
      }
    }
    for list in stored {
      let fragments = fragmentLists[Int(list)]
      if fragments.allSatisfy({ result.unmatched.contains($0) }) {
        result.torn.formUnion(fragments)
      }
    }
    return result
  }

  /// The selection of a field's values, merged from its contributions.
  ///
  /// If some of them are certain, the fields of the others are optional, and omitted if they
  /// conflict: they belong to another type then.
  private mutating func child(of contributions: [Applicable]) -> Int32 {
    let hasCertain = contributions.contains { $0.isCertain == true }
    let sets = contributions.compactMap(\.contribution.childSet)
    // Without two meanings of any key, no pair needs to be compared.
    let mayConflict =
      contributions.contains { $0.isCertain != true }
      && meanings.areAmbiguous(sets: Set(sets).sorted(), in: plan)
    var accepted: [Int: Int32] = [:]
    for certain in [true, false] {
      for entry in contributions where (entry.isCertain == true) == certain {
        guard let set = entry.contribution.childSet, accepted[set] == nil else { continue }
        let known = mayConflict && !certain ? Array(accepted.keys) : []
        if known.contains(where: { meanings.conflict($0, set, in: plan) }) { continue }
        accepted[set] = hasCertain && !certain ? entry.fragment : -1
      }
    }
    var now: Set<Int> = []
    for entry in contributions where !entry.isDeferred {
      if let set = entry.contribution.childSet { now.insert(set) }
    }
    var parts: [SelectionPart] = []
    for set in sets {
      guard let fragment = accepted.removeValue(forKey: set) else { continue }
      parts.append(SelectionPart(set: set, fragment: fragment, isDeferred: !now.contains(set)))
    }
    return parts.isEmpty ? -1 : node(of: parts)
  }

  private mutating func compile(_ contributions: [Applicable], isRoot: Bool) -> Int32 {
    var fields: [FieldPlan] = []
    var redirects: [Int: RedirectTarget] = [:]
    var candidates: Int32 = 0
    for (key, group) in OrderedGroups(contributions, by: \.contribution.responseKey).all {
      let chosen = group.first { $0.isCertain == true } ?? group.first
      guard let meaning = chosen?.contribution else { continue }
      let same = group.filter { $0.contribution.storedKey == meaning.storedKey }
      let isCertain = same.contains { $0.isCertain != false }
      var fragments: Int32 = -1
      if !isCertain {
        let asking = same.filter { !$0.contribution.isAdded }
        fragmentLists.append((asking.isEmpty ? same : asking).map(\.fragment))
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
      if child >= 0, let redirect = meaning.redirect { redirects[fields.count] = redirect }
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
          deferral: same.contains { $0.contribution.deferral < 0 }
            ? -1 : same.first?.contribution.deferral ?? -1,
          isStreamed: same.contains { $0.contribution.stream >= 0 },
          isJoined: meaning.isJoined,
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
        hasFragments: fields.contains { $0.fragments >= 0 }, redirects: redirects))
  }

  private mutating func append(_ object: ObjectPlan) -> Int32 {
    if planCount == planCapacity {
      planCapacity *= 2
      plans = plans.grown(to: planCapacity, keeping: planCount)
    }
    (plans + planCount).initialize(to: object)
    planCount += 1
    return Int32(planCount - 1)
  }

  /// Copies bytes to memory that lives as long as the table.
  private mutating func keep(_ bytes: [UInt8]) -> Bytes {
    let blob = UnsafeMutablePointer<UInt8>.allocate(capacity: max(bytes.count, 1))
    blob.initialize(from: bytes, count: bytes.count)
    blobs.append(blob)
    return Bytes(start: UnsafePointer(blob), count: bytes.count)
  }
}

/// Paths of errors below a null, where the types of objects are unknown: a field is found by its key alone.
extension PlanTable {
  /// A path of response keys as one of stored names; `nil` if the operation does not select one of its fields.
  ///
  /// A field that has several response keys is a pair of its stored name and the response key.
  func storedPath(_ steps: [PathStep], under node: Int32) -> [JSONValue]? {
    translated(PathStep.json(steps).arrayValue ?? [], under: node) { step, selected in
      guard let name = step.stringValue,
        let field = selected.first(where: { $0.responseKey.isSameText(as: name) })
      else { return nil }
      let first = selected.first { $0.storedKey.isSameText(as: field.storedKey) }
      let isFirst = first?.responseKey.isSameText(as: name) == true
      return (
        field,
        isFirst ? .string(field.storedKey) : .array([.string(field.storedKey), .string(name)])
      )
    }
  }

  /// A path of ``storedPath(_:under:)`` as one of response keys; `nil` if the operation does not select one of its fields.
  func responsePath(_ path: [JSONValue], under node: Int32) -> [JSONValue]? {
    translated(path, under: node) { step, selected in
      guard let name = step.stringValue ?? step[0]?.stringValue else { return nil }
      let same = selected.filter { $0.storedKey.isSameText(as: name) }
      let key = step[1]?.stringValue
      let field = same.first { field in key.map { field.responseKey.isSameText(as: $0) } ?? true }
      return (field ?? same.first).map { ($0, .string($0.responseKey)) }
    }
  }

  private func translated(
    _ path: [JSONValue], under node: Int32,
    field: (JSONValue, [OperationPlan.Contribution]) -> (OperationPlan.Contribution, JSONValue)?
  ) -> [JSONValue]? {
    var sets = node < 0 ? [] : nodes[Int(node)].parts.map(\.set)
    var result: [JSONValue] = []
    for step in path {
      guard step.intValue == nil else {
        result.append(step)
        continue
      }
      let selected = sets.flatMap { plan.sets[$0] }
      guard let (found, step) = field(step, selected) else { return nil }
      result.append(step)
      sets = selected.filter { $0.storedKey.isSameText(as: found.storedKey) }
        .compactMap(\.childSet)
    }
    return result
  }
}

extension String {
  /// Whether the bytes are equal; `==` ignores differences of Unicode normalization.
  fileprivate func isSameText(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}

/// The unused compiled tables of an operation: a response or read takes one with everything
/// compiled before, and returns it.
final class PlanTables: Sendable {
  /// `@unchecked Sendable`: a table in the list has no other owner.
  private final class Kept: @unchecked Sendable {
    let separatesPages: Bool
    var table: PlanTable?

    init(_ table: consuming PlanTable) {
      separatesPages = table.separatesPages
      self.table = consume table
    }
  }

  /// The maximum number of tables, for concurrent responses and reads.
  private static let limit = 4

  private let kept = Locked<[Kept]>([])

  /// Takes a compiled table of `plan`, which owns these tables.
  ///
  /// - Parameter separatesPages: For writing responses: pages get separate names.
  func take(for plan: OperationPlan, separatesPages: Bool = false) -> PlanTable {
    let separatesPages = separatesPages && !plan.pages.isEmpty
    let found = kept.withLock { kept in
      kept.lastIndex { $0.separatesPages == separatesPages }.map { kept.remove(at: $0) }
    }
    guard let found, var table = found.table.take() else {
      return PlanTable(plan, separatesPages: separatesPages)
    }
    table.beginUse(of: plan)
    return table
  }

  /// Returns a table. One that is not worth keeping is released.
  func give(_ table: consuming PlanTable) {
    guard table.isWorthKeeping else { return }
    table.endUse()
    let back = Kept(table)
    kept.withLock { kept in
      if kept.count < Self.limit { kept.append(back) }
    }
  }
}
