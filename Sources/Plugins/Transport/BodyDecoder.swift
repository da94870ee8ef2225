import CGQLRunZlib
import GQLRunSupport
import NIOCore
import NIOHTTP1
import NIOHTTP2

/// Decompresses the body of a response as it arrives, in pieces of a limited size.
///
/// A body in the coding `gzip` has any number of members, as RFC 1952 says; one in the coding `deflate` is one zlib
/// stream.
///
/// - https://www.rfc-editor.org/rfc/rfc9110#section-8.4.1
/// - https://www.rfc-editor.org/rfc/rfc1952#section-2.2
struct BodyDecoder: ~Copyable {
  /// Why a body cannot be decompressed.
  enum Failure: Error, Hashable {
    /// The body ended inside the compressed data.
    case truncated
    case damaged
    /// Other bytes follow the compressed data.
    case trailingData
    /// More was compressed than ``HTTPLimits/decompressionRatio`` permits.
    case tooLarge
    case outOfMemory
  }

  /// The size of a decompressed piece.
  private static let pieceBytes = 64 << 10
  /// The most compressed bytes without content: members may be empty.
  private static let maxEmptyBytes = 1 << 20
  private static let firstGzipByte: UInt8 = 0x1F

  // zlib keeps the address.
  private let stream: UnsafeMutablePointer<z_stream>
  private let isGzip: Bool
  private let ratio: Int?
  private var input = ByteBuffer()
  /// Whether compressed data have begun and not ended.
  private var isOpen = true
  private var (consumed, produced, empty) = (0, 0, 0)

  /// - Parameters:
  ///   - coding: The value of `Content-Encoding`; `nil` is returned for other codings than `gzip`,
  ///     `x-gzip`, which is the same (https://www.rfc-editor.org/rfc/rfc9110#section-8.4.1.3), and `deflate`.
  ///   - ratio: The largest factor by which decompression may enlarge the body; `nil` for no limit.
  init?(_ coding: String?, ratio: Int?) throws(Failure) {
    guard let coding = coding?.lowercased(), ["gzip", "x-gzip", "deflate"].contains(coding) else {
      return nil
    }
    let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    stream.initialize(to: z_stream())
    guard gqlrun_inflate_begin(stream) == Z_OK else {
      stream.deallocate()
      throw .outOfMemory
    }
    self.stream = stream
    isGzip = coding != "deflate"
    self.ratio = ratio
  }

  deinit {
    inflateEnd(stream)
    stream.deallocate()
  }

  /// Adds a piece of the body, when ``next()`` has returned `nil`.
  mutating func add(_ piece: ByteBuffer) { input = piece }

  /// The next decompressed piece, or `nil` if the input is used up.
  mutating func next() throws(Failure) -> ByteBuffer? {
    while input.readableBytes > 0 {
      if !isOpen { try beginMember() }
      var output = ByteBuffer()
      let (read, written, result) = step(&output)
      consumed += read
      produced += written
      empty = written > 0 ? 0 : empty + read
      switch result {
      case Z_STREAM_END: isOpen = false
      case Z_OK: break
      case Z_BUF_ERROR where input.readableBytes == 0: break
      default: throw .damaged
      }
      if let ratio, produced > consumed * ratio { throw .tooLarge }
      guard empty <= Self.maxEmptyBytes else { throw .damaged }
      if written > 0 { return output }
    }
    return nil
  }

  /// Checks that the body may end here.
  borrowing func finish() throws(Failure) {
    guard !isOpen else { throw .truncated }
  }

  private mutating func beginMember() throws(Failure) {
    guard isGzip, input.getInteger(at: input.readerIndex) == Self.firstGzipByte else {
      throw .trailingData
    }
    guard inflateReset(stream) == Z_OK else { throw .damaged }
    isOpen = true
  }

  /// Decompresses once. Returns the bytes read and written, and zlib's result.
  private mutating func step(_ output: inout ByteBuffer) -> (read: Int, written: Int, Int32) {
    var result = Z_OK
    var written = 0
    let stream = stream
    let read = input.readWithUnsafeMutableReadableBytes { bytes in
      stream.pointee.next_in = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
      stream.pointee.avail_in = UInt32(clamping: bytes.count)
      let given = Int(stream.pointee.avail_in)
      written = output.writeWithUnsafeMutableBytes(minimumWritableBytes: Self.pieceBytes) { space in
        stream.pointee.next_out = space.baseAddress?.assumingMemoryBound(to: UInt8.self)
        stream.pointee.avail_out = UInt32(Self.pieceBytes)
        result = inflate(stream, Z_NO_FLUSH)
        return Self.pieceBytes - Int(stream.pointee.avail_out)
      }
      return given - Int(stream.pointee.avail_in)
    }
    return (read, written, result)
  }
}

/// Why the body of a response ended before its end.
///
/// The HTTP client discards the parts that it could not deliver yet when a connection fails. So ``ResponsePartHandler``
/// ends the body instead, and its last part is this error: an empty part, which no server sends, precedes it.
struct BodyLoss: Error, Sendable, Hashable {
  enum Kind: UInt8 {
    /// The connection or stream was closed.
    case lost
    /// The server violated the protocol.
    case http1, http2
  }

  let kind: Kind
  let reason: String

  init(_ error: any Error) {
    switch error {
    case let error as HTTPParserError where error != .invalidEOFState:
      (kind, reason) = (.http1, ErrorWords.text(error))
    case let error as IOError: (kind, reason) = (.lost, TransportFailures.reason(error))
    case let error as NIOHTTP2Errors.StreamClosed:
      let name = TransportFailures.name(error.errorCode)
      (kind, reason) = (.lost, "the server ended the stream (\(name))")
    case is any NIOHTTP2Error: (kind, reason) = (.http2, ErrorWords.text(error))
    default: (kind, reason) = (.lost, "it was closed")
    }
  }

  /// The error as the part of a body.
  var part: ByteBuffer {
    var part = ByteBuffer(integer: kind.rawValue)
    part.writeString(reason)
    return part
  }

  init(part: ByteBuffer) {
    var part = part
    kind = part.readInteger().flatMap(Kind.init) ?? .lost
    reason = String(buffer: part)
  }
}
