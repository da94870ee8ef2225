/// A set of keys, as hashes of 64 bits: about 13 bytes for each key.
///
/// Of 100 million keys, two have the same hash with a probability of 0.03 %. The collection of garbage may then remove what
/// the second one reaches, which is a cache miss.
struct KeySet {
  private var parts = [Part](repeating: Part(), count: 64)

  /// A hash table with linear probing; 0 is an empty slot.
  ///
  /// The parts of a set grow one at a time, so that growing needs little more memory than the set.
  private struct Part {
    private var slots: [UInt64] = []
    private var count = 0

    /// The slot of a hash, or the empty one where it would be.
    private func index(of hash: UInt64) -> Int {
      // The highest 6 bits have selected the part.
      var index = Int((hash << 6).multipliedFullWidth(by: UInt64(slots.count)).high)
      while slots[index] != 0, slots[index] != hash {
        index += 1
        if index == slots.count { index = 0 }
      }
      return index
    }

    func contains(_ hash: UInt64) -> Bool { count > 0 && slots[index(of: hash)] == hash }

    mutating func insert(_ hash: UInt64) -> Bool {
      if (count + 1) * 5 > slots.count * 4 { grow() }
      let index = index(of: hash)
      if slots[index] == hash { return false }
      slots[index] = hash
      count += 1
      return true
    }

    private mutating func grow() {
      let old = slots
      slots = [UInt64](repeating: 0, count: max(16, old.count / 2 * 3))
      for hash in old where hash != 0 { slots[index(of: hash)] = hash }
    }
  }

  private static func hash(_ key: Bytes) -> UInt64 {
    max(hashBytes(key.start, key.count, seed: processSeed), 1)
  }

  /// Adds a key; returns whether the set did not contain it.
  @discardableResult
  mutating func insert(_ key: Bytes) -> Bool {
    let hash = Self.hash(key)
    return parts[Int(hash >> 58)].insert(hash)
  }

  func contains(_ key: Bytes) -> Bool {
    let hash = Self.hash(key)
    return parts[Int(hash >> 58)].contains(hash)
  }
}
