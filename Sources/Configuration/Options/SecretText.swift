/// Recognises secrets: fields that carry them, and texts that look like one.
package enum SecretText {
  /// Whether the value of an HTTP field of this name is a secret.
  package static func isSecretField(_ name: String) -> Bool {
    var name = name
    // Asked about every field of every request: bytes, and nothing allocated.
    return name.withUTF8 { bytes in
      secretFields.contains { $0.count == bytes.count && contains(bytes, $0, at: 0) }
        || secretWords.contains { word in
          bytes.count >= word.count
            && (0...(bytes.count - word.count)).contains { contains(bytes, word, at: $0) }
        }
    }
  }

  private static let secretFields = [
    "authorization", "proxy-authorization", "cookie", "set-cookie",
  ].map { Array($0.utf8) }
  private static let secretWords = [
    "token", "secret", "password", "api-key", "apikey", "credential", "signature",
  ].map { Array($0.utf8) }

  /// Whether a word in lower case stands at a place, in any case.
  private static func contains(
    _ bytes: UnsafeBufferPointer<UInt8>, _ word: [UInt8], at start: Int
  ) -> Bool {
    for (offset, letter) in word.enumerated() {
      let byte = bytes[start + offset]
      guard byte == letter || (0x41...0x5A).contains(byte) && byte | 0x20 == letter else {
        return false
      }
    }
    return true
  }

  /// Whether text has the form of a well-known kind of credential.
  package static func looksSecret(_ text: String) -> Bool {
    text.split { $0.isWhitespace || $0 == "," || $0 == ";" || $0 == "=" || $0 == "/" || $0 == ":" }
      .contains { isCredential($0) }
      || hasPassword(text)
  }

  private static func isCredential(_ word: Substring) -> Bool {
    let prefixes: [(prefix: String, count: Int)] = [
      ("ghp_", 36), ("gho_", 36), ("ghs_", 36), ("ghu_", 36), ("github_pat_", 40),
      ("glpat-", 20), ("xoxb-", 20), ("xoxp-", 20), ("sk-", 24), ("sk_live_", 24),
      ("shpat_", 32), ("AKIA", 20), ("AIza", 35),
    ]
    if prefixes.contains(where: { word.hasPrefix($0.prefix) && word.count >= $0.count }) {
      return true
    }
    // A JSON Web Token: three parts, the first of which is `{"` in base64url.
    let parts = word.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 3 && parts[0].hasPrefix("eyJ") && word.count >= 40
  }

  /// `scheme://user:password@host`
  private static func hasPassword(_ text: String) -> Bool {
    guard let start = text.firstRange(of: "://") else { return false }
    let authority = text[start.upperBound...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    guard let at = authority.lastIndex(of: "@") else { return false }
    let password = authority[..<at].drop { $0 != ":" }.dropFirst()
    return !password.isEmpty
  }
}
