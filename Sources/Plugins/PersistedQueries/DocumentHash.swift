import Crypto

/// Hashes that name documents.
public enum DocumentHash {
  /// The SHA-256 of a text in UTF-8, as 64 lower-case hexadecimal digits.
  public static func sha256(_ text: String) -> String {
    hexadecimal(SHA256.hash(data: Array(text.utf8)))
  }

  /// The MD5 of a text in UTF-8, which Relay's compiler names documents by. Protects nothing.
  public static func md5(_ text: String) -> String {
    hexadecimal(Insecure.MD5.hash(data: Array(text.utf8)))
  }

  private static func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
    let digits = Array("0123456789abcdef".utf8)
    var text: [UInt8] = []
    for byte in bytes { text += [digits[Int(byte >> 4)], digits[Int(byte & 15)]] }
    return String(decoding: text, as: UTF8.self)
  }
}
