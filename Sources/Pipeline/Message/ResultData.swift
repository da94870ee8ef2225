public import GQLRunCache

/// The JSON text of a result's `data`, wherever its bytes are kept.
///
/// ``ResultBody`` is the one that parsing and the cache bring; bytes are one for interceptors that
/// answer by themselves.
public protocol ResultData: Sendable {
  /// The number of bytes.
  var count: Int { get }

  /// Hands the bytes out in order, in pieces of any size. The pointer is valid during the call
  /// only.
  func forEachChunk(_ body: (UnsafeRawBufferPointer) throws -> Void) throws
}

extension ResultBody: ResultData {}

extension [UInt8]: ResultData {
  public func forEachChunk(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
    try withUnsafeBytes { try body($0) }
  }
}
