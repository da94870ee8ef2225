/// Text that must not be seen: it prints as `•••` wherever it is interpolated, dumped or mirrored.
public struct SecretString: Sendable, Hashable {
  private let value: String

  public init(_ value: String) {
    self.value = value
  }

  /// The text itself, for the one place that sends it.
  public func reveal() -> String { value }

  public var isEmpty: Bool { value.isEmpty }

  /// How anything secret is printed.
  public static let redacted = "•••"
}

extension SecretString: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  public var description: String { Self.redacted }
  public var debugDescription: String { Self.redacted }
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}
