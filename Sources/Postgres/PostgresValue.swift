import CPQ

/// A parameter of a statement.
package enum PostgresValue {
  case int(Int)
  case text(String)
  case bytes([UInt8])
  case ints([Int])
  /// Texts as UTF-8; `nil` is NULL.
  case texts([[UInt8]?])
  case byteStrings([[UInt8]])
  case double(Double)
  case doubles([Double])

  /// The object identifier of the type: https://www.postgresql.org/docs/current/catalog-pg-type.html.
  var type: Oid {
    switch self {
    case .int: 20
    case .text: 25
    case .bytes: 17
    case .ints: 1016
    case .texts: 1009
    case .byteStrings: 1001
    case .double: 701
    case .doubles: 1022
    }
  }

  var encoded: [UInt8] {
    switch self {
    case .int(let value): Self.bytes(of: Int64(value))
    case .text(let text): Array(text.utf8)
    case .bytes(let bytes): bytes
    case .ints(let values): Self.array(of: 20, values.map { Self.bytes(of: Int64($0)) })
    case .texts(let values): Self.array(of: 25, values)
    case .byteStrings(let values): Self.array(of: 17, values)
    case .double(let value): Self.bytes(of: value.bitPattern)
    case .doubles(let values): Self.array(of: 701, values.map { Self.bytes(of: $0.bitPattern) })
    }
  }

  private static func bytes(of value: some FixedWidthInteger) -> [UInt8] {
    withUnsafeBytes(of: value.bigEndian) { Array($0) }
  }

  /// The binary form of an array with one dimension: the number of dimensions, whether it has NULLs, the type; the
  /// length and the first index; then each element with its length, which is -1 for NULL.
  private static func array(of type: Int32, _ elements: [[UInt8]?]) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(elements.reduce(20) { $0 + 4 + ($1?.count ?? 0) })
    let hasNull: Int32 = elements.contains { $0 == nil } ? 1 : 0
    result += bytes(of: Int32(elements.isEmpty ? 0 : 1)) + bytes(of: hasNull) + bytes(of: type)
    guard !elements.isEmpty else { return result }
    result += bytes(of: Int32(elements.count)) + bytes(of: Int32(1))
    for element in elements {
      result += bytes(of: Int32(element?.count ?? -1))
      if let element { result += element }
    }
    return result
  }
}
