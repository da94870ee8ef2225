import Foundation
import HTTPTypes
import Synchronization

/// The secret values that a run knows: those of its files, and those it received, such as renewed
/// tokens.
///
/// The program hides them in everything that it prints or stores: logs, errors, `--curl`, archives,
/// recordings, reports, journals. Only `data` of a response, which the caller asked for, and the store of
/// tokens keep them.
///
/// A runner adds the secrets of its pipeline. A plugin that receives a secret adds it before it is used:
/// `context.services.secrets.insert(token)`.
public final class KnownSecrets: Sendable {
  /// The most values that are kept; beyond, the oldest is forgotten.
  public static let capacity = 1_024

  private struct Content: Sendable {
    var values: Set<SecretString> = []
    /// The values from the oldest to the newest.
    var order: [SecretString] = []
    /// Made when it is first needed.
    var hiding: SecretHiding?
  }

  private let content = Mutex(Content())

  public init() {}

  /// Adds a secret. Cheap when it is known already.
  public func insert(_ secret: SecretString) {
    guard !secret.isEmpty else { return }
    content.withLock { content in
      guard content.values.insert(secret).inserted else { return }
      content.order.append(secret)
      if content.order.count > Self.capacity {
        content.values.remove(content.order.removeFirst())
      }
      content.hiding = nil
    }
  }

  /// Adds several secrets.
  public func insert(contentsOf secrets: some Sequence<SecretString>) {
    for secret in secrets { insert(secret) }
  }

  /// The text with `•••` in place of each known secret.
  public func hide(in text: String) -> String { hiding.text(text) }

  /// What hides the known secrets.
  package var hiding: SecretHiding {
    content.withLock { content in
      if let hiding = content.hiding { return hiding }
      let hiding = SecretHiding(content.values)
      content.hiding = hiding
      return hiding
    }
  }

  /// What hides the known secrets and further ones.
  package func hiding(with others: [SecretString]) -> SecretHiding {
    let isKnown = content.withLock { content in others.allSatisfy { content.values.contains($0) } }
    return isKnown ? hiding : SecretHiding(content.withLock { $0.values }.union(others))
  }
}

extension HTTPFields {
  /// The values of the fields whose names say that they are secret, as a whole and by their words: a
  /// server may repeat `Bearer abc`, or `abc` alone. Of Basic credentials the password is one, too.
  package var secrets: [SecretString] {
    var secrets: [String] = []
    for field in self where SecretNames.isSecretField(field.name.rawName) {
      // What follows the first `;` of a `Set-Cookie` are attributes.
      let value =
        field.name == .setCookie ? String(field.value.prefix { $0 != ";" }) : field.value
      let words = value.split { " ;,".contains($0) }
      secrets.append(value)
      guard words.count > 1 || value.contains("=") else { continue }
      // The first word names the scheme.
      let isCookie = field.name == .cookie || field.name == .setCookie
      let rest = isCookie ? words[...] : words.count > 1 ? words.dropFirst() : words[...]
      for word in rest {
        secrets.append(String(word))
        secrets.append(String(word.drop { $0 != "=" }.dropFirst()))
      }
      if words.count == 2, words[0].lowercased() == "basic",
        let data = Data(base64Encoded: String(words[1])),
        let pair = String(validating: data, as: UTF8.self)
      {
        secrets.append(String(pair.drop { $0 != ":" }.dropFirst()))
      }
    }
    return secrets.filter { !$0.isEmpty }.map { SecretString($0) }
  }
}
