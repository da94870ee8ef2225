// The fuzz targets, whose `SeededRandom` is another one, are compiled with this file, too.

extension SeededRandom {
  /// True in `percent` of a hundred cases.
  package mutating func chance(_ percent: Int) -> Bool {
    Int.random(in: 0..<100, using: &self) < percent
  }

  package mutating func upTo(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &self) }

  package mutating func pick<T>(_ values: [T]) -> T { values[upTo(values.count)] }
}
