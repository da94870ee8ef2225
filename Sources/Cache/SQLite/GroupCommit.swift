import GQLRunSupport
import GRDB

/// Commits small responses to a SQLite file: in one transaction those that wait for the writer together.
///
/// The first response that waits is the leader: it waits for the write lock, takes those that have come until then, and
/// commits them in their order. One that comes alone waits for no other. Each learns after the common commit whether
/// it was written.
///
/// If a statement or the commit fails, nothing of the group is stored; each response then has a transaction of its own,
/// so that an error concerns only the response that causes it. See docs/decisions/0072-group-commit.md.
final class GroupCommit: Sendable {
  /// A response that waits to be written.
  private struct Write: Sendable {
    let id: UInt64
    let records: RecordBatch
    /// The clearings of the store when the response was requested.
    let epoch: Int
    let layer: OptimisticLayer?

    /// Whether what it changes is determined by another connection, which must see all responses before it.
    var needsOwnTransaction: Bool {
      records.paging != nil || !records.deltas.isEmpty || records.table.errorCount > 0
    }
  }

  /// A response that was written.
  private struct Written: Sendable {
    /// `nil` if the store was cleared after the response was requested: then it is not stored.
    var summary: WriteSummary?
    /// The optimistic layer that was removed.
    var settled: OptimisticLayer.Content?
  }

  private typealias Outcome = Result<Written, CacheError>

  private enum Turn: Sendable {
    case leads
    case ended(Outcome)
  }

  private struct State {
    var waiting: [Write] = []
    /// Whether the first of ``waiting`` waits for the write lock.
    var hasLeader = false
    /// The outcomes that their tasks have not taken yet.
    var outcomes: [UInt64: Outcome] = [:]
    var lastID: UInt64 = 0

    mutating func turn(of id: UInt64) -> Turn? {
      if let outcome = outcomes.removeValue(forKey: id) { return .ended(outcome) }
      guard !hasLeader, waiting.first?.id == id else { return nil }
      hasLeader = true
      return .leads
    }

    /// Removes a response that is not being written; returns whether it was waiting.
    mutating func withdraw(_ id: UInt64) -> Bool {
      guard let index = waiting.firstIndex(where: { $0.id == id }) else { return false }
      waiting.remove(at: index)
      return true
    }

    /// Takes the leader and those that are committed with it. The next one leads then.
    mutating func takeGroup() -> [Write] {
      hasLeader = false
      var count = 0
      var bytes = 0
      for write in waiting {
        bytes += write.records.table.liveBytes
        let isSeparate = write.needsOwnTransaction || waiting[0].needsOwnTransaction
        if count > 0, isSeparate || bytes > GroupCommit.maxBytes { break }
        count += 1
      }
      defer { waiting.removeFirst(count) }
      return Array(waiting.prefix(count))
    }
  }

  private let state = Monitor(State())

  /// The maximum size of a group's keys and texts, in bytes; a larger response is alone.
  private static let maxBytes = 1 << 20

  /// The number of responses that wait for the writer.
  var waitingCount: Int { state.withLock { $0.waiting.count } }

  /// Writes a response, and returns when it is committed.
  ///
  /// - Throws: ``CacheError``: the errors of ``WriteLock/acquire()``; `cancelled` only before the response is being
  ///   written.
  func write(
    _ records: RecordBatch, since epoch: Int, settling layer: OptimisticLayer?,
    in store: SQLiteStore
  ) async throws(CacheError) -> WriteSummary {
    let id = state.withLock { state in
      state.lastID += 1
      state.waiting.append(
        Write(id: state.lastID, records: records, epoch: epoch, layer: layer))
      return state.lastID
    }
    let written = try await outcome(of: id, store).get()
    if let summary = written.summary { store.activity.post(summary) }
    store.activity.post([written.settled])
    return written.summary ?? WriteSummary()
  }

