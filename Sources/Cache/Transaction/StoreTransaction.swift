public import GQLRunJSON

/// A transaction that reads and writes the data of operations.
///
/// Reads include earlier writes of the transaction. Others see the previous state until the
/// transaction ends, and other writers wait. Optimistic layers are not part of it: it reads stored
/// records only.
public actor StoreTransaction {
  private let base: any RecordTransaction
  private let segmentSeed: UInt64
  private var hasEnded = false

  init(_ base: any RecordTransaction, segmentSeed: UInt64) {
    self.base = base
    self.segmentSeed = segmentSeed
  }

  /// Reads the data of an operation.
  ///
  /// Includes the fields that identify objects (`__typename` and key fields, as far as the sent
  /// operation selects them), so that the data can be written back.
  ///
  /// - Throws: ``CacheMiss`` with the first missing field, or ``CacheError``.
  public func read(_ operation: PreparedOperation) async throws -> JSONValue {
    try await Self.value(answer(to: operation.withIdentity, ReadOptions()).body)
  }

  /// Reads and decodes the data of an operation: exactly the selected fields.
  ///
  /// - Throws: ``CacheMiss`` with the first missing field, ``CacheError``, or an error of the
  ///   decoder.
  public func read<Value: Decodable & Sendable>(
    _ operation: PreparedOperation, as type: Value.Type
  ) async throws -> Value {
    try JSONTextDecoder().decode(type, from: try await text(of: operation))
  }

  /// The JSON text of an operation's data: exactly the selected fields.
  ///
  /// - Throws: ``CacheMiss`` with the first missing field, or ``CacheError``.
  package func text(of operation: PreparedOperation) async throws -> [UInt8] {
    try await answer(to: operation, ReadOptions()).body.bytes()
  }

  private func answer(
    to operation: PreparedOperation, _ options: ReadOptions
  ) async throws -> (body: ResultBody, dependencies: Dependencies?) {
    try checkOpen()
    let answer = try await base.read(operation, options: options)
    switch answer.result {
    case .hit(let body): return (body, answer.dependencies)
    case .miss(let miss): throw miss
    }
  }

  private static func value(_ body: ResultBody) throws -> JSONValue {
    let bytes = try body.bytes()
    do {
      return try JSONValue(parsing: bytes)
    } catch {
      throw CacheError(.damagedDatabase, "the data in the cache cannot be read: \(error.message)")
    }
  }

  /// Writes the data of an operation like a response of the server.
  ///
  /// - Parameters:
  ///   - data: Complete for the operation's selection set, with `__typename` and key fields.
  ///   - operation: The operation that selects the data.
  /// - Throws: ``CacheError`` with code `invalidData` and the first field that is missing or not
  ///   selected.
  public func write(_ data: JSONValue, for operation: PreparedOperation) async throws {
    try checkOpen()
    _ = try await base.merge(operation.records(ofData: data, segmentSeed: segmentSeed))
  }

  /// Writes the data of an operation from its JSON text.
  ///
  /// - Throws: ``CacheError`` with code `invalidData` if the text is not JSON or does not match the
  ///   operation.
  public func write(json: [UInt8], for operation: PreparedOperation) async throws {
    let data: JSONValue
    do {
      data = try JSONValue(parsing: json)
    } catch {
      throw CacheError(
        .invalidData, "the data to be written is not JSON: \(error.message)",
        byteOffset: error.offset)
    }
    try await write(data, for: operation)
  }

  /// Reads the data of an operation, changes it with a closure, and writes it back.
  ///
  /// All of the data is written, also what the closure does not change. It is read without stored errors, and what is
  /// written removes them: a field that failed has its older value then, as after a success.
  ///
  /// - Throws: ``CacheMiss`` if data is missing, so that it cannot be updated; ``CacheError`` with code `invalidData` if
  ///   the operation does not select the key fields of a record that it reads, or if the data has an object at several
  ///   paths, the closure changes it at some of them only, and the change is lost by that (not found in lists whose
  ///   length changes); errors of ``write(_:for:)`` and of the closure. The transaction is to be ended then, because the
  ///   data is written before it is compared.
  public func update(
    _ operation: PreparedOperation, _ change: (inout JSONValue) throws -> Void
  ) async throws {
    let before = try await dataToUpdate(operation)
    var data = before
    try change(&data)
    try await write(data, for: operation, over: before)
  }

  /// Writes data that was changed.
  ///
  /// - Parameters:
  ///   - data: As for ``write(_:for:)``.
  ///   - operation: The operation that selects the data.
  ///   - before: The data before the change, of ``dataToUpdate(_:)``.
  /// - Throws: ``CacheError`` with code `invalidData` if a changed value has its former value after the write; errors of
  ///   ``write(_:for:)``.
  package func write(
    _ data: JSONValue, for operation: PreparedOperation, over before: JSONValue
  ) async throws {
    try await write(data, for: operation)
    // The last path of an object determines its fields.
    guard data != before, let now = try? await read(operation),
      let path = data.firstReverted(from: before, now: now)
    else { return }
    throw CacheError(
      .invalidData,
      "cannot update \(path): it would keep its value; change an object at each of its paths in the data",
      path: path)
  }

  /// Reads the data of an operation that is written again, with the fields that identify objects.
  ///
  /// - Throws: ``CacheMiss`` with the first missing field; ``CacheError`` with code `invalidData` if the operation does
  ///   not select the key fields of a record that it reads.
  @discardableResult
  package func dataToUpdate(_ operation: PreparedOperation) async throws -> JSONValue {
    let answer = try await answer(to: operation.withIdentity, ReadOptions(tracking: .names))
    let data = try Self.value(answer.body)
    try checkIdentity(of: data, from: answer.dependencies, for: operation)
    return data
  }

  /// Throws if the data does not identify a record that it was read from: its fields would be written into the parent,
  /// in place of the reference to the record.
  private func checkIdentity(
    of data: JSONValue, from dependencies: Dependencies?, for operation: PreparedOperation
  ) throws(CacheError) {
    // Data that cannot be written as it is has an error of its own, unless the closure changes that.
    guard let read = dependencies?.fields,
      let written = try? operation.records(ofData: data, segmentSeed: segmentSeed).table
    else { return }
    let lost = read.filter {
      $0.field != nil && $0.recordKey != RootRecord.queryKey
        && written.find(Array($0.recordKey.utf8)) == nil
    }
    guard let key = lost.map(\.recordKey).min() else { return }
    throw CacheError(
      .invalidData,
      "cannot update \(key): the operation does not identify it; select its key fields, and use the key rules with "
        + "which it was stored")
  }

  /// Removes records and fields. Ignores those that do not exist.
  public func remove(_ removals: RecordRemoval...) async throws {
    try checkOpen()
    try await base.remove(removals)
  }

  private func checkOpen() throws(CacheError) {
    guard hasEnded else { return }
    throw CacheError(
      .invalidOperation,
      "the transaction has ended; use it only inside its closure")
  }

  func end() { hasEnded = true }
}

