import CPQ

/// The rows of a result. Pointers to their bytes are valid while it exists.
package final class PostgresRows {
  private let result: OpaquePointer
  private let library: LibPQ
  /// The number of rows.
  package let count: Int

  init(_ result: OpaquePointer, _ library: LibPQ) {
    self.result = result
    self.library = library
    count = Int(library.functions.ntuples(result))
  }

  deinit { library.functions.clear(result) }

  /// The bytes of a value; empty if it is NULL.
  package func bytes(_ row: Int, _ column: Int) -> UnsafeBufferPointer<UInt8> {
    let length = Int(library.functions.getlength(result, Int32(row), Int32(column)))
    guard length > 0, let start = library.functions.getvalue(result, Int32(row), Int32(column))
    else {
      return UnsafeBufferPointer(start: nil, count: 0)
    }
    return UnsafeBufferPointer(
      start: UnsafeRawPointer(start).assumingMemoryBound(to: UInt8.self), count: length)
  }

  /// Whether a value is NULL.
  package func isNull(_ row: Int, _ column: Int) -> Bool {
    library.functions.getisnull(result, Int32(row), Int32(column)) == 1
  }

  /// The text of a value; empty if it is NULL.
  package func text(_ row: Int, _ column: Int) -> String {
    String(decoding: bytes(row, column), as: UTF8.self)
  }

  /// An integer of 2, 4 or 8 bytes, or a Boolean value; 0 if it is NULL.
  package func int(_ row: Int, _ column: Int) -> Int {
    let bytes = bytes(row, column)
    switch bytes.count {
    case 8: return bytes.reduce(0) { $0 << 8 | Int($1) }
    case 4: return Int(Int32(truncatingIfNeeded: bytes.reduce(0) { $0 << 8 | Int($1) }))
    case 2: return Int(Int16(truncatingIfNeeded: bytes.reduce(0) { $0 << 8 | Int($1) }))
    default: return Int(bytes.first ?? 0)
    }
  }

  /// A float8 value; 0 if it is NULL.
  package func double(_ row: Int, _ column: Int) -> Double {
    Double(bitPattern: bytes(row, column).reduce(0) { $0 << 8 | UInt64($1) })
  }
}

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

  /// The object identifier of the type, and the value in its binary format:
  /// https://www.postgresql.org/docs/current/catalog-pg-type.html.
  var encoded: (type: Oid, bytes: [UInt8]) {
    switch self {
    case .int(let value): (20, Self.bytes(of: Int64(value)))
    case .text(let text): (25, Array(text.utf8))
    case .bytes(let bytes): (17, bytes)
    case .ints(let values): (1016, Self.array(of: 20, values.map { Self.bytes(of: Int64($0)) }))
    case .texts(let values): (1009, Self.array(of: 25, values))
    case .byteStrings(let values): (1001, Self.array(of: 17, values))
    case .double(let value): (701, Self.bytes(of: value.bitPattern))
    case .doubles(let values):
      (1022, Self.array(of: 701, values.map { Self.bytes(of: $0.bitPattern) }))
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
