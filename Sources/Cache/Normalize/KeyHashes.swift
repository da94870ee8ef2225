/// Hashes of the keys of nested objects, to detect duplicate keys.
struct KeyHashes {
  private var levels: [Set<UInt64>] = []

  /// Starts an object at `level`, without keys.
  mutating func begin(_ level: Int) {
    while levels.count <= level { levels.append([]) }
    levels[level].removeAll(keepingCapacity: levels[level].count <= 64)
  }

  /// Adds a key of the object at `level`; returns false if the object already has it.
  mutating func insert(_ key: Bytes, at level: Int) -> Bool {
    levels[level].insert(hashBytes(key.start, key.count, seed: processSeed)).inserted
  }
}
