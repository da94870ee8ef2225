import Foundation
public import GQLRunJSON

/// Reading and writing the data of operations by hand, all at once.
///
/// What is read includes what was written before in the same transaction. Others see the state before
/// the transaction until it ends; other writers wait. Optimistic layers are no part of it: what is
/// read here is what is stored.
public actor StoreTransaction {
  private let base: any RecordTransaction
  private let segmentSeed: UInt64
  private var hasEnded = false

  init(_ base: any RecordTransaction, segmentSeed: UInt64) {
    self.base = base
    self.segmentSeed = segmentSeed
  }

  /// The data of an operation.
  ///
  /// Beside the fields that the caller asked for it has those that identify the objects (`__typename`
  /// and key fields, as far as the operation was sent with them), so that it can be written back.
  ///
  /// - Throws: ``CacheMiss`` that names the first missing field, ``CacheError``.
  public func read(_ operation: PreparedOperation) async throws -> JSONValue {
    let bytes = try await bytes(of: operation.withIdentity)
    do {
      return try JSONValue(parsing: bytes)
    } catch {
      throw CacheError(.damagedDatabase, "the data in the cache cannot be read: \(error.message)")
    }
  }

  /// The data of an operation, exactly the fields asked for, decoded.
  ///
  /// - Throws: ``CacheMiss`` that names the first missing field, ``CacheError``, and what the decoder
  ///   throws.
  public func read<Value: Decodable & Sendable>(
    _ operation: PreparedOperation, as type: Value.Type
  ) async throws -> Value {
    try JSONDecoder().decode(type, from: Data(try await bytes(of: operation)))
  }

  private func bytes(of operation: PreparedOperation) async throws -> [UInt8] {
    try checkOpen()
    switch try await base.read(operation) {
    case .hit(let data): return try data.bytes()
    case .miss(let miss): throw miss
    }
  }

  /// Writes the data of an operation, as if a server had answered it.
  ///
  /// - Parameter data: Complete for the operation's selection, with `__typename` and key fields.
  /// - Throws: ``CacheError`` with code `invalidData` that names the first field that is missing or
  ///   not part of the operation.
  public func write(_ data: JSONValue, for operation: PreparedOperation) async throws {
    try checkOpen()
    _ = try await base.merge(operation.records(ofData: data, segmentSeed: segmentSeed))
  }

  /// Writes the data of an operation from its JSON text.
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

  /// Reads the data of an operation, lets `change` edit it, and writes it back.
  ///
  /// - Throws: ``CacheMiss`` when something is missing: there is nothing to update then. What
  ///   ``write(_:for:)`` and `change` throw.
  public func update(
    _ operation: PreparedOperation, _ change: (inout JSONValue) throws -> Void
  ) async throws {
    var data = try await read(operation)
    try change(&data)
    try await write(data, for: operation)
  }

  /// Removes records and fields. What is not there is no error.
  public func remove(_ removals: RecordRemoval...) async throws {
    try checkOpen()
    try await base.remove(removals)
  }

  private func checkOpen() throws(CacheError) {
    guard hasEnded else { return }
    throw CacheError(
      .invalidOperation,
      "the transaction has ended; read and write inside the closure that was given it")
  }

  func end() { hasEnded = true }
}

extension RecordStore {
  /// Runs `body` as one transaction: all it writes becomes visible when it returns, nothing when it
  /// throws or the task is cancelled.
  ///
  /// Other writers wait, so `body` must not write to the store in any other way.
  ///
  /// - Returns: What `body` returns.
  @discardableResult
  public func transaction<Result: Sendable>(
    _ body: (StoreTransaction) async throws -> Result
  ) async throws -> Result {
    let base = try await begin()
    let transaction = StoreTransaction(base, segmentSeed: segmentSeed)
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