extension CacheStore {
  /// Runs `body` as one transaction: its writes become visible when it returns; none do if it
  /// throws or the task is cancelled.
  ///
  /// Other writers wait, so `body` must not write to the store except through its transaction.
  ///
  /// - Returns: The result of `body`.
  @discardableResult
  public func transaction<Result: Sendable>(
    _ body: (StoreTransaction) async throws -> Result
  ) async throws -> Result {
    let base = try await records.begin()
    let transaction = StoreTransaction(base, segmentSeed: records.segmentSeed)
    do {
      let result = try await body(transaction)
      await transaction.end()
      try Task.checkCancellation()
      _ = try await base.commit(settling: nil)
      return result
    } catch {
      await transaction.end()
      await base.rollback()
      throw error
    }
  }
}

extension JSONValue {
  /// The path of the first value that differs from the one before and is now as before; `nil` without one.
  ///
  /// Lists with other numbers of elements are not compared: rules for pages may join them.
  fileprivate func firstReverted(from before: JSONValue, now: JSONValue) -> String? {
    switch (self, before, now) {
    case (.object(let own), .object(let before), .object(let now)):
      for member in own {
        guard let old = before[member.key], let new = now[member.key],
          let path = member.value.firstReverted(from: old, now: new)
        else { continue }
        return path.isEmpty || path.hasPrefix("[") ? member.key + path : "\(member.key).\(path)"
      }
      return nil
    case (.array(let own), .array(let before), .array(let now)):
      guard own.count == before.count, own.count == now.count else { return nil }
      for index in own.indices {
        guard let path = own[index].firstReverted(from: before[index], now: now[index]) else {
          continue
        }
        return path.isEmpty || path.hasPrefix("[") ? "[\(index)]\(path)" : "[\(index)].\(path)"
      }
      return nil
    default: return self != before && before == now ? "" : nil
    }
  }
}

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
      let plan = Array(typename.utf8).withBytes { table.variant(of: node, typename: $0) }
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
