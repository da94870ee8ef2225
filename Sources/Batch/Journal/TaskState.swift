/// The state of a task.
public enum TaskState: Int, Sendable, CaseIterable {
  /// Not started, or to be started again.
  case queued = 0
  /// Started and not finished; recorded between pages.
  case running = 1
  /// Finished successfully.
  case done = 2
  /// Finished with an error.
  case failed = 3
  /// A mutation was sent without receiving a response; the server may have executed it.
  case unknown = 4
  /// Not run, because something it needs is missing.
  case skipped = 5

  /// The name of the state in journals and reports, such as `done`.
  public var name: String { "\(self)" }
}

/// The identity of a task: the first 16 bytes of the SHA-256 of its operation's id, normalized
/// document, canonical variables and key.
public struct TaskID: Sendable, Hashable {
  let high: UInt64
  let low: UInt64

  init(_ digest: some Sequence<UInt8>) {
    var high: UInt64 = 0
    var low: UInt64 = 0
    for (index, byte) in digest.prefix(16).enumerated() {
      if index < 8 { high = high << 8 | UInt64(byte) } else { low = low << 8 | UInt64(byte) }
    }
    self.high = high
    self.low = low
  }

  var bytes: [UInt8] {
    Array(unsafeUninitializedCapacity: 16) { bytes, count in
      for index in 0..<16 { bytes[index] = byte(at: index) }
      count = 16
    }
  }

  private func byte(at index: Int) -> UInt8 {
    UInt8(truncatingIfNeeded: (index < 8 ? high : low) >> (56 - 8 * (index & 7)))
  }

  /// The id as 32 hexadecimal digits.
  var text: String {
    String(unsafeUninitializedCapacity: 32) { text in
      for index in 0..<32 {
        let digit = byte(at: index >> 1) >> (index & 1 == 0 ? 4 : 0) & 15
        text[index] = digit + UInt8(ascii: digit < 10 ? "0" : "W")
      }
      return 32
    }
  }

  /// Whether the task belongs to a shard.
  func belongs(to shard: Shard) -> Bool { Int(high % UInt64(shard.count)) == shard.number - 1 }
}
