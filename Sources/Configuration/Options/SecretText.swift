/// Recognizes texts that have the form of a credential; see ``SecretNames`` for names.
package enum SecretText {
  /// Whether a text has the form of a well-known kind of credential.
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