  private func outcome(of id: UInt64, _ store: SQLiteStore) async throws(CacheError) -> Outcome {
    let turn: Turn
    do {
      turn = try await state.take { $0.turn(of: id) }
    } catch {
      guard !state.update({ $0.withdraw(id) }) else {
        throw .cancelled(writingTo: store.path, path: store.path)
      }
      // It is being written, which is not interrupted: a separate task is not cancelled.
      let ending = Task { [state] in try await state.take { $0.outcomes.removeValue(forKey: id) } }
      do { return try await ending.value } catch {
        throw .cancelled(writingTo: store.path, path: store.path)
      }
    }
    switch turn {
    case .ended(let outcome): return outcome
    case .leads: return try await lead(id, store)
    }
  }

  /// Commits the response together with those that have come until it may write.
  private func lead(_ id: UInt64, _ store: SQLiteStore) async throws(CacheError) -> Outcome {
    do throws(CacheError) {
      try await store.gate.acquire()
    } catch {
      // The next one leads, with a wait of its own.
      state.update { state in
        _ = state.withdraw(id)
        state.hasLeader = false
      }
      throw error
    }
    let group = state.update { $0.takeGroup() }
    let outcomes: [Outcome]
    do {
      outcomes = try await store.pool.writeUninterrupted { [state] db in
        let outcomes = Self.commit(group, on: db, of: store)
        // Before the tasks continue, so that the next group begins meanwhile.
        store.gate.release()
        Self.pass(outcomes, of: group, to: state)
        return outcomes
      }
    } catch {
      let failure = SQLiteFile.describe(error, action: "write to the cache", path: store.path)
      outcomes = group.map { _ in .failure(failure) }
      store.gate.release()
      Self.pass(outcomes, of: group, to: state)
    }
    store.checkpointIfLarge()
    // The leader is the first of its group.
    return outcomes[0]
  }

  /// Passes outcomes to the tasks that wait for them: all but the leader.
  private static func pass(_ outcomes: [Outcome], of group: [Write], to state: Monitor<State>) {
    if group.count == 1 { return }
    state.update { state in
      for (write, outcome) in zip(group, outcomes).dropFirst() {
        state.outcomes[write.id] = outcome
      }
    }
  }

  /// Writes responses in one transaction; if it fails, each in its own.
  private static func commit(
    _ group: [Write], on db: Database, of store: SQLiteStore
  ) -> [Outcome] {
    var action = "start writing to the cache"
    do {
      try db.beginTransaction(.immediate)
      action = "write to the cache"
      var keys = store.activity.memoryTier.map { WrittenKeys(limit: $0.maxSize / 8) }
      let summaries = try group.map { try write($0, on: db, of: store, noting: &keys) }
      let new = try NewRecords(keys, store: store, records: SQLiteRecords(db, store.damage))
      action = "commit to the cache"
      let settled = try new.show(in: store, settling: group.map(\.layer)) { try db.commit() }
      return zip(summaries, settled).map { .success(Written(summary: $0, settled: $1)) }
    } catch {
      let hasBegun = db.isInsideTransaction || action != "start writing to the cache"
      // If the rollback fails, SQLite has already rolled back.
      if db.isInsideTransaction { try? db.rollback() }
      if hasBegun, group.count > 1 { return group.flatMap { commit([$0], on: db, of: store) } }
      let failure = SQLiteFile.describe(
        store.pool.recordingDamage(error), action: action, path: store.path)
      return group.map { _ in .failure(failure) }
    }
  }

  /// Writes one response in the transaction; returns `nil` if the store was cleared after it was requested.
  private static func write(
    _ write: Write, on db: Database, of store: SQLiteStore, noting keys: inout WrittenKeys?
  ) throws -> WriteSummary? {
    // A clearing waits for the write lock, so none can occur from here on.
    guard store.activity.epoch == write.epoch else { return nil }
    var changes = ResponseChanges(in: store)
    changes.add(write.records, store.activity, noting: &keys)
    let writer = try changes.writer(on: db, of: store)
    changes.add(try writer.write(write.records))
    return try changes.finish(writer, in: store)
  }
}
