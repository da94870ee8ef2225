/// A piece of a body. Its bytes are passed on without a copy.
public protocol BodyChunk: Sendable {
  /// The number of bytes.
  var count: Int { get }

  /// Calls `body` with the bytes. The pointer is only valid during the call.
  func withUnsafeBytes<Result>(
    _ body: (UnsafeRawBufferPointer) throws -> Result
  ) rethrows -> Result
}

extension [UInt8]: BodyChunk {}
extension ArraySlice<UInt8>: BodyChunk {}
