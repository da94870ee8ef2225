import Foundation
import GQLRunSupport
import HTTPTypes

/// The secret values that a run knows: those of its files, and those it receives, such as renewed
/// tokens.
///
/// The program hides them in everything that it prints or stores: logs, errors, `--curl`, archives,
/// recordings, reports, journals. Only the `data` of a response and the token store contain them.
///
/// A runner adds the secrets of its pipeline. A plugin that receives a secret adds it before its
/// first use: `context.services.secrets.insert(token)`.
public final class KnownSecrets: Sendable {
  /// The most secrets that are stored; a further one replaces the oldest.
  public static let capacity = 1_024

  private struct Content: Sendable {
    var values: Set<SecretString> = []
    /// The values from the oldest to the newest.
    var order: [SecretString] = []
    /// Created on first use.
    var hiding: SecretHiding?
  }

  private let content = Locked(Content())

  /// Creates an empty set of secrets.
  public init() {}

  /// Adds a secret. Cheap if it is already known.
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

  /// Adds the secrets of a pipeline: those of its file, and those of its endpoint's header fields and URL.
  package func insert(of pipeline: Pipeline) {
    insert(contentsOf: pipeline.secrets)
    guard let endpoint = pipeline.endpoint else { return }
    insert(contentsOf: endpoint.headers.secrets)
    insert(contentsOf: SecretNames.secrets(inURL: endpoint.path))
  }

  /// The text with `•••` in place of every known secret.
  public func hide(in text: String) -> String { hiding.text(text) }

  /// Hides the known secrets.
  package var hiding: SecretHiding {
    content.withLock { content in
      if let hiding = content.hiding { return hiding }
      let hiding = SecretHiding(content.values)
      content.hiding = hiding
      return hiding
    }
  }

  /// Hides the known secrets and further ones.
  package func hiding(with others: [SecretString]) -> SecretHiding {
    let isKnown = content.withLock { content in others.allSatisfy { content.values.contains($0) } }
    return isKnown ? hiding : SecretHiding(content.withLock { $0.values }.union(others))
  }
}

extension HTTPFields {
  /// The values of the fields with secret names, as a whole and by their words: a server may repeat
  /// `Bearer abc`, or only `abc`. Of Basic credentials, also the password.
  package var secrets: [SecretString] {
    var secrets: [String] = []
    for field in self where SecretNames.isSecretField(field.name.rawName) {
      // The text after the first `;` of a `Set-Cookie` is attributes.
      let value =
        field.name == .setCookie
        ? String(field.value.unicodeScalars.prefix { $0 != ";" }) : field.value
      // Bytes, because every request has such a field, and characters cost far more.
      let words = value.utf8.split { Self.separators.contains($0) }.map { Substring($0) }
      secrets.append(value)
      guard words.count > 1 || value.utf8.contains(UInt8(ascii: "=")) else { continue }
      // The first word is the name of the scheme.
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

  private static let separators = [UInt8(ascii: " "), UInt8(ascii: ";"), UInt8(ascii: ",")]
}
