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
}

/// The fields an object of one type has under one selection.
struct ObjectPlan {
  var fields: UnsafeMutablePointer<FieldPlan>
  var fieldCount: Int
  var candidateCount: Int
  var seenWords: Int
  /// Two response keys share a stored key, so that the object's text must be folded at its end.
  var hasStoredDuplicates: Bool
  var keyEntries: [KeyEntry] = []
  var lastKeyEntry = 0
}

/// One merged selection set: which flattened sets it consists of, and its variants by type.
struct SelectionNode {
  var sets: [Int]
  /// A plan that holds whatever the type is, or -1 when two types give one key different meanings.
  var union: Int32
  /// Whether the type decides which fields there are.
  var isConditional: Bool
  var variants: [(typename: [UInt8], plan: Int32)] = []
  var lastVariant = 0
}

/// The variants of a plan, compiled as a response or a store shows the types of its objects.
///
/// Owned by one normalizer or reader. Everything that the hot paths read stands in memory that does not
/// move until the table goes.
struct PlanTable: ~Copyable {
  let plan: OperationPlan
  private(set) var plans: UnsafeMutablePointer<ObjectPlan>
  private var planCapacity = 16
  private(set) var planCount = 0
  var nodes: [SelectionNode] = []
  private var nodeByeSets: [[Int]: Int32] = [:]
  var fragmentLists: [[Int32]] = []
  private var blobs: [UnsafeMutablePointer<UInt8>] = []
  private var fieldBlocks: [UnsafeMutablePointer<FieldPlan>] = []
  private let candidateNames: Set<String>
  /// The root's plan, and its node.
  private(set) var root: Int32 = 0

  init(_ plan: OperationPlan) {
    self.plan = plan
    plans = .allocate(capacity: 16)
    candidateNames = plan.keys.allFields
    let node = self.node(of: [plan.rootSet])
    root = variant(of: node, typename: Array(plan.rootType.utf8))
  }

