/// Detects whether the keys of batches are scattered: whether those of one batch are spread over
/// those of the previous batch, like random IDs, or are close to each other, like increasing IDs.
///
/// Each record of a small scattered batch is on a different database page, and every batch writes
/// these pages again; larger batches, sorted by key, share pages.
struct KeySpread {
  private static let sampleCount = 64

  /// Some keys of the previous batch, sorted.
  private var previous: [[UInt8]] = []

  /// Adds the keys of a batch; returns whether they are scattered.
  ///
  /// Of 64 random keys, about 41 are the only one between two of 64 others; of increasing keys,
  /// only a few.
  mutating func add(_ table: RecordTable) -> Bool {
    let records = Array(table.live)
    guard records.count >= Self.sampleCount * 4 else { return false }
    let step = records.count / Self.sampleCount
    var sample = stride(from: 0, to: records.count, by: step).map {
      table.key(at: records[$0]).array
    }
    sample.sort { $0.lexicographicallyPrecedes($1) }
    let gaps = Set(sample.map(gap))
    let isScattered = !previous.isEmpty && gaps.count * 2 > sample.count
    previous = sample
    return isScattered
  }

  /// The number of previous keys that precede `key`.
  private func gap(_ key: [UInt8]) -> Int {
    var (low, high) = (0, previous.count)
    while low < high {
      let middle = (low + high) / 2
      if previous[middle].lexicographicallyPrecedes(key) { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
