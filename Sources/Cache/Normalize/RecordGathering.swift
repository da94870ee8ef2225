/// The records of a large response on their way into a store that takes it as a whole.
///
/// Finding each record's place among hundreds of thousands waits for memory, and so does filling new
/// pages. Both happen here, on another thread, while the next bytes are parsed; the parsing thread
/// stages into a table that is small and used again and again.
actor RecordGathering {
  private var staging: Staging
  private var adding: Task<RecordTable, Never>?

  init(segmentSeed: UInt64, received: UInt32) {
    staging = Staging(segmentSeed: segmentSeed, received: received)
  }

  /// Takes a batch, and joins it with those before in its own time.
  ///
  /// - Returns: The memory of the batch before, to be filled again; `nil` for the first.
  func add(_ batch: RecordBatch) async -> RecordTable? {
    let spent = await adding?.value
    adding = Task { self.join(batch) }
    return spent
  }

  private func join(_ batch: RecordBatch) -> RecordTable {
    staging.add(batch)
    return batch.table
  }

  /// Everything that was added, the nulls of errors taken back. Nothing is added afterwards.
  func release(resolving nulls: NullResolutionRequest) async -> RecordBatch {
    _ = await adding?.value
    if !nulls.resolution.isEmpty {
      nulls.resolution.run(StagedRecords(staging.segments, table: staging.table))
    }
    return staging.release()
  }
}