  deinit {
    for index in 0..<planCount { (plans + index).deinitialize(count: 1) }
    plans.deallocate()
    for blob in blobs { blob.deallocate() }
    for block in fieldBlocks { block.deallocate() }
  }

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
    let variants = nodes[Int(node)].variants
    if let index = variants.firstIndex(where: { typename.equals($0.typename) }) {
      nodes[Int(node)].lastVariant = index
      return variants[index].plan
    }
    // A server that invents type names without end must not make the table grow without end.
    if variants.count > 4096, nodes[Int(node)].union >= 0 { return nodes[Int(node)].union }
    return variant(of: node, typename: typename.array)
  }

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
    if let index = object.pointee.keyEntries.firstIndex(where: { $0.typename.equals(typename) }) {
      object.pointee.lastKeyEntry = index
      return index
    }
    let name = typename.string
    var entry = KeyEntry(
      typename: keep(typename.array), prefix: keep(Array((self.plan.keys.prefix(of: name) + ":").utf8)),
      parts: [], missingField: nil)
    for field in self.plan.keys.fields(of: name) {
      let match = (0..<object.pointee.fieldCount).first {
        let plan = object.pointee.fields[$0]
        return plan.candidate >= 0 && isStored(plan, as: field)
      }
      if let match {
        entry.parts.append(object.pointee.fields[match].candidate)
      } else {
        entry.missingField = field
      }
    }
    if entry.missingField != nil { entry.parts = [] }
    object.pointee.keyEntries.append(entry)
    object.pointee.lastKeyEntry = object.pointee.keyEntries.count - 1
    return object.pointee.lastKeyEntry
  }

  private func isStored(_ field: FieldPlan, as name: String) -> Bool {
    // The prefix is `"name":`.
    field.storedPrefix.count == name.utf8.count + 3
      && field.storedPrefix[1..<(field.storedPrefix.count - 2)].equals(Array(name.utf8))
  }

  // MARK: Compiling

  mutating func node(of sets: [Int]) -> Int32 {
    if let known = nodeByeSets[sets] { return known }
    let index = Int32(nodes.count)
    nodes.append(SelectionNode(sets: sets, union: -1, isConditional: false))
    nodeByeSets[sets] = index
    let all = sets.flatMap { plan.sets[$0] }
    nodes[Int(index)].isConditional = all.contains { !$0.conditions.isEmpty }
    if isUnambiguous(all) {
      nodes[Int(index)].union = compile(all.map { ($0, nil) }, isRoot: false)
    }
    return index
  }

  /// Whether every response key means the same for every type.
  private func isUnambiguous(_ all: [OperationPlan.Contribution]) -> Bool {
    var meaning: [String: String] = [:]
    for contribution in all {
      if let known = meaning[contribution.responseKey], known != contribution.storedKey {
        return false
      }
      meaning[contribution.responseKey] = contribution.storedKey
    }
    return true
  }

  private mutating func variant(of node: Int32, typename: [UInt8]) -> Int32 {
    let name = String(decoding: typename, as: UTF8.self)
    var applicable: [(OperationPlan.Contribution, isCertain: Bool?)] = []
    for contribution in nodes[Int(node)].sets.flatMap({ plan.sets[$0] }) {
      if let isCertain = applies(contribution, to: name) {
        applicable.append((contribution, isCertain))
      }
    }
    let isRoot = node == 0
    let index = compile(applicable, isRoot: isRoot)
    nodes[Int(node)].variants.append((typename, index))
    nodes[Int(node)].lastVariant = nodes[Int(node)].variants.count - 1
    return index
  }

  /// `nil` when the contribution does not apply to objects of type `type`; else whether that is certain.
  private func applies(_ contribution: OperationPlan.Contribution, to type: String) -> Bool? {
    var isCertain = true
    for condition in contribution.conditions {
      if let facts = plan.facts, let answer = facts.isPossible(type, for: condition) {
        if !answer { return nil }
      } else if condition != type {
        isCertain = false
      }
    }
    return isCertain
  }

  private mutating func compile(
    _ contributions: [(OperationPlan.Contribution, isCertain: Bool?)], isRoot: Bool
  ) -> Int32 {
    var order: [String] = []
    var groups: [String: [(OperationPlan.Contribution, isCertain: Bool?)]] = [:]
    for entry in contributions {
      if groups[entry.0.responseKey] == nil { order.append(entry.0.responseKey) }
      groups[entry.0.responseKey, default: []].append(entry)
    }
    var fields: [FieldPlan] = []
    var candidates: Int32 = 0
    for key in order {
      let group = groups[key] ?? []
      guard let meaning = (group.first { $0.isCertain == true } ?? group.first)?.0 else { continue }
      let same = group.filter { $0.0.storedKey == meaning.storedKey }
      var childSets: [Int] = []
      for child in same.compactMap(\.0.childSet) where !childSets.contains(child) {
        childSets.append(child)
      }
      let isCertain = same.contains { $0.isCertain != false }
      var fragments: Int32 = -1
      if !isCertain {
        fragmentLists.append(same.map(\.0.fragment))
        fragments = Int32(fragmentLists.count - 1)
      }
      var candidate: Int32 = -1
      if candidateNames.contains(meaning.fieldName), meaning.storedKey == meaning.fieldName {
        candidate = candidates
        candidates += 1
      }
      let keyBytes = keep(Array(key.utf8))
      let words = keyWords(keyBytes)
      fields.append(
        FieldPlan(
          key: keyBytes, head: words.head, tail: words.tail,
          storedPrefix: keep(Array(JSONValue.string(meaning.storedKey).canonicalText.utf8) + [58]),
          resultPrefix: keep(Array(JSONValue.string(key).canonicalText.utf8) + [58]),
          rootKey: isRoot ? keep(Array((RootRecord.queryPrefix + meaning.storedKey).utf8)) : .empty,
          child: childSets.isEmpty ? -1 : node(of: childSets), candidate: candidate,
          fragments: fragments, isTypename: meaning.fieldName == "__typename",
          isAsked: same.contains { !$0.0.isAdded }))
    }
    let block = UnsafeMutablePointer<FieldPlan>.allocate(capacity: max(fields.count, 1))
    block.initialize(from: fields, count: fields.count)
    fieldBlocks.append(block)
    let stored = Set(fields.map { $0.storedPrefix.array })
    return append(
      ObjectPlan(
        fields: block, fieldCount: fields.count, candidateCount: Int(candidates),
        seenWords: (fields.count + 63) / 64, hasStoredDuplicates: stored.count < fields.count))
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
  package static let queryPrefix = "QUERY_ROOT."
}
