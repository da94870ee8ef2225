import GQLRunJSON

/// Checks that data matches the selection set of an operation exactly.
///
/// Responses of servers are not checked like this. Data written by a program is, because a missing
/// field would otherwise be noticed much later.
struct DataShape: ~Copyable {
  private var table: PlanTable
  private var path: [String] = []

  init(_ plan: OperationPlan) { table = PlanTable(plan) }

  /// - Throws: ``CacheError`` with code `invalidData` and the path of the first difference.
  mutating func check(_ data: JSONValue) throws(CacheError) {
    guard case .object(let root) = data else {
      throw wrong("the data of an operation is an object; found: \(data.kind)")
    }
    try check(root, plan: table.root)
  }

  private mutating func check(_ object: JSONObject, plan: Int32) throws(CacheError) {
    let fields = (0..<table.plans[Int(plan)].fieldCount).map { table.plans[Int(plan)].fields[$0] }
    for field in fields {
      let key = field.key.string
      guard let value = object[key] else {
        // The field is in a fragment that may not apply to the type.
        if field.fragments >= 0 { continue }
        throw wrong("the field is missing; data that a program writes must be complete", at: key)
      }
      path.append(key)
      try check(value, node: field.child)
      path.removeLast()
    }
    let known = Set(fields.map { $0.key.array })
    for key in object.keys where !known.contains(Array(key.utf8)) {
      throw wrong("the operation does not select this field", at: key)
    }
  }

  private mutating func check(_ value: JSONValue, node: Int32) throws(CacheError) {
    guard node >= 0 else { return }
    switch value {
    case .null: return
    case .array(let elements):
      for (index, element) in elements.enumerated() {
        path.append("[\(index)]")
        try check(element, node: node)
        path.removeLast()
      }
    case .object(let object):
      guard let typename = object["__typename"]?.stringValue else {
        throw wrong(
          "the field is missing; it determines the type of the object, and its key fields",
          at: "__typename")
      }
      let plan = Array(typename.utf8).withUnsafeBufferPointer {
        table.variant(of: node, typename: Bytes($0))
      }
      try check(object, plan: plan)
    default: throw wrong("expected an object, a list of objects or null; found: \(value.kind)")
    }
  }

  private func wrong(_ message: String, at key: String? = nil) -> CacheError {
    let responsePath = (path + (key.map { [$0] } ?? [])).reduce(into: "") { text, step in
      text += text.isEmpty || step.hasPrefix("[") ? step : "." + step
    }
    return CacheError(
      .invalidData, responsePath.isEmpty ? message : "cannot write \(responsePath): \(message)",
      path: responsePath)
  }
}

extension PreparedOperation {
  /// The records of this operation's data.
  ///
  /// - Throws: ``CacheError`` with code `invalidData` when the data is not complete.
  func records(ofData data: JSONValue, segmentSeed: UInt64) throws(CacheError) -> RecordBatch {
    var shape = DataShape(plan)
    try shape.check(data)
    return try ResponseNormalizer.records(ofData: data, self, segmentSeed: segmentSeed)
  }
}
