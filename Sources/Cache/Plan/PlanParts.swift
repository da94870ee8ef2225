import GQLRunLanguage

/// How one response key of an object is processed. Plain data behind pointers, for the hot paths.
struct FieldPlan {
  /// The bytes of the response key; the first and last 8, for comparison without a call.
  var key: Bytes
  var head: UInt64
  var tail: UInt64
  /// `"storedKey":` as record text.
  var storedPrefix: Bytes
  /// `"responseKey":` as result text.
  var resultPrefix: Bytes
  /// For root fields, the key of the record that holds the field.
  var rootKey: Bytes
  /// The selection of the value, or -1 for leaf fields.
  var child: Int32
  /// The index among the values that may identify the object, or -1.
  var candidate: Int32
  /// The conditional fragments that select it, if it is unknown whether they apply; empty if the
  /// field is required. An index in ``PlanTable/fragmentLists``, or -1.
  var fragments: Int32
  var isTypename: Bool
  /// Whether the caller selects it.
  var isAsked: Bool
  /// The deferred fragment that alone selects the field, in ``OperationPlan/deliveries``, or -1.
  var deferral: Int32
  /// Whether the list arrives in several parts.
  var isStreamed: Bool
  /// Whether the pages of the field are joined.
  var isJoined: Bool
  /// Whether it is a leaf whose response key equals the stored key.
  var isVerbatim: Bool

  /// The stored name of the field, with its arguments.
  var storedName: String {
    var scratch = ByteStack(capacity: 64)
    return RecordText.withUnescaped(quotedKey, scratch: &scratch) { $0.string }
  }

  /// The quoted key under which the value is stored.
  var quotedKey: Bytes { storedPrefix[0..<(storedPrefix.count - 1)] }
  /// The bytes of ``quotedKey``.
  var storedKey: [UInt8] { quotedKey.array }
}

/// Which candidate values form an object's key, for one type.
struct KeyEntry {
  var typename: Bytes
  /// `User:` as plain bytes.
  var prefix: Bytes
  /// The candidate indices, in the order of the rule.
  var parts: [Int32]
  /// The names of the parts for the key resolver; `nil` without one.
  var partNames: [String]?
  /// Whether `+` and `\` are escaped in the parts: there are several of them, or some type with the
  /// same prefix has several.
  var isJoined = false
  /// A key field that is not selected, so that objects have no identity.
  var missingField: String?
  /// The last use of the table that reported a missing field.
  var reportedIn = UInt64.max
  /// The last use of the table with an object of the type.
  var usedIn: UInt64

  /// The number of parts of the key; 0 if a key field is not selected.
  var partCount: Int { missingField == nil ? parts.count : 0 }
}

/// The fields of an object of one type under one selection.
struct ObjectPlan {
  var fields: UnsafeMutablePointer<FieldPlan>
  var fieldCount: Int
  var candidateCount: Int
  var seenWords: Int
  /// Whether two response keys have the same stored key, so that the object's text must be folded
  /// at its end.
  var hasStoredDuplicates: Bool
  /// Whether a field is in a fragment that may not apply.
  var hasFragments: Bool
  /// The redirects of fields, by the index of the field.
  var redirects: [Int: RedirectTarget] = [:]
  var keyEntries: [KeyEntry] = []
  var lastKeyEntry = 0
  /// The index of entries that the short scan does not reach.
  var keyEntryIndex: [[UInt8]: Int] = [:]
}

/// A flattened selection set as a part of a merged one.
struct SelectionPart {
  var set: Int
  /// The fragment that selects the set, if it is unknown whether it applies, or -1.
  var fragment: Int32 = -1
  /// Whether a deferred fragment selects the set, at this object or above.
  var isDeferred = false
}

/// A merged selection set: its flattened sets, and its variants by type.
struct SelectionNode {
  var parts: [SelectionPart]
  /// A plan that is valid for every type, or -1 if a key has different meanings for two types.
  var union: Int32
  /// Whether the type determines the fields.
  var isConditional: Bool
  /// Whether further fields of the object may arrive in later parts.
  var isExtensible = false
  var variants: [(typename: [UInt8], plan: Int32)] = []
  var lastVariant = 0
  /// The index of variants that the short scan does not reach.
  var variantIndex: [[UInt8]: Int] = [:]
  /// Plans by the contributions that apply: most types share one.
  var plansByShape: [[Int]: Int32] = [:]
  /// `nil` until a type is compiled.
  var contributions: NodeContributions?
}

/// The contributions of a node by the types that they may apply to, so that a type of a document with fragments on many
/// object types is compared with its own fragments only.
struct NodeContributions {
  /// A contribution in the set of a part; numbered in their order.
  struct Position {
    var number: Int
    var part: Int
    var index: Int
  }

  /// Those without a condition on an object type.
  var open: [Position] = []
  /// Those with a condition on an object type, by its name. They apply to no other type.
  var ofType: [String: [Position]] = [:]
}

/// The first and last 8 bytes of a key; for shorter keys, two overlapping words.
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

/// The records of root fields.
///
/// Every root field is a separate record, `QUERY_ROOT.country({"code":"DE"})`, so that many
/// different queries do not rewrite one ever larger record. Dumps and lookups combine them.
package enum RootRecord {
  package static let queryKey = "QUERY_ROOT"

  /// The prefix of root field keys. Root fields of mutations and subscriptions are not stored and
  /// need a different prefix.
  static func prefix(of operation: OperationType) -> String {
    switch operation {
    case .query: "QUERY_ROOT."
    case .mutation: "MUTATION_ROOT."
    case .subscription: "SUBSCRIPTION_ROOT."
    }
  }
}
