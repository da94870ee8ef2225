/// Tells whether the keys of batches are scattered: whether those of one fall everywhere among those of
/// the batch before, as random ids do, or beside each other, as ids that count up do.
///
/// Scattered records of a small batch land on as many database pages as there are, and every batch
/// writes them all again; larger batches, in key order, share pages.
struct KeySpread {
  private static let sampleCount = 64

  /// Some keys of the batch before, in order.
  private var previous: [[UInt8]] = []

  /// Takes a batch's keys into account; returns whether they are scattered.
  ///
  /// Of 64 random keys about 41 find a gap of their own among 64 others; of keys that count up, a few.
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

  /// How many of the previous keys stand before `key`.
  private func gap(_ key: [UInt8]) -> Int {
    var (low, high) = (0, previous.count)
    while low < high {
      let middle = (low + high) / 2
      if previous[middle].lexicographicallyPrecedes(key) { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
