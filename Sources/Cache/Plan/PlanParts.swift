import GQLRunLanguage

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
  /// Whether `+` and `\` are escaped in the parts: there are several of them, or some type with the same
  /// prefix has several.
  var isJoined = false
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
