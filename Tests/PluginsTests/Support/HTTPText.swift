import Foundation

/// The bytes of HTTP responses.
enum HTTPText {
  /// The answer to ``Bench/user``.
  static let user = #"{"data":{"user":{"__typename":"User","id":"1","name":"Ada"}}}"#

  /// A response with its length, unless `headers` contain another.
  static func response(
    _ status: String = "200 OK", type: String? = "application/json", headers: [String] = [],
    body: String = user
  ) -> [UInt8] {
    response(status, type: type, headers: headers, bytes: Array(body.utf8))
  }

  static func response(
    _ status: String = "200 OK", type: String? = "application/json", headers: [String] = [],
    bytes: [UInt8]
  ) -> [UInt8] {
    let isFramed = headers.contains {
      let name = $0.lowercased()
      return name.hasPrefix("content-length:") || name.hasPrefix("transfer-encoding:")
        || name == "connection: close"
    }
    var lines = ["HTTP/1.1 \(status)"]
    if let type { lines.append("Content-Type: \(type)") }
    if !isFramed { lines.append("Content-Length: \(bytes.count)") }
    lines += headers
    return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) + bytes
  }

  static func chunk(_ text: String) -> String {
    "\(String(text.utf8.count, radix: 16))\r\n\(text)\r\n"
  }
}

/// Bodies in gzip.
enum GzipText {
  /// The bytes in blocks that are stored as they are.
  static func stored(_ bytes: [UInt8]) -> [UInt8] {
    precondition(bytes.count < 65_536)
    let count = UInt16(bytes.count)
    let head: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3]
    let block: [UInt8] = [1] + little(count) + little(~count)
    return head + block + bytes + little(crc(bytes)) + little(UInt32(bytes.count))
  }

  private static func little<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
    withUnsafeBytes(of: number.littleEndian) { Array($0) }
  }

  private static func crc(_ bytes: [UInt8]) -> UInt32 {
    var crc = ~UInt32(0)
    for byte in bytes {
      crc ^= UInt32(byte)
      for _ in 0..<8 {
        let carries = crc & 1 == 1
        crc >>= 1
        if carries { crc ^= 0xEDB8_8320 }
      }
    }
    return ~crc
  }
}

/// The answer to ``Bench/user`` with a name of a million letters, in 1,055 bytes of gzip.
let gzipBomb: [UInt8] = {
  let start =
    "H4sIAAAAAAACA+3IKwqAQBiF0b382WK1uQizDDjBoIiPIDJ7V8FdeE65l++KIe0pmiuOLa/v9v1+LnlOU44mujdWMQ7Pr5/z5RY"
  let end = "PitKKXcSeOE4npCDwA="
  let zeros = String(repeating: "A", count: 1290)
  return Array(Data(base64Encoded: start + zeros + end) ?? Data())
}()
