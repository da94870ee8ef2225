import CGQLRunZlib

/// Compresses appended bytes. Each durable step ends a gzip member, so that the file can be
/// continued there; readers concatenate the members.
///
/// https://www.rfc-editor.org/rfc/rfc1952#section-2.2
final class GzipWriter {
  private var stream = z_stream()
  private var isOpen = false

  func add(_ bytes: [UInt8]) -> [UInt8] {
    if !isOpen {
      stream = z_stream()
      guard gqlrun_gzip_begin(&stream, Z_DEFAULT_COMPRESSION) == Z_OK else { return [] }
      isOpen = true
    }
    return deflated(bytes, Z_NO_FLUSH)
  }

  /// Ends the member; empty if none was started.
  func finishMember() -> [UInt8] {
    guard isOpen else { return [] }
    let bytes = deflated([], Z_FINISH)
    deflateEnd(&stream)
    isOpen = false
    return bytes
  }

  private func deflated(_ bytes: [UInt8], _ mode: Int32) -> [UInt8] {
    var result: [UInt8] = []
    var input = bytes
    var output = [UInt8](repeating: 0, count: 64 << 10)
    input.withUnsafeMutableBufferPointer { input in
      stream.next_in = input.baseAddress
      stream.avail_in = UInt32(input.count)
      repeat {
        output.withUnsafeMutableBufferPointer { output in
          stream.next_out = output.baseAddress
          stream.avail_out = UInt32(output.count)
          _ = deflate(&stream, mode)
          result += output.prefix(output.count - Int(stream.avail_out))
        }
      } while stream.avail_out == 0
    }
    return result
  }

  deinit { if isOpen { deflateEnd(&stream) } }
}
