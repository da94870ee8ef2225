/// Text that must not be seen: it prints as `•••` wherever it is interpolated, dumped or mirrored.
public struct SecretString: Sendable, Hashable {
  private let value: String

  /// Wraps a secret text.
  public init(_ value: String) {
    self.value = value
  }

  /// The text itself, for the one place that sends it.
  public func reveal() -> String { value }

  /// Whether the text is empty.
  public var isEmpty: Bool { value.isEmpty }

  /// How anything secret is printed.
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
