/// The bytes of a result, `{"data":…}` and what belongs to it, wherever they are kept.
public protocol ResultBody: Sendable {
  /// The number of bytes.
  var count: Int { get }

  /// Hands the bytes out in order, in pieces of any size. The pointer is valid during the call
  /// only.
  func forEachChunk(_ body: (UnsafeRawBufferPointer) throws -> Void) throws
}

extension [UInt8]: ResultBody {
  public func forEachChunk(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
    try withUnsafeBytes { try body($0) }
  }
}
