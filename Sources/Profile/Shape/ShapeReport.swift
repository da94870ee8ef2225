/// What a response consists of, to help authors of schemas and queries reduce it.
///
/// Sizes are those of compact JSON without escapes. Names are response keys, so an aliased field
/// appears under its alias.
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
  /// Whether ``distinct`` and ``repeatedBytes`` are estimates from a sample, for a response with
  /// more than a million different objects.
  package var isEstimated = false
  /// Bytes of repeated objects; nested entities are counted once.
  package var repeatedBytes = 0
  /// Bytes of objects with an identity, from which other operations can be answered.
  package var identifiedBytes = 0
  /// The types, the largest first.
  package var types: [TypeShape] = []
  /// The paths without list indices, the largest first.
  package var paths: [PathShape] = []
  package var largestRecords: [LargeRecord] = []
  /// The number of strings by size: the n-th entry counts strings of less than 2^n bytes that no
  /// earlier entry counts.
  package var strings: [SizeCount] = []

  /// The share of objects with an identity that a normalized cache already has; `nil` without such
  /// objects.
  package var hitShare: Double? {
    identified > 0 ? Double(max(identified - distinct, 0)) / Double(identified) : nil
  }

  /// The size in bytes such that strings of at least this size contain half of all string bytes.
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
    /// Without nested objects that have their own type.
    package var bytes: Int
    package var fields: [FieldShape]

    /// The share of repeated objects; `nil` if the objects have no identity.
    package var hitShare: Double? {
      distinct.map { Double(max(objects - $0, 0)) / Double(max(objects, 1)) }
    }
  }

  package struct FieldShape: Codable, Sendable, Hashable {
    package var name: String
    package var count: Int
    package var nulls: Int
    /// Including everything nested.
    package var bytes: Int
  }

  package struct PathShape: Codable, Sendable, Hashable {
    package var path: String
    package var count: Int
    package var nulls: Int
    package var bytes: Int
    /// Without the bytes of longer paths.
    package var ownBytes: Int
    /// The length of the longest list at this path; 0 if there is none.
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

  /// Suggestions to reduce the response; empty if there are none.
  package var advice: [String] {
    var lines: [String] = []
    if identified > 0, bytes > 0, repeatedBytes * 10 > bytes {
      let share = repeatedBytes * 100 / bytes
      let most = types.filter { ($0.distinct ?? $0.objects) * 2 < $0.objects }.prefix(3).map(\.name)
      let names = most.isEmpty ? "" : " (mostly \(most.joined(separator: ", ")))"
      lines.append(
        "\(share) % of the bytes repeat objects\(names): select only their key fields there, and the "
          + "other fields once")
    }
    if values > 0, nulls * 4 > values {
      lines.append("\(nulls * 100 / values) % of the values are null")
    }
    if let path = paths.first(where: { $0.ownBytes * 3 > bytes && $0.count > 1 }) {
      lines.append(
        "\(path.path) alone is \(path.ownBytes * 100 / max(bytes, 1)) % of the bytes: does every "
          + "object need it?")
    }
    if let path = paths.first(where: { $0.longestList > 10_000 }) {
      lines.append(
        "\(path.path) has a list of \(path.longestList) elements: request it in pages")
    }
    return lines
  }
}
