import Synchronization

/// The decisions of the random schemas, operations and servers of the property tests, taken from the bytes of a fuzz
/// input, so that libFuzzer mutates decisions; numbers of a seed follow after the last byte.
package struct SeededRandom: RandomNumberGenerator {
  /// The input of the current execution.
  private static let input = Mutex<ArraySlice<UInt8>>([])

  private var state: UInt64

  package init(_ seed: UInt64) { state = seed }

  /// Begins an execution.
  package static func draw(from bytes: ArraySlice<UInt8>) { input.withLock { $0 = bytes } }

  package mutating func next() -> UInt64 {
    if let byte = Self.input.withLock({ $0.popFirst() }) {
      // Numbers below a limit are the upper bits of a product.
      return UInt64(byte) &* 0x0101_0101_0101_0101
    }
    state &+= 0x9e37_79b9_7f4a_7c15
    var z = state
    z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
    z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
    return z ^ (z >> 31)
  }
}
