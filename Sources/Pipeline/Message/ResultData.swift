public import GQLRunCache

/// The JSON text of a result's `data`, in memory or in a file.
///
/// The parser and the cache return `ResultBody`; interceptors that answer requests themselves can
/// return `[UInt8]`.
public protocol ResultData: Sendable {
  /// The number of bytes.
  var count: Int { get }

  /// Calls `body` with the bytes in order, in pieces of any size. The pointer is only valid during
  /// the call.
  ///
  /// - Throws: The errors of `body`, and an error if buffered data cannot be read from its file.
  func forEachChunk(_ body: (UnsafeRawBufferPointer) throws -> Void) throws

  /// The whole text, for data that fits into memory; without a copy if it is in memory already.
  ///
  /// - Throws: An error if buffered data cannot be read from its file.
  func bytes() throws -> [UInt8]
}

extension ResultData {
  /// The whole text, collected from its chunks.
  public func bytes() throws -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    try forEachChunk { bytes.append(contentsOf: $0) }
    return bytes
  }
}

extension ResultBody: ResultData {}
extension MergedData: ResultData {}

extension [UInt8]: ResultData {
  /// Calls `body` once, with all bytes.
  public func forEachChunk(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
    try withUnsafeBytes { try body($0) }
  }
  /// The array itself.
  public func bytes() -> [UInt8] { self }
}
