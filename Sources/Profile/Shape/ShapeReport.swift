/// What a response consists of: what a schema or query author needs to make it smaller.
///
/// Sizes are those of compact JSON with nothing escaped. Names are those of the response, so an aliased
/// field stands under its alias.
package struct ShapeReport: Codable, Sendable, Hashable {
  package var bytes = 0
  package var values = 0
  package var nulls = 0
  package var objects = 0
  package var depth = 0
  /// Objects with a type name and all key fields.
  package var identified = 0
  /// How many of them are different.
  package var distinct = 0
  /// Whether ``distinct`` and ``repeatedBytes`` were estimated from a sample, in a response with more
  /// than a million different objects.
  package var isEstimated = false
  /// Bytes that said again what was said before, entities within entities counted once.
  package var repeatedBytes = 0
  /// Bytes of objects with an identity: what other operations, too, can be answered from.
  package var identifiedBytes = 0
  /// The largest first.
  package var types: [TypeShape] = []
  /// Places in the response, list positions left out, the largest first.
  package var paths: [PathShape] = []
  package var largestRecords: [LargeRecord] = []
  /// How many strings there are per size: the n-th entry counts strings of less than 2^n bytes that are
  /// in none before.
  package var strings: [SizeCount] = []

  /// The share of objects with an identity that a normalized cache would have had already; `nil` without any.
  package var hitShare: Double? {
    identified > 0 ? Double(max(identified - distinct, 0)) / Double(identified) : nil
  }

  /// The size of strings, in bytes, of which half of all bytes of strings are at least.
  package var middleString: Int? {
    let half = strings.reduce(0) { $0 + $1.bytes } / 2
    var sum = 0
    return strings.first {
      sum += $0.bytes
      return sum > half
    }.map { $0.below / 2 }
  }

  package struct TypeShape: Codable, Sendable, Hashable {
    package var name: String
    package var objects: Int
    package var distinct: Int?
    /// Without the objects inside that have a type of their own.
    package var bytes: Int
    package var fields: [FieldShape]

    /// The share of its objects that came before; `nil` where they cannot be told apart.
    package var hitShare: Double? {
      distinct.map { Double(max(objects - $0, 0)) / Double(max(objects, 1)) }
    }
  }

  package struct FieldShape: Codable, Sendable, Hashable {
    package var name: String
    package var count: Int
    package var nulls: Int
    /// With everything inside.
    package var bytes: Int
  }

  package struct PathShape: Codable, Sendable, Hashable {
    package var path: String
    package var count: Int
    package var nulls: Int
    package var bytes: Int
    /// Without what lies in deeper places.
    package var ownBytes: Int
    /// The longest list at this place; 0 where there is none.
    package var longestList: Int
  }

  package struct LargeRecord: Codable, Sendable, Hashable {
    package var key: String
    package var path: String
    package var bytes: Int
  }

  package struct SizeCount: Codable, Sendable, Hashable {
    package var below: Int
    package var count: Int
    package var bytes: Int
  }

  /// What would make the response smaller, in words; empty when nothing stands out.
  package var advice: [String] {
    var lines: [String] = []
    if identified > 0, bytes > 0, repeatedBytes * 10 > bytes {
      let share = repeatedBytes * 100 / bytes
      let most = types.filter { ($0.distinct ?? $0.objects) * 2 < $0.objects }.prefix(3).map(\.name)
      let names = most.isEmpty ? "" : " (mostly \(most.joined(separator: ", ")))"
      lines.append(
        "\(share) % of the bytes repeat objects that came before\(names): ask there for the key fields "
          + "only, and for the rest once")
    }
    if values > 0, nulls * 4 > values {
      lines.append("\(nulls * 100 / values) % of the values are null")
    }
    if let path = paths.first(where: { $0.ownBytes * 3 > bytes && $0.count > 1 }) {
      lines.append(
        "\(path.path) alone is \(path.ownBytes * 100 / max(bytes, 1)) % of the bytes: is it needed "
          + "for every object?")
    }
    if let path = paths.first(where: { $0.longestList > 10_000 }) {
      lines.append(
        "\(path.path) has a list of \(path.longestList) elements: ask for it page by page")
    }
    return lines
  }
}
