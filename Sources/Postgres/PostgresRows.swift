import CPQ

/// The rows of a result. Pointers into it are valid as long as it is.
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
