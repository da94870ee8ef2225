import Foundation
import GQLRunSupport

/// A secret value in all encodings in which it occurs in texts: plain, percent-encoded, with JSON
/// escapes, any mixture of these, and inside Base64.
///
/// Encodings are recognized while the text is read, and not listed in advance: encoders differ in
/// what they escape and in the case of hexadecimal digits.
struct SecretPattern: Sendable {
  private struct Scalar: Sendable {
    var bytes: [UInt8]
    /// One or two UTF-16 code units.
    var units: [UInt16]
  }

  private let scalars: [Scalar]
  /// Whether the characters next to a match belong to it in part, as in Base64.
  private let isBase64: Bool

  private init(_ text: String, isBase64: Bool) {
    scalars = text.unicodeScalars.map {
      Scalar(bytes: Array(String($0).utf8), units: Array(String($0).utf16))
    }
    self.isBase64 = isBase64
  }

  /// The patterns of a secret.
  static func patterns(of secret: String) -> [SecretPattern] {
    [SecretPattern(secret, isBase64: false)]
      + base64(Array(secret.utf8)).map { SecretPattern($0, isBase64: true) }
  }

  /// The bytes that a match can begin with.
  var firstBytes: [UInt8] {
    var bytes = [UInt8(ascii: "%"), UInt8(ascii: "\\")]
    if let first = scalars.first?.bytes.first { bytes.append(first) }
    if scalars.first?.bytes == [0x20] { bytes.append(UInt8(ascii: "+")) }
    return bytes
  }

  /// The range of the match that begins at `start`, or `nil`.
  func match(in text: UnsafeBufferPointer<UInt8>, at start: Int) -> Range<Int>? {
    // A prefix may end at several positions: `%25` decodes to `%`, and `%` is also itself.
    var ends = [start]
    for scalar in scalars {
      var next: [Int] = []
      for end in ends {
        for further in Self.ends(of: scalar, in: text, at: end) where !next.contains(further) {
          next.append(further)
        }
      }
      guard !next.isEmpty else { return nil }
      // The plain and the fully escaped reading are among the first and the last; a secret of
      // backslashes has as many readings as characters.
      ends = next.count > 8 ? Array(next.prefix(4) + next.suffix(4)) : next
    }
    guard let end = ends.max() else { return nil }
    guard isBase64 else { return start..<end }
    // The characters at both ends share bits with their neighbors.
    var range = start..<end
    if start > 0, Self.isBase64(text[start - 1]) { range = (start - 1)..<end }
    if end < text.count, Self.isBase64(text[end]) { range = range.lowerBound..<(end + 1) }
    return range
  }

  private static func ends(
    of scalar: Scalar, in text: UnsafeBufferPointer<UInt8>, at start: Int
  ) -> [Int] {
    guard start < text.count else { return [] }
    var ends: [Int] = []
    let first = text[start]
    if let end = rawEnd(of: scalar.bytes[...], in: text, at: start) { ends.append(end) }
    if first == UInt8(ascii: "%"), scalar.bytes == [first], let decoded = percent(text, start),
      decoded.byte == first
    {
      ends.append(decoded.end)
    }
    if first == UInt8(ascii: "+"), scalar.bytes == [0x20] { ends.append(start + 1) }
    if let end = escapedEnd(of: scalar, in: text, at: start) { ends.append(end) }
    return ends
  }

  /// The end of a sequence of bytes, each of them plain or percent-encoded.
  private static func rawEnd(
    of bytes: ArraySlice<UInt8>, in text: UnsafeBufferPointer<UInt8>, at start: Int
  ) -> Int? {
    var position = start
    for byte in bytes {
      guard position < text.count else { return nil }
      if text[position] == byte {
        position += 1
      } else if let decoded = percent(text, position), decoded.byte == byte {
        position = decoded.end
      } else {
        return nil
      }
    }
    return position
  }

  /// The end of a JSON escape for the scalar: `\n`, `\/`, `\u00e9`.
  private static func escapedEnd(
    of scalar: Scalar, in text: UnsafeBufferPointer<UInt8>, at start: Int
  ) -> Int? {
    guard let slash = byte(text, start), slash.byte == UInt8(ascii: "\\"),
      let kind = byte(text, slash.end)
    else { return nil }
    switch kind.byte {
    case UInt8(ascii: "u"):
      guard unit(text, kind.end) == scalar.units[0] else { return nil }
      guard scalar.units.count == 2 else { return kind.end + 4 }
      guard let second = byte(text, kind.end + 4), second.byte == UInt8(ascii: "\\"),
        let mark = byte(text, second.end), mark.byte == UInt8(ascii: "u"),
        unit(text, mark.end) == scalar.units[1]
      else { return nil }
      return mark.end + 4
    case UInt8(ascii: "b"): return scalar.bytes == [0x08] ? kind.end : nil
    case UInt8(ascii: "f"): return scalar.bytes == [0x0C] ? kind.end : nil
    case UInt8(ascii: "n"): return scalar.bytes == [0x0A] ? kind.end : nil
    case UInt8(ascii: "r"): return scalar.bytes == [0x0D] ? kind.end : nil
    case UInt8(ascii: "t"): return scalar.bytes == [0x09] ? kind.end : nil
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"):
      return scalar.bytes == [kind.byte] ? kind.end : nil
    default: return nil
    }
  }

  /// The byte at a position, percent-decoded if it is encoded.
  private static func byte(
    _ text: UnsafeBufferPointer<UInt8>, _ position: Int
  ) -> (byte: UInt8, end: Int)? {
    if let decoded = percent(text, position) { return decoded }
    return position < text.count ? (text[position], position + 1) : nil
  }

  private static func percent(
    _ text: UnsafeBufferPointer<UInt8>, _ position: Int
  ) -> (byte: UInt8, end: Int)? {
    guard position + 2 < text.count, text[position] == UInt8(ascii: "%"),
      let high = text[position + 1].hexDigitValue, let low = text[position + 2].hexDigitValue
    else { return nil }
    return (high << 4 | low, position + 3)
  }

  /// The code unit of four hexadecimal digits.
  private static func unit(_ text: UnsafeBufferPointer<UInt8>, _ position: Int) -> UInt16? {
    guard position + 4 <= text.count else { return nil }
    var value: UInt16 = 0
    for index in position..<(position + 4) {
      guard let digit = text[index].hexDigitValue else { return nil }
      value = value << 4 | UInt16(digit)
    }
    return value
  }

  // MARK: Base64

  /// The part of the Base64 text that does not depend on neighboring bytes, for the three
  /// alignments and both alphabets.
  ///
  /// `Authorization: Basic` contains `name:password` this way, at an alignment that depends on the
  /// name. https://www.rfc-editor.org/rfc/rfc4648#section-4
  private static func base64(_ secret: [UInt8]) -> [String] {
    var texts: [String] = []
    for shift in 0..<3 {
      let bytes = [UInt8](repeating: 0, count: shift) + secret
      let text = Data(bytes).base64EncodedString().filter { $0 != "=" }
      // A character has six bits. Characters that share bits with neighboring bytes are left out.
      let core = text.dropFirst([0, 2, 3][shift]).dropLast(bytes.count % 3 == 0 ? 0 : 1)
      texts.append(String(core))
      let urlSafe = String(core.map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 })
      if urlSafe != texts.last { texts.append(urlSafe) }
    }
    return texts
  }

  private static func isBase64(_ byte: UInt8) -> Bool {
    byte.isASCIIAlphanumeric || "+/-_=".utf8.contains(byte)
  }
}
