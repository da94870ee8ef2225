import Foundation

/// The names whose values are secret, in every output of the program.
///
/// This is the one list. These use it: `--curl`, `--har`, recordings, `logging`, `pipeline explain`,
/// redirects to another origin, `batch run --dry-run`, and the check for literal secrets (P019).
///
/// A name is judged by where it occurs, because names are ambiguous: `key` of an HTTP field is a
/// credential, and `key` of a JSON object is usually data.
///
/// | where | secret when |
/// |---|---|
/// | HTTP field, URL parameter, GraphQL variable in a dry run | ``isSecretField(_:)``: the name contains a word such as `token`, or ends in `key` |
/// | form parameter | the same, or one of OAuth's parameters: `code`, `assertion`, … |
/// | member of a JSON object | ``isSecretMember(_:)``: the whole name is one of a list |
///
/// Independently of its name a value is secret when it is a known secret value; see ``KnownSecrets``.
package enum SecretNames {
  /// Whether the value of an HTTP field or of a URL parameter with this name is secret.
  package static func isSecretField(_ name: String) -> Bool {
    var name = name
    // Called for each field of each request: works on bytes and allocates nothing.
    return name.withUTF8 { bytes in
      guard !openFields.contains(where: { $0.count == bytes.count && matches(bytes, $0, at: 0) })
      else { return false }
      for (start, byte) in bytes.enumerated() {
        let initial = Int(byte | 0x20) - 0x61
        guard partsByInitial.indices.contains(initial) else { continue }
        for part in partsByInitial[initial] {
          let end = start + part.text.count
          if end <= bytes.count, matches(bytes, part.text, at: start),
            part.isBounded(bytes, start: start, end: end)
          {
            return true
          }
        }
      }
      return false
    }
  }

  /// Whether the value of a parameter of an `application/x-www-form-urlencoded` body is secret.
  package static func isSecretFormParameter(_ name: String) -> Bool {
    isSecretField(name) || formParameters.contains(plain(name)) || members.contains(plain(name))
  }

  /// Whether the value of a JSON object's member with this name is secret.
  package static func isSecretMember(_ name: String) -> Bool { members.contains(plain(name)) }

  /// A name without case, `_` and `-`: `clientSecret` and `Client-Secret` are one name.
  package static func plain(_ name: some StringProtocol) -> String {
    String(name.lowercased().filter { $0 != "_" && $0 != "-" })
  }

  private struct Part {
    enum Bound { case none, end, word }

    var text: [UInt8]
    var bound: Bound

    init(_ text: String, _ bound: Bound = .none) {
      self.text = Array(text.utf8)
      self.bound = bound
    }

    /// Whether the part that was found from `start` to `end` counts.
    func isBounded(_ bytes: UnsafeBufferPointer<UInt8>, start: Int, end: Int) -> Bool {
      switch bound {
      case .none: true
      case .end: end == bytes.count || !SecretNames.isLetter(bytes[end])
      case .word:
        (start == 0 || !SecretNames.isLetter(bytes[start - 1]))
          && (end == bytes.count || !SecretNames.isLetter(bytes[end]))
      }
    }
  }

  /// Parts of the names of fields that carry credentials.
  private static let parts: [Part] = [
    Part("authoriz"), Part("authentic"), Part("oauth"), Part("cookie"), Part("token"),
    Part("secret"), Part("passw"), Part("passphrase"), Part("credential"), Part("signature"),
    Part("session"), Part("bearer"), Part("jwt"), Part("csrf"), Part("xsrf"), Part("apikey"),
    Part("auth", .end), Part("key", .end), Part("sig", .word), Part("sign", .word),
    Part("pwd", .word), Part("otp", .word), Part("sid", .word),
  ]

  /// The parts by their first letters, from `a` to `z`.
  private static let partsByInitial: [[Part]] = (0x61...0x7A).map { letter in
    parts.filter { $0.text[0] == letter }
  }

  /// Fields that match a part and carry no credentials.
  private static let openFields = [
    "www-authenticate", "proxy-authenticate", "idempotency-key", "x-idempotency-key",
    "sec-websocket-key", "surrogate-key",
  ].map { Array($0.utf8) }

  /// https://www.iana.org/assignments/oauth-parameters/oauth-parameters.xhtml
  private static let formParameters: Set = [
    "code", "assertion", "clientassertion", "codeverifier", "devicecode", "samlresponse",
  ]

  private static let members: Set = [
    "password", "passwd", "passphrase", "passcode", "pwd", "secret", "clientsecret", "token",
    "accesstoken", "refreshtoken", "idtoken", "authtoken", "apitoken", "sessiontoken",
    "bearertoken", "subjecttoken", "actortoken", "devicecode", "codeverifier", "clientassertion",
    "apikey", "authkey", "accesskey", "secretkey", "secretaccesskey", "privatekey",
    "subscriptionkey", "authorization", "credential", "credentials", "cookie", "jwt",
  ]

  private static func isLetter(_ byte: UInt8) -> Bool {
    (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
  }

  /// Whether `word`, in lower case, is at a position, in any case. `_` and `-` are the same.
  private static func matches(
    _ bytes: UnsafeBufferPointer<UInt8>, _ word: [UInt8], at start: Int
  ) -> Bool {
    for (offset, letter) in word.enumerated() {
      let byte = bytes[start + offset]
      guard
        byte == letter || (0x41...0x5A).contains(byte) && byte | 0x20 == letter
          || byte == UInt8(ascii: "_") && letter == UInt8(ascii: "-")
      else { return false }
    }
    return true
  }
}

// MARK: URLs

extension SecretNames {
  /// The secret values in a URL: those of its query, except the parameters of GraphQL over HTTP, and the
  /// password.
  package static func secrets(inURL url: String) -> [SecretString] {
    var secrets = [password(inURL: url)]
    let query = url.drop { $0 != "?" }.dropFirst().prefix { $0 != "#" }
    for parameter in query.split(separator: "&") {
      let name = parameter.prefix { $0 != "=" }
      guard !graphQLParameters.contains(String(name)) else { continue }
      let value = String(parameter.dropFirst(name.count + 1))
      secrets += [value, value.removingPercentEncoding ?? value]
    }
    return secrets.filter { !$0.isEmpty }.map { SecretString($0) }
  }

  /// The password of `scheme://user:password@host`; empty without one.
  fileprivate static func password(inURL url: String) -> String {
    guard let mark = url.firstRange(of: "://") else { return "" }
    let authority = url[mark.upperBound...].prefix { !"/?#".contains($0) }
    guard let at = authority.lastIndex(of: "@") else { return "" }
    return String(authority[..<at].drop { $0 != ":" }.dropFirst())
  }

  /// The parameters of GraphQL over HTTP, which hold no credentials.
  ///
  /// https://graphql.github.io/graphql-over-http/draft/#sec-GET
  package static let graphQLParameters: Set = [
    "query", "operationName", "variables", "extensions", "documentId", "onError",
  ]
}

/// A secret text, which is printed, dumped and reflected as `•••`.
public struct SecretString: Sendable, Hashable {
  private let value: String

  /// Wraps a secret text.
  public init(_ value: String) {
    self.value = value
  }

  /// The text itself, for code that sends it.
  public func reveal() -> String { value }

  /// Whether the text is empty.
  public var isEmpty: Bool { value.isEmpty }

  /// The text that outputs show instead of a secret.
  public static let redacted = "•••"
}

extension SecretString: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Always `•••`.
  public var description: String { Self.redacted }
  /// Always `•••`.
  public var debugDescription: String { Self.redacted }
  /// A mirror without children, so that `dump` shows nothing.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Recognizes texts that have the form of a credential; see ``SecretNames`` for names.
package enum SecretText {
  /// Whether a text has the form of a well-known kind of credential.
  package static func looksSecret(_ text: String) -> Bool {
    text.split { $0.isWhitespace || $0 == "," || $0 == ";" || $0 == "=" || $0 == "/" || $0 == ":" }
      .contains { isCredential($0) }
      || !SecretNames.password(inURL: text).isEmpty
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
}
