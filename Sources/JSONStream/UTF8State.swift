/// The state of a check of UTF-8 between two bytes
/// ([Unicode](https://www.unicode.org/versions/latest/core-spec/chapter-3/#G27506), table 3-7).
///
/// A byte is one step of a finite automaton, without a branch. A state is the position of six bits in the words of ``steps``.
struct UTF8State {
  private static let betweenCharacters: UInt64 = 6
  /// The next byte is the last of a character, or the last but one or two.
  private static let (one, two, three): (UInt64, UInt64, UInt64) = (12, 18, 24)
  /// After the first byte of a character whose second byte has a smaller range.
  private static let (afterE0, afterED, afterF0, afterF4): (UInt64, UInt64, UInt64, UInt64) =
    (30, 36, 42, 48)

  /// For each byte, the states that follow all states. 0 follows a byte that is not UTF-8, and follows itself.
  static let steps: [UInt64] = (0...255).map { (byte: UInt8) in
    let steps: [(from: UInt64, to: UInt64)] =
      switch byte {
      case 0x00...0x7F: [(betweenCharacters, betweenCharacters)]
      case 0x80...0xBF:
        [
          (one, betweenCharacters), (two, one), (three, two),
          byte < 0xA0 ? (afterED, one) : (afterE0, one),
          byte < 0x90 ? (afterF4, two) : (afterF0, two),
        ]
      case 0xC2...0xDF: [(betweenCharacters, one)]
      case 0xE0: [(betweenCharacters, afterE0)]
      case 0xED: [(betweenCharacters, afterED)]
      case 0xE1...0xEF: [(betweenCharacters, two)]
      case 0xF0: [(betweenCharacters, afterF0)]
      case 0xF1...0xF3: [(betweenCharacters, three)]
      case 0xF4: [(betweenCharacters, afterF4)]
      default: []
      }
    return steps.reduce(0) { $0 | $1.to << $1.from }
  }

  private var state = betweenCharacters

  /// Whether the bytes end with a character. `false` also after a byte that is not UTF-8.
  var isBetweenCharacters: Bool { state == Self.betweenCharacters }

  /// Whether a byte was not UTF-8.
  var isInvalid: Bool { state == 0 }

  /// Reads a byte.
  ///
  /// - Parameter steps: ``steps``, which a loop reads once: each access to a global takes a call.
  @inline(__always)
  mutating func read(_ byte: UInt8, _ steps: [UInt64] = steps) {
    state = steps[Int(byte)] &>> state & 63
  }
}
