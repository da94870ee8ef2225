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
