package import GQLRunJSON
import Logging

/// Hides secret values wherever they occur in a text, in every encoding of ``SecretPattern``.
package struct SecretHiding: Sendable {
  /// Shorter secrets are only hidden if they are the whole value of a field: in other text, they
  /// occur by chance.
  package static let shortestHidden = 6

  private let patterns: [SecretPattern]
  /// The patterns by the first byte of a match.
  private let byFirstByte: [[Int]]
  private let short: Set<String>

  package init(_ secrets: some Sequence<SecretString>) {
    let texts = Set(secrets.map { $0.reveal() })
    // The longest first, so that none is hidden only in part.
    let long = texts.filter { $0.utf8.count >= Self.shortestHidden }
      .sorted { ($0.utf8.count, $0) > ($1.utf8.count, $1) }
    patterns = long.flatMap(SecretPattern.patterns)
    short = texts.filter { !$0.isEmpty && $0.utf8.count < Self.shortestHidden }
    var table = [[Int]](repeating: [], count: patterns.isEmpty ? 0 : 256)
    for (index, pattern) in patterns.enumerated() {
      for byte in Set(pattern.firstBytes) { table[Int(byte)].append(index) }
    }
    byFirstByte = table
  }

  /// The text with `•••` in place of each secret.
  package func text(_ text: String) -> String {
    guard !patterns.isEmpty else { return text }
    var text = text
    guard let hidden = text.withUTF8({ bytes($0) }) else { return text }
    return String(decoding: hidden, as: UTF8.self)
  }

  /// The bytes with `•••` in place of each secret.
  package func bytes(_ bytes: [UInt8]) -> [UInt8] {
    guard !patterns.isEmpty else { return bytes }
    return bytes.withUnsafeBufferPointer { self.bytes($0) } ?? bytes
  }

  /// `nil` when nothing is hidden.
  private func bytes(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
    var result: [UInt8]?
    var copied = 0
    var position = 0
    while position < text.count {
      let candidates = byFirstByte[Int(text[position])]
      let match = candidates.lazy.compactMap { patterns[$0].match(in: text, at: position) }.first
      guard let match else {
        position += 1
        continue
      }
      var hidden = result ?? []
      hidden += text[copied..<max(copied, match.lowerBound)]
      hidden += Array(SecretString.redacted.utf8)
      result = hidden
      copied = match.upperBound
      position = match.upperBound
    }
    guard var result else { return nil }
    result += text[copied...]
    return result
  }

  /// The value of an HTTP field as every output shows it.
  ///
  /// `•••` if the name is secret (``SecretNames``), if the value has the form of a credential, or
  /// if one of its words is a known secret; otherwise the value with known secrets hidden.
  package func value(_ value: String, ofField name: String) -> String {
    if SecretNames.isSecretField(name) || SecretText.looksSecret(value) {
      return SecretString.redacted
    }
    if !short.isEmpty,
      short.contains(value)
        || value.split(whereSeparator: { " ;,=".contains($0) }).contains(where: {
          short.contains(String($0))
        })
    {
      return SecretString.redacted
    }
    return text(value)
  }

  /// The value with secrets hidden in its strings and keys.
  package func json(_ value: JSONValue) -> JSONValue {
    switch value {
    case .string(let text): .string(self.text(text))
    case .array(let elements): .array(elements.map { json($0) })
    case .object(let object): .object(self.object(object))
    default: value
    }
  }

  package func object(_ object: JSONObject) -> JSONObject {
    object.reduce(into: JSONObject()) { result, member in
      result[text(member.key)] = json(member.value)
    }
  }
}

// MARK: Errors

extension SecretHiding {
  package func error(_ error: any Error) -> any Error {
    switch error {
    case let error as ChainError: chainError(error)
    case let error as GraphQLError: graphQLError(error)
    default: error
    }
  }

  package func chainError(_ error: ChainError) -> ChainError {
    var error = error
    error.message = text(error.message)
    error.cause = error.cause.map { self.error($0) }
    error.graphQLErrors = error.graphQLErrors.map { graphQLError($0) }
    if let prefix = error.http?.bodyPrefix { error.http?.bodyPrefix = bytes(prefix) }
    return error
  }

  /// The error without secrets in its message, its type and its extensions.
  package func graphQLError(_ error: GraphQLError) -> GraphQLError {
    var error = error
    error.message = text(error.message)
    error.type = error.type.map { text($0) }
    error.extensions = error.extensions.map { object($0) }
    return error
  }

  private func gap(_ gap: SubscriptionGap) -> SubscriptionGap {
    var gap = gap
    gap.cause = gap.cause.map { error($0) }
    if case .failed(let failure) = gap.catchUp { gap.catchUp = .failed(error(failure)) }
    return gap
  }

  /// The response without secrets in its errors and extensions. Its `data` does not change.
  package func response(_ response: GraphQLResponse) -> GraphQLResponse {
    guard !response.errors.isEmpty || response.extensions != nil || response.gap != nil else {
      return response
    }
    var response = response
    response.gap = response.gap.map { gap($0) }
    response.errors = response.errors.map { graphQLError($0) }
    response.extensions = response.extensions.map { object($0) }
    return response
  }
}

/// A log handler that hides the known secrets of a run in every message.
struct SecretHidingLog: LogHandler {
  var base: any LogHandler
  let secrets: KnownSecrets

  var logLevel: Logger.Level {
    get { base.logLevel }
    set { base.logLevel = newValue }
  }

  var metadata: Logger.Metadata {
    get { base.metadata }
    set { base.metadata = newValue }
  }

  var metadataProvider: Logger.MetadataProvider? {
    get { base.metadataProvider }
    set { base.metadataProvider = newValue }
  }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { base[metadataKey: key] }
    set { base[metadataKey: key] = newValue }
  }

  func log(event: LogEvent) {
    let hiding = secrets.hiding
    var event = event
    event.message = Logger.Message(stringLiteral: hiding.text(event.message.description))
    event.error = event.error.map { hiding.error($0) }
    event.metadata = event.metadata?.mapValues { Self.hidden($0, hiding) }
    base.log(event: event)
  }

  private static func hidden(
    _ value: Logger.Metadata.Value, _ hiding: SecretHiding
  ) -> Logger.Metadata.Value {
    switch value {
    case .string(let text): .string(hiding.text(text))
    case .stringConvertible(let value): .string(hiding.text("\(value)"))
    case .array(let values): .array(values.map { hidden($0, hiding) })
    case .dictionary(let values): .dictionary(values.mapValues { hidden($0, hiding) })
    }
  }
}
