import Crypto
import GQLRunSupport

/// Hashes that identify documents.
public enum DocumentHash {
  /// The SHA-256 of a text in UTF-8, as 64 lower-case hexadecimal digits.
  public static func sha256(_ text: String) -> String {
    QuotedText.hexadecimal(SHA256.hash(data: Array(text.utf8)))
  }

  /// The MD5 of a text in UTF-8, by which Relay's compiler identifies documents. Not for security.
  public static func md5(_ text: String) -> String {
    QuotedText.hexadecimal(Insecure.MD5.hash(data: Array(text.utf8)))
  }
}
