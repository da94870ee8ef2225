/// The identity of a span, as other programs receive it.
///
/// https://www.w3.org/TR/trace-context/
struct TraceContext: Sendable, Hashable {
  /// 16 bytes, not all zero.
  var traceID: TraceID
  /// 8 bytes, not zero.
  var spanID: UInt64
  var isSampled: Bool
  /// What other tracers need, passed on unchanged; `nil` if there is none.
  var traceState: String?
}

extension TraceContext {
  /// The longest `tracestate` that is passed on.
  private static let maxState = 512

  /// Reads the fields of a trace context; `nil` if it is invalid.
  ///
  /// A version after 00 may have further parts, which are not read.
  init?(traceParent: String, traceState: String? = nil) {
    let parts = traceParent.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count >= 4, let version = Self.hexadecimal(parts[0], digits: 2), version != 0xFF,
      version > 0 || parts.count == 4, parts[1].utf8.count == 32,
      let high = Self.hexadecimal(parts[1].prefix(16), digits: 16),
      let low = Self.hexadecimal(parts[1].suffix(16), digits: 16), high | low != 0,
      let span = Self.hexadecimal(parts[2], digits: 16), span != 0,
      let flags = Self.hexadecimal(parts[3], digits: 2)
    else { return nil }
    traceID = TraceID(high: high, low: low)
    spanID = span
    isSampled = flags & 1 == 1
    self.traceState = traceState.flatMap { text in
      let isVisible = text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
      return isVisible && text.utf8.count <= Self.maxState ? text : nil
    }
  }

  /// The field `traceparent`.
  var traceParent: String { "00-\(traceID.hex)-\(spanID.hex)-0\(isSampled ? 1 : 0)" }

  /// Only lowercase digits are permitted.
  private static func hexadecimal(_ text: Substring, digits: Int) -> UInt64? {
    guard text.utf8.count == digits,
      text.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
    else { return nil }
    return UInt64(text, radix: 16)
  }
}

/// The identifier of a trace.
struct TraceID: Sendable, Hashable {
  var high: UInt64
  var low: UInt64

  /// A new identifier.
  static func random() -> TraceID {
    TraceID(high: .random(in: 0 ... .max), low: .random(in: 1 ... .max))
  }

  var hex: String { high.hex + low.hex }
}

extension UInt64 {
  /// 16 hexadecimal digits.
  var hex: String {
    let digits = String(self, radix: 16)
    return String(repeating: "0", count: 16 - digits.utf8.count) + digits
  }
}

/// Decides which traces are exported.
///
/// The requests of a batch are one trace; there, the ratio selects its tasks, so that a run of a million tasks is neither
/// exported whole nor not at all.
///
/// https://opentelemetry.io/docs/specs/otel/trace/sdk/#built-in-samplers
struct TraceSampler: Sendable, Equatable {
  /// Whether the decision of a parent in another program is followed.
  var isParentBased = true
  /// Whether traces without a parent are exported; with a ratio, a part of them.
  var isOn = true
  /// The part that is exported, of 0 to 1; `nil` for samplers without one.
  var ratio: Double?

  /// Exports everything, unless a parent is not sampled.
  init() {}

  /// The sampler of a name of `OTEL_TRACES_SAMPLER`; `nil` for others.
  init?(_ name: String) {
    isParentBased = name.hasPrefix("parentbased_")
    switch isParentBased ? String(name.dropFirst("parentbased_".count)) : name {
    case "always_on": break
    case "always_off": isOn = false
    case "traceidratio": ratio = 1
    default: return nil
    }
  }

  /// Whether the first span of this program is sampled.
  ///
  /// - Parameters:
  ///   - parent: The parent in another program; `nil` without one.
  ///   - isRun: Whether its children are the tasks of a batch.
  func samples(_ traceID: TraceID, parent: TraceContext?, isRun: Bool) -> Bool {
    if isParentBased, let parent { return parent.isSampled }
    return isOn && (isRun || selects(traceID.low))
  }

  /// Whether the ratio selects what has these random bits.
  func selects(_ bits: UInt64) -> Bool {
    guard let ratio, ratio < 1 else { return true }
    return bits >> 1 < UInt64(ratio * 0x1p63)
  }
}
