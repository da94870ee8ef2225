/// Text with placeholders for context values of a request: `tenant-${context:tenant}`.
///
/// All other expansions were replaced when the file was loaded.
public struct Template: Sendable, Hashable {
  package enum Part: Sendable, Hashable {
    case text(String)
    case context(name: String, fallback: String?)
  }

  package let parts: [Part]

  init(parts: [Part]) {
    self.parts = parts
  }

  /// Creates a template without placeholders.
  public init(_ text: String) {
    self.init(parts: [.text(text)])
  }

  /// The names of the required context values: those without a default.
  public var requiredNames: [String] {
    parts.compactMap { if case .context(let name, nil) = $0 { name } else { nil } }
  }

  /// Whether the text is the same for every request.
  public var isConstant: Bool {
    parts.allSatisfy { if case .text = $0 { true } else { false } }
  }

  /// The text with its placeholders replaced.
  ///
  /// - Throws: ``MissingValue`` for a value that the context does not have and that has no default.
  public func text(_ value: (_ name: String) -> String?) throws(MissingValue) -> String {
    var result = ""
    for part in parts {
      switch part {
      case .text(let text): result += text
      case .context(let name, let fallback):
        guard let text = value(name) ?? fallback else { throw MissingValue(name: name) }
        result += text
      }
    }
    return result
  }

  /// A context value that a template requires and that the request does not have.
  public struct MissingValue: Error, Sendable, Hashable, CustomStringConvertible {
    /// The name of the missing value.
    public var name: String

    /// The name, and how to set the value.
    public var description: String {
      "the request's context has no value `\(name)`; "
        + "set it, or give a default: ${context:\(name):-…}"
    }
  }
}
