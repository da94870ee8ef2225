/// A piece of a body, wherever its bytes live: no copy is made to pass it along.
public protocol BodyChunk: Sendable {
  var count: Int { get }

  /// Gives access to the bytes. The pointer is valid during the call only.
  func withUnsafeBytes<Result>(
    _ body: (UnsafeRawBufferPointer) throws -> Result
  ) rethrows -> Result
}

extension [UInt8]: BodyChunk {}
extension ArraySlice<UInt8>: BodyChunk {}
